// Random bodies against the naive interpreter.
#include <algorithm>

#include <gtest/gtest.h>

#include "evaluate/evaluate.h"
#include "naive.h"
#include "random_body.h"

namespace heddle {
namespace {

bool same(const TensorData& a, const TensorData& b) {
    for (int64_t i = 0; i < a.size(); i++) {
        double x = a.real_at(i), y = b.real_at(i);
        if (!(x == y || (std::isnan(x) && std::isnan(y)))) return false;
    }
    return true;
}

int64_t naive_work(const Body& body) {
    int64_t work = 1;
    for (const Variable& variable : body.variables)
        work = std::min<int64_t>(work * std::max<int64_t>(variable.extent.value(), 1), 1'000'000'000);
    return work;
}

TEST(Evaluate, RandomBodiesAgreeWithTheNaiveInterpreter) {
    int compared = 0, failing = 0, scans = 0;
    size_t nodes = 0;
    for (unsigned seed = 0; seed < 1200; seed++) {
        RandomBody random(seed);
        if (naive_work(random.b.body) > 40000) continue;
        std::vector<TensorData> expected = {random.output.clone()}, found = {random.output.clone()};
        bool fine = Naive(random.b.body, random.inputs).run(expected);
        auto done = evaluate_body(random.b.body, random.inputs, found, Precision::body);
        std::string text = "seed " + std::to_string(seed) + "\n" + print(random.b.body, {"a", "b", "c"}, {"y"});
        if (!done && done.error()[0].code.starts_with("graph.")) FAIL() << text << render(done.error());
        ASSERT_EQ(fine, done.has_value()) << text << (done ? "" : render(done.error()));
        if (fine) {
            ASSERT_TRUE(same(expected[0], found[0])) << text;
        }
        nodes += random.b.body.nodes.size();
        compared++;
        failing += !fine;
        scans += fine && std::ranges::any_of(random.b.body.locals, [](const Local& local) { return local.is_state(); });
    }
    EXPECT_GT(compared, 500);
    EXPECT_GT(scans, 50);
    EXPECT_GT(nodes, 20000u);
    EXPECT_GT(failing, 20);
    EXPECT_LT(failing, compared / 2);
}

}  // namespace
}  // namespace heddle
