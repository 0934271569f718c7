#include "random/fused_counts.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backends/llvm/llvm_backend.h"
#include "equations/fusion.h"
#include "equations/passes.h"
#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "plan/plan.h"
#include "random/trial.h"

namespace heddle::random {
namespace {

// Nothing is read outside of a tensor, and no tensor is made in pieces: whatever reads what, it is one launch.
bool is_plain(const Program& program) {
    return std::ranges::none_of(program.calls, [](const Call& call) {
        return std::ranges::any_of(std::initializer_list<const char*>{"pad", "shifted", "trilu", "concat", "stack", "split_sizes"},
                                   [&](const char* name) { return occurs(name, call.text); });
    });
}

size_t kernels_of(const plan::Plan& plan) {
    size_t kernels = 0;
    for (const plan::Batch& batch : plan.run) {
        for (const plan::Launch& launch : batch) kernels += !launch.layout;
    }
    return kernels;
}

// What may keep two equations of such programs apart.
bool may_stay_apart(const std::string& reason) {
    return reason.starts_with("a guarded read of a local") || reason.starts_with("a kernel makes all equations") ||
           reason.starts_with("made of constants only") ||  // what a shift has moved out of its tensor
           reason.starts_with("more equations than");
}

class FusedPrograms {
public:
    explicit FusedPrograms(Library& library)
        : library_(library), target_(detect_host()), pool_(2), kernels_(std::make_shared<backends::LlvmBackend>()) {}

    // What is wrong; empty: nothing.
    std::string check(const Program& program) {
        const auto prepared = prepare(program, library_, [](const char*) {});
        if (!prepared) return render(prepared.error());
        auto fused = plan::make_plan(prepared->graph, target_);
        auto unfused = plan::make_plan(prepared->graph, target_, {.fuse = false});
        if (!fused || !unfused) return render(fused ? unfused.error() : fused.error());
        if (!fused->notes.empty()) return render(fused->notes);
        const size_t few = kernels_of(*fused), many = kernels_of(*unfused);
        operations_ += program.calls.size();
        fused_ += few;
        unfused_ += many;
        if (few > many) return fmt::format("{} kernels, and {} unfused", few, many);
        plain_ += is_plain(program);
        one_launch_ += fused->launches() <= 1;
        if (is_plain(program) && fused->launches() > 1) return fmt::format("{} launches", fused->launches());
        const std::string wrong = check_decisions(prepared->graph, fused->launches());
        if (!wrong.empty()) return wrong;
        return check_values(*prepared, std::move(*fused), std::move(*unfused));
    }

    void print_counts() const {
        fmt::print("{} operations, {} kernels unfused and {} fused; {} programs of one launch, {} of them must be\n",
                   operations_, unfused_, fused_, one_launch_, plain_);
        fmt::print("{} pairs joined\n", joined_);
        for (const auto& [reason, count] : apart_) fmt::print("{} pairs apart: {}\n", count, reason);
    }
    // Over many programs.
    std::string check_counts() const {
        if (plain_ == 0 || joined_ == 0) return "nothing was there to fuse";
        return 2 * fused_ > unfused_ ? "more than half as many kernels as unfused" : "";
    }

private:
    std::string check_decisions(const Graph& graph, int64_t launches) {
        auto system = equations::lower(graph);
        if (!system) return render(system.error());
        equations::optimise(*system);
        const auto partition = equations::fuse(*system, target_, {});
        size_t apart = 0;
        for (const auto& decision : partition.decisions) {
            if (decision.joined) {
                joined_++;
                continue;
            }
            apart++;
            apart_[decision.reason]++;
            if (!may_stay_apart(decision.reason)) return "apart: " + decision.reason;
        }
        if (apart > 0 || launches <= 1) return "";
        return fmt::format("{} launches, though no two equations stay apart", launches);
    }

    std::string check_values(const Prepared& prepared, plan::Plan fused, plan::Plan unfused) {
        const auto expected = evaluate_graph_bounded(prepared.graph, prepared.feeds);
        if (!expected) return render(expected.error());
        const auto one = run(std::move(fused), prepared.feeds), other = run(std::move(unfused), prepared.feeds);
        if (!one || !other) return render(one ? other.error() : one.error());
        for (size_t o = 0; o < one->size(); o++) {
            const TensorData &a = (*one)[o], &b = (*other)[o];
            const auto compared =
                compare_bounded(a, (*expected)[static_cast<size_t>(prepared.graph.outputs[o])]);
            if (!compared.equal) return fmt::format("output {}: {}", o, compared.text());
            if (a.byte_size() > 0 && std::memcmp(a.data(), b.data(), static_cast<size_t>(a.byte_size())) != 0)
                return fmt::format("output {}: fused and unfused have other bits", o);
        }
        return "";
    }

    Result<std::vector<TensorData>> run(plan::Plan plan, const std::vector<TensorData>& feeds) {
        auto executable = runtime::Executable::make(std::move(plan), kernels_, pool_);
        if (!executable) return fail(executable.error());
        return runtime::Session(*executable, std::shared_ptr<ThreadPool>(&pool_, [](ThreadPool*) {})).run(feeds);
    }

    Library& library_;
    Target target_;
    ThreadPool pool_;
    runtime::KernelCache kernels_;
    size_t operations_ = 0, fused_ = 0, unfused_ = 0, plain_ = 0, one_launch_ = 0, joined_ = 0;
    std::map<std::string, size_t> apart_;  // pairs by reason
};

}  // namespace

int check_fused_counts(uint64_t seed, size_t count, Library& library) {
    FusedPrograms programs(library);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        Choices choices(seed + i);
        const Program program = random_movement(choices);
        const std::string what = programs.check(program);
        if (what.empty()) continue;
        if (wrong++ < 5) fmt::print("seed {}: {}\n{}\n", seed + i, what, print(program));
    }
    fmt::print("{} programs from seed {}: {} wrong\n", count, seed, wrong);
    programs.print_counts();
    const std::string counts = programs.check_counts();
    if (!counts.empty()) fmt::print("{}\n", counts);
    return wrong == 0 && counts.empty() ? 0 : 1;
}

}  // namespace heddle::random
