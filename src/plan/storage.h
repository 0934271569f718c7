// How the tensors that cross kernels lie in memory: axis order, margins and their filling, chosen for the whole graph
// from what the kernels that touch a tensor want (docs/equations.md, "Storage").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "equations/fusion.h"
#include "equations/kept_steps.h"
#include "equations/system.h"
#include "target/target.h"

namespace heddle::plan {

// A linear map from coordinates to elements: offset + sum coordinate * stride. Row-major without margins and room is one
// value.
struct StorageMap {
    std::vector<int32_t> order;  // dimensions, outermost first
    std::vector<Size> extent;
    std::vector<Size> margin_before, margin_after;
    std::vector<Size> room;  // elements behind a dimension that are nobody's yet: a tensor that grows (growth.h)
    double filling = 0;

    static StorageMap row_major(std::vector<Size> shape);
    bool is_row_major() const;
    bool has_margins() const;
    bool has_room() const;
    std::vector<Size> strides() const;  // by dimension
    // The map that costs look at: of this shape, with margins as they are for these names.
    StorageMap at_class(const std::vector<int64_t>& shape, const std::map<std::string, int64_t>& representatives) const;
    Size offset() const;                // of coordinate zero
    Size elements() const;              // margins and room included
    std::string text() const;              // "order 0 2 3 1 margins 2: 1 1, 3: 1 1 filling 0"; "row-major"
    bool operator==(const StorageMap& other) const = default;
};

// A map for every tensor that is a buffer (read or written by a kernel as one), by TensorIndex; others have none.
// The map of a system input or output is the one that our kernels use; its owner always sees row-major, so that a map
// that is not row-major costs a layout copy at the edge. Of what a scan makes it has the places of the `kept` steps.
std::vector<std::optional<StorageMap>> choose_storage(const equations::System& system,
                                                      const equations::Partition& partition,
                                                      const std::vector<equations::KeptSteps>& kept);

}  // namespace heddle::plan
