// Compositions: `graph:` templates, expanded where they are applied (docs/language.md section 8).
//
// An expression stands for a tensor, a list of tensors, or a static value. A static value given for a tensor is a
// constant:
// a number of rank 0 or a list of numbers of rank 1, in the dtype that the input asks for.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "symbolic/environment_state.h"
#include "symbolic/session_state.h"
#include "symbolic/static_errors.h"

namespace heddle {
namespace {

using Kind = Syntax::Kind;

constexpr int64_t most_expanded = 65'536;  // operators of one application
constexpr int32_t deepest_composition = 64;

struct GraphValue {
    enum class Kind : uint8_t { absent, tensor, list, fixed };
    Kind kind = Kind::absent;
    TensorId tensor = -1;
    std::vector<GraphValue> list;
    StaticValue fixed;

    static GraphValue of(TensorId id) { return {Kind::tensor, id, {}, {}}; }
    static GraphValue of(std::vector<GraphValue> list) { return {Kind::list, -1, std::move(list), {}}; }
    static GraphValue of(StaticValue value) {
        if (value.is_none()) return {};
        return {Kind::fixed, -1, {}, std::move(value)};
    }
    std::string describe() const {
        switch (kind) {
        case Kind::absent: return "nothing";
        case Kind::tensor: return "a tensor";
        case Kind::list: return fmt::format("a list of {} tensors", list.size());
        case Kind::fixed: return fixed.describe();
        }
        return {};
    }
};

// Which outputs of an operator are wanted: the first `count`, or only number `only`.
struct Wanted {
    size_t count = 1;
    std::optional<size_t> only;
    std::string name;  // of the result, if it is one tensor; may be empty
};

class Composer {
public:
    Composer(Session::State& session, Environment& environment, const ApplyOptions& options)
        : session_(session), environment_(environment), options_(options) {
        node_ = options.node_name.empty() ? environment.metakernel().name : options.node_name;
    }

    void bind_inputs(const BoundArguments& arguments);
    Result<std::vector<TensorId>> run();

private:
    std::vector<bool> needed_assignments() const;
    Result<void> assign(const Syntax& assignment);
    Result<void> destructure(const Syntax& assignment, GraphValue value);
    std::string wanted_name(const std::string& target) const;

    Result<GraphValue> evaluate(const Syntax& syntax, const StaticScope* scope, const Wanted& wanted);
    Result<GraphValue> bare_name(const Syntax& syntax, const StaticScope* scope);
    Result<GraphValue> conditional(const Syntax& syntax, const StaticScope* scope, const Wanted& wanted);
    Result<GraphValue> list(const Syntax& syntax, const StaticScope* scope);
    Result<GraphValue> comprehension(const Syntax& syntax, const StaticScope* scope);
    Result<void> generate(const Syntax& syntax, size_t generator, const StaticScope* scope,
                          std::vector<GraphValue>& results);
    Result<GraphValue> subscript(const Syntax& syntax, const StaticScope* scope, const Wanted& wanted);
    Result<GraphValue> slice(const Syntax& syntax, const StaticScope* scope);
    Result<void> append_element(const Syntax& element, const StaticScope* scope, std::vector<GraphValue>& results);

    Result<GraphValue> call(const Syntax& syntax, const StaticScope* scope, const Wanted& wanted);
    Result<std::vector<Argument>> arguments_of(const Syntax& syntax, const Template& metakernel,
                                               std::vector<GraphValue> values);
    Result<Argument> argument_of(const Syntax& place, const TensorSpec& input, const GraphValue& value, DType fallback);
    Result<TensorId> constant_of(const Syntax& place, const TensorSpec& input, const StaticValue& value,
                                 DType fallback);
    std::optional<DType> dtype_beside(const Template& metakernel, const std::vector<GraphValue>& values,
                                      const TensorSpec& input) const;
    Result<std::vector<TensorId>> results();
    Result<void> check_type(const TensorSpec& output, TensorId tensor);

    std::unexpected<Diagnostics> problem(const char* code, const Place& place, std::string summary,
                                         std::string expected = {}, std::string found = {}, std::string remedy = {}) {
        Diagnostic diagnostic = environment_.diagnostic(code, place, std::move(summary));
        diagnostic.expected = std::move(expected);
        diagnostic.found = std::move(found);
        diagnostic.remedy = std::move(remedy);
        return fail(std::move(diagnostic));
    }

    Session::State& session_;
    Environment& environment_;
    const ApplyOptions& options_;
    std::string node_;
    std::map<std::string, GraphValue, std::less<>> variables_;
};

GraphValue list_of(std::span<const TensorId> tensors) {
    std::vector<GraphValue> list;
    for (TensorId tensor : tensors) list.push_back(GraphValue::of(tensor));
    return GraphValue::of(std::move(list));
}

void Composer::bind_inputs(const BoundArguments& arguments) {
    const auto& inputs = environment_.metakernel().inputs;
    for (size_t position = 0; position < inputs.size(); ++position) {
        GraphValue value;
        if (arguments.given[position]) {
            value = inputs[position].variadic ? list_of(arguments.tensors[position])
                                              : GraphValue::of(arguments.tensors[position][0]);
        }
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

Result<std::vector<TensorId>> Composer::run() {
    const auto& graph = environment_.metakernel().graph;
    auto needed = needed_assignments();
    for (size_t i = 0; i < graph.size(); ++i) {
        if (!needed[i]) continue;
        auto assigned = assign(*graph[i]);
        if (assigned) continue;
        for (Diagnostic& diagnostic : assigned.error()) {
            diagnostic.contexts.push_back(
                {fmt::format("in the composition {}", environment_.metakernel().name), graph[i]->place});
        }
        return std::unexpected(assigned.error());
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

Result<void> Composer::assign(const Syntax& assignment) {
    Wanted wanted{assignment.children.size(), std::nullopt, {}};
    if (wanted.count == 1) wanted.name = wanted_name(assignment.children[0]->text);
    auto value = evaluate(*assignment.value, nullptr, wanted);
    if (!value) return std::unexpected(value.error());
    if (assignment.children.size() == 1) {
        variables_.insert_or_assign(assignment.children[0]->text, std::move(*value));
        return {};
    }
    return destructure(assignment, std::move(*value));
}

Result<void> Composer::destructure(const Syntax& assignment, GraphValue value) {
    size_t targets = assignment.children.size();
    if (value.kind != GraphValue::Kind::list || value.list.size() != targets) {
        return problem("symbolic.results", assignment.place, fmt::format("{} names for {}", targets, value.describe()),
                       fmt::format("{} results", targets), value.describe());
    }
    for (size_t i = 0; i < targets; ++i)
        variables_.insert_or_assign(assignment.children[i]->text, std::move(value.list[i]));
    return {};
}

Result<GraphValue> Composer::evaluate(const Syntax& syntax, const StaticScope* scope, const Wanted& wanted) {
    switch (syntax.kind) {
    case Kind::name: return bare_name(syntax, scope);
    case Kind::call: return call(syntax, scope, wanted);
    case Kind::conditional: return conditional(syntax, scope, wanted);
    case Kind::list: return list(syntax, scope);
    case Kind::comprehension: return comprehension(syntax, scope);
    case Kind::subscript:
    case Kind::slice: {
        Kind base = syntax.children[0]->kind;
        if (base == Kind::name || base == Kind::call || base == Kind::subscript || base == Kind::list) {
            return syntax.kind == Kind::subscript ? subscript(syntax, scope, wanted) : slice(syntax, scope);
        }
        break;
    }
    default: break;
    }
    auto value = environment_.evaluate(syntax, scope);
    if (!value) return std::unexpected(value.error());
    return GraphValue::of(std::move(*value));
}

Result<GraphValue> Composer::bare_name(const Syntax& syntax, const StaticScope* scope) {
    if (const StaticValue* value = StaticScope::find(scope, syntax.text)) return GraphValue::of(*value);
    auto found = variables_.find(syntax.text);
    if (found != variables_.end()) return found->second;
    return problem("symbolic.unknown_name", syntax.place, fmt::format("nothing before this is called {}", syntax.text));
}

Result<GraphValue> Composer::conditional(const Syntax& syntax, const StaticScope* scope, const Wanted& wanted) {
    auto condition = environment_.evaluate(*syntax.children[0], scope);
    if (!condition) return std::unexpected(condition.error());
    if (!condition->is_boolean()) {
        return type_error(syntax.children[0]->place, "a condition in a graph is static", "a bool", *condition);
    }
    return evaluate(*syntax.children[condition->boolean() ? 1 : 2], scope, wanted);
}

Result<void> Composer::append_element(const Syntax& element, const StaticScope* scope,
                                      std::vector<GraphValue>& results) {
    bool spread = element.kind == Kind::spread;
    auto value = evaluate(spread ? *element.children[0] : element, scope, {});
    if (!value) return std::unexpected(value.error());
    if (!spread) {
        results.push_back(std::move(*value));
        return {};
    }
    if (value->kind == GraphValue::Kind::list) {
        results.insert(results.end(), value->list.begin(), value->list.end());
        return {};
    }
    SyntaxPointer borrowed(std::shared_ptr<void>(), &element);
    auto fixed = environment_.evaluate_elements({&borrowed, 1}, std::nullopt, scope);
    if (!fixed) return std::unexpected(fixed.error());
    for (StaticValue& one : *fixed) results.push_back(GraphValue::of(std::move(one)));
    return {};
}

// A list of static values is one itself; a list of tensors is a list for a variadic input.
GraphValue gathered(std::vector<GraphValue> elements) {
    bool fixed = std::all_of(elements.begin(), elements.end(),
                             [](const GraphValue& e) { return e.kind == GraphValue::Kind::fixed; });
    if (!fixed) return GraphValue::of(std::move(elements));
    StaticValue::List values;
    for (GraphValue& element : elements) values.push_back(std::move(element.fixed));
    return GraphValue::of(StaticValue::of(std::move(values)));
}

Result<GraphValue> Composer::list(const Syntax& syntax, const StaticScope* scope) {
    std::vector<GraphValue> elements;
    for (const auto& child : syntax.children) {
        if (auto added = append_element(*child, scope, elements); !added) return std::unexpected(added.error());
    }
    return gathered(std::move(elements));
}

Result<GraphValue> Composer::comprehension(const Syntax& syntax, const StaticScope* scope) {
    std::vector<GraphValue> results;
    if (auto done = generate(syntax, 0, scope, results); !done) return std::unexpected(done.error());
    return gathered(std::move(results));
}

Result<void> Composer::generate(const Syntax& syntax, size_t generator, const StaticScope* scope,
                                std::vector<GraphValue>& results) {
    if (generator == syntax.generators.size()) {
        if (syntax.filter) {
            auto kept = environment_.evaluate(*syntax.filter, scope);
            if (!kept) return std::unexpected(kept.error());
            if (!kept->is_boolean())
                return type_error(syntax.filter->place, "a filter is a condition", "a bool", *kept);
            if (!kept->boolean()) return {};
        }
        return append_element(*syntax.children[0], scope, results);
    }
    const Generator& source = syntax.generators[generator];
    auto range = environment_.evaluate(*source.range, scope);
    if (!range) return std::unexpected(range.error());
    bool below = source.kind == Generator::Kind::below;
    if (below ? !range->is_integer() : !range->is_list()) {
        return type_error(source.place, "a generator in a graph runs below an integer or through a static list",
                          "an integer or a list", *range);
    }
    int64_t count = below ? range->integer() : static_cast<int64_t>(range->list().size());
    for (int64_t i = 0; i < count; ++i) {
        if (!environment_.budget().spend(1)) return limit_error(syntax.place, "a comprehension takes too many steps");
        StaticValue number = below ? StaticValue::of(i) : range->list()[static_cast<size_t>(i)];
        StaticScope inner{scope, source.name, &number};
        if (auto done = generate(syntax, generator + 1, &inner, results); !done) return done;
    }
    return {};
}

Result<GraphValue> Composer::subscript(const Syntax& syntax, const StaticScope* scope, const Wanted& wanted) {
    if (syntax.children.size() != 2) {
        return problem("symbolic.results", syntax.place, "one number picks a result", "[number]", print(syntax));
    }
    auto index = environment_.evaluate(*syntax.children[1], scope);
    if (!index) return std::unexpected(index.error());
    if (!index->is_integer()) return type_error(syntax.place, "a number picks a result", "an integer", *index);
    Wanted inner{1, std::nullopt, wanted.name};
    if (syntax.children[0]->kind == Kind::call && index->integer() >= 0)
        inner.only = static_cast<size_t>(index->integer());
    auto base = evaluate(*syntax.children[0], scope, inner);
    if (!base) return base;
    // Of an operator with several outputs only the wanted one was made.
    if (base->kind == GraphValue::Kind::tensor && inner.only) return base;
    if (base->kind == GraphValue::Kind::fixed) {
        auto element = static_element(base->fixed, *index, syntax.place, environment_.budget());
        if (!element) return std::unexpected(element.error());
        return GraphValue::of(std::move(*element));
    }
    int64_t count = base->kind == GraphValue::Kind::list ? static_cast<int64_t>(base->list.size()) : -1;
    int64_t position = index->integer() < 0 ? index->integer() + count : index->integer();
    if (position < 0 || position >= count) {
        return problem("symbolic.results", syntax.place,
                       fmt::format("result {} of {}", index->integer(), base->describe()));
    }
    return base->list[static_cast<size_t>(position)];
}

Result<GraphValue> Composer::slice(const Syntax& syntax, const StaticScope* scope) {
    auto base = evaluate(*syntax.children[0], scope, {});
    if (!base) return base;
    if (base->kind != GraphValue::Kind::list) {
        return problem("symbolic.results", syntax.place, "only a list of tensors has slices in a graph",
                       "a list of tensors", base->describe());
    }
    int64_t count = static_cast<int64_t>(base->list.size());
    int64_t bounds[2] = {0, count};
    for (size_t side = 0; side < 2; ++side) {
        if (!syntax.children[side + 1]) continue;
        auto bound = environment_.evaluate(*syntax.children[side + 1], scope);
        if (!bound) return std::unexpected(bound.error());
        if (!bound->is_integer())
            return type_error(syntax.place, "a slice is bounded by integers", "an integer", *bound);
        bounds[side] =
            std::clamp<int64_t>(bound->integer() < 0 ? bound->integer() + count : bound->integer(), 0, count);
    }
    if (bounds[1] < bounds[0]) bounds[1] = bounds[0];
    return GraphValue::of(std::vector<GraphValue>(base->list.begin() + bounds[0], base->list.begin() + bounds[1]));
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

Result<GraphValue> Composer::call(const Syntax& syntax, const StaticScope* scope, const Wanted& wanted) {
    auto found = session_.library->find_from(environment_.metakernel(), syntax.text);
    if (!found) {
        for (Diagnostic& diagnostic : found.error()) {
            // One that a composition called here names keeps its own place.
            bool own = !diagnostic.place.source || diagnostic.params.empty() ||
                       diagnostic.params.front().second == syntax.text;
            if (diagnostic.code == "language.unknown_operator" && own)
                diagnostic.place = syntax.mark.source ? syntax.mark : syntax.place;
        }
        return std::unexpected(found.error());
    }
    const Template& metakernel = **found;
    if (++session_.expanded > most_expanded) {
        return limit_error(syntax.place, fmt::format("a composition of more than {} operators", most_expanded));
    }
    std::vector<GraphValue> values;
    for (const auto& child : syntax.children) {
        if (auto added = append_element(*child, scope, values); !added) return std::unexpected(added.error());
    }
    auto arguments = arguments_of(syntax, metakernel, std::move(values));
    if (!arguments) return std::unexpected(arguments.error());
    std::map<std::string, StaticValue> parameters;
    for (const NamedArgument& argument : syntax.named) {
        auto value = environment_.evaluate(*argument.value, scope);
        if (!value) return std::unexpected(value.error());
        parameters.insert_or_assign(argument.name, std::move(*value));
    }
    ApplyOptions options{
        wanted.name.empty() ? node_ + "." + syntax.text : wanted.name, requested_outputs(metakernel, wanted), {}};
    bool several = std::count(options.requested.begin(), options.requested.end(), true) > 1;
    if (wanted.only && *wanted.only >= metakernel.outputs.size() &&
        !(metakernel.outputs.size() == 1 && metakernel.outputs[0].variadic)) {
        return problem("symbolic.results", syntax.place,
                       fmt::format("{} has no result {}", metakernel.name, *wanted.only),
                       fmt::format("at most {} results", metakernel.outputs.size()));
    }
    if (!wanted.name.empty() && !several && !metakernel.outputs[0].variadic) {
        options.names.assign(metakernel.outputs.size(), wanted.name);
    }
    auto made = session_.apply(metakernel, *arguments, parameters, options);
    if (!made) return std::unexpected(made.error());
    std::vector<TensorId> tensors;
    std::copy_if(made->begin(), made->end(), std::back_inserter(tensors), [](TensorId tensor) { return tensor >= 0; });
    bool variadic = !metakernel.outputs.empty() && metakernel.outputs[0].variadic;
    if (variadic || wanted.count > 1) return list_of(tensors);
    if (tensors.empty()) return GraphValue{};
    return GraphValue::of(tensors[0]);
}

// The dtype that another tensor binds to the dtype variable of this input.
std::optional<DType> Composer::dtype_beside(const Template& metakernel, const std::vector<GraphValue>& values,
                                            const TensorSpec& input) const {
    if (!input.dtype) return std::nullopt;
    if (input.dtype->kind == Kind::name) return dtype_named(input.dtype->text);
    if (input.dtype->kind != Kind::static_name) return std::nullopt;
    for (size_t i = 0; i < values.size() && !metakernel.inputs.empty(); ++i) {
        const TensorSpec& other = metakernel.inputs[std::min(i, metakernel.inputs.size() - 1)];
        if (!other.dtype || other.dtype->kind != Kind::static_name || other.dtype->text != input.dtype->text) continue;
        const GraphValue* value = &values[i];
        if (value->kind == GraphValue::Kind::list && !value->list.empty()) value = &value->list[0];
        if (value->kind == GraphValue::Kind::tensor) return session_.graph.tensor(value->tensor).type.dtype;
    }
    return std::nullopt;
}

Result<std::vector<Argument>> Composer::arguments_of(const Syntax& syntax, const Template& metakernel,
                                                     std::vector<GraphValue> values) {
    std::vector<Argument> arguments;
    for (size_t i = 0; i < values.size(); ++i) {
        if (metakernel.inputs.empty() || (i >= metakernel.inputs.size() && !metakernel.inputs.back().variadic)) {
            return problem("symbolic.too_many_inputs", syntax.place,
                           fmt::format("{} is given {} inputs", metakernel.name, values.size()),
                           fmt::format("at most {}", metakernel.inputs.size()), std::to_string(values.size()),
                           "parameters are passed by name, as axis: 1");
        }
        const TensorSpec& input = metakernel.inputs[std::min(i, metakernel.inputs.size() - 1)];
        auto argument =
            argument_of(syntax, input, values[i], dtype_beside(metakernel, values, input).value_or(DType::boolean));
        if (!argument) return std::unexpected(argument.error());
        arguments.push_back(std::move(*argument));
    }
    return arguments;
}

Result<Argument> Composer::argument_of(const Syntax& place, const TensorSpec& input, const GraphValue& value,
                                       DType fallback) {
    switch (value.kind) {
    case GraphValue::Kind::absent: return Argument();
    case GraphValue::Kind::tensor: return Argument(value.tensor);
    case GraphValue::Kind::fixed: {
        auto constant = constant_of(place, input, value.fixed, fallback);
        if (!constant) return std::unexpected(constant.error());
        return Argument(*constant);
    }
    case GraphValue::Kind::list: break;
    }
    std::vector<TensorId> tensors;
    for (const GraphValue& element : value.list) {
        if (element.kind == GraphValue::Kind::fixed) {
            auto constant = constant_of(place, input, element.fixed, fallback);
            if (!constant) return std::unexpected(constant.error());
            tensors.push_back(*constant);
        } else if (element.kind == GraphValue::Kind::tensor) {
            tensors.push_back(element.tensor);
        } else {
            return problem("symbolic.composition", place.place,
                           fmt::format("a list of tensors for {} holds {}", input.name, element.describe()), "tensors",
                           element.describe());
        }
    }
    return Argument(std::move(tensors));
}

// `fallback` is the dtype that the input must have; boolean where any will do.
Result<TensorId> Composer::constant_of(const Syntax& place, const TensorSpec& input, const StaticValue& value,
                                       DType fallback) {
    StaticValue::List single{value};
    const StaticValue::List& elements = value.is_list() ? value.list() : single;
    bool real = false, boolean = !elements.empty();
    for (const StaticValue& element : elements) {
        if (!element.is_number() && !element.is_boolean()) {
            return problem("symbolic.composition", place.place,
                           fmt::format("{} is no tensor for input {}", value.print(), input.name),
                           "a tensor, a number or a list of numbers", value.describe());
        }
        real |= element.is_real();
        boolean &= element.is_boolean();
    }
    DType dtype = boolean ? DType::boolean : real ? DType::float32 : DType::int64;
    if (!is_bool(fallback)) dtype = fallback;
    if (real && !is_float(dtype)) {
        return problem("symbolic.composition", place.place,
                       fmt::format("a float for input {}, which is {}", input.name, name(dtype)),
                       std::string(name(dtype)), value.print());
    }
    std::vector<int64_t> shape;
    if (value.is_list()) shape.push_back(static_cast<int64_t>(elements.size()));
    TensorData data(dtype, shape);
    std::vector<Size> sizes;
    bool named = false;
    for (size_t i = 0; i < elements.size(); ++i) {
        const StaticValue& element = elements[i];
        auto index = static_cast<int64_t>(i);
        if (element.is_real())
            data.set_real(index, element.real());
        else
            data.set_integer(index, element.is_boolean() ? element.boolean() : element.integer());
        sizes.push_back(element.is_integer() ? element.size() : Size(0));
        named |= sizes.back().named();
    }
    TensorId tensor = session_.add_constant(node_ + "." + input.name, std::move(data));
    if (named && is_integer(dtype)) session_.sizes.emplace(tensor, std::move(sizes));
    return tensor;
}

// ---- results

Result<void> Composer::check_type(const TensorSpec& output, TensorId tensor) {
    const TensorType& type = session_.graph.tensor(tensor).type;
    if (output.dtype) {
        auto dtype = environment_.evaluate(*output.dtype);
        if (!dtype) return std::unexpected(dtype.error());
        if (!dtype->is_dtype() || dtype->dtype() != type.dtype) {
            return problem("symbolic.composition", output.place,
                           fmt::format("output {} is {}", output.name, name(type.dtype)), dtype->print(),
                           std::string(name(type.dtype)));
        }
    }
    if (!output.shape) return {};
    auto shape = environment_.evaluate_elements(output.shape->children, std::nullopt);
    if (!shape) return std::unexpected(shape.error());
    StaticValue expected = StaticValue::of(std::move(*shape)), found = StaticValue::of_sizes(type.shape);
    if (expected == found) return {};
    return problem("symbolic.composition", output.place,
                   fmt::format("output {} has another shape than it says", output.name), expected.print(),
                   found.print());
}

Result<std::vector<TensorId>> Composer::results() {
    std::vector<TensorId> answer;
    for (const BoundOutput& output : environment_.outputs()) {
        auto found = variables_.find(output.spec->name);
        bool made = found != variables_.end() && found->second.kind != GraphValue::Kind::absent;
        if (!output.requested || (!made && output.spec->optional)) {
            answer.push_back(-1);
            continue;
        }
        if (!made) {
            return problem("symbolic.composition", output.spec->place,
                           fmt::format("nothing makes output {}", output.spec->name));
        }
        auto argument =
            argument_of(*environment_.metakernel().graph.back(), *output.spec, found->second, DType::boolean);
        if (!argument) return std::unexpected(argument.error());
        if (argument->list != output.spec->variadic) {
            return problem("symbolic.composition", output.spec->place, fmt::format("output {}", output.spec->name),
                           output.spec->variadic ? "a list of tensors" : "a tensor", found->second.describe());
        }
        for (TensorId tensor : argument->tensors) {
            if (!output.spec->variadic) {
                if (auto checked = check_type(*output.spec, tensor); !checked) return std::unexpected(checked.error());
            }
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
    Composer composer(session, environment, options);
    composer.bind_inputs(arguments);
    auto answer = composer.run();
    --session.compositions;
    return answer;
}

}  // namespace heddle
