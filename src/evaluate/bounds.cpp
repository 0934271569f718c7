#include "evaluate/bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "expr/scalar_functions.h"

namespace heddle::evaluation {
namespace {

double anything_if(bool undecided) { return undecided ? infinity : 0; }

double carry_none(double, double ea, double, double eb, double) { return anything_if(ea > 0 || eb > 0); }
double carry_sum(double, double ea, double, double eb, double) { return ea + eb; }
double carry_product(double a, double ea, double b, double eb, double) {
    double carried = ea * eb;
    if (ea > 0) carried += std::fabs(b) * ea;
    if (eb > 0) carried += std::fabs(a) * eb;
    return carried;
}
double carry_quotient(double, double ea, double b, double eb, double r) {
    if (ea == 0 && eb == 0) return 0;
    double least = std::fabs(b) - eb;
    return least > 0 ? (ea + std::fabs(r) * eb) / least : infinity;
}
double carry_extreme(double, double ea, double, double eb, double) { return std::max(ea, eb); }
double carry_one(double, double ea, double, double, double) { return ea; }

// Comparisons: decided unless the operands lie within their bounds of each other.
double carry_comparison(double a, double ea, double b, double eb, double) {
    return anything_if(ea + eb > 0 && !(std::fabs(a - b) > ea + eb));
}
double carry_and(double a, double ea, double b, double eb, double) {
    return anything_if((ea > 0 && (eb > 0 || b != 0)) || (eb > 0 && a != 0));
}
double carry_or(double a, double ea, double b, double eb, double) {
    return anything_if((ea > 0 && (eb > 0 || b == 0)) || (eb > 0 && a == 0));
}

// A monotone function: the ends of the operand's interval are the ends of the result's. Where one lies outside of what
// the function is defined for, nothing is known.
template <typename Meaning>
double carry_monotone(double a, double ea, double, double, double r) {
    if (ea == 0) return 0;
    if (ea == infinity) return infinity;  // it may be no number, whatever the ends give
    const double above = std::fabs(Meaning::apply(a + ea) - r), below = std::fabs(Meaning::apply(a - ea) - r);
    return std::isnan(above) || std::isnan(below) ? infinity : std::max(above, below);
}
double carry_cosh(double a, double ea, double, double, double r) {
    return ea == 0 ? 0 : std::cosh(std::fabs(a) + ea) - r;
}
double carry_wave(double slope, double ea) {
    return ea == infinity ? infinity : std::min(2.0, std::fabs(slope) * ea + ea * ea / 2);
}
double carry_sine(double a, double ea, double, double, double) { return carry_wave(std::cos(a), ea); }
double carry_cosine(double a, double ea, double, double, double) { return carry_wave(std::sin(a), ea); }
double carry_tangent(double a, double ea, double, double, double r) {
    if (ea == 0) return 0;
    auto branch = [](double x) { return std::floor(x / M_PI + 0.5); };
    if (branch(a - ea) != branch(a + ea)) return infinity;
    return std::max(std::fabs(std::tan(a + ea) - r), std::fabs(std::tan(a - ea) - r));
}
double carry_reciprocal(double a, double ea, double, double, double r) {
    if (ea == 0) return 0;
    return std::fabs(a) > ea ? std::fabs(r) * ea / (std::fabs(a) - ea) : infinity;
}

// Between two poles below zero, and above zero.
bool have_pole_between(double low, double high) { return low <= 0 && std::floor(low) != std::ceil(high) - 1; }
// Convex between two poles: an end is farthest above, and what the slope says farthest below. Below zero two terms are
// joined, each to its own accuracy in double.
double carry_log_gamma(double a, double ea, double, double, double r) {
    using namespace scalar_functions;
    const double terms = a < 0 ? 0x1p-50 * (1 + std::fabs(log_gamma(std::fabs(a)))) : 0;
    if (ea == 0) return std::isfinite(r) ? terms : 0;
    if (!(ea < infinity) || have_pole_between(a - ea, a + ea)) return infinity;
    return terms +
           std::max({std::fabs(log_gamma(a - ea) - r), std::fabs(log_gamma(a + ea) - r), std::fabs(psi(a)) * ea});
}
double carry_digamma(double a, double ea, double, double, double r) {
    using scalar_functions::psi;
    const double terms = a < 0 ? 0x1p-50 * (std::fabs(psi(std::fabs(a))) + std::fabs(r) + 1 / std::fabs(a)) : 0;
    if (ea == 0) return std::isfinite(r) ? terms : 0;
    if (!(ea < infinity) || have_pole_between(a - ea, a + ea)) return infinity;
    return terms + std::max(std::fabs(psi(a - ea) - r), std::fabs(psi(a + ea) - r));
}

double carry_power(double a, double ea, double b, double eb, double r) {
    if (ea == 0 && eb == 0) return 0;
    if (a - ea <= 0 && (eb > 0 || b != std::floor(b) || b < 0)) return infinity;
    double carried = 0;
    for (double x : {a - ea, a + ea}) {
        for (double y : {b - eb, b + eb}) carried = std::max(carried, std::fabs(std::pow(x, y) - r));
    }
    // An even power turns at zero; what lies between the ends is nearer to r than 0 is, or than an end.
    if (a - ea < 0 && a + ea > 0) carried = std::max(carried, std::fabs(r));
    return carried;
}
double carry_angle(double y, double ey, double x, double ex, double) {
    if (ey == 0 && ex == 0) return 0;
    double square = x * x + y * y, spread = std::hypot(ex, ey);
    bool on_cut = x - ex < 0 && std::fabs(y) <= ey;
    if (on_cut || square <= 4 * spread * spread) return infinity;
    return 2 * (std::fabs(x) * ey + std::fabs(y) * ex) / square;
}

// Along a straight line no longer than the one between the operands.
double carry_distance(double, double ea, double, double eb, double) { return ea + eb; }
double carry_signed_copy(double a, double ea, double b, double eb, double) {
    return ea + (eb > 0 && std::fabs(b) <= eb ? 2 * std::fabs(a) : 0);
}

// floor(a / b): the quotient, computed and rounded in some way, within its bound.
double carry_floor_quotient(double a, double ea, double b, double eb, double r) {
    if (ea == 0 && eb == 0 && std::fmod(a, b) == 0) return 0;
    double quotient = a / b, bound = carry_quotient(a, ea, b, eb, quotient) + std::fabs(quotient) * 0x1p-22;
    return std::max(std::fabs(std::floor(quotient + bound) - r), std::fabs(std::floor(quotient - bound) - r));
}
// a - b floor(a / b), or with truncation: jumps where the quotient is near an integer.
double carry_remainder(double a, double ea, double b, double eb, double r) {
    bool exact = ea == 0 && eb == 0;
    if (exact && std::fmod(a, b) == 0) return 0;
    double turns = std::fabs((a - r) / b);
    double bound = ea + turns * eb + std::fabs(a) * 0x1p-22;
    bool near_switch = std::fabs(r) <= bound || std::fabs(b) - eb - std::fabs(r) <= bound;
    return near_switch ? infinity : bound;
}

// The column `carry` of the table of operations. Without a function: that of monotone ones.
struct CarryRule {
    Carry carry = nullptr;
    bool integers = false;  // holds for numbers of any type; where not, integers are right where their operands are
};
namespace carries {
constexpr CarryRule none{&carry_none, true}, sum{&carry_sum, true}, product{&carry_product, true},
    quotient{&carry_quotient}, floor_quotient{&carry_floor_quotient}, remainder{&carry_remainder},
    extreme{&carry_extreme, true}, same{&carry_one, true}, comparison{&carry_comparison, true},
    conjunction{&carry_and, true}, disjunction{&carry_or, true}, power{&carry_power}, angle{&carry_angle},
    distance{&carry_distance}, signed_copy{&carry_signed_copy}, reciprocal{&carry_reciprocal}, sine{&carry_sine},
    cosine{&carry_cosine}, tangent{&carry_tangent}, bowl{&carry_cosh}, log_gamma{&carry_log_gamma},
    digamma{&carry_digamma}, monotone{}, sign{nullptr, true};
}  // namespace carries

template <typename Meaning>
constexpr CarryRule made(CarryRule rule) {
    if constexpr (scalar_functions::UnaryOf<Meaning, double>) {
        if (!rule.carry) rule.carry = &carry_monotone<Meaning>;
    }
    return rule;
}

constexpr std::array carry_rules = {
#define HEDDLE_SCALAR(op, name, infix, kind, operands, accepts, cost, size, ulps, meaning, carry, ...) \
    made<scalar_functions::meaning>(carries::carry),
#define HEDDLE_FUNCTION(op, name, cost, size, ulps, value, carry, ...) made<scalar_functions::of_##op>(carries::carry),
#include "expr/scalar_ops.def"
};

}  // namespace

Carry carry_of(ScalarOp op, bool floating) {
    const CarryRule& rule = carry_rules[static_cast<size_t>(op)];
    return floating || rule.integers ? rule.carry : &carry_none;
}

double unit_roundoff(DType dtype) { return info(dtype).format.unit_roundoff; }

double rounding_of(ScalarOp op, DType dtype) { return is_float(dtype) ? info(op).ulps * 2 * unit_roundoff(dtype) : 0; }

double step_bound(double (*function)(double), double a, double ea) {
    return ea == 0 ? 0 : std::max(std::fabs(function(a + ea) - function(a)), std::fabs(function(a - ea) - function(a)));
}

double with_rounding(double carried, double u, double r, DType dtype, bool exact_operands, bool special_operand) {
    // Infinity times what may be zero: it may be an infinity too.
    if (std::isnan(r)) return exact_operands || (special_operand && !(carried == infinity)) ? 0 : infinity;
    if (!is_float(dtype)) return std::isnan(carried) ? infinity : carried;
    if (std::isinf(r)) return exact_operands || (special_operand && !(carried == infinity)) ? 0 : infinity;
    const FloatFormat& range = info(dtype).format;
    if (std::fabs(r) > range.greatest) return infinity;
    // A correctly rounded operation on exact operands is exact where its result is representable. In double the exact
    // arithmetic's own rounding shows here instead.
    bool correctly_rounded = u <= unit_roundoff(dtype);
    bool representable = dtype == DType::float32 && static_cast<double>(static_cast<float>(r)) == r;
    if (u == 0 || (correctly_rounded && exact_operands && representable))
        return std::isnan(carried) ? infinity : carried;
    double bound = carried + u * std::fabs(r);
    // Below the normal numbers an operation loses half a spacing, and a function may give zero; also where the result only
    // may lie there.
    if (r != 0 && std::fabs(r) - bound < range.least_normal)
        bound += correctly_rounded ? range.spacing : range.least_normal;
    if (std::isnan(bound) || std::fabs(r) + bound > range.greatest) return infinity;
    return bound;
}

// What is summed between two steps is at most what the sums there are together. A sum of steps ends so often at each
// step: twice for each power of two below the lanes of a vector, and once where it is carried. Terms of a product are
// multiplied as often in any order, but together they must stay in range.
double bound_together(ScalarOp op, DType dtype, double in_order, double a, double ea, double b, double eb, double r) {
    constexpr double ends = 13, whole = 1 << 22, safe_term = 1 << 7;
    if (!(in_order < infinity) || !std::isfinite(a) || !std::isfinite(b) || !std::isfinite(r)) return in_order;
    if (op == ScalarOp::multiply) {
        const double size = std::fabs(b);
        return size == 0 || (size >= 1 / safe_term && size <= safe_term) ? in_order : infinity;
    }
    const double most = std::max({std::fabs(a), std::fabs(b), std::fabs(r)});
    if (most > info(dtype).format.greatest / 4) return infinity;
    const bool counts = most <= whole && std::trunc(a) == a && std::trunc(b) == b;
    if (counts && ea == 0 && eb == 0) return in_order;
    return std::max(in_order, ea + eb + ends * unit_roundoff(dtype) * most);
}

namespace {

// with_rounding of many results of one operation: what they share is looked up once, and the usual ones are short.
class Rounding {
public:
    Rounding(double u, DType dtype)
        : u_(u),
          dtype_(dtype),
          usual_(is_float(dtype) && u > 0),
          least_(info(dtype).format.least_normal),
          most_(info(dtype).format.greatest / 4),
          may_be_exact_(u <= unit_roundoff(dtype) && dtype == DType::float32) {}

    double operator()(double carried, double r, bool exact_operands, bool special_operand) const {
        const double magnitude = std::fabs(r), bound = carried + u_ * magnitude;
        if (!usual_ || !(magnitude - bound >= least_ || magnitude == 0) || !(magnitude <= most_) || !(carried <= most_))
            return with_rounding(carried, u_, r, dtype_, exact_operands, special_operand);
        const bool exact = may_be_exact_ && exact_operands && static_cast<double>(static_cast<float>(r)) == r;
        return exact ? carried : bound;
    }

private:
    double u_;
    DType dtype_;
    bool usual_;
    double least_, most_;
    bool may_be_exact_;
};

template <typename CarryFunction>
void bound_each(const BoundLanes& lanes, const Rounding& rounding, CarryFunction carry) {
    for (int64_t i = 0; i < lanes.count; i++) {
        const double a = lanes.a[i], ea = lanes.ea[i], r = lanes.r[i];
        const double b = lanes.b ? lanes.b[i] : 0, eb = lanes.b ? lanes.eb[i] : 0;
        const double c = lanes.c ? lanes.c[i] : 0, ec = lanes.c ? lanes.ec[i] : 0;
        const bool special = !std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c);
        lanes.result[i] = rounding(carry(a, ea, b, eb, r) + ec, r, ea == 0 && eb == 0 && ec == 0,
                                   special && ea < infinity && eb < infinity && ec < infinity);
    }
}

}  // namespace

void bound_lanes(ScalarOp op, DType of, DType dtype, const BoundLanes& lanes) {
    const Carry carry = carry_of(op, is_float(of));
    const Rounding rounding(rounding_of(op, dtype), dtype);
    // Products and sums are most of the work; for these there is no call an element.
    if (carry == &carry_sum)
        bound_each(lanes, rounding, [](auto... operands) { return carry_sum(operands...); });
    else if (carry == &carry_product)
        bound_each(lanes, rounding, [](auto... operands) { return carry_product(operands...); });
    else
        bound_each(lanes, rounding, carry);
}

}  // namespace heddle::evaluation
