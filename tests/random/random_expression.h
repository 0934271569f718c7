// Random expressions of template bodies: coordinates that are inside, reads, reductions, conditions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "random/choices.h"

namespace heddle::random {

inline constexpr int64_t most_points = 4'000;    // of an index, and of a local array for each of them
inline constexpr int64_t most_work = 1'500'000;  // points times those of reductions around an expression
inline constexpr int most_nodes = 32;            // of all expressions: what is compiled is what takes time

struct Extent {
    std::string text;
    int64_t value = 0;
};

struct Variable {
    std::string name;
    Extent extent;
};

// A tensor, a local array or a state. `given`: coordinates before those of `shape`, as "t0 - 1" of a state.
struct Array {
    std::string name;
    std::vector<std::string> given;
    std::vector<Extent> shape;
    bool integer = false;
    int64_t limit = 0;  // of an integer's values, where it may be an index
    bool tensor = false;
};

struct Scope {
    std::vector<Variable> variables;
    std::vector<Array> arrays;
    std::vector<std::string> scalars;
    int64_t points = 1;

    void add(const Variable& variable) {
        variables.push_back(variable);
        points *= std::max<int64_t>(variable.extent.value, 1);
    }
};

using Text = std::optional<std::string>;

class ExpressionWriter {
protected:
    explicit ExpressionWriter(Choices& choices) : choices_(choices) {}

    Extent size_of(int64_t value);
    std::string fresh(const char* letter);
    // An extent for a new axis, so that the scope has no more than `limit` points.
    Extent extent(int64_t limit);
    // --- Coordinates ---
    std::vector<Variable> fitting(int64_t extent, bool same);
    // Inside of 0 to below `extent`, where there is such a coordinate.
    Text coordinate(const Extent& extent, int depth);
    std::string beyond_border(const Variable& variable);
    std::string place();
    Text indirect(const Extent& extent, int depth);
    Text read(const Array& array, int depth);
    Text read_any(bool integer, int depth);
    // --- Expressions ---
    std::string number();
    std::string leaf();
    // Of the template's float type, and an element: no static value.
    std::string real(int depth);
    std::string operand(int depth);
    std::string binary(int depth);
    std::string unary(int depth);
    // Binds variables, calls `inside`, and forgets them: "k0 < $s0, k1 < 3".
    std::string over(const std::function<void()>& inside);
    std::string reduction(int depth);
    // Where an integer below `extent` comes from an order.
    std::string argument(const Extent& extent, int depth);
    // A read beside its tensor's end: by ??, or behind a condition.
    std::string guarded(int depth);
    // A reduction over neighbours, of which those outside are something else, or left out.
    std::string window();
    std::string list(int depth);
    std::string integer(int depth);
    std::string truth(int depth);

    Choices& choices_;
    std::vector<Extent> sizes_;
    Scope scope_;
    int names_ = 0, nodes_ = most_nodes;
};

}  // namespace heddle::random
