// What graphs are compiled for and run on: a machine, threads, and the kernels compiled so far.
#pragma once

#include <limits>
#include <memory>
#include <mutex>
#include <string>

#include "graph/graph.h"
#include "inference/places.h"
#include "plan/plan.h"
#include "runtime/executable.h"
#include "runtime/prepared.h"
#include "support/thread_pool.h"
#include "target/target.h"

namespace heddle::inference {

// Scalar operations that a run may take; a model of 200 bytes can ask for years. `option` is how they are raised.
struct WorkLimit {
    double operations = std::numeric_limits<double>::infinity();
    std::string option;
};

// Engines may share kernels, and what programs have prepared.
struct Engine {
    std::shared_ptr<ThreadPool> pool;
    std::shared_ptr<runtime::Arena> arena;
    std::shared_ptr<runtime::KernelCache> kernels;
    std::shared_ptr<runtime::PreparedStore> prepared;
    Target target;
    std::shared_ptr<Places> places = nullptr;  // that run all programs together; null: they run here
    WorkLimit work;  // of graphs that are compiled
    std::timed_mutex running;  // a pool has one caller at a time, and so has the arena
};

// With a folder that keeps code for other processes, or without. Null stands for the backend of this machine.
std::shared_ptr<runtime::KernelCache> make_kernel_cache(std::shared_ptr<cache::Folder> folder = nullptr,
                                                        std::shared_ptr<codegen::Backend> backend = nullptr);
// This machine, with so many threads; 0: all cores. Programs run on the device of the kernels' backend, if it has one.
std::shared_ptr<Engine> make_engine(
    int threads, std::shared_ptr<runtime::KernelCache> kernels = make_kernel_cache(),
    std::shared_ptr<runtime::PreparedStore> prepared = std::make_shared<runtime::PreparedStore>());

// Plans and compiles. What fails by a mistake of ours is compiled again without passes and fusion, which the plan's
// notes tell. The caller holds `running` where others use the engine too. Codes inference.broken (an exception),
// support.cancelled (by options.progress), evaluate.too_much_work, runtime.out_of_memory (a run needs more than the
// machine has), those of Executable::make.
Result<std::shared_ptr<const runtime::Executable>> compile(const Graph& graph, Engine& engine,
                                                           const plan::PlanOptions& options = {});

}  // namespace heddle::inference
