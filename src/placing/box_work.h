// What one part of a cut operation reads, makes and combines, worked out without the others: all parts before it along an axis
// are one box, and so are all behind it.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "placing/cut_costs.h"

namespace heddle::placing {

// What a box of an operation's index does, in stages: each one gives results, or partial results that a combining makes one.
// Tensors are numbered as in tensors_of, then those that are new.
struct BoxWork {
    using Touch = std::pair<TensorId, Box>;
    struct Stage {
        std::vector<Touch> reads, makes;
        OperationWork work;  // in memory
        int64_t kernels = 0;
    };
    struct Combining {
        TensorId result;
        std::vector<size_t> axes;   // whose parts become one
        std::set<size_t> kept;      // cut axes of which each part has a result of its own
        Box range;                  // that the box gives a part of, in the order of the partial result's dimensions
        Body body;                  // of the combining of all
        int64_t partial_bytes = 0;  // of an element, in all tensors of partial results
        double operations = 0;      // for an element of a part
    };
    std::vector<Stage> stages;
    std::vector<Combining> combinings;  // behind the stage of the same number
    std::vector<int64_t> element_bytes;
};

// `own`: the operation alone (cut_costs.h). Codes: placing.scale (a scan in parts; partial results that are not known), those of
// sharding::place.
Result<BoxWork> work_of_box(const Graph& own, const std::vector<sharding::Axis>& axes, const InProgram& in,
                            const Box& box);

// Where a combining of this body writes what the range of its variables says. Coordinates grow with variables.
Box written_by(Body body, const Box& range);

}  // namespace heddle::placing
