// Plans of neighbouring size classes: what need not differ is the same, so that a new class compiles little.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "helpers/programs.h"
#include "helpers/source_folder.h"
#include "plan/plan.h"
#include "target/target.h"

namespace heddle::plan {
namespace {

constexpr const char* encoder_layer = R"(
q = split_heads(linear(x, wq, bq), heads: 12)
k = split_heads(linear(x, wk, bk), heads: 12)
v = split_heads(linear(x, wv, bv), heads: 12)
a = linear(join_heads(attention(q, k, v)), wo, bo)
m = layer_norm(add2(a, x), s1, b1)
h = gelu(linear(m, w1, c1))
y = layer_norm(add2(linear(h, w2, c2), m), s2, b2)
)";

// One machine, as it is measured when it is more or less busy.
std::vector<Target> measured() {
    std::vector<Target> targets;
    for (double bandwidth : {16e9, 20e9, 40e9}) {
        for (double launch : {3e-7, 1.6e-6, 3e-6}) {
            for (double operations : {160e9, 250e9}) {
                Target target;
                target.l2_bytes = 2 << 20;
                target.bandwidth = bandwidth;
                target.bandwidth_one_core = std::min(bandwidth, 20e9);
                target.operations = operations;
                target.launch_seconds = launch;
                targets.push_back(target);
            }
        }
    }
    return targets;
}

Plan plan_of_layer(int64_t length, const Target& target) {
    std::vector<ProgramInput> inputs{
        {"x", {DType::float32, {named_size("batch", 1), named_size("length", length), 384}}}};
    std::vector<std::string> weights;
    const auto weight = [&](const std::string& name, std::vector<int64_t> shape) {
        inputs.push_back(input(name, std::move(shape)));
        weights.push_back(name);
    };
    for (const char* name : {"wq", "wk", "wv", "wo"}) weight(name, {384, 384});
    for (const char* name : {"bq", "bk", "bv", "bo", "s1", "b1", "s2", "b2", "c2"}) weight(name, {384});
    weight("w1", {384, 1536});
    weight("c1", {1536});
    weight("w2", {1536, 384});
    Graph graph = graph_of(encoder_layer, inputs);
    for (Tensor& tensor : graph.tensors) {
        if (std::ranges::find(weights, tensor.name) == weights.end()) continue;
        std::vector<int64_t> shape = numbers_of(tensor.type.shape);
        tensor.constant = TensorData(tensor.type.dtype, shape);
    }
    std::erase_if(graph.inputs, [&](TensorId t) { return graph.tensor(t).constant.has_value(); });
    auto plan = make_plan(graph, target);
    EXPECT_TRUE(plan) << (plan ? "" : render(plan.error()));
    return plan ? std::move(*plan) : Plan{};
}

std::vector<std::string> packed_buffers(const Plan& plan) {
    std::vector<std::string> packed;
    for (const Buffer& buffer : plan.buffers) {
        if (buffer.kind == Buffer::Kind::prepared) packed.push_back(buffer.packed);
    }
    std::ranges::sort(packed);
    return packed;
}

TEST(Classes, ANewLengthOfAnEncoderCompilesItsAttention) {
    for (const Target& target : measured()) {
        const Plan shorter = plan_of_layer(100, target), longer = plan_of_layer(300, target);
        EXPECT_GT(shorter.keys.size(), 4u);
        const auto is_new = [&](const std::string& key) { return std::ranges::find(shorter.keys, key) == shorter.keys.end(); };
        EXPECT_LE(std::ranges::count_if(longer.keys, is_new), 1)
            << target.bandwidth << " " << target.launch_seconds << " " << target.operations;
        EXPECT_EQ(packed_buffers(shorter), packed_buffers(longer)) << "weights would be in memory twice";
    }
}

}  // namespace
}  // namespace heddle::plan
