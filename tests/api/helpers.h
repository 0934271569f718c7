#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heddle/heddle.h"

namespace heddle::tests {

// The code of what must fail; "ok" of what did not.
template <typename T>
std::string code_of(const v1::Result<T>& result) {
    return result ? "ok" : result.error().code();
}

inline std::vector<float> numbers(size_t count) {
    std::vector<float> numbers(count);
    for (size_t i = 0; i < count; i++) numbers[i] = static_cast<float>((i * 37 + 11) % 101) / 50 - 1;
    return numbers;
}

inline v1::Runtime runtime(v1::RuntimeOptions options = {}) {
    if (options.threads == 0) options.threads = 2;
    return v1::Runtime::create(options).value();
}

inline v1::Model parsed(const v1::Runtime& runtime, const std::string& bytes) {
    return runtime.parse(bytes.data(), bytes.size()).value();
}

}  // namespace heddle::tests
