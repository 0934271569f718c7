#include "transport/mpi_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::transport {
namespace {

namespace fs = std::filesystem;

constexpr const char* how_to_build =
    "compile share/heddle/mpi/mpi_plugin.c against your MPI: mpicc -shared -fPIC -O2 -o libheddle_mpi.so mpi_plugin.c, "
    "and name the file as the library of MPI";

// Beside the program or library that this code is part of, and where they are installed.
std::vector<fs::path> folders() {
    static const char own_file = 0;
    Dl_info found{};
    std::error_code problem;
    fs::path own;
    if (::dladdr(&own_file, &found) != 0 && found.dli_fname) own = fs::canonical(found.dli_fname, problem);
    if (own.empty()) own = fs::read_symlink("/proc/self/exe", problem);
    const fs::path folder = own.parent_path(), root = folder.parent_path();
    return {folder, folder / "heddle", root / "lib/heddle", root / "lib64/heddle",
            root / "lib" / HEDDLE_ARCHITECTURE / "heddle"};
}

std::vector<std::string> candidates(const std::optional<LaunchedRanks>& launched) {
    std::vector<std::string> names = {"openmpi", "mpich"};
    if (launched && !launched->library.empty()) names = {launched->library};
    std::vector<std::string> files;
    for (const fs::path& folder : folders()) {
        for (const std::string& name : names)
            files.push_back((folder / fmt::format("libheddle_mpi_{}.so", name)).string());
    }
    return files;
}

Diagnostic not_loaded(const std::string& summary, const std::string& found) {
    return {.code = "transport.mpi_library", .summary = summary, .found = found, .remedy = how_to_build};
}

Diagnostic refused(const std::string& found, const std::string& reason, const std::string& remedy) {
    return {
        .code = "transport.mpi", .summary = "MPI cannot be used", .found = found, .reason = reason, .remedy = remedy};
}

Result<void*> load_library(const std::string& library, const std::optional<LaunchedRanks>& launched) {
    if (library.empty() && launched && launched->library.empty()) {
        return fail(
            refused(fmt::format("{} has started {} processes", launched->launcher, launched->size),
                    "it does not help MPI to start",
                    "let it: srun --mpi=pmix for Open MPI, srun --mpi=pmi2 for MPICH (srun --mpi=list shows what "
                    "there is); or name the library of an MPI that needs no help"));
    }
    std::error_code problem;
    std::vector<std::string> files = {library};
    if (library.empty()) files = candidates(launched);
    std::erase_if(files, [&](const std::string& file) { return !fs::is_regular_file(file, problem); });
    if (files.empty() && !library.empty())
        return fail(not_loaded(fmt::format("there is no library '{}' of MPI", library), ""));
    if (files.empty()) {
        return fail(not_loaded(fmt::format("this Heddle was built without {}", launched ? launched->launcher : "MPI"),
                               fmt::format("nothing in {}", fmt::join(candidates(launched), ", "))));
    }
    // By a name without a slash the loader would look for another file. What MPI loads itself looks for its symbols.
    const std::string file = fs::absolute(files.front(), problem).string();
    if (void* loaded = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE)) return loaded;
    const char* said = ::dlerror();
    return fail(not_loaded(fmt::format("the library '{}' of MPI cannot be loaded", file), said ? said : ""));
}

// Ends the process, unless it goes before.
std::jthread watch_of_start(std::chrono::milliseconds timeout) {
    return std::jthread([timeout](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any nothing;
        std::unique_lock lock(mutex);
        nothing.wait_for(lock, stop, timeout, [] { return false; });
        if (stop.stop_requested()) return;
        const std::string text =
            render({{.code = "transport.mpi_start",
                     .summary = fmt::format("MPI has not started for {} seconds",
                                            std::chrono::duration<double>(timeout).count()),
                     .reason = "it waits for a process that is not there, or that it cannot reach",
                     .remedy = "look at the other processes and the way to them; where they only come late, allow more "
                               "time"}});
        (void)!::write(STDERR_FILENO, text.data(), text.size());
        std::_Exit(1);
    });
}

}  // namespace

Result<heddle_mpi*> open_mpi(const std::string& library, const std::optional<LaunchedRanks>& launched,
                             std::chrono::milliseconds timeout) {
    auto loaded = load_library(library, launched);
    if (!loaded) return fail(std::move(loaded.error()));
    const auto version = reinterpret_cast<decltype(&heddle_mpi_version)>(::dlsym(*loaded, "heddle_mpi_version"));
    const auto open = reinterpret_cast<decltype(&heddle_mpi_open)>(::dlsym(*loaded, "heddle_mpi_open"));
    if (!version || !open)
        return fail(
            not_loaded(fmt::format("'{}' is not Heddle's plug-in for MPI", library), "it lacks heddle_mpi_open"));
    if (const uint32_t found = version(); found != HEDDLE_MPI_VERSION) {
        return fail({.code = "transport.mpi_version",
                     .summary = "the library of MPI was built for another version of Heddle",
                     .expected = std::to_string(HEDDLE_MPI_VERSION),
                     .found = std::to_string(found),
                     .remedy = how_to_build});
    }
    heddle_mpi* mpi = nullptr;
    const char* problem = "";
    auto watch = watch_of_start(timeout);
    const bool opened = open(&mpi, &problem) == 0;
    watch.request_stop();
    watch.join();
    if (!opened) {
        return fail(refused(problem ? problem : "", "it does not start",
                            "start the program by mpirun or srun, and look at what MPI itself says"));
    }
    if (mpi->size == sizeof(heddle_mpi) && (!launched || launched->size == mpi->ranks)) return mpi;
    const std::string found = fmt::format("{} processes, by {}", mpi->ranks, mpi->name);
    mpi->close(mpi, 1);
    return fail(refused(found,
                        launched ? fmt::format("{} has started {} processes: the library is of another MPI",
                                               launched->launcher, launched->size)
                                 : "its parts are of another version",
                        "take the mpirun of the MPI that the library was built with"));
}

}  // namespace heddle::transport
