// What the fuzz targets share. A target is a function of bytes that must come back: any text is either understood or
// refused with diagnostics, and what it is understood as keeps the promises of its header.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "support/diagnostic.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace heddle::fuzz {

inline std::string text_of(const uint8_t* data, size_t size) {
    return std::string(reinterpret_cast<const char*>(data), size);
}

inline std::shared_ptr<const SourceText> source_of(std::string text) {
    return std::make_shared<const SourceText>("fuzz", std::move(text));
}

inline void require(bool holds, const std::string& promise) {
    if (holds) return;
    std::fprintf(stderr, "broken promise: %s\n", promise.c_str());
    std::abort();
}

// Whether there is a value; if not, there are diagnostics, and they can be shown.
template <typename T>
bool fine(const Result<T>& result) {
    if (result) return true;
    require(!result.error().empty(), "a failure has diagnostics");
    for (const Diagnostic& diagnostic : result.error()) require(!diagnostic.code.empty(), "a diagnostic has a code");
    require(!render(result.error()).empty() && !render_json(result.error()).empty(), "diagnostics can be shown");
    return false;
}

// print(parse(print(value))) == print(value).
template <typename Value, typename Parse, typename Print>
void require_round_trip(const Value& value, const Parse& parse, const Print& print) {
    std::string printed = print(value);
    auto again = parse(source_of(printed));
    require(again.has_value(), "what was printed parses: " + printed);
    require(print(*again) == printed, "what was printed prints the same: " + printed + "\nand then: " + print(*again));
}

}  // namespace heddle::fuzz
