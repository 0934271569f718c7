// The rules that come with the library: types, values, and what they make of programs (metakernels, point 13).
#include <array>

#include "evaluate/compare.h"
#include "rewrite_session.h"

namespace heddle::rewrite {
namespace {

TEST(Metakernels13, ShippedRulesKeepTypesAndValues) {
    Library library = library_with();
    auto sources = library.rewrites();
    ASSERT_GE(sources.size(), 9U);
    for (const RewriteRule* source : sources) {
        auto rule = compile_rule(*source, library);
        ASSERT_TRUE(rule) << source->name << "\n" << render(rule.error());
        auto types = check_types(*rule, library);
        ASSERT_TRUE(types) << source->name << "\n" << render(types.error());
        EXPECT_GE(types->instances, 8) << source->name;
        auto verdict = verify_rule(*rule, library, {.trials = 40, .seed = 3, .progress = {}});
        ASSERT_TRUE(verdict) << source->name << "\n" << render(verdict.error());
        EXPECT_FALSE(verdict->counterexample)
            << source->name << "\n"
            << verdict->counterexample->before << verdict->counterexample->after << verdict->counterexample->element;
        EXPECT_GE(verdict->trials, 20) << source->name;
        EXPECT_GE(verdict->elements, 100) << source->name;
    }
}

// Each shipped rule with a mistake in it. All are noticed, by their types or by their values.
TEST(Metakernels13, WrongVariantsOfShippedRulesAreNoticed) {
    const std::vector<std::array<std::string, 3>> wrong = {
        {"linear(x, A, b)", "sub(numpy_matmul(x, A), b)", ""},
        {"linear(x, A, b)", "numpy_matmul(x, A)", ""},
        {"matmul(X, W)",
         "reduce_sum(mul(unsqueeze(X, axes: [-1]), unsqueeze(W, axes: [-3])), axes: [-3], keepdims: false)", ""},
        {"matmul(X, W)",
         "reduce_max(mul(unsqueeze(X, axes: [-1]), unsqueeze(W, axes: [-3])), axes: [-2], keepdims: false)", ""},
        {"matmul(X, W)",
         "add([matmul(split(X, chunk: 2, axis: -1)[i], split(W, chunk: 2, axis: -2)[i]) for i < $inner // 2])",
         "$inner > 1"},
        {"matmul(X, W)",
         "add([matmul(split(X, chunk: 2, axis: -1)[0], split(W, chunk: 2, axis: -2)[0]) for i < ceildiv($inner, 2)])",
         "$inner > 1 && $inner % 2 == 0"},
        {"transpose(matmul(X, W), perm: [1, 0])", "matmul(transpose(X), transpose(W))", ""},
        {"transpose(transpose(X, perm: $first), perm: $second)", "transpose(X, perm: $second[$first])", ""},
        {"transpose(X, perm: $perm)", "X", "len($perm) == 0 || $perm[0] == 0"},
        {"concat(split(X, chunk: $chunk, axis: $axis), axis: $other)", "X", ""},
        {"concat(slice(X, starts: [$a], ends: [$b], axes: [$axis]), slice(X, starts: [$c], ends: [$d], axes: [$axis]), "
         "axis: $axis)",
         "slice(X, starts: [$a], ends: [$d], axes: [$axis])", "0 <= $a && $a <= $b && $c <= $d"},
    };
    for (const auto& [match, replace, require] : wrong) {
        std::string text = "rewrites:\n  r:\n    match: \"" + match + "\"\n    replace: \"" + replace + "\"\n";
        if (!require.empty()) text += "    require: [[\"" + require + "\", \"no\"]]\n";
        Library library = library_with(text);
        auto rule = compile_rule(**find_rule(library, "test::r"), library);
        ASSERT_TRUE(rule) << render(rule.error());
        auto types = check_types(*rule, library);
        if (!types) {
            std::string code = code_of(types);
            EXPECT_TRUE(code == "rewrite.types" || code == "rewrite.replacement") << match << "\n"
                                                                                  << render(types.error());
            continue;
        }
        auto verdict = verify_rule(*rule, library, {.trials = 100, .seed = 1, .progress = {}});
        ASSERT_TRUE(verdict) << match << "\n" << render(verdict.error());
        EXPECT_TRUE(verdict->counterexample) << match << " -> " << replace;
    }
}

// Programs over square matrices: every rule finds something in many of them.
class RandomProgram {
public:
    explicit RandomProgram(uint64_t seed) : random_(seed) {}

    std::string text() {
        std::vector<std::string> values = {"a", "b", "c"};
        std::string text;
        for (int i = 0; i < 7; ++i) {
            std::string name = "t" + std::to_string(i);
            text += name + " = " + call(values) + "; ";
            values.push_back(name);
        }
        return text + "y = " + call(values) + "; z = add2(y, " + values.back() + ")";
    }

private:
    std::string call(const std::vector<std::string>& values) {
        std::string x = pick(values), w = pick(values), part = std::to_string(1 + random_() % 4);
        std::string axis = std::to_string(static_cast<int>(random_() % 4) - 2);
        switch (random_() % 12) {
        case 0: return "linear(" + x + ", " + w + ")";
        case 1: return "linear(" + x + ", " + w + ", bias)";
        case 2:
        case 3: return "matmul(" + x + ", " + w + ")";
        case 4: return "transpose(matmul(" + x + ", " + w + "))";
        case 5: return "transpose(" + x + ", perm: [1, 0])";
        case 6: return "transpose(" + x + ", perm: [0, 1])";
        case 7: return "concat(split(" + x + ", chunk: " + part + ", axis: " + axis + "), axis: " + axis + ")";
        case 8: return "concat(split_sizes(" + x + ", sizes: [1, 0, 3], axis: " + axis + "), axis: " + axis + ")";
        case 9:
            return "concat(slice(" + x + ", starts: [0], ends: [" + part + "], axes: [" + axis + "]), slice(" + x +
                   ", starts: [" + part + "], ends: [4], axes: [" + axis + "]), axis: " + axis + ")";
        case 10: return "sub(" + x + ", " + w + ")";
        default: return "neg(" + x + ")";
        }
    }
    const std::string& pick(const std::vector<std::string>& values) { return values[random_() % values.size()]; }

    std::mt19937_64 random_;
};

std::vector<TensorData> results_of(const CallGraph& calls, std::vector<BoundedTensor>* bounds = nullptr) {
    auto graph = calls.expand(calls.outputs());
    EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
    std::mt19937_64 random(5);
    auto feeds = random_feeds(*graph, random, false);
    auto values = evaluate_graph(*graph, feeds, Precision::body);
    auto bounded = evaluate_graph_bounded(*graph, feeds);
    EXPECT_TRUE(values && bounded);
    std::vector<TensorData> results;
    for (TensorId output : graph->outputs) {
        results.push_back((*values)[static_cast<size_t>(output)]);
        if (bounds) bounds->push_back((*bounded)[static_cast<size_t>(output)]);
    }
    return results;
}

void expect_same(const std::vector<BoundedTensor>& expected, const CallGraph& calls, const std::string& what) {
    auto found = results_of(calls);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
        auto compared = compare_bounded(found[i], expected[i]);
        EXPECT_TRUE(compared.equal) << what << "\n" << calls.text() << compared.text();
        EXPECT_EQ(compared.undecided, 0);
    }
}

TEST(Metakernels13, AnyRuleAnywhereKeepsTheResultsOfRandomPrograms) {
    Library library = library_with();
    std::vector<std::string> names = {"split_inner(chunk: 1)", "split_inner(chunk: 3)"};
    for (const RewriteRule* source : library.rewrites()) {
        if (source->name != "split_inner") names.push_back(source->name);
    }
    std::vector<RuleUse> uses;
    for (const std::string& name : names) uses.push_back(use(library, name));
    std::map<std::string, int> applied;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        DType dtype = seed % 2 ? DType::int64 : DType::float64;
        std::vector<ProgramInput> inputs = {input("a", {4, 4}, dtype), input("b", {4, 4}, dtype),
                                            input("c", {4, 4}, dtype), input("bias", {4}, dtype)};
        std::string text = RandomProgram(seed).text();
        CallGraph original = program(library, text, inputs);
        std::vector<BoundedTensor> expected;
        results_of(original, &expected);
        for (size_t i = 0; i < uses.size(); ++i) {
            for (int32_t call : original.order()) {
                CallGraph changed = program(library, text, inputs);
                auto done = apply_at(changed, uses[i], call);
                ASSERT_TRUE(done) << render(done.error());
                if (!*done) continue;
                ++applied[names[i]];
                expect_same(expected, changed, names[i]);
            }
        }
        CallGraph all = program(library, text, inputs);
        auto steps = apply_rules(all, uses);
        ASSERT_TRUE(steps) << render(steps.error()) << all.text();
        expect_same(expected, all, "all rules to a fixed point");
    }
    for (const std::string& name : names) EXPECT_GE(applied[name], 2) << name << " was hardly applied";
}

}  // namespace
}  // namespace heddle::rewrite
