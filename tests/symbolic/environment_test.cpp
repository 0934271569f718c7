// Static expressions, shape patterns and parameters, without bodies.
#include <limits>

#include "session_test_support.h"
#include "symbolic/application.h"
#include "symbolic/bindings.h"
#include "symbolic/environment_state.h"

namespace heddle {
namespace {

using session_test::find;

// The value of a static expression over x: float32[batch, 4, 5] (batch is 3), or the code of its error.
std::string value_of(const std::string& expression) {
    Library library = library_of(
        "let: |\n"
        "  wrap(i, n) = i < 0 ? i + n : i\n"
        "t:\n"
        "  params: {axis: \"axis($x) = -1\", word: \"string = 'ab, c'\", absent: \"int = none\"}\n"
        "  inputs: {x: \"$dtype[$shape...]\"}\n"
        "  index: \"[$shape...]\"\n"
        "  outputs: {y: \"$dtype\"}\n"
        "  body: \"y = x\"\n");
    Environment environment(find(library, "t"));
    BoundInput& input = environment.state().inputs[0];
    input.given = true;
    input.tensors.push_back({"x", {DType::float32, {named_size("batch", 3), 4, 5}}, {}, std::nullopt});
    auto bound = bind_application(environment);
    EXPECT_TRUE(bound) << (bound ? "" : render(bound.error()));
    auto syntax = parse_expression(std::make_shared<const SourceText>("expression", expression));
    if (!syntax) return syntax.error()[0].code;
    auto value = environment.evaluate(**syntax);
    return value ? value->print() : value.error()[0].code;
}

TEST(StaticExpressions, ArithmeticIsExact) {
    EXPECT_EQ(value_of("7 // 2 + -7 // 2"), "-1");
    EXPECT_EQ(value_of("-7 % 3"), "2");
    EXPECT_EQ(value_of("8 / 2"), "4");
    EXPECT_EQ(value_of("7 / 2"), "symbolic.inexact_division");
    EXPECT_EQ(value_of("7 / 2.0"), "3.5");
    EXPECT_EQ(value_of("2 ^ 10 - -2 ^ 2"), "1028");
    EXPECT_EQ(value_of("1 // 0"), "symbolic.division_by_zero");
    EXPECT_EQ(value_of("9223372036854775807 + 1"), "symbolic.overflow");
    EXPECT_EQ(value_of("3 ^ 60"), "symbolic.overflow");
    EXPECT_EQ(value_of("1 == 1.0"), "true");
    EXPECT_EQ(value_of("'a' == 1"), "false");
}

TEST(StaticExpressions, ListsAreElementwise) {
    EXPECT_EQ(value_of("[1, 2, 3] * 2 - [1, 1, 1]"), "[1, 3, 5]");
    EXPECT_EQ(value_of("[1, 2] + [1]"), "symbolic.length");
    EXPECT_EQ(value_of("[1, 2] == [1, 2]"), "true");
    EXPECT_EQ(value_of("[1, 2] < 2"), "[true, false]");
    EXPECT_EQ(value_of("[1, 2] == 2 ? 1 : 0"), "symbolic.type");
    EXPECT_EQ(value_of("[5, 6, 7, 8][1:3]"), "[6, 7]");
    EXPECT_EQ(value_of("[5, 6, 7][:-1]"), "[5, 6]");
    EXPECT_EQ(value_of("[5, 6, 7][[2, 0]]"), "[7, 5]");
    EXPECT_EQ(value_of("[5, 6, 7][3]"), "symbolic.range");
    EXPECT_EQ(value_of("[1...{3}, 7]"), "[1, 1, 1, 7]");
    EXPECT_EQ(value_of("[$x.shape[1:]..., 2]"), "[4, 5, 2]");
    EXPECT_EQ(value_of("[$x.shape]"), "symbolic.list_in_list");
    EXPECT_EQ(value_of("[i * 10 + j for i < 2, j in [1, 2] if i + j > 1]"), "[2, 11, 12]");
}

TEST(StaticExpressions, Functions) {
    EXPECT_EQ(value_of("insert([1, 2], [0, 3], 9)"), "[9, 1, 2, 9]");
    EXPECT_EQ(value_of("remove([1, 2, 3], 1)"), "[1, 3]");
    EXPECT_EQ(value_of("replace([1, 2, 3], [0, -1], [7, 8])"), "[7, 2, 8]");
    EXPECT_EQ(value_of("broadcast([4, 1], [3, 1, 5])"), "[3, 4, 5]");
    EXPECT_EQ(value_of("broadcast([4], [3])"), "symbolic.broadcast");
    EXPECT_EQ(value_of("flatten([1, 2], [3, 4]) + sum(unflatten(7, [3, 4]))"), "10");
    EXPECT_EQ(value_of("inverse([2, 0, 1])"), "[1, 2, 0]");
    EXPECT_EQ(value_of("range(5, 0, -2)"), "[5, 3, 1]");
    EXPECT_EQ(value_of("ceildiv([7, 8, -7], 4)"), "[2, 2, -1]");
    EXPECT_EQ(value_of("[floor(-1.5), ceil(1.2), round(2.5), trunc(-1.7)]"), "[-2, 2, 2, -1]");
    EXPECT_EQ(value_of("chars(split_text($word, ',')[0])"), "['a', 'b']");
    EXPECT_EQ(value_of("unique(sort([3, 1, 3]))"), "[1, 3]");
    EXPECT_EQ(value_of("[lowest(int8), highest(uint16)]"), "[-128, 65535]");
    EXPECT_EQ(value_of("promote(int32, float32)"), "float64");
    EXPECT_EQ(value_of("wrap(-1, 5)"), "4");
    EXPECT_EQ(value_of("error('no')"), "symbolic.user_error");
    EXPECT_EQ(value_of("len(1, 2)"), "symbolic.arguments");
    EXPECT_EQ(value_of("nothing_of_this_name(1)"), "symbolic.unknown_function");
}

TEST(StaticExpressions, NamesAndBounds) {
    EXPECT_EQ(value_of("[$axis, $x.rank]"), "[2, 3]");
    EXPECT_EQ(value_of("$x.dtype == float32"), "true");
    EXPECT_EQ(value_of("has(absent) ? $absent : 7"), "7");
    EXPECT_EQ(value_of("$absent + 1"), "symbolic.not_given");
    EXPECT_EQ(value_of("$unheard"), "symbolic.unknown_name");
    EXPECT_EQ(value_of("@shape"), "symbolic.not_static");
    EXPECT_EQ(value_of("[1...]"), "symbolic.fill");
    EXPECT_EQ(value_of("zeros(65537)"), "symbolic.limit");
    EXPECT_EQ(value_of("sum([1 for i < 2000, j < 2000])"), "symbolic.limit");
    EXPECT_EQ(value_of("$x.value"), "symbolic.not_concrete");
}

TEST(StaticExpressions, SizesKeepTheirOrigin) {
    EXPECT_EQ(value_of("$x.shape"), "[batch, 4, 5]");
    EXPECT_EQ(value_of("prod($x.shape)"), "20 * batch");
    EXPECT_EQ(value_of("prod($x.shape) / $x.shape[0]"), "20");
    EXPECT_EQ(value_of("$x.shape[0] * 2 + 1 - $x.shape[0]"), "batch + 1");
    EXPECT_EQ(value_of("max(0, ceildiv($x.shape[0], 2))"), "(batch + 1) // 2");
}

// ---- patterns

struct Match {
    std::unique_ptr<Library> library;
    std::unique_ptr<Environment> environment;
    Result<void> bound;
    std::string codes() const { return bound ? "" : bound.error()[0].code; }
};

Match matched(const std::string& sections, const std::vector<std::vector<std::vector<int64_t>>>& shapes,
              const std::map<std::string, StaticValue>& parameters = {}) {
    Match match;
    match.library = std::make_unique<Library>(
        library_of("t:\n" + sections + "  index: \"[]\"\n  outputs: {y: float32}\n  body: \"y = 0\"\n"));
    match.environment = std::make_unique<Environment>(find(*match.library, "t"));
    match.environment->state().given_parameters = &parameters;
    for (size_t i = 0; i < shapes.size(); ++i) {
        BoundInput& input = match.environment->state().inputs[i];
        input.given = !shapes[i].empty();
        for (const auto& shape : shapes[i]) {
            input.tensors.push_back(
                {input.spec->name, {DType::float32, {shape.begin(), shape.end()}}, {}, std::nullopt});
        }
    }
    match.bound = bind_application(*match.environment);
    match.environment->state().given_parameters = nullptr;
    return match;
}

const char* const published =
    "  inputs:\n"
    "    tensors: {shape: \"[$batch..., $shape=($height, $width), $features[$i]]\", variadic: true}\n"
    "    masks: {shape: \"[$shape=($height, $width), $features[$i]]\", variadic: true}\n";

TEST(Metakernels2, ThePublishedExampleHasExactlyItsBindings) {
    Match match =
        matched(published, {{{100, 128, 256, 512, 2}, {100, 128, 256, 512, 4}}, {{256, 512, 2}, {256, 512, 4}}});
    ASSERT_TRUE(match.bound) << render(match.bound.error());
    EXPECT_EQ(print_bindings(*match.environment),
              "$batch=[100,128]\n$shape=[256,512]\n$height=256\n$width=512\n$i=2\n$features=[2,4]\n");
}

TEST(Patterns, AConflictNamesBothPlacesAndBothValues) {
    Match match = matched(published, {{{100, 128, 256, 512, 2}}, {{256, 500, 2}}});
    ASSERT_EQ(match.codes(), "symbolic.shape_conflict");
    const Diagnostic& diagnostic = match.bound.error()[0];
    EXPECT_NE(diagnostic.summary.find("[256, 500]"), std::string::npos);
    EXPECT_NE(diagnostic.summary.find("[256, 512]"), std::string::npos);
    ASSERT_EQ(diagnostic.contexts.size(), 1u);
    EXPECT_NE(diagnostic.contexts[0].place.offset, diagnostic.place.offset);
    EXPECT_EQ(matched(published, {{{1, 2, 3, 2}, {1, 2, 3, 4}}, {{2, 3, 2}}}).codes(), "symbolic.shape_conflict");
}

TEST(Patterns, BroadcastingIsJoint) {
    const char* two = "  inputs: {a: \"float32[~$shape...]\", b: \"float32[~$shape...]\"}\n";
    Match match = matched(two, {{{3, 1}}, {{4}}});
    ASSERT_TRUE(match.bound) << render(match.bound.error());
    EXPECT_EQ(match.environment->lookup("shape", {})->print(), "[3, 4]");
    const auto& a = match.environment->inputs()[0].tensors[0].coordinates;
    const auto& b = match.environment->inputs()[1].tensors[0].coordinates;
    ASSERT_EQ(a.size(), 2u);
    ASSERT_EQ(b.size(), 2u);
    EXPECT_TRUE(a[1].zero && !a[0].zero && !b[1].zero);
    EXPECT_EQ(b[0].dimension, -1);
    EXPECT_EQ(matched(two, {{{3}}, {{4}}}).codes(), "symbolic.broadcast");
    const char* to = "  inputs: {a: \"float32[$shape...]\", b: \"float32[~$shape...]\"}\n";
    EXPECT_EQ(matched(to, {{{3, 1}}, {{3, 4}}}).codes(), "symbolic.broadcast");
    EXPECT_EQ(matched(to, {{{3, 4}}, {{1}}}).codes(), "");
}

TEST(Patterns, CountsExpressionsAndOrder) {
    const char* split =
        "  params: {axis: \"axis($x) = -1\"}\n  inputs: {x: \"float32[$outer...{$axis}, $n, $inner...]\"}\n";
    Match match = matched(split, {{{2, 3, 4}}}, {{"axis", StaticValue::of(1)}});
    EXPECT_EQ(print_bindings(*match.environment), "$outer=[2]\n$n=3\n$inner=[4]\n");
    const char* window =
        "  params: {group: \"int = 2\"}\n"
        "  inputs: {w: \"float32[$m, $c / $group, $window...{len($in)}]\", x: \"float32[$n, $c, $in...]\"}\n";
    EXPECT_EQ(matched(window, {{{8, 2, 3, 3}}, {{1, 4, 9, 9}}}).codes(), "");
    EXPECT_EQ(matched(window, {{{8, 3, 3, 3}}, {{1, 4, 9, 9}}}).codes(), "symbolic.shape_mismatch");
    EXPECT_EQ(matched(window, {{{8, 2, 3}}, {{1, 4, 9, 9}}}).codes(), "symbolic.input_rank");
    const char* circle = "  inputs: {x: \"float32[$a..., $b...{len($c)}]\", z: \"float32[$c..., $d...{len($b)}]\"}\n";
    EXPECT_EQ(matched(circle, {{{1, 2}}, {{1, 2}}}).codes(), "symbolic.unresolved_pattern");
}

// ---- parameters

TEST(Parameters, TypesAndDefaults) {
    const char* sections =
        "  params:\n    axis: \"axis($x) = -1\"\n    axes: \"axes($x) = [0]\"\n    pads: \"int[2 * $x.rank] = 0\"\n"
        "    mode: \"constant | edge = constant\"\n    eps: \"float = 0.5\"\n    must: int\n"
        "    steps: \"int[$x.rank] >= 1 <= $x.shape[1] = 1\"\n    share: \"float <= 1.5 = 0\"\n"
        "  inputs: {x: \"$T[$shape...]\"}\n  constraints: {T: [float32], require: [[\"$must > 0\", \"must is not "
        "positive\"]]}\n";
    auto run = [&](std::map<std::string, StaticValue> parameters, const char* wanted = nullptr) {
        if (!parameters.contains("must")) parameters.emplace("must", StaticValue::of(1));
        Match match = matched(sections, {{{2, 3}}}, parameters);
        if (!match.bound) return match.codes();
        return wanted ? match.environment->lookup(wanted, {})->print() : std::string();
    };
    EXPECT_EQ(run({}, "axis"), "1");
    EXPECT_EQ(run({}, "pads"), "[0, 0, 0, 0]");
    EXPECT_EQ(run({{"eps", StaticValue::of(2)}}, "eps"), "2.0");
    EXPECT_EQ(run({{"axes", StaticValue::of_integers({-1, 0})}}, "axes"), "[1, 0]");
    EXPECT_EQ(run({{"axes", StaticValue::of_integers({-1, 1})}}), "symbolic.axis_repeated");
    EXPECT_EQ(run({{"axis", StaticValue::of(2)}}), "symbolic.axis_range");
    EXPECT_EQ(run({{"pads", StaticValue::of_integers({1, 2})}}), "symbolic.parameter_length");
    EXPECT_EQ(run({{"mode", StaticValue::of("edges")}}), "symbolic.choice");
    EXPECT_EQ(run({{"eps", StaticValue::of("x")}}), "symbolic.parameter_type");
    EXPECT_EQ(run({{"steps", StaticValue::of(3)}}, "steps"), "[3, 3]");
    for (const int64_t outside : {int64_t{0}, int64_t{4}, std::numeric_limits<int64_t>::min()})
        EXPECT_EQ(run({{"steps", StaticValue::of_integers({1, outside})}}), "symbolic.parameter_range");
    EXPECT_EQ(run({{"share", StaticValue::of(-1e30)}}, "share"), "-1e+30");
    for (const double outside : {1.51, std::numeric_limits<double>::quiet_NaN()})
        EXPECT_EQ(run({{"share", StaticValue::of(outside)}}), "symbolic.parameter_range");
    EXPECT_EQ(run({{"epsilon", StaticValue::of(1.0)}}), "symbolic.unknown_parameter");
    EXPECT_EQ(run({{"must", StaticValue::of(-1)}}), "symbolic.requirement");
    EXPECT_EQ(run({{"must", StaticValue::none()}}), "symbolic.missing_parameter");
}

}  // namespace
}  // namespace heddle
