// Gradient rules of operators beside what their bodies give.
#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"

namespace heddle::gradient {

// An adjoint by which a rule differs, which may be meant: rounding that lets adjoints pass has another derivative.
struct RuleDifference {
    std::string input;
    double by_rule = 0, by_body = 0;  // of the element that differs the most
};

// Of a graph with rules, at made-up values: where the gradient by the rules is not that by the bodies. Nothing where
// they agree, or where that cannot be known: an operation without a body, an index from data that is outside, a
// gradient that is refused, much work.
std::optional<RuleDifference> rule_difference(const Graph& graph);

}  // namespace heddle::gradient
