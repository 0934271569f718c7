// Both text forms print and parse; every diagnostic code of the room has a text that fails with it.
#include <gtest/gtest.h>

#include <limits>

#include "helpers/codes.h"
#include "helpers/source_folder.h"
#include "kernel_cases.h"
#include "kernel_reference.h"
#include "schedules/schedule.h"
#include "support/text_reader.h"

namespace heddle::schedules::testing {
namespace {

std::shared_ptr<const SourceText> source(const std::string& text) { return std::make_shared<SourceText>("test", text); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << "\n" << text;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

Kernel kernel_named(const std::string& name) {
    for (const KernelCase& test : load_kernel_cases(in_source())) {
        if (test.name != name) continue;
        auto kernel = parse_kernel(source(with_sizes(test.text, test.sizes.back())));
        if (kernel) return *kernel;
    }
    ADD_FAILURE() << name;
    return {};
}

std::string tree_text(const std::string& name) { return print(schedule(kernel_named(name), Target()).value().tree); }

TEST(KernelText, PrintsAndParses) {
    for (const KernelCase& test : load_kernel_cases(in_source())) {
        auto kernel = parse_kernel(source(with_sizes(test.text, test.sizes.back())));
        ASSERT_TRUE(kernel.has_value()) << test.name << render(kernel.error());
        EXPECT_TRUE(verify(*kernel).has_value()) << test.name;
        std::string text = print(*kernel, test.name);
        auto again = parse_kernel(source(text));
        ASSERT_TRUE(again.has_value()) << text << render(again.error());
        EXPECT_EQ(print(*again, test.name), text);
    }
}

TEST(TreeText, PrintsAndParses) {
    for (const KernelCase& test : load_kernel_cases(in_source())) {
        Tree tree = schedule(kernel_named(test.name), Target()).value().tree;
        std::string text = print(tree);
        auto again = parse_tree(source(text));
        ASSERT_TRUE(again.has_value()) << text << render(again.error());
        EXPECT_EQ(print(**again), text);
        EXPECT_EQ(key(**again, Target()), key(tree, Target())) << test.name;
    }
}

TEST(TreeText, ABandOfAStripAsksForTheNextRow) {
    const std::string text = tree_text("blur_in_strips");
    EXPECT_NE(text.find("prefetch_row a x["), std::string::npos) << text;
    EXPECT_NE(text.find("prefetch_row a_2 y["), std::string::npos) << text;
}

// Names are for people, whatever stands in them; numbers are exact to the ends of their range.
TEST(TreeText, TextsInQuotesAndExtremeNumbers) {
    Tree tree = *parse_tree(source(tree_text("softmax"))).value();
    tree.facts = {"a 'b' \"c\" \\ \n \x01 # d"};
    tree.numbers[0].what = "\\";
    auto again = parse_tree(source(print(tree)));
    ASSERT_TRUE(again.has_value()) << render(again.error());
    EXPECT_EQ((*again)->facts, tree.facts);
    EXPECT_EQ((*again)->numbers[0].what, tree.numbers[0].what);
    EXPECT_EQ(print(**again), print(tree));
    TextReader reader(source("-9223372036854775808 9223372036854775807 18446744073709551616.0 9223372036854775808"),
                      "schedules.syntax", TextReader::Lines::are_space);
    EXPECT_EQ(reader.integer("lowest"), std::numeric_limits<int64_t>::min());
    EXPECT_EQ(reader.integer("greatest"), std::numeric_limits<int64_t>::max());
    EXPECT_EQ(reader.real("a great number"), 0x1p64);
    EXPECT_FALSE(reader.failed());
    reader.integer("a number in range");
    ASSERT_TRUE(reader.failed());
    EXPECT_EQ(reader.failure().error()[0].code, "schedules.syntax");
}

TEST(Schedule, IsDeterministic) {
    for (const char* name : {"attention", "conv", "softmax"}) EXPECT_EQ(tree_text(name), tree_text(name));
}

TEST(Schedule, NearNeighboursGoByBands) {
    Target small;
    small.l2_bytes = 1024;
    const auto goes_by_bands = [&](const char* name) {
        return print(schedule(kernel_named(name), small).value().tree).find("for seam in") != std::string::npos;
    };
    EXPECT_TRUE(goes_by_bands("bands"));
    EXPECT_TRUE(goes_by_bands("bands_of_lanes"));
    EXPECT_FALSE(goes_by_bands("no_bands"));
}

TEST(Schedule, WhatLiesInsideIsReadWithoutACondition) {
    const std::string tree = print(schedule(kernel_named("chosen_by_data"), Target()).value().tree);
    const size_t inside = tree.find("by 4 x 16");
    ASSERT_NE(inside, std::string::npos) << tree;
    EXPECT_EQ(tree.substr(inside, tree.find("store", inside) - inside).find(" if ("), std::string::npos) << tree;
}

// 128 float64 are a quarter of what one way of L1 holds: rows that follow one another would all be in a fourth of its sets.
TEST(Schedule, WhatDataSayOfATileIsAskedBeforeItsLoop) {
    for (const char* name : {"asked_before_the_loop", "votes_of_few"}) {
        const std::string tree = print(schedule(kernel_named(name), Target()).value().tree);
        EXPECT_NE(tree.find("for once in 0 .. {select("), std::string::npos) << tree;
    }
}

TEST(Schedule, RowsOfArraysAreInDifferentSetsOfTheCache) {
    for (const KernelCase& test : load_kernel_cases(in_source())) {
        if (test.name != "bytes_in_time_scan") continue;
        const Kernel kernel = parse_kernel(source(with_sizes(test.text, {{"T", 133}, {"B", 65536}}))).value();
        const auto scheduled = schedule(kernel, Target()).value();
        std::map<std::string, int64_t> numbers;
        for (size_t i = 0; i < scheduled.tree.numbers.size(); i++)
            numbers[scheduled.tree.numbers[i].what] = scheduled.launch.numbers[i];
        EXPECT_EQ(numbers["step of b"], 128);
        EXPECT_EQ(numbers["stride of s12 dimension 0"], 136) << print(scheduled.tree);  // a cache line more
        EXPECT_EQ(numbers["stride of s13 dimension 0"], 128) << print(scheduled.tree);  // of bytes
    }
}

TEST(Schedule, KeyDependsOnTheTargetButNotOnNames) {
    Tree tree = schedule(kernel_named("matmul_gelu"), Target()).value().tree, renamed = tree;
    renamed.memories[0].name = "other";
    renamed.name = "another";
    EXPECT_EQ(key(tree, Target()), key(renamed, Target()));
    Target other;
    other.cpu = "znver4";
    EXPECT_NE(key(tree, Target()), key(tree, other));
}

void expect_kernel_error(const std::string& text, const std::string& code) {
    auto kernel = parse_kernel(source(text));
    Diagnostics errors;
    if (!kernel)
        errors = kernel.error();
    else if (auto scheduled = schedule(*kernel, Target()); !scheduled)
        errors = scheduled.error();
    ASSERT_FALSE(errors.empty()) << text;
    EXPECT_EQ(errors[0].code, code) << render(errors);
}

TEST(KernelText, EveryErrorIsFound) {
    std::string good =
        "kernel k\n  axis a = 5\n  axis b = 3\n  input x: float32 [5, 3]\n  output y: float32 [5]\n  common a\n"
        "  y[a] over [a] = sum over [b] x[a, b]\n";
    ASSERT_TRUE(schedule(parse_kernel(source(good)).value(), Target()).has_value());
    expect_kernel_error(replaced(good, "over [b]", "over b"), "schedules.syntax");
    expect_kernel_error(replaced(good, "x[a, b]", "frobnicate(x[a, b])"), "expr.unknown_name");
    expect_kernel_error(replaced(good, "x[a, b]", "x[a, c]"), "expr.unknown_name");
    expect_kernel_error(replaced(good, "x[a, b]", "z[a, b]"), "expr.unknown_name");
    // Complex numbers are taken apart before.
    expect_kernel_error(replaced(good, "x[a, b]", "re(x[a, b])"), "expr.type");
    expect_kernel_error(replaced(good, "x[a, b]", "complex64(x[a, b])"), "expr.unknown_name");
    expect_kernel_error(replaced(good, "x: float32", "x: complex64"), "schedules.syntax");
    expect_kernel_error(replaced(good, "y[a]", "y[]"), "expr.type");
    expect_kernel_error(replaced(good, "x[a, b]", "x[a, b] ? x[a, b] : x[a, b]"), "expr.type");
    // Functions are for floats: this used to become the operand itself.
    const std::string whole = replaced(replaced(good, "x: float32", "x: int64"), "y: float32", "y: int64");
    ASSERT_TRUE(schedule(parse_kernel(source(whole)).value(), Target()).has_value());
    expect_kernel_error(replaced(whole, "x[a, b]", "exp(x[a, b])"), "expr.type");
    expect_kernel_error(replaced(good, "x[a, b]", "bit_and(x[a, b], x[a, b])"), "expr.type");
    expect_kernel_error(replaced(good, "x[a, b]", "add(x[a, b])"), "expr.type");
    expect_kernel_error(replaced(good, "= sum", "= any"), "schedules.type");
    expect_kernel_error(replaced(good, "y[a] over", "x[a, 0] over"), "schedules.role");
    expect_kernel_error(replaced(good, "over [b]", "over []"), "schedules.scope");
    expect_kernel_error(replaced(good, "x[a, b]", "x[a, b + 1]"), "expr.out_of_range");
    expect_kernel_error(replaced(good, "x[a, b]", "x[a, b] ?? x[a, b]"), "expr.type");
    expect_kernel_error(replaced(good, "y[a] over", "y[a + 1] over"), "schedules.bounds");
    auto code_after = [&](auto damage) {
        Kernel kernel = parse_kernel(source(good)).value();
        damage(kernel);
        return codes_text(verify(kernel));
    };
    EXPECT_EQ(code_after([](Kernel& k) { k.equations[0].right = nullptr; }), "schedules.index");
    EXPECT_EQ(code_after([](Kernel& k) { k.equations[0].left.clear(); }), "schedules.index");
    EXPECT_EQ(code_after([](Kernel& k) { k.equations[0].reduced = {AxisId(2)}; }), "schedules.index");
    EXPECT_EQ(code_after([](Kernel& k) { k.equations[0].right = k.arena->read(TensorIndex(7), DType::float32, {}); }),
              "expr.reference");
    EXPECT_EQ(code_after([](Kernel& k) {
                  Expr half = k.arena->real(DType::float32, 0.5);
                  k.equations[0].left = {half};
              }),
              "schedules.scope schedules.type");
}

TEST(KernelText, WrongUpdatesAreNamed) {
    const std::string good =
        "kernel k\n"
        "  axis a = 5\n"
        "  axis b = 3\n"
        "  input idx: int64 [3]\n"
        "  output y: float32 [5]\n"
        "  common\n"
        "  y[a] over [a] = 1.0\n"
        "  update y[idx[b]] over [] for [b] = inside(idx[b], 5) ? 2.0 : y[idx[b]]\n";
    ASSERT_TRUE(schedule(parse_kernel(source(good)).value(), Target()).has_value());
    expect_kernel_error(replaced(good, "  y[a] over [a] = 1.0\n", ""), "schedules.update");
    expect_kernel_error(replaced(good, "inside(idx[b], 5) ? 2.0 : y[idx[b]]", "2.0"), "schedules.update");
    expect_kernel_error(replaced(good, "for [b]", "for []"), "schedules.scope");
    expect_kernel_error(replaced(good, "  update y", "  y"), "schedules.syntax");
    expect_kernel_error(replaced(good, "y[idx[b]] over", "y[1.0] over"), "expr.type");
}

void expect_tree_error(const std::string& text, const std::string& code) {
    auto tree = parse_tree(source(text));
    ASSERT_FALSE(tree.has_value()) << text;
    EXPECT_EQ(tree.error()[0].code, code) << render(tree.error());
}

TEST(TreeText, EveryErrorIsFound) {
    std::string good = tree_text("matmul_gelu");
    ASSERT_TRUE(parse_tree(source(good)).has_value());
    expect_tree_error(replaced(good, "phase", "phrase"), "schedules.syntax");
    expect_tree_error(replaced(good, "extent of m", "extent of m'\n  number $7: int64 '"), "schedules.syntax");
    expect_tree_error(replaced(good, "'extent of m'", "'extent of m"), "schedules.syntax");
    expect_tree_error(replaced(good, "'extent of m'", "'extent \\of m'"), "schedules.syntax");
    expect_tree_error(replaced(good, "step $", "step $9"), "schedules.tree_index");
}

TEST(TreeText, EveryErrorOfTheVerifierIsFound) {
    std::string good = tree_text("matmul_gelu");
    expect_tree_error(replaced(good, "finish 0\n", "\n"), "schedules.tree_scope");
    expect_tree_error(replaced(good, " packed)", " contiguous)"), "schedules.tree_access");
    expect_tree_error(replaced(good, "balanced 6", "balanced 2 6"), "schedules.tree_rows");
    expect_tree_error(replaced(good, "x 16 mask", "x 15 mask"), "schedules.tree_lanes");
    // A loop over the tile's rows stands at its end, and holds nothing that belongs to the tile as a whole.
    ASSERT_NE(good.find("each row\n"), std::string::npos) << good;
    expect_tree_error(replaced(good, "finish 0\n", "finish 0\n        each row\n        finish 0\n"),
                      "schedules.tree_rows");
    expect_tree_error(replaced(good, "each row\n", "each row\n                start 0\n"), "schedules.tree_rows");
    expect_tree_error(replaced(good, "accumulator t: sum float32", "accumulator t: sum float64"),
                      "schedules.tree_type");
    const std::string whole = print(schedule(parse_kernel(source("kernel k\n  axis a = 5\n  input x: int64 [5]\n"
                                                                 "  output y: int64 [5]\n  common a\n"
                                                                 "  y[a] over [a] = abs(x[a])\n"))
                                                 .value(),
                                             Target())
                                        .value()
                                        .tree);
    expect_tree_error(replaced(whole, "abs(", "exp("), "schedules.tree_type");
    expect_tree_error(replaced(good, "accumulator t: sum float32", "accumulator t: any float32"),
                      "schedules.tree_type");
    const std::string filter = tree_text("update_front");
    expect_tree_error(replaced(filter, " filling 0.0", " filling 0"), "schedules.tree_type");
    const size_t filling = filter.find(" filling"), where = filter.find(" where", filling);
    ASSERT_NE(where, std::string::npos) << filter;
    expect_tree_error(std::string(filter).erase(filling, where - filling), "schedules.tree_access");
    std::string sum = tree_text("softmax");
    sum.insert(sum.find('\n', sum.find(" for ")), " unrolled 1000000");
    expect_tree_error(sum, "schedules.tree_range");
    // What ends a loop is an accumulator that has begun, and that settles.
    const std::string truths = tree_text("truths_of_rows");
    ASSERT_NE(truths.find(" until 0 1\n"), std::string::npos) << truths;
    expect_tree_error(replaced(truths, " until 0 1", " until 0 9"), "schedules.tree_index");
    expect_tree_error(replaced(truths, "start 1\n", "\n"), "schedules.tree_range");
    const std::string steps = tree_text("scan_until");
    ASSERT_NE(steps.find(" until "), std::string::npos) << steps;
    expect_tree_error(replaced(steps, " until 1", " until 0"), "schedules.tree_range");
    EXPECT_EQ(tree_text("argmax_last").find(" until "), std::string::npos);
    Tree tree = schedule(kernel_named("softmax"), Target()).value().tree;
    std::swap(tree.memories.front(), tree.memories.back());
    auto result = verify(tree);
    ASSERT_FALSE(result.has_value());
    bool found = false;
    for (const Diagnostic& d : result.error()) found = found || d.code == "schedules.tree_order";
    EXPECT_TRUE(found) << render(result.error());
}

// A launch's numbers cover every axis, and cut no panel of a packed operand.
TEST(LaunchVerify, NumbersThatDoNotFit) {
    const Scheduled scheduled = schedule(kernel_named("rows_along_lanes"), Target()).value();
    const Tree& tree = scheduled.tree;
    auto with = [&](const std::string& what, int64_t value, std::vector<Size> numbers) {
        auto found = std::ranges::find(tree.numbers, what, &LaunchNumberInfo::what);
        EXPECT_NE(found, tree.numbers.end()) << what;
        numbers.at(static_cast<size_t>(found - tree.numbers.begin())) = value;
        return numbers;
    };
    const std::vector<Size>& good = scheduled.launch.numbers;
    EXPECT_TRUE(verify(tree, good, scheduled.launch.tasks));
    EXPECT_EQ(codes_text(verify(tree, good, scheduled.launch.tasks + 1)), "schedules.launch");
    EXPECT_EQ(codes_text(verify(tree, with("extent of n", 1'000'000, good), scheduled.launch.tasks)),
              "schedules.launch");
    // 196 rows as six tasks of 39: the second one begins inside of a panel.
    auto torn = with("step of n", 39, with("count of n", 6, good));
    EXPECT_EQ(codes_text(verify(tree, torn, 6)), "schedules.launch");
    auto whole = with("step of n", 64, with("count of n", 4, good));
    EXPECT_TRUE(verify(tree, whole, 4));
}

}  // namespace
}  // namespace heddle::schedules::testing
