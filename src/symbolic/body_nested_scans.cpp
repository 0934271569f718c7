// Scans in scans: few steps of each step, which are written out one after the other.
#include <fmt/format.h>

#include "symbolic/body_statements.h"

namespace heddle {
namespace {

constexpr int64_t most_written_steps = 64;

}  // namespace

void BodyBuilder::nested_scan(const Syntax& statement, Scope& scope, const VariableList& variables) {
    BodyElements& elements = expressions_.elements();
    auto& operations = expressions_.operations();
    const Generator& axis = statement.generators[0];
    expressions_.need_new_name(axis.name, scope, axis.place);
    std::vector<const Syntax*> begun;  // the states; what asks for them is no mistake of its own
    for (const SyntaxPointer& child : statement.children) {
        if (child->kind != Syntax::Kind::equation || !child->initial) continue;
        expressions_.need_new_name(child->text, scope, child->mark);
        scope.names.set(child->text, Value::failed());
        begun.push_back(child.get());
    }
    const int64_t steps =
        operations.integer(expressions_.evaluate(*axis.range, scope), "the number of steps", axis.place);
    if (steps < 0 || steps > most_written_steps) {
        Diagnostic diagnostic =
            elements.error("symbolic.nested_scan", axis.place, fmt::format("a scan in a scan has {} steps", steps));
        diagnostic.expected = fmt::format("0 to {}", most_written_steps);
        diagnostic.reason = "its steps are written out";
        diagnostic.remedy =
            "count the steps of both by one variable, as in scan s < $steps * $of_each:, and take it apart with // and "
            "%";
        elements.refuse(std::move(diagnostic));
    }
    std::vector<int32_t> states;
    for (const Syntax* child : begun) {
        need_left(*child, {axis.name});
        const BodyArray made = expressions_.begin_steps(*child, scope);
        scope.names.set(child->text, Value::of(made));
        states.push_back(made.index);
    }
    const Part part = part_;
    for (int64_t step = 0; step < steps; ++step) {
        Scope inner{&scope, {}};
        inner.names.set(axis.name, Value::of(step).with_from_template(false));
        for (const SyntaxPointer& child : statement.children) {
            const bool is_state = child->kind == Syntax::Kind::equation && child->initial;
            part_ = is_state ? Part::all : part;
            this->statement(*child, inner, variables);
        }
        part_ = part;
        if (!statement.filter || states.empty()) continue;
        const Value holds = expressions_.evaluate(*statement.filter, inner);
        if (!is_bool(elements.dtype(operations.element(holds, statement.filter->place))))
            operations.refuse_type(statement.filter->place, "what ends a scan is a condition", "one bool",
                                   "compare, as in s[t] < 1e-6");
        const Value ended = operations.binary(ScalarOp::logical_or, expressions_.written_state(states[0]).ended, holds,
                                              statement.filter->place);
        for (int32_t state : states) expressions_.written_state(state).ended = ended;
    }
}

void BodyExpressions::bind_own(const Syntax& statement, size_t steps, Scope& scope, VariableList& variables) {
    for (size_t i = steps; i < statement.children.size(); ++i) {
        const Syntax& axis = *statement.children[i];
        bind(axis.text, *axis.children[0], axis.place, Variable::Kind::parallel, scope, variables);
    }
}

BodyArray BodyExpressions::begin_steps(const Syntax& statement, const Scope& scope) {
    Scope inner{&scope, {}};
    VariableList own;
    bind_own(statement, 1, inner, own);
    const Element initial = element(*statement.initial, inner);
    Value first = one_step(statement, std::move(own), initial);
    written_states_.push_back({statement.text, {std::move(first)}});
    return {BodyArray::Kind::steps, static_cast<int32_t>(written_states_.size()) - 1};
}

void BodyExpressions::next_step(const Syntax& statement, const Scope& scope) {
    const int32_t index = scope.find(statement.text)->array().index;
    Scope inner{&scope, {}};
    VariableList own;
    bind_own(statement, 1, inner, own);
    std::vector<Value> before{Value::of(static_cast<int64_t>(written_state(index).steps.size()) - 2)};
    for (VariableId axis : own) before.push_back(variable_value(axis));
    Element last = operations().element(read_step(index, before, statement.place), statement.place);
    const Element was = last;
    Element value = element(*statement.value, inner);
    elements_.unify(value, last, "from", statement.initial->place);
    const Value next =
        operations().select(written_state(index).ended, Value::of(was), Value::of(value), statement.place);
    Value made = one_step(statement, std::move(own), operations().element(next, statement.place));
    written_state(index).steps.push_back(std::move(made));
}

Value BodyExpressions::one_step(const Syntax& statement, VariableList own, Element value) {
    return own.empty() ? Value::of(value) : array_of(statement, std::move(own), value);
}

// At a step that is known when the operator is applied, and that there is already.
Value BodyExpressions::read_step(int32_t index, const std::vector<Value>& given, const Place& place) {
    const WrittenState& state = written_state(index);
    const Value& first = state.steps[0];
    const size_t own = first.is_array() ? body_.local(LocalId(first.array().index)).variables.size() : 0;
    if (given.size() != 1 + own) refuse_rank(state.name, 1 + own, given.size(), place);
    const int64_t last = static_cast<int64_t>(state.steps.size()) - 2;
    const bool known = given[0].is_integer();
    if (!known || given[0].integer() < -1 || given[0].integer() > last) {
        Diagnostic diagnostic = elements_.error(
            "symbolic.state_step", place,
            known ? fmt::format("'{}' is read at step {}, which is not there yet", state.name, given[0].integer())
                  : fmt::format("'{}' is read at a step that is an element", state.name));
        diagnostic.expected = fmt::format("a static step in -1 .. {}", last);
        diagnostic.reason = "the steps of a scan in a scan are written out";
        diagnostic.remedy =
            "read the step before in its block, the last one behind it, or keep what you need in a state";
        elements_.refuse(std::move(diagnostic));
    }
    const Value at = state.steps[static_cast<size_t>(given[0].integer() + 1)];
    return at.is_array() ? read_local(LocalId(at.array().index), {given.begin() + 1, given.end()}, place) : at;
}

Value BodyExpressions::guarded_step(int32_t index, const std::vector<Value>& given, const Value& otherwise,
                                    const Place& place) {
    const Value inside = read_step(index, given, place);
    const Value first = written_state(index).steps[0];
    std::vector<Size> extents;
    if (first.is_array())
        for (VariableId axis : body_.local(LocalId(first.array().index)).variables)
            extents.push_back(body_.variable(axis).extent);
    return chosen_inside(std::span(given).subspan(1), extents, inside, otherwise, place);
}

}  // namespace heddle
