// A split module, loaded on the devices that its system stands for, and run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "running/binding.h"
#include "running/report.h"
#include "running/scope_memory.h"
#include "placing/module.h"
#include "transport/transport.h"

namespace heddle::running {

// A tensor in a memory of the system.
struct DeviceTensor {
    TensorData data;
    placing::MemoryId memory = no_id;
};

class Program {
public:
    // Compiles each function for its device, or by its library. `needed` as of bind_devices. The module must have passed
    // placing::verify and have one entry. Codes: those of bind_devices, of find_library, of compiling; devices.no_entry.
    static Result<std::shared_ptr<Program>> load(placing::Module module, const Inventory& inventory,
                                                 const std::vector<int64_t>& needed = {});

    const placing::Module& module() const { return module_; }
    const placing::System& system() const { return *module_.system; }
    const placing::Function& entry() const { return module_.function(entry_); }
    // The function's plan, where it is compiled (driver.h); null: it has none.
    const plan::Plan* plan(placing::FunctionId function, size_t step) const;

    // A copy of a tensor there. Code devices.out_of_memory.
    Result<DeviceTensor> put(const TensorData& data, placing::MemoryId memory);

    // One argument a parameter of the entry, in order. Each lies where its parameter does. A program all of whose values
    // lie in one memory takes the device from its arguments instead: any one of that kind, and all of them on the same.
    // Codes: running.argument (it lies elsewhere; the parameter's name is said), runtime.input_count and the others of
    // runtime::check_inputs, running.out_of_memory, what functions give. One of several processes (placing/processes.h)
    // runs with its end of their transport: codes of transport.h; where it fails itself, it tells the others.
    Result<std::vector<DeviceTensor>> run(const std::vector<DeviceTensor>& arguments, RunReport* report = nullptr,
                                          transport::Transport* transport = nullptr);

    // Bytes in use there, and the most that were.
    const ScopeMemory& memory(placing::MemoryId memory) const { return *memories_[memory]; }

private:
    using Values = std::vector<TensorData>;
    class Frame;
    struct Compiled;

    Result<void> compile(const Inventory& inventory, const Binding& binding);
    Result<void> check_arguments(const std::vector<DeviceTensor>& arguments, placing::MemoryId& taken) const;
    Result<Values> run_function(placing::FunctionId function, Values arguments, placing::MemoryId taken,
                                RunReport* report, transport::Transport* transport);
    void find_last_uses();
    Result<std::vector<DeviceTensor>> run_entry(const std::vector<DeviceTensor>& arguments, RunReport* report,
                                                transport::Transport* transport);
    Result<TensorData> allocate(const TensorType& type, placing::MemoryId memory);
    Result<TensorData> copied(const TensorData& data, placing::MemoryId memory);

    placing::Module module_;
    placing::FunctionId entry_ = no_id;
    placing::MemoryId only_ = no_id;  // in which all values lie, if they do
    std::map<std::pair<placing::FunctionId, size_t>, std::shared_ptr<const Compiled>> compiled_;  // by step
    std::vector<std::vector<std::vector<placing::ValueId>>> last_read_;  // by function and step: values that go then
    std::vector<std::shared_ptr<ScopeMemory>> memories_;
};

}  // namespace heddle::running
