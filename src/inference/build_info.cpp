#include "inference/build_info.h"

#include "backends/llvm/llvm_version.h"
#include "target/target.h"

namespace heddle::inference {

BuildInfo build_info() {
    return {.version = build_version,
            .commit = build_commit,
            .llvm = backends::llvm_version(),
            .triple = backends::process_triple(),
            .cpu = backends::host_cpu(),
            .features = detect_host().features};
}

}  // namespace heddle::inference
