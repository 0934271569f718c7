// Kernels are found by whole compile jobs: no other kernel is ever found, and none is launched under another config.
#include "runtime/kernel_cache.h"

#include <gtest/gtest.h>

#include "cache/folder.h"
#include "evaluate/evaluate.h"
#include "helpers/codes.h"
#include "helpers/running.h"
#include "helpers/test_folder.h"

namespace heddle::runtime {
namespace {

// Whose config is what a test says.
class NamedBackend : public backends::LlvmBackend {
public:
    explicit NamedBackend(CompileConfig config = {"named", "a target", "", "1"}) : config_(std::move(config)) {}
    std::string name() const override { return config_.backend; }
    Result<CompileConfig> compile_config(const CompileRequest&) const override { return config_; }

private:
    CompileConfig config_;
};

// Asked twice, it says two things.
class FickleBackend : public backends::LlvmBackend {
public:
    std::string name() const override { return "fickle"; }
    Result<CompileConfig> compile_config(const CompileRequest&) const override {
        return CompileConfig{name(), "", "", std::to_string(asked_++)};
    }

private:
    mutable int asked_ = 0;
};

class SilentBackend : public backends::LlvmBackend {
public:
    Result<CompileConfig> compile_config(const CompileRequest& request) const override {
        return ConfigSource::compile_config(request);
    }
};

Graph graph_of(const std::string& name) {
    heddle::Session session(library());
    const TensorId x = session.add_input("x", {DType::float32, {Size(6), Size(50)}});
    const TensorId y = call(session, name, {{x}});
    return session.finish({y});
}

Result<std::shared_ptr<const Executable>> executable_of(const Graph& graph, KernelCache& cache) {
    ThreadPool pool(1);
    return Executable::make(plan_of(graph), cache, pool);
}

int64_t compiled(KernelCache& cache, const Graph& graph) {
    const auto made = executable_of(graph, cache);
    EXPECT_TRUE(made) << (made ? "" : render(made.error()));
    return made ? (*made)->kernels().compiled : -1;
}

TEST(CompileJobs4, EveryFieldOfTheConfigMisses) {
    const TestFolder test_folder;
    auto opened = cache::Folder::open(test_folder.path.string());
    ASSERT_TRUE(opened);
    const Graph graph = graph_of("relu");
    for (const CompileConfig& config : {CompileConfig{"named", "a target", "", "1"},
                                        {"other", "a target", "", "1"},
                                        {"named", "b target", "", "1"},
                                        {"named", "a target", "-g", "1"},
                                        {"named", "a target", "", "2"}}) {
        KernelCache cache(std::make_shared<NamedBackend>(config), *opened);
        EXPECT_EQ(compiled(cache, graph), 1) << canonical_bytes(config);
        KernelCache again(std::make_shared<NamedBackend>(config), *opened);
        EXPECT_EQ(compiled(again, graph), 0) << canonical_bytes(config);
    }
}

// All jobs in one place: each kernel is found by what it is.
TEST(CompileJobs4, NothingWrongIsFoundByAConstantHash) {
    KernelCache cache(std::make_shared<NamedBackend>(), nullptr, [](const CompileJob&) { return uint64_t{7}; });
    const auto pool = std::make_shared<ThreadPool>(1);
    const TensorData x = random_tensor({6, 50}, 3);
    std::vector<std::shared_ptr<const Executable>> alive;
    for (int round = 0; round < 2; round++) {
        for (const char* name : {"relu", "sigmoid", "tanh", "exp"}) {
            const Graph graph = graph_of(name);
            auto made = executable_of(graph, cache);
            ASSERT_TRUE(made) << render(made.error());
            EXPECT_EQ((*made)->kernels().compiled, round == 0 ? 1 : 0) << name;
            alive.push_back(*made);
            const auto found = Session(*made, pool).run({x});
            ASSERT_TRUE(found) << render(found.error());
            const auto expected = evaluate_graph(graph, {x}, Precision::body);
            ASSERT_TRUE(expected);
            const TensorData& wanted = (*expected)[static_cast<size_t>(graph.outputs[0])];
            for (int64_t i = 0; i < wanted.size(); i++)
                ASSERT_NEAR((*found)[0].real_at(i), wanted.real_at(i), 1e-5) << name;
        }
    }
}

// A digest of the folder that two jobs share, as far as the cache can see: the file under one job's key is another's.
TEST(CompileJobs4, AFileOfAnotherJobIsNotLoaded) {
    const TestFolder test_folder;
    auto opened = cache::Folder::open(test_folder.path.string());
    ASSERT_TRUE(opened);
    const Graph relu = graph_of("relu");
    const auto job_of = [](const Graph& graph) {
        return canonical_bytes(CompileJob{{"named", "a target", "", "1"}, plan_of(graph).keys.at(0), {}});
    };
    {
        KernelCache cache(std::make_shared<NamedBackend>(), *opened);
        EXPECT_EQ(compiled(cache, graph_of("exp")), 1);
    }
    const auto file = (*opened)->find(cache::Kind::kernel, job_of(graph_of("exp")));
    ASSERT_TRUE(file);
    for (const size_t size : {file->bytes.size(), size_t{10}, size_t{0}}) {
        (*opened)->store(cache::Kind::kernel, job_of(relu), "wrong", file->bytes.first(size));
        KernelCache cache(std::make_shared<NamedBackend>(), *opened);
        EXPECT_EQ(compiled(cache, relu), 1) << size;
    }
    KernelCache cache(std::make_shared<NamedBackend>(), *opened);
    EXPECT_EQ(compiled(cache, relu), 0) << "it was written anew";
}

TEST(CompileJobs3, KernelsNeedAConfig) {
    KernelCache cache(std::make_shared<SilentBackend>());
    EXPECT_EQ(code_of(executable_of(graph_of("relu"), cache)), "backends.no_compile_config");
}

// Gives code of one kernel less, or no functions.
class HalfBackend : public backends::LlvmBackend {
public:
    explicit HalfBackend(bool compiles) : compiles_(compiles) {}
    Result<std::vector<std::string>> objects(const std::vector<const schedules::Tree*>& trees, const Target& target,
                                             int threads, Progress* progress,
                                             std::shared_ptr<const void> owner) override {
        auto made = LlvmBackend::objects(trees, target, threads, progress, std::move(owner));
        if (made && !compiles_) made->pop_back();
        return made;
    }
    std::unique_ptr<codegen::KernelWork> begin(const Target& target, int threads) override {
        return Backend::begin(target, threads);
    }
    Result<std::shared_ptr<codegen::CompiledKernels>> link(const std::vector<std::string_view>&) override {
        struct None : codegen::CompiledKernels {
            codegen::KernelFunction function(size_t) const override { return nullptr; }
        };
        return std::make_shared<None>();
    }

private:
    bool compiles_;
};

TEST(KernelCache, RefusesABackendThatLeavesOut) {
    for (bool compiles : {false, true}) {
        KernelCache cache(std::make_shared<HalfBackend>(compiles));
        EXPECT_EQ(code_of(executable_of(graph_of("relu"), cache)), "backends.incomplete");
    }
}

TEST(CompileJobs5, RefusesAConfigThatChangesWhileItCompiles) {
    KernelCache cache(std::make_shared<FickleBackend>());
    EXPECT_EQ(code_of(executable_of(graph_of("relu"), cache)), "backends.config_mismatch");
}

TEST(CompileJobs5, LaunchesNothingUnderAnotherConfig) {
    const auto backend = std::make_shared<NamedBackend>();
    KernelCache cache(backend);
    const Graph graph = graph_of("relu");
    const auto made = executable_of(graph, cache);
    ASSERT_TRUE(made) << render(made.error());
    const auto queried = compile_config_for(*backend, {.target = (*made)->plan().target});
    ASSERT_TRUE(queried);
    EXPECT_EQ(*queried, (*made)->config());

    Session session(*made, std::make_shared<ThreadPool>(1));
    session.expect(*queried);
    const std::vector<TensorData> inputs = {random_tensor({6, 50}, 3)};
    auto outputs = session.make_outputs();
    EXPECT_EQ(code_of(session.run(inputs, outputs)), "ok");
    CompileConfig other = *queried;
    other.version = "2";
    session.expect(other);
    outputs = session.make_outputs();
    EXPECT_EQ(code_of(session.run(inputs, outputs)), "backends.config_mismatch");
    for (int64_t i = 0; i < outputs[0].size(); i++) ASSERT_EQ(outputs[0].real_at(i), 0) << "a kernel ran";
}

// LLVM's own config follows what its code follows from.
TEST(CompileJobs4, LlvmFollowsTheTarget) {
    const backends::LlvmBackend backend;
    const Target target = detect_host();
    const auto config = compile_config_for(backend, {.target = target});
    ASSERT_TRUE(config);
    const auto is_same = [&](const CompileRequest& request) {
        const auto other = compile_config_for(backend, request);
        EXPECT_TRUE(other);
        return other && *other == *config;
    };
    EXPECT_TRUE(is_same({.target = target, .program = "p", .derivation = {.mode = Derivation::Mode::reverse}}));
    Target other = target;
    other.bandwidth *= 2;  // decides trees, not their code
    EXPECT_TRUE(is_same({.target = other}));
    other = target;
    other.features += ",-avx2";
    EXPECT_FALSE(is_same({.target = other}));
    other = target;
    other.vector_bytes /= 2;
    EXPECT_FALSE(is_same({.target = other}));
    other = target;
    other.cpu = other.cpu == "znver4" ? "znver3" : "znver4";
    EXPECT_FALSE(is_same({.target = other}));
}

}  // namespace
}  // namespace heddle::runtime
