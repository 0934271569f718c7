// The sizes that a program is exported for: each dimension that stays open has a range, and the program holds for all
// sizes of all ranges together.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace heddle::artefact {

using SizeNames = std::map<std::string, int64_t>;

// from, from + step ... up to `to`, which is one of them.
struct Dimension {
    std::string name;
    int64_t from = 1, to = 1, step = 1;
    bool is_open = false;  // `to` is no size that somebody has asked for: the program may end before

    int64_t count() const { return (to - from) / step + 1; }
    bool has(int64_t size) const { return size >= from && size <= to && (size - from) % step == 0; }
    // The greatest one that is not above, the least that is not below; of any number.
    int64_t below(int64_t size) const;
    int64_t above(int64_t size) const;
    bool operator==(const Dimension&) const = default;
};

inline constexpr int64_t open_end = (int64_t{1} << 20) - 1;

// "batch=1:64,height=32:320:32,width=32::32,rows=1:,channels=3", as of --bind. A `to` that no step reaches is the last
// one before it; one that is not there is `open_end`, or `from` where that is larger.
// Code artefact.range.
Result<std::vector<Dimension>> parse_dimensions(const std::vector<std::string>& texts);

// "n = 3, m = 4"
std::string text_of(const SizeNames& sizes);

}  // namespace heddle::artefact
