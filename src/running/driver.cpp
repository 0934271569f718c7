#include "running/driver.h"

#include <utility>

#include <fmt/format.h>

#include "backends/cc/cc_backend.h"
#include "evaluate/evaluate.h"
#include "runtime/executable.h"

namespace heddle::running {
namespace {

class CompiledProgram : public CompiledFunction {
public:
    CompiledProgram(std::shared_ptr<const runtime::Executable> executable, std::shared_ptr<inference::Engine> engine)
        : engine_(std::move(engine)), session_(std::move(executable), engine_->pool, engine_->arena) {}

    Result<void> run(const std::vector<TensorData>& inputs, std::vector<TensorData>& outputs) const override {
        const std::lock_guard lock(engine_->running);
        return session_.run(inputs, outputs);
    }
    Result<void> run(std::span<const std::byte* const> inputs, std::vector<TensorData>& outputs,
                     runtime::BetweenBatches& between) const override {
        const std::lock_guard lock(engine_->running);
        return session_.run_fitting(inputs, outputs, nullptr, &between);
    }
    const plan::Plan* plan() const override { return &session_.executable().plan(); }

private:
    std::shared_ptr<inference::Engine> engine_;
    mutable runtime::Session session_;  // only under the engine's lock
};

class EngineDriver : public Driver {
public:
    explicit EngineDriver(std::shared_ptr<inference::Engine> engine) : engine_(std::move(engine)) {}
    Result<std::shared_ptr<const CompiledFunction>> compile(const Graph& graph, const Target&,
                                                            const std::vector<plan::Exchange>& exchanges) override {
        const std::lock_guard lock(engine_->running);
        auto made = inference::compile(graph, *engine_, {.exchanges = exchanges});
        if (!made) return fail(std::move(made.error()));
        return std::make_shared<CompiledProgram>(std::move(*made), engine_);
    }

private:
    std::shared_ptr<inference::Engine> engine_;
};

class CDriver : public Driver {
public:
    CDriver(backends::CCompiler compiler, int threads) : compiler_(std::move(compiler)), threads_(threads) {}

    Result<std::shared_ptr<const CompiledFunction>> compile(const Graph& graph, const Target& target,
                                                            const std::vector<plan::Exchange>& exchanges) override {
        auto level = optimisation(target);
        if (!level) return fail(std::move(level.error()));
        std::shared_ptr<Driver> driver;
        {
            const std::lock_guard lock(mutex_);
            auto& known = drivers_[*level];
            if (!known) {
                auto backend = std::make_shared<backends::CcBackend>(compiler_, *level);
                known = driver_of(inference::make_engine(threads_, inference::make_kernel_cache(nullptr, backend)));
            }
            driver = known;
        }
        return driver->compile(graph, target, exchanges);
    }

private:
    static Result<int> optimisation(const Target& target) {
        int level = 2;
        for (const auto& [name, value] : target.options) {
            const bool known = name == "optimise" && value.size() == 1 && value[0] >= '0' && value[0] <= '3';
            if (!known) {
                return fail({.code = "running.option",
                             .summary = "the C compiler has no such option",
                             .expected = "optimise: \"0\" to \"3\"",
                             .found = fmt::format("{}: \"{}\"", name, value),
                             .remedy = "correct the options of the target",
                             .params = {{"option", name}}});
            }
            level = value[0] - '0';
        }
        return level;
    }

    const backends::CCompiler compiler_;
    const int threads_;
    std::mutex mutex_;
    std::map<int, std::shared_ptr<Driver>> drivers_;
};

class Interpreted : public CompiledFunction {
public:
    explicit Interpreted(Graph graph) : graph_(std::move(graph)) {
        for (TensorId t : graph_.inputs) {
            names_.push_back(graph_.tensor(t).name);
            types_.push_back(graph_.tensor(t).type);
        }
    }
    Result<void> run(const std::vector<TensorData>& inputs, std::vector<TensorData>& outputs) const override {
        if (auto fine = runtime::check_inputs(names_, types_, inputs); !fine) return fine;
        auto values = evaluate_graph(graph_, inputs, Precision::body);
        if (!values) return fail(std::move(values.error()));
        for (size_t i = 0; i < outputs.size(); i++) {
            const TensorData& made = (*values)[graph_.outputs[i]];
            std::copy_n(made.data(), made.byte_size(), outputs[i].mutable_data());
        }
        return {};
    }

    Result<void> run(std::span<const std::byte* const>, std::vector<TensorData>&,
                     runtime::BetweenBatches&) const override {
        std::unreachable();  // libraries compute functions of their own, without exchanges
    }

private:
    const Graph graph_;
    std::vector<std::string> names_;
    std::vector<TensorType> types_;
};

class ReferenceDriver : public Driver {
public:
    Result<std::shared_ptr<const CompiledFunction>> compile(const Graph& graph, const Target&,
                                                            const std::vector<plan::Exchange>&) override {
        return std::make_shared<Interpreted>(graph);
    }
};

}  // namespace

std::shared_ptr<Driver> driver_of(std::shared_ptr<inference::Engine> engine) {
    return std::make_shared<EngineDriver>(std::move(engine));
}
std::shared_ptr<Driver> c_driver(backends::CCompiler compiler, int threads) {
    return std::make_shared<CDriver>(std::move(compiler), threads);
}
std::shared_ptr<Driver> reference_driver() { return std::make_shared<ReferenceDriver>(); }

}  // namespace heddle::running
