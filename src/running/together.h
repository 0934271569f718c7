// The processes of one program (placing/processes.h) that this process runs: all of them, as threads, with a transport in
// memory; or one of them, whose transport leads to the others.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "running/program.h"

namespace heddle::running {

// This machine, for each of so many processes with its share of `threads` (0: all cores). Programs may share them, one after
// another. Null: kernels of their own.
std::vector<Inventory> inventories_here(size_t processes, int threads,
                                        std::shared_ptr<runtime::KernelCache> kernels = nullptr);

class Together {
public:
    // One module a process, each on devices of its own (inventories_here). Codes: those of Program::load.
    static Result<std::shared_ptr<Together>> load(std::vector<placing::Module> processes,
                                                  const std::vector<Inventory>& inventories,
                                                  std::chrono::milliseconds timeout = std::chrono::minutes(5));
    // The transport's rank is the process, of as many as there are modules; the others' are dropped. All must have the same
    // ones, with the same constants. Codes: those of transport::agree, of Program::load.
    static Result<std::shared_ptr<Together>> join(std::vector<placing::Module> processes,
                                                  std::shared_ptr<transport::Transport> transport,
                                                  const Inventory& inventory);

    size_t size() const { return programs_.size(); }  // processes that run here
    const Program& program(size_t own) const { return *programs_[own]; }
    int rank(size_t own) const { return ends_[own]->rank(); }

    // By process that runs here: what its entry gives for its arguments. Of several that fail because one did, that
    // one's diagnostics. Codes: those of Program::run.
    Result<std::vector<std::vector<TensorData>>> run(const std::vector<std::vector<TensorData>>& arguments,
                                                     std::vector<RunReport>* reports = nullptr);
    // All take the same.
    Result<std::vector<std::vector<TensorData>>> run(const std::vector<TensorData>& inputs,
                                                     std::vector<RunReport>* reports = nullptr) {
        return run(std::vector<std::vector<TensorData>>(size(), inputs), reports);
    }

private:
    std::vector<std::shared_ptr<Program>> programs_;
    std::vector<std::shared_ptr<transport::Transport>> ends_;
    std::chrono::milliseconds timeout_{};  // of ends in memory; 0: the end leads elsewhere
};

}  // namespace heddle::running
