#include "expr/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "expr/expression_parse.h"
#include "expr/expression_text.h"
#include "expr/remake.h"
#include "zspace/checked.h"

namespace heddle::expr {
namespace {

// The value of a coordinate or condition at given axis values: the definition that simplification must keep.
int64_t value_of(Expr e, const std::map<AxisId, int64_t>& at) {
    auto operand = [&](size_t i) { return value_of(e->parts()[i], at); };
    switch (e->kind) {
    case Kind::integer: return e->integer;
    case Kind::variable: return at.at(e->axis());
    case Kind::linear: {
        int64_t sum = e->integer;
        for (size_t i = 0; i < e->parts().size(); i++) sum += e->coefficients[i] * operand(i);
        return sum;
    }
    case Kind::floor_divide: return floor_divide(operand(0), e->integer);
    case Kind::modulo: return floor_modulo(operand(0), e->integer);
    case Kind::minimum: return std::min(operand(0), operand(1));
    case Kind::maximum: return std::max(operand(0), operand(1));
    case Kind::negative: return operand(0) < 0;
    case Kind::conjunction: return operand(0) && operand(1);
    case Kind::inside: return operand(0) >= 0 && operand(0) < e->integer;
    case Kind::select: return operand(0) ? operand(1) : operand(2);
    default: ADD_FAILURE() << "not a coordinate"; return 0;
    }
}

class ArenaTest : public ::testing::Test {
protected:
    Expr axis(int64_t extent) { return arena.axis_value(arena.add_axis({.name = "a", .extent = extent})); }
    Arena arena;
};

TEST_F(ArenaTest, InternsEqualExpressions) {
    Expr i = axis(10), j = axis(20);
    EXPECT_EQ(arena.add(i, j), arena.add(j, i));
    EXPECT_EQ(arena.add(arena.scale(i, 3), arena.integer(2)), arena.add(arena.integer(2), i, 3));
    EXPECT_EQ(arena.add(i, i, -1), arena.integer(0));
    EXPECT_NE(arena.real(DType::float32, 0.0), arena.real(DType::float32, -0.0));
    EXPECT_NE(arena.real(DType::float32, 1.0, true), arena.real(DType::float32, 1.0, false));
}

TEST_F(ArenaTest, FlattenOfUnflattenIsTheSameCoordinate) {
    Expr flat = axis(2 * 3 * 5 * 7);
    Expr a = arena.floor_divide(flat, 105), b = arena.modulo(arena.floor_divide(flat, 35), 3);
    Expr c = arena.modulo(arena.floor_divide(flat, 7), 5), d = arena.modulo(flat, 7);
    Expr back = arena.add(arena.add(arena.add(arena.scale(a, 105), b, 35), c, 7), d);
    EXPECT_EQ(back, flat);
    // Also behind an offset.
    Expr shifted = arena.add(flat, arena.integer(4));
    EXPECT_EQ(arena.add(arena.scale(arena.floor_divide(shifted, 6), 6), arena.modulo(shifted, 6)), shifted);
}

TEST_F(ArenaTest, MirroredCoordinatesAreKnownToStayInside) {
    Expr i = axis(10), j = axis(4);
    Expr up = arena.add(i, arena.integer(1)), down = arena.add(arena.integer(17), i, -1);
    Expr behind = arena.minimum(up, down);
    EXPECT_EQ(behind->low, 1);
    EXPECT_EQ(behind->high, 9);
    Expr before = arena.maximum(arena.add(i, arena.integer(-2)), arena.add(arena.integer(2), i, -1));
    EXPECT_EQ(before->low, 0);
    EXPECT_EQ(before->high, 7);
    // Means by weights, with other axes beside: min(2 i + j, 30 - i) <= (30 * 2 + 3) / 3.
    Expr weighted = arena.minimum(arena.add(arena.scale(i, 2), j), arena.add(arena.integer(30), i, -1));
    EXPECT_EQ(weighted->high, 21);
}

// As people write them: by comparisons.
TEST_F(ArenaTest, ChosenCoordinatesAreExtremes) {
    constexpr int64_t n = 10;
    const AxisId id = arena.add_axis({.name = "a", .extent = n + 6});
    Expr i = arena.add(arena.axis_value(id), arena.integer(-3)), zero = arena.integer(0), last = arena.integer(n - 1);
    const auto down = [&](int64_t from) { return arena.add(arena.integer(from), i, -1); };
    const auto at_start = [&](Expr below, Expr above) { return arena.select(arena.less(i, zero), below, above); };
    const auto at_end = [&](Expr above, Expr below) { return arena.select(arena.less(last, i), above, below); };
    const auto plain = [&](int64_t x) { return x < 0 ? -x : x >= n ? 2 * n - 2 - x : x; };
    const auto whole = [&](int64_t x) { return x < 0 ? -x - 1 : x >= n ? 2 * n - 1 - x : x; };
    const auto clamped = [&](int64_t x) { return std::clamp<int64_t>(x, 0, n - 1); };
    const auto check = [&](Expr e, const std::function<int64_t(int64_t)>& expected) {
        EXPECT_EQ(e->low, 0);
        EXPECT_EQ(e->high, n - 1);
        for (Expr part : walk(e)) EXPECT_NE(part->kind, Kind::select);
        for (int64_t x = 0; x < n + 6; x++) EXPECT_EQ(value_of(e, {{id, x}}), expected(x - 3)) << x;
    };
    check(at_start(down(0), at_end(down(2 * n - 2), i)), plain);
    check(at_end(down(2 * n - 2), at_start(down(0), i)), plain);
    check(at_start(down(-1), at_end(down(2 * n - 1), i)), whole);
    check(at_start(zero, at_end(last, i)), clamped);
    // What does not meet where the condition changes stays a choice.
    EXPECT_EQ(at_start(down(-3), i)->kind, Kind::select);
    EXPECT_EQ(at_start(down(1), i)->kind, Kind::select);
}

TEST_F(ArenaTest, UnflattenOfFlattenGivesTheDigits) {
    Expr a = axis(4), b = axis(6), c = axis(5);
    Expr flat = arena.add(arena.add(arena.scale(a, 30), b, 5), c);
    EXPECT_EQ(arena.floor_divide(flat, 30), a);
    EXPECT_EQ(arena.modulo(arena.floor_divide(flat, 5), 6), b);
    EXPECT_EQ(arena.modulo(flat, 5), c);
    EXPECT_EQ(arena.modulo(flat, 30), arena.add(arena.scale(b, 5), c));
    EXPECT_EQ(arena.floor_divide(flat, 15), arena.floor_divide(arena.add(arena.scale(a, 6), b), 3));
}

TEST_F(ArenaTest, ConditionsAreDecidedByIntervals) {
    Expr i = axis(10), j = axis(4);
    EXPECT_EQ(arena.inside(i, 10), arena.truth(true));
    EXPECT_EQ(arena.less(i, arena.integer(0)), arena.truth(false));
    // 4 i + j < 12  <=>  i < 3
    EXPECT_EQ(arena.less(arena.add(arena.scale(i, 4), j), arena.integer(12)), arena.less(i, arena.integer(3)));
    // The weaker of two bounds goes.
    Expr three = arena.less(i, arena.integer(3)), five = arena.less(i, arena.integer(5));
    EXPECT_EQ(arena.conjunction(three, five), three);
    EXPECT_EQ(arena.conjunction(five, three), three);
    EXPECT_EQ(arena.scalar(ScalarOp::logical_not, DType::boolean, {three}), arena.less(arena.integer(2), i));
}

TEST_F(ArenaTest, GuardedReadsAreDecidedByIntervals) {
    Expr i = axis(10), zero = arena.real(DType::float32, 0);
    auto guarded = [&](Expr coordinate, Expr otherwise) {
        return arena.guarded_read(TensorIndex(0), DType::float32, {coordinate}, otherwise, {10});
    };
    EXPECT_EQ(guarded(i, zero)->kind, Kind::read);
    EXPECT_EQ(guarded(arena.add(i, arena.integer(10)), zero), zero);
    Expr shifted = guarded(arena.add(i, arena.integer(-1)), zero);
    EXPECT_EQ(shifted->kind, Kind::guarded_read);
    // Substitution decides it.
    const AxisId id = i->axis();
    EXPECT_EQ(arena.substitute(shifted, {{id, arena.integer(5)}}),
              arena.read(TensorIndex(0), DType::float32, {arena.integer(4)}));
    EXPECT_EQ(arena.substitute(shifted, {{id, arena.integer(0)}}), zero);
    // A value that varies makes a selection.
    EXPECT_EQ(guarded(arena.add(i, arena.integer(-1)), arena.read(TensorIndex(1), DType::float32, {i}))->kind,
              Kind::select);
}

TEST_F(ArenaTest, SelectionsFold) {
    Expr i = axis(10), c = arena.less(i, arena.integer(3));
    Expr x = arena.read(TensorIndex(0), DType::float32, {i}), y = arena.read(TensorIndex(1), DType::float32, {i});
    EXPECT_EQ(arena.select(arena.truth(true), x, y), x);
    EXPECT_EQ(arena.select(c, x, x), x);
    EXPECT_EQ(arena.select(c, arena.select(c, x, y), y), arena.select(c, x, y));
}

TEST_F(ArenaTest, CastsFold) {
    Expr half = arena.read(TensorIndex(0), DType::float16, {axis(4)});
    EXPECT_EQ(arena.cast(DType::float16, arena.cast(DType::float32, half)), half);
    Expr single = arena.read(TensorIndex(1), DType::float32, {axis(4)});
    EXPECT_NE(arena.cast(DType::float32, arena.cast(DType::float16, single)), single);
    EXPECT_EQ(arena.cast(DType::float32, arena.real(DType::float64, 0.1)), arena.real(DType::float32, 0.1f));
    EXPECT_EQ(arena.cast(DType::uint8, arena.integer(257)), arena.literal(DType::uint8, 1));
    Expr byte = arena.cast(DType::int64, arena.read(TensorIndex(2), DType::uint8, {axis(4)}));
    EXPECT_EQ(byte->low, 0);
    EXPECT_EQ(byte->high, 255);
}

TEST_F(ArenaTest, AxesOfExtentOneAreZeroUnlessNamed) {
    EXPECT_EQ(axis(1), arena.integer(0));
    Expr named = arena.axis_value(arena.add_axis({.name = "n", .extent = 1, .named = true}));
    EXPECT_EQ(named->kind, Kind::variable);
}

TEST_F(ArenaTest, OverflowMakesAnIntervalUnknown) {
    Expr i = axis(int64_t(1) << 40);
    Expr large = arena.scale(arena.scale(i, int64_t(1) << 20), 16);
    EXPECT_EQ(large->low, INT64_MIN);
    EXPECT_EQ(large->high, INT64_MAX);
    EXPECT_EQ(arena.inside(large, INT64_MAX)->kind, Kind::conjunction);
}

TEST_F(ArenaTest, DeepExpressionsNeedNoDeepStack) {
    Expr i = axis(100), value = arena.read(TensorIndex(0), DType::float32, {i});
    for (int k = 0; k < 200000; k++) value = arena.scalar(ScalarOp::exp, DType::float32, {value});
    Expr moved = arena.substitute(value, {{i->axis(), arena.integer(3)}});
    EXPECT_TRUE(moved->axes.empty());
    EXPECT_EQ(walk(moved).size(), 200002u);
}

TEST_F(ArenaTest, ReadsBelowAreTheReadsOfAWalk) {
    std::mt19937 random(1);
    std::vector<Expr> values = {arena.real(DType::float32, 1), arena.real(DType::float32, 2)}, places = {axis(10), axis(20)};
    const auto any_of = [&](const std::vector<Expr>& list) { return list[random() % list.size()]; };
    for (int k = 0; k < 400; k++) {
        switch (random() % 4) {
        case 0: places.push_back(arena.add(any_of(places), any_of(places), static_cast<int64_t>(random() % 5) - 2)); break;
        case 1: {
            Expr index = arena.read(TensorIndex(0), DType::int64, {any_of(places)});
            places.push_back(index);
            break;
        }
        case 2: values.push_back(arena.read(TensorIndex(1 + random() % 3), DType::float32, {any_of(places)})); break;
        default: values.push_back(arena.scalar(ScalarOp::multiply, DType::float32, {any_of(values), any_of(values)}));
        }
        const Expr last = random() % 2 ? values.back() : places.back();
        std::vector<Expr> expected = walk(last);
        std::erase_if(expected, [](Expr e) { return !e->is_read(); });
        EXPECT_EQ(reads_below(last), expected);
        EXPECT_EQ(last->has_reads, !expected.empty());
    }
}

TEST(AsWritten, NothingIsDecidedByExtents) {
    Arena arena(Building::as_written);
    auto axis = [&](int64_t extent) { return arena.axis_value(arena.add_axis({.name = "a", .extent = extent})); };
    Expr one = axis(1), i = axis(10), zero = arena.real(DType::float32, 0);
    EXPECT_EQ(one->kind, Kind::variable);
    EXPECT_EQ(arena.add(arena.add(one, i), one), arena.add(i, one, 2));
    EXPECT_EQ(arena.minimum(i, arena.integer(100))->kind, Kind::minimum);
    EXPECT_EQ(arena.modulo(i, 100)->kind, Kind::modulo);
    EXPECT_EQ(arena.less(i, arena.integer(100))->kind, Kind::negative);
    EXPECT_EQ(arena.inside(i, 100)->kind, Kind::inside);
    EXPECT_EQ(arena.guarded_read(TensorIndex(0), DType::float32, {i}, zero, {100})->kind, Kind::guarded_read);
    EXPECT_EQ(arena.select(arena.truth(true), zero, zero)->kind, Kind::select);
    Expr inside = arena.inside(i, 5), less = arena.less(i, one);
    EXPECT_EQ(arena.conjunction(arena.conjunction(inside, less), inside),
              arena.conjunction(inside, arena.conjunction(less, inside)));
}

TEST(ExpressionText, ComesBack) {
    for (const char* text : {"int64(float32(3.0))", "float32(bool(true))", "int64(uint64(3))", "float16(0.5)",
                             "float32(data(3))", "value.add(t[i], t[3])", "(inside((i - 1), 4) && (i < 0))",
                             "((i + 2 * j - 1) // 3)", "(bool(t[j]) ? 1 : 2)", "t[(t[i] + 1)] ?? 7"}) {
        Arena arena(Building::as_written);
        const std::map<std::string, AxisId> axes = {{"i", arena.add_axis({.extent = 4})},
                                                    {"j", arena.add_axis({.extent = 5})}};
        TextReader reader(std::make_shared<SourceText>("test", text), "expr.type", TextReader::Lines::are_space);
        auto axis = [&](const std::string& name) { return std::optional(axes.at(name)); };
        auto tensor = [](const std::string&) {
            return std::optional(ReadableTensor{TensorIndex(0), DType::int64, {9}});
        };
        Expr e = ExpressionParser(reader, arena, axis, tensor).expression();
        ASSERT_FALSE(reader.failed()) << text << render(reader.failure().error());
        EXPECT_EQ(ExpressionPrinter({e}, {{AxisId(0), "i"}, {AxisId(1), "j"}}, [](TensorIndex) { return "t"; }).text(e),
                  text);
    }
}

// Made anew where everything is simplified, and read from its text, `e` has the same values.
void expect_same_elsewhere(Arena& arena, Expr e, const std::vector<std::map<AxisId, int64_t>>& places) {
    Arena other;
    ExpressionPrinter::AxisNames names;
    for (size_t a = 0; a < arena.axis_count(); a++) {
        const AxisId id = other.add_axis(arena.axis(AxisId(a)));
        names.emplace_back(id, "a" + std::to_string(a));
    }
    auto of_axis = [&](Expr node) { return node->kind == Kind::variable ? other.axis_value(node->axis()) : nullptr; };
    Arena::Memo memo;
    Expr made = remade(
        e, memo, of_axis, [](Expr node) { return node->parts(); },
        [&](Expr node, std::vector<Expr> operands) { return other.copy(node, std::move(operands)); });
    const ExpressionPrinter printer({e}, names, [](TensorIndex) { return "t"; });
    std::string text;
    for (const std::string& let : printer.lets()) text += let + "\n";
    TextReader reader(std::make_shared<SourceText>("test", text + printer.text(e)), "expr.type",
                      TextReader::Lines::are_space);
    ExpressionParser parser(
        reader, arena, [&](const std::string& name) { return std::optional(AxisId(name[1] - '0')); },
        [](const std::string&) { return std::nullopt; });
    while (reader.take("let")) parser.let();
    Expr read = parser.expression();
    ASSERT_FALSE(reader.failed()) << text << printer.text(e) << render(reader.failure().error());
    for (const auto& place : places) {
        ASSERT_EQ(value_of(made, place), value_of(e, place));
        ASSERT_EQ(value_of(read, place), value_of(e, place)) << text << printer.text(e);
    }
}

// Random coordinates: every builder keeps the value, and the interval holds.
class ArenaProperty : public ::testing::TestWithParam<Building> {};
INSTANTIATE_TEST_SUITE_P(Buildings, ArenaProperty, ::testing::Values(Building::canonical, Building::as_written));

TEST_P(ArenaProperty, BuildingKeepsValues) {
    std::mt19937 random(7);
    auto pick = [&](int64_t low, int64_t high) {
        return low + static_cast<int64_t>(random() % uint64_t(high - low + 1));
    };
    for (int round = 0; round < 400; round++) {
        Arena arena(GetParam());
        // Each expression with the values that plain arithmetic gives it at a few points.
        constexpr int points = 12;
        struct Sample {
            Expr expression;
            std::array<int64_t, points> values;
        };
        std::vector<Sample> pool;
        std::vector<std::map<AxisId, int64_t>> places(points);
        for (int a = 0; a < 3; a++) {
            const std::array<int64_t, 8> extents = {1, 2, 3, 4, 6, 8, 12, 24};
            const int64_t extent = extents[static_cast<size_t>(pick(0, 7))];
            const AxisId id = arena.add_axis({.name = "a", .extent = extent});
            Sample sample{arena.axis_value(id), {}};
            for (int p = 0; p < points; p++) sample.values[size_t(p)] = places[size_t(p)][id] = pick(0, extent - 1);
            pool.push_back(sample);
        }
        for (int step = 0; step < 25; step++) {
            const Sample a = pool[static_cast<size_t>(pick(0, int64_t(pool.size()) - 1))];
            const Sample b = pool[static_cast<size_t>(pick(0, int64_t(pool.size()) - 1))];
            const std::array<int64_t, 8> factors = {-6, -2, -1, 1, 2, 3, 4, 12};
            const std::array<int64_t, 6> divisors = {2, 3, 4, 6, 12, 24};
            const int64_t factor = factors[static_cast<size_t>(pick(0, 7))],
                          divisor = divisors[static_cast<size_t>(pick(0, 5))];
            const int64_t choice = pick(0, 8);
            Sample made;
            auto apply = [&](Expr e, auto f) {
                made.expression = e;
                for (size_t p = 0; p < points; p++) made.values[p] = f(a.values[p], b.values[p]);
            };
            if (choice == 0 || choice == 1)
                apply(arena.add(a.expression, b.expression, factor), [&](auto x, auto y) { return x + factor * y; });
            if (choice == 2 || choice == 3)
                apply(arena.floor_divide(a.expression, divisor),
                      [&](auto x, auto) { return floor_divide(x, divisor); });
            if (choice == 4 || choice == 5)
                apply(arena.modulo(a.expression, divisor), [&](auto x, auto) { return floor_modulo(x, divisor); });
            if (choice == 6)
                apply(arena.minimum(a.expression, b.expression), [&](auto x, auto y) { return std::min(x, y); });
            if (choice == 7) {
                Expr condition = arena.less(a.expression, b.expression);
                apply(arena.select(condition, arena.integer(1), arena.integer(0)),
                      [&](auto x, auto y) { return int64_t(x < y); });
            }
            if (choice == 8) {
                // One is mirrored or clamped at the other, or near it.
                const int64_t turn = pick(-1, 2), off = pick(-1, 1);
                Expr turned =
                    arena.add(arena.add(arena.scale(b.expression, turn), a.expression, 1 - turn), arena.integer(off));
                apply(arena.select(arena.less(a.expression, b.expression), turned, a.expression),
                      [&](auto x, auto y) { return x < y ? turn * y + (1 - turn) * x + off : x; });
            }
            for (size_t p = 0; p < points; p++) {
                ASSERT_EQ(value_of(made.expression, places[p]), made.values[p]) << "round " << round;
                ASSERT_LE(made.expression->low, made.values[p]);
                ASSERT_GE(made.expression->high, made.values[p]);
            }
            if (std::abs(made.values[0]) < 1000000) pool.push_back(made);
        }
        expect_same_elsewhere(arena, pool.back().expression, places);
    }
}

}  // namespace
}  // namespace heddle::expr
