// Models from ONNX, and from programs of calls.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/model.h"
#include "cache/hash.h"
#include "frontends/onnx/import.h"
#include "inference/model.h"
#include "symbolic/program.h"
#include "symbolic/session.h"

namespace heddle::api {
namespace {

// Before anything is compiled that no tensors would ever fit.
Result<void> check_fits(const Graph& graph, const std::vector<std::string>& names,
                        const std::vector<TensorData>& inputs) {
    std::vector<TensorType> types;
    for (TensorId input : graph.inputs) types.push_back(graph.tensor(input).type);
    return runtime::check_inputs(names, types, inputs);
}

// ---- ONNX

class OnnxSource : public Model {
public:
    OnnxSource(std::shared_ptr<Runtime> runtime, Operators operators, onnx::OnnxModel model, Bindings bindings,
               inference::ProgramSource source)
        : Model(std::move(runtime), std::move(operators)),
          model_(std::move(model)),
          bindings_(std::move(bindings)),
          program_(model_, *operators_.library, programs_, bindings_,
                   [this](const std::vector<TensorData>& read, Progress* progress) { return graph_for(read, progress); },
                   true) {
        source_ = std::move(source);
        const std::vector<bool> is_read = onnx::read_inputs(model_);
        for (size_t i = 0; const onnx::OnnxValue* input : onnx::caller_inputs(model_))
            add(inputs_, *input, is_read[i++]);
        for (const onnx::OnnxValue& output : model_.graph.outputs) add(outputs_, output, true);
        for (const onnx::OnnxValue* input : onnx::overridable_inputs(model_)) add(initializers_, *input, true);
    }

    Result<std::shared_ptr<Model>> with_initializers(const std::set<std::string>& names) const override {
        for (const std::string& name : names) {
            if (!onnx::without_initializers(model_, {name})) return Model::with_initializers({name});
        }
        inference::ProgramSource source = source_;
        if (!source.key.empty()) source.key += fmt::format("\ninitializers {}", names);
        auto opened = onnx::without_initializers(model_, names);
        return std::make_shared<OnnxSource>(runtime_, operators_, opened ? std::move(*opened) : model_, bindings_,
                                            std::move(source));
    }

protected:
    Result<Specialised> specialise(const std::vector<TensorData>& inputs, Progress* progress) const override {
        std::vector<const TensorData*> given;
        std::vector<TensorData> read;
        for (size_t i = 0; i < inputs.size(); i++) {
            given.push_back(inputs_.is_read(i) ? &inputs[i] : nullptr);
            if (inputs_.is_read(i)) read.push_back(inputs[i]);
        }
        auto graph = inference::specialise(model_, *operators_.library, given, bindings_, nullptr, progress);
        if (!graph) return fail(std::move(graph.error()));
        inference::hold_bound(*graph, bindings_);
        auto names = inference::read_input_names(model_);
        if (auto fine = check_fits(*graph, names, read); !fine) return fail(std::move(fine.error()));
        return Specialised{std::move(*graph), std::move(names), inference::output_names(model_)};
    }

    Result<std::vector<inference::Value>> run_programs(const std::vector<inference::Value>& inputs, bool grow,
                                                       Progress* progress) override {
        return program_.run(inputs, grow, {progress, nullptr});
    }

private:
    // For the inputs that are read.
    Result<Graph> graph_for(const std::vector<TensorData>& read, Progress* progress) const {
        std::vector<TensorData> inputs;
        for (size_t i = 0, next = 0; i < inputs_.size(); i++)
            inputs.push_back(inputs_.is_read(i) ? read[next++] : TensorData());
        auto specialised = specialise(inputs, progress);
        if (!specialised) return fail(std::move(specialised.error()));
        return std::move(specialised->graph);
    }

    void add(Ports& ports, const onnx::OnnxValue& value, bool is_read) const {
        std::vector<PortDimension> dimensions;
        for (size_t d = 0; d < value.shape.size(); d++) {
            const onnx::OnnxDimension& dimension = value.shape[d];
            std::string name = dimension.value ? std::string() : onnx::open_name(value, d);
            int64_t size = dimension.value.value_or(-1);
            if (const auto bound = bindings_.find(name); bound != bindings_.end()) size = bound->second;
            dimensions.push_back({size, dimension.name});
        }
        ports.add(value.name, value.dtype, value.has_shape ? &dimensions : nullptr, is_read);
    }

    const onnx::OnnxModel model_;
    const Bindings bindings_;
    inference::ModelProgram program_;
};

Result<void> check_dimensions(const onnx::OnnxModel& model, const Bindings& bindings) {
    std::vector<std::string> open;
    for (const onnx::OpenDimension& dimension : onnx::open_dimensions(model)) open.push_back(dimension.name);
    Diagnostics problems;
    for (const auto& [name, size] : bindings) {
        if (std::ranges::find(open, name) != open.end() && size >= 0) continue;
        const std::string near = nearest_name(name, open);
        problems.push_back({.code = "api.dimension",
                            .summary = fmt::format("'{} = {}' binds no open dimension of the model", name, size),
                            .expected = fmt::format("a size of at least 0 for one of: {}", fmt::join(open, ", ")),
                            .remedy = near.empty() || near == name ? "" : fmt::format("did you mean '{}'?", near),
                            .params = {{"dimension", name}}});
    }
    if (!problems.empty()) return fail(std::move(problems));
    return {};
}

// `digest`: of the model's bytes, where programs are kept on disk.
Result<std::shared_ptr<Model>> onnx_model(std::shared_ptr<Runtime> runtime, Result<onnx::OnnxModel> model,
                                          Bindings bindings, const std::string& label,
                                          const std::optional<std::string>& digest) {
    if (!model) return fail(std::move(model.error()));
    Operators operators = runtime->operators();
    if (auto problems = onnx::check_support(*model, *operators.library); !problems.empty())
        return fail(std::move(problems));
    if (auto fine = check_dimensions(*model, bindings); !fine) return fail(std::move(fine.error()));
    inference::ProgramSource source;
    if (digest && model->data_files.empty())
        source = {fmt::format("model {}\nlibraries {}\nbound {}", *digest, operators.digest, bindings), label};
    return std::make_shared<OnnxSource>(std::move(runtime), std::move(operators), std::move(*model),
                                        std::move(bindings), std::move(source));
}

// ---- calls

class CallsSource : public Model {
public:
    CallsSource(std::shared_ptr<Runtime> runtime, Operators operators, std::string program,
                const std::vector<std::string>& inputs)
        : Model(std::move(runtime), std::move(operators)),
          program_(std::make_shared<SourceText>("program", std::move(program))) {
        for (const std::string& input : inputs) inputs_.add(input, std::nullopt, nullptr);
        if (runtime_->engine().kernels->folder())
            source_ = {fmt::format("call {}\nlibraries {}\ninputs {}", program_->text(), operators_.digest, inputs),
                       std::string(program_->text())};
    }

protected:
    Result<Specialised> specialise(const std::vector<TensorData>& inputs, Progress* progress) const override {
        if (auto wanted = begin_stage(progress, Stage::symbolic, 1); !wanted) return fail(std::move(wanted.error()));
        std::vector<ProgramInput> types;
        for (size_t i = 0; i < inputs.size(); i++) {
            const std::vector<int64_t>& shape = inputs[i].shape();
            types.push_back({inputs_.name(i), {inputs[i].dtype(), {shape.begin(), shape.end()}}});
        }
        Session session(*operators_.library);
        session.set_progress(progress);
        auto applied = apply_program(session, program_, types);
        if (!applied) return fail(std::move(applied.error()));
        Specialised specialised{session.finish(std::move(applied->outputs)), {}, std::move(applied->names)};
        const Graph& graph = specialised.graph;
        for (TensorId input : graph.inputs) specialised.input_names.push_back(graph.tensor(input).name);
        if (auto wanted = step_done(progress); !wanted) return fail(std::move(wanted.error()));
        return specialised;
    }

private:
    const std::shared_ptr<const SourceText> program_;
};

}  // namespace

Result<std::shared_ptr<Model>> load_model(std::shared_ptr<Runtime> runtime, const std::string& path,
                                          Bindings bindings) {
    std::optional<std::string> digest;
    if (const auto folder = runtime->engine().kernels->folder()) digest = inference::digest_of_file(path, *folder);
    return onnx_model(std::move(runtime), onnx::read_model(path), std::move(bindings), path, digest);
}

Result<std::shared_ptr<Model>> parse_model(std::shared_ptr<Runtime> runtime, MappedFile bytes, Bindings bindings) {
    std::optional<std::string> digest;
    if (runtime->engine().kernels->folder()) digest = cache::digest(bytes.bytes);
    return onnx_model(std::move(runtime), onnx::parse_model("model", bytes.bytes, bytes.owner), std::move(bindings),
                      "model", digest);
}

Result<std::shared_ptr<Model>> model_from_calls(std::shared_ptr<Runtime> runtime, std::string program,
                                                std::vector<std::string> inputs) {
    std::set<std::string> known;
    for (const std::string& input : inputs) {
        if (!input.empty() && known.insert(input).second) continue;
        return fail({.code = "api.argument",
                     .summary = input.empty() ? "an input of the program has no name"
                                              : fmt::format("input '{}' of the program is named twice", input),
                     .params = {{"input", input}}});
    }
    Operators operators = runtime->operators();
    return std::make_shared<CallsSource>(std::move(runtime), std::move(operators), std::move(program), inputs);
}

}  // namespace heddle::api
