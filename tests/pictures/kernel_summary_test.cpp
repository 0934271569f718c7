// Which operations a launch stands for: each one somewhere, and where its work is.
#include "pictures/kernel_summary.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "equations/passes.h"
#include "helpers/library.h"
#include "plan/plan.h"
#include "symbolic/session.h"

namespace heddle::pictures {
namespace {

class Built {
public:
    TensorId input(const std::string& name, std::vector<Size> shape) {
        return session_.add_input(name, {DType::float32, std::move(shape)});
    }
    TensorId weight(const std::string& name, std::vector<int64_t> shape) {
        TensorData data(DType::float32, std::move(shape));
        for (int64_t i = 0; i < data.size(); i++) data.set_real(i, static_cast<double>(i % 7) - 3);
        return session_.add_constant(name, std::move(data));
    }
    TensorId call(const std::string& name, const std::vector<Argument>& inputs,
                  const std::map<std::string, StaticValue>& parameters = {}) {
        auto found = library().find(name);
        EXPECT_TRUE(found);
        auto made = session_.apply(**found, inputs, parameters);
        EXPECT_TRUE(made) << (made ? "" : render(made.error()));
        return made ? made->front() : TensorId(0);
    }
    Graph finish(TensorId output) { return session_.finish({output}); }

private:
    Session session_{library()};
};

// In how many launches each operation is, by name; with fusion or with a launch for each equation.
std::map<std::string, size_t> launches_of(const Graph& graph, bool fuse = true) {
    auto system = equations::lower(graph);
    EXPECT_TRUE(system) << (system ? "" : render(system.error()));
    equations::optimise(*system);
    const auto partition = equations::fuse(*system, detect_host(), {.fuse = fuse});
    std::map<std::string, size_t> launches;
    for (const auto& [name, kernels] : summarise(graph, *system, partition, detect_host())) {
        for (const KernelSummary& kernel : kernels) {
            EXPECT_FALSE(kernel.operations.empty()) << name;
            for (OperationId o : kernel.operations) launches[graph.operation(o).name]++;
        }
    }
    return launches;
}

// Layers of a product with bias and a normalisation: whatever is fused with what, nothing is lost, and a product is in
// one launch.
TEST(KernelSummary, every_operation_is_in_a_launch) {
    Built built;
    TensorId last = built.input("x", {64, 128});
    for (int layer = 0; layer < 3; layer++) {
        const std::string n = std::to_string(layer);
        const TensorId product = built.call("matmul", {last, built.weight("w" + n, {128, 128})});
        const TensorId sum = built.call("add2", {product, built.weight("b" + n, {128})});
        const TensorId shown = built.call("softmax", {built.call("relu", {sum})});
        last = built.call("add2", {shown, last});
    }
    const Graph graph = built.finish(last);
    const auto launches = launches_of(graph);
    for (const Operation& operation : graph.operations) {
        ASSERT_TRUE(launches.contains(operation.name)) << operation.name;
        if (operation.operator_name == "matmul") {
            EXPECT_EQ(launches.at(operation.name), 1u) << operation.name;
        }
    }
}

// The sum of a convolution in one launch, its bias with the activation in the next: it is where the sum is.
TEST(KernelSummary, where_the_work_is) {
    Built built;
    const TensorId x = built.input("x", {1, 8, 12, 12});
    const TensorId sum = built.call("conv", {x, built.weight("w", {16, 8, 3, 3}), built.weight("b", {16})});
    const TensorId shown = built.call("mul", {sum, built.call("sigmoid", {sum})});
    const Graph graph =
        built.finish(built.call("conv", {shown, built.weight("w2", {4, 16, 1, 1}), built.weight("b2", {4})}));
    for (bool fuse : {true, false}) {
        const auto launches = launches_of(graph, fuse);
        for (const Operation& operation : graph.operations)
            ASSERT_TRUE(launches.contains(operation.name)) << operation.name;
        EXPECT_EQ(launches.at(graph.operations[0].name), 1u) << fuse;
    }
}

// Several launches write parts of one tensor: each is named by what it computes, not by all that the tensor holds.
TEST(KernelSummary, parts_of_one_tensor) {
    Built built;
    const TensorId x = built.input("x", {64, 256});
    std::vector<TensorId> parts;
    for (int i = 0; i < 4; i++) {
        const std::string n = std::to_string(i);
        const TensorId product = built.call("matmul", {x, built.weight("w" + n, {256, 128 + 64 * i})});
        parts.push_back(built.call("relu", {product}));
    }
    const Graph graph = built.finish(built.call("concat", {parts}, {{"axis", StaticValue::of(1)}}));
    const auto launches = launches_of(graph);
    for (const Operation& operation : graph.operations) {
        ASSERT_TRUE(launches.contains(operation.name)) << operation.name;
        if (operation.operator_name == "matmul") {
            EXPECT_EQ(launches.at(operation.name), 1u) << operation.name;
        }
        if (operation.operator_name == "relu") {
            EXPECT_EQ(launches.at(operation.name), 1u) << operation.name;
        }
    }
}

}  // namespace
}  // namespace heddle::pictures
