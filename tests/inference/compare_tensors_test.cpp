// The comparison of a plan's tensors with the interpreter, and that it finds a wrong one.
#include <gtest/gtest.h>

#include <cmath>

#include "inference/compare_tensors.h"
#include "helpers/running.h"

namespace heddle::inference {
namespace {

class CompareTensors : public testing::Test {
protected:
    // Two products one behind the other, then a softmax: three kernels at least.
    CompareTensors() {
        Session session(library());
        TensorId x = session.add_input("x", {DType::float32, {20, 30}});
        TensorId h = call(session, "relu", {call(session, "numpy_matmul", {x, weight(session, "w", {30, 40})})});
        TensorId y = call(session, "numpy_matmul", {h, weight(session, "v", {40, 50})});
        graph_ = session.finish({h, y, call(session, "softmax", {y})});
        feeds_ = {values({20, 30})};
    }
    static TensorData values(std::vector<int64_t> shape) {
        TensorData data(DType::float32, std::move(shape));
        for (int64_t i = 0; i < data.size(); i++) data.set_real(i, std::sin(0.7 * static_cast<double>(i)));
        return data;
    }
    static TensorId weight(Session& session, const std::string& name, std::vector<int64_t> shape) {
        return session.add_constant(name, values(std::move(shape)));
    }
    std::vector<Computed> computed(bool fuse = true) {
        auto made = compute(graph_, feeds_, *make_engine(1), {.fuse = fuse});
        EXPECT_TRUE(made) << render(made.error());
        return std::move(*made);
    }

    Graph graph_;
    std::vector<TensorData> feeds_;
};

TEST_F(CompareTensors, what_is_right_agrees) {
    auto tensors = computed();
    ASSERT_GE(tensors.size(), 3u);
    auto verdicts = compare_with_reference(graph_, feeds_, tensors);
    ASSERT_TRUE(verdicts) << render(verdicts.error());
    ASSERT_EQ(verdicts->size(), tensors.size());
    for (const Verdict& verdict : *verdicts) {
        EXPECT_TRUE(verdict.comparison.equal) << verdict.name << ": " << verdict.comparison.text();
        EXPECT_EQ(verdict.comparison.undecided, 0);
    }
}

// Sums and maxima that no tensor of the graph holds lead back to those that they were made from, not to the graph's
// inputs.
TEST_F(CompareTensors, what_is_made_of_parts_begins_at_their_tensors) {
    Session session(library());
    TensorId x = session.add_input("x", {DType::float32, {20, 30}});
    TensorId h = call(session, "relu", {call(session, "numpy_matmul", {x, weight(session, "w", {30, 40})})});
    TensorId y = call(session, "reduce_log_sum_exp", {h}, {{"axes", StaticValue::of_integers({1})}});
    graph_ = session.finish({h, y});
    auto tensors = computed(false);
    ASSERT_EQ(tensors.back().tensor, graph_.outputs[1]);
    EXPECT_EQ(tensors.back().read, std::set<TensorId>{graph_.outputs[0]});
    auto verdicts = compare_with_reference(graph_, feeds_, tensors);
    ASSERT_TRUE(verdicts) << render(verdicts.error());
    for (const Verdict& verdict : *verdicts) EXPECT_TRUE(verdict.comparison.equal) << verdict.name;
}

TEST_F(CompareTensors, one_wrong_element_is_found_and_named) {
    for (size_t wrong = 0; wrong < computed().size(); wrong++) {
        auto tensors = computed();
        int64_t element = tensors[wrong].data.size() / 2;
        TensorData changed = tensors[wrong].data.clone();
        changed.set_real(element, changed.real_at(element) * 1.01 + 0.01);
        tensors[wrong].data = changed;
        auto verdicts = compare_with_reference(graph_, feeds_, tensors);
        ASSERT_TRUE(verdicts);
        for (size_t i = 0; i < wrong; i++) EXPECT_TRUE((*verdicts)[i].comparison.equal);
        const Verdict& verdict = (*verdicts)[wrong];
        EXPECT_FALSE(verdict.comparison.equal);
        EXPECT_EQ(verdict.comparison.worst, element);
        ASSERT_EQ(verdict.place.size(), 2u);
        EXPECT_EQ(verdict.place[0] * changed.shape()[1] + verdict.place[1], element);
    }
}

TEST_F(CompareTensors, another_plan_agrees_and_a_wrong_element_is_found) {
    auto tensors = computed(), other = computed(false);
    auto verdicts = compare_with_other(graph_, feeds_, tensors, other);
    ASSERT_TRUE(verdicts);
    for (const Verdict& verdict : *verdicts) EXPECT_TRUE(verdict.comparison.equal) << verdict.name;
    tensors[0].data = tensors[0].data.clone();
    tensors[0].data.set_real(3, tensors[0].data.real_at(3) + 0.01);
    verdicts = compare_with_other(graph_, feeds_, tensors, other);
    ASSERT_TRUE(verdicts);
    EXPECT_FALSE(verdicts->front().comparison.equal);
    EXPECT_EQ(verdicts->front().comparison.worst, 3);
}

TEST_F(CompareTensors, an_operation_without_body_has_no_reference) {
    auto tensors = computed();
    for (Operation& operation : graph_.operations) operation.body = nullptr;
    auto verdicts = compare_with_reference(graph_, feeds_, tensors);
    ASSERT_FALSE(verdicts);
    EXPECT_EQ(verdicts.error().front().code, "cli.no_reference");
}

}  // namespace
}  // namespace heddle::inference
