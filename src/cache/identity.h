// What code and plans are made by, so that none is used that another build, or another LLVM, has made.
#pragma once

#include <string>

namespace heddle::cache {

// The build id of the program or module that holds our code, and of the one that holds LLVM's: a linker's hash of all
// that it linked, which differs where sources, settings or compilers do. Of a file without one: path, size and time.
const std::string& identity();
// The same of whichever module holds this code.
std::string identity_of(const void* code);

}  // namespace heddle::cache
