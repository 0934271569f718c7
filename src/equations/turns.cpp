#include "equations/turns.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "equations/pass_support.h"
#include "equations/scatter.h"
#include "expr/coordinate.h"

namespace heddle::equations {
namespace {

constexpr int64_t least_points = 2048, most_period = 65536;
constexpr double tolerance = 1e-12;  // in turns, over all points: far below what a cosine in float64 rounds

// A polynomial of axes, but for multiples of `periods`.
struct Polynomial {
    std::map<std::vector<AxisId>, double> terms;
    std::vector<double> periods;

    bool is_number() const {
        return periods.empty() && (terms.empty() || (terms.size() == 1 && terms.begin()->first.empty()));
    }
    double number() const { return terms.empty() ? 0 : terms.begin()->second; }

    void add(const Polynomial& other, double factor) {
        for (const auto& [axes, value] : other.terms) terms[axes] += factor * value;
        for (double period : other.periods) periods.push_back(factor * period);
    }
};

std::optional<Polynomial> polynomial(Expr e);

std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
    Polynomial result;
    if (a.is_number() || b.is_number()) {
        result.add(a.is_number() ? b : a, a.is_number() ? a.number() : b.number());
        return result;
    }
    if (!a.periods.empty() || !b.periods.empty()) return std::nullopt;
    for (const auto& [left, x] : a.terms) {
        for (const auto& [right, y] : b.terms) {
            std::vector<AxisId> axes = left;
            axes.insert(axes.end(), right.begin(), right.end());
            std::ranges::sort(axes);
            result.terms[axes] += x * y;
        }
    }
    return result;
}

std::optional<Polynomial> polynomial_of_scalar(Expr e) {
    const auto a = polynomial(e->parts()[0]);
    if (!a) return std::nullopt;
    Polynomial result;
    if (e->op == ScalarOp::negate) {
        result.add(*a, -1);
        return result;
    }
    const auto b = e->parts().size() == 2 ? polynomial(e->parts()[1]) : std::nullopt;
    if (!b) return std::nullopt;
    switch (e->op) {
    case ScalarOp::add:
    case ScalarOp::subtract:
        result.add(*a, 1);
        result.add(*b, e->op == ScalarOp::add ? 1 : -1);
        return result;
    case ScalarOp::multiply: return product(*a, *b);
    case ScalarOp::divide:
        if (!b->is_number() || b->number() == 0) return std::nullopt;
        result.add(*a, 1 / b->number());
        return result;
    default: return std::nullopt;
    }
}

std::optional<Polynomial> polynomial(Expr e) {
    if (e->dtype != DType::int64 && e->dtype != DType::float64) return std::nullopt;
    Polynomial result;
    switch (e->kind) {
    case Kind::integer: result.terms[{}] = static_cast<double>(e->integer); return result;
    case Kind::real: result.terms[{}] = e->real; return result;
    case Kind::variable: result.terms[{e->axis()}] = 1; return result;
    case Kind::linear:
        result.terms[{}] = static_cast<double>(e->integer);
        for (size_t i = 0; i < e->parts().size(); i++) {
            const auto part = polynomial(e->parts()[i]);
            if (!part) return std::nullopt;
            result.add(*part, static_cast<double>(e->coefficients[i]));
        }
        return result;
    case Kind::modulo: {
        auto whole = polynomial(e->parts()[0]);
        if (whole) whole->periods.push_back(static_cast<double>(e->integer));
        return whole;
    }
    case Kind::cast: return e->dtype == DType::int64 ? std::nullopt : polynomial(e->parts()[0]);
    case Kind::scalar: return polynomial_of_scalar(e);
    default: return std::nullopt;
    }
}

double from_whole(double value) { return value - std::nearbyint(value); }

// The angle of a polynomial in radians; nothing if it is not of this form.
std::optional<Angle> angle_of(const Arena& arena, Polynomial radians, AxisId k, AxisId j) {
    Polynomial turns;
    turns.add(radians, 0.5 / std::numbers::pi);
    if (std::ranges::any_of(turns.periods, [](double period) { return std::abs(from_whole(period)) > tolerance; }))
        return std::nullopt;
    Angle angle;
    double slope = 0;
    for (const auto& [axes, value] : turns.terms) {
        if (axes.empty())
            angle.constant = from_whole(value);
        else if (axes == std::vector{k})
            angle.of_k = from_whole(value);
        else if (axes == std::vector{j})
            angle.of_j = from_whole(value);
        else if (axes == std::vector{std::min(k, j), std::max(k, j)})
            slope = value;
        else
            return std::nullopt;
    }
    const double points = static_cast<double>(arena.extent(k)) * static_cast<double>(arena.extent(j));
    for (angle.period = 1; angle.period <= most_period; angle.period++) {
        const double exact = slope * static_cast<double>(angle.period);
        if (std::abs(from_whole(exact)) * points > tolerance * static_cast<double>(angle.period)) continue;
        angle.numerator = static_cast<int64_t>(std::nearbyint(exact));
        return angle;
    }
    return std::nullopt;
}

bool is_wave(Expr e) {
    return e->kind == Kind::scalar && (e->op == ScalarOp::cos || e->op == ScalarOp::sin) && e->dtype == DType::float64;
}

// Takes a term apart. Everything in it that depends on j must be a cosine or a sine of one angle.
class Taker {
public:
    Taker(Arena& arena, AxisId j) : arena_(arena), j_(j) {}

    std::optional<Turned> take(Expr e) {
        const Expr inner = e->kind == Kind::cast ? Expr(e->parts()[0]) : e;
        if (is_wave(inner) && depends(inner, j_)) {
            if (angle && angle != inner->parts()[0]) return std::nullopt;
            angle = inner->parts()[0];
            const Signed one{arena_.real(e->dtype, 1)};
            return inner->op == ScalarOp::cos ? Turned{one, {}} : Turned{{}, one};
        }
        if (e->kind == Kind::cast && is_float(e->dtype) && is_float(inner->dtype)) {
            auto turned = take(inner);
            for (Signed* part : turned ? std::vector{&turned->of_cos, &turned->of_sin} : std::vector<Signed*>{}) {
                if (part->value) part->value = arena_.cast(e->dtype, part->value);
            }
            return turned;
        }
        return e->kind == Kind::scalar ? take_scalar(e) : std::nullopt;
    }

    Expr angle = nullptr;

private:
    std::optional<Turned> take_scalar(Expr e) {
        const auto parts = e->parts();
        if (e->op == ScalarOp::negate) {
            auto turned = take(parts[0]);
            if (turned) negate(*turned);
            return turned;
        }
        if (e->op == ScalarOp::add || e->op == ScalarOp::subtract) {
            const auto a = take(parts[0]);
            auto b = a ? take(parts[1]) : std::nullopt;
            if (!b) return std::nullopt;
            if (e->op == ScalarOp::subtract) negate(*b);
            return Turned{sum(a->of_cos, b->of_cos), sum(a->of_sin, b->of_sin)};
        }
        if (e->op != ScalarOp::multiply) return std::nullopt;
        const size_t moving = depends(parts[1], j_) ? 1 : 0;
        Expr factor = parts[1 - moving];
        if (depends(factor, j_)) return std::nullopt;
        auto turned = take(parts[moving]);
        if (!turned) return std::nullopt;
        return Turned{times(turned->of_cos, factor), times(turned->of_sin, factor)};
    }

    static void negate(Turned& turned) {
        turned.of_cos.negative = !turned.of_cos.negative;
        turned.of_sin.negative = !turned.of_sin.negative;
    }
    Signed times(Signed a, Expr factor) {
        if (factor->is_literal() && factor->real == 0 && factor->integer == 0) return {};
        if (a.value) a.value = arena_.scalar(ScalarOp::multiply, factor->dtype, {a.value, factor});
        return a;
    }
    Signed sum(Signed a, Signed b) {
        if (!a.value || !b.value) return a.value ? a : b;
        const ScalarOp op = a.negative == b.negative ? ScalarOp::add : ScalarOp::subtract;
        return {arena_.scalar(op, a.value->dtype, {a.value, b.value}), a.negative};
    }

    Arena& arena_;
    AxisId j_;
};

}  // namespace

bool is_turn(const Arena& arena, Expr e) {
    if (!is_wave(e) || e->axes.size() != 2) return false;
    // Of an open length the factors are not known.
    if (arena.axis(e->axes[0]).named || arena.axis(e->axes[1]).named) return false;
    if (arena.extent(e->axes[0]) * arena.extent(e->axes[1]) < least_points) return false;
    const auto radians = polynomial(e->parts()[0]);
    return radians && radians->terms.contains({e->axes[0], e->axes[1]});
}

std::optional<SumOfTurns> sum_of_turns(const System& system, const Equation& equation) {
    if (equation.dead || equation.reducer != Reducer::sum || equation.scan >= 0) return std::nullopt;
    Arena& arena = *system.arena;
    const DType dtype = equation.right->dtype;
    if (!is_float(dtype) || info(dtype).accumulator != dtype || scatter_of(system, equation)) return std::nullopt;
    for (Expr e : walk(equation.right)) {
        if (!is_turn(arena, e)) continue;
        SumOfTurns found{.k = e->axes[0], .j = e->axes[1]};
        if (std::ranges::find(equation.reduced, found.k) == equation.reduced.end()) std::swap(found.k, found.j);
        const bool apart = std::ranges::find(equation.reduced, found.k) != equation.reduced.end() &&
                           std::ranges::find(equation.axes, found.j) != equation.axes.end();
        if (!apart) return std::nullopt;
        Taker taker(arena, found.j);
        const auto turned = taker.take(equation.right);
        const auto holds_turn = [&](const Signed& part) {
            return part.value &&
                   std::ranges::any_of(walk(part.value), [&](Expr other) { return is_turn(arena, other); });
        };
        if (!turned || (!turned->of_cos.value && !turned->of_sin.value)) return std::nullopt;
        if (holds_turn(turned->of_cos) || holds_turn(turned->of_sin)) return std::nullopt;
        const auto radians = polynomial(taker.angle);
        const auto angle = radians ? angle_of(arena, *radians, found.k, found.j) : std::nullopt;
        if (!angle) return std::nullopt;
        found.turned = *turned;
        found.angle = *angle;
        return found;
    }
    return std::nullopt;
}

Expr angle_at(Arena& arena, const Angle& angle, Expr k, Expr j) {
    const auto real = [&](double value) { return arena.real(DType::float64, value); };
    const auto times = [&](Expr e, double factor) {
        return arena.scalar(ScalarOp::multiply, DType::float64, {arena.cast(DType::float64, e), real(factor)});
    };
    Expr sum = real(angle.constant);
    const auto add = [&](Expr e) { sum = arena.scalar(ScalarOp::add, DType::float64, {sum, e}); };
    if (angle.numerator % angle.period != 0) {
        Expr both = k->kind == Kind::integer   ? arena.scale(j, k->integer)
                    : j->kind == Kind::integer ? arena.scale(k, j->integer)
                                               : arena.scalar(ScalarOp::multiply, DType::int64, {k, j});
        Expr left = arena.modulo(arena.scale(both, angle.numerator % angle.period), angle.period);
        add(arena.scalar(ScalarOp::divide, DType::float64,
                         {arena.cast(DType::float64, left), real(static_cast<double>(angle.period))}));
    }
    if (angle.of_k != 0) add(times(k, angle.of_k));
    if (angle.of_j != 0) add(times(j, angle.of_j));
    return arena.scalar(ScalarOp::multiply, DType::float64, {sum, real(2 * std::numbers::pi)});
}

}  // namespace heddle::equations
