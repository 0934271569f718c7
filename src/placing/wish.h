// Where somebody wants an operation or a tensor: a device, one of its scopes, or both.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "placing/devices.h"

namespace heddle::placing {

// Empty parts say nothing. "gpu0", "gpu0:texture", ":texture".
struct Wish {
    std::string device;
    std::string scope;
    bool operator==(const Wish&) const = default;
    std::string text() const { return scope.empty() ? device : device + ":" + scope; }
};

// What both say; nothing where they contradict one another. Associative and commutative, with Wish{} as neutral one.
std::optional<Wish> join(const Wish& a, const Wish& b);

// Of a graph: a tensor lies, and the operation runs, where it is wished. What makes a tensor runs where the tensor lies.
struct Annotations {
    std::map<TensorId, Wish> tensors;
    std::map<OperationId, Wish> operations;
};

// Locations that a wish leaves, in the system's order. Codes: placing.unknown_device, placement.unknown_scope.
Result<std::vector<Location>> locations_for(const System& system, const Wish& wish);

// "y=gpu0", "h=gpu1:texture": a tensor of the graph, else an operation, by its name, or by what is behind its dot where
// one alone ends so. Codes: placing.annotation (it does not parse, or is given twice), placing.unknown_name, those of
// locations_for.
Result<Annotations> parse_annotations(const std::vector<std::string>& texts, const Graph& graph, const System& system);

}  // namespace heddle::placing
