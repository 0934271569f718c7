// Expressions over names as one list of steps, in which each part that several have is worked out once: for many expressions
// that are evaluated again and again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "zspace/size.h"

namespace heddle {

class SizeProgram {
public:
    // values[to] = operation(values[a], values[b]); from Origin::Kind::add on.
    struct Step {
        Origin::Kind operation = Origin::Kind::add;
        int32_t to = -1, a = -1, b = -1;
    };

    // From now on the name is a constant.
    void fix(const std::string& name, int64_t value);

    // Where the value stands: of a name, which is to be given; of an expression; of what an operation comes to. What follows
    // from constants alone is one.
    int32_t place_of_name(const std::string& name);
    int32_t place_of(OriginPointer origin);
    int32_t place_of(const Size& size);
    int32_t place_of(Origin::Kind operation, int32_t a, int32_t b);
    std::optional<int64_t> constant_at(int32_t place) const;

    const std::map<std::string, int32_t>& names() const { return names_; }  // with their places
    const std::vector<Step>& steps() const { return steps_; }
    // A value for each place, as it is before the first step: constants, and anything for names and steps.
    const std::vector<int64_t>& begin() const { return begin_; }

    // Takes these steps. False on a division by zero, and beyond 64 bits; then values are anything.
    bool run(std::vector<int64_t>& values, size_t first, size_t end) const;

private:
    int32_t place_of_constant(int64_t value);
    int32_t place_of_product(const Origin::Term& term, int64_t coefficient);
    int32_t place_of_sum(const Origin& sum);
    int32_t new_place(int64_t value);

    std::map<std::string, int64_t> fixed_;
    std::map<std::string, int32_t> names_;
    std::vector<Step> steps_;
    std::vector<int64_t> begin_;
    std::unordered_map<OriginPointer, int32_t> known_;
    std::map<int64_t, int32_t> constants_;
    std::map<std::tuple<Origin::Kind, int32_t, int32_t>, int32_t> operations_;
};

}  // namespace heddle
