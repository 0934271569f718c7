// The host as if it had no AVX-512, as most CPUs have none: code for it runs on both kinds. Tests only.
#pragma once

#include <algorithm>
#include <string>

#include "target/target.h"

namespace heddle {

inline Target narrow_host() {
    Target target = detect_host();
    std::string features;
    for (size_t begin = 0; begin < target.features.size();) {
        const size_t end = std::min(target.features.find(',', begin), target.features.size());
        const std::string feature = target.features.substr(begin, end - begin);
        if (!feature.starts_with("+avx512") && !feature.starts_with("+avx10")) features += (features.empty() ? "" : ",") + feature;
        begin = end + 1;
    }
    target.features = features;
    target.vector_bytes = std::min(target.vector_bytes, 32);
    target.vector_registers = std::min(target.vector_registers, 16);
    return target;
}

}  // namespace heddle
