// Plans as packages for WebGPU: what is bound, what shares memory, what does not fit; and as files.
#include "webgpu/package.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "backends/llvm/llvm_backend.h"
#include "backends/wgsl/wgsl_shader.h"
#include "helpers/files.h"
#include "helpers/programs.h"
#include "helpers/running.h"
#include "helpers/test_folder.h"
#include "runtime/prepare_here.h"
#include "webgpu/export.h"
#include "webgpu/web_files.h"

namespace heddle::webgpu {
namespace {

// What a graph without open dimensions takes and gives.
artefact::Interface interface_of(const plan::Plan& plan) {
    artefact::Interface interface;
    const auto add = [](auto& arguments, const auto& names, const auto& types) {
        for (size_t i = 0; i < names.size(); i++) {
            auto& argument = arguments.emplace_back();
            argument.name = names[i];
            argument.dtype = types[i].dtype;
            argument.shape = types[i].extents();
            for (int64_t size : argument.shape) argument.sizes.push_back(std::to_string(size));
        }
    };
    add(interface.inputs, plan.input_names, plan.input_types);
    add(interface.outputs, plan.output_names, plan.output_types);
    return interface;
}

Result<Package> package_of(const Graph& graph, const plan::PlanOptions& options = {}) {
    auto plan = plan::make_plan(graph, backends::webgpu_target(), options);
    EXPECT_TRUE(plan) << (plan ? "" : render(plan.error()));
    if (!plan) return fail(plan.error());
    EXPECT_TRUE(plan->notes.empty()) << render(plan->notes);
    runtime::KernelCache kernels(std::make_shared<backends::LlvmBackend>());
    ThreadPool pool(1);
    runtime::PreparedStore store;
    auto prepared = runtime::prepare_here(*plan, detect_host(), kernels, pool, store);
    EXPECT_TRUE(prepared) << (prepared ? "" : render(prepared.error()));
    if (!prepared) return fail(prepared.error());
    artefact::Interface interface = interface_of(*plan);
    Packager packager;
    if (auto added = packager.add({}, {}, {std::move(*plan), std::move(*prepared)}); !added) return fail(added.error());
    return packager.made(std::move(interface));
}

// Of a call whose inputs have the dimension n in front, for a range of it.
Result<Package> package_for(const artefact::Dimension& n, const std::string& call, std::vector<int64_t> behind) {
    runtime::KernelCache kernels(std::make_shared<backends::LlvmBackend>());
    ThreadPool pool(1);
    runtime::PreparedStore store;
    const Target host = detect_host();
    Packager packager;
    const auto graph = [&](const artefact::SizeNames& sizes) -> Result<Graph> {
        ProgramInput x = input("x", {});
        x.type.shape = {named_size(n.name, sizes.at(n.name))};
        x.type.shape.insert(x.type.shape.end(), behind.begin(), behind.end());
        SizeFacts facts;
        auto made = [&] {
            const RecordingFacts recording(facts);
            return graph_of(call, {x});
        }();
        made.dimension_names = sizes;
        made.facts = std::move(facts);
        return made;
    };
    auto interface = artefact::make_plans(
        {.dimensions = {n},
         .targets = {backends::webgpu_target()},
         .graph = graph,
         .take = [&](const std::vector<artefact::Dimension>& open, artefact::SizeDomain domain,
                     std::vector<artefact::MadePlan> plans) -> Result<artefact::SizeDomain> {
             if (auto added = packager.add(open, domain, std::move(plans[0])); !added) return fail(added.error());
             return domain;
         }},
        {host, pool, kernels, store});
    if (!interface) return fail(interface.error());
    return packager.made(std::move(*interface));
}

Package sound(const Graph& graph, const plan::PlanOptions& options = {}) {
    auto package = package_of(graph, options);
    EXPECT_TRUE(package) << (package ? "" : render(package.error()));
    if (!package) return {};
    const auto verified = verify(*package);
    EXPECT_TRUE(verified) << (verified ? "" : render(verified.error()));
    return std::move(*package);
}

std::string code_of(const Result<Package>& package) { return package ? "" : package.error().front().code; }
std::string code_of(const Result<void>& done) { return done ? "" : done.error().front().code; }

// Elementwise operations, products and softmaxes of what was made before, each alone so that memory is shared.
Graph random_graph(uint64_t seed, size_t calls) {
    std::mt19937_64 random(seed);
    std::vector<std::string> made = {"a", "b"};
    std::string text;
    const auto any = [&] { return made[random() % made.size()]; };
    for (size_t i = 0; i < calls; i++) {
        const std::string name = "t" + std::to_string(i);
        static const char* const forms[] = {"add({}, {})", "mul({}, {})", "matmul({}, {})", "matmul({}, {})",
                                            "softmax({})", "softmax({})", "transpose({})"};
        std::string call = forms[random() % std::size(forms)];
        for (size_t at = call.find("{}"); at != std::string::npos; at = call.find("{}")) call.replace(at, 2, any());
        text += name + " = " + call + "\n";
        made.push_back(name);
    }
    text += "y = mul(" + made.back() + ", 2.0)";
    return graph_of(text, {input("a", {24, 24}), input("b", {24, 24})});
}

TEST(Fusion16, NoDispatchBindsABufferTwiceThatItWrites) {
    size_t dispatches = 0, shared = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const Package package = sound(random_graph(seed, 12 + seed % 20), {.fuse = seed % 2 != 0});
        dispatches += package.plans[0].dispatches.size();
        for (const DeviceBuffer& buffer : package.plans[0].buffers) shared += buffer.holds.size() > 1;
    }
    EXPECT_GT(dispatches, 200u);
    EXPECT_GT(shared, 20u);  // memory is shared, or the check proves nothing
}

// The same check finds what a wrong package would do.
TEST(Fusion16, TheCheckFindsWhatIsWrong) {
    std::string text = "t0 = matmul(a, b)\n";
    for (int i = 1; i < 8; i++) text += "t" + std::to_string(i) + " = matmul(t" + std::to_string(i - 1) + ", b)\n";
    const Package package =
        sound(graph_of(text + "y = softmax(t7)", {input("a", {24, 24}), input("b", {24, 24})}), {.fuse = false});
    ASSERT_GT(package.plans[0].dispatches.size(), 4u);
    const auto damaged = [&](auto damage) {
        Package copy = package;
        damage(copy);
        return code_of(verify(copy));
    };
    EXPECT_EQ(damaged([](Package&) {}), "");
    EXPECT_EQ(damaged([](Package& p) {
                  auto& buffers = p.plans[0].dispatches[0].buffers;
                  std::ranges::fill(buffers, buffers[0]);
              }),
              "webgpu.broken");
    EXPECT_EQ(damaged([](Package& p) { p.plans[0].dispatches[1].buffers.pop_back(); }), "webgpu.broken");
    EXPECT_EQ(damaged([](Package& p) { p.plans[0].dispatches[1].buffers[0] = -1; }), "webgpu.broken");
    EXPECT_EQ(damaged([](Package& p) { p.plans[0].dispatches[1].words.resize(2); }), "webgpu.broken");
    EXPECT_EQ(damaged([](Package& p) {
                  Dispatch& dispatch = p.plans[0].dispatches[1];
                  dispatch.tasks = p.plans[0].steps.place_of(Size(1 << 20));
              }),
              "webgpu.broken");
    EXPECT_EQ(damaged([](Package& p) { p.plans[0].dispatches.pop_back(); }), "webgpu.broken");
    EXPECT_EQ(damaged([](Package& p) { p.kernels[0].workgroup_bytes = 1 << 20; }), "webgpu.broken");
    EXPECT_EQ(damaged([](Package& p) {
                  for (DeviceBuffer& buffer : p.plans[0].buffers)
                      if (buffer.holds.size() > 1) buffer.bytes = p.plans[0].steps.place_of(Size(4));
              }),
              "webgpu.broken");
    EXPECT_EQ(damaged([](Package& p) {  // all of the workspace in one place
                  std::vector<int32_t> all;
                  for (DeviceBuffer& buffer : p.plans[0].buffers) {
                      const bool is_workspace =
                          !buffer.holds.empty() &&
                          p.plans[0].plan->buffers[static_cast<size_t>(buffer.holds[0])].kind == plan::Buffer::Kind::workspace;
                      if (is_workspace) all.insert(all.end(), buffer.holds.begin(), buffer.holds.end());
                  }
                  for (DeviceBuffer& buffer : p.plans[0].buffers)
                      if (!buffer.holds.empty() && buffer.holds[0] == all[0]) buffer.holds = all;
              }),
              "webgpu.broken");
}

TEST(Fusion20, TheExampleIsOneKernel) {
    const Package package = sound(graph_of("p = transpose(x, perm: [0, 2, 1, 3]); g = gelu(p); e = exp(g); y = cos(e)",
                                           {input("x", {2, 3, 64, 48})}));
    ASSERT_EQ(package.plans[0].dispatches.size(), 1u);
    EXPECT_EQ(package.plans[0].workspace_bytes(), 0);
    EXPECT_EQ(package.kernels[0].written, (std::vector<bool>{false, true}));
}

// Its limits are asked of the device; the target's are never exceeded.
TEST(Fusion20, LimitsAreThoseOfTheKernels) {
    const Package package = sound(graph_of("y = matmul(x, w)", {input("x", {100, 70}), input("w", {70, 200})}));
    int64_t storage = 0, binding = 0;
    for (const Limit& limit : limits_of(package)) {
        if (limit.name == "maxStorageBuffersPerShaderStage") storage = limit.value;
        if (limit.name == "maxStorageBufferBindingSize") binding = limit.value;
    }
    EXPECT_GE(storage, 3);
    EXPECT_LE(storage, 8);
    EXPECT_EQ(binding, 100 * 200 * 4);
}

// What is one equation of more tensors than a kernel may have is made in parts.
TEST(Fusion20, KernelsBindAtMostEightBuffers) {
    std::vector<ProgramInput> inputs;
    std::string text = "s0 = mul(x0, 2.0)\n";
    for (int i = 0; i < 12; i++) inputs.push_back(input("x" + std::to_string(i), {100}));
    for (int i = 1; i < 12; i++)
        text += "s" + std::to_string(i) + " = add(s" + std::to_string(i - 1) + ", x" + std::to_string(i) + ")\n";
    const Package sum = sound(graph_of(text + "y = exp(s11)", inputs));
    EXPECT_EQ(sum.plans[0].dispatches.size(), 3u) << "seven tensors a kernel, beside the launch's numbers";
    for (const Dispatch& dispatch : sum.plans[0].dispatches) EXPECT_LE(dispatch.buffers.size(), 8u);
    text = "";
    for (int i = 0; i < 12; i++) text += "y" + std::to_string(i) + " = mul(x" + std::to_string(i) + ", 2.0)\n";
    const Package package = sound(graph_of(text, inputs));
    for (const Dispatch& dispatch : package.plans[0].dispatches) EXPECT_LE(dispatch.buffers.size(), 8u);
}

TEST(Package, RefusesWhatNoDeviceMustHave) {
    EXPECT_EQ(code_of(package_of(graph_of("y = add(x, x)", {input("x", {6000, 6000})}))), "webgpu.limit");
    EXPECT_EQ(code_of(package_of(graph_of("y = add(x, x)", {input("x", {6}, DType::float64)}))), "backends.wgsl_type");
    EXPECT_EQ(code_of(package_of(graph_of("y = add(x, 5000000000)", {input("x", {6}, DType::int64)}))),
              "webgpu.number");
}

// The loader takes no other value.
TEST(Package, KeepsTheValuesThatAPlanHoldsFor) {
    auto plan = plan::make_plan(graph_of("y = add(x, x)", {input("x", {6})}), backends::webgpu_target());
    ASSERT_TRUE(plan);
    artefact::Interface interface = interface_of(*plan);
    interface.inputs[0].value = random_tensor({6}, 1);
    Packager packager;
    ASSERT_TRUE(packager.add({}, {}, {std::move(*plan), std::vector<runtime::Block>(8)}));
    const Package package = packager.made(std::move(interface));
    ASSERT_TRUE(package.fixed.contains(0));
    TestFolder folder;
    ASSERT_TRUE(write_package(package, {}, "sum", folder.path.string()));
    EXPECT_NE(file_text(folder.path.string() + "/model.json").find("\"fixed\""), std::string::npos);
    EXPECT_EQ(std::filesystem::file_size(folder.path / "weights.bin"), 128u);
}

TEST(Fusion20, FilesAreWrittenWithTheLoader) {
    TestFolder folder;
    const std::string path = folder.path.string() + "/page";
    const Package package = sound(graph_of("y = matmul(x, w)", {input("x", {10, 7}), input("w", {7, 20})}));
    auto files = write_package(package, {}, "product", path);
    ASSERT_TRUE(files) << render(files.error());
    for (const char* name : {"model.json", "kernel_0.wgsl", "index.html", "check.js", "heddle.js"})
        EXPECT_TRUE(std::filesystem::exists(path + "/" + name)) << name;
    EXPECT_EQ(file_text(path + "/heddle.js"), loader_script());
    EXPECT_LT(loader_script().size(), 13500u);
    EXPECT_EQ(file_text(path + "/check.js"), check_script());
    EXPECT_NE(page().find("heddle.js"), std::string_view::npos);
    const std::string json = file_text(path + "/model.json");
    for (const char* key : {"\"plans\"", "\"buffers\"", "\"bindings\"", "\"dispatches\"", "\"limits\"", "\"check\": null"})
        EXPECT_NE(json.find(key), std::string::npos) << key;
    // A file stands where the folder is to be.
    auto refused = write_package(package, {}, "product", path + "/heddle.js/page");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().front().code, "webgpu.folder");
}

// One plan has numbers for all sizes of its part of the range; of all plans together no size is left out.
TEST(PagesOfManySizes, HoldForAllSizesOfTheRange) {
    auto package = package_for({"n", 1, 300}, "h = softmax(x); y = reduce_mean(h, axes: [0], keepdims: false)", {30});
    ASSERT_TRUE(package) << render(package.error());
    const auto verified = verify(*package);
    EXPECT_TRUE(verified) << render(verified.error());
    EXPECT_LT(package->plans.size(), 10u);
    for (int64_t n = 1; n <= 300; n++) {
        EXPECT_TRUE(std::ranges::any_of(package->plans, [&](const PagePlan& plan) {
            return plan.domain.has({{"n", 1, 300}}, {{"n", n}});
        })) << n;
    }
    for (const PagePlan& plan : package->plans) {
        ASSERT_EQ(plan.steps.names().size(), 1u);
        EXPECT_EQ(plan.steps.names().at("n"), 0);
    }
}

// What sizes decide is known when they are; what they do not, is refused now.
TEST(PagesOfManySizes, LimitsOfSizesAreTheLoaders) {
    auto package = package_for({"n", 1, 1 << 20}, "y = exp(x)", {6000});
    ASSERT_TRUE(package) << render(package.error());
    for (const Limit& limit : limits_of(*package)) {
        if (limit.name == "maxStorageBufferBindingSize") {
            EXPECT_EQ(limit.value, 0);
        }
    }
}

// There is no float64: states and arrays of static numbers are of their users' type.
TEST(Package, TakesStatesAndArraysOfStaticNumbers) {
    const std::string text =
        "decaying:\n  inputs: {x: \"float32[$n]\"}\n  outputs: {y: \"float32[$n]\"}\n  index: \"[1]\"\n  body: |\n"
        "    let weights[i < 3] = 0.5 - 0.2 * i\n    scan t < $n:\n"
        "      s[t] = 0.9 * s[t - 1] + 0.1 from 1\n      y[t] = x[t] * s[t] * weights[t % 3]\n";
    const auto graph = build_program(std::make_shared<SourceText>("program", "y = decaying(x)"), library_with(text),
                                     std::vector<ProgramInput>{input("x", {24})});
    ASSERT_TRUE(graph) << render(graph.error());
    EXPECT_FALSE(sound(*graph).kernels.empty());
}

}  // namespace
}  // namespace heddle::webgpu
