// The sizes that a program is exported for: each dimension that stays open has a range, and the program holds for all
// sizes of all ranges together.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace heddle::artefact {

// from, from + step ... up to `to`, which is one of them.
struct Dimension {
    std::string name;
    int64_t from = 1, to = 1, step = 1;

    int64_t count() const { return (to - from) / step + 1; }
    int64_t size(int64_t number) const { return from + number * step; }
    bool operator==(const Dimension&) const = default;
};

// "batch=1:64,height=32:320:32,channels=3", as of --bind. A `to` that no step reaches is the last one before it.
// Code artefact.range.
Result<std::vector<Dimension>> parse_dimensions(const std::vector<std::string>& texts);

// All sizes of some dimensions, numbered: the last dimension's change first.
class SizeGrid {
public:
    SizeGrid() = default;
    // Code artefact.too_many_sizes: each is planned, so that there is an end to how many.
    static Result<SizeGrid> make(std::vector<Dimension> dimensions);

    const std::vector<Dimension>& dimensions() const { return dimensions_; }
    int64_t count() const { return count_; }
    // Of each dimension, the number of its size.
    std::vector<int64_t> numbers(int64_t all) const;
    std::map<std::string, int64_t> bindings(int64_t all) const;

private:
    std::vector<Dimension> dimensions_;
    int64_t count_ = 1;
};

inline constexpr int64_t most_sizes = 4096;

}  // namespace heddle::artefact
