// Programs by every backend, fused and not, with and without AVX-512, beside the interpreter.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "language/library.h"
#include "evaluate/evaluate.h"
#include "runtime/kernel_cache.h"
#include "support/thread_pool.h"
#include "support/tensor_data.h"
#include "target/target.h"

namespace heddle::exact {

struct Case {
    std::string templates;
    std::vector<std::string> calls;
    std::vector<std::pair<std::string, TensorData>> inputs;
    std::map<std::string, std::string> texts;  // of the outputs, for messages
    bool exact = true;                         // the interpreter's bits; else within its bounds
    std::string name;
};

class Runner {
public:
    // Each so many cases goes through the C compiler; 0: none.
    explicit Runner(int every);

    void run(const Case& made);

    int64_t compared() const { return compared_; }
    int64_t found() const { return found_; }

private:
    void complain(const Case& made, const std::string& what);
    void compare(const Case& made, const Graph& graph, const std::vector<TensorData>& feeds,
                 runtime::KernelCache& kernels, bool fuse);
    void compare_bits(const Case& made, const std::string& way, const Graph& graph,
                      const std::vector<TensorData>& found);

    const int every_;
    Library library_;
    const Target target_, narrow_;
    ThreadPool pool_;
    std::deque<runtime::KernelCache> kernels_;
    std::vector<TensorData> expected_;    // by tensor
    std::vector<BoundedTensor> bounded_;  // the same, where it is not exact
    int64_t cases_ = 0, compared_ = 0, found_ = 0;
};

// Whole numbers, powers of two, what lies halfway between two halves, what has no exact form, and the ends of types.
TensorData reals(DType dtype, int64_t size, uint64_t seed);
TensorData integers(DType dtype, int64_t size, uint64_t seed);
// Of vectors of 4 to 16 lanes: remainders, too.
int64_t awkward_size(uint64_t number);

}  // namespace heddle::exact
