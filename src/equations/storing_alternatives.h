// What a value of a system can become, and what each choice moves and computes (docs/equations.md, "The other choice").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "equations/cost.h"
#include "equations/storing.h"
#include "target/target.h"

namespace heddle::equations {

// What a value can become, with the run's modelled work: `local` values stay inside of a kernel, once for each task.
struct StoringOutcome {
    enum class Place : uint8_t { stored, local, inlined };
    Place place = Place::stored;
    RunCost cost;
    size_t launches = 0;
};
struct StoringAlternatives {
    std::string tensor;
    int reads = 0;  // of it, as lowered
    StoringOutcome chosen;
    std::vector<StoringOutcome> others;  // that can be asked for
};

// Of each value inside of a lowered system that computes something, and is not made of constants; at most so many.
std::vector<StoringAlternatives> storing_alternatives(const System& lowered, const Target& target, size_t most);
std::string_view name(StoringOutcome::Place place);

}  // namespace heddle::equations
