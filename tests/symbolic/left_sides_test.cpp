// Left sides in any affine form: an equation is taken if and only if all together write each element once, and then the
// elements are those of enumeration.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "body_session.h"

namespace heddle::body_test {
namespace {

struct Coordinate {
    int64_t constant = 0;
    std::vector<int64_t> factors;  // of each variable of its equation
};

struct Side {
    std::vector<int64_t> extents;  // of its variables
    std::vector<Coordinate> coordinates;
};

struct Case {
    std::vector<int64_t> shape;
    std::vector<Side> sides;
};

class RandomLeftSides {
public:
    explicit RandomLeftSides(uint64_t seed) : random_(seed) {}

    // Digits of each dimension, some backwards, one of them shared out among equations; then perhaps spoilt.
    Case make() {
        Case made;
        std::vector<int64_t> extents;
        std::vector<std::vector<size_t>> dimensions(1 + below(2));
        for (auto& digits : dimensions) {
            int64_t size = 1;
            for (size_t count = 1 + below(3); count > 0; --count) {
                digits.push_back(extents.size());
                extents.push_back(1 + static_cast<int64_t>(below(3)));
                size *= extents.back();
            }
            made.shape.push_back(size);
        }
        Side whole{extents, std::vector<Coordinate>(dimensions.size())};
        for (size_t d = 0; d < dimensions.size(); ++d) {
            std::ranges::shuffle(dimensions[d], random_);
            whole.coordinates[d].factors.resize(extents.size());
            int64_t factor = 1;
            for (size_t digit : dimensions[d]) {
                const bool back = below(3) == 0;
                whole.coordinates[d].factors[digit] = back ? -factor : factor;
                if (back) whole.coordinates[d].constant += factor * (extents[digit] - 1);
                factor *= extents[digit];
            }
        }
        made.sides = shared_out(whole);
        if (below(2) == 0) made.sides = shared_out_again(made.sides);
        if (below(2) == 0) spoil(made);
        return made;
    }

private:
    size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

    std::vector<Side> shared_out(const Side& side) {
        const size_t digit = below(side.extents.size());
        std::vector<Side> parts;
        for (int64_t first = 0; first < side.extents[digit];) {
            const int64_t length = 1 + static_cast<int64_t>(below(static_cast<size_t>(side.extents[digit] - first)));
            Side part = side;
            part.extents[digit] = length;
            for (Coordinate& c : part.coordinates) c.constant += first * c.factors[digit];
            parts.push_back(std::move(part));
            first += length;
        }
        return parts;
    }
    std::vector<Side> shared_out_again(const std::vector<Side>& sides) {
        std::vector<Side> parts = shared_out(sides[0]);
        parts.insert(parts.end(), sides.begin() + 1, sides.end());
        std::ranges::shuffle(parts, random_);
        return parts;
    }
    void spoil(Case& made) {
        Side& side = made.sides[below(made.sides.size())];
        Coordinate& coordinate = side.coordinates[below(side.coordinates.size())];
        const int64_t by = below(2) == 0 ? 1 : -1;
        switch (below(5)) {
        case 0: coordinate.constant += by; break;
        case 1: coordinate.factors[below(coordinate.factors.size())] += by; break;
        case 2: side.extents[below(side.extents.size())] += by; break;
        case 3: made.shape[below(made.shape.size())] += by; break;
        default: made.sides.push_back(side);
        }
    }

    std::mt19937_64 random_;
};

template <typename F>
void each_point(const std::vector<int64_t>& extents, const F& see) {
    if (std::ranges::any_of(extents, [](int64_t extent) { return extent == 0; })) return;
    std::vector<int64_t> point(extents.size());
    for (;;) {
        see(point);
        size_t d = point.size();
        while (d > 0 && ++point[d - 1] == extents[d - 1]) point[--d] = 0;
        if (d == 0) return;
    }
}

// Equation s writes 1 + 1000 s + the digits of its point.
std::optional<std::vector<double>> enumerated(const Case& made) {
    int64_t size = 1;
    for (int64_t extent : made.shape) size *= extent;
    std::vector<double> values(static_cast<size_t>(size));
    bool exact = true;
    for (size_t s = 0; s < made.sides.size(); ++s) {
        const Side& side = made.sides[s];
        each_point(side.extents, [&](const std::vector<int64_t>& point) {
            int64_t address = 0, number = 1 + 1000 * static_cast<int64_t>(s), scale = 1;
            for (size_t d = 0; d < made.shape.size(); ++d) {
                int64_t at = side.coordinates[d].constant;
                for (size_t v = 0; v < point.size(); ++v) at += side.coordinates[d].factors[v] * point[v];
                exact = exact && at >= 0 && at < made.shape[d];
                address = address * made.shape[d] + at;
            }
            for (int64_t digit : point) number += digit * scale, scale *= 4;
            if (!exact) return;
            exact = values[static_cast<size_t>(address)] == 0;
            values[static_cast<size_t>(address)] = static_cast<double>(number);
        });
    }
    exact = exact && std::ranges::find(values, 0.0) == values.end();
    return exact ? std::optional(values) : std::nullopt;
}

std::string text_of(const Case& made) {
    std::string text = fmt::format(
        "t:\n  inputs: {{x: \"$T[]\"}}\n  index: \"[]\"\n  outputs: {{y: \"$T[{}]\"}}\n  body: |\n",
        fmt::join(made.shape, ", "));
    for (size_t s = 0; s < made.sides.size(); ++s) {
        const Side& side = made.sides[s];
        std::string block, left, value = fmt::format("x + {}", 1 + 1000 * s);
        int64_t scale = 1;
        for (size_t v = 0; v < side.extents.size(); ++v, scale *= 4) {
            block += fmt::format("{}v{}_{} < {}", v == 0 ? "" : ", ", s, v, side.extents[v]);
            value += fmt::format(" + {} * v{}_{}", scale, s, v);
        }
        for (const Coordinate& c : side.coordinates) {
            left += fmt::format("{}{}", left.empty() ? "" : ", ", c.constant);
            for (size_t v = 0; v < c.factors.size(); ++v)
                if (c.factors[v] != 0) left += fmt::format(" + ({}) * v{}_{}", c.factors[v], s, v);
        }
        text += fmt::format("    for {}:\n      y[{}] = {}\n", block, left, value);
    }
    return text;
}

TEST(LeftSides, AreTakenIfTheyWriteEachElementOnce) {
    const TensorData zero = tensor(DType::float32, {}, {0});
    size_t taken = 0, refused = 0;
    for (uint64_t seed = 0; seed < 4000; ++seed) {
        const Case made = RandomLeftSides(seed).make();
        const std::string text = text_of(made);
        const auto wanted = enumerated(made);
        const auto outcome = apply(library_of(text), "t", {{true, false, {zero}}}, {});
        ASSERT_EQ(outcome.has_value(), wanted.has_value())
            << "seed " << seed << "\n"
            << text << (outcome ? "" : render(outcome.error()));
        if (!outcome) {
            ++refused;
            ASSERT_EQ(outcome.error()[0].code, "symbolic.cover") << text << render(outcome.error());
            continue;
        }
        ++taken;
        for (size_t i = 0; i < wanted->size(); ++i)
            ASSERT_EQ(outcome->outputs[0].real_at(static_cast<int64_t>(i)), (*wanted)[i])
                << "seed " << seed << ", element " << i << "\n"
                << text;
    }
    EXPECT_GT(taken, 1500U);
    EXPECT_GT(refused, 1000U);
}

std::string over(const std::string& equations, const std::string& shape = "$n") {
    return "t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T[" + shape + "]\"}\n  body: |\n" +
           equations;
}

std::string found(const std::string& text) {
    auto outcome = apply(library_of(text), "t", {{true, false, {counting(DType::float32, {5})}}}, {});
    if (!outcome) return outcome.error()[0].code + ": " + outcome.error()[0].found;
    std::string values;
    for (int64_t i = 0; i < outcome->outputs[0].size(); ++i)
        values += fmt::format("{}{}", i ? " " : "", outcome->outputs[0].real_at(i));
    return values;
}

TEST(LeftSides, GoBackwardsAndBetweenOneAnother) {
    EXPECT_EQ(found(over("    y[$n - 1 - @n] = x\n")), "4 3 2 1 0");
    // Local arrays and states go along.
    EXPECT_EQ(found(over("    let g[i < 2] = x * (i + 1)\n    y[$n - 1 - @n] = g[0] + g[1]\n")), "12 9 6 3 0");
    EXPECT_EQ(found("t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[]\"\n  outputs: {y: \"$T[$n]\"}\n  body: |\n"
                    "    scan t < $n:\n      s[t] = s[t - 1] + x[t] from 0\n      y[$n - 1 - t] = s[t]\n"),
              "10 6 3 1 0");
    EXPECT_EQ(found("t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[]\"\n  outputs: {y: \"$T[2 * $n]\"}\n  body: |\n"
                    "    scan t < $n:\n      s[t] = s[t - 1] + x[t] from 0\n"
                    "      y[2 * ($n - 1 - t)] = s[t - 1]\n      y[2 * t + 1] = s[t]\n"),
              "6 0 3 1 1 3 0 6 0 10");
    // Of other lengths, and of which one has no points.
    EXPECT_EQ(found("t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[]\"\n  outputs: {y: \"$T[$n]\"}\n  body: |\n"
                    "    for i < 3:\n      y[2 * i] = x[i]\n    for i < 2:\n      y[2 * i + 1] = 10 * x[i]\n"
                    "    for i < 0:\n      y[i] = 7\n"),
              "0 0 1 10 2");
    // Blocks that take turns, each with an array of its own.
    EXPECT_EQ(found("t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[]\"\n  outputs: {y: \"$T[8]\"}\n  body: |\n"
                    "    for b < 2, j < 2:\n      let g[k < 1] = x[b + 2 * j]\n      y[4 * b + j] = g[0]\n"
                    "      y[4 * b + 2 + j] = -x[2 * b + j]\n"),
              "0 2 -0 -1 1 3 -2 -3");
    // Diagonals.
    EXPECT_EQ(found("t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[]\"\n  outputs: {y: \"$T[2, 2]\"}\n  body: |\n"
                    "    for i < 2:\n      y[i, i] = x[i]\n      y[i, 1 - i] = 10 * x[i]\n"),
              "0 0 10 1");
}

TEST(LeftSides, FaultsNameAnElement) {
    EXPECT_EQ(found(over("    y[2 * @n] = x\n", "2 * $n")), "symbolic.cover: nothing writes [1]");
    EXPECT_EQ(found("t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[]\"\n  outputs: {y: \"$T[5]\"}\n  body: |\n"
                    "    for i < 3:\n      y[2 * i] = x[i]\n    for i < 2:\n      y[2 * i + 1] = x[i]\n    y[2] = 0\n"),
              "symbolic.cover: [2] is written by both");
    EXPECT_EQ(found(over("    for c < 2:\n      y[@n + c] = x\n", "$n + 1")),
              "symbolic.cover: [1] is written by two points of the index and the blocks around it");
    EXPECT_EQ(found(over("    y[@n, @n] = x\n", "$n, $n")), "symbolic.cover: nothing writes [0, 1]");
    EXPECT_EQ(found(over("    y[1 - @n] = x\n")), "symbolic.cover: -3 .. 1");
}

}  // namespace
}  // namespace heddle::body_test
