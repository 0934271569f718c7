// Index projections in the notations of docs/language.md, and what an operation's body does, in one word.
#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"

namespace heddle::pictures {

// "[@batch, @row, 0 :> 5]" over the index's axes that are not reduced; `extents` are the tensor's. `windows`, by dimension,
// is what is said instead of a whole one, where it is not empty.
std::string rows_notation(const IndexProjection& projection, const std::vector<IndexAxis>& index,
                          const std::vector<int64_t>& extents, const std::vector<std::string>& windows = {});
// "D[1, 1, 0] :> [1, 1, 5]", where each tensor dimension takes at most the next index dimension.
std::optional<std::string> diagonal_notation(const IndexProjection& projection, const std::vector<IndexAxis>& index,
                                             const std::vector<int64_t>& extents);
// "{affineMap: {projection: [[1, 0]], offset: [0]}, shape: [1]}"
std::string structured_notation(const IndexProjection& projection);

// Found in the body, never from a name.
enum class OperationClass : uint8_t {
    movement,     // elements are only read, chosen and written
    elementwise,  // arithmetic on elements
    reduction,    // some are joined
    contraction,  // sums of products of two different reads
    indirect,     // where is read depends on what is read
    scan,         // steps in order
    opaque,       // no body
};
OperationClass class_of(const Body& body);
OperationClass class_of(const Operation& operation);
std::string_view name(OperationClass c);

}  // namespace heddle::pictures
