// Scans in rounds and by bands whose sizes are open: a plan holds for the sizes of a class, and computes what the plan of
// each does.
#include <gtest/gtest.h>

#include <cstring>

#include "helpers/running.h"
#include "plan/instantiate.h"
#include "symbolic/program.h"
#include "zspace/size_facts.h"

namespace heddle::plan {
namespace {

using Names = std::map<std::string, int64_t>;

const char* const templates = R"yaml(
heat:
  doc: Each element of a plate that goes round, moved towards its neighbours, sweep after sweep.
  inputs: {x: "$T[$m, $n]", rates: "$T[$sweeps]"}
  index: "[]"
  outputs: {y: "$T[$m, $n]"}
  body: |
    scan t < $sweeps:
      let around[i < $m, j < $n] = u[t - 1, (i + 1) % $m, j] + u[t - 1, (i + $m - 1) % $m, j] + u[t - 1, i, (j + 1) % $n]
      u[t, i < $m, j < $n] = u[t - 1, i, j] + rates[t] * (around[i, j] - 3 * u[t - 1, i, j]) from x[i, j]
    y[i, j] = u[$sweeps - 1, i, j]

layer:
  doc: A row that a matrix turns and a function bends, step after step.
  inputs: {x: "$T[$n]", rates: "$T[$sweeps]"}
  index: "[]"
  outputs: {y: "$T[$n]", all: "$T[$sweeps, $n]"}
  body: |
    scan t < $sweeps:
      u[t, i < $n] = tanh(sum(j < $n : x[(i + j) % $n] * u[t - 1, j]) + rates[t]) from x[i]
      all[t, i] = u[t, i]
    y[i] = u[$sweeps - 1, i]
)yaml";

Graph graph_of(const std::string& call, const std::vector<std::string>& shape, const Names& names) {
    static const Library library = library_with(templates);
    SizeFacts facts;
    const RecordingFacts recording(facts);
    std::vector<Size> sizes;
    for (const std::string& name : shape) sizes.push_back(named_size(name, names.at(name)));
    auto graph = build_program(std::make_shared<SourceText>("call", call), library,
                               {{"x", {DType::float32, sizes}}, {"r", {DType::float32, {named_size("s", names.at("s"))}}}});
    EXPECT_TRUE(graph) << render(graph.error());
    if (!graph) return {};
    graph->dimension_names = names;
    graph->facts = std::move(facts);
    return std::move(*graph);
}

Target eager() {
    Target target = detect_host();
    target.cores = 3;
    target.launch_seconds = 1e-12;
    return target;
}

std::vector<TensorData> results_of(Plan plan, const std::vector<TensorData>& feeds) {
    auto found = runtime::Session(compiled(std::move(plan)), std::make_shared<ThreadPool>(2)).run(feeds);
    EXPECT_TRUE(found) << (found ? "" : render(found.error()));
    return found ? std::move(*found) : std::vector<TensorData>{};
}

// All of one class each. How many plans they need.
size_t check(const std::string& call, const std::vector<std::string>& shape, const std::vector<Names>& all,
             const std::string& has) {
    std::vector<Plan> plans;
    for (const Names& names : all) {
        const Graph graph = graph_of(call, shape, names);
        auto own = make_plan(graph, eager());
        EXPECT_TRUE(own) << (own ? "" : render(own.error()));
        if (!own) return SIZE_MAX;
        EXPECT_NE(summary(*own).find(has), std::string::npos) << summary(*own);
        const auto held = std::ranges::find_if(plans, [&](const Plan& plan) { return !plan.facts->broken_by(names); });
        if (held == plans.end()) {
            plans.push_back(std::move(*own));
            continue;
        }
        Plan other = *held;
        EXPECT_TRUE(instantiate(other, names));
        const auto sound = verify(other);
        EXPECT_TRUE(sound) << (sound ? "" : render(sound.error()));
        std::vector<TensorData> feeds;
        for (TensorId input : graph.inputs)
            feeds.push_back(random_tensor(numbers_of(graph.tensor(input).type.shape), 5, 0.1));
        const auto found = results_of(std::move(other), feeds), wanted = results_of(std::move(*own), feeds);
        EXPECT_EQ(found.size(), wanted.size());
        for (size_t o = 0; o < std::min(found.size(), wanted.size()); o++) {
            EXPECT_EQ(std::memcmp(found[o].data(), wanted[o].data(), static_cast<size_t>(wanted[o].byte_size())), 0)
                << call << " output " << o << " at s = " << names.at("s") << ", n = " << names.at("n");
        }
    }
    return plans.size();
}

TEST(OpenRounds, BandsOfAPlate) {
    const std::vector<Names> sizes = {{{"m", 600}, {"n", 700}, {"s", 40}}, {{"m", 613}, {"n", 701}, {"s", 41}},
                                      {{"m", 640}, {"n", 650}, {"s", 64}}, {{"m", 777}, {"n", 900}, {"s", 33}}};
    EXPECT_LE(check("y = heat(x, r)", {"m", "n"}, sizes, "band"), 2u);
}

TEST(OpenRounds, StepsOfARow) {
    const std::vector<Names> sizes = {
        {{"n", 600}, {"s", 40}}, {{"n", 601}, {"s", 41}}, {{"n", 640}, {"s", 64}}, {{"n", 777}, {"s", 100}}};
    EXPECT_LE(check("y, z = layer(x, r)", {"n"}, sizes, "round"), 2u);
}

}  // namespace
}  // namespace heddle::plan
