// Scans of several axes in a body: their cells, and how states are read at them (wavefront.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "symbolic/body_expression.h"
#include "symbolic/projection_range.h"

namespace heddle {
namespace {

constexpr int64_t most_distance = 64;  // of cells, and of waves
constexpr int64_t most_range_steps = 10'000;

Value extent_value(const Size& size) { return Value::of(size).with_from_template(false); }

}  // namespace

std::shared_ptr<Wavefront> BodyExpressions::open_wavefront(const Syntax& statement, const WaveReach& reach,
                                                           Scope& scope) {
    auto front = std::make_shared<Wavefront>();
    front->reach = reach;
    auto combined = [&](ScalarOp op, const Value& a, const Value& b) {
        return operations().binary(op, a, b, statement.place);
    };
    Value waves = extent_value(1);
    for (size_t axis = 0; axis < statement.generators.size(); ++axis) {
        Scope extents{&scope, {}};
        VariableList bound;
        bind(statement.generators[axis], Variable::Kind::parallel, extents, bound);
        if (bound.size() != 1) {
            Diagnostic diagnostic = elements_.error("symbolic.scan", statement.generators[axis].place,
                                                    "an axis of a scan is one variable, and this extent is a list");
            diagnostic.remedy = "give each axis its own extent, as in scan i < $m, j < $n:";
            elements_.refuse(std::move(diagnostic));
        }
        front->names.push_back(statement.generators[axis].name);
        front->extents.push_back(combined(ScalarOp::add, extent_value(body_.variable(bound[0]).extent),
                                          extent_value(reach.below[axis] + reach.above[axis])));
        const Value last = combined(ScalarOp::subtract, front->extents.back(), extent_value(1));
        waves = combined(ScalarOp::add, waves, combined(ScalarOp::multiply, last, extent_value(reach.slopes[axis])));
    }
    front->wave =
        nodes_.add_variable(fmt::format("{}", fmt::join(front->names, "_")), Variable::Kind::ordered, waves.size());
    Value last = variable_value(front->wave);
    front->inside = Value::of(true);
    for (size_t axis = 0; axis < front->names.size(); ++axis) {
        const bool is_last = axis + 1 == front->names.size();
        Value position = last;
        if (!is_last) {
            front->positions.push_back(
                nodes_.add_variable(front->names[axis], Variable::Kind::parallel, front->extents[axis].size()));
            position = variable_value(front->positions.back());
            last = combined(ScalarOp::subtract, last,
                            combined(ScalarOp::multiply, position, Value::of(reach.slopes[axis])));
        }
        const Value below = Value::of(reach.below[axis]);
        const Value above = combined(ScalarOp::subtract, front->extents[axis], Value::of(reach.above[axis]));
        auto ask = [&](ScalarOp op, const Value& limit) {
            front->inside = combined(ScalarOp::logical_and, front->inside, combined(op, position, limit));
        };
        ask(ScalarOp::greater_equal, below);
        if (is_last || reach.above[axis] > 0) ask(ScalarOp::less, above);
        front->cell.push_back(combined(ScalarOp::subtract, position, below));
        need_new_name(front->names[axis], scope, statement.generators[axis].place);
        scope.names.set(front->names[axis], front->cell.back());
    }
    front->bordered = combined(ScalarOp::logical_and, combined(ScalarOp::greater_equal, last, Value::of(0)),
                               combined(ScalarOp::less, last, front->extents.back()));
    return front;
}

// `value` inside, `border` around it; nothing is read of cells that are neither.
Element BodyExpressions::cell_value(const Wavefront& front, Element value, Element border, const Place& place) {
    Value result = operations().select(front.inside, Value::of(value), Value::of(border), place);
    if (nodes_.has_open_read(border.node)) {
        const Element zero{nodes_.integer(0, elements_.dtype(border), true), border.weak};
        result = operations().select(front.bordered, result, Value::of(zero), place);
    }
    return operations().element(result, place);
}

// The state as an array of its cells with their border, for reads behind the scan.
LocalId BodyExpressions::cells_of(StateId id) {
    if (states_[id].cells != no_id) return states_[id].cells;
    const BodyState& state = states_[id];
    const Wavefront& front = *state.front;
    VariableList axes;
    NodeList at{no_id};
    for (VariableId outer : state.outer) at.push_back(nodes_.variable(outer));
    NodeId wave = nodes_.integer(1, DType::int64, true);  // wave 0 stands behind what comes before the first one
    for (size_t axis = front.names.size(); axis-- > 0;) {
        axes.insert(axes.begin(),
                    nodes_.add_variable(front.names[axis], Variable::Kind::parallel, front.extents[axis].size()));
        const NodeId slope = nodes_.integer(front.reach.slopes[axis], DType::int64, true);
        wave =
            nodes_.scalar(ScalarOp::add, {nodes_.scalar(ScalarOp::multiply, {nodes_.variable(axes[0]), slope}), wave});
    }
    at[0] = wave;
    for (size_t axis = 0; axis + 1 < front.names.size(); ++axis) at.push_back(nodes_.variable(axes[axis]));
    for (size_t i = front.positions.size(); i < state.own.size(); ++i) {
        const Variable own = body_.variable(state.own[i]);
        axes.push_back(nodes_.add_variable(own.name, own.kind, own.extent));
        at.push_back(nodes_.variable(axes.back()));
    }
    const Element value{nodes_.local(state.local, state.type->dtype, std::move(at)), state.type->weak};
    const LocalId cells = add_local(state.name + "_and_border", std::move(axes), value);
    return states_[id].cells = cells;
}

// from - to, where this is the same everywhere.
std::optional<int64_t> BodyExpressions::distance_to(const Value& from, const Value& to, const Place& place) {
    int64_t budget = most_range_steps;
    RangeEvaluator ranges(body_, full_region(body_), &budget);
    const auto& form = ranges.of(coordinate(operations().binary(ScalarOp::subtract, from, to, place), place)).affine;
    return form && form->terms.empty() ? std::optional(form->constant) : std::nullopt;
}

// What the block of the scan writes may read the border, too.
void BodyExpressions::note_written(Wavefront& front, const std::vector<Value>& given, const Place& place) {
    CellOffset offset;
    for (size_t axis = 0; axis < front.written.size(); ++axis) {
        const auto distance = distance_to(variable_value(front.written[axis]), given[axis], place);
        const bool near = distance && *distance <= most_distance && *distance >= -most_distance;
        offset.push_back(near ? *distance : 0);
    }
    if (!offset.empty()) front.written_from.push_back(std::move(offset));
}

// How far before the present cell; refused where this is not the same for all cells, or no cell before it.
CellOffset BodyExpressions::cell_offset(const BodyState& state, const std::vector<Value>& given, const Place& place) {
    const Wavefront& front = *state.front;
    auto refuse_cell = [&](std::string summary, std::string remedy) {
        Diagnostic diagnostic = elements_.error("symbolic.state_step", place, std::move(summary));
        diagnostic.expected =
            fmt::format("a fixed distance to a cell that comes before [{}], row by row", fmt::join(front.names, ", "));
        diagnostic.reason = "a scan computes its cells in order";
        diagnostic.remedy = std::move(remedy);
        elements_.refuse(std::move(diagnostic));
    };
    CellOffset offset;
    for (size_t axis = 0; axis < front.names.size(); ++axis) {
        const auto distance = distance_to(front.cell[axis], given[axis], place);
        if (!distance)
            refuse_cell(fmt::format("'{}' is read at coordinate {}, which is not {} less a number", state.name, axis,
                                    front.names[axis]),
                        fmt::format("scan the axes before {0} alone, and give the state {0} as an axis of its own, "
                                    "{0} < ...: their step before is read at any {0}",
                                    front.names[axis]));
        if (*distance > most_distance || *distance < -most_distance)
            refuse_cell(fmt::format("'{}' is read {} cells away", state.name, *distance),
                        fmt::format("read at most {} cells away", most_distance));
        offset.push_back(*distance);
    }
    const bool present = offset == CellOffset(offset.size(), 0);
    if (present && !state.defined)
        refuse_cell(fmt::format("'{}' is read at the present cell before its equation", state.name),
                    "read a cell before it, or put its equation first");
    if (!present && !leads_before(offset))
        refuse_cell(fmt::format("'{}' is read at a cell that comes later", state.name),
                    "to go the other way, count cells from the end: x[$n - 1 - j]");
    return offset;
}

// Inside its scan at cells before and, behind its equation, at the present one; after it at any, also of the border.
Value BodyExpressions::read_cell(StateId id, const std::vector<Value>& given, const Place& place) {
    const BodyState state = states_[id];
    Wavefront& front = *state.front;
    const size_t rank = front.names.size() + state.own.size() - front.positions.size();
    if (given.size() != rank) refuse_rank(state.name, rank, given.size(), place);
    if (!state.active && !state.defined) throw EvaluationFailure{};
    if (!state.active) note_written(front, given, place);
    if (!state.active && state.type) return read_local(cells_of(id), with_border(front, given, place), place);
    const CellOffset offset = state.active ? cell_offset(state, given, place) : CellOffset(front.names.size(), 0);
    if (state.active) front.offsets.push_back(offset);
    if (!state.type && state.assumed_real)
        return Value::of(Element{nodes_.real(0, DType::float64, true), Element::Weak::real});
    if (!state.type) return Value::of(elements_.weak_integer(0, true));
    const int64_t waves = front.reach.waves_back(offset);
    const bool present = offset == CellOffset(offset.size(), 0);
    if (!present && !front.reach.covers(offset))  // an attempt: it finds what reads ask for
        return Value::of(Element{nodes_.integer(0, state.type->dtype, true), state.type->weak});
    if (waves > most_distance) {
        Diagnostic diagnostic =
            elements_.error("symbolic.state_step", place, fmt::format("'{}' is read {} waves back", state.name, waves));
        diagnostic.expected = fmt::format("at most {}", most_distance);
        diagnostic.reason = fmt::format("cells are computed in waves, those of one {} together",
                                        front.reach.slopes[0] == 1 ? "anti-diagonal" : "slanted line");
        diagnostic.remedy = "scan the first axis alone, and give the state the others as axes of its own";
        elements_.refuse(std::move(diagnostic));
    }
    NodeList at;
    for (VariableId outer : state.outer) at.push_back(nodes_.variable(outer));
    for (size_t axis = 0; axis < front.positions.size(); ++axis)
        at.push_back(coordinate(operations().binary(ScalarOp::subtract, variable_value(front.positions[axis]),
                                                    Value::of(offset[axis]), place),
                                place));
    for (size_t i = front.names.size(); i < given.size(); ++i) at.push_back(coordinate(given[i], place));
    NodeId node;
    if (present) {
        const NodeId one = nodes_.integer(1, DType::int64, true);
        at.insert(at.begin(), nodes_.scalar(ScalarOp::add, {nodes_.variable(front.wave), one}));
        node = nodes_.local(state.local, state.type->dtype, std::move(at));
    } else {
        const StateId source = waves > 1 ? delayed_state(id, waves - 1) : id;
        node = nodes_.previous(states_[source].local, state.type->dtype, std::move(at));
    }
    elements_.note_read(node, place);
    return Value::of(Element{node, state.type->weak});
}

std::vector<Value> BodyExpressions::with_border(const Wavefront& front, std::vector<Value> given, const Place& place) {
    for (size_t axis = 0; axis < front.names.size(); ++axis)
        given[axis] = operations().binary(ScalarOp::add, given[axis], Value::of(front.reach.below[axis]), place);
    return given;
}

// d[i - 1, j, k - 1] ?? otherwise: in the scan the border has the values outside, and `otherwise` is for own axes.
Value BodyExpressions::guarded_cell(StateId id, const std::vector<Value>& given, const Value& otherwise,
                                    const Place& place) {
    const BodyState state = states_[id];
    const Value inside = read_cell(id, given, place);
    std::vector<Value> coordinates = with_border(*state.front, given, place);
    std::vector<Size> extents;
    for (const Value& extent : state.front->extents) extents.push_back(extent.size());
    if (state.active) {
        coordinates.erase(coordinates.begin(), coordinates.begin() + static_cast<std::ptrdiff_t>(extents.size()));
        extents.clear();
    }
    for (size_t i = state.front->positions.size(); i < state.own.size(); ++i)
        extents.push_back(body_.variable(state.own[i]).extent);
    return chosen_inside(coordinates, extents, inside, otherwise, place);
}

}  // namespace heddle
