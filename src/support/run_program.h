// Programs that others have installed, run without a shell.
#pragma once

#include <string>
#include <vector>

namespace heddle {

struct ProgramEnd {
    int status = -1;      // its exit status; below zero: it did not run, or did not end by itself
    std::string said;     // to both standard streams, from its beginning
    std::string problem;  // why it did not run; else empty
    bool succeeded() const { return status == 0; }
};

// Runs it to its end, with nothing to read. `command`: the program (a path, or a name that is looked for as shells do)
// and its arguments.
ProgramEnd run_program(const std::vector<std::string>& command);

}  // namespace heddle
