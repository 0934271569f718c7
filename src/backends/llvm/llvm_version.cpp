#include "backends/llvm/llvm_version.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/TargetParser/Host.h>

namespace heddle::backends {

std::string llvm_version() { return LLVM_VERSION_STRING; }
std::string process_triple() { return llvm::sys::getProcessTriple(); }
std::string host_cpu() { return llvm::sys::getHostCPUName().str(); }

}  // namespace heddle::backends
