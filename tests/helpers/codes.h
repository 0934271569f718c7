// What a result was refused with. Tests only.
#pragma once

#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace heddle {

using Codes = std::vector<std::string>;

inline Codes codes(const Diagnostics& diagnostics) {
    Codes list;
    for (const Diagnostic& diagnostic : diagnostics) list.push_back(diagnostic.code);
    return list;
}
template <typename T>
Codes codes(const Result<T>& result) {
    return result ? Codes{} : codes(result.error());
}

// The same in one text, "a b".
inline std::string codes_text(const Diagnostics& diagnostics) {
    std::string text;
    for (const Diagnostic& diagnostic : diagnostics) text += (text.empty() ? "" : " ") + diagnostic.code;
    return text;
}
template <typename T>
std::string codes_text(const Result<T>& result) {
    return result ? "" : codes_text(result.error());
}

// The first one; "ok" of what was not refused.
template <typename T>
std::string code_of(const Result<T>& result) {
    return result ? "ok" : result.error().front().code;
}

}  // namespace heddle
