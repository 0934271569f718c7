#include <algorithm>
#include <cassert>

#include "expr/arena_interval.h"
#include "expr/arena.h"
#include "expr/remake.h"
#include "expr/scalar_interval.h"
#include "support/narrow_float.h"
#include "zspace/class_order.h"

namespace heddle::expr {
namespace {

constexpr int64_t exact_in_double = int64_t{1} << 53;

InlineVector<ExpressionId, 4> ids(const std::vector<Expr>& operands) {
    InlineVector<ExpressionId, 4> result;
    for (Expr operand : operands) result.push_back(operand->id);
    return result;
}

std::vector<AxisId> merged_axes(const Interned& expression) {
    std::vector<AxisId> axes;
    for (Expr operand : expression.parts()) {
        if (axes.empty()) {
            axes = operand->axes;
        } else if (axes != operand->axes) {
            std::vector<AxisId> both;
            std::set_union(axes.begin(), axes.end(), operand->axes.begin(), operand->axes.end(),
                           std::back_inserter(both));
            axes = std::move(both);
        }
    }
    return axes;
}

// The conditions that a nested conjunction joins.
void collect_conditions(Expr condition, std::vector<Expr>& conditions) {
    while (condition->kind == Kind::conjunction) {
        conditions.push_back(condition->parts()[0]);  // never a conjunction itself
        condition = condition->parts()[1];
    }
    conditions.push_back(condition);
}

// Of `d + a < 0` and `d + b < 0` only the stronger one is kept.
bool implied_by(Expr condition, Expr other) {
    if (condition->kind != Kind::negative || other->kind != Kind::negative) return false;
    const CoordinateForm weak = linear_form(condition->parts()[0]), strong = linear_form(other->parts()[0]);
    return weak.terms == strong.terms && weak.constant <= strong.constant;
}

bool is_boolean_literal(Expr e, bool value) {
    return e->kind == Kind::integer && e->dtype == DType::boolean && (e->integer != 0) == value;
}

// Every value of `narrow` is a value of `wide`, and back without loss.
bool widens(DType narrow, DType wide) {
    if (narrow == wide) return true;
    const DTypeInfo &from = info(narrow), &to = info(wide);
    if (is_narrow(narrow) && is_float(narrow)) return wide == DType::float32 || wide == DType::float64;
    if (from.kind == DTypeClass::floating) return wide == DType::float64;
    if (from.kind == DTypeClass::boolean || to.kind == DTypeClass::boolean || to.kind == DTypeClass::floating)
        return false;
    return from.kind == to.kind ? to.bits >= from.bits
                                : from.kind == DTypeClass::unsigned_integer && to.bits > from.bits;
}

}  // namespace

AxisId Arena::add_axis(Axis axis) {
    if (axis.factor == 0) axis.factor = axis.extent.factor();
    axes_.push_back(std::move(axis));
    return last_id<AxisId>(axes_);
}

Expr Arena::intern(Expression expression, std::vector<Size> coefficients) {
    size_t hash = hash_of(expression);
    for (const Size& coefficient : coefficients) hash = mixed_hash(hash, coefficient.hash());
    const auto [number, added] = table_.intern(hash, [&](int32_t number) {
        Expr other = at(ExpressionId(number));
        return same(*other, expression) && std::ranges::equal(other->coefficients, coefficients, &Size::same_as);
    });
    const ExpressionId id(number);
    if (!added) return at(id);
    Interned made{std::move(expression)};
    made.arena = this;
    made.id = id;
    made.coefficients = std::move(coefficients);
    made.axes = made.kind == Kind::variable ? std::vector{made.axis()} : merged_axes(made);
    int64_t nodes = 1;
    for (Expr operand : made.parts()) nodes += operand->nodes;
    made.nodes = static_cast<int32_t>(std::min<int64_t>(nodes, INT32_MAX));
    made.has_reads = made.is_read() || std::ranges::any_of(made.parts(), &Interned::has_reads);
    made.has_named_sizes = made.integer.named() || std::ranges::any_of(made.coefficients, &Size::named) ||
                           (made.kind == Kind::variable && axis(made.axis()).extent.named()) ||
                           std::ranges::any_of(made.parts(), &Interned::has_named_sizes);
    Interval range = interval_of(made);
    if (made.kind == Kind::read && made.dtype == DType::int64) {
        if (auto given = ranges_.find(made.tensor()); given != ranges_.end()) range = given->second;
    }
    made.low = range.low;
    made.high = range.high;
    pool_.push_back(std::move(made));
    return &pool_.back();
}

Expr Arena::integer(const Size& value) { return literal(DType::int64, value); }

Expr Arena::literal(DType dtype, const Size& value, bool from_template) {
    return intern({.kind = Kind::integer, .dtype = dtype, .integer = value, .from_template = from_template});
}

Expr Arena::real(DType dtype, double value, bool from_template) {
    const double rounded = rounded_to(dtype, value);  // so that it is the same when it is printed and read
    return intern({.kind = Kind::real, .dtype = dtype, .real = rounded, .from_template = from_template});
}

Expr Arena::axis_value(AxisId id) {
    if (canonical_ && axis(id).extent.same_as(1) && !axis(id).named) return integer(0);
    return intern({.kind = Kind::variable, .dtype = DType::int64, .index = id});
}

Expr Arena::truth(bool value) { return literal(DType::boolean, value); }

Expr Arena::conjunction(Expr a, Expr b) {
    std::vector<Expr> conditions, kept;
    collect_conditions(a, conditions);
    collect_conditions(b, conditions);
    if (!canonical_) return joined(conditions);
    std::sort(conditions.begin(), conditions.end(), [](Expr x, Expr y) { return x->id < y->id; });
    conditions.erase(std::unique(conditions.begin(), conditions.end()), conditions.end());
    for (Expr condition : conditions) {
        if (is_boolean_literal(condition, false)) return condition;
        if (is_boolean_literal(condition, true)) continue;
        const bool implied = std::any_of(conditions.begin(), conditions.end(), [&](Expr other) {
            return other != condition && implied_by(condition, other);
        });
        if (!implied) kept.push_back(condition);
    }
    return kept.empty() ? truth(true) : joined(kept);
}

Expr Arena::joined(const std::vector<Expr>& conditions) {
    Expr result = conditions.back();
    for (size_t i = conditions.size() - 1; i-- > 0;) {
        result =
            intern({.kind = Kind::conjunction, .dtype = DType::boolean, .operands = {conditions[i]->id, result->id}});
    }
    return result;
}

Expr Arena::scalar(ScalarOp op, DType dtype, std::vector<Expr> operands) {
    if (Expr simpler = canonical_ ? simplified(op, dtype, operands) : nullptr) return simpler;
    return intern({.kind = Kind::scalar, .dtype = dtype, .op = op, .operands = ids(operands)});
}

Expr Arena::simplified(ScalarOp op, DType dtype, const std::vector<Expr>& operands) {
    auto is_one = [](Expr e) {
        return e->from_template &&
               ((e->kind == Kind::real && e->real == 1) || (e->kind == Kind::integer && e->integer == 1));
    };
    if (op == ScalarOp::multiply && is_one(operands[0])) return operands[1];
    if ((op == ScalarOp::multiply || op == ScalarOp::divide) && is_one(operands[1])) return operands[0];
    // A square is a product, whoever wrote the exponent: exact either way, and forty times cheaper.
    if (op == ScalarOp::power && operands[1]->kind == Kind::real && operands[1]->real == 2) {
        return scalar(ScalarOp::multiply, dtype, {operands[0], operands[0]});
    }
    // Where axes have become numbers, which branch is taken is known: the other one may read outside.
    const auto is_number = [](Expr e) { return e->kind == Kind::integer && e->dtype == DType::int64; };
    if (operands.size() == 2 && is_number(operands[0]) && is_number(operands[1])) {
        const Size &a = operands[0]->integer, &b = operands[1]->integer;
        if (op == ScalarOp::less) return truth(a < b);
        if (op == ScalarOp::less_equal) return truth(a <= b);
        if (op == ScalarOp::greater) return truth(a > b);
        if (op == ScalarOp::greater_equal) return truth(a >= b);
        if (op == ScalarOp::equal) return truth(a == b);
        if (op == ScalarOp::not_equal) return truth(a != b);
    }
    if (op == ScalarOp::logical_and || op == ScalarOp::logical_or) {
        const bool neutral = op == ScalarOp::logical_and;
        for (size_t i = 0; i < 2; i++) {
            if (is_boolean_literal(operands[i], neutral)) return operands[1 - i];
            if (is_boolean_literal(operands[i], !neutral)) return operands[i];
        }
    }
    if (op == ScalarOp::logical_not) {
        if (operands[0]->kind == Kind::integer) return truth(operands[0]->integer == 0);
        // not (d < 0)  <=>  -1 - d < 0
        if (operands[0]->kind == Kind::negative) return less(integer(-1), operands[0]->parts()[0]);
    }
    return nullptr;
}

Expr Arena::cast(DType dtype, Expr value) {
    if (value->dtype == dtype) return value;
    if (Expr simpler = canonical_ ? simplified_cast(dtype, value) : nullptr) return simpler;
    return intern({.kind = Kind::cast, .dtype = dtype, .operands = {value->id}});
}

Expr Arena::simplified_cast(DType dtype, Expr value) {
    if (value->kind == Kind::cast && value->parts()[0]->dtype == dtype && widens(dtype, value->dtype)) {
        return value->parts()[0];
    }
    // What float64 has of an integer, as of a count that a mean divides by, float32 rounds as it would the integer.
    if (dtype == DType::float32 && value->kind == Kind::cast && value->dtype == DType::float64 &&
        is_integer(value->parts()[0]->dtype) && interval(value->parts()[0]).within(-exact_in_double, exact_in_double))
        return cast(dtype, value->parts()[0]);
    // int64 to another integer type and back, where it is known to fit; uint64 has all the bits.
    if (dtype == DType::int64 && value->kind == Kind::cast && value->parts()[0]->dtype == DType::int64 &&
        is_integer(value->dtype)) {
        if (interval(value->parts()[0]).within(heddle::interval_of(value->dtype))) return value->parts()[0];
    }
    // A choice of what is known in that type is made in that type.
    if (value->kind == Kind::select) {
        Expr then = simplified_cast(dtype, value->parts()[1]), otherwise = simplified_cast(dtype, value->parts()[2]);
        if (then && otherwise) return select(value->parts()[0], then, otherwise);
    }
    if (value->kind == Kind::real && is_float(dtype)) {
        return real(dtype, value->real, value->from_template);
    }
    if (value->kind == Kind::integer && value->dtype != DType::uint64) {
        if (is_integer(dtype)) {
            if (holds(dtype, Interval::point(value->integer))) return literal(dtype, value->integer, value->from_template);
            if (value->integer.named()) return nullptr;  // wrapped when it runs
            return literal(dtype, wrapped_to(dtype, value->integer.number()), value->from_template);
        }
        const int64_t number = value->integer.number();
        const bool exact = number >= -exact_in_double && number <= exact_in_double;
        if (is_float(dtype) && exact && !value->integer.named()) {
            return real(dtype, static_cast<double>(value->integer.value()), value->from_template);
        }
    }
    return nullptr;
}

Expr Arena::select(Expr condition, Expr then, Expr otherwise) {
    assert(condition->dtype == DType::boolean && then->dtype == otherwise->dtype);
    if (canonical_) {
        if (condition->kind == Kind::integer) return condition->integer != 0 ? then : otherwise;
        if (then->kind == Kind::select && then->parts()[0] == condition) then = then->parts()[1];
        if (otherwise->kind == Kind::select && otherwise->parts()[0] == condition) otherwise = otherwise->parts()[2];
        if (then == otherwise) return then;
        const bool line_decides = condition->kind == Kind::negative && then->dtype == DType::int64;
        if (Expr extreme = line_decides ? extreme_of(condition->parts()[0], then, otherwise) : nullptr) return extreme;
    }
    return intern({.kind = Kind::select, .dtype = then->dtype, .operands = {condition->id, then->id, otherwise->id}});
}

Expr Arena::read(TensorIndex tensor, DType dtype, std::vector<Expr> coordinates) {
    return intern({.kind = Kind::read, .dtype = dtype, .index = tensor, .operands = ids(coordinates)});
}

Expr Arena::guarded_read(TensorIndex tensor, DType dtype, std::vector<Expr> coordinates, Expr otherwise,
                         const std::vector<Size>& shape) {
    assert(coordinates.size() == shape.size());
    bool all_inside = canonical_;
    for (size_t i = 0; canonical_ && i < shape.size(); i++) {
        const Interval range = interval(coordinates[i]);
        if (range.known_high() && range.high < 0) return otherwise;
        if (range.known_low() && range.low >= shape[i]) return otherwise;
        // Inside at some remainders of a size, and at others not: a guarded one at all.
        all_inside = all_inside && is_always_within(range, 0, shape[i] - 1);
    }
    if (all_inside) return read(tensor, dtype, std::move(coordinates));
    if (canonical_ && !otherwise->is_literal()) {
        Expr condition = truth(true);
        for (size_t i = 0; i < shape.size(); i++) condition = conjunction(condition, inside(coordinates[i], shape[i]));
        return select(condition, read(tensor, dtype, std::move(coordinates)), otherwise);
    }
    coordinates.push_back(otherwise);
    return intern({.kind = Kind::guarded_read, .dtype = dtype, .index = tensor, .operands = ids(coordinates)}, shape);
}

Expr Arena::rebuild(Expr expression, std::vector<Expr> operands) {
    return std::ranges::equal(operands, expression->parts()) ? expression : copy(expression, std::move(operands));
}

Expr Arena::copy(Expr expression, std::vector<Expr> operands) {
    switch (expression->kind) {
    case Kind::integer: return literal(expression->dtype, expression->integer, expression->from_template);
    case Kind::real: return real(expression->dtype, expression->real, expression->from_template);
    case Kind::variable: break;
    case Kind::linear: {
        Expr sum = integer(expression->integer);
        for (size_t i = 0; i < operands.size(); i++) sum = add(sum, operands[i], expression->coefficients[i]);
        return sum;
    }
    case Kind::floor_divide: return floor_divide(operands[0], expression->integer);
    case Kind::modulo: return modulo(operands[0], expression->integer);
    case Kind::minimum: return minimum(operands[0], operands[1]);
    case Kind::maximum: return maximum(operands[0], operands[1]);
    case Kind::negative: return less(operands[0], integer(0));
    case Kind::inside: return inside(operands[0], expression->integer);
    case Kind::conjunction: return conjunction(operands[0], operands[1]);
    case Kind::scalar: return scalar(expression->op, expression->dtype, std::move(operands));
    case Kind::cast: return cast(expression->dtype, operands[0]);
    case Kind::select: return select(operands[0], operands[1], operands[2]);
    case Kind::read: return read(expression->tensor(), expression->dtype, std::move(operands));
    case Kind::guarded_read: {
        Expr otherwise = operands.back();
        operands.pop_back();
        return guarded_read(expression->tensor(), expression->dtype, std::move(operands), otherwise,
                            expression->coefficients);
    }
    default: break;  // in bodies only
    }
    assert(false);
    return nullptr;
}

Expr Arena::substitute(Expr root, const Substitution& substitution) {
    Memo memo;
    return substitute(root, substitution, memo);
}

Expr Arena::substitute(Expr root, const Substitution& substitution, Memo& memo) {
    auto given = [&](Expr e) -> Expr {
        if (e->kind == Kind::variable) {
            auto found = substitution.find(e->axis());
            return found == substitution.end() ? e : found->second;
        }
        const bool touched =
            std::any_of(e->axes.begin(), e->axes.end(), [&](AxisId axis) { return substitution.contains(axis); });
        return touched ? nullptr : e;
    };
    return remade(
        root, memo, given, [](Expr e) { return e->parts(); },
        [&](Expr e, std::vector<Expr> operands) { return rebuild(e, std::move(operands)); });
}

CoordinateForm linear_form(Expr coordinate) {
    CoordinateForm form;
    if (coordinate->kind == Kind::integer) {
        form.constant = coordinate->integer;
    } else if (coordinate->kind == Kind::linear) {
        form.constant = coordinate->integer;
        form.terms.reserve(coordinate->parts().size());
        for (size_t i = 0; i < coordinate->parts().size(); i++) {
            form.terms.emplace_back(coordinate->parts()[i], coordinate->coefficients[i]);
        }
    } else {
        form.terms.emplace_back(coordinate, 1);
    }
    return form;
}

std::vector<Expr> coordinates_of(Expr read) {
    auto parts = read->parts();
    return {parts.begin(), parts.end() - (read->kind == Kind::guarded_read)};
}

std::vector<Expr> operands_of(Expr expression) {
    auto parts = expression->parts();
    return {parts.begin(), parts.end()};
}

namespace {

// Calls visit(node) for every distinct node below `root` of which enters(node) holds, `root` first.
template <typename Visit, typename Enters>
void each_below(Expr root, Skipped skipped, const Visit& visit, const Enters& enters) {
    constexpr int32_t few = 64;  // are found sooner in a list
    const bool is_large = root->nodes > few;
    std::vector<bool> seen(is_large ? static_cast<size_t>(root->id) + 1 : 0);  // operands are made before their users
    InlineVector<Expr, few> known, stack;
    const auto is_new = [&](Expr e) {
        if (is_large) {
            if (seen[static_cast<size_t>(e->id)]) return false;
            seen[static_cast<size_t>(e->id)] = true;
            return true;
        }
        if (std::ranges::find(known, e) != known.end()) return false;
        known.push_back(e);
        return true;
    };
    stack.push_back(root);
    while (!stack.empty()) {
        const Expr expression = stack.back();
        stack.pop_back();
        if (!enters(expression) || !is_new(expression)) continue;
        visit(expression);
        const auto parts = expression->parts();
        const bool condition_only = expression->kind == Kind::select && skipped == Skipped::left_out;
        for (size_t i = condition_only ? 1 : parts.size(); i-- > 0;) stack.push_back(parts[i]);
    }
}

}  // namespace

std::vector<Expr> walk(Expr root, Skipped skipped) {
    std::vector<Expr> order;
    each_below(root, skipped, [&](Expr e) { order.push_back(e); }, [](Expr) { return true; });
    return order;
}

std::vector<Expr> reads_below(Expr root) {
    std::vector<Expr> reads;
    const auto take = [&](Expr e) {
        if (e->is_read()) reads.push_back(e);
    };
    each_below(root, Skipped::taken, take, [](Expr e) { return e->has_reads; });
    return reads;
}

}  // namespace heddle::expr
