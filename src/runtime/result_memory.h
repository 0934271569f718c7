// Memory for results that callers have let go of, for results of later runs: to come by memory for the first time takes the
// system about as long as it takes to write it.
#pragma once

#include <cstdint>
#include <memory>

#include "graph/graph.h"
#include "support/tensor_data.h"

namespace heddle::runtime {

class ResultMemory {
public:
    ResultMemory();

    // From now on, at least so many bytes may be kept: those of one run's results. It begins with none.
    void keep(int64_t bytes);
    // A tensor whose elements may be anything. std::bad_alloc, as TensorData. Whoever has it last gives its memory back, from
    // any thread, and also after this object has ended.
    TensorData make(const TensorType& type);

    int64_t bytes() const;  // that nobody has

private:
    struct Kept;
    std::shared_ptr<Kept> kept_;
};

}  // namespace heddle::runtime
