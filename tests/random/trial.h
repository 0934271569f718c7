// One random program through the whole compiler, fused and not, and its scans in rounds, against the interpreter element
// by element; with outputs in the memory of inputs; and with an index that is outside of what it chooses from.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "language/library.h"
#include "random/random_program.h"
#include "runtime/executable.h"

namespace heddle::random {

struct Verdict {
    enum class Kind : uint8_t { equal, different, refused, exception };
    Kind kind = Kind::equal;
    std::string stage;                    // "build", "evaluate", "plan fused", "run in rounds" ...
    std::string code;                     // of a refusal
    std::string detail;                   // what was found, for people
    int64_t elements = 0, undecided = 0;  // compared; of those with an infinite bound
};

// What a program stands for: its graph, or what is derived of it, and values for its inputs.
struct Prepared {
    Graph graph;
    std::vector<TensorData> feeds;
};
// The templates go into `library`, in place of those of the program before. `at` is called with each stage before it
// begins.
Result<Prepared> prepare(const Program& program, Library& library, const std::function<void(const char*)>& at);

class Trial {
public:
    // `library` outlives this, and gets the templates of each program. Compiled kernels are kept for later programs.
    // Without `runs` nothing is compiled to code, run or evaluated: plans are made and checked, in a tenth of the time.
    Trial(Library& library, bool runs);

    // Calls `at` with each stage before it begins.
    Verdict run(const Program& program, const std::function<void(const char*)>& at = [](const char*) {});

private:
    std::optional<Verdict> donated(const Graph& graph, const std::vector<TensorData>& feeds,
                                   const std::vector<TensorData>& expected,
                                   const std::function<void(const char*)>& enter);

    std::optional<Verdict> noticed(const Graph& graph, const Program& program, const std::vector<TensorData>& feeds,
                                   runtime::Session& session, const std::function<void(const char*)>& enter);

    Library& library_;
    bool runs_;
    Target target_, narrow_target_, rounds_target_;
    ThreadPool pool_;
    runtime::KernelCache kernels_;
};

}  // namespace heddle::random
