// The processes of one program as threads of this one, with a transport between them in memory.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "devices/program.h"

namespace heddle::devices {

class Together {
public:
    // One module a process (modules/processes.h), each on this machine with its share of `threads` (0: all cores).
    // Codes: those of Program::load.
    static Result<std::shared_ptr<Together>> load(std::vector<modules::Module> processes, int threads,
                                                  std::shared_ptr<cache::Folder> folder,
                                                  std::chrono::milliseconds timeout = std::chrono::minutes(5));

    size_t size() const { return programs_.size(); }
    const Program& program(size_t process) const { return *programs_[process]; }

    // By process: what its entry gives. `arguments`, by process, are what its entry takes. Of several that fail because
    // one did, that one's diagnostics. Codes: those of Program::run.
    Result<std::vector<std::vector<TensorData>>> run(const std::vector<std::vector<TensorData>>& arguments,
                                                     std::vector<RunReport>* reports = nullptr);

private:
    std::vector<std::shared_ptr<Program>> programs_;
    std::chrono::milliseconds timeout_{};
};

}  // namespace heddle::devices
