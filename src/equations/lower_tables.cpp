#include "equations/lower_tables.h"

#include <algorithm>

#include "equations/equation_body.h"
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

bool TableMaker::wanted(Expr e, const std::vector<AxisId>& axes) const {
    if (e->axes.empty() || data_.at(e)) return false;
    const Expr plain = e->kind == Kind::cast ? Expr(e->parts()[0]) : e;
    if (plain_.at(plain) && !is_long(e)) return false;
    int64_t points = 1;
    int outer = 0;
    for (AxisId axis : e->axes) {
        points = checked_multiply(points, system_.arena->extent(axis)).value_or(INT64_MAX);
        if (std::find(axes.begin(), axes.end(), axis) != axes.end()) outer++;
    }
    return outer <= 1 && points > 0 && points <= table_limit;
}

Expr TableMaker::tabulate(Expr right, const std::vector<AxisId>& axes) {
    for (Expr e : operands_first(right)) {
        bool data = e->is_read(), plain = is_plain_kind(e->kind);
        for (Expr operand : e->parts()) {
            data = data || data_.at(operand);
            plain = plain && plain_.at(operand);
        }
        data_[e] = data;
        plain_[e] = plain;
    }
    // What is tabulated needs nothing below it.
    auto given = [&](Expr e) -> Expr {
        if (wanted(e, axes)) return table_read(e);
        return plain_.at(e) ? e : nullptr;
    };
    auto operands = [](Expr e) { return e->parts(); };
    Arena::Memo memo;
    return remade(right, memo, given, operands,
                  [&](Expr e, std::vector<Expr> made) { return system_.arena->rebuild(e, std::move(made)); });
}

Expr TableMaker::checked(Expr coordinate) {
    Arena& arena = *system_.arena;
    return arena.add(coordinate, table_read(arena.integer(0)));
}

Expr TableMaker::table_read(Expr e) {
    if (auto found = made_.find(e); found != made_.end()) return found->second;
    Equation equation;
    equation.axes = e->axes;
    equation.right = e;
    std::vector<int64_t> shape;
    for (AxisId axis : e->axes) {
        equation.left.push_back(system_.arena->axis_value(axis));
        shape.push_back(system_.arena->extent(axis));
    }
    std::vector<TensorData> outputs = {TensorData(e->dtype, shape)};
    if (!evaluate_body(body_of(system_, equation).body, {}, outputs, Precision::body)) return nullptr;
    std::string key = std::to_string(static_cast<int>(e->dtype));
    for (int64_t extent : shape) key += "," + std::to_string(extent);
    key += ":" +
           std::string(reinterpret_cast<const char*>(outputs[0].data()), static_cast<size_t>(outputs[0].byte_size()));
    auto found = tables_.find(key);
    if (found == tables_.end()) {
        SystemTensor tensor{.name = "table", .kind = SystemTensor::Kind::constant, .dtype = e->dtype, .shape = shape};
        for (int64_t extent : shape) tensor.sizes.emplace_back(extent);
        tensor.constant = outputs[0];
        found = tables_.emplace(key, system_.add_tensor(std::move(tensor))).first;
    }
    Expr read = system_.arena->read(found->second, e->dtype, equation.left);
    made_[e] = read;
    return read;
}

}  // namespace heddle::equations
