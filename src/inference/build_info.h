// What this build is, and what it compiles for.
#pragma once

#include <string>

namespace heddle::inference {

struct BuildInfo {
    std::string version;  // of pyproject.toml: "0.1.0"
    std::string commit;  // that it was built from, "-dirty" behind it where files had changed; "unknown" outside of git
    std::string llvm;    // LLVM's version
    std::string triple;  // of this process
    std::string cpu;     // LLVM's name of this machine's
    std::string features;  // that kernels may use, as in a target: "+avx2,+fma"
};

BuildInfo build_info();
// BuildInfo::version and commit, without looking at the machine; the build writes them (cmake/build_info.cmake).
extern const char* const build_version;
extern const char* const build_commit;

}  // namespace heddle::inference
