// From calls of shipped operators to results of compiled code. Tests only.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "backends/llvm/llvm_backend.h"
#include "helpers/library.h"
#include "plan/plan.h"
#include "runtime/executable.h"
#include "symbolic/session.h"

namespace heddle {

inline TensorId call(Session& session, const std::string& name, const std::vector<Argument>& inputs,
                     const std::map<std::string, StaticValue>& parameters = {}) {
    auto found = library().find(name);
    EXPECT_TRUE(found) << (found ? "" : render(found.error()));
    auto made = found ? session.apply(**found, inputs, parameters) : fail(found.error());
    EXPECT_TRUE(made) << name << (made ? "" : render(made.error()));
    return made ? made->front() : TensorId(0);
}

inline TensorData random_tensor(std::vector<int64_t> shape, uint64_t seed, double scale = 1) {
    TensorData data(DType::float32, std::move(shape));
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, scale);
    for (int64_t i = 0; i < data.size(); i++) data.set_real(i, normal(random));
    return data;
}

inline plan::Plan plan_of(const Graph& graph, const plan::PlanOptions& options = {}) {
    auto made = plan::make_plan(graph, detect_host(), options);
    EXPECT_TRUE(made) << (made ? "" : render(made.error()));
    if (!made) return {};
    EXPECT_TRUE(made->notes.empty()) << render(made->notes);  // a mistake of ours
    return std::move(*made);
}

// By a compiler of its own: nothing is found that another one has left.
inline std::shared_ptr<const runtime::Executable> compiled(plan::Plan plan, int threads = 2) {
    runtime::KernelCache cache(std::make_shared<backends::LlvmBackend>());
    ThreadPool pool(threads);
    auto made = runtime::Executable::make(std::move(plan), cache, pool);
    EXPECT_TRUE(made) << (made ? "" : render(made.error()));
    return made ? *made : nullptr;
}

}  // namespace heddle
