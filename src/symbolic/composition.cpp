// Compositions: `graph:` templates, expanded where they are applied (docs/language.md, "Compositions").
//
// An expression stands for a tensor, a list of tensors, or a static value. A static value given for a tensor is a
// constant: a number of rank 0 or a list of numbers of rank 1, in the dtype that the input asks for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "symbolic/environment_state.h"
#include "symbolic/evaluator.h"
#include "symbolic/session_state.h"
#include "symbolic/failures.h"
#include "symbolic/size_evaluation.h"

namespace heddle {
namespace {

using Kind = Syntax::Kind;

constexpr int64_t most_expanded = 65'536;  // operators of one application
constexpr int32_t deepest_composition = 64;

// Which outputs of an operator are wanted: the first `count`, or only number `only`.
struct Wanted {
    size_t count = 1;
    std::optional<size_t> only;
    std::vector<std::string> names = {};  // one a result that is wanted; none: any will do
};

class Composer : public Evaluator {
public:
    Composer(Session::State& session, Environment& environment, const ApplyOptions& options)
        : Evaluator(environment), session_(session), environment_(environment), options_(options) {
        node_ = options.node_name.empty() ? environment.metakernel().name : options.node_name;
    }

    void bind_inputs(const BoundArguments& arguments);
    std::vector<TensorId> run();

protected:
    // Results that were made before, and inputs.
    Value free_name(const Syntax& syntax, const Scope& scope) override;
    // Names are those of operators; of functions in operands and parameters.
    Value call(const Syntax& syntax, const Scope& scope) override;
    Value evaluate_inner(const Syntax& syntax, const Scope& scope) override;
    Value operand(const Syntax& syntax, const Scope& scope) override;
    Value accessed(const Value& base, const Syntax& syntax, const Scope& scope) override;

private:
    std::vector<bool> needed_assignments() const;
    void assign(const Syntax& assignment);
    std::string wanted_name(const std::string& target) const;
    bool is_optional(const std::string& target) const;
    Value applied(const Template& metakernel, const Syntax& syntax, const Scope& scope, const Wanted& wanted);
    std::vector<Argument> arguments_of(const Syntax& syntax, const Template& metakernel,
                                       const std::vector<Value>& values);
    Argument argument_of(const Syntax& place, const TensorSpec& input, const Value& value, DType fallback);
    TensorId constant_of(const Syntax& place, const TensorSpec& input, const Value& value, DType fallback);
    std::optional<DType> dtype_beside(const Template& metakernel, const std::vector<Value>& values,
                                      const TensorSpec& input) const;
    std::vector<TensorId> results();
    void check_type(const TensorSpec& output, TensorId tensor);

    [[noreturn]] void refuse_graph(const char* code, const Place& place, std::string summary, std::string expected = {},
                                   std::string found = {}, std::string remedy = {}) {
        Diagnostic diagnostic = environment_.diagnostic(code, place, std::move(summary));
        diagnostic.expected = std::move(expected);
        diagnostic.found = std::move(found);
        diagnostic.remedy = std::move(remedy);
        throw EvaluationFailure{{std::move(diagnostic)}};
    }

    Session::State& session_;
    Environment& environment_;
    const ApplyOptions& options_;
    std::string node_;
    std::map<std::string, Value, std::less<>> variables_;
    Wanted wanted_;        // of the call that is evaluated next
    bool static_ = false;  // inside an operand
};

// None for an optional result that is not made.
Value list_of_results(std::span<const TensorId> tensors) {
    Value::List list;
    for (TensorId tensor : tensors) list.push_back(tensor < 0 ? Value() : Value::of_result(tensor));
    return Value::of(std::move(list));
}

void Composer::bind_inputs(const BoundArguments& arguments) {
    const auto& inputs = environment_.metakernel().inputs;
    for (size_t position = 0; position < inputs.size(); ++position) {
        Value value;
        if (arguments.given[position])
            value = inputs[position].variadic ? list_of_results(arguments.tensors[position])
                                              : Value::of_result(arguments.tensors[position][0]);
        variables_.emplace(inputs[position].name, std::move(value));
    }
}

// Assignments that no requested output needs are not expanded.
std::vector<bool> Composer::needed_assignments() const {
    const auto& graph = environment_.metakernel().graph;
    std::set<std::string, std::less<>> wanted;
    for (const BoundOutput& output : environment_.outputs()) {
        if (output.requested) wanted.insert(output.spec->name);
    }
    std::vector<bool> needed(graph.size(), false);
    for (size_t i = graph.size(); i-- > 0;) {
        const auto& targets = graph[i]->children;
        needed[i] = std::any_of(targets.begin(), targets.end(),
                                [&](const auto& target) { return wanted.contains(target->text); });
        if (!needed[i]) continue;
        visit_all(graph[i]->value, [&](const Syntax& node) {
            if (node.kind == Kind::name) wanted.insert(node.text);
        });
    }
    return needed;
}

std::vector<TensorId> Composer::run() {
    const auto& graph = environment_.metakernel().graph;
    auto needed = needed_assignments();
    for (size_t i = 0; i < graph.size(); ++i) {
        if (!needed[i]) continue;
        try {
            assign(*graph[i]);
        } catch (EvaluationFailure& failure) {
            for (Diagnostic& diagnostic : failure.diagnostics)
                diagnostic.contexts.push_back(
                    {fmt::format("in the composition {}", environment_.metakernel().name), graph[i]->place});
            throw;
        }
    }
    return results();
}

// Results keep the names that the caller wants for them; inner tensors are named after the node.
std::string Composer::wanted_name(const std::string& target) const {
    size_t number = 0;
    for (const BoundOutput& output : environment_.outputs()) {
        if (output.spec->name == target && !output.spec->variadic) {
            if (number < options_.names.size() && !options_.names[number].empty()) return options_.names[number];
            break;
        }
        ++number;
    }
    return node_ + "." + target;
}

bool Composer::is_optional(const std::string& target) const {
    return std::ranges::any_of(environment_.outputs(), [&](const BoundOutput& output) {
        return output.spec->name == target && output.spec->optional;
    });
}

void Composer::assign(const Syntax& assignment) {
    const auto& targets = assignment.children;
    std::vector<std::string> names;
    for (const auto& target : targets) names.push_back(wanted_name(target->text));
    wanted_ = {targets.size(), std::nullopt, std::move(names)};
    Value value = evaluate(*assignment.value, {});
    if (targets.size() == 1) {
        variables_.insert_or_assign(targets[0]->text, std::move(value));
        return;
    }
    if (!value.is_list() || value.list().size() != targets.size())
        refuse_graph("symbolic.results", assignment.place,
                     fmt::format("{} names for {}", targets.size(), value.describe()),
                     fmt::format("{} results", targets.size()), value.describe());
    for (size_t i = 0; i < targets.size(); ++i) {
        if (value.list()[i].is_none() && !is_optional(targets[i]->text))
            refuse_graph("symbolic.results", assignment.place, fmt::format("nothing is made for {}", targets[i]->text),
                         "a result", "an optional one, which is not made here");
        variables_.insert_or_assign(targets[i]->text, value.list()[i]);
    }
}

// ---- expressions

// What an assignment wants of an operator reaches it through choices and picks alone.
Value Composer::evaluate_inner(const Syntax& syntax, const Scope& scope) {
    if (static_ || syntax.kind == Kind::call || syntax.kind == Kind::conditional)
        return Evaluator::evaluate_inner(syntax, scope);
    Wanted wanted = std::exchange(wanted_, {});
    if (syntax.kind != Kind::subscript || syntax.children[0]->kind != Kind::call || syntax.children.size() != 2)
        return Evaluator::evaluate_inner(syntax, scope);
    // operator(...)[number]: the others are not made.
    Value index = operand(*syntax.children[1], scope);
    if (!index.is_integer()) refuse(type_error(syntax.place, "a number picks a result", "an integer", index));
    wanted_ = {1, std::nullopt, std::move(wanted.names)};
    if (index.integer() >= 0) wanted_.only = static_cast<size_t>(index.integer());
    const bool only = wanted_.only.has_value();
    Value base = evaluate(*syntax.children[0], scope);
    if (base.is_result() && only) return base;
    if (base.is_list()) return operations().pick(base, index, syntax.place);
    return accessed(base, syntax, scope);
}

Value Composer::operand(const Syntax& syntax, const Scope& scope) {
    const bool before = std::exchange(static_, true);
    Value value = evaluate(syntax, scope);
    static_ = before;
    return value;
}

Value Composer::free_name(const Syntax& syntax, const Scope& scope) {
    auto found = variables_.find(syntax.text);
    if (static_) {
        if (found == variables_.end()) return Evaluator::free_name(syntax, scope);
        refuse_unknown(syntax, fmt::format("{} has no static value", syntax.text),
                       "a graph computes by operators: add2(x, b) for x + b; or write a body");
    }
    if (found != variables_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [name, value] : variables_) known.push_back(name);
    const std::string near = nearest_name(syntax.text, known);
    refuse_unknown(syntax, fmt::format("nothing before this is called {}", syntax.text),
                   !near.empty()   ? fmt::format("did you mean {}?", near)
                   : known.empty() && environment_.metakernel().is_program
                       ? fmt::format("give it as an input: --input {}=FILE", syntax.text)
                   : known.empty() ? ""
                                   : fmt::format("the names are: {}", fmt::join(known, ", ")));
}

Value Composer::accessed(const Value& base, const Syntax& syntax, const Scope&) {
    refuse_graph("symbolic.results", syntax.place, "only a list of tensors has elements and slices in a graph",
                 "a list of tensors", base.describe());
}

// ---- operators

std::vector<bool> requested_outputs(const Template& metakernel, const Wanted& wanted) {
    std::vector<bool> requested(metakernel.outputs.size(), false);
    bool variadic = !metakernel.outputs.empty() && metakernel.outputs[0].variadic;
    for (size_t i = 0; i < requested.size(); ++i) {
        requested[i] =
            variadic || !wanted.only ? i < std::max<size_t>(1, variadic ? 1 : wanted.count) : i == *wanted.only;
    }
    return requested;
}

Value Composer::call(const Syntax& syntax, const Scope& scope) {
    if (static_ || syntax.text == "has") return Evaluator::call(syntax, scope);
    Wanted wanted = std::exchange(wanted_, {});
    auto found = session_.library->find_from(environment_.metakernel(), syntax.text);
    if (!found) {
        for (Diagnostic& diagnostic : found.error()) {
            // One that a composition called here names keeps its own place.
            bool own = !diagnostic.place.source || diagnostic.params.empty() ||
                       diagnostic.params.front().second == syntax.text;
            if (diagnostic.code == "language.unknown_operator" && own)
                diagnostic.place = syntax.mark.source ? syntax.mark : syntax.place;
        }
        throw EvaluationFailure{std::move(found.error())};
    }
    if (++session_.expanded > most_expanded)
        refuse(limit_error(syntax.place, fmt::format("a composition of more than {} operators", most_expanded)));
    return applied(**found, syntax, scope, wanted);
}

Value Composer::applied(const Template& metakernel, const Syntax& syntax, const Scope& scope, const Wanted& wanted) {
    auto arguments = arguments_of(syntax, metakernel, call_arguments(syntax, scope));
    std::map<std::string, StaticValue> parameters;
    for (const NamedArgument& argument : syntax.named)
        parameters.insert_or_assign(argument.name, operand(*argument.value, scope));
    const bool named_alone = wanted.names.size() == 1;
    ApplyOptions options{
        named_alone ? wanted.names[0] : node_ + "." + syntax.text, requested_outputs(metakernel, wanted), {}};
    const bool variadic = !metakernel.outputs.empty() && metakernel.outputs[0].variadic;
    if (wanted.only && *wanted.only >= metakernel.outputs.size() && !(metakernel.outputs.size() == 1 && variadic))
        refuse_graph("symbolic.results", syntax.place,
                     fmt::format("{} has no result {}", metakernel.name, *wanted.only),
                     fmt::format("at most {} results", metakernel.outputs.size()));
    if (!(variadic && named_alone)) {
        options.names.assign(wanted.only.value_or(0), std::string());
        options.names.insert(options.names.end(), wanted.names.begin(), wanted.names.end());
    }
    std::vector<TensorId> tensors = unwrapped(session_.apply(metakernel, arguments, parameters, options));
    if (variadic) return list_of_results(tensors);
    if (wanted.count > 1) {
        tensors.resize(std::min(tensors.size(), wanted.count), no_id);
        return list_of_results(tensors);
    }
    const auto made = std::ranges::find_if(tensors, [](TensorId tensor) { return tensor >= 0; });
    return made == tensors.end() ? Value() : Value::of_result(*made);
}

// The dtype that another tensor binds to the dtype variable of this input.
std::optional<DType> Composer::dtype_beside(const Template& metakernel, const std::vector<Value>& values,
                                            const TensorSpec& input) const {
    if (!input.dtype) return std::nullopt;
    if (input.dtype->kind == Kind::name) return dtype_named(input.dtype->text);
    if (input.dtype->kind != Kind::static_name) return std::nullopt;
    for (size_t i = 0; i < values.size() && !metakernel.inputs.empty(); ++i) {
        const TensorSpec& other = metakernel.inputs[std::min(i, metakernel.inputs.size() - 1)];
        if (!other.dtype || other.dtype->kind != Kind::static_name || other.dtype->text != input.dtype->text) continue;
        const Value* value = &values[i];
        if (value->is_list() && !value->list().empty()) value = &value->list()[0];
        if (value->is_result()) return session_.graph.tensor(value->result()).type.dtype;
    }
    return std::nullopt;
}

std::vector<Argument> Composer::arguments_of(const Syntax& syntax, const Template& metakernel,
                                             const std::vector<Value>& values) {
    std::vector<Argument> arguments;
    for (size_t i = 0; i < values.size(); ++i) {
        if (metakernel.inputs.empty() || (i >= metakernel.inputs.size() && !metakernel.inputs.back().variadic))
            refuse_graph("symbolic.too_many_inputs", syntax.place,
                         fmt::format("{} is given {} inputs", metakernel.name, values.size()),
                         fmt::format("at most {}", metakernel.inputs.size()), std::to_string(values.size()),
                         "parameters are passed by name, as axis: 1");
        const TensorSpec& input = metakernel.inputs[std::min(i, metakernel.inputs.size() - 1)];
        arguments.push_back(
            argument_of(syntax, input, values[i], dtype_beside(metakernel, values, input).value_or(DType::boolean)));
    }
    return arguments;
}

Argument Composer::argument_of(const Syntax& place, const TensorSpec& input, const Value& value, DType fallback) {
    if (value.is_none()) return {};
    if (value.is_result()) return Argument(value.result());
    if (value.is_static()) return Argument(constant_of(place, input, value, fallback));
    std::vector<TensorId> tensors;
    for (const Value& element : value.list()) {
        if (!element.is_result() && (!element.is_static() || element.is_none()))
            refuse_graph("symbolic.composition", place.place,
                         fmt::format("a list of tensors for {} holds {}", input.name, element.describe()), "tensors",
                         element.describe());
        tensors.push_back(element.is_result() ? element.result() : constant_of(place, input, element, fallback));
    }
    return Argument(std::move(tensors));
}

// `fallback` is the dtype that the input must have; boolean where any will do.
TensorId Composer::constant_of(const Syntax& place, const TensorSpec& input, const Value& value, DType fallback) {
    const Value::List single{value};
    const Value::List& elements = value.is_list() ? value.list() : single;
    bool real = false, boolean = !elements.empty();
    for (const Value& element : elements) {
        if (!element.is_number() && !element.is_boolean())
            refuse_graph("symbolic.composition", place.place,
                         fmt::format("{} is no tensor for input {}", value.print(), input.name),
                         "a tensor, a number or a list of numbers", value.describe());
        real |= element.is_real();
        boolean &= element.is_boolean();
    }
    DType dtype = boolean ? DType::boolean : real ? DType::float32 : DType::int64;
    if (!is_bool(fallback)) dtype = fallback;
    if (real && !is_float(dtype))
        refuse_graph("symbolic.composition", place.place,
                     fmt::format("a float for input {}, which is {}", input.name, name(dtype)),
                     std::string(name(dtype)), value.print());
    std::vector<int64_t> shape;
    if (value.is_list()) shape.push_back(static_cast<int64_t>(elements.size()));
    TensorData data(dtype, shape);
    std::vector<SizeQuotient> sizes;
    bool named = false;
    for (size_t i = 0; i < elements.size(); ++i) {
        const Value& element = elements[i];
        auto index = static_cast<int64_t>(i);
        const auto followed = element.is_of_sizes() ? held_in(dtype, *element.quotient()) : std::nullopt;
        if (followed && is_float(dtype))
            data.set_real(index, followed->number());
        else if (element.is_real())
            data.set_real(index, element.real());
        else
            data.set_integer(index, element.is_boolean() ? element.boolean() : element.size().number());
        if (element.is_integer() && !followed) (void)element.integer();  // which is a fact then
        sizes.push_back(followed.value_or(Size(0)));
        named |= sizes.back().named();
    }
    TensorId tensor = session_.add_constant(node_ + "." + input.name, std::move(data));
    if (named) session_.sizes.emplace(tensor, std::move(sizes));
    return tensor;
}

// ---- results

// `_` in a shape is a dimension of which nothing is said.
void Composer::check_type(const TensorSpec& output, TensorId tensor) {
    const TensorType& type = session_.graph.tensor(tensor).type;
    if (output.dtype) {
        Value dtype = unwrapped(environment_.evaluate(*output.dtype));
        if (!dtype.is_dtype() || dtype.dtype() != type.dtype)
            refuse_graph("symbolic.composition", output.place,
                         fmt::format("output {} is {}", output.name, name(type.dtype)), dtype.print(),
                         std::string(name(type.dtype)));
    }
    if (!output.shape) return;
    Value::List expected;
    for (const SyntaxPointer& element : output.shape->children) {
        const size_t position = expected.size();
        if (element->kind == Kind::wildcard)
            expected.push_back(position < type.shape.size() ? Value::of(type.shape[position]) : Value::none());
        else
            std::ranges::move(unwrapped(environment_.evaluate_elements({&element, 1})), std::back_inserter(expected));
    }
    const Value wanted = Value::of(std::move(expected)), found = Value::of_sizes(type.shape);
    if (wanted == found) return;
    refuse_graph("symbolic.composition", output.place,
                 fmt::format("output {} has another shape than it says", output.name), wanted.print(), found.print());
}

std::vector<TensorId> Composer::results() {
    std::vector<TensorId> answer;
    for (const BoundOutput& output : environment_.outputs()) {
        auto found = variables_.find(output.spec->name);
        bool made = found != variables_.end() && !found->second.is_none();
        if (!output.requested || (!made && output.spec->optional)) {
            answer.push_back(no_id);
            continue;
        }
        if (!made)
            refuse_graph("symbolic.composition", output.spec->place,
                         fmt::format("nothing makes output {}", output.spec->name));
        Argument argument =
            argument_of(*environment_.metakernel().graph.back(), *output.spec, found->second, DType::boolean);
        if (argument.list != output.spec->variadic)
            refuse_graph("symbolic.composition", output.spec->place, fmt::format("output {}", output.spec->name),
                         output.spec->variadic ? "a list of tensors" : "a tensor", found->second.describe());
        for (TensorId tensor : argument.tensors) {
            if (!output.spec->variadic) check_type(*output.spec, tensor);
            answer.push_back(tensor);
        }
    }
    return answer;
}

}  // namespace

Result<std::vector<TensorId>> expand_composition(Session::State& session, Environment& environment,
                                                 const BoundArguments& arguments, const ApplyOptions& options) {
    if (session.compositions >= deepest_composition) {
        return limit_error(environment.metakernel().place,
                           fmt::format("more than {} compositions within each other", deepest_composition));
    }
    if (auto bound = bind_application(environment); !bound) return std::unexpected(bound.error());
    ++session.compositions;
    Result<std::vector<TensorId>> answer;
    try {
        Composer composer(session, environment, options);
        composer.bind_inputs(arguments);
        answer = composer.run();
    } catch (EvaluationFailure& failure) {
        answer = fail(std::move(failure.diagnostics));
    }
    --session.compositions;
    return answer;
}

}  // namespace heddle
