// The bounds that go with the lanes of a bounded run.
#include <algorithm>
#include <cmath>
#include <limits>

#include "evaluate/bounds.h"
#include "evaluate/executor.h"

namespace heddle::evaluation {
namespace {

// What a product may lose because a part of its terms is beyond the type's range, though the whole is not: `above` and
// `below` are the logarithms of what multiplies all terms above 1, and what divides by all below.
double out_of_range(DType dtype, double above, double below) {
    if (!is_float(dtype)) return 0;
    const double greatest = info(dtype).format.greatest;
    if (above > std::log(greatest)) return infinity;
    return below > std::log(greatest) ? std::exp(above) / greatest : 0;
}

double real_of(const void* lanes, LaneType type, int64_t lane) {
    if (type == LaneType::real) return static_cast<const double*>(lanes)[lane];
    return static_cast<double>(static_cast<const int64_t*>(lanes)[lane]);
}

struct Lanes {
    const void* lanes;
    LaneType type;
    double operator[](int64_t lane) const { return real_of(lanes, type, lane); }
};

bool are_zero(const double* errors, int64_t count) {
    return !errors || std::all_of(errors, errors + count, [](double e) { return e == 0; });
}

}  // namespace

void Executor::bound_step(const Step& step, int64_t count) {
    if (step.result < 0) return;
    double* result = bound(step.result);
    const Node& node = body_.node(step.node);
    auto lanes_of = [&](size_t operand) { return lane_type(body_.node(node.operands[operand]).dtype, true); };
    const auto values = [&](size_t operand) { return Lanes{view(step.operands[operand]), lanes_of(operand)}; };
    if (step.kind == Step::Kind::literal || step.kind == Step::Kind::scalar_variable) {
        std::fill_n(result, count, 0.0);
        return;
    }
    if (step.kind == Step::Kind::select) {
        const Lanes condition = values(0), then = values(1), otherwise = values(2);
        for (int64_t i = 0; i < count; i++) {
            bool taken = condition[i] != 0;
            double chosen = bound(step.operands[taken ? 1 : 2])[i], other = bound(step.operands[taken ? 2 : 1])[i];
            double apart = std::fabs(then[i] - otherwise[i]);
            // Undecided: either branch's result passes.
            if (bound(step.operands[0])[i] > 0) chosen = std::max(chosen, std::isnan(apart) ? infinity : apart + other);
            if (is_bool(node.dtype) && chosen > 0) chosen = infinity;
            result[i] = chosen;
        }
        return;
    }
    DType of = body_.node(node.operands[0]).dtype;
    if (node.kind == Node::Kind::cast) {
        const Lanes from = values(0);
        for (int64_t i = 0; i < count; i++)
            result[i] = cast_bound(of, node.dtype, from[i], bound(step.operands[0])[i]);
        return;
    }
    const bool two = step.operands.size() > 1, three = step.operands.size() > 2;
    const double* left = bound(step.operands[0]);
    const double* right = two ? bound(step.operands[1]) : nullptr;
    auto reals = [&](size_t operand) { return static_cast<const double*>(view(step.operands[operand])); };
    if (step.lanes == LaneType::real && lanes_of(0) == LaneType::real && (!two || lanes_of(1) == LaneType::real)) {
        bound_lanes(node.op, of, node.dtype,
                    {.a = reals(0),
                     .ea = left,
                     .b = two ? reals(1) : nullptr,
                     .eb = right,
                     .c = three ? reals(2) : nullptr,
                     .ec = three ? bound(step.operands[2]) : nullptr,
                     .r = static_cast<const double*>(storage(step.result)),
                     .result = result,
                     .count = count});
        if (step.taken_into >= 0) bound_together(step, count);
        return;
    }
    // Exact integers make exact integers.
    if (!is_float(of) && !is_float(node.dtype) && are_zero(left, count) && are_zero(right, count)) {
        std::fill_n(result, count, 0.0);
        return;
    }
    const Lanes first = values(0), second = two ? values(1) : first, made{storage(step.result), step.lanes};
    Carry carry = carry_of(node.op, is_float(of));
    double u = rounding_of(node.op, node.dtype);
    for (int64_t i = 0; i < count; i++) {
        double a = first[i], b = two ? second[i] : 0, ea = left[i], eb = two ? right[i] : 0;
        double r = made[i];
        bool special = !std::isfinite(a) || !std::isfinite(b);
        result[i] = with_rounding(carry(a, ea, b, eb, r), u, r, node.dtype, ea == 0 && eb == 0,
                                  special && ea < infinity && eb < infinity);
    }
}

void Executor::bound_together(const Step& step, int64_t count) {
    const Node& node = body_.node(step.node);
    const size_t state = static_cast<size_t>(step.taken_into), term = 1 - state;
    const auto lanes = [&](size_t operand) { return static_cast<const double*>(view(step.operands[operand])); };
    const auto* made = static_cast<const double*>(storage(step.result));
    double* result = bound(step.result);
    for (int64_t i = 0; i < count; i++)
        result[i] =
            evaluation::bound_together(node.op, node.dtype, result[i], lanes(state)[i], bound(step.operands[state])[i],
                                       lanes(term)[i], bound(step.operands[term])[i], made[i]);
}

double Executor::cast_bound(DType from, DType to, double a, double ea) {
    if (is_bool(to)) return ea > 0 && std::fabs(a) <= ea ? infinity : 0;
    if (!is_float(to)) return is_float(from) ? step_bound(std::trunc, a, ea) : ea;
    const bool widens = is_float(from) && holds(to, from);
    const double u = widens || from == DType::boolean ? 0 : unit_roundoff(to);
    // Where there is no infinity it becomes a NaN.
    if (std::isinf(a) && info(to).format.specials != FloatSpecials::ieee) return infinity;
    return with_rounding(ea, u, a, to, ea == 0, !std::isfinite(a) && ea < infinity);
}

void Executor::bound_read(const Step& step, const Access& access, const Addressing& at, int64_t count) {
    double* result = bound(step.result);
    const double* from = nullptr;
    if (access.table) {
        from = tables_[static_cast<size_t>(access.source)].bounds.data();
    } else if (const TensorData& data = bounded_->inputs[static_cast<size_t>(access.source)]; data.data()) {
        from = data.as<double>();
    }
    if (!from && !at.masked) std::fill_n(result, count, 0.0);
    for (int64_t i = 0; (from || at.masked) && i < count; i++) {
        if (at.masked && !mask_[i]) {
            result[i] = access.guarded ? bound(step.operands[0])[i] : 0;
        } else {
            result[i] = from ? from[(at.base ? at.base[i] : 0) + at.shift] : 0;
        }
    }
    for (const auto& computed : access.computed) {
        const double* coordinate = bound(computed.slot);
        for (int64_t i = 0; i < count; i++) {
            if (coordinate[i] > 0) result[i] = infinity;
        }
    }
}

// State per lane, by reducer. Sums: bounds, magnitudes, terms. Extremes: least and greatest possible result. Arguments:
// the winner's bound, the best that another term could reach. Any, all: decided terms, undecided ones.
void Executor::start_bounds(const Reduction& reduction, int64_t count) {
    auto& state = reduction_bounds_[static_cast<size_t>(&reduction - program_.reductions.data())];
    state.assign(3 * lane_count, 0.0);
    bool lowest = reduction.reducer == Reducer::minimum;
    if (lowest || reduction.reducer == Reducer::maximum) {
        std::fill_n(state.begin(), lane_count + count, lowest ? infinity : -infinity);
        std::fill_n(state.begin() + lane_count, lane_count, lowest ? infinity : -infinity);
    }
    if (is_argument(reduction.reducer)) std::fill_n(state.begin() + lane_count, lane_count, -infinity);
}

// A factor that is the same for all terms may be multiplied behind the sum (docs/equality.md), which then may leave the
// type though no term does.
void Executor::doubt_large_factors(const Reduction& reduction, int64_t count) {
    double terms = 1;
    for (int64_t extent : reduction.extents) terms *= static_cast<double>(extent);
    const double greatest = info(reduction.term_type).format.greatest / std::max(terms, 1.0);
    double* doubt = bound(reduction.term);
    for (Slot slot : reduction.factors) {
        const auto* factor = static_cast<const double*>(view(slot));
        for (int64_t i = 0; i < count; i++) {
            if (std::isfinite(factor[i]) && std::fabs(factor[i]) > greatest) doubt[i] = infinity;
        }
    }
}

// Before the term is added to the accumulators.
void Executor::accumulate_bounds(const Reduction& reduction, int64_t count) {
    doubt_large_factors(reduction, count);
    double* state = reduction_bounds_[static_cast<size_t>(&reduction - program_.reductions.data())].data();
    auto* filter = reduction.filter >= 0 ? static_cast<const int64_t*>(view(reduction.filter)) : nullptr;
    const double* filter_bound = reduction.filter >= 0 ? bound(reduction.filter) : nullptr;
    const double* term_bound = bound(reduction.term);
    if (reduction.reducer == Reducer::sum && !filter && reduction.term_lanes == LaneType::real) {
        const auto* term = static_cast<const double*>(view(reduction.term));
        for (int64_t i = 0; i < count; i++) {
            state[i] += term_bound[i];
            state[lane_count + i] += std::fabs(term[i]);
            state[2 * lane_count + i] += 1;
        }
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        bool undecided = filter_bound && filter_bound[i] > 0;
        if (filter && !filter[i] && !undecided) continue;
        double term = real_of(view(reduction.term), reduction.term_lanes, i);
        accumulate_bound(reduction, state + i, term, term_bound[i], !filter || filter[i], undecided, i);
    }
}

void Executor::accumulate_bound(const Reduction& reduction, double* state, double term, double e, bool taken,
                                bool undecided, int64_t lane) {
    double &first = state[0], &second = state[lane_count], &third = state[2 * lane_count];
    switch (reduction.reducer) {
    case Reducer::sum:
        first += undecided ? std::fabs(term) + e : e;
        second += std::fabs(term);
        third += 1;
        return;
    case Reducer::product: {
        double so_far = real_of(storage(reduction.accumulator), reduction.term_lanes, lane);
        double u = unit_roundoff(reduction.term_type);
        first = undecided ? infinity
                          : std::fabs(so_far) * e + std::fabs(term) * first + first * e + u * std::fabs(so_far * term);
        // How far the terms above 1 and those below it go, each on their own: some order meets both first.
        const double size = std::fabs(term);
        if (size > 1 && std::isfinite(size)) second += std::log(size);
        if (size > 0 && size < 1) third -= std::log(size);
        return;
    }
    case Reducer::minimum:
    case Reducer::maximum: {
        if (std::isnan(term)) {
            third = 1;  // the result is NaN, if the term counts
            if (undecided) first = -infinity, second = infinity;
            return;
        }
        bool lowest = reduction.reducer == Reducer::minimum;
        auto better = [&](double& limit, double value) {
            limit = lowest ? std::min(limit, value) : std::max(limit, value);
        };
        // `first` is the end that more terms can only move away, `second` the end that certain terms guarantee.
        better(first, lowest ? term - e : term + e);
        if (taken && !undecided) better(second, lowest ? term + e : term - e);
        return;
    }
    case Reducer::any:
    case Reducer::all: {
        // One term decides a truth, but not all bits of an integer.
        bool decides = is_bool(reduction.term_type) && (term != 0) == (reduction.reducer == Reducer::any);
        if (e > 0 || undecided) {
            second = 1;
        } else if (decides) {
            first = 1;
        }
        return;
    }
    case Reducer::argument_minimum:
    case Reducer::argument_maximum: {
        // The best so far is in `partial`; scores are values whose greatest wins.
        double sign = reduction.reducer == Reducer::argument_maximum ? 1 : -1;
        bool any = static_cast<const int64_t*>(storage(reduction.accumulator))[lane] >= 0;
        double best = any ? real_of(storage(reduction.partial), reduction.term_lanes, lane) : 0;
        if (undecided) third = 1;
        if (!taken) return;
        bool replaces = !any || sign * term > sign * best || (std::isnan(term) && !std::isnan(best));
        bool exact_tie = any && e == 0 && first == 0;
        double loser = replaces ? sign * best + first : sign * term + e;
        if (any && !exact_tie) second = std::max(second, loser);
        if (replaces) first = e;
        if (std::isnan(e) || e == infinity) third = 1;
        return;
    }
    }
}

// One term of one element, whose state is three numbers and whose accumulators are in lane 0.
void Executor::accumulate_term_bound(const Reduction& reduction, double* state, int64_t lane, bool taken,
                                     bool undecided) {
    double* lanes = reduction_bounds_[static_cast<size_t>(&reduction - program_.reductions.data())].data();
    for (int part = 0; part < 3; part++) lanes[part * lane_count] = state[part];
    double term = real_of(view(reduction.term), reduction.term_lanes, lane);
    accumulate_bound(reduction, lanes, term, bound(reduction.term)[lane], taken, undecided, 0);
    for (int part = 0; part < 3; part++) state[part] = lanes[part * lane_count];
}

void Executor::finish_bounds(const Step& step, const Reduction& reduction, int64_t count) {
    const double* state = reduction_bounds_[static_cast<size_t>(&reduction - program_.reductions.data())].data();
    double* result = bound(step.result);
    for (int64_t i = 0; i < count; i++) {
        double first = state[i], second = state[lane_count + i], third = state[2 * lane_count + i];
        double r = real_of(storage(step.result), step.lanes, i);
        switch (reduction.reducer) {
        case Reducer::sum:
            result[i] = first + std::max(third - 1, 0.0) * unit_roundoff(reduction.term_type) * second;
            if (!std::isfinite(r) && first < infinity) result[i] = 0;
            if (reduction.term_type == DType::float32 && std::fabs(r) + result[i] > std::numeric_limits<float>::max())
                result[i] = std::isinf(r) ? result[i] : infinity;
            break;
        case Reducer::product: result[i] = first + out_of_range(reduction.term_type, second, third); break;
        case Reducer::minimum:
        case Reducer::maximum:
            result[i] = r == first && r == second ? 0 : std::max(std::fabs(r - first), std::fabs(r - second));
            if (third > 0) result[i] = first == -infinity && second == infinity ? infinity : 0;
            break;
        case Reducer::any:
        case Reducer::all: result[i] = first == 0 && second > 0 ? infinity : 0; break;
        case Reducer::argument_minimum:
        case Reducer::argument_maximum: {
            double sign = reduction.reducer == Reducer::argument_maximum ? 1 : -1;
            double best = real_of(storage(reduction.partial), reduction.term_lanes, i);
            result[i] = third > 0 || (second > -infinity && !(sign * best - first > second)) ? infinity : 0;
            break;
        }
        }
        if (std::isnan(result[i])) result[i] = infinity;
    }
}

}  // namespace heddle::evaluation
