#include "python/model_session.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nanobind/stl/pair.h>

#include "cache/hash.h"
#include "frontends/onnx/import.h"
#include "support/file.h"

namespace heddle::python {
namespace {

using Bindings = std::map<std::string, int64_t>;

// What ONNX Runtime says of a model that has none.
constexpr int64_t no_version = std::numeric_limits<int64_t>::max();

std::vector<Session::Port> ports_of(const std::vector<const onnx::OnnxValue*>& values, const Bindings& bindings) {
    std::vector<Session::Port> ports;
    for (const onnx::OnnxValue* value : values) {
        nb::object shape = nb::none();
        if (value->has_shape) {
            nb::list extents;
            for (const onnx::OnnxDimension& dimension : value->shape) {
                if (dimension.value && *dimension.value >= 0)
                    extents.append(*dimension.value);
                else if (auto bound = bindings.find(dimension.name); bound != bindings.end())
                    extents.append(bound->second);
                else if (dimension.name.empty())
                    extents.append(nb::none());
                else
                    extents.append(dimension.name);
            }
            shape = extents;
        }
        ports.push_back({value->name, value->type_text, shape});
    }
    return ports;
}

std::vector<Session::Port> inputs_of(const onnx::OnnxModel& model, const Bindings& bindings,
                                     const std::vector<std::string>& weights) {
    auto ports = ports_of(onnx::caller_inputs(model), bindings);
    const std::vector<bool> is_read = onnx::read_inputs(model);
    for (size_t i = 0; i < ports.size(); i++) ports[i].is_read = is_read[i];
    for (const std::string& name : weights) ports.push_back({name, "float", nb::none()});  // of the shape that it has
    return ports;
}

std::vector<Session::Port> outputs_of(const onnx::OnnxModel& model, const Bindings& bindings) {
    std::vector<const onnx::OnnxValue*> outputs;
    for (const onnx::OnnxValue& output : model.graph.outputs) outputs.push_back(&output);
    return ports_of(outputs, bindings);
}

// Bytes that live, and whose equals need not: sessions of one model share what they make of its weights.
MappedFile one_of_equals(MappedFile content) {
    struct Known {
        std::weak_ptr<const void> owner;
        std::span<const std::byte> bytes;
    };
    static std::vector<Known> all;  // by who has the interpreter
    std::erase_if(all, [](const Known& known) { return known.owner.expired(); });
    for (const Known& known : all) {
        auto owner = known.owner.lock();
        const size_t size = content.bytes.size();
        if (!owner || known.bytes.size() != size || std::memcmp(known.bytes.data(), content.bytes.data(), size) != 0)
            continue;
        return {std::move(owner), known.bytes};
    }
    all.push_back({content.owner, content.bytes});
    return content;
}

// `held`: the object with the content, of all that are equal.
Result<onnx::OnnxModel> read(const std::string& path, const std::optional<nb::bytes>& content,
                             std::shared_ptr<const void>& held) {
    if (!content) return onnx::read_model(path);
    // Weights are read where they lie.
    std::shared_ptr<const void> owner(content->inc_ref().ptr(), [](const void* object) {
        nb::gil_scoped_acquire python;
        Py_DECREF(static_cast<PyObject*>(const_cast<void*>(object)));
    });
    const auto* begin = static_cast<const std::byte*>(content->data());
    const MappedFile one = one_of_equals({std::move(owner), {begin, content->size()}});
    held = one.owner;
    return onnx::parse_model(path, onnx::Bytes(one.bytes.data(), one.bytes.size()), one.owner);
}

// Empty where there is no cache, or the model is not all of the program.
inference::ProgramSource source_of(const onnx::OnnxModel& model, const std::string& path,
                                   const std::optional<nb::bytes>& content, const Operators& operators,
                                   const Bindings& bindings) {
    const auto folder = kept_folder();
    if (!folder || !model.data_files.empty()) return {};
    std::optional<std::string> digest = content ? cache::digest(std::string_view(content->c_str(), content->size()))
                                                : inference::digest_of_file(path, *folder);
    if (!digest) return {};
    return {fmt::format("model {}\n{}\nbound {}", *digest, operators.digest, bindings), path};
}

void check_dimensions(const onnx::OnnxModel& model, const Bindings& bindings) {
    std::vector<std::string> open;
    for (const onnx::OpenDimension& dimension : onnx::open_dimensions(model)) open.push_back(dimension.name);
    Diagnostics problems;
    for (const auto& [name, number] : bindings) {
        if (std::ranges::find(open, name) != open.end() && number >= 0) continue;
        problems.push_back({.code = "python.dimension",
                            .summary = fmt::format("'{} = {}' binds no open dimension of the model", name, number),
                            .expected = fmt::format("a size of at least 0 for one of: {}", fmt::join(open, ", ")),
                            .params = {{"dimension", name}}});
    }
    if (!problems.empty()) raise(problems);
}

std::unique_ptr<ModelSession> model_session(const std::string& path, const std::optional<nb::bytes>& content,
                                            const Operators& operators, int threads, const Bindings& bindings,
                                            const std::vector<std::string>& rules) {
    std::shared_ptr<const void> held;
    auto model = std::make_shared<onnx::OnnxModel>(value_or_raise(read(path, content, held)));
    if (auto problems = onnx::check_support(*model, *operators.library); !problems.empty()) raise(problems);
    check_dimensions(*model, bindings);
    auto uses = value_or_raise(rewrite::read_rule_uses(rules, *operators.library));
    // A program that is found again does not say what rules did.
    auto source = uses.empty() ? source_of(*model, path, content, operators, bindings) : inference::ProgramSource();
    auto session = std::make_unique<ModelSession>(std::move(model), operators, bindings, std::move(uses), threads,
                                                  std::move(source));
    session->content = std::move(held);
    return session;
}

nb::dict metadata_of(const ModelSession& session) {
    const onnx::OnnxMetadata& metadata = session.model().metadata;
    nb::dict result;
    result["producer_name"] = metadata.producer_name;
    result["graph_name"] = session.model().graph.name;
    result["domain"] = metadata.domain;
    result["description"] = metadata.description;
    result["graph_description"] = metadata.graph_description;
    result["version"] = metadata.version.value_or(no_version);
    result["custom_metadata_map"] = metadata.properties;
    return result;
}

// Arrays of their own. The first of a name, where two branches have one.
nb::dict weights_of(const ModelSession& session) {
    nb::dict result;
    for (const onnx::OnnxWeight& weight : onnx::weights(session.model()))
        if (!result.contains(weight.name.c_str())) result[weight.name.c_str()] = to_python(weight.data.clone());
    return result;
}

}  // namespace

ModelSession::ModelSession(std::shared_ptr<const onnx::OnnxModel> model, const Operators& operators, Bindings bindings,
                           std::vector<rewrite::RuleUse> rules, int threads, inference::ProgramSource source)
    : ModelSession(std::shared_ptr<Parts>(new Parts{.model = model,
                                                    .library = operators.library,
                                                    .bindings = std::move(bindings),
                                                    .rules = std::move(rules),
                                                    .is_read = onnx::read_inputs(*model),
                                                    .threads = threads,
                                                    .source = std::move(source)})) {}

ModelSession::ModelSession(std::shared_ptr<Parts> parts)
    : Session(
          inputs_of(*parts->model, parts->bindings, parts->weights), outputs_of(*parts->model, parts->bindings),
          [parts](const std::vector<TensorData>& given, Progress* progress) {
              return parts->specialise(given, progress);
          },
          parts->threads, parts->source, {},
          [parts](inference::ProgramCache& programs, const std::vector<inference::Value>& given,
                  const inference::RunWatch& watch) { return parts->program(programs).run(given, true, watch); }),
      parts_(parts) {}

std::unique_ptr<ModelSession> ModelSession::with_weights(const std::vector<std::string>& names) const {
    check_weight_names(names);
    const Parts& own = *parts_;
    std::shared_ptr<Parts> parts(new Parts{.model = own.model,
                                           .library = own.library,
                                           .bindings = own.bindings,
                                           .rules = own.rules,
                                           .is_read = own.is_read,
                                           .threads = own.threads,
                                           .source = own.source,
                                           .weights = names});
    if (!parts->source.key.empty()) parts->source.key += fmt::format("\nweights {}", names);
    return std::unique_ptr<ModelSession>(new ModelSession(std::move(parts)));
}

std::unique_ptr<ModelSession> ModelSession::with_initializers(const std::vector<std::string>& names) const {
    const Parts& own = *parts_;
    auto opened = onnx::without_initializers(model(), {names.begin(), names.end()});
    if (!opened) return nullptr;
    auto model = std::make_shared<onnx::OnnxModel>(std::move(*opened));
    std::shared_ptr<Parts> parts(new Parts{.model = model,
                                           .library = own.library,
                                           .bindings = own.bindings,
                                           .rules = own.rules,
                                           .is_read = onnx::read_inputs(*model),
                                           .threads = own.threads,
                                           .source = own.source});
    if (!parts->source.key.empty()) parts->source.key += fmt::format("\ninitializers {}", names);
    return std::unique_ptr<ModelSession>(new ModelSession(std::move(parts)));
}

void ModelSession::check_weight_names(const std::vector<std::string>& names) const {
    std::vector<std::string> known;
    for (const onnx::OnnxWeight& weight : onnx::weights(model())) known.push_back(weight.name);
    const std::set<std::string_view> all(known.begin(), known.end());
    Diagnostics problems;
    for (const std::string& name : names) {
        if (all.contains(name)) continue;
        const std::string near = nearest_name(name, known);
        problems.push_back({.code = "python.argument",
                            .summary = fmt::format("the model has no weight '{}'", name),
                            .expected = "names among those of its `weights`",
                            .remedy = near.empty() ? "" : fmt::format("did you mean '{}'?", near),
                            .params = {{"weight", name}}});
    }
    if (!problems.empty()) raise(problems);
}

namespace {

TensorType type_of(const TensorData& data) { return {data.dtype(), {data.shape().begin(), data.shape().end()}}; }

// One input for each of the weights behind the others, whether the graph has a use for it or not.
void add_unused_weights(Graph& graph, const inference::FreeWeights& weights, const std::vector<std::string>& names) {
    std::map<std::string_view, TensorId> inputs;
    const size_t others = graph.inputs.size() - weights.found.size();
    for (size_t i = 0; i < weights.found.size(); i++) inputs.emplace(weights.found[i].name, graph.inputs[others + i]);
    graph.inputs.resize(others);
    for (const std::string& name : names) {
        const auto found = inputs.find(name);
        graph.inputs.push_back(found != inputs.end() ? found->second
                                                     : graph.add_tensor(name, type_of(weights.values.at(name))));
    }
}

}  // namespace

Result<Graph> ModelSession::Parts::specialise(const std::vector<TensorData>& inputs, Progress* progress) {
    std::vector<const TensorData*> given;
    size_t next = 0;
    for (bool read : is_read) given.push_back(read ? &inputs[next++] : nullptr);
    inference::FreeWeights free;
    std::map<std::string, TensorType> types;
    for (const std::string& name : weights) {
        free.wanted.insert(name);
        types.emplace(name, type_of(inputs[next]));
        free.values.emplace(name, inputs[next++]);
    }
    inference::Rewriting rewriting{rules, {}};
    auto graph = inference::specialise(*model, *library, given, bindings, &rewriting, progress, &free);
    if (graph) {
        inference::hold_bound(*graph, bindings);
        if (auto problems = weight_misfits(free.found, types); !problems.empty()) return fail(std::move(problems));
        add_unused_weights(*graph, free, weights);
    }
    std::lock_guard lock(mutex);
    steps = std::move(rewriting.steps);
    return graph;
}

inference::ModelProgram& ModelSession::Parts::program(inference::ProgramCache& programs) {
    const std::lock_guard lock(mutex);
    if (!made) {
        // Rules and free weights are of one graph.
        made = std::make_unique<inference::ModelProgram>(
            *model, *library, programs, bindings,
            [this](const std::vector<TensorData>& given, Progress* progress) { return specialise(given, progress); },
            rules.empty() && weights.empty());
    }
    return *made;
}

Diagnostics weight_misfits(const std::vector<onnx::OnnxWeight>& weights,
                           const std::map<std::string, TensorType>& given) {
    Diagnostics problems;
    for (const onnx::OnnxWeight& weight : weights) {
        const TensorType &found = given.at(weight.name), expected = type_of(weight.data);
        if (found.dtype == expected.dtype && found.extents() == expected.extents()) continue;
        problems.push_back({.code = "python.tensor",
                            .summary = fmt::format("what is given cannot be the weight '{}'", weight.name),
                            .expected = expected.text(),
                            .found = found.text(),
                            .params = {{"weight", weight.name}}});
    }
    return problems;
}

Result<Graph> ModelSession::graph_for(const std::vector<const TensorType*>& types,
                                      const std::vector<const TensorData*>& values,
                                      inference::FreeWeights& weights) const {
    const auto inputs = onnx::caller_inputs(model());
    Diagnostics problems;
    std::vector<std::vector<int64_t>> extents(types.size());
    std::vector<const std::vector<int64_t>*> shapes(types.size());
    for (size_t i = 0; i < types.size(); i++) {
        if (!types[i]) continue;
        extents[i] = types[i]->extents();
        shapes[i] = &extents[i];
        if (inputs[i]->dtype && *inputs[i]->dtype != types[i]->dtype)
            problems.push_back(runtime::wrong_dtype(inputs[i]->name, {*inputs[i]->dtype, types[i]->shape},
                                                    TensorData(types[i]->dtype, extents[i], nullptr, nullptr)));
    }
    if (!problems.empty()) return fail(std::move(problems));
    auto bound = onnx::bind_shapes(model(), shapes, parts_->bindings);
    if (!bound) return fail(std::move(bound.error()));
    onnx::OnnxModel fixed = model();
    for (onnx::OnnxValue& input : fixed.graph.inputs) {
        for (size_t d = 0; d < input.shape.size(); d++) {
            const auto size = bound->find(onnx::open_name(input, d));
            if (size != bound->end()) input.shape[d].value = size->second;
        }
    }
    inference::Rewriting rewriting{parts_->rules, {}};
    return inference::specialise(fixed, *parts_->library, values, {}, &rewriting, nullptr, &weights);
}

Result<Graph> ModelSession::graph_with(std::map<std::string, int64_t> dimensions) const {
    dimensions.insert(parts_->bindings.begin(), parts_->bindings.end());
    const std::vector<const TensorData*> nothing(onnx::caller_inputs(model()).size(), nullptr);
    inference::Rewriting rewriting{parts_->rules, {}};
    return inference::specialise(model(), *parts_->library, nothing, std::move(dimensions), &rewriting);
}

std::vector<std::pair<std::string, std::string>> ModelSession::rewrites() const {
    std::lock_guard lock(parts_->mutex);
    std::vector<std::pair<std::string, std::string>> result;
    for (const rewrite::Step& step : parts_->steps) result.emplace_back(step.rule, step.at);
    return result;
}

void bind_model(nb::module_& module) {
    nb::class_<ModelSession, Session>(module, "ModelSession")
        .def("metadata", &metadata_of)
        // The bytes that it was made of; None: a file.
        .def(
            "content",
            [](const ModelSession& session) {
                auto* object = static_cast<PyObject*>(const_cast<void*>(session.content.get()));
                return object ? nb::borrow(object) : nb::object(nb::none());
            },
            nb::sig("def content(self) -> bytes | None"))
        .def("data_files", [](const ModelSession& session) { return session.model().data_files; })
        .def("weights", &weights_of)
        .def("with_weights", &ModelSession::with_weights)
        .def("with_initializers", &ModelSession::with_initializers)
        .def("initializers",
             [](const ModelSession& session) {
                 return ports_of(onnx::overridable_inputs(session.model()), session.bindings());
             })
        .def("rewrites", &ModelSession::rewrites)
        .def("svg",
             [](const ModelSession& session, const std::string& title, const Bindings& dimensions, bool fused,
                bool unfold) { return svg_of(title, value_or_raise(session.graph_with(dimensions)), fused, unfold); });
    module.def("model_session", &model_session, nb::arg("path"), nb::arg("content").none(), nb::arg("library"),
               nb::arg("threads"), nb::arg("bindings"), nb::arg("rules"));
}

}  // namespace heddle::python
