// The way from a model's nodes to applications of templates: that of whole graphs (import.cpp), on which stages stand
// (import_stage.cpp).
#pragma once

#include <algorithm>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontends/onnx/import.h"
#include "support/progress.h"
#include "symbolic/session.h"

namespace heddle::onnx {

class Importer {
public:
    Importer(const OnnxModel& model, const Library& library, const ImportOptions& options)
        : model_(model), library_(library), options_(options), session_(library) {
        session_.set_progress(options.progress);
    }
    virtual ~Importer() = default;

    Result<ImportedCalls> run(bool records) {
        records_ = records;
        if (records) session_.record_calls();
        const auto nodes = static_cast<int64_t>(model_.graph.nodes.size());
        if (auto wanted = begin_stage(options_.progress, Stage::symbolic, nodes); !wanted) return fail(wanted.error());
        problems_ = check_support(model_, library_);
        add_inputs();
        add_constants(model_.graph);
        for (const OnnxNode& node : model_.graph.nodes) {
            add(node);
            if (auto wanted = step_done(options_.progress); !wanted) return fail(wanted.error());
        }
        std::vector<TensorId> outputs = find_outputs();
        if (!problems_.empty()) return fail(std::move(problems_));
        return ImportedCalls{std::move(session_), std::move(outputs), std::move(names_), std::move(weights_)};
    }

protected:
    using Parameters = std::map<std::string, StaticValue>;

    // What nodes see: those of the model's graph, or of one call of a function.
    struct Scope {
        const OnnxFunction* function = nullptr;
        std::map<std::string, TensorId> values;
        std::vector<std::string> defined;  // names of `values` in the order in which they came: a branch takes its own back
        std::map<std::string, const OnnxAttribute*> attributes;  // of the call, and defaults; others are absent
        std::map<std::string, std::string> results;              // what the caller calls the function's outputs
        std::string prefix;                                      // of names
    };

    template <typename T>
    static StaticValue list_of(const std::vector<T>& values) {
        StaticValue::List list;
        for (const T& value : values) {
            if constexpr (std::is_floating_point_v<T>) {
                list.push_back(StaticValue::of(static_cast<double>(value)));
            } else {
                list.push_back(StaticValue::of(value));
            }
        }
        return StaticValue::of(std::move(list));
    }

    // ---- what stages do otherwise

    // Inputs that nothing reads are inputs of the graph, too.
    virtual bool takes_all_inputs() const { return false; }
    // What is told of values that the node will ask for.
    virtual std::vector<TensorId> answers_for(const OnnxNode&) const { return {}; }
    // Whether the node, which asks for a value, is left for later; else it has failed for `why`.
    virtual bool waits_for(const OnnxNode&, TensorId, const Diagnostics&) { return false; }

    // What is wrong with a node of a function is told once, not for each of its calls.
    void problem(Diagnostic diagnostic) {
        if (scope_.function && !told_.insert({at_, diagnostic.code + diagnostic.summary}).second) return;
        for (const OnnxNode* call : std::views::reverse(calls_)) {
            diagnostic.contexts.push_back({fmt::format("in the function '{}', which node '{}' calls",
                                                       model_.function_of(*call)->label(), call->label()),
                                           {}});
        }
        diagnostic.params.push_back({"file", model_.path});
        problems_.push_back(std::move(diagnostic));
    }

    void define(const std::string& name, TensorId tensor) {
        if (scope_.values.try_emplace(name, tensor).second) return scope_.defined.push_back(name);
        problem({.code = "onnx.duplicate_value", .summary = fmt::format("the value '{}' is defined twice", name)});
    }

    // Weights stay in the mapped file.
    TensorId add_weight(const std::string& name, const TensorData& data) {
        if (scope_.function || !options_.free_weights.contains(name)) return add_constant(name, data);
        weights_.push_back({name, data});
        const TensorId tensor = session_.add_input(name, {data.dtype(), {data.shape().begin(), data.shape().end()}});
        auto value = options_.values.find(name);
        if (value != options_.values.end()) session_.offer_value(tensor, value->second);
        return tensor;
    }

    // All calls of a function share its constants.
    TensorId add_constant(const std::string& name, const TensorData& data) {
        if (!scope_.function) return session_.add_constant(name, data);
        auto [known, is_new] = constants_.try_emplace({data.data(), data.dtype(), data.shape()});
        if (is_new) known->second = session_.add_constant(scope_.prefix + name, data);
        return known->second;
    }

    void add_inputs() {
        const auto inputs = caller_inputs(model_);
        const std::vector<bool> is_read = onnx::read_inputs(model_);
        for (size_t i = 0; i < inputs.size(); i++) {
            if (!is_read[i] && !takes_all_inputs()) continue;
            const OnnxValue* input = inputs[i];
            auto type = input_type(*input);
            TensorId tensor = type ? session_.add_input(input->name, std::move(*type)) : failed;
            define(input->name, tensor);
            auto value = options_.values.find(input->name);
            if (type && value != options_.values.end()) session_.offer_value(tensor, value->second);
        }
    }

    std::optional<TensorType> input_type(const OnnxValue& input) {
        if (is_list(input)) problem(list_input(input));
        if (!input.has_shape && input.dtype) {
            problem({.code = "onnx.input_type",
                     .summary = fmt::format("the model does not say the rank of input '{}'", input.name)});
        }
        if (!input.has_shape || !input.dtype) return std::nullopt;
        TensorType type{*input.dtype, {}};
        for (size_t d = 0; d < input.shape.size(); d++) {
            std::string name = open_name(input, d);
            auto bound = options_.bindings.find(name);
            if (name.empty()) {
                type.shape.push_back(*input.shape[d].value);
            } else if (bound != options_.bindings.end()) {
                names_[name] = bound->second;
                type.shape.push_back(named_size(name, bound->second));
            } else {
                problem({.code = "onnx.unbound_dimension",
                         .summary = fmt::format("dimension '{}' of input '{}' has no number", name, input.name),
                         .remedy = fmt::format("give the input's values, or --bind {}=NUMBER", name),
                         .params = {{"dimension", name}}});
            }
        }
        return type.shape.size() == input.shape.size() ? std::optional(std::move(type)) : std::nullopt;
    }

    void add_constants(const OnnxGraph& graph) {
        for (const OnnxTensor& tensor : graph.initializers)
            define(tensor.name, tensor.data ? add_weight(tensor.name, *tensor.data) : failed);
    }

    // The nodes of the function in place of its call. They see its inputs and attributes, and nothing else.
    void add_call(const OnnxNode& node) {
        const OnnxFunction& function = *model_.function_of(node);
        Scope scope{.function = &function};
        if (!bind_call(node, function, scope)) return poison(node);
        calls_.push_back(&node);
        std::swap(scope_, scope);
        add_nodes(function.graph);
        std::vector<TensorId> results;
        for (size_t i = 0; i < node.outputs.size(); i++)
            results.push_back(node.outputs[i].empty() ? absent : inner_output(function.outputs[i], "function"));
        std::swap(scope_, scope);
        calls_.pop_back();
        define_outputs(node, results);
    }

    bool bind_call(const OnnxNode& node, const OnnxFunction& function, Scope& scope) {
        auto misfit = [&](std::string what) {
            problem({.code = "onnx.function_call",
                     .summary = fmt::format("node '{}' does not fit the function '{}' that it calls", node.label(),
                                            function.label()),
                     .reason = std::move(what),
                     .params = {{"function", function.label()}}});
            return false;
        };
        if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size())
            return misfit("it has more inputs or outputs than the function");
        for (size_t i = 0; i < function.inputs.size(); i++) {
            const auto value = value_of(node, i < node.inputs.size() ? node.inputs[i] : "");
            if (!value) return false;
            if (!scope.values.try_emplace(function.inputs[i], *value).second)
                return misfit(fmt::format("two inputs of the function are '{}'", function.inputs[i]));
        }
        for (const OnnxAttribute& attribute : node.attributes) {
            const OnnxAttribute* given = value_of(attribute);
            if (given && given->graph) return misfit(fmt::format("the attribute '{}' is a graph", attribute.name));
            if (given) scope.attributes.try_emplace(attribute.name, given);
        }
        for (const OnnxAttribute& attribute : function.defaults)
            scope.attributes.try_emplace(attribute.name, &attribute);
        for (size_t i = 0; i < node.outputs.size(); i++)
            scope.results.try_emplace(function.outputs[i], named(node.outputs[i]));
        // Names are for people: calls within calls must not make them endless.
        constexpr size_t longest_prefix = 200;
        scope.prefix = scope_.prefix;
        if (scope.prefix.size() + node.label().size() <= longest_prefix) scope.prefix += node.label() + "/";
        return true;
    }

    // In the whole graph; of an output of a function as its caller calls it.
    std::string named(const std::string& value) const {
        auto result = scope_.results.find(value);
        return result != scope_.results.end() && !result->second.empty() ? result->second : scope_.prefix + value;
    }

    // Of an attribute that may stand for one of the function around it: that; null: the call does not have it.
    const OnnxAttribute* value_of(const OnnxAttribute& attribute) const {
        if (attribute.reference.empty()) return &attribute;
        auto found = scope_.attributes.find(attribute.reference);
        return found == scope_.attributes.end() ? nullptr : found->second;
    }

    void add(const OnnxNode& node) {
        const OnnxNode* around = std::exchange(at_, &node);
        if (node.function >= 0)
            add_call(node);
        else if (is_step(node))
            refuse_step(node);
        else
            is_branch(node) ? add_branch(node) : add_node(node);
        at_ = around;
    }

    void refuse_step(const OnnxNode& node) {
        problem({.code = "onnx.step",
                 .summary = fmt::format("node '{}' ({}) is a step between graphs", node.label(), node.operator_type),
                 .expected = "operations on tensors",
                 .reason = "loops and lists of tensors run between graphs, and here is one graph",
                 .remedy = "run the model: `heddle run`, heddle.InferenceSession",
                 .params = {{"operator", node.operator_type}}});
        poison(node);
    }

    void add_nodes(const OnnxGraph& graph) {
        add_constants(graph);
        for (const OnnxNode& node : graph.nodes) add(node);
    }

    // The nodes of the branch that the condition takes, in place of the `If`. Names of the graph around are seen in it;
    // its own are gone after it.
    void add_branch(const OnnxNode& node) {
        const auto condition = condition_of(node);
        if (!condition) return;
        const OnnxGraph* branch = branch_of(node, *condition);
        auto& defined = scope_.defined;
        const size_t before = defined.size();
        add_nodes(*branch);
        std::vector<TensorId> results;
        for (size_t i = 0; i < node.outputs.size(); i++)
            results.push_back(inner_output(branch->outputs[i].name, "branch"));
        for (; defined.size() > before; defined.pop_back()) scope_.values.erase(defined.back());
        define_outputs(node, results);
    }

    // Which branch runs, and the node has it; else the node has failed, or waits.
    std::optional<bool> condition_of(const OnnxNode& node) {
        std::vector<Argument> inputs;
        if (!read_inputs(node, inputs)) return poison(node), std::nullopt;
        const bool given = inputs.size() == 1 && inputs[0].given;
        const TensorId asked = given ? inputs[0].tensors[0] : failed;
        const TensorData* value = given ? session_.decide(asked) : nullptr;
        const bool is_one = given && is_bool(session_.graph().tensor(asked).type.dtype) &&
                            session_.graph().tensor(asked).type.elements() == 1;
        if (!value && is_one && waits_for(node, asked, {open_branch(node, asked)})) return std::nullopt;
        if (!value || !is_one) return problem(open_branch(node, asked)), poison(node), std::nullopt;
        const bool condition = value->integer_at(0) != 0;
        const OnnxGraph* branch = branch_of(node, condition);
        if (branch && branch->outputs.size() >= node.outputs.size()) return condition;
        problem({.code = "onnx.branch",
                 .summary = fmt::format("node '{}' lacks a branch, or the branch lacks outputs", node.label())});
        return poison(node), std::nullopt;
    }

    void define_outputs(const OnnxNode& node, const std::vector<TensorId>& results) {
        for (size_t i = 0; i < node.outputs.size(); i++) {
            if (!node.outputs[i].empty()) define(node.outputs[i], results[i]);
        }
    }

    Diagnostic open_branch(const OnnxNode& node, TensorId condition) {
        Diagnostic diagnostic{.code = "onnx.open_branch",
                              .summary = fmt::format("which branch of node '{}' runs is not known", node.label()),
                              .expected = "one bool that follows from constants, shapes and given inputs"};
        if (condition == failed) return diagnostic;
        const TensorType& type = session_.graph().tensor(condition).type;
        if (!is_bool(type.dtype) || type.elements() != 1) {
            diagnostic.found = type.text();
        } else if (auto open = inputs_without_value(condition); !open.empty()) {
            diagnostic.remedy =
                fmt::format("give the values of the inputs that it depends on: {}", fmt::join(open, ", "));
        } else {
            diagnostic.reason = "it follows from given values, but by more work than is done while a graph is built";
        }
        return diagnostic;
    }

    // Of those that `tensor` depends on.
    std::set<std::string> inputs_without_value(TensorId tensor) const {
        const Graph& graph = session_.graph();
        std::set<std::string> names;
        std::set<TensorId> seen;
        std::vector<TensorId> open{tensor};
        while (!open.empty()) {
            const TensorId id = open.back();
            const Tensor& needed = graph.tensor(id);
            open.pop_back();
            if (needed.constant || !seen.insert(id).second) continue;
            if (needed.producer < 0 && !options_.values.contains(needed.name)) names.insert("'" + needed.name + "'");
            if (needed.producer < 0) continue;
            const auto& inputs = graph.operations[static_cast<size_t>(needed.producer)].inputs;
            open.insert(open.end(), inputs.begin(), inputs.end());
        }
        return names;
    }

    TensorId inner_output(const std::string& name, const char* of) {
        if (auto found = scope_.values.find(name); found != scope_.values.end()) return found->second;
        problem({.code = "onnx.undefined_value",
                 .summary = fmt::format("nothing defines the output '{}' of a {}", name, of)});
        return failed;
    }

    // Results of a node that failed: their users are silent.
    void poison(const OnnxNode& node) {
        for (const std::string& output : node.outputs) poison(output);
    }
    void poison(const std::string& output) {
        if (!output.empty() && scope_.values.try_emplace(output, failed).second) scope_.defined.push_back(output);
    }

    void add_node(const OnnxNode& node) {
        const OnnxFunction* function =
            node.written_in >= 0 ? &model_.functions[static_cast<size_t>(node.written_in)] : scope_.function;
        auto found = library_.find_onnx(node.domain, node.operator_type, model_.opset_of(function, node.domain));
        if (!found) return poison(node);
        const Template& metakernel = **found;
        std::vector<Argument> arguments;
        Parameters parameters;
        if (!read_inputs(node, arguments) || !read_attributes(node, metakernel, arguments, parameters))
            return poison(node);
        fit_scalars(metakernel, arguments);
        ApplyOptions options{.node_name = scope_.prefix + node.label()};
        options.records_calls = records_ && metakernel.is_composition();
        for (const std::string& output : node.outputs) {
            options.requested.push_back(!output.empty());
            if (!output.empty()) options.names.push_back(named(output));
        }
        bool variadic = !metakernel.outputs.empty() && metakernel.outputs.back().variadic;
        if (variadic) options.requested.assign(metakernel.outputs.size(), true);
        session_.answer(answers_for(node));
        auto results = session_.apply(metakernel, arguments, parameters, options);
        if (!results && session_.asked() != no_id && waits_for(node, session_.asked(), results.error())) return;
        if (!results) {
            for (Diagnostic& diagnostic : results.error()) {
                diagnostic.contexts.push_back({fmt::format("in node '{}' ({})", node.label(), node.operator_type), {}});
                problem(std::move(diagnostic));
            }
            return poison(node);
        }
        bind_outputs(node, *results);
    }

    // Some exporters write a number as a list of one, others a list of one as a number: each becomes what the template
    // takes. Other shapes are left to the template's own check.
    void fit_scalars(const Template& metakernel, std::vector<Argument>& arguments) {
        for (size_t i = 0; i < std::min(arguments.size(), metakernel.inputs.size()); i++) {
            const TensorSpec& wanted = metakernel.inputs[i];
            if (!arguments[i].given || wanted.variadic || !wanted.shape) continue;
            const auto& dimensions = wanted.shape->children;
            const TensorType type = session_.graph().tensor(arguments[i].tensors[0]).type;
            const bool is_scalar = type.shape.empty();
            const bool takes_list = dimensions.size() == 1 && (dimensions[0]->kind == Syntax::Kind::dimension ||
                                                               dimensions[0]->kind == Syntax::Kind::any_dimension);
            const bool is_misfit = is_scalar ? takes_list && wanted.flavour == Flavour::concrete
                                             : dimensions.empty() && type.elements() == 1;
            const auto reshape = library_.find("reshape_to");
            if (!is_misfit || !reshape) continue;
            const std::vector<int64_t> shape(is_scalar ? 1 : 0, 1);
            auto fitted = session_.apply(**reshape, {arguments[i]}, {{"shape", StaticValue::of_integers(shape)}}, {});
            if (fitted) arguments[i] = Argument((*fitted)[0]);
        }
    }

    void bind_outputs(const OnnxNode& node, const std::vector<TensorId>& results) {
        for (size_t i = 0; i < node.outputs.size(); i++) {
            if (node.outputs[i].empty()) continue;
            if (i < results.size() && results[i] >= 0) {
                define(node.outputs[i], results[i]);
            } else {
                problem(
                    {.code = "onnx.undefined_value",
                     .summary = fmt::format("node '{}' has more outputs than its operator gives here", node.label()),
                     .expected = std::to_string(results.size()),
                     .found = std::to_string(node.outputs.size())});
                poison(node.outputs[i]);
            }
        }
    }

    bool read_inputs(const OnnxNode& node, std::vector<Argument>& arguments) {
        for (const std::string& name : node.inputs) {
            const auto value = value_of(node, name);
            if (!value || *value == failed) return false;
            arguments.push_back(*value == absent ? Argument() : Argument(*value));
        }
        return true;
    }

    // Of an input of a node: a tensor, `absent`, or `failed`; nothing if nobody defines it.
    std::optional<TensorId> value_of(const OnnxNode& node, const std::string& name) {
        if (name.empty()) return absent;
        auto value = scope_.values.find(name);
        if (value != scope_.values.end()) return value->second;
        problem({.code = "onnx.undefined_value",
                 .summary = fmt::format("node '{}' reads '{}', which nothing defines", node.label(), name)});
        return std::nullopt;
    }

    bool read_attributes(const OnnxNode& node, const Template& metakernel, std::vector<Argument>& arguments,
                         Parameters& parameters) {
        for (const OnnxAttribute& attribute : node.attributes) {
            const OnnxAttribute* given = value_of(attribute);
            if (!given) continue;
            if (given->kind == OnnxAttribute::Kind::tensor && given->tensor) {
                if (!given->tensor->data) return false;  // check_support has said so
                if (!tensor_attribute(node, metakernel, attribute.name, *given->tensor->data, arguments)) return false;
                continue;
            }
            const Parameter* parameter = metakernel.parameter(attribute.name);
            if (!parameter) {
                std::vector<std::string> known;
                for (const Parameter& p : metakernel.params) known.push_back(p.name);
                problem({.code = "onnx.unknown_attribute",
                         .summary = fmt::format("the attribute '{}' of node '{}' is not supported", attribute.name,
                                                node.label()),
                         .expected = fmt::format("{}", fmt::join(known, ", ")),
                         .params = {{"operator", node.operator_type}}});
                return false;
            }
            if (is_no_truth_value(*given, *parameter)) {
                problem({.code = "onnx.attribute",
                         .summary = fmt::format("the attribute '{}' of node '{}' is true or false", attribute.name,
                                                node.label()),
                         .expected = "0 or 1",
                         .found = std::to_string(given->integer),
                         .params = {{"operator", node.operator_type}}});
                return false;
            }
            // UNDEFINED, the standard's own default: it is not given.
            const bool is_undefined = parameter->type.kind == ParameterType::Kind::dtype && !parameter->type.is_list &&
                                      given->kind == OnnxAttribute::Kind::integer && given->integer == 0;
            if (is_undefined && parameter->default_value) continue;
            auto value = attribute_value(*given, *parameter);
            if (!value) {
                problem({.code = "onnx.attribute",
                         .summary = fmt::format("the attribute '{}' of node '{}' is of a kind that is not supported",
                                                attribute.name, node.label()),
                         .params = {{"operator", node.operator_type}}});
                return false;
            }
            parameters[attribute.name] = std::move(*value);
        }
        // What ONNX says by the number of results alone (Split).
        if (metakernel.parameter("num_outputs"))
            parameters.try_emplace("num_outputs", StaticValue::of(static_cast<int64_t>(node.outputs.size())));
        return true;
    }

    bool tensor_attribute(const OnnxNode& node, const Template& metakernel, const std::string& name,
                          const TensorData& value, std::vector<Argument>& arguments) {
        for (size_t i = 0; i < metakernel.inputs.size(); i++) {
            if (metakernel.inputs[i].name != name) continue;
            if (arguments.size() <= i) arguments.resize(i + 1);
            arguments[i] = Argument(is_weight(node) ? add_weight(node.outputs[0], value)
                                                    : add_constant(node.label() + "." + name, value));
            return true;
        }
        problem({.code = "onnx.unknown_attribute",
                 .summary = fmt::format("the tensor attribute '{}' of node '{}' is not supported", name, node.label()),
                 .params = {{"operator", node.operator_type}}});
        return false;
    }

    // Some runtimes take any other number as true, some as false.
    static bool is_no_truth_value(const OnnxAttribute& attribute, const Parameter& parameter) {
        return attribute.kind == OnnxAttribute::Kind::integer && attribute.integer != 0 && attribute.integer != 1 &&
               parameter.type.kind == ParameterType::Kind::boolean;
    }

    static std::optional<StaticValue> attribute_value(const OnnxAttribute& attribute, const Parameter& parameter) {
        using Kind = OnnxAttribute::Kind;
        switch (attribute.kind) {
        case Kind::real: return StaticValue::of(attribute.real);
        case Kind::integer:
            if (parameter.type.kind == ParameterType::Kind::dtype) {
                auto dtype = dtype_of(attribute.integer);
                return dtype ? std::optional(StaticValue::of(*dtype)) : std::nullopt;
            }
            if (parameter.type.kind == ParameterType::Kind::boolean) return StaticValue::of(attribute.integer != 0);
            return StaticValue::of(attribute.integer);
        case Kind::text: return StaticValue::of(attribute.text);
        case Kind::reals: return list_of(attribute.reals);
        case Kind::integers: return list_of(attribute.integers);
        case Kind::texts: return list_of(attribute.texts);
        default: return std::nullopt;
        }
    }

    std::vector<TensorId> find_outputs() {
        std::vector<TensorId> outputs;
        for (const OnnxValue& output : model_.graph.outputs) {
            auto value = scope_.values.find(output.name);
            if (value == scope_.values.end() || value->second == absent) {
                problem({.code = "onnx.undefined_value",
                         .summary = fmt::format("nothing defines the output '{}'", output.name)});
            } else if (value->second != failed) {
                outputs.push_back(value->second);
            }
        }
        return outputs;
    }

    static constexpr TensorId failed = no_id;
    static constexpr TensorId absent{-2};  // an optional that is not given
    const OnnxModel& model_;
    const Library& library_;
    const ImportOptions& options_;
    Session session_;
    bool records_ = false;
    Scope scope_;
    std::vector<const OnnxNode*> calls_;                                                       // that stand around it
    std::map<std::tuple<const std::byte*, DType, std::vector<int64_t>>, TensorId> constants_;  // of functions
    const OnnxNode* at_ = nullptr;                                                             // which is looked at
    std::set<std::pair<const OnnxNode*, std::string>> told_;
    std::map<std::string, int64_t> names_;
    std::vector<OnnxWeight> weights_;  // that are inputs
    Diagnostics problems_;
};

}  // namespace heddle::onnx
