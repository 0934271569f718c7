// A program as functions with targets (docs/systems.md): what is placed on a system becomes a function of mixed code,
// which is split into one for the host and one for each part that runs on another device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "placing/placement.h"
#include "support/diagnostic.h"
#include "support/strong_id.h"
#include "target/target.h"

namespace heddle::placing {

using ValueId = StrongId<struct ValueTag>;        // of Function::values
using FunctionId = StrongId<struct FunctionTag>;  // of Module::functions

struct Value {
    std::string name;  // unique in its function
    TensorType type;
    MemoryId memory = no_id;  // none: of the device that the function runs on
    std::optional<TensorData> constant;
};

// What a process sends another or receives from it while a step computes.
struct Exchange {
    bool comes = false;
    int32_t process = -1;  // the other one
    std::vector<ValueId> values;
};

struct Step {
    enum class Kind : uint8_t {
        compute,  // `graph`, whose inputs and outputs these are, in order
        call,     // `callee`, whose parameters and results these are, in order
        copy,     // one value from memory to memory
        send,     // values to another process, as one message
        receive,  // values from another process
    };
    Kind kind = Kind::compute;
    std::vector<ValueId> inputs, outputs;
    // compute and call, before splitting: where it runs; none: where the function does.
    DeviceId device = no_id;
    std::shared_ptr<const Graph> graph;
    FunctionId callee = no_id;
    // Of a call from the host to a device: how many points of its results are computed, as expressions of the dimensions
    // that the host function's parameters name. A row of sizes for each result.
    std::vector<std::vector<Size>> extents = {};
    std::vector<MemoryId> route = {};  // copy
    int32_t process = -1;              // send and receive: the other one
    // Compute: in the order of the program. What comes is among the inputs, if the step reads it.
    std::vector<Exchange> exchanges = {};
};

struct Function {
    enum class Side : uint8_t {
        source,  // as it was written: its steps may be of several devices
        host,    // runs where it is called from, and launches others
        device,  // is launched, and runs on one device
    };
    std::string name;  // unique in its module
    Side side = Side::source;
    bool entry = false;  // it can be called from outside
    // What it is made for; null: the target of who calls it. One with a library is for an outside compiler or library.
    std::shared_ptr<const Target> target = nullptr;
    DeviceId device = no_id;  // behind splitting: of the system
    std::vector<Value> values;
    std::vector<ValueId> parameters, results;
    std::vector<Step> steps;  // in order

    const Value& value(ValueId id) const { return values[id]; }
    ValueId add_value(std::string name, TensorType type, MemoryId memory = no_id);
};

struct Module {
    std::shared_ptr<const System> system;
    std::shared_ptr<const Target> target;  // of the whole system: what encloses functions without one of their own
    std::vector<Function> functions;

    const Function& function(FunctionId id) const { return functions[id]; }
    FunctionId add_function(Function function);
    // The function of this name; none.
    FunctionId find(const std::string& name) const;
};

// A function of one graph, all of it where the function runs: a helper, or one for an outside library.
Function function_of(std::string name, std::shared_ptr<const Graph> graph,
                     std::shared_ptr<const Target> target = nullptr);

// The placed graph as one entry function of mixed code. Operations of one location that need nothing of others in
// between are one step; each copy of the placement at run time is one step; constants are part of the graphs that read
// them, which is where they are brought when the program is loaded.
Function mixed_function(std::string name, const Graph& graph, const System& system, const Placement& placement);

// Splits all entry functions: what runs on the system's host stays, and each step of another device becomes a function
// of that device, which the host launches. Of a function that is called, each target that it is called for has a copy of
// its own: "name", or "name@device" of those that are on a device. What is called from devices alone is not on the host,
// and what nobody calls is nowhere. Without a host in the system there are functions of devices alone.
// Codes: placing.recursion; placing.target (a callee's target is none of the system's, where it is called).
Result<Module> split(const Module& source);

// Of a function behind splitting: steps that compute where it runs, and the messages between them, become one step, which is
// planned as one: layouts and fusion do not end where something is sent or received.
Function joined(const Function& function);

// Ids in range, values defined before they are used and of the types that graphs and callees have, copies that change
// the memory, steps whose values lie where they run, calls without recursion; behind splitting no function of both
// sides, no host function that devices call, and callees' targets within their callers'. Code modules.broken.
Result<void> verify(const Module& module);

// Whether what is made for `inner` may be called in code for `outer`: it is that target, one of its parts, or asks for
// all that `outer` asks for and more.
bool lies_within(const Target& inner, const Target& outer);

// For people: functions with their sides and targets, steps in order. It is not read back.
std::string print(const Module& module);
std::string print_json(const Module& module);

}  // namespace heddle::placing
