// How functions become something that runs, on each kind of device that there is here.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backends/cc/compiler.h"
#include "graph/graph.h"
#include "inference/engine.h"
#include "support/diagnostic.h"
#include "support/tensor_data.h"
#include "target/target.h"

namespace heddle::running {

// One function, made for one device. Several threads may call: one waits for the other.
class CompiledFunction {
public:
    virtual ~CompiledFunction() = default;
    // `outputs` have memory, of the results' types. Codes of check_inputs, of what runs it.
    virtual Result<void> run(const std::vector<TensorData>& inputs, std::vector<TensorData>& outputs) const = 0;
    // Of what was compiled with exchanges, which are `between`'s, as is the memory (runtime::Session::run_fitting).
    virtual Result<void> run(std::span<const std::byte* const> inputs, std::vector<TensorData>& outputs,
                             runtime::BetweenBatches& between) const = 0;
    // The plan whose launches it is; null: it has none.
    virtual const plan::Plan* plan() const { return nullptr; }
};

class Driver {
public:
    virtual ~Driver() = default;
    // `target`: what the function is made for; a driver takes options of outside compilers from it (code
    // running.option: it does not know one). `exchanges`: plan::PlanOptions. Codes of compiling.
    virtual Result<std::shared_ptr<const CompiledFunction>> compile(const Graph& graph, const Target& target,
                                                                    const std::vector<plan::Exchange>& exchanges) = 0;
};

// Kernels by a backend, chosen for the machine that we run on, in this process or on the backend's own device.
std::shared_ptr<Driver> driver_of(std::shared_ptr<inference::Engine> engine);
// The C compiler, with one engine for each set of options: "optimise", 0 to 3 (2: at 1 GCC calls functions of
// vectors, a hundred times slower).
std::shared_ptr<Driver> c_driver(backends::CCompiler compiler, int threads);
// The interpreter of typed bodies.
std::shared_ptr<Driver> reference_driver();

}  // namespace heddle::running
