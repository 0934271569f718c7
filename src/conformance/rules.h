// What a backend promises beside right results. Each gives what is wrong; nothing: it keeps the promise.
#pragma once

#include <string>

#include "inference/engine.h"
#include "language/library.h"
#include "support/diagnostic.h"

namespace heddle::conformance {

Diagnostic problem(const char* code, std::string summary, std::string expected = {}, std::string found = {});

// There is one, the same whenever it is asked for, whatever the program, and kernels are compiled under it.
Diagnostics check_config(codegen::Backend& backend, const Library& library, inference::Engine& engine);
// Equal trees and configs give equal bytes, and bytes that are no code are refused.
Diagnostics check_code(codegen::Backend& backend, const Library& library, const Target& target);
// Of a device: what is copied there comes back, allocations lie apart, aligned.
Diagnostics check_memory(codegen::Backend& backend);
// An index that is data and out of range is reported: which one, and of the first task that meets one.
Diagnostics check_index(const Library& library, inference::Engine& engine);

}  // namespace heddle::conformance
