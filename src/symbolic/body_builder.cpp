#include "symbolic/body_builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "graph/body_rebuild.h"
#include "symbolic/body_expression.h"
#include "symbolic/environment_state.h"
#include "symbolic/interleaving.h"
#include "symbolic/projection.h"

namespace heddle {
namespace {

using StateTypes = std::map<const Syntax*, StateType>;   // by equation
using WaveReaches = std::map<const Syntax*, WaveReach>;  // by scan

class BodyBuilder {
public:
    // States whose types are not known are assumed to be integers, or reals; scans of several axes, to read next cells.
    BodyBuilder(Environment& environment, const StateTypes& types, const WaveReaches& reaches, bool assume_real,
                std::vector<EquationBox>& written)
        : environment_(environment),
          body_(emptied(environment.state().scratch)),
          expressions_(environment, body_),
          types_(types),
          reaches_(reaches),
          assume_real_(assume_real),
          written_(written) {}

    Result<BodyResult> run() {
        Scope scope;
        block(environment_.metakernel().body, scope, {});
        if (!diagnostics_.empty()) return fail(std::move(diagnostics_));
        // With types still to be found, what was built is an attempt that only found them.
        return found().empty() && wider_.empty() ? finished() : Result<BodyResult>(BodyResult{});
    }

    // The types of states that were not known: weak ones if there are no others.
    const StateTypes& found() const { return strong_.empty() ? weak_ : strong_; }
    bool assumed() const { return assumed_; }
    // Of scans whose states are read at other cells than was known.
    const WaveReaches& wider() const { return wider_; }

private:
    static Body& emptied(Body& body) {
        body.variables.clear();
        body.nodes.clear();
        body.locals.clear();
        body.equations.clear();
        return body;
    }

    // A statement that fails does not hide the errors of those after it; users of its name are silent.
    template <typename F>
    void guarded(const F& statement) {
        try {
            statement();
        } catch (EvaluationFailure& failure) {
            failed_ = true;
            for (Diagnostic& diagnostic : failure.diagnostics) diagnostics_.push_back(std::move(diagnostic));
        }
    }

    void block(const std::vector<SyntaxPointer>& statements, Scope& scope, const VariableList& variables);
    void let(const Syntax& statement, Scope& scope);
    void parallel_block(const Syntax& statement, const Scope& scope, VariableList variables);
    void scan(const Syntax& statement, Scope& scope, VariableList variables);
    void scan_of_cells(const Syntax& statement, Scope& scope, VariableList variables);
    std::vector<StateId> declare_states(const Syntax& statement, Scope& scope, const Scope& inner, BodyState common);
    StateId declare_state(const Syntax& statement, const Scope& scope, BodyState state);
    BodyState common_state(VariableId step, const VariableList& variables);
    void state_equation(const Syntax& statement, const Scope& scope);
    StateId declare_end(VariableId step, const VariableList& variables);
    void end_equation(StateId ended, const Syntax& condition, const Scope& scope);
    void need_untimed(NodeId initial, const BodyState& state, const Place& place);
    void equation(const Syntax& statement, const Scope& scope, const VariableList& variables);
    NodeList coordinates_of(const std::vector<Value>& values, const Place& place);
    NodeList left(const Syntax& statement, const BoundOutput& output, const TensorType& type, Scope& scope,
                  VariableList& variables);
    std::vector<Value> default_left(const Syntax& statement, const BoundOutput& output, const TensorType& type);
    TensorReference written_tensor(const Syntax& statement, int32_t position, const Scope& scope, bool& picked_by_left);
    Result<BodyResult> finished();

    Environment& environment_;
    Body& body_;
    BodyExpressions expressions_;
    Diagnostics diagnostics_;
    bool failed_ = false;
    const StateTypes& types_;
    const WaveReaches& reaches_;
    WaveReaches wider_;
    // Of the block of a scan of several axes first the states are built, in waves, then what it writes, by cells.
    enum class Part : uint8_t { all, states, equations } part_ = Part::all;
    bool assume_real_ = false, assumed_ = false;
    std::vector<EquationBox>& written_;
    StateTypes strong_, weak_;
    InlineVector<TensorReference, 4> outputs_;
    std::vector<const Place*> equation_places_;
};

void BodyBuilder::block(const std::vector<SyntaxPointer>& statements, Scope& scope, const VariableList& variables) {
    for (const SyntaxPointer& statement : statements) {
        guarded([&] {
            const bool is_state = statement->kind == Syntax::Kind::equation && statement->initial;
            const bool is_let = statement->kind == Syntax::Kind::let;
            if (!is_let && part_ != Part::all && is_state != (part_ == Part::states)) return;
            switch (statement->kind) {
            case Syntax::Kind::let: let(*statement, scope); break;
            case Syntax::Kind::parallel_block: parallel_block(*statement, scope, variables); break;
            case Syntax::Kind::scan_block: scan(*statement, scope, variables); break;
            default:
                if (statement->initial)
                    state_equation(*statement, scope);
                else
                    equation(*statement, scope, variables);
            }
        });
    }
}

void BodyBuilder::let(const Syntax& statement, Scope& scope) {
    expressions_.need_new_name(statement.text, scope, statement.place);
    scope.names.set(statement.text, Value::failed());  // until its value is known
    scope.names.set(statement.text, expressions_.let(statement, scope));
}

void BodyBuilder::parallel_block(const Syntax& statement, const Scope& scope, VariableList variables) {
    Scope inner{&scope, {}};
    for (const Generator& generator : statement.generators)
        expressions_.bind(generator, Variable::Kind::parallel, inner, variables);
    block(statement.children, inner, variables);
}

void BodyBuilder::scan(const Syntax& statement, Scope& scope, VariableList variables) {
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
    block(statement.children, inner, variables);
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
            expressions_.need_new_name(child->text, scope, child->mark);
            scope.names.set(child->text, Value::failed());
            StateId state = declare_state(*child, inner, common);
            scope.names.set(child->text, Value::of(BodyArray{BodyArray::Kind::state, state}));
            states.push_back(state);
        });
    }
    return states;
}

// name[t, j < $n, ...]: the axes have extents of their own.
StateId BodyBuilder::declare_state(const Syntax& statement, const Scope& scope, BodyState state) {
    BodyElements& elements = expressions_.elements();
    state.name = statement.text;
    std::vector<std::string> steps{body_.variable(state.step).name};
    if (state.front) steps = state.front->names;
    Scope inner{&scope, {}};
    for (size_t i = 0; i < statement.children.size(); ++i) {
        const Syntax& coordinate = *statement.children[i];
        const bool is_step = i < steps.size();
        const bool fits = is_step ? coordinate.kind == Syntax::Kind::name && coordinate.text == steps[i]
                                  : coordinate.kind == Syntax::Kind::binder;
        if (fits && !is_step)
            expressions_.bind(coordinate.text, *coordinate.children[0], coordinate.place, Variable::Kind::parallel,
                              inner, state.own);
        if (fits) continue;
        Diagnostic diagnostic =
            elements.error("symbolic.scan", coordinate.place, fmt::format("coordinate {} of a state's left side", i));
        diagnostic.expected =
            is_step ? fmt::format("the scan's step, {}", steps[i]) : "a new variable with its extent, as in j < $n";
        diagnostic.found = print(coordinate);
        elements.refuse(std::move(diagnostic));
    }
    if (statement.children.size() < steps.size()) {
        Diagnostic diagnostic = elements.error("symbolic.scan", statement.place, "a state without its step");
        diagnostic.remedy = fmt::format("write {}[{}] = ... from ...", statement.text, fmt::join(steps, ", "));
        elements.refuse(std::move(diagnostic));
    }
    state.own_names = std::move(inner.names);
    if (auto known = types_.find(&statement); known != types_.end()) state.type = known->second;
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

TensorReference BodyBuilder::written_tensor(const Syntax& statement, int32_t position, const Scope& scope,
                                            bool& picked_by_left) {
    const BoundOutput& output = environment_.outputs()[static_cast<size_t>(position)];
    if (!output.spec->variadic) return {position, 0};
    SyntaxPointer pick = statement.pick;
    if (!pick && statement.has_left && statement.children.size() == 1) {
        pick = statement.children[0];  // parts[$i] = ...
        picked_by_left = true;
    }
    auto element = pick ? expressions_.operations().integer(expressions_.evaluate(*pick, scope),
                                                            "the number of an output", pick->place)
                        : environment_.each_value();
    if (element >= 0 && element < static_cast<int64_t>(output.types.size()))
        return {position, static_cast<int32_t>(element)};
    Diagnostic diagnostic = expressions_.elements().error(
        "symbolic.range", statement.place,
        fmt::format("output {} of {} in '{}'", element, output.types.size(), output.spec->name));
    diagnostic.expected = fmt::format("0 .. {}", static_cast<int64_t>(output.types.size()) - 1);
    expressions_.elements().refuse(std::move(diagnostic));
}

// A slice `[:a - 1]` in what gives the index or an output its dimensions: often meant with its end, and one too short.
std::string short_slice(const Template& made) {
    std::string found;
    auto look = [&](const Syntax& node) {
        const Syntax* end = node.kind == Syntax::Kind::slice ? node.children[2].get() : nullptr;
        bool less = end && end->kind == Syntax::Kind::binary && end->text == "-" &&
                    end->children[1]->kind == Syntax::Kind::integer && end->children[1]->integer == 1;
        if (less && found.empty()) found = print(*end->children[0]);
    };
    visit_all(made.index, look);
    for (const TensorSpec& output : made.outputs) visit_all(output.shape, look);
    return found;
}

// Without left coordinates: the element that the index point names.
std::vector<Value> BodyBuilder::default_left(const Syntax& statement, const BoundOutput& output,
                                             const TensorType& type) {
    if (output.spec->ipf && output.spec->ipf->kind == Syntax::Kind::rows) {
        bool elements = true;
        for (const SyntaxPointer& row : output.spec->ipf->children)
            elements = elements && row->kind != Syntax::Kind::whole && row->kind != Syntax::Kind::ranged;
        if (elements)
            return expressions_.expanded(output.spec->ipf->children, static_cast<int64_t>(type.shape.size()), {});
    }
    const std::vector<Value>& all = expressions_.all_coordinates().list();
    if (all.size() == type.shape.size()) return all;
    Diagnostic diagnostic =
        expressions_.elements().error("symbolic.no_element", statement.place,
                                      fmt::format("'{}' has no element of its own at an index point", statement.text));
    diagnostic.expected = fmt::format("an output of as many dimensions as the index, {}", all.size());
    diagnostic.found = fmt::format("{} dimensions", type.shape.size());
    std::string end = short_slice(environment_.metakernel());
    diagnostic.remedy = end.empty() ? fmt::format("give its coordinates: {}[...] = ...", statement.text)
                                    : fmt::format("slices end before their end: did you mean [:{}]?", end);
    expressions_.elements().refuse(std::move(diagnostic));
}

NodeList BodyBuilder::coordinates_of(const std::vector<Value>& values, const Place& place) {
    NodeList result;
    for (const Value& value : values) result.push_back(expressions_.coordinate(value, place));
    return result;
}

NodeList BodyBuilder::left(const Syntax& statement, const BoundOutput& output, const TensorType& type, Scope& scope,
                           VariableList& variables) {
    // A name alone that means nothing yet is a new variable over the whole dimension; `j...` over all that are left.
    struct Part {
        std::string_view name;  // of a new variable
        bool spread = false;
        size_t first = 0, count = 0;  // its values, of coordinates that are not new
        const Place& place;
    };
    std::vector<Value> values;
    values.reserve(type.shape.size());
    InlineVector<Part, 6> parts;
    size_t fixed = 0;
    const Part* open = nullptr;
    for (const SyntaxPointer& child : statement.children) {
        bool spread = child->kind == Syntax::Kind::spread && child->children.size() == 1;
        const Syntax& element = spread ? *child->children[0] : *child;
        Part part{{}, spread, values.size(), 0, child->place};
        bool is_new = element.kind == Syntax::Kind::name && !scope.find(element.text) &&
                      environment_.input_position(element.text) < 0;
        if (is_new) {
            expressions_.need_new_name(element.text, scope, element.place);
            part.name = element.text;
            fixed += spread ? 0 : 1;
        } else {
            if (child->kind == Syntax::Kind::spread) {
                for (Value& value : expressions_.expanded({&child, 1}, std::nullopt, scope))
                    values.push_back(std::move(value));
            } else {
                values.push_back(expressions_.one(*child, scope));
            }
            part.count = values.size() - part.first;
            fixed += part.count;
        }
        parts.push_back(std::move(part));
    }
    size_t rank = type.shape.size();
    for (const Part& part : parts)
        if (!part.name.empty() && part.spread) {
            if (open)
                expressions_.operations().refuse_type(part.place, "two open lists of coordinates", "one j...", "");
            open = &part;
        }
    if (fixed > rank || (!open && fixed < rank)) {
        Diagnostic diagnostic =
            expressions_.elements().error("symbolic.rank", statement.place,
                                          fmt::format("'{}' is written with {} coordinates", output.spec->name, fixed));
        diagnostic.expected = fmt::format("{}, as many as it has dimensions", rank);
        diagnostic.found = std::to_string(fixed);
        expressions_.elements().refuse(std::move(diagnostic));
    }
    if (std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.name.empty(); }))
        return coordinates_of(values, statement.place);
    std::vector<Value> coordinates;
    coordinates.reserve(rank);
    for (const Part& part : parts) {
        if (part.name.empty()) {
            for (size_t i = part.first; i < part.first + part.count; ++i) coordinates.push_back(std::move(values[i]));
            continue;
        }
        if (scope.names.contains(part.name)) expressions_.need_new_name(part.name, scope, part.place);
        std::vector<Value> own;
        for (size_t i = 0; i < (part.spread ? rank - fixed : 1); ++i) {
            VariableId id =
                expressions_.nodes().add_variable(std::string(part.name) + (part.spread ? std::to_string(i) : ""),
                                                  Variable::Kind::parallel, type.shape[coordinates.size()]);
            variables.push_back(id);
            own.push_back(expressions_.variable_value(id));
            coordinates.push_back(own.back());
        }
        scope.names.set(part.name, part.spread ? Value::of(std::move(own)) : own[0]);
    }
    return coordinates_of(coordinates, statement.place);
}

void BodyBuilder::equation(const Syntax& statement, const Scope& scope, const VariableList& variables) {
    int32_t position = environment_.output_position(statement.text);
    BodyElements& elements = expressions_.elements();
    if (position < 0) {
        Diagnostic diagnostic = elements.error("symbolic.unknown_name", statement.place,
                                               fmt::format("'{}' is not an output", statement.text));
        std::vector<std::string> known;
        for (const BoundOutput& output : environment_.outputs()) known.push_back(output.spec->name);
        std::string nearest = nearest_name(statement.text, known);
        diagnostic.remedy = !nearest.empty() ? fmt::format("did you mean {}?", nearest)
                                             : fmt::format("name a value with let {} = ...", statement.text);
        elements.refuse(std::move(diagnostic));
    }
    const BoundOutput& output = environment_.outputs()[static_cast<size_t>(position)];
    if (!output.requested) return;
    Scope inner{&scope, {}};
    bool picked_by_left = false;
    TensorReference reference = written_tensor(statement, position, inner, picked_by_left);
    const TensorType& type = output.types[static_cast<size_t>(reference.element)];
    BodyEquation result;
    result.variables = expressions_.index_variables();
    result.variables.insert(result.variables.end(), variables.begin(), variables.end());
    if (statement.has_left && !picked_by_left) {
        result.left = left(statement, output, type, inner, result.variables);
    } else {
        result.left = coordinates_of(default_left(statement, output, type), statement.place);
    }
    Element stored = expressions_.element(*statement.value, inner);
    result.value = elements.stored(stored, type.dtype, output.spec->name, statement.value->place);
    auto known = std::find(outputs_.begin(), outputs_.end(), reference);
    result.output = static_cast<int32_t>(known - outputs_.begin());
    if (known == outputs_.end()) outputs_.push_back(reference);
    body_.equations.push_back(std::move(result));
    equation_places_.push_back(&statement.place);
}

Result<BodyResult> BodyBuilder::finished() {
    BodyResult result;
    join_interleaved(body_, expressions_.nodes(), equation_places_);
    // Outputs and inputs in the template's order, whatever the order in which equations name them.
    InlineVector<size_t, 8> order(outputs_.size());
    result.inputs.reserve(expressions_.tensors().size());
    result.outputs.reserve(order.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::pair(outputs_[a].position, outputs_[a].element) <
               std::pair(outputs_[b].position, outputs_[b].element);
    });
    InlineVector<int32_t, 8> renumbered(outputs_.size());
    for (size_t i = 0; i < order.size(); ++i) {
        renumbered[order[i]] = static_cast<int32_t>(i);
        result.outputs.push_back(outputs_[order[i]]);
    }
    for (BodyEquation& equation : body_.equations) equation.output = renumbered[static_cast<size_t>(equation.output)];

    std::span<const BodyTensor> tensors = expressions_.tensors();
    InlineVector<bool, 8> read = tensors_read(body_, static_cast<int32_t>(tensors.size()));
    InlineVector<int32_t, 8> kept;
    ProjectedBody projected;
    projected.inputs.reserve(tensors.size());
    projected.outputs.reserve(result.outputs.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (!read[i]) continue;
        kept.push_back(static_cast<int32_t>(i));
        result.inputs.push_back(tensors[i].reference);
        projected.inputs.push_back({tensors[i].bound->name, extents_of(tensors[i].bound->type), tensors[i].spec});
    }
    for (const TensorReference& reference : result.outputs) {
        const BoundOutput& output = environment_.outputs()[static_cast<size_t>(reference.position)];
        projected.outputs.push_back(
            {output.spec->name, extents_of(output.types[static_cast<size_t>(reference.element)]), output.spec});
    }
    InlineVector<NodeId, 64> renumbered_nodes;
    auto body = std::make_shared<const Body>(compacted(std::move(body_), kept, &renumbered_nodes));
    projected.read_places.resize(body->nodes.size());
    for (const auto& [node, place] : expressions_.read_places()) {
        NodeId now = renumbered_nodes[static_cast<size_t>(node)];
        if (now < 0) continue;
        const Place*& first = projected.read_places[static_cast<size_t>(now)];
        if (!first) first = place;
    }
    projected.body = body.get();
    projected.places = std::move(equation_places_);
    projected.references = result.outputs;
    auto projections = project(environment_, projected, written_);
    if (!projections) return fail(std::move(projections.error()));
    result.projections = std::move(*projections);
    result.body = std::move(body);
    return result;
}

}  // namespace

Result<BodyResult> build_body(Environment& environment, std::vector<EquationBox>& written) {
    // A state's equation reads the state: its type is found by building with the types that are known so far.
    // What its reads reach is found in the same way.
    StateTypes types;
    WaveReaches reaches;
    std::optional<Result<BodyResult>> of_integers;
    for (;;) {
        BodyBuilder builder(environment, types, reaches, of_integers.has_value(), written);
        auto result = builder.run();
        if (!builder.found().empty()) {
            types.insert(builder.found().begin(), builder.found().end());
        } else if (!builder.wider().empty()) {
            for (const auto& [scan, reach] : builder.wider()) reaches.insert_or_assign(scan, reach);
        } else if (result || !builder.assumed()) {
            return result;
        } else if (of_integers) {
            return std::move(*of_integers);
        } else {
            of_integers = std::move(result);  // a mean, say, is of reals alone
        }
    }
}

}  // namespace heddle
