// Each function of the language's table means the same wherever an expression may stand: in a `let:`, a shape pattern, a
// body, a composition, a declared projection, a rule. The table's own examples say what to call: a new row is tried by
// itself.
#include <regex>

#include "evaluate/evaluate.h"
#include "language/functions.h"
#include "rewrite_session.h"
#include "symbolic/environment_state.h"
#include "symbolic/session.h"

namespace heddle::rewrite {
namespace {

// `here` applied to three ones: "equal" if it gives ones, "different", or the code of the error.
std::string outcome(const std::string& text) {
    Library library;
    auto added = library.add_source(std::make_shared<const SourceText>("test.yaml", text));
    if (!added) return added.error()[0].code;
    auto found = library.find("here");
    if (!found) return found.error()[0].code;
    Session session(library);
    TensorId x = session.add_input("x", {DType::float32, {3}});
    auto made = session.apply(**found, {Argument(x)});
    if (!made) return made.error()[0].code;
    Graph graph = session.finish(*made);
    TensorData ones(DType::float32, {3});
    for (int64_t i = 0; i < 3; ++i) ones.set_real(i, 1);
    auto values = evaluate_graph(graph, {ones}, Precision::body);
    if (!values) return values.error()[0].code;
    const TensorData& result = (*values)[static_cast<size_t>(graph.outputs[0])];
    bool equal = true;
    for (int64_t i = 0; i < result.size(); ++i) equal = equal && result.real_at(i) == 1;
    return equal ? "equal" : "different";
}

// What a `let:` gives: a value as the language writes it, or the code of the error.
std::pair<std::string, std::string> let_value(const std::string& call) {
    Library library;
    auto added = library.add_source(std::make_shared<const SourceText>(
        "test.yaml", "here:\n  inputs: {x: \"$T[$n]\"}\n  let: \"$v = " + call +
                         "\"\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  body: \"y = x\"\n"));
    if (!added) return {"", added.error()[0].code};
    Environment environment(**library.find("here"));
    environment.state().inputs[0].given = true;
    environment.state().inputs[0].tensors.push_back({"x", {DType::float32, {3}}, {}, std::nullopt});
    auto value = environment.lookup("v", {});
    if (!value) return {"", value.error()[0].code};
    return {value->print(), ""};
}

// The places with one number of 1 where `condition` holds.
std::string in_let(const std::string& condition) {
    return "here:\n  inputs: {x: \"$T[$n]\"}\n  let: \"$v = " + condition +
           " ? 1 : 0\"\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  body: \"y = x * $v\"\n";
}
std::string in_pattern(const std::string& condition) {
    return "here:\n  inputs: {x: \"$T[(" + condition +
           " ? 3 : 2)]\"}\n  index: \"[n = 3]\"\n  outputs: {y: \"$T\"}\n  body: \"y = x[@n]\"\n";
}
std::string in_body(const std::string& condition) {
    return "here:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n, z = 1]\"\n  outputs: {y: \"$T\"}\n  body: \"y = x[@n] * "
           "(" +
           condition + " ? 1 : 0)\"\n";
}
std::string in_composition(const std::string& condition) {
    return "scaled:\n  params: {v: int}\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n"
           "  body: \"y = x * $v\"\n"
           "here:\n  inputs: {x: \"$T[$n]\"}\n  outputs: {y: \"$T[$n]\"}\n  graph: \"y = scaled(x, v: " +
           condition + " ? 1 : 0)\"\n";
}
std::string in_projection(const std::string& condition) {
    return "here:\n  inputs: {x: {shape: \"[$n]\", dtype: \"$T\", ipf: \"[(" + condition +
           " ? 0 : 1) :> 1]\"}}\n  index: \"[z = 1]\"\n  outputs: {y: \"$T[1]\"}\n  body: \"y[@z] = x[0]\"\n";
}
std::string in_rule(const std::string& condition) {
    Library library = library_of(
        "minus:\n  inputs: {x: \"$T[$shape...]\"}\n  index: \"[$shape...]\"\n  outputs: {y: \"$T\"}\n  body: \"y = "
        "-x\"\n"
        "rewrites:\n  r:\n    match: \"minus(minus(x))\"\n    replace: \"x\"\n    require: [[\"" +
        condition + "\", \"no\"]]\n");
    auto found = find_rule(library, "r");
    if (!found) return found.error()[0].code;
    auto rule = compile_rule(**found, library);
    if (!rule) return rule.error()[0].code;
    auto types = check_types(*rule, library);
    return types ? "equal" : types.error()[0].code;
}

// The call with elements in place of numbers and conditions: `limit` of them, from the left.
std::string of_elements(const std::string& call, int limit) {
    std::string result;
    std::regex literal(R"('[^']*'|[A-Za-z_][A-Za-z_0-9]*|[0-9]+(\.[0-9]+)?)");
    auto at = call.begin();
    for (std::sregex_iterator it(call.begin(), call.end(), literal), end; it != end; ++it) {
        std::string word = it->str();
        result.append(at, call.begin() + it->position());
        at = call.begin() + it->position() + it->length();
        bool number = std::isdigit(static_cast<unsigned char>(word[0])), truth = word == "true" || word == "false";
        if ((!number && !truth) || limit-- <= 0)
            result += word;
        else
            result += number ? "(" + word + " + @z)" : word == "true" ? "(@z == 0)" : "(@z == 1)";
    }
    return result.append(at, call.end());
}

TEST(FunctionsEverywhere, EachMeansTheSameOrIsRefusedAlike) {
    int with_elements = 0;
    for (const FunctionInfo& row : all_functions()) {
        std::string call(row.example);
        ASSERT_FALSE(call.empty()) << row.name << " has no example";
        auto [value, code] = let_value(call);
        std::string condition = call + " == " + (code.empty() ? value : "0"), expected = code.empty() ? "equal" : code;
        EXPECT_EQ(outcome(in_let(condition)), expected) << call;
        EXPECT_EQ(outcome(in_pattern(condition)), expected) << call;
        EXPECT_EQ(outcome(in_composition(condition)), expected) << call;
        EXPECT_EQ(code == "language.function_of_elements", row.of_elements) << call;
        // A projection has coordinates, and so elements; this one is no affine start of a box, unless it folds.
        std::string projected = outcome(in_projection(condition));
        EXPECT_TRUE(row.of_elements ? projected == "equal" || projected == "symbolic.ipf" : projected == expected)
            << call << ": " << projected;
        if (row.name != "has") {  // what a rule matches is always given
            EXPECT_EQ(in_rule(condition), row.of_elements ? "symbolic.type" : expected) << call;
        }
        // A body has elements of types beside all that is static.
        EXPECT_EQ(outcome(in_body(row.of_elements ? "re(" + call + ") == re(" + call + ")" : condition)),
                  row.of_elements ? "equal" : expected)
            << call;
        if (!code.empty() || row.name == "has") continue;
        for (int moving : {1, 100}) {
            std::string moved = of_elements(call, moving);
            if (moved == call) continue;
            std::string found = outcome(in_body(moved + " == " + value));
            with_elements += found == "equal";
            EXPECT_TRUE(found == "equal" || found == "symbolic.type") << moved << ": " << found;
        }
    }
    EXPECT_GE(with_elements, 90);
}

TEST(FunctionsEverywhere, ListsAndPositionsMeanTheSame) {
    for (const auto& [condition, expected] : std::vector<std::pair<std::string, std::string>>{
             {"remove([3, 4], [0, 0]) == [4]", "symbolic.arguments"},
             {"replace([3, 4], [0, 0], [7, 8]) == [8, 4]", "symbolic.arguments"},
             {"insert([3, 4], [0, 0], [7, 8]) == [8, 4]", "symbolic.arguments"},
             {"[[1, 2], [3, 4]][1] == [3, 4]", "equal"},
             {"[[1, 2], [3, 4]] * 2 == [[2, 4], [6, 8]]", "equal"},
             {"[[i, i + 1] for i < 2] == [[0, 1], [1, 2]]", "equal"},
             {"[1, [2]...] == [1, 2]", "equal"},
             {"len([1, 2...{3}]) == 4", "equal"},
             {"concat([1]) == [1]", "equal"},
             {"sum([1, 2] + [3]) == 1", "symbolic.length"},
             {"[5, 6, 7][[2, 0]] == [7, 5]", "equal"},
             {"[5, 6, 7][-1] == 7 && 'abc'[1:] == 'bc'", "equal"},
             {"[5, 6, 7][3] == 7", "symbolic.range"},
             {"1 // 0 == 1", "symbolic.division_by_zero"},
             {"(true && 1) == true", "symbolic.type"},
             {"pow(2, 3) == 8", "equal"}}) {
        for (const auto& place : {in_let, in_pattern, in_body, in_composition, in_projection})
            EXPECT_EQ(outcome(place("(" + condition + ")")), expected) << place("(" + condition + ")");
        EXPECT_EQ(in_rule(condition), expected) << condition;
    }
}

}  // namespace
}  // namespace heddle::rewrite
