// Graphs built by calls, as documents, as pictures, and as programs.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "explain/sharded_document.h"
#include "interchange/graph_builder.h"
#include "pictures/draw_parts.h"
#include "gradient/batched.h"
#include "gradient/derived_graph.h"
#include "gradient/derived_program.h"
#include "gradient/gradient.h"
#include "gradient/split.h"
#include "gradient/tangents.h"
#include "graph/complex.h"
#include "inference/host.h"
#include "plan/donation.h"
#include "python/model_session.h"

namespace heddle::python {
namespace {

// A tensor of a graph.
struct Tensor {
    TensorId id = no_id;
    std::shared_ptr<const int> graph;  // which one: nothing else is told by it
    std::string name, dtype;
    std::vector<int64_t> shape;
    bool is_constant = false;
};

std::unexpected<Diagnostics> wrong_shape(const std::string& name, const char* expected,
                                         const std::vector<int64_t>& found) {
    return fail({.code = "python.shape",
                 .summary = fmt::format("the range of tensor '{}' is not possible", name),
                 .expected = expected,
                 .found = StaticValue::of_integers(found).print(),
                 .params = {{"tensor", name}}});
}

Result<interchange::DocumentRange> range_of(const std::string& name, const std::vector<int64_t>& shape,
                                            const std::vector<int64_t>& start) {
    if (!start.empty() && start.size() != shape.size()) return wrong_shape(name, "one start a dimension", start);
    interchange::DocumentRange range{start.empty() ? std::vector<int64_t>(shape.size(), 0) : start, {}};
    int64_t elements = 1;
    for (size_t d = 0; d < shape.size(); d++) {
        const auto end = checked_add(range.start[d], shape[d]);
        if (shape[d] < 0 || __builtin_mul_overflow(elements, std::max<int64_t>(shape[d], 1), &elements) ||
            !end)
            return wrong_shape(name, "sizes of at least 0, and fewer than 2^63 elements", shape);
        range.end.push_back(*end);
    }
    return range;
}

class GraphOfCalls {
public:
    explicit GraphOfCalls(const Operators& operators) : library_(operators.library), builder_(*library_) {}

    Tensor tensor(const std::string& name, nb::handle dtype, const std::vector<int64_t>& shape,
                  const std::vector<int64_t>& start) {
        DType type = dtype_of(dtype);
        auto range = value_or_raise(range_of(name, shape, start));
        const Graph& graph = builder_.graph();
        const auto has_name = [&](TensorId id) { return graph.tensor(id).name == name; };
        if (std::ranges::any_of(graph.inputs, has_name)) {
            raise({{.code = "python.tensor",
                    .summary = fmt::format("the graph has an input '{}' already", name),
                    .remedy = "give each input a name of its own, by which runs are given its array",
                    .params = {{"tensor", name}}}});
        }
        return at(builder_.tensor(name, type, range));
    }

    Tensor constant(const std::string& name, nb::handle value) {
        return at(builder_.constant(name, array_of(value, name).tensor.clone()));
    }

    nb::object value(const Tensor& tensor) const {
        return to_python(builder_.graph().tensor(tensor.id).constant.value().clone());
    }

    // A copy that counts as computed, also of a constant: operators that read it are not folded, so that something else
    // can stand in for it.
    Tensor held(nb::handle value) {
        const TensorId from = given(value, "held");
        const TensorType type = builder_.graph().tensor(from).type;
        gradient::DerivedGraph copy{Graph{}};
        Graph& graph = copy.graph();
        graph.inputs = {graph.add_tensor("from", type)};
        graph.outputs = {copy.add_sum(graph.inputs, "held.", "held", type)};
        std::vector<TensorId> known(graph.tensors.size(), no_id);
        known[static_cast<size_t>(graph.inputs[0])] = from;
        return at(builder_.add(graph, std::move(known), "")[0]);
    }

    // A tensor, or a tuple where the operator has several results.
    nb::object call(const std::string& name, const nb::tuple& inputs, const nb::dict& named, const std::string& label) {
        const CallArguments call = arguments_of(*value_or_raise(library_->find(name)), inputs, named);
        std::vector<Argument> arguments;
        for (const auto& input : call.inputs) {
            Argument argument;
            argument.given = input.given;
            argument.list = input.list;
            for (nb::handle object : input.objects) argument.tensors.push_back(given(object, name));
            arguments.push_back(std::move(argument));
        }
        auto results = value_or_raise(builder_.apply(name, arguments, call.parameters, label));
        return answer(results, results.size() != 1);
    }

    // A model as an operator, with other weights in place of its own: its results, one or a tuple.
    nb::object call_model(const ModelSession& model, const nb::tuple& inputs, const nb::dict& named,
                          const nb::dict& weights, const std::string& label) {
        const auto given = tensors_of(model, inputs, named);
        const auto other = weights_of(model, weights);
        inference::FreeWeights free;
        std::map<std::string, TensorType> other_types;
        for (const auto& [name, id] : other) {
            free.wanted.insert(name);
            other_types.emplace(name, builder_.graph().tensor(id).type);
            if (const auto& value = builder_.graph().tensor(id).constant) free.values.emplace(name, *value);
        }
        std::vector<const TensorType*> types;
        std::vector<const TensorData*> values;
        std::vector<TensorId> read;
        for (size_t i = 0; i < given.size(); i++) {
            const bool is_given = given[i] >= 0;
            const auto* tensor = is_given ? &builder_.graph().tensor(given[i]) : nullptr;
            types.push_back(tensor ? &tensor->type : nullptr);
            values.push_back(tensor && tensor->constant ? &*tensor->constant : nullptr);
            if (model.inputs[i].is_read) read.push_back(given[i]);
        }
        const Graph graph = value_or_raise([&] {
            nb::gil_scoped_release others_run;
            return model.graph_for(types, values, free);
        }());
        if (auto problems = weight_misfits(free.found, other_types); !problems.empty()) raise(problems);
        for (const onnx::OnnxWeight& weight : free.found) read.push_back(other.at(weight.name));
        std::vector<TensorId> known(graph.tensors.size(), no_id);
        for (size_t i = 0; i < read.size(); i++) known[static_cast<size_t>(graph.inputs[i])] = read[i];
        return answer(builder_.add(graph, std::move(known), label + "."), graph.outputs.size() != 1);
    }

    // Adjoints of `wanted` from those of `outputs` (`seeds`; if there are none: ones): how these change with what the
    // operations from the `first` one on read of them. What earlier operations made of the same tensors is given.
    nb::object gradient(const nb::list& outputs, const nb::list& wanted, const nb::list& seeds, size_t first) {
        const Part part = part_of(outputs, wanted, first, "gradient");
        return add_derivatives(part, value_or_raise([&] {
                                   nb::gil_scoped_release others_run;
                                   return gradient::gradient(part.graph, part.wanted);
                               }()),
                               seeds, "adjoint", wanted.size() != 1);
    }

    // Tangents of `outputs`, each once, from those of `wanted` (`seeds`).
    nb::object tangents(const nb::list& outputs, const nb::list& wanted, const nb::list& seeds, size_t first) {
        const Part part = part_of(outputs, wanted, first, "tangents");
        return add_derivatives(part, value_or_raise([&] {
                                   nb::gil_scoped_release others_run;
                                   return gradient::tangents(part.graph, part.wanted);
                               }()),
                               seeds, "tangent", true);
    }

    // What `outputs` are where `batches`, which have one more first axis, stand for `wanted`.
    nb::object batched(const nb::list& outputs, const nb::list& wanted, const nb::list& batches, size_t first) {
        const Part part = part_of(outputs, wanted, first, "batched");
        std::vector<TensorId> given;
        for (nb::handle batch : batches) given.push_back(id_of(batch, "batched"));
        const Size extent = builder_.graph().tensor(given.front()).type.shape.front();
        const Graph made = value_or_raise([&] {
            nb::gil_scoped_release others_run;
            return gradient::batched(part.graph, part.wanted, extent);
        }());
        std::vector<TensorId> known(made.tensors.size(), no_id);
        for (size_t i = 0; i < part.places.size(); i++)
            if (made.tensors[i].type == part.graph.tensors[i].type) known[i] = part.places[i];
        for (size_t i = 0; i < given.size(); i++) known[static_cast<size_t>(part.wanted[i])] = given[i];
        return answer(builder_.add(made, std::move(known), ""), true);
    }

    // Two sessions and what the first hands to the second, as JSON: from the inputs to `outputs` and the tape; from inputs,
    // outputs, tape and the outputs' adjoints to those of `wanted`, inputs. `policy`: of parse_tape_policy; `keeps` is None,
    // or a function of a value's name, dtype, shape and operations, which says instead whether it is kept.
    nb::tuple split(const nb::list& outputs, const nb::list& wanted, const std::string& policy, const nb::object& keeps,
                    int threads) const {
        Graph graph = builder_.graph();
        for (nb::handle output : outputs) graph.outputs.push_back(id_of(output, "split"));
        gradient::SplitRequest request;
        for (nb::handle tensor : wanted) request.wanted.push_back(id_of(tensor, "split"));
        request.policy = value_or_raise(gradient::parse_tape_policy(policy));
        if (!keeps.is_none()) {
            request.policy.kind = gradient::TapePolicy::Kind::chosen;
            request.policy.keeps = [&](const gradient::TapeCandidate& value) {
                const std::string dtype(name(value.type->dtype));
                return nb::cast<bool>(keeps(value.name, dtype, value.type->extents(), value.operations));
            };
        }
        const gradient::Split made = value_or_raise(gradient::split(graph, request));
        return nb::make_tuple(session_of(made.forward, threads), session_of(made.reverse, threads), text_of(made.tape));
    }

    size_t operations() const { return builder_.graph().operations.size(); }

    std::string print() const {
        std::vector<std::string> inputs;
        for (TensorId id : builder_.graph().inputs)
            inputs.push_back(
                fmt::format("{}: {}", builder_.graph().tensor(id).name, builder_.graph().tensor(id).type.text()));
        return fmt::format("Graph({}; {} operations)", fmt::join(inputs, ", "), builder_.graph().operations.size());
    }

    std::string json(const std::vector<std::string>& shards) const {
        return interchange::print_graph_json(document(shards));
    }

    std::string svg(const std::string& title, bool fused, bool unfold, const std::vector<std::string>& shards) const {
        if (!shards.empty())
            return pictures::stacked(value_or_raise(pictures::draw_document(title, document(shards)))).text();
        return svg_of(title, fused ? computing({}) : builder_.graph(), fused, unfold);
    }

    // What is wrong, as JSON; an empty list if nothing is.
    std::string validate(const std::string& environment, const std::string& folder,
                         const std::vector<std::string>& shards) const {
        auto dialect = value_or_raise(interchange::open_dialect(environment, folder));
        return render_json(
            interchange::validate(document(shards), {std::move(dialect), library_.get(), nullptr}).issues);
    }

    // `donated`: names of inputs that results take the memory of.
    std::unique_ptr<Session> compile(const nb::list& outputs, int threads,
                                     const std::vector<std::string>& donated) const {
        Graph graph = computing(outputs);
        const std::vector<TensorId> unread = take_unread_inputs(graph);
        std::vector<std::string> names;
        for (TensorId input : graph.inputs) names.push_back(graph.tensor(input).name);
        std::vector<int32_t> inputs;
        for (const std::string& name : donated) inputs.push_back(donated_input(names, name, inputs));
        return session_of(graph, threads, value_or_raise(plan::donations_of(graph, inputs)), unread);
    }

private:
    // `shards`: "m=2,y.k=3" (placing::parse_cuts).
    interchange::GraphDocument document(const std::vector<std::string>& shards) const {
        if (shards.empty()) return builder_.document();
        return value_or_raise(explain::sharded_document(builder_.graph(), shards));
    }

    // `unread`: inputs besides the graph's that may be given, too.
    static std::unique_ptr<Session> session_of(const Graph& graph, int threads, std::vector<plan::Donation> donations = {},
                                               const std::vector<TensorId>& unread = {}) {
        auto specialise = [graph](const std::vector<TensorData>&, Progress*) -> Result<Graph> { return graph; };
        std::vector<Session::Port> inputs = ports_of(graph, graph.inputs);
        for (Session::Port& port : ports_of(graph, unread)) {
            port.is_read = false;
            inputs.push_back(std::move(port));
        }
        return std::make_unique<Session>(std::move(inputs), ports_of(graph, graph.outputs), specialise,
                                         threads, inference::ProgramSource{}, std::move(donations));
    }

    // The place of an input that is donated, and was not before.
    static int32_t donated_input(const std::vector<std::string>& names, const std::string& name,
                                 const std::vector<int32_t>& before) {
        const auto place = static_cast<int32_t>(std::ranges::find(names, name) - names.begin());
        const bool there = place < static_cast<int32_t>(names.size());
        if (there && std::ranges::find(before, place) == before.end()) return place;
        const std::string near = there ? "" : nearest_name(name, names);
        raise({{.code = "python.donation",
                .summary = there ? fmt::format("input '{}' is donated twice", name)
                                 : fmt::format("there is no input '{}' to donate", name),
                .expected = fmt::format("{}", fmt::join(names, ", ")),
                .remedy = near.empty() ? "name each input once" : fmt::format("did you mean '{}'?", near),
                .params = {{"input", name}}}});
    }

    static std::string text_of(const gradient::TapeLayout& tape) {
        nlohmann::json entries = nlohmann::json::array();
        for (const gradient::TapeEntry& entry : tape.entries) {
            entries.push_back({{"name", entry.name},
                               {"dtype", name(entry.type.dtype)},
                               {"shape", entry.type.extents()},
                               {"offset", entry.offset},
                               {"bytes", entry.bytes},
                               {"reason", entry.reason}});
        }
        return nlohmann::json{{"bytes", tape.bytes}, {"entries", entries}}.dump();
    }

    nb::object answer(const std::vector<TensorId>& results, bool several) const {
        nb::list list;
        for (TensorId id : results) list.append(at(id));
        return several ? nb::object(nb::tuple(list)) : nb::object(list[0]);
    }

    // One an input of the model; no_id where it is not given.
    std::vector<TensorId> tensors_of(const ModelSession& model, const nb::tuple& inputs, const nb::dict& named) {
        std::vector<std::string> names;
        for (const Session::Port& port : model.inputs) names.push_back(port.name);
        if (inputs.size() > names.size()) {
            raise({{.code = "python.argument",
                    .summary = fmt::format("the model is given {} inputs", inputs.size()),
                    .expected = fmt::format("at most {}: {}", names.size(), fmt::join(names, ", "))}});
        }
        std::map<std::string, TensorId> given;
        std::map<std::string, TensorData> by_name;  // for the names alone
        for (size_t i = 0; i < inputs.size(); i++) given[names[i]] = this->given(inputs[i], "the model");
        for (auto [key, value] : named) {
            const auto name = nb::cast<std::string>(key);
            if (!given.emplace(name, this->given(value, "the model")).second) {
                raise({{.code = "python.argument",
                        .summary = fmt::format("input '{}' of the model is given twice", name),
                        .params = {{"input", name}}}});
            }
        }
        for (const auto& [name, id] : given) by_name[name] = {};
        value_or_raise(inference::arrange(names, by_name));
        std::vector<TensorId> result;
        Diagnostics missing;
        for (const Session::Port& port : model.inputs) {
            result.push_back(given.contains(port.name) ? given[port.name] : TensorId(no_id));
            if (result.back() < 0 && port.is_read) missing.push_back(inference::missing_input(port.name, port.dtype));
        }
        if (!missing.empty()) raise(missing);
        return result;
    }

    std::map<std::string, TensorId> weights_of(const ModelSession& model, const nb::dict& weights) {
        std::vector<std::string> names;
        for (auto [key, value] : weights) names.push_back(nb::cast<std::string>(nb::str(key)));
        model.check_weight_names(names);
        std::map<std::string, TensorId> result;
        for (size_t i = 0; auto [key, value] : weights) result.emplace(names[i++], given(value, "the model"));
        return result;
    }

    // The graph as a function of tensors of it: what operations from a `first` one on make of them.
    struct Part {
        Graph graph;
        std::vector<TensorId> places;  // of its tensors here
        std::vector<TensorId> wanted;  // inputs of it
    };

    Part part_of(const nb::list& outputs, const nb::list& wanted, size_t first, const char* user) const {
        Part part{builder_.graph(), {}, {}};
        for (nb::handle output : outputs) part.graph.outputs.push_back(id_of(output, user));
        part.places.resize(part.graph.tensors.size());
        std::iota(part.places.begin(), part.places.end(), TensorId(0));
        for (nb::handle tensor : wanted) {
            const TensorId id = id_of(tensor, user);
            part.wanted.push_back(stand_in(part.graph, id, first));
            part.places.push_back(id);
        }
        return part;
    }

    // `derived` reads what the part does, and `seeds` behind it.
    nb::object add_derivatives(const Part& part, const Graph& derived, const nb::list& seeds, const char* word,
                               bool several) {
        std::vector<TensorId> known(derived.tensors.size(), no_id);
        const std::vector<TensorId>& inputs = part.graph.inputs;
        for (size_t i = 0; i < inputs.size(); i++)
            known[static_cast<size_t>(derived.inputs[i])] = part.places[static_cast<size_t>(inputs[i])];
        const std::vector<TensorId> seeded(derived.inputs.begin() + static_cast<int64_t>(inputs.size()),
                                           derived.inputs.end());
        // What it reads of the graph is there already; of complex numbers it has other tensors.
        if (!has_complex(part.graph)) find_known(derived, part.graph, part.places, known);
        add_seeds(derived, seeded, seeds, word, known);
        return answer(builder_.add(derived, std::move(known), ""), several);
    }

    void add_seeds(const Graph& derived, const std::vector<TensorId>& seeded, const nb::list& seeds, const char* word,
                   std::vector<TensorId>& known) {
        if (seeds.size() > 0 && seeds.size() != seeded.size()) {
            raise({{.code = "python.argument",
                    .summary = fmt::format("{} {}s are given", seeds.size(), word),
                    .expected = fmt::format("{}: one for each tensor of a float type, or none", seeded.size())}});
        }
        for (size_t i = 0; i < seeded.size(); i++) {
            const heddle::Tensor& like = derived.tensor(seeded[i]);
            const TensorId seed = seeds.size() == 0 ? ones(like) : given(seeds[i], word);
            const TensorType& found = builder_.graph().tensor(seed).type;
            if (found.dtype != like.type.dtype || found.extents() != like.type.extents()) {
                raise({{.code = "python.tensor",
                        .summary = fmt::format("'{}' cannot be the {} '{}'", builder_.graph().tensor(seed).name, word,
                                               like.name),
                        .expected = like.type.text(),
                        .found = found.text()}});
            }
            known[static_cast<size_t>(seeded[i])] = seed;
        }
    }

    TensorId ones(const heddle::Tensor& like) {
        TensorData data(like.type.dtype, like.type.extents());
        for (int64_t i = 0; i < data.size(); i++) data.set_real(i, 1);
        return builder_.constant(like.name, std::move(data));
    }

    // An input that operations from the `first` one on read in place of a tensor, and that has its name.
    static TensorId stand_in(Graph& graph, TensorId id, size_t first) {
        const TensorId input = graph.add_tensor(graph.tensor(id).name, TensorType(graph.tensor(id).type));
        std::swap(graph.tensors[static_cast<size_t>(id)].name, graph.tensors[static_cast<size_t>(input)].name);
        graph.inputs.push_back(input);
        for (size_t i = first; i < graph.operations.size(); i++)
            std::ranges::replace(graph.operations[i].inputs, id, input);
        std::ranges::replace(graph.outputs, id, input);
        return input;
    }

    // Tensors of `from` that are the graph's have their names.
    static void find_known(const Graph& from, const Graph& graph, const std::vector<TensorId>& places,
                           std::vector<TensorId>& known) {
        std::map<std::string_view, TensorId> named;
        for (size_t i = 0; i < graph.tensors.size(); i++) named.emplace(graph.tensors[i].name, places[i]);
        for (size_t i = 0; i < from.tensors.size(); i++) {
            const auto found = named.find(from.tensors[i].name);
            if (known[i] < 0 && found != named.end()) known[i] = found->second;
        }
    }

    Tensor at(TensorId id) const {
        const auto& tensor = builder_.graph().tensor(id);
        return {id,
                identity_,
                tensor.name,
                std::string(name(tensor.type.dtype)),
                tensor.type.extents(),
                tensor.constant.has_value()};
    }

    // A tensor of the graph; an array becomes a constant.
    TensorId given(nb::handle object, const std::string& user) {
        const auto has = [&](const char* name) { return nb::hasattr(object, name); };
        const bool is_array = has("__array__") || has("__array_interface__") || has("__dlpack__");
        return is_array ? constant("constant", object).id : id_of(object, user);
    }

    TensorId id_of(nb::handle object, const std::string& user) const {
        Tensor tensor;
        bool ours = nb::try_cast(object, tensor) && tensor.graph == identity_;
        if (ours) return tensor.id;
        raise({{.code = "python.tensor",
                .summary = fmt::format("what {} is given is no tensor of this graph", user),
                .expected = "what tensor, constant or call of the same graph answered",
                .found = tensor.graph ? "a tensor of another graph" : nb::type_name(object.type()).c_str(),
                .remedy = "graph.constant(name, array) makes a tensor of an array"}});
    }

    // What computes these tensors, or all results that nothing reads.
    Graph computing(const nb::list& outputs) const {
        Graph graph = builder_.graph();
        for (nb::handle output : outputs) graph.outputs.push_back(id_of(output, "compile"));
        if (graph.outputs.empty()) graph.outputs = unused(graph);
        return prune(graph);
    }

    // Inputs that neither an operation nor a result is: they need not be given.
    static std::vector<TensorId> take_unread_inputs(Graph& graph) {
        std::vector<bool> read(graph.tensors.size(), false);
        for (const Operation& operation : graph.operations)
            for (TensorId id : operation.inputs) read[static_cast<size_t>(id)] = true;
        for (TensorId id : graph.outputs) read[static_cast<size_t>(id)] = true;
        const auto is_read = [&](TensorId id) { return read[static_cast<size_t>(id)]; };
        const auto rest = std::ranges::stable_partition(graph.inputs, is_read);
        std::vector<TensorId> unread(rest.begin(), rest.end());
        graph.inputs.erase(rest.begin(), rest.end());
        return unread;
    }

    // Results that no operation reads.
    static std::vector<TensorId> unused(const Graph& graph) {
        std::vector<bool> read(graph.tensors.size(), false);
        for (const Operation& operation : graph.operations) {
            for (TensorId id : operation.inputs) read[static_cast<size_t>(id)] = true;
        }
        std::vector<TensorId> result;
        for (size_t id = 0; id < graph.tensors.size(); id++) {
            if (graph.tensors[id].producer >= 0 && !read[id]) result.push_back(TensorId(id));
        }
        return result;
    }

    static std::vector<Session::Port> ports_of(const Graph& graph, const std::vector<TensorId>& ids) {
        std::vector<Session::Port> ports;
        for (TensorId id : ids) {
            const auto& tensor = graph.tensor(id);
            ports.push_back({tensor.name, std::string(name(tensor.type.dtype)), nb::cast(tensor.type.extents())});
        }
        return ports;
    }

    std::shared_ptr<const int> identity_ = std::make_shared<const int>(0);
    std::shared_ptr<Library> library_;
    interchange::GraphBuilder builder_;
};

}  // namespace

std::string svg_of(const std::string& title, const Graph& graph, bool fused, bool unfold) {
    const auto draw = [&]() -> Result<std::vector<pictures::Picture>> {
        if (!fused) return pictures::draw_operations(title, graph, unfold);
        auto plan = plan::make_plan(graph, inference::host_target(kept_folder().get()));
        if (!plan) return fail(std::move(plan.error()));
        return pictures::draw_plan(title, graph, *plan, {}, unfold);
    };
    const auto pages = value_or_raise([&] {
        nb::gil_scoped_release others_run;
        return draw();
    }());
    return pictures::stacked(pages).text();
}

void bind_graph(nb::module_& module) {
    nb::class_<Tensor>(module, "Tensor")
        .def_prop_ro("id", [](const Tensor& tensor) { return static_cast<size_t>(tensor.id); })
        .def_ro("name", &Tensor::name)
        .def_ro("dtype", &Tensor::dtype)
        .def_ro("shape", &Tensor::shape)
        .def_ro("is_constant", &Tensor::is_constant)
        .def("__repr__", [](const Tensor& tensor) {
            return fmt::format("Tensor('{}', {}[{}])", tensor.name, tensor.dtype, fmt::join(tensor.shape, ", "));
        });
    nb::class_<GraphOfCalls>(module, "Graph")
        .def(nb::init<const Operators&>())
        .def("tensor", &GraphOfCalls::tensor)
        .def("constant", &GraphOfCalls::constant)
        .def("value", &GraphOfCalls::value)
        .def("held", &GraphOfCalls::held)
        .def("call", &GraphOfCalls::call)
        .def("call_model", &GraphOfCalls::call_model)
        .def("gradient", &GraphOfCalls::gradient)
        .def("tangents", &GraphOfCalls::tangents)
        .def("batched", &GraphOfCalls::batched)
        .def("split", &GraphOfCalls::split, nb::arg("outputs"), nb::arg("wanted"), nb::arg("policy"),
             nb::arg("keeps").none(), nb::arg("threads"))
        .def_prop_ro("operations", &GraphOfCalls::operations)
        .def("print", &GraphOfCalls::print)
        .def("json", &GraphOfCalls::json)
        .def("svg", &GraphOfCalls::svg)
        .def("validate", &GraphOfCalls::validate)
        .def("compile", &GraphOfCalls::compile);
}

}  // namespace heddle::python
