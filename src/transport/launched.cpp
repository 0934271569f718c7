// What launchers of MPI leave in the environment.
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "transport/mpi.h"

namespace heddle::transport {
namespace {

struct Launcher {
    const char *name, *rank, *size, *library;
};

// The first that fits. Slurm leaves what MPICH's launcher does where it helps that (--mpi=pmi2). A step of Slurm says how many tasks it has; a batch script, of which there is one process, does not.
constexpr Launcher launchers[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "openmpi"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "mpich"},
    {"Slurm with PMIx", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "openmpi"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", ""},
};

std::optional<int> number(const char* text) {
    int value = 0;
    if (!text) return std::nullopt;
    const char* end = text + std::strlen(text);
    const auto [stop, problem] = std::from_chars(text, end, value);
    return problem == std::errc() && stop == end && value >= 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<LaunchedRanks> launched_ranks(const std::function<const char*(const char*)>& variable) {
    for (const Launcher& launcher : launchers) {
        const auto rank = number(variable(launcher.rank)), size = number(variable(launcher.size));
        if (!rank || !size || *rank >= *size) continue;
        if (*size == 1) return std::nullopt;
        return LaunchedRanks{*rank, *size, launcher.name, launcher.library};
    }
    return std::nullopt;
}

std::optional<LaunchedRanks> launched_ranks() {
    return launched_ranks([](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace heddle::transport
