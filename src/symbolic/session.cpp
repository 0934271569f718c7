#include "symbolic/size_tensors.h"
#include "symbolic/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/progress.h"
#include "symbolic/application_key.h"
#include "symbolic/environment_state.h"
#include "symbolic/session_state.h"
#include "symbolic/size_evaluation.h"

namespace heddle {
namespace {

using State = Session::State;

size_t hash_of(const std::string& text) { return std::hash<std::string>{}(text); }

// Whether nothing in `things` has the name; then it is that of the thing that is added next.
template <typename Thing>
bool take_name(PlaceTable& taken, const std::vector<Thing>& things, const std::string& name) {
    const size_t hash = hash_of(name);
    auto has_it = [&](int32_t place) { return things[static_cast<size_t>(place)].name == name; };
    if (taken.find(hash, has_it) >= 0) return false;
    taken.insert(hash, static_cast<int32_t>(things.size()));
    return true;
}

template <typename Thing>
std::string unique_name(PlaceTable& taken, const std::vector<Thing>& things, std::string name, const char* otherwise) {
    if (name.empty()) name = otherwise;
    if (take_name(taken, things, name)) return name;
    for (size_t number = things.size();; ++number) {
        std::string candidate = name + "_" + std::to_string(number);
        if (take_name(taken, things, candidate)) return candidate;
    }
}

// Takes back all that stands from `count` on, and its names.
template <typename Thing>
void shorten(PlaceTable& taken, std::vector<Thing>& things, size_t count) {
    for (size_t i = count; i < things.size(); ++i) taken.erase(hash_of(things[i].name), static_cast<int32_t>(i));
    things.resize(count);
}

// ---- arguments

Result<BoundArguments> bind_arguments(const State& session, const Template& metakernel, const std::string& node_name,
                                      const std::vector<Argument>& inputs,
                                      const std::map<std::string, StaticValue>& parameters) {
    const auto& specifications = metakernel.inputs;
    auto diagnostic_of = [&](const char* code, const Place& place, std::string summary) {
        return application_diagnostic(metakernel, node_name, code, place, std::move(summary));
    };
    BoundArguments bound;
    bound.tensors.resize(specifications.size());
    bound.given.resize(specifications.size(), false);
    size_t last_variadic =
        !specifications.empty() && specifications.back().variadic ? specifications.size() - 1 : specifications.size();
    for (size_t position = 0; position < inputs.size(); ++position) {
        const Argument& argument = inputs[position];
        size_t slot = std::min(position, last_variadic);
        for (TensorId tensor : argument.tensors) {
            if (tensor >= 0 && static_cast<size_t>(tensor) < session.graph.tensors.size()) continue;
            return fail(diagnostic_of("symbolic.unknown_tensor", metakernel.place,
                                      fmt::format("argument {} is no tensor of this graph", position + 1)));
        }
        if (!argument.given) {
            if (slot == last_variadic && position > slot) {
                return fail(diagnostic_of("symbolic.missing_input", specifications[slot].place,
                                          fmt::format("a tensor of {} is not given", specifications[slot].name)));
            }
            continue;
        }
        if (slot >= specifications.size()) {
            Diagnostic diagnostic = diagnostic_of("symbolic.too_many_inputs", metakernel.place,
                                                  fmt::format("{} is given {} inputs", metakernel.name, inputs.size()));
            diagnostic.expected = fmt::format("at most {}", specifications.size());
            diagnostic.remedy = "parameters are passed by name, as axis: 1";
            return fail(std::move(diagnostic));
        }
        if (argument.list && !specifications[slot].variadic) {
            Diagnostic diagnostic = diagnostic_of("symbolic.not_a_list", specifications[slot].place,
                                                  fmt::format("{} is one tensor", specifications[slot].name));
            diagnostic.found = fmt::format("a list of {} tensors", argument.tensors.size());
            return fail(std::move(diagnostic));
        }
        bound.given[slot] = true;
        bound.tensors[slot].append(argument.tensors.begin(), argument.tensors.end());
    }
    Diagnostics missing;
    for (size_t slot = 0; slot < specifications.size(); ++slot) {
        if (bound.given[slot] || specifications[slot].optional) continue;
        missing.push_back(diagnostic_of("symbolic.missing_input", specifications[slot].place,
                                        fmt::format("input {} is not given", specifications[slot].name)));
        missing.back().remedy = "pass it, or make it optional by a ? behind its type: \"$T[$n]?\"";
        for (const auto& [name, value] : parameters) {
            if (metakernel.parameter(name)) continue;
            missing.back().found = fmt::format("`{}`, which is no input and no parameter", name);
            if (!nearest_name(name, {specifications[slot].name}).empty())
                missing.back().remedy = fmt::format("did you mean {} by {}?", specifications[slot].name, name);
        }
    }
    if (!missing.empty()) return fail(std::move(missing));
    return bound;
}

// ---- values of concrete inputs

std::string producer_text(const Graph& graph, const Tensor& tensor) {
    if (tensor.producer < 0) return fmt::format("{} is an input of the graph", tensor.name);
    return fmt::format("{} is the result of {}", tensor.name,
                       graph.operations[static_cast<size_t>(tensor.producer)].name);
}

Result<std::optional<StaticValue>> concrete_value(State& session, const Environment& environment,
                                                  const TensorSpec& specification, TensorId tensor) {
    if (specification.flavour != Flavour::concrete) return std::nullopt;
    const TensorData* data = session.decide(tensor);
    if (data && is_complex(data->dtype())) {
        Diagnostic diagnostic =
            environment.diagnostic("symbolic.complex", specification.place,
                                   fmt::format("the value of input {} is opened", specification.name));
        diagnostic.expected = "a tensor of a real type";
        diagnostic.found = session.graph.tensor(tensor).type.text();
        diagnostic.reason = "no static value is a complex number";
        diagnostic.remedy = "give re(z) and im(z) as two inputs";
        return fail(std::move(diagnostic));
    }
    if (data && data->size() <= largest_static_list) return static_value_of(*data, session.known_sizes(tensor));
    Diagnostic diagnostic = environment.diagnostic(
        "symbolic.not_concrete", specification.place,
        data ? fmt::format("input {} has {} elements, too many to be opened", specification.name, data->size())
             : fmt::format("the value of input {} must be known when the graph is built", specification.name));
    diagnostic.expected = data ? fmt::format("at most {} elements", largest_static_list)
                               : "a constant, a result of constants, or an input whose value is given";
    diagnostic.found = producer_text(session.graph, session.graph.tensor(tensor));
    if (!data && session.work_ran_out)
        diagnostic.reason = "more was to be computed while the graph is built than is allowed";
    diagnostic.params.emplace_back("input", specification.name);
    if (!data) diagnostic.params.emplace_back("waits_for", session.graph.tensor(tensor).name);
    if (!data && session.graph.tensor(tensor).producer < 0) diagnostic.params.emplace_back("not_given", "true");
    return fail(std::move(diagnostic));
}

Result<void> fill_inputs(State& session, Environment& environment, const BoundArguments& arguments) {
    auto& inputs = environment.state().inputs;
    for (size_t position = 0; position < inputs.size(); ++position) {
        BoundInput& input = inputs[position];
        input.given = arguments.given[position];
        const auto& tensors = arguments.tensors[position];
        input.tensors.reserve(tensors.size());
        for (size_t element = 0; element < tensors.size(); ++element) {
            BoundTensor bound;
            bound.name = input.spec->variadic ? fmt::format("{}[{}]", input.spec->name, element) : input.spec->name;
            bound.type = session.graph.tensor(tensors[element]).type;
            auto value = concrete_value(session, environment, *input.spec, tensors[element]);
            if (!value) return std::unexpected(value.error());
            bound.value = std::move(*value);
            input.tensors.push_back(std::move(bound));
        }
    }
    return {};
}

// ---- making operations

// The names of results: as the caller wants them, else after the node.
class ResultNames {
public:
    ResultNames(const ApplyOptions& options, const Template& metakernel, const std::string& node)
        : options_(options), metakernel_(metakernel), node_(node) {}

    std::string next(size_t output, size_t element) {
        size_t number = number_++;
        if (number < options_.names.size() && !options_.names[number].empty()) return options_.names[number];
        const TensorSpec& specification = metakernel_.outputs[output];
        if (specification.variadic) return fmt::format("{}.{}[{}]", node_, specification.name, element);
        return metakernel_.outputs.size() == 1 ? node_ : fmt::format("{}.{}", node_, specification.name);
    }

private:
    const ApplyOptions& options_;
    const Template& metakernel_;
    const std::string& node_;
    size_t number_ = 0;
};

std::vector<TensorId> ids_of(const std::vector<TensorReference>& references,
                             std::span<const InlineVector<TensorId, 4>> tensors) {
    std::vector<TensorId> ids;
    ids.reserve(references.size());
    for (const TensorReference& reference : references) {
        ids.push_back(tensors[static_cast<size_t>(reference.position)][static_cast<size_t>(reference.element)]);
    }
    return ids;
}

OperandNames names_of(const std::vector<TensorReference>& references, const std::vector<TensorSpec>& specifications) {
    std::vector<OperandName> names;
    names.reserve(references.size());
    for (const TensorReference& reference : references)
        names.push_back({specifications[static_cast<size_t>(reference.position)].name, reference.element});
    return OperandNames(std::move(names));
}

// Mostly those of the last operation of the template.
void name_operands(State::TemplateUse& use, AppliedOperation& operation, const Template& metakernel) {
    if (use.input_names.empty() || use.inputs != operation.inputs) {
        use.inputs = operation.inputs;
        use.input_names = names_of(operation.inputs, metakernel.inputs);
    }
    if (use.output_names.empty() || use.outputs != operation.outputs) {
        use.outputs = operation.outputs;
        use.output_names = names_of(operation.outputs, metakernel.outputs);
    }
    operation.input_names = use.input_names;
    operation.output_names = use.output_names;
}

void add_operations(State& session, Application& application, const Template& metakernel, const std::string& node,
                    const BoundArguments& arguments, std::span<const InlineVector<TensorId, 4>> outputs) {
    std::string first_name;
    for (size_t number = 0; number < application.operations.size(); ++number) {
        AppliedOperation& applied = application.operations[number];
        std::string name =
            unique_name(session.operation_names, session.graph.operations,
                        application.operations.size() == 1 ? node : fmt::format("{}[{}]", node, number), "operation");
        Operation& operation = session.graph.operations.emplace_back();
        operation.name = std::move(name);
        operation.operator_name = metakernel.name;
        operation.inputs = ids_of(applied.inputs, arguments.tensors);
        operation.outputs = ids_of(applied.outputs, outputs);
        const auto id = last_id<OperationId>(session.graph.operations);
        for (TensorId output : operation.outputs) session.graph.tensors[static_cast<size_t>(output)].producer = id;
        if (applied.first) {
            const Operation& first = session.graph.operations[static_cast<size_t>(*applied.first)];
            operation.index = first.index;
            operation.input_projections = first.input_projections;
            operation.output_projections = first.output_projections;
        } else {
            operation.index = std::move(applied.projections.index);
            operation.input_projections = std::move(applied.projections.inputs);
            operation.output_projections = std::move(applied.projections.outputs);
            applied.first = id;
        }
        operation.body = applied.body;
        operation.folds = applied.folds;
        operation.gradient = applied.gradient;
        operation.params = application.parameters;
        operation.input_names = applied.input_names;
        operation.output_names = applied.output_names;
        if (!applied.body)
            for (const KernelRow& row : metakernel.kernels) operation.kernels.push_back(row.text);
        for (const auto* specs : {&metakernel.inputs, &metakernel.outputs})
            for (const TensorSpec& spec : *specs)
                if (!spec.placement.empty() && spec.placement != "host") operation.placement = spec.placement;
        if (number == 0) first_name = operation.name;
        if (metakernel.each) operation.each = EachPart{first_name, static_cast<int64_t>(number)};
    }
}

std::vector<TensorId> flattened(std::span<const InlineVector<TensorId, 4>> outputs) {
    std::vector<TensorId> answer;
    answer.reserve(outputs.size());
    for (const auto& tensors : outputs) {
        if (tensors.empty()) answer.push_back(no_id);
        answer.insert(answer.end(), tensors.begin(), tensors.end());
    }
    return answer;
}

Result<std::vector<TensorId>> instantiate(State& session, Application& application, const Template& metakernel,
                                          const BoundArguments& arguments, const ApplyOptions& options) {
    const std::string& node = options.node_name.empty() ? metakernel.name : options.node_name;
    ResultNames names(options, metakernel, node);
    if (auto fine = check_known_indices(session, metakernel, application, arguments); !fine)
        return std::unexpected(fine.error());
    auto folded = fold_application(session, application, arguments);
    if (!folded) return std::unexpected(folded.error());
    std::vector<InlineVector<TensorId, 4>> outputs(application.outputs.size());
    for (size_t output = 0; output < outputs.size(); ++output) {
        const AppliedOutput& applied = application.outputs[output];
        if (!applied.requested) names.next(output, 0);
        outputs[output].reserve(applied.types.size());
        for (size_t element = 0; element < applied.types.size(); ++element) {
            std::string name = names.next(output, element);
            if (!*folded) {
                outputs[output].push_back(session.add_tensor(std::move(name), applied.types[element]));
                continue;
            }
            FoldedOutput& value = (**folded)[output][element];
            TensorId constant = session.add_constant(std::move(name), std::move(value.data));
            session.graph.tensors[static_cast<size_t>(constant)].type = applied.types[element];
            if (!value.sizes.empty()) session.sizes.emplace(constant, std::move(value.sizes));
            outputs[output].push_back(constant);
        }
    }
    if (!*folded) add_operations(session, application, metakernel, node, arguments, outputs);
    return flattened(outputs);
}

// Says in every diagnostic what was being applied.
void add_node(Diagnostics& diagnostics, const Template& metakernel, const std::string& node) {
    for (Diagnostic& diagnostic : diagnostics) {
        auto has = [&](const char* key) {
            return std::any_of(diagnostic.params.begin(), diagnostic.params.end(),
                               [&](const auto& param) { return param.first == key; });
        };
        if (!has("operator")) diagnostic.params.emplace_back("operator", metakernel.name);
        if (!node.empty() && !has("node")) {
            diagnostic.params.emplace_back("node", node);
            diagnostic.contexts.push_back({fmt::format("in node {} ({})", node, metakernel.name), {}});
        }
    }
}

}  // namespace

TensorId State::add_tensor(std::string name, TensorType type) {
    name = unique_name(tensor_names, graph.tensors, std::move(name), "t");
    graph.tensors.emplace_back(std::move(name), std::move(type));
    return last_id<TensorId>(graph.tensors);
}

TensorId State::add_constant(std::string name, TensorData data) {
    TensorType type{data.dtype(), {data.shape().begin(), data.shape().end()}};
    TensorId tensor = add_tensor(std::move(name), std::move(type));
    graph.tensors.back().constant = std::move(data);
    return tensor;
}

const TensorData* State::known_value(TensorId tensor) const {
    const auto& constant = graph.tensor(tensor).constant;
    if (constant) return &*constant;
    auto found = decided.find(tensor);
    return found == decided.end() ? nullptr : &found->second;
}

const std::vector<SizeQuotient>* State::known_sizes(TensorId tensor) const {
    auto found = sizes.find(tensor);
    return found == sizes.end() ? nullptr : &found->second;
}

namespace {

bool is_requested(const ApplyOptions& options, size_t output) {
    return options.requested.empty() || (output < options.requested.size() && options.requested[output]);
}

Call call_of(const Template& metakernel, const BoundArguments& arguments,
             const std::map<std::string, StaticValue>& parameters, const ApplyOptions& options) {
    Call call{&metakernel, {}, parameters, {}, {}};
    call.inputs.reserve(metakernel.inputs.size());
    for (size_t slot = 0; slot < metakernel.inputs.size(); ++slot) {
        if (!arguments.given[slot])
            call.inputs.emplace_back();
        else if (metakernel.inputs[slot].variadic)
            call.inputs.emplace_back(
                std::vector<TensorId>(arguments.tensors[slot].begin(), arguments.tensors[slot].end()));
        else
            call.inputs.emplace_back(arguments.tensors[slot][0]);
    }
    for (size_t i = 0; i < metakernel.outputs.size(); ++i) call.requested.push_back(is_requested(options, i));
    return call;
}

// Says of a tensor that does not fit which one it is in the graph: "x" of an operator may be "grid" of a composition.
void name_given(Diagnostics& diagnostics, const State& session, const Template& metakernel,
                const BoundArguments& arguments) {
    for (Diagnostic& diagnostic : diagnostics) {
        auto of = [&](const char* key) {
            return std::ranges::find(diagnostic.params, key, &std::pair<std::string, std::string>::first);
        };
        const auto input = of("input");
        if (input == diagnostic.params.end() || of("given") != diagnostic.params.end()) continue;
        const std::string name = input->second.substr(0, input->second.find('['));
        for (size_t slot = 0; slot < metakernel.inputs.size(); ++slot) {
            if (metakernel.inputs[slot].name != name) continue;
            const size_t element =
                name == input->second ? 0 : static_cast<size_t>(std::stoll(input->second.substr(name.size() + 1)));
            if (element >= arguments.tensors[slot].size()) break;
            diagnostic.params.emplace_back("given", session.graph.tensor(arguments.tensors[slot][element]).name);
            break;
        }
    }
}

}  // namespace

bool State::is_told(TensorId tensor) const { return known_value(tensor) || offered.contains(tensor); }

void State::answer_for(const Template& metakernel, BoundArguments& arguments) {
    for (size_t slot = 0; slot < arguments.tensors.size(); ++slot) {
        if (metakernel.inputs[slot].flavour != Flavour::concrete) continue;
        for (TensorId& tensor : arguments.tensors[slot]) {
            if (asked != no_id || is_told(tensor) || decide(tensor)) continue;
            if (graph.tensor(tensor).type.elements() > largest_static_list) continue;
            if (answered < answers.size())
                tensor = answers[answered++];
            else
                asked = tensor;
        }
    }
}

Result<std::vector<TensorId>> State::apply(const Template& metakernel, const std::vector<Argument>& inputs,
                                           const std::map<std::string, StaticValue>& parameters,
                                           const ApplyOptions& options) {
    if (is_cancelled(progress)) return cancelled();
    auto arguments = bind_arguments(*this, metakernel, options.node_name, inputs, parameters);
    if (!arguments) return std::unexpected(arguments.error());
    if (asks) answer_for(metakernel, *arguments);
    bool records = recording && !options.records_calls;
    std::optional<Call> call;
    if (records) call = call_of(metakernel, *arguments, parameters, options);
    recording = recording && !records;
    auto results = apply_bound(metakernel, *arguments, parameters, options);
    recording = recording || records;
    if (!results) name_given(results.error(), *this, metakernel, *arguments);
    if (records && results) {
        call->results = *results;
        calls.push_back(std::move(*call));
    }
    return results;
}

Result<std::vector<TensorId>> State::apply_bound(const Template& metakernel, const BoundArguments& arguments,
                                                 const std::map<std::string, StaticValue>& parameters,
                                                 const ApplyOptions& options) {
    if (!metakernel.is_composition()) {
        write_application_key(*this, metakernel, arguments, parameters, options.requested, key);
        key_hash = hash_of(key);
        const int32_t found = application_keys.find(
            key_hash, [&](int32_t place) { return applications[static_cast<size_t>(place)].key == key; });
        if (found >= 0)
            return instantiate(*this, applications[static_cast<size_t>(found)].application, metakernel, arguments,
                               options);
    }
    TemplateUse& use = uses[&metakernel];
    auto environment = use.spare ? std::move(use.spare) : std::make_unique<Environment>(metakernel);
    auto results = apply_in(*environment, arguments, parameters, options);
    environment->state().forget();
    use.spare = std::move(environment);
    return results;
}

Result<std::vector<TensorId>> State::apply_in(Environment& environment, const BoundArguments& arguments,
                                              const std::map<std::string, StaticValue>& parameters,
                                              const ApplyOptions& options) {
    const Template& metakernel = environment.metakernel();
    environment.state().node_name = options.node_name;
    environment.state().given_parameters = &parameters;
    auto& outputs = environment.state().outputs;
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].requested = is_requested(options, i);
    if (auto filled = fill_inputs(*this, environment, arguments); !filled) return std::unexpected(filled.error());
    if (metakernel.is_composition()) return expand_composition(*this, environment, arguments, options);
    auto applied = apply_template(environment);
    if (!applied) return std::unexpected(applied.error());
    TemplateUse& use = uses[&metakernel];
    for (AppliedOperation& operation : applied->operations) {
        notes.insert(notes.end(), operation.projections.notes.begin(), operation.projections.notes.end());
        name_operands(use, operation, metakernel);
    }
    if (declares) {
        if (auto added = add_declared(*this, environment, arguments, *applied); !added)
            return std::unexpected(added.error());
    }
    if (applications.size() >= most_applications) forget_applications();
    application_keys.insert(key_hash, static_cast<int32_t>(applications.size()));
    applications.push_back({key, std::move(*applied)});
    return instantiate(*this, applications.back().application, metakernel, arguments, options);
}

void State::forget_applications() {
    applications.clear();
    application_keys.clear();
}

Session::Session(const Library& library) : state_(std::make_unique<State>()) { state_->library = &library; }
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const Library& Session::library() const { return *state_->library; }
void Session::set_progress(Progress* progress) { state_->progress = progress; }
void Session::record_calls() { state_->records = true; }
const std::vector<Call>& Session::calls() const { return state_->calls; }
const Diagnostics& Session::notes() const { return state_->notes; }

Result<std::unique_ptr<Environment>> Session::bind(const Template& metakernel, const std::vector<Argument>& inputs,
                                                   const std::map<std::string, StaticValue>& parameters) const {
    auto environment = std::make_unique<Environment>(metakernel);
    environment->state().given_parameters = &parameters;
    auto arguments = bind_arguments(*state_, metakernel, {}, inputs, parameters);
    if (!arguments) return std::unexpected(arguments.error());
    if (auto filled = fill_inputs(*state_, *environment, *arguments); !filled) return std::unexpected(filled.error());
    if (auto bound = bind_application(*environment); !bound) return std::unexpected(bound.error());
    return environment;
}

const Graph& Session::graph() const { return state_->graph; }
const TensorData* Session::known_value(TensorId tensor) const { return state_->known_value(tensor); }
const std::vector<SizeQuotient>* Session::known_sizes(TensorId tensor) const { return state_->known_sizes(tensor); }

TensorId Session::add_input(std::string name, TensorType type, std::vector<int64_t> start) {
    TensorId tensor = state_->add_tensor(std::move(name), std::move(type));
    state_->graph.tensors.back().start = std::move(start);
    state_->graph.inputs.push_back(tensor);
    return tensor;
}

TensorId Session::add_constant(std::string name, TensorData data) {
    return state_->add_constant(std::move(name), std::move(data));
}

TensorId Session::add_sizes(std::string name, const std::vector<Size>& sizes) {
    return add_sizes(std::move(name), {DType::int64, {static_cast<int64_t>(sizes.size())}}, {sizes.begin(), sizes.end()});
}

TensorId Session::add_sizes(std::string name, TensorType type, std::vector<SizeQuotient> sizes) {
    TensorId tensor = state_->add_constant(std::move(name), data_of(type, sizes));
    if (std::ranges::any_of(sizes, &SizeQuotient::named)) state_->sizes.emplace(tensor, std::move(sizes));
    return tensor;
}

Result<std::vector<TensorId>> Session::apply(const Template& metakernel, const std::vector<Argument>& inputs,
                                             const std::map<std::string, StaticValue>& parameters,
                                             const ApplyOptions& options) {
    size_t tensors = state_->graph.tensors.size(), operations = state_->graph.operations.size();
    size_t calls = state_->calls.size();
    state_->expanded = 0;
    state_->recording = state_->records;
    state_->answered = 0;
    state_->asked = no_id;
    auto result = state_->apply(metakernel, inputs, parameters, options);
    state_->answers.clear();
    if (result) return result;
    if (state_->asked != no_id) {  // it is applied again
        state_->calls.resize(calls);
        add_node(result.error(), metakernel, options.node_name);
        return result;
    }
    // Undo what a composition made before its error.
    auto& graph = state_->graph;
    for (size_t i = tensors; i < graph.tensors.size(); ++i) state_->sizes.erase(TensorId(i));
    shorten(state_->tensor_names, graph.tensors, tensors);
    shorten(state_->operation_names, graph.operations, operations);
    state_->calls.resize(calls);
    state_->forget_applications();  // some may have been made into operations that are gone
    add_node(result.error(), metakernel, options.node_name);
    return result;
}

std::vector<TensorId> Session::add_graph(const Graph& from, std::vector<TensorId> known, const std::string& prefix) {
    Graph& graph = state_->graph;
    std::vector<bool> is_new;
    for (TensorId id : known) is_new.push_back(id < 0);
    for (size_t i = 0; i < known.size(); ++i) {
        const Tensor& tensor = from.tensors[i];
        if (!is_new[i]) continue;
        known[i] = tensor.constant ? add_constant(prefix + tensor.name, *tensor.constant)
                                   : state_->add_tensor(prefix + tensor.name, tensor.type);
    }
    auto renumber = [&](std::vector<TensorId>& ids) {
        for (TensorId& id : ids) id = known[static_cast<size_t>(id)];
    };
    for (Operation operation : from.operations) {
        if (std::ranges::none_of(operation.outputs, [&](TensorId id) { return is_new[static_cast<size_t>(id)]; }))
            continue;
        operation.name = unique_name(state_->operation_names, graph.operations, prefix + operation.name, "operation");
        if (operation.each) operation.each->of = prefix + operation.each->of;
        renumber(operation.inputs);
        renumber(operation.outputs);
        graph.operations.push_back(std::move(operation));
        const auto id = last_id<OperationId>(graph.operations);
        for (TensorId output : graph.operations.back().outputs)
            graph.tensors[static_cast<size_t>(output)].producer = id;
    }
    std::vector<TensorId> outputs = from.outputs;
    renumber(outputs);
    return outputs;
}

Graph Session::finish(std::vector<TensorId> outputs) {
    state_->graph.outputs = std::move(outputs);
    for (TensorId input : state_->deciding_inputs)
        state_->graph.tensors[static_cast<size_t>(input)].constant = state_->offered.at(input).clone();
    if (RecordingFacts::is_on()) compute_size_tensors(*state_);
    Graph result = prune(state_->graph);
    state_.reset();
    return result;
}

}  // namespace heddle
