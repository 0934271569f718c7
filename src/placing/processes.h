// A placed program as one function a process (docs/systems.md): what one makes and another reads is a message.
#pragma once

#include <vector>

#include "placing/module.h"

namespace heddle::placing {

// What a process sends another at once: of what one of its steps makes and the other reads all that is complete about at the
// same time, or is small (buckets.h).
struct Message {
    int32_t from = 0, to = 0;
    std::vector<std::string> values;
    int64_t bytes = 0;
};

struct Processes {
    std::vector<Module> modules;    // by process, with a system of its devices alone; each has the entry "main"
    std::vector<Message> messages;  // in the order of the program's steps
};

// Splits a function of mixed code (module.h) by the processes of its devices. Each has its steps in the order that they
// have in the program, sends behind what makes their values and receives before what first reads theirs: so a receive
// waits for a step that comes before it in the order of all, and nothing waits in a circle. Parameters and results go to
// the process of their memory.
Processes by_process(const Function& mixed, const System& system, std::shared_ptr<const Target> target);

// An independent check, by running all processes' steps with names for values: each process has what its steps read, and
// each message is received as it was sent, once, in the order of both. Code modules.broken.
Result<void> verify_messages(const std::vector<Module>& processes);

}  // namespace heddle::placing
