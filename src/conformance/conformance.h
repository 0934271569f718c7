// Whether a backend keeps what codegen/backend.h and codegen/device.h promise: its config, its code, its memory, and by
// the interpreter the operators of the shipped library and their gradients, on random shapes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/backend.h"
#include "language/library.h"
#include "support/diagnostic.h"

namespace heddle::conformance {

// One check. Codes of its problems: conformance.config, conformance.code, conformance.memory, conformance.result,
// conformance.index, conformance.broken (an exception), and those that the backend refuses with.
struct Check {
    std::string name;  // "config", "code", "memory", "index", "operator conv", "gradient conv",
                       // "tape softmax"
    Diagnostics problems;
    double seconds = 0;
    bool passed() const { return problems.empty(); }
};

struct Options {
    uint64_t seed = 1;                       // of shapes and values
    int threads = 0;                         // that compile; 0: all cores
    std::vector<std::string> only;           // checks whose names begin so; empty: all
    std::function<void(const Check&)> told;  // of each check as it ends; may be empty
};

// All checks in their order, whether they pass or not.
std::vector<Check> check_backend(std::shared_ptr<codegen::Backend> backend, const Library& library,
                                 const Options& options = {});
bool all_passed(const std::vector<Check>& checks);
// A line a check, with the problems of those that fail, and how many passed.
std::string text_of(const Check& check);
std::string summary_of(const std::vector<Check>& checks);

}  // namespace heddle::conformance
