// The library, and the way from a graph to its plan, as `heddle run` has them.
#pragma once

#include "fuzz.h"
#include "helpers/source_folder.h"
#include "language/library.h"
#include "plan/plan.h"

namespace heddle::fuzz {

inline const Library& operators() {
    static const Library library = [] {
        auto opened = open_library(in_source("operators"));
        require(fine(opened), "the library opens");
        return std::move(*opened);
    }();
    return library;
}

inline void compile(const Graph& graph) {
    require(fine(verify(graph)), "a graph that was built is correct");
    auto plan = plan::make_plan(graph, Target());
    if (!fine(plan)) return;
    require(fine(plan::verify(*plan)), "a plan is correct");
    require(plan->notes.empty(), "no mistake of ours stood in the way of a plan");
    auto constants = plan::constants_of(graph);
    require(fine(constants), "what was lowered has its constants");
    require_round_trip(
        *plan, [&](std::shared_ptr<const SourceText> text) { return plan::parse_plan(std::move(text), *constants); },
        [](const plan::Plan& parsed) { return plan::print(parsed); });
}

}  // namespace heddle::fuzz
