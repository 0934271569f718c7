// Expressions as a list of steps have the values that they have alone, and share what is the same.
#include "zspace/size_program.h"

#include <gtest/gtest.h>

#include <random>

namespace heddle {
namespace {

using Kind = Origin::Kind;

OriginPointer constant(int64_t value) { return Origin::of_constant(value); }

OriginPointer random_origin(std::mt19937_64& random, int depth) {
    if (depth == 0 || random() % 6 == 0) {
        constexpr int64_t numbers[] = {-3, -1, 0, 1, 2, 7, 64, INT64_MAX, INT64_MIN + 1};
        if (random() % 3 == 0) return constant(numbers[random() % std::size(numbers)]);
        return Origin::of_name(std::string(1, static_cast<char>('a' + random() % 3)));
    }
    constexpr Kind kinds[] = {Kind::add,    Kind::subtract, Kind::multiply, Kind::floor_divide,
                              Kind::modulo, Kind::minimum,  Kind::maximum,  Kind::add, Kind::multiply};
    const Kind kind = kinds[random() % std::size(kinds)];
    const OriginPointer a = random_origin(random, depth - 1);
    const OriginPointer b = random_origin(random, depth - 1);
    if ((kind == Kind::floor_divide || kind == Kind::modulo) && b->is_constant() && b->constant_value() == 0) return a;
    return Origin::of(kind, a, b);
}

// Together: all have their values, or one of them has none, or comes to none on another way.
TEST(SizeProgram, each_expression_has_its_value) {
    std::mt19937_64 random(5);
    int all_have = 0;
    for (int i = 0; i < 2'000; i++) {
        SizeProgram program;
        std::vector<OriginPointer> origins;
        std::vector<int32_t> places;
        for (int o = 0; o < 5; o++) {
            origins.push_back(random_origin(random, 4));
            places.push_back(program.place_of(origins.back()));
        }
        std::vector<int64_t> values = program.begin();
        for (int sizes = 0; sizes < 3; sizes++) {
            std::map<std::string, int64_t> names;
            for (const auto& [name, place] : program.names())
                names[name] = values[static_cast<size_t>(place)] = static_cast<int64_t>(random() % 300);
            const bool has = program.run(values, 0, program.steps().size());
            all_have += has;
            for (size_t o = 0; o < origins.size() && has; o++) {
                const auto wanted = origins[o]->evaluated(names);
                if (wanted) EXPECT_EQ(values[static_cast<size_t>(places[o])], *wanted) << origins[o]->text();
            }
        }
    }
    EXPECT_GT(all_have, 1'000);
}

TEST(SizeProgram, what_is_the_same_is_worked_out_once) {
    SizeProgram program;
    const OriginPointer n = Origin::of_name("n"), m = Origin::of_name("m");
    const OriginPointer product = Origin::of(Kind::multiply, n, m);
    const auto times = [&](int64_t factor) { return Origin::of(Kind::multiply, product, constant(factor)); };
    const int32_t four = program.place_of(times(4)), again = program.place_of(times(4));
    const int32_t more = program.place_of(Origin::of(Kind::add, times(4), constant(64)));
    EXPECT_EQ(four, again);
    EXPECT_EQ(program.steps().size(), 3u) << "a product, its multiple, and a sum";
    std::vector<int64_t> values = program.begin();
    values[static_cast<size_t>(program.names().at("n"))] = 3;
    values[static_cast<size_t>(program.names().at("m"))] = 5;
    ASSERT_TRUE(program.run(values, 0, program.steps().size()));
    EXPECT_EQ(values[static_cast<size_t>(four)], 60);
    EXPECT_EQ(values[static_cast<size_t>(more)], 124);
}

TEST(SizeProgram, says_where_there_is_no_value) {
    SizeProgram program;
    const OriginPointer n = Origin::of_name("n");
    program.place_of(Origin::of(Kind::floor_divide, constant(100), n));
    program.place_of(Origin::of(Kind::multiply, n, n));
    const auto has_values = [&](int64_t number) {
        std::vector<int64_t> values = program.begin();
        values[static_cast<size_t>(program.names().at("n"))] = number;
        return program.run(values, 0, program.steps().size());
    };
    EXPECT_TRUE(has_values(3));
    EXPECT_FALSE(has_values(0));
    EXPECT_FALSE(has_values(int64_t{1} << 40));
}

}  // namespace
}  // namespace heddle
