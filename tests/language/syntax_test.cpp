// Trees are what the text says, and their print is text that says the same.
#include <cstdlib>
#include <limits>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "helpers/source_folder.h"
#include "language/library.h"

namespace heddle {
namespace {

using Kind = Syntax::Kind;

std::shared_ptr<const SourceText> source(const std::string& text) {
    return std::make_shared<const SourceText>("text", text);
}

SyntaxPointer expression(const std::string& text) {
    auto parsed = parse_expression(source(text));
    EXPECT_TRUE(parsed.has_value()) << render(parsed.error());
    return parsed ? *parsed : nullptr;
}

// Text that prints as itself.
TEST(Syntax, PrintsAsWritten) {
    for (const char* text : {"a + b * c",
                             "(a + b) * c",
                             "a - (b - c)",
                             "a - b - c",
                             "-a ^ 2",
                             "(-a) ^ 2",
                             "2 ^ -a",
                             "(a ^ b) ^ c",
                             "a ^ b ^ c",
                             "a // b % c",
                             "!a && b || c",
                             "!(a && b)",
                             "(a || b) && c",
                             "a < b ? c : d",
                             "a ? b : c ? d : e",
                             "(a ? b : c) ? d : e",
                             "(a < b) == c",
                             "x[@n, k + 1, *, _]",
                             "x[]",
                             "x[:3]",
                             "x[1:]",
                             "x[a ? b : c:d]",
                             "x[@outer..., k, @inner...]",
                             "tensors[$i][@n]",
                             "x[@n - 1] ?? 0",
                             "(x[@n] ?? 0) ^ 2",
                             "x[@n] ?? -y ^ 2",
                             "sum(k < $n : x[k])",
                             "max(k < $n, w < 2 if k != w && w > 0 : x[k])",
                             "[e + 1 for d < n, v in list if v > d]",
                             "$x.shape[0]",
                             "'it''s'",
                             "1.0",
                             "0.5",
                             "1e-30",
                             "inf",
                             "none",
                             "true",
                             "f(a, name: b)",
                             "1...[:$axis]",
                             "[..., 1...{$axis}, $a...]",
                             "@[0]",
                             "@",
                             "@[:$r]",
                             "unflatten(flatten(@, $out), $in)[0]",
                             "$a[$b]",
                             "9223372036854775807",
                             "[?count, 3]",
                             "float32(x)"}) {
        SyntaxPointer parsed = expression(text);
        ASSERT_TRUE(parsed);
        EXPECT_EQ(print(*parsed), text);
    }
}

TEST(Syntax, SigilsAreWorlds) {
    SyntaxPointer tree = expression("$a + @b * c");
    EXPECT_EQ(tree->children[0]->kind, Kind::static_name);
    EXPECT_EQ(tree->children[1]->children[0]->kind, Kind::index_name);
    EXPECT_EQ(tree->children[1]->children[1]->kind, Kind::name);
    EXPECT_EQ(expression("$.index")->text, "index");
}

TEST(Syntax, PlacesAreExact) {
    SyntaxPointer tree = expression("a + long_name[k]");
    EXPECT_EQ(tree->place.offset, 0U);
    EXPECT_EQ(tree->place.length, 16U);
    EXPECT_EQ(tree->children[1]->place.offset, 4U);
    EXPECT_EQ(tree->children[1]->children[1]->place.offset, 14U);
    EXPECT_EQ(tree->mark.offset, 2U);
}

TEST(Syntax, Patterns) {
    auto parsed = parse_pattern(
        source("[~$batch..., $shape=($height, $width), $f[$i], $o...{$axis}, _, _..., ($n), $c / $g, 3]"));
    ASSERT_TRUE(parsed.has_value()) << render(parsed.error());
    const auto& parts = (*parsed)->children;
    std::vector<Kind> kinds;
    for (const auto& part : parts) kinds.push_back(part->kind);
    EXPECT_EQ(kinds, (std::vector<Kind>{Kind::dimensions, Kind::dimension_group, Kind::dimension, Kind::dimensions,
                                        Kind::any_dimension, Kind::any_dimensions, Kind::static_name, Kind::binary,
                                        Kind::integer}));
    EXPECT_TRUE(parts[0]->broadcast);
    EXPECT_EQ(parts[2]->collector, "i");
    EXPECT_EQ(parts[3]->children.size(), 1U);
    EXPECT_EQ(print(**parsed), "[~$batch..., $shape=($height, $width), $f[$i], $o...{$axis}, _, _..., $n, $c / $g, 3]");
}

TEST(Syntax, ProjectionsAreToldApart) {
    auto kind = [](const char* text) {
        auto parsed = parse_ipf(source(text));
        EXPECT_TRUE(parsed.has_value()) << render(parsed.error());
        return parsed ? (*parsed)->kind : Kind::none;
    };
    EXPECT_EQ(kind("[@batch..., @in_row, *]"), Kind::rows);
    EXPECT_EQ(kind("[@oh * $s - $p :> $k, 3 :> 1]"), Kind::rows);
    EXPECT_EQ(kind("[@[:$axis]..., *, @[$axis:]...]"), Kind::rows);
    EXPECT_EQ(kind("[..., 1, 0] :> [..., 1, $inner]"), Kind::diagonal);
    EXPECT_EQ(kind("D[1...{$axis}, *, 1...]"), Kind::diagonal);
    EXPECT_EQ(kind("[..., 1] + [..., -1] :> [..., 3]"), Kind::diagonal);
}

TEST(Syntax, Blocks) {
    auto parsed =
        parse_body(source("let m = 1; let a[j < 2, k < 3] = j\n# note\nscan t < $T until s[t, 0] > 1 && m < 2:\n  for "
                          "c < 2:\n    s[t, j < $H] = s[t - 1, j] +\n"
                          "      a[0, 0]\n      from 0  # start\n  y[t] = s[t, 0]\nparts[$i][@n] = f(\nm)\nz = m\n"));
    ASSERT_TRUE(parsed.has_value()) << render(parsed.error());
    std::string text;
    for (const auto& statement : *parsed) text += print_statement(*statement);
    EXPECT_EQ(text,
              "let m = 1\nlet a[j < 2, k < 3] = j\nscan t < $T until s[t, 0] > 1 && m < 2:\n  for c < 2:\n    s[t, j < "
              "$H] = s[t - 1, j] "
              "+ a[0, 0] from 0\n"
              "  y[t] = s[t, 0]\nparts[$i][@n] = f(m)\nz = m\n");
}

// ---------------------------------------------------------------- print and parse are inverse

std::shared_ptr<Syntax> node(Kind kind, std::string text = {}, std::vector<SyntaxPointer> children = {}) {
    auto made = std::make_shared<Syntax>();
    made->kind = kind;
    made->text = std::move(text);
    made->children = std::move(children);
    return made;
}

SyntaxPointer leaf() {
    static const std::vector<std::string> names = {"a", "b", "x", "long_name"};
    int choice = *rc::gen::inRange(0, 8);
    auto named = [&](Kind kind) { return node(kind, *rc::gen::elementOf(names)); };
    if (choice == 0) {
        auto made = node(Kind::integer);
        made->integer = *rc::gen::inRange<int64_t>(0, std::numeric_limits<int64_t>::max());
        return made;
    }
    if (choice == 1) {
        auto made = node(Kind::real);
        made->real = std::abs(*rc::gen::arbitrary<double>());
        return made;
    }
    if (choice == 2) return node(Kind::text, *rc::gen::elementOf(std::vector<std::string>{"", "it's", "a b", "''"}));
    if (choice == 3) return named(Kind::static_name);
    if (choice == 4) return named(Kind::index_name);
    if (choice == 5) return node(Kind::index_all);
    return named(Kind::name);
}

SyntaxPointer tree(int depth);

Generator generator(int depth, Generator::Kind kind) {
    return {kind, *rc::gen::elementOf(std::vector<std::string>{"k", "w"}), tree(depth - 1), {}};
}

SyntaxPointer element(int depth) {
    SyntaxPointer inner = *rc::gen::inRange(0, 6) == 0 ? SyntaxPointer(node(Kind::whole)) : tree(depth);
    if (*rc::gen::inRange(0, 5) == 0) inner = node(Kind::ranged, "", {inner, tree(depth)});
    if (*rc::gen::inRange(0, 3) == 0) inner = node(Kind::spread, "", {inner});
    return inner;
}

SyntaxPointer tree(int depth) {
    if (depth <= 0) return leaf();
    auto sub = [&] { return tree(depth - 1); };
    switch (*rc::gen::inRange(0, 11)) {
    case 0: return node(Kind::unary, *rc::gen::elementOf(std::vector<std::string>{"-", "!"}), {sub()});
    case 1:
    case 2:
    case 3: {
        std::vector<std::string> operators = {
            "^", "*", "/", "//", "%", "+", "-", "==", "!=", "<", "<=", ">", ">=", "&&", "||"};
        return node(Kind::binary, *rc::gen::elementOf(operators), {sub(), sub()});
    }
    case 4: return node(Kind::conditional, "", {sub(), sub(), sub()});
    case 5: return node(Kind::subscript, "", {sub(), element(depth - 1), element(depth - 1)});
    case 6: return node(Kind::slice, "", {sub(), *rc::gen::inRange(0, 2) ? sub() : nullptr, sub()});
    case 7: return node(Kind::guard, "", {node(Kind::subscript, "", {node(Kind::name, "x"), sub()}), sub()});
    case 8: {
        auto made = node(Kind::call, "f", {element(depth - 1)});
        if (*rc::gen::inRange(0, 2)) made->named.push_back({"axis", sub(), {}});
        return made;
    }
    case 9: {
        auto made = node(Kind::reduction, "sum", {sub()});
        made->generators.push_back(generator(depth, Generator::Kind::below));
        if (*rc::gen::inRange(0, 2)) made->filter = sub();
        return made;
    }
    default: {
        auto made = node(Kind::comprehension, "", {element(depth - 1)});
        made->generators.push_back(
            generator(depth, *rc::gen::inRange(0, 2) ? Generator::Kind::in : Generator::Kind::below));
        if (*rc::gen::inRange(0, 2)) made->filter = sub();
        return made;
    }
    }
}

TEST(Syntax, PrintedTreesParseBack) {
    setenv("RC_PARAMS", "seed=1 max_success=400", 1);
    rc::check([] {
        SyntaxPointer made = tree(*rc::gen::inRange(0, 5));
        std::string text = print(*made);
        auto parsed = parse_expression(source(text));
        if (!parsed) RC_FAIL(text + "\n" + render(parsed.error()));
        if (!equal(**parsed, *made)) RC_FAIL(text + "\n" + print(**parsed));
    });
}

TEST(Syntax, BodiesOfTheLibraryParseBack) {
    auto library = open_library(in_source("operators"));
    ASSERT_TRUE(library.has_value());
    for (const std::string& name : library->names()) {
        const Template& made = **library->find(name);
        std::string text;
        for (const auto& statement : made.body) text += print_statement(*statement);
        auto parsed = parse_body(source(text));
        ASSERT_TRUE(parsed.has_value()) << name << "\n" << render(parsed.error());
        std::string again;
        for (const auto& statement : *parsed) again += print_statement(*statement);
        EXPECT_EQ(again, text);
        EXPECT_FALSE(print(made).empty());
    }
}

}  // namespace
}  // namespace heddle
