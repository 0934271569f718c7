#include "rewrite/trial.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rewrite/made_up.h"

namespace heddle::rewrite {
namespace {

constexpr int most_applications = 150;

// What says nothing of the template: values that are known in a graph only, what its author refuses, limits, sizes
// that leave no room, and shapes that do not fit the parts of a composition.
constexpr std::array<std::string_view, 14> of_the_instance = {
    "symbolic.not_concrete", "symbolic.requirement",     "symbolic.user_error", "symbolic.limit",
    "symbolic.dtype_set",    "symbolic.shape_mismatch",  "symbolic.input_rank", "symbolic.shape_conflict",
    "symbolic.broadcast",    "symbolic.extent",          "symbolic.range",      "symbolic.length",
    "symbolic.overflow",     "symbolic.division_by_zero"};

// What is found when all has its type.
constexpr std::array<std::string_view, 3> of_proofs = {"symbolic.footprint", "symbolic.cover", "symbolic.ipf"};

template <size_t N>
bool are_of(const Diagnostics& problems, const std::array<std::string_view, N>& codes) {
    return std::ranges::all_of(
        problems, [&](const Diagnostic& problem) { return std::ranges::find(codes, problem.code) != codes.end(); });
}

// What became of all uses of one kind.
struct Search {
    bool works = false, works_small = false;
    int applications = 0;
    Diagnostics failure;  // the one that says most: with all typed, else with the fewest problems, else the first
    std::pair<int, size_t> key;

    void add(Diagnostics problems, const MadeUpUse& use) {
        const int stage = are_of(problems, of_the_instance) ? 2 : are_of(problems, of_proofs) ? 0 : 1;
        const std::pair<int, size_t> own(2 * stage + !use.plain, problems.size());
        if (!failure.empty() && key <= own) return;
        key = own;
        failure = std::move(problems);
        for (Diagnostic& problem : failure)
            problem.contexts.push_back({fmt::format("applied to {}; every use that was tried fails", use.text()), {}});
    }
};

Search search(const Template& metakernel, const Library& library, MadeUpUses& uses) {
    Search found;
    int failed = 0;
    while (found.applications < most_applications) {
        const auto use = uses.next();
        if (!use) break;
        Diagnostics problems = AppliedUse(metakernel, library, *use).failure();
        ++found.applications;
        if (!problems.empty() && getenv("TRIAL") ) fmt::print(stderr, "{} d{} {}: {} {}\n", metakernel.name, use->differences, use->text(), problems[0].code, problems[0].summary);
        if (problems.empty()) {
            (use->plain ? found.works : found.works_small) = true;
            if (found.works) { if (getenv("TRIAL")) fmt::print(stderr, "OK {} d{} after {} {}: {}\n", metakernel.name, use->differences, failed, found.applications, use->text()); return found; }
            continue;
        }
        ++failed;
        found.add(std::move(problems), *use);
    }
    if (getenv("TRIAL")) fmt::print(stderr, "NO {} after {}: {}\n", metakernel.name, found.applications, found.failure.empty() ? (uses.misfit().empty() ? "" : uses.misfit()[0].summary) : found.failure[0].summary);
    return found;
}

}  // namespace

Trial try_operator(const Template& metakernel, const Library& library) {
    MadeUpUses least(metakernel, library, false);
    Search found = search(metakernel, library, least);
    if (found.works) return {};
    if (!found.failure.empty() && found.key.first < 4) return {std::move(found.failure), {}};
    return {{}, fmt::format("no made-up tensors and parameters fit it: {}", !found.failure.empty() ? found.failure[0].summary : least.misfit().empty() ? "" : least.misfit()[0].summary)};
}

std::optional<Graph> made_up_use(const Template& metakernel, const Library& library) {
    MadeUpUses uses(metakernel, library, true);
    for (int applications = 0; applications < most_applications; ++applications) {
        const auto use = uses.next();
        if (!use) break;
        if (!use->plain) continue;
        if (auto graph = AppliedUse(metakernel, library, *use).graph()) return graph;
    }
    return std::nullopt;
}

}  // namespace heddle::rewrite
