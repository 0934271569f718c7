#include "schedules/digit_writer.h"

#include <algorithm>
#include <limits>
#include <set>

#include "expr/remake.h"
#include "schedules/accesses.h"
#include "schedules/folding.h"
#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

// What leaves a reduction as it is.
bool is_neutral(Reducer reducer, Expr e) {
    if (!e->is_literal()) return false;
    const double value = e->kind == Kind::real ? e->real : static_cast<double>(e->integer);
    const double infinity = std::numeric_limits<double>::infinity();
    if (reducer == Reducer::sum) return value == 0;
    if (reducer == Reducer::maximum) return value == -infinity;
    return reducer == Reducer::minimum && value == infinity;
}

void add_conditions(Expr condition, std::vector<Expr>& conditions) {
    if (condition->kind != Kind::conjunction) return conditions.push_back(condition);
    for (Expr part : condition->parts()) add_conditions(part, conditions);
}

}  // namespace

bool DigitWriter::is_written(const KernelEquation& e) const { return contains(e.axes, digit_.axis); }

// Quotients of which the value is the remainder: where the count may not divide the extent, fewer than of the first.
AxisId DigitWriter::add_share(int64_t value) {
    const Axis& whole = kernel_.axis(digit_.axis);
    if (value == 0 || (!whole.named && whole.extent % digit_.count == 0)) return no_id;
    const auto share = [&](const Size& n) { return greater(0, ceil_divide(n - value, digit_.count)); };
    Axis axis = whole;
    axis.extent = share(whole.extent);
    axis.hint = share(kernel_.hint(digit_.axis)).number();
    axis.name += "_" + std::to_string(value);
    return made_.add_axis(axis);
}

void DigitWriter::add_axes() {
    made_.arena = kernel_.arena;
    made_.common = kernel_.common;
    shares_.assign(static_cast<size_t>(digit_.count), no_id);
    if (!digit_.divides) {
        std::erase(made_.common, digit_.axis);
        return;
    }
    Axis axis = kernel_.axis(digit_.axis);
    axis.extent = greater(0, ceil_divide(axis.extent, digit_.count));
    axis.hint = std::max<int64_t>(1, ceil_divide(kernel_.hint(digit_.axis), digit_.count));
    axis.name += "_" + std::to_string(digit_.count);
    quotient_ = made_.add_axis(axis);
    std::ranges::replace(made_.common, digit_.axis, quotient_);
    for (int64_t value = 0; value < digit_.count; value++) shares_[static_cast<size_t>(value)] = add_share(value);
}

// The dimension that the digit alone moves, in all that is made and read of the tensor.
std::optional<size_t> DigitWriter::split_dimension(TensorIndex local) const {
    const KernelTensor& tensor = kernel_.tensor(local);
    if (tensor.role != KernelTensor::Role::local) return std::nullopt;
    const auto is_moved = [&](Expr c, const KernelEquation& e) {
        if (digit_.divides) return plain_axis(c) == digit_.axis && is_written(e);
        const bool known = c->kind == Kind::integer && c->integer >= 0 && c->integer < digit_.count;
        return known || (plain_axis(c) == digit_.axis && is_written(e));
    };
    for (size_t d = 0; d < tensor.dimensions.size(); d++) {
        if (!tensor.dimensions[d].extent.same_as(kernel_.axis(digit_.axis).extent)) continue;
        bool made = false;
        const bool all = std::ranges::all_of(kernel_.equations, [&](const KernelEquation& e) {
            const bool here = e.tensor == local;
            made = made || (here && plain_axis(e.left[d]) == digit_.axis);
            if (here && !is_moved(e.left[d], e)) return false;
            return std::ranges::all_of(reads_of(e.right), [&](const ReadAccess& read) {
                return read.tensor != local || (read.value->kind == Kind::read && is_moved(read.value->parts()[d], e));
            });
        });
        if (all && made) return d;
    }
    return std::nullopt;
}

void DigitWriter::split_locals() {
    made_.tensors = kernel_.tensors;
    for (size_t t = 0; t < kernel_.tensors.size(); t++) {
        const auto dimension = split_dimension(TensorIndex(t));
        if (!dimension) continue;
        parts_[TensorIndex(t)] = {*dimension, next_id<TensorIndex>(made_.tensors)};
        for (int64_t value = 0; value < digit_.count; value++) {
            KernelTensor part = kernel_.tensors[t];
            part.name += "_" + std::to_string(value);
            BufferDimension& along = part.dimensions[*dimension];
            if (digit_.divides)
                along.extent = made_.axis(quotient_).extent;
            else
                part.dimensions.erase(part.dimensions.begin() + static_cast<std::ptrdiff_t>(*dimension));
            made_.tensors.push_back(std::move(part));
        }
    }
}

TensorIndex DigitWriter::part_of(TensorIndex local, Expr coordinate, int64_t value) const {
    const Parts& parts = parts_.at(local);
    const int64_t part = coordinate->kind == Kind::integer ? coordinate->integer.value() : value;
    return TensorIndex(static_cast<int32_t>(parts.first) + static_cast<int32_t>(part));
}

Expr DigitWriter::read_of_part(Expr read, std::vector<Expr> operands, int64_t value) {
    const size_t d = parts_.at(read->tensor()).dimension;
    const TensorIndex part = part_of(read->tensor(), read->parts()[d], value);
    if (digit_.divides)
        operands[d] = made_.arena->axis_value(quotient_);
    else
        operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(d));
    return made_.arena->read(part, read->dtype, std::move(operands));
}

Expr DigitWriter::remade(Expr root, int64_t value, Arena::Memo& memo) {
    Arena& arena = *made_.arena;
    return expr::remade(
        root, memo,
        [&](Expr e) -> Expr {
            if (parts_.empty() && (value < 0 || !depends_on(e, digit_.axis))) return e;
            if (e->kind != Kind::variable) return nullptr;
            if (e->axis() != digit_.axis || value < 0) return e;
            return digit_.divides ? arena.add(arena.integer(value), arena.axis_value(quotient_), digit_.count)
                                  : arena.integer(value);
        },
        [](Expr e) { return operands_of(e); },
        [&](Expr e, std::vector<Expr> operands) {
            if (e->kind == Kind::read && parts_.contains(e->tensor()))
                return read_of_part(e, std::move(operands), value);
            return value < 0 ? arena.rebuild(e, std::move(operands)) : folded(arena, e, std::move(operands));
        });
}

// Its elements, or those that it reads, lie elsewhere.
bool DigitWriter::is_concerned(const KernelEquation& e) const {
    if (parts_.empty()) return false;
    const auto reads = reads_of(e.right);
    return parts_.contains(e.tensor) ||
           std::ranges::any_of(reads, [&](const ReadAccess& read) { return parts_.contains(read.tensor); });
}

// `value` < 0: the digit is none of its axes.
KernelEquation DigitWriter::made_of(const KernelEquation& from, int64_t value) {
    KernelEquation to = from;
    Arena::Memo memo;
    for (Expr& left : to.left) left = remade(left, value, memo);
    to.right = remade(from.right, value, memo);
    if (const auto parts = parts_.find(from.tensor); parts != parts_.end()) {
        const size_t d = parts->second.dimension;
        to.tensor = part_of(from.tensor, from.left[d], value);
        if (digit_.divides)
            to.left[d] = made_.arena->axis_value(quotient_);
        else
            to.left.erase(to.left.begin() + static_cast<std::ptrdiff_t>(d));
    }
    if (value < 0) return to;
    if (digit_.divides)
        std::ranges::replace(to.axes, digit_.axis, quotient_);
    else
        std::erase(to.axes, digit_.axis);
    if (const AxisId end = shares_[static_cast<size_t>(value)]; end >= 0) to.limits.emplace_back(quotient_, end);
    end_terms(to);
    return to;
}

// Terms that never count are at the end of a window: it ends before them. Other conditions stay.
void DigitWriter::end_terms(KernelEquation& e) {
    Arena& arena = *made_.arena;
    if (!e.reducer || e.right->kind != Kind::select || !is_neutral(*e.reducer, e.right->parts()[2])) return;
    std::vector<Expr> conditions;
    add_conditions(e.right->parts()[0], conditions);
    Expr left = nullptr;
    Arena::Memo renamed;
    for (Expr condition : conditions) {
        const CoordinateParts parts =
            condition->kind == Kind::negative ? parts_of(condition->parts()[0]) : CoordinateParts{};
        const AxisId axis = parts.axes.size() == 1 && parts.values.empty() ? parts.axes[0].first : no_id;
        const bool ends = axis >= 0 && contains(e.reduced, axis) && !made_.axis(axis).named && parts.axes[0].second > 0;
        if (!ends) {
            left = left ? arena.conjunction(left, condition) : condition;
            continue;
        }
        const Size end = greater(0, ceil_divide(-parts.constant, parts.axes[0].second));
        if (end >= made_.axis(axis).extent) continue;
        Axis shorter = made_.axis(axis);
        shorter.extent = end;
        shorter.hint = end.number();
        const AxisId made = made_.add_axis(shorter);
        std::ranges::replace(e.reduced, axis, made);
        renamed[arena.axis_value(axis)] = arena.axis_value(made);
    }
    const auto operands = [](Expr x) { return operands_of(x); };
    const auto none = [](Expr) -> Expr { return nullptr; };
    const auto make = [&](Expr x, std::vector<Expr> made) {
        return x->kind == Kind::variable ? x : arena.rebuild(x, std::move(made));
    };
    Expr term = left ? arena.select(left, e.right->parts()[1], e.right->parts()[2]) : e.right->parts()[1];
    e.right = expr::remade(term, renamed, none, operands, make);
}

// Equations that may be written value by value: none reads what another makes for other values.
size_t DigitWriter::end_of_run(size_t first) const {
    std::set<TensorIndex> made;
    size_t end = first;
    for (; end < kernel_.equations.size() && is_written(kernel_.equations[end]); end++) {
        const KernelEquation& e = kernel_.equations[end];
        const bool apart = std::ranges::all_of(reads_of(e.right), [&](const ReadAccess& read) {
            if (!made.contains(read.tensor)) return true;
            const auto parts = parts_.find(read.tensor);
            return parts != parts_.end() && plain_axis(read.value->parts()[parts->second.dimension]) == digit_.axis;
        });
        if (!apart || (made.contains(e.tensor) && !parts_.contains(e.tensor))) break;
        made.insert(e.tensor);
    }
    return end;
}

// Value by value: what is behind a reduction stands beside it. Of streams alone equation by equation: what their values
// fill or read together is then one nest.
void DigitWriter::write_run(size_t first, size_t end) {
    const auto write = [&](size_t i, int64_t value) {
        KernelEquation e = made_of(kernel_.equations[i], value);
        if (e.written < 0) e.written = next_written_ + static_cast<int32_t>(i - first);
        made_.equations.push_back(std::move(e));
    };
    const bool reduces = std::any_of(kernel_.equations.begin() + static_cast<std::ptrdiff_t>(first),
                                     kernel_.equations.begin() + static_cast<std::ptrdiff_t>(end),
                                     [](const KernelEquation& e) { return e.reducer.has_value(); });
    if (reduces) {
        for (int64_t value = 0; value < digit_.count; value++) {
            for (size_t i = first; i < end; i++) write(i, value);
        }
    } else {
        for (size_t i = first; i < end; i++) {
            for (int64_t value = 0; value < digit_.count; value++) write(i, value);
        }
    }
    next_written_ += static_cast<int32_t>(end - first);
}

Kernel DigitWriter::write() {
    add_axes();
    split_locals();
    for (const KernelEquation& e : kernel_.equations) next_written_ = std::max(next_written_, e.written + 1);
    for (size_t i = 0; i < kernel_.equations.size();) {
        if (!is_written(kernel_.equations[i])) {
            const KernelEquation& e = kernel_.equations[i++];
            made_.equations.push_back(is_concerned(e) ? made_of(e, -1) : e);
            continue;
        }
        const size_t end = end_of_run(i);
        write_run(i, end);
        i = end;
    }
    return std::move(made_);
}

}  // namespace heddle::schedules
