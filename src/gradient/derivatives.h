// What forward and reverse mode ask alike of a body: what has a derivative, and which terms of a reduction count.
#pragma once

#include <functional>
#include <vector>

#include "gradient/terms.h"

namespace heddle::gradient {

inline constexpr size_t largest_forward = 20'000;  // nodes of a body that is derived

// By node: whether a read of a tensor or of a state that is `source` reaches it with a derivative, and not through `cut`.
std::vector<bool> reached(const Terms& terms, const NodeList& cut, const std::function<bool(const Node&)>& source);

// Of a node that takes the least or the greatest of its terms: whether that at its variables is the first of these.
NodeId wins(Terms& terms, const Node& reduction);
// The product of all terms but that at the variables of `reduction`: right also where terms are zero.
NodeId product_of_others(Terms& terms, const Node& reduction);
// Whether there are no terms, whatever the filter.
bool is_empty(const Terms& terms, const Node& reduction);

// Code gradient.limit.
Diagnostic too_large(const Body& forward);

}  // namespace heddle::gradient
