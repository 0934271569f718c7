// Which LLVM this is, and what it calls the machine that we run on.
#pragma once

#include <string>

namespace heddle::backends {

std::string llvm_version();    // "19.1.7"
std::string process_triple();  // "x86_64-pc-linux-gnu"
std::string host_cpu();        // "znver4"

}  // namespace heddle::backends
