#include "equations/lower_tables.h"

#include <algorithm>
#include <set>

#include "equations/equation_body.h"
#include "equations/turns.h"
#include "evaluate/evaluate.h"
#include "expr/remake.h"
#include "zspace/checked.h"

namespace heddle::equations {
namespace {

constexpr int64_t table_limit = 65536;  // elements

// Literals, quasi-affine coordinates, and conditions and selections of those.
bool is_plain_kind(Kind kind) {
    switch (kind) {
    case Kind::scalar:
    case Kind::cast:
    case Kind::read:
    case Kind::guarded_read: return false;
    default: return true;
    }
}

// A list that is read at an axis is a chain of selections. A coordinate should rather be that than data.
bool is_long(Expr e) {
    constexpr size_t longest_value = 32, longest_coordinate = 128;  // nodes
    if (e->kind == Kind::cast) e = e->parts()[0];
    if (e->kind != Kind::select) return false;
    return walk(e).size() > (e->dtype == DType::int64 ? longest_coordinate : longest_value);
}

}  // namespace

// What the table of `e` is over: its axes, and where a long one is in remainders by few alone, as the weights of phases
// are, these remainders.
std::vector<Expr> TableMaker::variables_of(Expr e) const {
    constexpr int64_t most_phases = 16;
    const auto is_phase = [&](Expr part) {
        if (part->kind != Kind::modulo || part->integer.named() || part->integer > most_phases) return false;
        return std::ranges::all_of(part->axes,
                                   [&](AxisId axis) { return system_.arena->extent(axis) > part->integer; });
    };
    std::vector<Expr> found, stack = {e};
    std::set<Expr> seen;
    while (!stack.empty()) {
        Expr part = stack.back();
        stack.pop_back();
        if (part->axes.empty() || !seen.insert(part).second) continue;
        if (part->kind == Kind::variable || is_phase(part)) {
            found.push_back(part);
            continue;
        }
        for (Expr operand : part->parts()) stack.push_back(operand);
    }
    std::ranges::sort(found, {}, [](Expr part) { return std::pair(part->kind != Kind::variable, part->id); });
    return found;
}

bool TableMaker::wanted(Expr e, const std::vector<AxisId>& axes) const {
    if (e->axes.empty() || data_.at(e)) return false;
    const Expr plain = e->kind == Kind::cast ? Expr(e->parts()[0]) : e;
    if (plain_.at(plain) && !is_long(e)) return false;
    int64_t points = 1;
    int outer = 0, named = 0;
    for (Expr variable : variables_of(e)) {
        const bool is_axis = variable->kind == Kind::variable;
        const Size& extent = is_axis ? system_.arena->extent(variable->axes[0]) : variable->integer;
        if (extent.named() && ++named > 1) return false;  // of one alone the table is small beside what it is read for
        if (!extent.named()) points = checked_multiply(points, extent.number()).value_or(INT64_MAX);
        if (is_axis && std::find(axes.begin(), axes.end(), variable->axes[0]) != axes.end()) outer++;
    }
    return outer <= 1 && points > 0 && points <= table_limit;
}

bool TableMaker::is_kept_turn(Expr e, const std::vector<AxisId>& axes) const {
    const auto is_free = [&](AxisId axis) { return std::ranges::find(axes, axis) != axes.end(); };
    return is_turn(*system_.arena, e) && is_free(e->axes[0]) != is_free(e->axes[1]);
}

Expr TableMaker::tabulate(Expr right, const std::vector<AxisId>& axes, Turns turns) {
    std::set<Expr> kept;
    for (Expr e : operands_first(right)) {
        bool data = e->is_read(), plain = is_plain_kind(e->kind);
        if (turns == Turns::kept && is_kept_turn(e, axes)) {
            kept.insert(e);
            data = keeps_turns_ = true;
        }
        for (Expr operand : e->parts()) {
            data = data || data_.at(operand);
            plain = plain && plain_.at(operand);
        }
        data_[e] = data;
        plain_[e] = plain;
    }
    // What is tabulated needs nothing below it.
    auto given = [&](Expr e) -> Expr {
        if (kept.contains(e)) return e;
        if (wanted(e, axes)) return table_read(e);
        return plain_.at(e) ? e : nullptr;
    };
    auto operands = [](Expr e) { return e->parts(); };
    Arena::Memo memo;
    return remade(right, memo, given, operands,
                  [&](Expr e, std::vector<Expr> made) { return system_.arena->rebuild(e, std::move(made)); });
}

Expr TableMaker::table(Expr e) {
    Expr read = table_read(e);
    return e->axes.empty() ? system_.arena->real(e->dtype, system_.tensor(read->tensor()).constant->real_at(0)) : read;
}

Expr TableMaker::checked(Expr coordinate) {
    Arena& arena = *system_.arena;
    return arena.add(coordinate, table_read(arena.integer(0)));
}

Expr TableMaker::table_read(Expr e) {
    if (auto found = made_.find(e); found != made_.end()) return found->second;
    const std::vector<Expr> variables = variables_of(e);
    Equation equation = table_equation(e, variables);
    const TensorIndex table = e->has_named_sizes ? computed_table(e, std::move(equation)) : constant_table(e, equation);
    if (table == no_id) return nullptr;
    return made_[e] = system_.arena->read(table, e->dtype, variables);
}

Equation TableMaker::table_equation(Expr e, const std::vector<Expr>& variables) {
    Arena& arena = *system_.arena;
    Equation equation;
    Arena::Memo renamed;
    for (Expr variable : variables) {
        const bool is_axis = variable->kind == Kind::variable;
        const AxisId axis = arena.add_axis(is_axis ? arena.axis(variable->axes[0]) : Axis{.name = "phase", .extent = variable->integer});
        equation.axes.push_back(axis);
        equation.left.push_back(arena.axis_value(axis));
        renamed[variable] = equation.left.back();
    }
    const auto given = [&](Expr part) {
        const auto found = renamed.find(part);
        return found == renamed.end() ? nullptr : found->second;
    };
    Arena::Memo memo;
    equation.right = remade(
        e, memo, given, [](Expr part) { return part->parts(); },
        [&](Expr part, std::vector<Expr> made) { return arena.rebuild(part, std::move(made)); });
    return equation;
}

TensorIndex TableMaker::constant_table(Expr e, const Equation& equation) {
    std::vector<int64_t> shape;
    for (AxisId axis : equation.axes) shape.push_back(system_.arena->extent(axis));
    std::vector<TensorData> outputs = {TensorData(e->dtype, shape)};
    if (!evaluate_body(body_of(system_, equation).body, {}, outputs, Precision::body)) return no_id;
    std::string key = std::to_string(static_cast<int>(e->dtype));
    for (int64_t extent : shape) key += "," + std::to_string(extent);
    key += ":" +
           std::string(reinterpret_cast<const char*>(outputs[0].data()), static_cast<size_t>(outputs[0].byte_size()));
    auto found = tables_.find(key);
    if (found == tables_.end()) {
        SystemTensor tensor{.name = "table", .kind = SystemTensor::Kind::constant, .dtype = e->dtype};
        tensor.shape.assign(shape.begin(), shape.end());
        tensor.constant = outputs[0];
        found = tables_.emplace(key, system_.add_tensor(std::move(tensor))).first;
    }
    return found->second;
}

// Whoever reads it would work it out for each of its elements.
TensorIndex TableMaker::computed_table(Expr e, Equation equation) {
    SystemTensor tensor{.name = "table", .dtype = e->dtype, .keep_name = true};
    for (AxisId axis : equation.axes) tensor.shape.push_back(system_.arena->extent(axis));
    equation.tensor = system_.add_tensor(std::move(tensor));
    if (e->dtype == DType::int64 && e->low.number() != INT64_MIN && e->high.number() != INT64_MAX)
        system_.arena->declare_range(equation.tensor, e->low, e->high);
    return system_.equation(system_.add_equation(std::move(equation))).tensor;
}

}  // namespace heddle::equations
