// What the fuzz targets share. A target is a function of bytes that must come back: any text is either understood or
// refused with diagnostics, and what it is understood as keeps the promises of its header.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
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

// Whether there is a value; if not, there are diagnostics, each with its place in its text. One of each code that is not
// in `shown` is shown: to show the up to 100 of a text that is wrong all over takes most of a target's time.
template <typename T>
bool fine(const Result<T>& result, std::set<std::string>& shown) {
    if (result) return true;
    require(!result.error().empty(), "a failure has diagnostics");
    for (const Diagnostic& diagnostic : result.error()) {
        require(!diagnostic.code.empty(), "a diagnostic has a code");
        const Place& place = diagnostic.place;
        // Behind the end stands one character: what is missing there.
        require(!place.source || place.offset + place.length <= place.source->text().size() + 1,
                "a place is in its text");
        if (shown.insert(diagnostic.code).second)
            require(!render_json({diagnostic}).empty(), "a diagnostic can be shown, as text and as JSON");
    }
    return false;
}
template <typename T>
bool fine(const Result<T>& result) {
    std::set<std::string> shown;
    return fine(result, shown);
}

// print(parse(print(value))) == print(value).
template <typename Value, typename Parse, typename Print>
void require_round_trip(const Value& value, const Parse& parse, const Print& print) {
    std::string printed = print(value);
    auto again = parse(source_of(printed));
    const std::string second = again ? print(*again) : "refused";
    if (second != printed)
        require(false, "what was printed parses and prints the same: " + printed + "\nand then: " + second);
}

}  // namespace heddle::fuzz
