// The values of parameters: given or default, converted to their types and checked.
#include <fmt/format.h>

#include <algorithm>

#include "symbolic/environment_state.h"
#include "symbolic/failures.h"

namespace heddle {
namespace {

using Value = StaticValue;
using TypeKind = ParameterType::Kind;

std::string_view kind_name(TypeKind kind) {
    switch (kind) {
    case TypeKind::integer: return "an int";
    case TypeKind::real: return "a float";
    case TypeKind::boolean: return "a bool";
    case TypeKind::string: return "a string";
    case TypeKind::dtype: return "a dtype";
    case TypeKind::number: return "a number";
    case TypeKind::axis: return "an axis";
    case TypeKind::axes: return "axes";
    case TypeKind::choice: return "one of its choices";
    case TypeKind::any: return "a value";
    }
    return {};
}

std::unexpected<Diagnostics> wrong_type(const Environment& environment, const Parameter& parameter,
                                        const Value& value) {
    Diagnostic diagnostic = environment.diagnostic("symbolic.parameter_type", parameter.place,
                                                   fmt::format("parameter {} is {}", parameter.name, value.print()));
    diagnostic.expected = kind_name(parameter.type.kind);
    diagnostic.found = value.describe();
    diagnostic.remedy =
        fmt::format("pass {} for {}, or change its type in params", diagnostic.expected, parameter.name);
    diagnostic.params.emplace_back("parameter", parameter.name);
    return fail(std::move(diagnostic));
}

Result<Value> choice(const Environment& environment, const Parameter& parameter, const Value& value) {
    const auto& choices = parameter.type.choices;
    if (value.is_text() && std::find(choices.begin(), choices.end(), value.text()) != choices.end()) return value;
    Diagnostic diagnostic = environment.diagnostic("symbolic.choice", parameter.place,
                                                   fmt::format("parameter {} is {}", parameter.name, value.print()));
    for (const std::string& known : choices) diagnostic.expected += (diagnostic.expected.empty() ? "" : " | ") + known;
    diagnostic.found = value.print();
    std::string near = value.is_text() ? nearest_name(value.text(), choices) : "";
    if (!near.empty()) diagnostic.remedy = fmt::format("did you mean {}?", near);
    diagnostic.params.emplace_back("parameter", parameter.name);
    return fail(std::move(diagnostic));
}

// The rank that axis(X) and axes(X) are checked against: of a tensor, or the value of an integer expression.
Result<int64_t> described_rank(Environment& environment, const Parameter& parameter) {
    auto of = environment.evaluate(*parameter.type.of);
    if (!of) return std::unexpected(of.error());
    if (of->is_tensor()) return static_cast<int64_t>(of->tensor().type.shape.size());
    if (of->is_integer()) return of->integer();
    return type_error(parameter.type.of->place, "axis() is of a tensor or of a rank", "a tensor or an integer", *of);
}

Result<Value> axis(const Environment& environment, const Parameter& parameter, const Value& value, int64_t rank) {
    if (!value.is_integer()) return wrong_type(environment, parameter, value);
    int64_t number = value.integer();
    if (number >= -rank && number < rank) return Value::of(number < 0 ? number + rank : number);
    Diagnostic diagnostic =
        environment.diagnostic("symbolic.axis_range", parameter.place,
                               fmt::format("parameter {}: there is no axis {}", parameter.name, number));
    diagnostic.expected = rank > 0 ? fmt::format("an axis from {} to {}", -rank, rank - 1) : "no axis: the rank is 0";
    diagnostic.found = std::to_string(number);
    diagnostic.remedy = "axes are counted from 0; -1 is the last one";
    diagnostic.params.emplace_back("parameter", parameter.name);
    return fail(std::move(diagnostic));
}

Result<Value> axes(Environment& environment, const Parameter& parameter, const Value& value) {
    auto rank = described_rank(environment, parameter);
    if (!rank) return std::unexpected(rank.error());
    if (parameter.type.kind == TypeKind::axis) return axis(environment, parameter, value, *rank);
    Value::List given = value.is_list() ? value.list() : Value::List{value};
    Value::List result;
    for (const Value& element : given) {
        auto one = axis(environment, parameter, element, *rank);
        if (!one) return one;
        if (std::find(result.begin(), result.end(), *one) != result.end()) {
            Diagnostic diagnostic =
                environment.diagnostic("symbolic.axis_repeated", parameter.place,
                                       fmt::format("parameter {} has axis {} twice", parameter.name, one->integer()));
            diagnostic.found = value.print();
            diagnostic.params.emplace_back("parameter", parameter.name);
            return fail(std::move(diagnostic));
        }
        result.push_back(std::move(*one));
    }
    return Value::of(std::move(result));
}

Result<Value> typed(const Environment& environment, const Parameter& parameter, const Value& value) {
    switch (parameter.type.kind) {
    case TypeKind::integer:
        if (value.is_integer()) return value;
        break;
    case TypeKind::real:
        if (value.is_number()) return value.as_real();
        break;
    case TypeKind::number:
        if (value.is_number()) return value;
        break;
    case TypeKind::boolean:
        if (value.is_boolean()) return value;
        // Model formats without booleans write 0 and 1.
        if (value.is_integer() && (value.integer() == 0 || value.integer() == 1))
            return Value::of(value.integer() == 1);
        break;
    case TypeKind::string:
        if (value.is_text()) return value;
        break;
    case TypeKind::dtype:
        if (value.is_dtype()) return value;
        if (value.is_text()) {
            if (auto dtype = dtype_named(value.text())) return Value::of(*dtype);
        }
        break;
    case TypeKind::choice: return choice(environment, parameter, value);
    case TypeKind::any: return value;
    default: break;
    }
    return wrong_type(environment, parameter, value);
}

// The value of a bound; without one, `value` itself.
Result<double> bound_of(Environment& environment, const SyntaxPointer& bound, double value) {
    if (!bound) return value;
    auto evaluated = environment.evaluate(*bound);
    if (!evaluated) return std::unexpected(std::move(evaluated.error()));
    if (!evaluated->is_number()) return type_error(bound->place, "a bound is a number", "a number", *evaluated);
    return evaluated->number();
}

std::string range_text(const ParameterType& type, double lowest, double highest) {
    if (!type.highest) return fmt::format("at least {}", lowest);
    if (!type.lowest) return fmt::format("at most {}", highest);
    return fmt::format("{} to {}", lowest, highest);
}

// A value of the type, within its range. What is no number is in no range.
Result<Value> scalar(Environment& environment, const Parameter& parameter, const Value& value) {
    auto made = typed(environment, parameter, value);
    const ParameterType& type = parameter.type;
    if (!made || (!type.lowest && !type.highest)) return made;
    const double number = made->number();
    auto lowest = bound_of(environment, type.lowest, number), highest = bound_of(environment, type.highest, number);
    if (!lowest) return std::unexpected(std::move(lowest.error()));
    if (!highest) return std::unexpected(std::move(highest.error()));
    if (number >= *lowest && number <= *highest) return made;
    Diagnostic diagnostic = environment.diagnostic("symbolic.parameter_range", parameter.place,
                                                   fmt::format("parameter {} is {}", parameter.name, made->print()));
    diagnostic.expected = range_text(type, *lowest, *highest);
    diagnostic.found = made->print();
    diagnostic.params.emplace_back("parameter", parameter.name);
    return fail(std::move(diagnostic));
}

Result<Value> list(Environment& environment, const Parameter& parameter, const Value& value) {
    std::optional<int64_t> length;
    if (parameter.type.length) {
        auto wanted = environment.evaluate(*parameter.type.length);
        if (!wanted) return wanted;
        if (!wanted->is_integer())
            return type_error(parameter.type.length->place, "a length is an integer", "an integer", *wanted);
        length = wanted->integer();
    }
    Value::List given;
    if (value.is_list()) {
        given = value.list();
    } else {
        if (length && (*length < 0 || *length > largest_static_list)) {
            return limit_error(parameter.place, fmt::format("parameter {} of {} values", parameter.name, *length));
        }
        given.assign(static_cast<size_t>(length.value_or(1)), value);
    }
    if (length && *length != static_cast<int64_t>(given.size())) {
        Diagnostic diagnostic = environment.diagnostic(
            "symbolic.parameter_length", parameter.place,
            fmt::format("parameter {} has {} value{}", parameter.name, given.size(), given.size() == 1 ? "" : "s"));
        diagnostic.expected = fmt::format("{} ({})", *length, print(*parameter.type.length));
        diagnostic.found = value.print();
        diagnostic.params.emplace_back("parameter", parameter.name);
        diagnostic.params.emplace_back("length", std::to_string(*length));
        return fail(std::move(diagnostic));
    }
    for (Value& element : given) {
        auto one = scalar(environment, parameter, element);
        if (!one) return one;
        element = std::move(*one);
    }
    return Value::of(std::move(given));
}

// The two values that a comparison found different: "5 and 6".
std::string sides_text(Environment& environment, const Syntax& condition) {
    if (condition.kind != Syntax::Kind::binary || condition.text == "&&" || condition.text == "||") return {};
    auto left = environment.evaluate(*condition.children[0]), right = environment.evaluate(*condition.children[1]);
    return left && right ? fmt::format("{} and {}", left->print(), right->print()) : std::string();
}

}  // namespace

Result<StaticValue> parameter_value(Environment& environment, const Parameter& parameter) {
    Value value;
    bool given = false;
    if (const auto* parameters = environment.state().given_parameters) {
        auto found = parameters->find(parameter.name);
        given = found != parameters->end() && !found->second.is_none();
        if (given) value = found->second;
    }
    if (!given) {
        if (!parameter.default_value) {
            Diagnostic diagnostic = environment.diagnostic("symbolic.missing_parameter", parameter.place,
                                                           fmt::format("parameter {} is not given", parameter.name));
            diagnostic.expected = kind_name(parameter.type.kind);
            diagnostic.remedy =
                fmt::format("pass it by name, as {}: ..., or give it a default in params", parameter.name);
            diagnostic.params.emplace_back("parameter", parameter.name);
            return fail(std::move(diagnostic));
        }
        auto evaluated = environment.evaluate(*parameter.default_value);
        if (!evaluated || evaluated->is_none()) return evaluated;
        value = std::move(*evaluated);
    }
    if (parameter.type.of) return axes(environment, parameter, value);
    return parameter.type.is_list ? list(environment, parameter, value) : scalar(environment, parameter, value);
}

Result<void> check_parameters(Environment& environment) {
    const Template& metakernel = environment.metakernel();
    Diagnostics problems;
    if (const auto* given = environment.state().given_parameters) {
        for (const auto& [name, value] : *given) {
            if (metakernel.parameter(name)) continue;
            Diagnostic diagnostic =
                environment.diagnostic("symbolic.unknown_parameter", metakernel.place,
                                       fmt::format("{} has no parameter {}", metakernel.name, name));
            std::vector<std::string> known;
            for (const Parameter& parameter : metakernel.params) known.push_back(parameter.name);
            std::string near = nearest_name(name, known);
            if (!near.empty()) diagnostic.remedy = fmt::format("did you mean {}?", near);
            diagnostic.params.emplace_back("parameter", name);
            problems.push_back(std::move(diagnostic));
        }
    }
    for (const Parameter& parameter : metakernel.params) {
        auto value = environment.lookup(parameter.name, parameter.place);
        if (!value) problems.insert(problems.end(), value.error().begin(), value.error().end());
    }
    if (!problems.empty()) return fail(std::move(problems));
    return {};
}

Result<void> check_constraints(Environment& environment) {
    const Template& metakernel = environment.metakernel();
    Diagnostics problems;
    for (const DTypeConstraint& constraint : metakernel.dtypes) {
        const NameSlot* slot = environment.state().slot(constraint.name);
        if (!slot || slot->phase != NameSlot::Phase::known || !slot->value.is_dtype()) continue;
        std::string found(name(slot->value.dtype()));
        if (std::find(constraint.dtype_names.begin(), constraint.dtype_names.end(), found) !=
            constraint.dtype_names.end()) {
            continue;
        }
        Diagnostic diagnostic = environment.diagnostic("symbolic.dtype_set", constraint.place,
                                                       fmt::format("${} is {}", constraint.name, found));
        for (const std::string& known : constraint.dtype_names) {
            diagnostic.expected += (diagnostic.expected.empty() ? "" : ", ") + known;
        }
        diagnostic.found = found;
        if (slot->bound_at)
            diagnostic.contexts.push_back({fmt::format("bound by {}", slot->bound_by), *slot->bound_at});
        problems.push_back(std::move(diagnostic));
    }
    for (const Requirement& requirement : metakernel.requirements) {
        auto holds = environment.evaluate(*requirement.condition);
        if (!holds) {
            problems.insert(problems.end(), holds.error().begin(), holds.error().end());
        } else if (!holds->is_boolean()) {
            auto wrong = type_error(requirement.condition->place, "a requirement is a condition", "a bool", *holds);
            problems.push_back(wrong.error()[0]);
        } else if (!holds->boolean()) {
            Diagnostic diagnostic =
                environment.diagnostic("symbolic.requirement", requirement.condition->place, requirement.message);
            diagnostic.expected = print(*requirement.condition);
            diagnostic.found = sides_text(environment, *requirement.condition);
            problems.push_back(std::move(diagnostic));
        }
    }
    if (!problems.empty()) return fail(std::move(problems));
    return {};
}

}  // namespace heddle
