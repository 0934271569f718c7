// Random bodies that are rebuilt: node by node the same, and the same values under other numbers.
#include "graph/body_rebuild.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "evaluate/evaluate.h"
#include "random_body.h"

namespace heddle {
namespace {

// All that the equations use, with the last variables and tensors first.
class Reversed : public BodyRebuild<Reversed> {
public:
    static Body of(const Body& from, int32_t tensors) {
        Body to;
        Reversed rebuild(from, to, tensors);
        for (size_t id = from.variables.size(); id-- > 0;) rebuild.variable(VariableId(id));
        for (const BodyEquation& equation : from.equations) {
            BodyEquation copy{equation.output, {}, {}};
            for (VariableId id : equation.variables) copy.variables.push_back(rebuild.variable(id));
            for (NodeId id : equation.left) copy.left.push_back(rebuild.copy(id));
            copy.value = rebuild.copy(equation.value);
            to.equations.push_back(std::move(copy));
        }
        return to;
    }

private:
    friend NodeRebuild<Reversed>;
    friend BodyRebuild<Reversed>;
    Reversed(const Body& from, Body& to, int32_t tensors) : BodyRebuild(from, to), tensors_(tensors) {}

    VariableId make_variable(VariableId id) {
        const VariableId made = BodyRebuild::make_variable(id);
        to_.variables.back().name = "other_" + to_.variables.back().name;
        return made;
    }
    int32_t tensor(int32_t id) const { return tensors_ - 1 - id; }

    int32_t tensors_;
};

size_t nodes_used(const Body& body) {
    const auto used = used_by(body, roots_of(body));
    return static_cast<size_t>(std::ranges::count(used, true));
}

std::string text_of(const Body& body) {
    std::string text = print(body, {"a", "b", "c"}, {"y"});
    for (const Node& node : body.nodes) {
        text += std::to_string(static_cast<int>(node.kind)) + " " + std::to_string(node.index);
        for (NodeId operand : node.operands) text += " " + std::to_string(operand);
        text += "\n";
    }
    return text;
}

TEST(BodyRebuild, UnderTheSameNumbersIsTheSame) {
    const std::vector<int32_t> same = {0, 1, 2};
    for (unsigned seed = 0; seed < 600; seed++) {
        const RandomBody random(seed);
        const Body once = compacted(Body(random.b.body), same);  // in the order of first use, and nothing else
        EXPECT_EQ(once.nodes.size(), nodes_used(random.b.body)) << "seed " << seed;
        const Body twice = compacted(Body(once), same);
        ASSERT_EQ(text_of(once), text_of(twice)) << "seed " << seed;
    }
}

TEST(BodyRebuild, UnderOtherNumbersHasTheSameValues) {
    int compared = 0, scans = 0;
    for (unsigned seed = 0; seed < 900; seed++) {
        RandomBody random(seed);
        const Body& body = random.b.body;
        const Body other = Reversed::of(body, 3);
        EXPECT_EQ(other.nodes.size(), nodes_used(body)) << "seed " << seed;
        std::vector<TensorData> expected = {random.output.clone()}, found = {random.output.clone()};
        const bool fine = evaluate_body(body, random.inputs, expected, Precision::body).has_value();
        std::ranges::reverse(random.inputs);
        const auto done = evaluate_body(other, random.inputs, found, Precision::body);
        const std::string text = "seed " + std::to_string(seed) + "\n" + text_of(body) + text_of(other);
        ASSERT_EQ(fine, done.has_value()) << text << (done ? "" : render(done.error()));
        if (!fine) continue;
        for (int64_t i = 0; i < expected[0].size(); i++) {
            const double a = expected[0].real_at(i), b = found[0].real_at(i);
            ASSERT_TRUE(a == b || (a != a && b != b)) << text;
        }
        compared++;
        scans += std::ranges::any_of(other.locals, &Local::is_state);
    }
    EXPECT_GT(compared, 400);
    EXPECT_GT(scans, 50);
}

}  // namespace
}  // namespace heddle
