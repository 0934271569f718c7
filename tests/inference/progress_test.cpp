// What is told while a program is made, and that it can be ended anywhere.
#include "support/progress.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "backends/llvm/llvm_backend.h"
#include "frontends/onnx/import.h"
#include "helpers/library.h"
#include "inference/program_cache.h"
#include "symbolic/program.h"

namespace heddle::inference {
namespace {

// Several kernels of different kinds, and a constant that `prepare` packs.
constexpr const char* text =
    "a = matmul(x, w); b = softmax(a, axis: 1); c = cumsum(b, axis: 0); d = transpose(c); e = matmul(d, v); "
    "f, g = top_k(e, k: 2); y = add2(f, reduce_sum(e, axes: [1], keepdims: true))";

TensorData ramp(std::vector<int64_t> shape, double step) {
    TensorData data(DType::float32, std::move(shape));
    for (int64_t i = 0; i < data.size(); i++) data.set_real(i, static_cast<double>(i % 7) * step);
    return data;
}

std::vector<TensorData> inputs_of(int64_t rows) {
    return {ramp({rows, 9}, 0.25), ramp({9, 40}, 0.5), ramp({rows, 5}, 1)};
}

Result<Graph> specialise(const std::vector<TensorData>& inputs, Progress* progress) {
    if (auto wanted = begin_stage(progress, Stage::symbolic, 1); !wanted) return fail(wanted.error());
    std::vector<ProgramInput> given;
    for (size_t i = 0; i < inputs.size(); i++)
        given.push_back(
            {std::string(1, "xwv"[i]), {inputs[i].dtype(), {inputs[i].shape().begin(), inputs[i].shape().end()}}});
    Session session(library());
    session.set_progress(progress);
    auto applied = apply_program(session, std::make_shared<SourceText>("program", text), given);
    if (!applied) return fail(std::move(applied.error()));
    if (auto wanted = step_done(progress); !wanted) return fail(wanted.error());
    return session.finish(std::move(applied->outputs));
}

// Ends at the event of this number.
struct Recorder : Progress {
    explicit Recorder(int64_t last = -1) : last(last) {}
    int64_t last;
    std::vector<State> states;
    void told(const State& state) override {
        if (static_cast<int64_t>(states.size()) == last) cancel();
        states.push_back(state);
    }
};

bool equal(const std::vector<TensorData>& a, const std::vector<TensorData>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); i++) {
        if (a[i].shape() != b[i].shape()) return false;
        for (int64_t e = 0; e < a[i].size(); e++) {
            if (a[i].real_at(e) != b[i].real_at(e)) return false;
        }
    }
    return true;
}

TEST(MakingAProgram, IsToldStageByStage) {
    for (int threads : {1, 3}) {
        ProgramCache programs(make_engine(threads));
        Recorder progress;
        const auto result = programs.run("", inputs_of(6), specialise, &progress);
        ASSERT_TRUE(result) << render(result.error());
        std::vector<Stage> order;
        int64_t done = 0, total = 0;
        for (const Progress::State& state : progress.states) {
            if (order.empty() || order.back() != state.stage) {
                EXPECT_EQ(done, total);  // of the stage before
                EXPECT_EQ(state.done, 0);
                order.push_back(state.stage);
                total = state.total;
            } else {
                EXPECT_GT(state.done, done);
                EXPECT_EQ(state.total, total);
            }
            EXPECT_GE(state.seconds, 0);
            done = state.done;
        }
        EXPECT_EQ(done, total);
        EXPECT_EQ(order, (std::vector<Stage>{Stage::load, Stage::symbolic, Stage::fusion, Stage::plan, Stage::code,
                                             Stage::link, Stage::prepare}));
        for (Stage stage : order) EXPECT_GT(progress.seconds(stage), 0) << name(stage);
        // A program that is there is not made.
        Recorder again;
        ASSERT_TRUE(programs.run("", inputs_of(6), specialise, &again));
        EXPECT_TRUE(again.states.empty());
    }
}

// Kernels come to the backend while the plan is still being made, each once.
TEST(MakingAProgram, BeginsWithCodeBeforeThePlanIsDone) {
    struct Told : Progress {
        std::atomic<Stage> stage = Stage::load;
        void told(const State& state) override { stage = state.stage; }
    } progress;
    struct Watched : backends::LlvmBackend {
        struct Work : codegen::KernelWork {
            std::unique_ptr<codegen::KernelWork> work;
            Watched& watched;
            Work(std::unique_ptr<codegen::KernelWork> work, Watched& watched)
                : work(std::move(work)), watched(watched) {}
            void add(std::shared_ptr<const schedules::Tree> tree) override {
                if (*watched.stage == Stage::plan) watched.early++;
                watched.all++;
                work->add(std::move(tree));
            }
            Result<std::vector<std::string>> take(const std::vector<size_t>& wanted, Progress* progress) override {
                return work->take(wanted, progress);
            }
        };
        const std::atomic<Stage>* stage = nullptr;
        int64_t early = 0, all = 0;
        std::unique_ptr<codegen::KernelWork> begin(const Target& target, int threads) override {
            return std::make_unique<Work>(backends::LlvmBackend::begin(target, threads), *this);
        }
    };
    const auto backend = std::make_shared<Watched>();
    backend->stage = &progress.stage;
    const auto engine = make_engine(2, make_kernel_cache(nullptr, backend));
    const auto graph = specialise(inputs_of(6), nullptr);
    ASSERT_TRUE(graph);
    const auto made = compile(*graph, *engine, {.progress = &progress});
    ASSERT_TRUE(made) << render(made.error());
    EXPECT_EQ(backend->early, (*made)->kernels().compiled);
    EXPECT_EQ(backend->all, backend->early);
    EXPECT_GT(backend->early, 1);
}

// What the stages count is what comes out.
TEST(MakingAProgram, CountsKernels) {
    const auto graph = specialise(inputs_of(6), nullptr);
    ASSERT_TRUE(graph);
    const auto engine = make_engine(2);
    Recorder progress;
    const auto made = compile(*graph, *engine, {.progress = &progress});
    ASSERT_TRUE(made) << render(made.error());
    int64_t code = -1, prepare = -1;
    for (const Progress::State& state : progress.states) {
        if (state.stage == Stage::code) code = state.total;
        if (state.stage == Stage::prepare) prepare = state.total;
    }
    EXPECT_EQ(code, (*made)->kernels().compiled);
    EXPECT_EQ(prepare, static_cast<int64_t>((*made)->plan().prepare.size()));
    // Kernels that are known are not code to be made.
    Recorder again;
    ASSERT_TRUE(compile(*graph, *engine, {.progress = &again}));
    for (const Progress::State& state : again.states) {
        if (state.stage == Stage::code || state.stage == Stage::link) {
            EXPECT_EQ(state.total, 0);
        }
    }
}

TEST(MakingAProgram, EndsWhereverItIsCancelled) {
    ProgramCache fresh(make_engine(2));
    const auto expected = fresh.run("", inputs_of(6), specialise);
    ASSERT_TRUE(expected) << render(expected.error());
    const auto engine = make_engine(2);
    ProgramCache programs(engine);
    int64_t cancelled = 0;
    for (int64_t last = 0;; last++) {
        SCOPED_TRACE(last);
        Recorder progress(last);
        const auto result = programs.run("", inputs_of(6), specialise, &progress);
        if (result) {
            EXPECT_TRUE(equal(*result, *expected));
            break;
        }
        ASSERT_EQ(result.error().size(), 1U);
        ASSERT_EQ(result.error()[0].code, "support.cancelled") << render(result.error());
        EXPECT_EQ(static_cast<int64_t>(progress.states.size()), last + 1);  // nothing was done behind it
        EXPECT_EQ(programs.compiled(), 0U);
        cancelled++;
    }
    EXPECT_GT(cancelled, 12);
    EXPECT_EQ(programs.compiled(), 1U);
    EXPECT_TRUE(programs.take_notes().empty());  // it is no mistake of ours
}

// A program that is there stays when another one is cancelled.
TEST(MakingAProgram, LeavesOthersAlone) {
    ProgramCache programs(make_engine(2));
    const auto before = programs.run("", inputs_of(6), specialise);
    ASSERT_TRUE(before) << render(before.error());
    Recorder progress(4);
    EXPECT_FALSE(programs.run("", inputs_of(50), specialise, &progress));
    Recorder none;
    const auto after = programs.run("", inputs_of(6), specialise, &none);
    ASSERT_TRUE(after);
    EXPECT_TRUE(equal(*after, *before));
    EXPECT_TRUE(none.states.empty());
    EXPECT_TRUE(programs.run("", inputs_of(50), specialise));
}

TEST(MakingAProgram, IsCancelledByAnotherThread) {
    ProgramCache fresh(make_engine(2));
    const auto expected = fresh.run("", inputs_of(6), specialise);
    ASSERT_TRUE(expected);
    // At times that come as they come; where the program is there first, it is made anew.
    for (int microseconds : {0, 300, 1000, 3000, 10000, 30000, 100000}) {
        ProgramCache programs(make_engine(2));
        Progress progress;
        std::atomic<bool> begun = false;
        std::thread other([&] {
            while (!begun) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
            progress.cancel();
        });
        begun = true;
        const auto first = programs.run("", inputs_of(6), specialise, &progress);
        other.join();
        EXPECT_TRUE(first || first.error()[0].code == "support.cancelled");
        const auto second = programs.run("", inputs_of(6), specialise);
        ASSERT_TRUE(second) << render(second.error());
        EXPECT_TRUE(equal(*second, *expected));
    }
}

// Who waits for another one's program may stop waiting.
TEST(MakingAProgram, NobodyHasToWaitForAnother) {
    const auto engine = make_engine(1);
    ProgramCache programs(engine);
    Progress waiting;
    Result<std::vector<TensorData>> answer = cancelled();
    {
        std::lock_guard busy(engine->running);
        std::thread other([&] { answer = programs.run("", inputs_of(6), specialise, &waiting); });
        waiting.cancel();
        other.join();
    }
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error()[0].code, "support.cancelled");
    EXPECT_TRUE(programs.run("", inputs_of(6), specialise));
}

}  // namespace
}  // namespace heddle::inference
