#include "schedules/interior.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "expr/arena_interval.h"
#include "expr/remake.h"
#include "schedules/folding.h"
#include "target/choice_numbers.h"
#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

// Points first <= x < last of the axis.
struct Span {
    Size first = 0, last = 0;
    Size size() const { return last - first; }
};

Span both(const Span& a, const Span& b) {
    const Size first = maximum(a.first, b.first);
    return {first, maximum(first, minimum(a.last, b.last))};
}

bool includes(Span all, Span part) { return all.first <= part.first && part.last <= all.last; }

// step * x + what lies in 0 + [low, high]
struct Line {
    Size step = 0, low = 0, high = 0;
};

// What is added may be any of [from, to].
bool spread(Line& line, const Size& from, const Size& to) {
    const auto low = checked_add(line.low, from), high = checked_add(line.high, to);
    if (!low || !high) return false;
    line.low = *low;
    line.high = *high;
    return true;
}

class Decider {
public:
    Decider(const Kernel& kernel, const RightSides& before, AxisId axis)
        : kernel_(kernel),
          arena_(*kernel.arena),
          before_(before),
          axis_(axis),
          extent_(maximum(kernel.axis(axis).extent, 0)),
          span_{0, extent_} {}
    Decider(const Kernel& kernel, const RightSides& before, const std::vector<Expr>& below_zero, bool folds)
        : kernel_(kernel), arena_(*kernel.arena), before_(before), below_zero_(below_zero), folds_(folds) {}

    Interior decide();

private:
    bool may_decide(Expr e) const { return axis_ < 0 ? !e->axes.empty() : depends_on(e, axis_); }
    Expr made(Expr e, std::vector<Expr> operands);
    std::vector<Expr> parts_wanted(Expr e) const;
    std::optional<Line> line(Expr coordinate) const;
    bool is_short(const Size& way, const Line& line) const;
    Span where(const Line& line, bool holds) const;
    Span where_inside(const Line& line, const Size& extent) const;
    Expr opposite(Expr coordinate) { return arena_.add(arena_.integer(-1), coordinate, -1); }
    bool is_at_most_zero(Expr coordinate) const;
    bool follows(Expr coordinate);
    bool follows_inside(Expr coordinate, const Size& extent);
    int64_t points(const Span& span) const { return kernel_.hint(span.size()); }
    bool accept(const Span& span);
    bool accept_condition(const Span& span);
    struct Answer {
        bool holds;
        Span where;
    };
    std::optional<Answer> holds(Expr coordinate, bool preferred) const;
    Expr lesser(Expr a, Expr b, Expr otherwise, bool minimum);
    Expr division(Expr e, Expr dividend);
    Expr guarded(Expr e, std::vector<Expr> operands);
    Expr plain(Expr e, std::vector<Expr> operands);
    Expr known_inside(Expr read, const std::vector<size_t>& dimensions);
    Expr rebuilt(Expr e, std::vector<Expr> operands) { return arena_.rebuild(e, std::move(operands)); }

    const Kernel& kernel_;
    Arena& arena_;
    const RightSides& before_;
    AxisId axis_ = no_id;
    Size extent_ = 0;
    Span span_;
    std::vector<Expr> below_zero_;  // without an axis: what follows of these is given, and nothing else
    bool folds_ = false;            // also what follows for selections and reads outside
    Arena::Memo memo_;
    Interior result_;
};

// Beside the points of this axis.
bool Decider::is_short(const Size& way, const Line& line) const {
    const auto all = checked_multiply(absolute(line.step), kernel_.hint(axis_));
    return !all || kernel_.hint(way) <= kernel_.hint(*all);
}

// Of this axis, and of what other axes make of so few values that nearly all points of this one have one answer.
std::optional<Line> Decider::line(Expr coordinate) const {
    if (axis_ < 0) return std::nullopt;
    const CoordinateParts parts = parts_of(coordinate);
    Line line{.step = coefficient(coordinate, axis_), .low = parts.constant, .high = parts.constant};
    if (line.step == 0 || line.step == Size(INT64_MIN)) return std::nullopt;
    for (const auto& [axis, factor] : parts.axes) {
        if (axis == axis_ || factor == Size(INT64_MIN)) continue;
        const auto moved = checked_multiply(factor, maximum(kernel_.axis(axis).extent, 1) - 1);
        const auto few = checked_multiply(absolute(factor) * 2, kernel_.hint(axis));
        if (!moved || !few || !is_short(*few, line)) return std::nullopt;
        if (!spread(line, heddle::minimum(*moved, 0), heddle::maximum(*moved, 0))) return std::nullopt;
    }
    for (const auto& [value, factor] : parts.values) {
        const Interval range = expr::interval(value);
        if (depends_on(value, axis_) || !range.known()) return std::nullopt;
        const auto from = checked_multiply(factor, factor < 0 ? range.high : range.low);
        const auto to = checked_multiply(factor, factor < 0 ? range.low : range.high);
        const auto few =
            from && to ? checked_multiply(checked_subtract(*to, *from).value_or(INT64_MAX), 2) : std::nullopt;
        if (!few || !is_short(*few, line) || !spread(line, *from, *to)) return std::nullopt;
    }
    const auto far = checked_multiply(line.step, extent_);
    const bool fits = far && checked_add(line.low, *far) && checked_add(line.high, *far) && line.low > INT64_MIN / 2 &&
                      line.high < INT64_MAX / 2;
    return fits ? std::optional(line) : std::nullopt;
}

// Where the line is at least 0 for all points of the other axes (`holds`), or for none.
Span Decider::where(const Line& line, bool holds) const {
    // holds: step x + low >= 0; else -step x - high - 1 >= 0
    const Size step = holds ? line.step : -line.step, constant = holds ? line.low : -line.high - 1;
    Span span{0, extent_};
    if (step > 0)
        span.first = ceil_divide(-constant, step);
    else
        span.last = floor_divide(constant, -step) + 1;
    return both(span, {0, extent_});
}

// Where it is not below 0 and not behind the extent, for all points of the other axes.
Span Decider::where_inside(const Line& line, const Size& extent) const {
    return both(where(line, true), where({line.step, line.low - extent, line.high - extent}, false));
}

// At most 0 at every point, whatever sizes the named axes have.
bool Decider::is_at_most_zero(Expr coordinate) const {
    const CoordinateParts parts = parts_of(coordinate);
    std::optional<Size> most = parts.values.empty() ? std::optional(parts.constant) : std::nullopt;
    for (const auto& [axis, factor] : parts.axes) {
        if (factor <= 0) continue;
        const Axis& a = kernel_.axis(axis);
        const auto moved = a.named ? std::nullopt : checked_multiply(factor, greater(1, a.extent) - 1);
        most = most && moved ? checked_add(*most, *moved) : std::nullopt;
    }
    return most && *most <= 0;
}

// That it is below 0, of what is given.
bool Decider::follows(Expr coordinate) {
    return std::ranges::any_of(below_zero_,
                               [&](Expr given) { return is_at_most_zero(arena_.add(coordinate, given, -1)); });
}

// Not below 0 and not behind the extent.
bool Decider::follows_inside(Expr coordinate, const Size& extent) {
    if (below_zero_.empty()) return false;
    const bool above = is_at_most_zero(arena_.scale(coordinate, -1)) || follows(opposite(coordinate));
    const Expr behind = arena_.add(coordinate, arena_.integer(1 - extent));
    return above && (is_at_most_zero(behind) || follows(arena_.add(coordinate, arena_.integer(-extent))));
}

// Takes the points away that are not in the span, if they are few.
bool Decider::accept(const Span& span) {
    if (axis_ < 0) return false;
    const int64_t all = points({0, extent_});
    if (all - points(span) > std::max<int64_t>(choice_numbers::thin_border, all / choice_numbers::border_share)) return false;
    span_ = both(span_, span);
    result_.decides = true;
    return true;
}

bool Decider::accept_condition(const Span& span) {
    const bool accepted = accept(span);
    result_.conditions = result_.conditions || accepted;
    return accepted;
}

// Whether the coordinate is at least 0 in the interior.
std::optional<Decider::Answer> Decider::holds(Expr coordinate, bool preferred) const {
    const auto found = line(coordinate);
    if (!found) return std::nullopt;
    const Span yes = where(*found, true), no = where(*found, false);
    const bool answer = points(yes) == points(no) ? preferred : points(yes) > points(no);
    return Answer{answer, answer ? yes : no};
}

// The lesser of both (the greater, of a maximum); where they are so as often, what grows with the axis.
Expr Decider::lesser(Expr a, Expr b, Expr otherwise, bool minimum) {
    if (follows(arena_.add(arena_.add(a, b, -1), arena_.integer(-1)))) return minimum ? a : b;
    if (follows(arena_.add(arena_.add(b, a, -1), arena_.integer(-1)))) return minimum ? b : a;
    const bool grows = axis_ >= 0 && coefficient(a, axis_) > 0;
    const auto first = holds(minimum ? arena_.add(b, a, -1) : arena_.add(a, b, -1), grows);
    if (!first || !accept(first->where)) return otherwise;
    return first->holds ? a : b;
}

// c % m = c - q m and c // m = q, for the q of most points.
Expr Decider::division(Expr e, Expr dividend) {
    const auto found = line(dividend);
    const Size divisor = e->integer;
    Expr as_it_is = rebuilt(e, {dividend});
    if (!found || divisor < 1) return as_it_is;
    const Size move = found->step * maximum(extent_ - 1, 0);
    const int64_t least = kernel_.hint(floor_divide(found->low + heddle::minimum(move, 0), divisor));
    const int64_t most = kernel_.hint(floor_divide(found->high + heddle::maximum(move, 0), divisor));
    constexpr int64_t few = 8;  // of more quotients none has most points
    if (most - least > few) return as_it_is;
    int64_t best = least;
    Span best_span;
    for (int64_t quotient = least; quotient <= most; ++quotient) {
        const auto start = checked_multiply(divisor, quotient);
        const auto end = start ? checked_add(*start, divisor) : std::nullopt;
        if (!end) return as_it_is;
        const Span above = where({found->step, found->low - *start, found->high - *start}, true);
        const Span span = both(above, where({found->step, found->low - *end, found->high - *end}, false));
        if (quotient != least && points(span) <= points(best_span)) continue;
        best = quotient;
        best_span = span;
    }
    if (!accept(best_span)) return as_it_is;
    if (e->kind == Kind::floor_divide) return arena_.integer(best);
    return arena_.add(dividend, arena_.integer(-(divisor * best)));
}

Expr Decider::guarded(Expr e, std::vector<Expr> operands) {
    std::vector<size_t> inside;
    for (size_t d = 0; d + 1 < operands.size(); d++) {
        if (before_.inside.contains({e->id, d})) {
            inside.push_back(d);
            continue;
        }
        if (!may_decide(operands[d]) || !needs_guard(kernel_, e, d)) continue;
        const Size& extent = kernel_.tensor(e->tensor()).dimensions[d].extent;
        if (folds_ && (follows(operands[d]) || follows(arena_.add(arena_.integer(extent - 1), operands[d], -1))))
            return operands.back();
        if (follows_inside(operands[d], extent)) inside.push_back(d);
        const auto found = line(operands[d]);
        if (found && accept_condition(where_inside(*found, extent))) inside.push_back(d);
    }
    return known_inside(rebuilt(e, std::move(operands)), inside);
}

// A selection may have kept it from reading outside, and is decided by now.
Expr Decider::plain(Expr e, std::vector<Expr> operands) {
    std::vector<size_t> inside;
    for (size_t d = 0; d < operands.size(); d++) {
        const auto found = line(operands[d]);
        const bool is_inside =
            found && includes(where_inside(*found, kernel_.tensor(e->tensor()).dimensions[d].extent), span_);
        if (is_inside || before_.inside.contains({e->id, d})) inside.push_back(d);
    }
    return known_inside(rebuilt(e, std::move(operands)), inside);
}

Expr Decider::known_inside(Expr read, const std::vector<size_t>& dimensions) {
    for (size_t d : dimensions) result_.sides.inside.insert({read->id, d});
    return read;
}

// Of a selection that is decided, its condition and the operand that is taken.
std::vector<Expr> Decider::parts_wanted(Expr e) const {
    const auto parts = e->parts();
    if (e->kind != Kind::select) return {parts.begin(), parts.end()};
    Expr condition = parts[0];
    if (may_decide(condition)) {
        const auto found = memo_.find(condition);
        if (found == memo_.end()) return {condition};
        condition = found->second;
    }
    const auto truth = truth_of(condition);
    if (!truth) return {parts.begin(), parts.end()};
    return {parts[0], parts[*truth ? 1 : 2]};
}

Expr Decider::made(Expr e, std::vector<Expr> operands) {
    switch (e->kind) {
    case Kind::select:
        if (operands.size() == 2) return operands[1];
        return folds_ ? folded_choice(arena_, e, std::move(operands)) : rebuilt(e, std::move(operands));
    case Kind::minimum:
    case Kind::maximum: {
        Expr otherwise = rebuilt(e, operands);
        return lesser(operands[0], operands[1], otherwise, e->kind == Kind::minimum);
    }
    case Kind::floor_divide:
    case Kind::modulo: return division(e, operands[0]);
    case Kind::negative: {
        if (follows(operands[0])) return arena_.truth(true);
        if (follows(opposite(operands[0]))) return arena_.truth(false);
        const auto found = holds(operands[0], true);
        if (!found || !accept_condition(found->where)) return rebuilt(e, std::move(operands));
        return arena_.truth(!found->holds);
    }
    case Kind::inside: {
        if (follows_inside(operands[0], e->integer)) return arena_.truth(true);
        const auto found = line(operands[0]);
        const bool accepted = found && accept_condition(where_inside(*found, e->integer));
        return accepted ? arena_.truth(true) : rebuilt(e, std::move(operands));
    }
    case Kind::read: return plain(e, std::move(operands));
    case Kind::guarded_read: return guarded(e, std::move(operands));
    default: return is_logic(e) ? folded_logic(arena_, e, operands) : rebuilt(e, std::move(operands));
    }
}

Interior Decider::decide() {
    result_.sides.inside = before_.inside;
    for (const auto& [index, right] : before_.of) {
        result_.sides.of[index] = expr::remade(
            right, memo_, [&](Expr e) { return may_decide(e) ? nullptr : e; }, [&](Expr e) { return parts_wanted(e); },
            [&](Expr e, std::vector<Expr> operands) {
                return e->kind == Kind::variable ? e : made(e, std::move(operands));
            });
    }
    result_.first = span_.first;
    result_.last = span_.last;
    return result_;
}

}  // namespace

RightSides right_sides(const Kernel& kernel, const PhaseGroup& group) {
    RightSides sides;
    for (EquationIndex index : group.equations()) sides.of[index] = kernel.equations[static_cast<size_t>(index)].right;
    return sides;
}

Interior interior_along(const Kernel& kernel, const RightSides& sides, AxisId axis) {
    const Size extent = maximum(kernel.axis(axis).extent, 0);
    if (kernel.hint(axis) < choice_numbers::shortest_cut_axis) return {sides, 0, extent, false};
    Interior found = Decider(kernel, sides, axis).decide();
    return found.decides ? found : Interior{sides, 0, extent, false};
}

Expr moving_coordinate(const Kernel& kernel, const RightSides& sides, const std::function<bool(Expr)>& moves) {
    const auto is_asked = [&](Expr c) { return parts_of(c).values.empty() && moves(c); };
    const auto bounds = [&](Expr c, const Size& extent) -> Expr {
        const auto all = interval(kernel, c);
        if (!is_asked(c) || !all) return nullptr;
        if (all->low < 0) return c;
        return all->high >= extent ? kernel.arena->add(c, kernel.arena->integer(-extent)) : nullptr;
    };
    for (const auto& [unused, right] : sides.of) {
        for (Expr e : expr::walk(right)) {
            if (e->kind == Kind::select) {
                for (Expr asked : expr::walk(e->parts()[0])) {
                    if (asked->kind == Kind::negative && is_asked(asked->parts()[0])) return asked->parts()[0];
                }
            }
            if (e->kind != Kind::guarded_read) continue;
            for (size_t d = 0; d + 1 < e->parts().size(); d++) {
                if (sides.inside.contains({e->id, d}) || !needs_guard(kernel, e, d)) continue;
                if (Expr c = bounds(e->parts()[d], kernel.tensor(e->tensor()).dimensions[d].extent)) return c;
            }
        }
    }
    return nullptr;
}

RightSides sides_where(const Kernel& kernel, const RightSides& sides, const std::vector<Expr>& below_zero, bool folds) {
    return Decider(kernel, sides, below_zero, folds).decide().sides;
}

}  // namespace heddle::schedules
