// Scans of a body, and the equations of their states.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/body_rebuild.h"
#include "symbolic/body_statements.h"
#include "symbolic/projection_range.h"

namespace heddle {

void BodyBuilder::scan(const Syntax& statement, Scope& scope, VariableList variables) {
    for (const SyntaxPointer& child : statement.children) {  // silent until they are declared: the extent may fail
        if (child->kind != Syntax::Kind::equation || !child->initial || scope.names.contains(child->text)) continue;
        expressions_.need_new_name(child->text, scope, child->mark);
        scope.names.set(child->text, Value::failed());
    }
    if (statement.generators.size() > 1) return scan_of_cells(statement, scope, std::move(variables));
    BodyElements& elements = expressions_.elements();
    Scope inner{&scope, {}};
    VariableList steps;
    expressions_.bind(statement.generators[0], Variable::Kind::ordered, inner, steps);
    if (steps.size() != 1)
        elements.refuse(elements.error("symbolic.scan", statement.generators[0].place,
                                       "a scan has one axis, and this extent is a list"));
    std::optional<StateId> ended;
    if (statement.filter) ended = declare_end(steps[0], variables);
    BodyState common = common_state(steps[0], variables);
    common.ended = ended;
    const std::vector<StateId> states = declare_states(statement, scope, inner, std::move(common));
    variables.push_back(steps[0]);
    in_scan_ = true;
    block(statement.children, inner, variables);
    in_scan_ = false;
    if (ended) guarded([&] { end_equation(*ended, *statement.filter, inner); });
    for (StateId state : states) expressions_.state(state).active = false;
}

// scan i < m, j < n: (wavefront.h)
void BodyBuilder::scan_of_cells(const Syntax& statement, Scope& scope, VariableList variables) {
    const size_t axes = statement.generators.size();
    const auto known = reaches_.find(&statement);
    const WaveReach reach = known == reaches_.end() ? reach_of(axes, {}) : known->second;
    Scope cell{&scope, {}};
    const std::shared_ptr<Wavefront> front = expressions_.open_wavefront(statement, reach, cell);
    BodyState common = common_state(front->wave, variables);
    common.front = front;
    common.own = front->positions;
    const std::vector<StateId> states = declare_states(statement, scope, cell, std::move(common));
    const bool failed_before = std::exchange(failed_, false);
    in_scan_ = true;
    {
        Scope inner{&cell, {}};
        part_ = Part::states;
        expressions_.keep_arrays(front->inside);
        block(statement.children, inner, variables);
        expressions_.keep_arrays(std::nullopt);
        part_ = Part::all;
    }
    for (StateId state : states) expressions_.state(state).active = false;
    const bool sound = !std::exchange(failed_, failed_ || failed_before);
    if (sound) {  // else its lets would say so twice
        Scope inner{&scope, {}};
        for (const Generator& generator : statement.generators)
            expressions_.bind(generator, Variable::Kind::parallel, inner, front->written);
        variables.insert(variables.end(), front->written.begin(), front->written.end());
        part_ = Part::equations;
        block(statement.children, inner, variables);
        part_ = Part::all;
        front->written.clear();
    }
    in_scan_ = false;
    WaveReach needed = reach_of(axes, front->offsets);
    for (const CellOffset& offset : front->written_from) needed.add_border(offset);
    if (!(needed == reach)) wider_[&statement] = std::move(needed);
}

// States of a scan: what they all have.
BodyState BodyBuilder::common_state(VariableId step, const VariableList& variables) {
    BodyState state;
    state.step = step;
    state.outer = expressions_.index_variables();
    state.outer.insert(state.outer.end(), variables.begin(), variables.end());
    return state;
}

std::vector<StateId> BodyBuilder::declare_states(const Syntax& statement, Scope& scope, const Scope& inner,
                                                 BodyState common) {
    std::vector<StateId> states;
    for (const SyntaxPointer& child : statement.children) {
        if (child->kind != Syntax::Kind::equation || !child->initial) continue;
        guarded([&] {
            StateId state = declare_state(*child, inner, common);
            scope.names.set(child->text, Value::of(BodyArray{BodyArray::Kind::state, state}));
            states.push_back(state);
        });
    }
    return states;
}

// name[t, j < $n, ...]: the steps, and then axes that have extents of their own.
void BodyBuilder::need_left(const Syntax& statement, const std::vector<std::string>& steps) {
    BodyElements& elements = expressions_.elements();
    for (size_t i = 0; i < statement.children.size(); ++i) {
        const Syntax& coordinate = *statement.children[i];
        const bool is_step = i < steps.size();
        const bool fits = is_step ? coordinate.kind == Syntax::Kind::name && coordinate.text == steps[i]
                                  : coordinate.kind == Syntax::Kind::binder;
        if (fits) continue;
        Diagnostic diagnostic =
            elements.error("symbolic.scan", coordinate.place, fmt::format("coordinate {} of a state's left side", i));
        diagnostic.expected =
            is_step ? fmt::format("the scan's step, {}", steps[i]) : "a new variable with its extent, as in j < $n";
        diagnostic.found = print(coordinate);
        elements.refuse(std::move(diagnostic));
    }
    if (statement.children.size() >= steps.size()) return;
    Diagnostic diagnostic = elements.error("symbolic.scan", statement.place, "a state without its step");
    diagnostic.remedy = fmt::format("write {}[{}] = ... from ...", statement.text, fmt::join(steps, ", "));
    elements.refuse(std::move(diagnostic));
}

StateId BodyBuilder::declare_state(const Syntax& statement, const Scope& scope, BodyState state) {
    state.name = statement.text;
    state.equation = &statement;
    std::vector<std::string> steps{body_.variable(state.step).name};
    if (state.front) steps = state.front->names;
    need_left(statement, steps);
    Scope inner{&scope, {}};
    expressions_.bind_own(statement, steps.size(), inner, state.own);
    state.own_names = std::move(inner.names);
    if (auto known = types_->find(&statement); known != types_->end()) state.type = known->second;
    state.assumed_real = assume_real_;
    assumed_ |= !state.type;
    return expressions_.add_state(std::move(state));
}

void BodyBuilder::need_untimed(NodeId initial, const BodyState& state, const Place& place) {
    std::vector<VariableId> used = variables_of(body_, initial);
    if (std::find(used.begin(), used.end(), state.step) == used.end()) return;
    Diagnostic diagnostic = expressions_.elements().error(
        "symbolic.scan", place,
        fmt::format("the initial value of '{}' depends on {}", state.name, body_.variable(state.step).name));
    diagnostic.reason = "it is the value before the first step";
    expressions_.elements().refuse(std::move(diagnostic));
}

void BodyBuilder::state_equation(const Syntax& statement, const Scope& scope) {
    BodyElements& elements = expressions_.elements();
    const Value* named = scope.find(statement.text);
    if (named && named->is_array(BodyArray::Kind::steps)) return expressions_.next_step(statement, scope);
    if (!named || !named->is_array(BodyArray::Kind::state)) {
        if (named && named->is_failed()) throw EvaluationFailure{};
        Diagnostic diagnostic =
            elements.error("symbolic.scan", statement.place,
                           fmt::format("the state '{}' does not stand in a scan itself", statement.text));
        diagnostic.remedy = "put its equation into the block of scan t < $n: alone, and give the state further axes";
        elements.refuse(std::move(diagnostic));
    }
    const StateId id(named->array().index);
    const BodyState state = expressions_.state(id);
    if (!state.type) expressions_.state(id).defined = true;  // an attempt: the type is all that is wanted
    Scope inner{&scope, state.own_names};
    // A border's cells are not those that the block's lets are of.
    Scope around{state.front ? scope.outer : &scope, state.own_names};
    Element initial = expressions_.element(*statement.initial, around);
    if (!state.front) need_untimed(initial.node, state, statement.initial->place);
    if (!state.type && initial.weak == Element::Weak::no) {
        strong_[&statement] = {elements.dtype(initial), initial.weak};
        return;
    }
    Element value = expressions_.element(*statement.value, inner);
    if (state.type && state.type->weak == Element::Weak::no && value.weak != Element::Weak::no)
        value = elements.taken_as(value, state.type->dtype, state.name, statement.value->place);
    DType dtype = elements.unify(value, initial, "from", statement.initial->place);
    if (!state.type) {
        (value.weak == Element::Weak::no ? strong_ : weak_)[&statement] = {dtype, value.weak};
        return;
    }
    if (dtype != state.type->dtype) {
        Diagnostic diagnostic = elements.error("symbolic.dtype", statement.value->place,
                                               fmt::format("the state '{}' is read as {} and computed as {}",
                                                           state.name, name(state.type->dtype), name(dtype)));
        diagnostic.remedy = fmt::format("write a cast, as in {}(...)", name(state.type->dtype));
        elements.refuse(std::move(diagnostic));
    }
    if (state.ended) {
        const Value over = Value::of(expressions_.state_before(*state.ended));
        value = expressions_.operations().element(
            expressions_.operations().select(over, Value::of(expressions_.state_before(id)), Value::of(value),
                                             statement.place),
            statement.place);
    }
    if (state.front) {
        value = expressions_.cell_value(*state.front, value, initial, statement.place);
        initial = {expressions_.nodes().integer(0, dtype, true)};  // before the first wave, which reads nothing
    }
    Local& local = body_.locals[state.local];
    local.value = value.node;
    local.initial = initial.node;
    expressions_.state(id).defined = true;
}

// `scan t < n until c`: one more state, whether c has held after a step; from then on all states stay as they are.
StateId BodyBuilder::declare_end(VariableId step, const VariableList& variables) {
    BodyState state = common_state(step, variables);
    state.name = "until";
    state.type = StateType{DType::boolean, Element::Weak::no};
    return expressions_.add_state(std::move(state));
}

void BodyBuilder::end_equation(StateId ended, const Syntax& condition, const Scope& scope) {
    BodyElements& elements = expressions_.elements();
    auto& operations = expressions_.operations();
    const Value holds = expressions_.evaluate(condition, scope);
    const Element element = operations.element(holds, condition.place);
    if (!is_bool(elements.dtype(element)))
        operations.refuse_type(condition.place, "what ends a scan is a condition", "one bool",
                               "compare, as in s[t] < 1e-6");
    const Value over = operations.binary(ScalarOp::logical_or, Value::of(expressions_.state_before(ended)),
                                         Value::of(element), condition.place);
    Local& local = body_.locals[expressions_.state(ended).local];
    local.value = operations.element(over, condition.place).node;
    local.initial = expressions_.nodes().boolean(false);
    expressions_.state(ended).active = false;
    expressions_.state(ended).defined = true;
}

}  // namespace heddle
