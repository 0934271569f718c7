// Other programs, run without a shell.
#pragma once

#include <string>
#include <vector>

namespace heddle {

struct FinishedProcess {
    int status = -1;    // its exit status; below zero: it could not be run, or a signal ended it
    std::string words;  // what it said on both of its outputs, the first so many bytes; why it could not be run
};

// Runs it to its end, with nothing to read. `command`: the program (looked for along PATH where it names no folder), then
// its arguments.
FinishedProcess run_to_end(const std::vector<std::string>& command, size_t most_bytes = 4000);

// Whether PATH leads to a program of this name.
bool is_on_path(const std::string& program);

}  // namespace heddle
