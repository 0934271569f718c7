// Memory for results that callers have let go of, for results of later runs: to come by memory for the first time takes the
// system about as long as it takes to write it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "graph/graph.h"
#include "support/tensor_data.h"

namespace heddle::runtime {

class ResultMemory {
public:
    ResultMemory();

    // What is asked for where a result has so many bytes: some more, so that one that is a little larger finds room where it lay.
    static int64_t capacity(int64_t bytes);

    // From now on, at least so many bytes may be kept: the capacities of one run's results. It begins with none.
    void keep(int64_t bytes);
    // A tensor whose elements may be anything, where one lay that had at most twice as many bytes. Whoever has it last gives
    // its memory back, from any thread, and also after this object has ended. By one thread at a time. std::bad_alloc, as TensorData.
    TensorData make(const TensorType& type);

    int64_t bytes() const;  // that nobody has

private:
    std::shared_ptr<std::byte> small_block();

    // Numbers and short rows, as loops hand them on from one iteration to the next: in turn those that nobody has any more.
    static constexpr size_t small_blocks = 16;
    std::array<std::shared_ptr<std::byte>, small_blocks> small_;
    size_t next_small_ = 0;
    struct Kept;
    std::shared_ptr<Kept> kept_;
};

}  // namespace heddle::runtime
