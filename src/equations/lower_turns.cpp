// Sums of many turns, as a Fourier or a cosine transform writes them, become several short ones: with k = q * k1 + k2
// the angle of k * j is one of k1 * j, which j's remainder by few numbers decides, and one of k2 * j
// (docs/equations.md, "Sums of turns").
#include "equations/lower_turns.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "equations/pass_support.h"
#include "equations/turns.h"

namespace heddle::equations {
namespace {

constexpr double least_gain = 1.3;  // in terms
constexpr int64_t largest_table = 65536;
constexpr double stored_cost = 40;  // terms that an element between two sums costs: it is turned, written and read

// How a sum over k is cut: into terms / inner sums of so many terms, of which j asks for so many by its remainder.
struct Cut {
    int64_t terms = 0, remainders = 0;
};

class TurnSplitter {
public:
    TurnSplitter(System& system, TableMaker& tables) : system_(system), arena_(*system.arena), tables_(tables) {}

    void run() {
        std::map<Likeness, int> alike;
        std::vector<std::pair<int32_t, std::optional<SumOfTurns>>> found;
        for (size_t i = 0; i < system_.equations.size(); i++) {
            const Equation& equation = system_.equations[i];
            if (!std::ranges::any_of(walk(equation.right), [&](Expr e) { return is_turn(arena_, e); })) continue;
            found.emplace_back(static_cast<int32_t>(i), sum_of_turns(system_, equation));
            if (found.back().second) alike[likeness(equation, *found.back().second)]++;
        }
        for (const auto& [index, sum] : found) {
            readers_ = sum ? alike.at(likeness(system_.equation(index), *sum)) : 1;
            make_best(index, sum);
        }
    }

private:
    // Real and imaginary parts of one transform have the same inner sums.
    using Likeness = std::tuple<OperationId, int64_t, int64_t, int64_t, int64_t>;
    Likeness likeness(const Equation& equation, const SumOfTurns& sum) const {
        return {system_.tensor(equation.tensor).operation, arena_.extent(sum.k), arena_.extent(sum.j),
                sum.angle.numerator, sum.angle.period};
    }
    double cost(double parts, int64_t k, int64_t j, const Angle& angle, int64_t lanes, Cut* best = nullptr) const;
    bool pays(const SumOfTurns& sum, int64_t k, int64_t lanes) const;
    void make_best(int32_t index, const std::optional<SumOfTurns>& sum);
    int32_t take_last_term(int32_t index, AxisId k);
    void make(int32_t index, const SumOfTurns& sum, int64_t lanes);
    void name_terms(int32_t index, SumOfTurns& sum);
    struct Digits {
        AxisId k1, k2, j1, j2;
    };
    Turned inner_sums(int32_t index, const SumOfTurns& sum, const Digits& of);
    void sum_over(Equation& equation, AxisId k2, AxisId j, const std::vector<AxisId>& digits, Expr place);
    void add_rest(Equation rest, const SumOfTurns& sum, const Digits& of);
    void cut(int32_t index, SumOfTurns sum, const Cut& how);
    void finish(int32_t index, const Turned& turned, const Angle& angle, Expr k, Expr j);

    Signed combined(Signed a, Expr by, Signed b, Expr with) const;
    Turned turned(const Turned& from, const Angle& angle, Expr k, Expr j, DType dtype);
    Expr named(int32_t from, const char* suffix, const std::vector<AxisId>& axes, std::vector<AxisId> reduced,
               Expr right);
    std::pair<Expr, Expr> cosine_and_sine(const Angle& angle, Expr k, Expr j, DType dtype);
    void rename_axes(Equation& equation);
    AxisId digit(AxisId of, int64_t extent);
    Expr value(AxisId axis) { return arena_.axis_value(axis); }

    System& system_;
    Arena& arena_;
    TableMaker& tables_;
    int readers_ = 1;  // sums that are alike
};

// The angle of k and j where they are k_scale * k' and j_scale * j'.
Angle scaled(Angle angle, int64_t k_scale, int64_t j_scale) {
    const auto whole = [](double value) { return value - std::nearbyint(value); };
    angle.numerator =
        angle.numerator % angle.period * (k_scale % angle.period) % angle.period * (j_scale % angle.period);
    const int64_t common = std::gcd(angle.numerator, angle.period);
    angle.numerator = angle.numerator / common % (angle.period / common);
    angle.period /= common;
    angle.of_k = whole(angle.of_k * static_cast<double>(k_scale));
    angle.of_j = whole(angle.of_j * static_cast<double>(j_scale));
    return angle;
}

double parts_of(const SumOfTurns& sum) { return sum.turned.of_cos.value && sum.turned.of_sin.value ? 2 : 1; }

// In terms of the sums. Vectors run along the remainders of the first cut, and so along those in all sums behind it.
double TurnSplitter::cost(double parts, int64_t k, int64_t j, const Angle& angle, int64_t lanes, Cut* best) const {
    double least = k * j > largest_table ? INFINITY : parts * static_cast<double>(k) * static_cast<double>(j);
    for (int64_t terms = 2; terms < k; terms++) {
        if (k % terms != 0) continue;
        const int64_t remainders = scaled(angle, terms, 1).period;
        if (remainders < 2 || 2 * remainders > j || terms * remainders > largest_table) continue;
        const auto wide = static_cast<double>((remainders + lanes - 1) / lanes * lanes);
        const double inner = 2 * parts * wide * static_cast<double>(k);
        const double between = stored_cost * wide * static_cast<double>(terms);
        double whole = (inner + between) / std::min(readers_, 2);
        if (whole >= least) continue;
        whole += wide * cost(2, terms, j / remainders, scaled(angle, 1, remainders), 1);
        if (whole >= least) continue;
        least = whole;
        if (best) *best = {terms, remainders};
    }
    return least;
}

bool TurnSplitter::pays(const SumOfTurns& sum, int64_t k, int64_t lanes) const {
    const int64_t j = arena_.extent(sum.j);
    const double direct = parts_of(sum) * static_cast<double>(k) * static_cast<double>(j);
    return least_gain * cost(parts_of(sum), k, j, sum.angle, lanes) <= direct;
}

void TurnSplitter::make_best(int32_t index, const std::optional<SumOfTurns>& sum) {
    const int64_t lanes = 64 / bytes(system_.equation(index).right->dtype);
    if (sum) {
        const int64_t k = arena_.extent(sum->k);
        if (pays(*sum, k, lanes)) return make(index, *sum, lanes);
        if (system_.equation(index).reduced.size() == 1 && pays(*sum, k - 1, lanes)) {
            const int32_t rest = take_last_term(index, sum->k);
            make(rest, *sum_of_turns(system_, system_.equation(rest)), lanes);
        }
    }
    const Equation& equation = system_.equation(index);
    system_.equation(index).right = tables_.tabulate(equation.right, equation.axes, Turns::tabulated);
}

// Half a spectrum is one element longer than what divides well. The last term is added behind a sum of the others,
// whose equation is returned.
int32_t TurnSplitter::take_last_term(int32_t index, AxisId k) {
    const Equation whole = system_.equation(index);
    const int64_t last = arena_.extent(k) - 1;
    const AxisId others = digit(k, last);
    Expr sum =
        named(index, "_others", whole.axes, {others}, arena_.substitute(whole.right, {{k, arena_.axis_value(others)}}));
    Expr term = arena_.substitute(whole.right, {{k, arena_.integer(last)}});
    Equation& equation = system_.equation(index);
    equation.right = arena_.scalar(ScalarOp::add, term->dtype, {sum, term});
    equation.reducer.reset();
    equation.reduced.clear();
    return static_cast<int32_t>(system_.equations.size()) - 1;
}

AxisId TurnSplitter::digit(AxisId of, int64_t extent) {
    return arena_.add_axis({.name = arena_.axis(of).name, .extent = extent});
}

std::pair<Expr, Expr> TurnSplitter::cosine_and_sine(const Angle& angle, Expr k, Expr j, DType dtype) {
    Expr at = angle_at(arena_, angle, k, j);
    const auto wave = [&](ScalarOp op) {
        return tables_.table(arena_.cast(dtype, arena_.scalar(op, DType::float64, {at})));
    };
    return {wave(ScalarOp::cos), wave(ScalarOp::sin)};
}

// a * by + b * with
Signed TurnSplitter::combined(Signed a, Expr by, Signed b, Expr with) const {
    const auto product = [&](Expr x, Expr y) { return arena_.scalar(ScalarOp::multiply, x->dtype, {x, y}); };
    if (!a.value) return {product(b.value, with), b.negative};
    if (!b.value) return {product(a.value, by), a.negative};
    const DType dtype = a.value->dtype;
    Expr other = a.negative == b.negative ? b.value : arena_.scalar(ScalarOp::negate, dtype, {b.value});
    return {arena_.scalar(ScalarOp::multiply_add, dtype, {other, with, product(a.value, by)}), a.negative};
}

// u cos(a + b) + v sin(a + b) = (u cos a + v sin a) cos b + (v cos a - u sin a) sin b
Turned TurnSplitter::turned(const Turned& from, const Angle& angle, Expr k, Expr j, DType dtype) {
    const auto [cosine, sine] = cosine_and_sine(angle, k, j, dtype);
    Signed less = from.of_cos;
    less.negative = !less.negative;
    return {combined(from.of_cos, cosine, from.of_sin, sine), combined(from.of_sin, cosine, less, sine)};
}

// A tensor for a value over axes of the equation `from`, and a read of it at these axes.
Expr TurnSplitter::named(int32_t from, const char* suffix, const std::vector<AxisId>& axes, std::vector<AxisId> reduced,
                         Expr right) {
    SystemTensor tensor{.name = system_.tensor(system_.equation(from).tensor).name + suffix, .dtype = right->dtype};
    tensor.operation = system_.tensor(system_.equation(from).tensor).operation;
    Equation made{.right = right};
    if (!reduced.empty()) made.reducer = Reducer::sum;
    Arena::Substitution renaming;
    const auto own = [&](AxisId axis) {
        const AxisId fresh = arena_.add_axis(Axis(arena_.axis(axis)));
        renaming[axis] = arena_.axis_value(fresh);
        return fresh;
    };
    std::vector<Expr> at;
    for (AxisId axis : axes) {
        tensor.shape.push_back(arena_.extent(axis));
        at.push_back(arena_.axis_value(axis));
        made.axes.push_back(own(axis));
        made.left.push_back(arena_.axis_value(made.axes.back()));
    }
    for (AxisId axis : reduced) made.reduced.push_back(own(axis));
    made.right = arena_.substitute(right, renaming);
    made.tensor = system_.add_tensor(std::move(tensor));
    const TensorIndex index = made.tensor;
    system_.add_equation(std::move(made));
    return arena_.read(index, right->dtype, std::move(at));
}

void TurnSplitter::make(int32_t index, const SumOfTurns& sum, int64_t lanes) {
    Cut how;
    cost(parts_of(sum), arena_.extent(sum.k), arena_.extent(sum.j), sum.angle, lanes, &how);
    if (how.terms > 0)
        cut(index, sum, how);
    else
        finish(index, sum.turned, sum.angle, arena_.axis_value(sum.k), arena_.axis_value(sum.j));
}

// Axes of its own.
void TurnSplitter::rename_axes(Equation& equation) {
    Arena::Substitution renaming;
    for (auto* list : {&equation.axes, &equation.reduced}) {
        for (AxisId& axis : *list) {
            const AxisId own = arena_.add_axis(Axis(arena_.axis(axis)));
            renaming[axis] = arena_.axis_value(own);
            axis = own;
        }
    }
    for (Expr& left : equation.left) left = arena_.substitute(left, renaming);
    equation.right = arena_.substitute(equation.right, renaming);
}

// The equation's terms as they are, at coordinates k and j.
void TurnSplitter::finish(int32_t index, const Turned& turned, const Angle& angle, Expr k, Expr j) {
    Equation& equation = system_.equation(index);
    const auto [cosine, sine] = cosine_and_sine(angle, k, j, equation.right->dtype);
    const Signed term = combined(turned.of_cos, cosine, turned.of_sin, sine);
    equation.right = term.negative ? arena_.scalar(ScalarOp::negate, term.value->dtype, {term.value}) : term.value;
}

// What a term computes besides its turn is computed once, not for each of the inner sums.
void TurnSplitter::name_terms(int32_t index, SumOfTurns& sum) {
    const Equation equation = system_.equation(index);
    for (Signed* part : {&sum.turned.of_cos, &sum.turned.of_sin}) {
        if (!part->value || part->value->is_read() || part->value->is_literal()) continue;
        std::vector<AxisId> axes;
        for (const auto* list : {&equation.axes, &equation.reduced})
            std::ranges::copy_if(*list, std::back_inserter(axes),
                                 [&](AxisId axis) { return depends(part->value, axis); });
        part->value = named(index, "_term", axes, {}, part->value);
    }
}

// The sums over k1 and all other axes that are reduced, turned by k2 and j1.
Turned TurnSplitter::inner_sums(int32_t index, const SumOfTurns& sum, const Digits& of) {
    const DType dtype = system_.equation(index).right->dtype;
    Turned terms = sum.turned;
    const Arena::Substitution digits{{sum.k, arena_.add(value(of.k2), value(of.k1), arena_.extent(of.k2))}};
    for (Signed* part : {&terms.of_cos, &terms.of_sin}) {
        if (part->value) part->value = arena_.substitute(part->value, digits);
    }
    std::vector<AxisId> reduced = system_.equation(index).reduced, axes;
    std::ranges::replace(reduced, sum.k, of.k1);
    for (AxisId axis : system_.equation(index).axes) {
        const auto asks = [&](const Signed& part) { return part.value && depends(part.value, axis); };
        if (axis == sum.j)
            axes.insert(axes.end(), {of.k2, of.j1});
        else if (asks(terms.of_cos) || asks(terms.of_sin))
            axes.push_back(axis);
    }
    const auto all_named = [&](Turned made, const std::vector<AxisId>& over) {
        for (Signed* part : {&made.of_cos, &made.of_sin})
            part->value = named(index, "_turned", axes, over, part->value);
        return made;
    };
    Angle angle = scaled(sum.angle, arena_.extent(of.k2), 1);
    angle.of_j = angle.constant = 0;
    const Turned sums = all_named(turned(terms, angle, value(of.k1), value(of.j1), dtype), reduced);
    return all_named(turned(sums, sum.angle, value(of.k2), value(of.j1), dtype), {});
}

// The equation sums over k2; in the place of j it has these axes, of which j is made.
void TurnSplitter::sum_over(Equation& equation, AxisId k2, AxisId j, const std::vector<AxisId>& digits, Expr place) {
    equation.reduced = {k2};
    const auto at = equation.axes.erase(std::ranges::find(equation.axes, j));
    equation.axes.insert(at, digits.begin(), digits.end());
    for (Expr& left : equation.left) left = arena_.substitute(left, {{j, place}});
}

// What is behind the last whole number of remainders has one quotient.
void TurnSplitter::add_rest(Equation rest, const SumOfTurns& sum, const Digits& of) {
    const int64_t remainders = arena_.extent(of.j1), quotient = arena_.extent(of.j2);
    const AxisId last = digit(sum.j, arena_.extent(sum.j) % remainders);
    std::vector<AxisId> axes;
    if (arena_.extent(last) > 1) axes.push_back(last);
    sum_over(rest, of.k2, sum.j, axes, arena_.add(value(last), arena_.integer(quotient * remainders)));
    rest.piece = static_cast<int32_t>(system_.tensor(rest.tensor).equations.size());
    const int32_t added = system_.add_equation(std::move(rest));
    Turned turned = sum.turned;
    for (Signed* part : {&turned.of_cos, &turned.of_sin})
        part->value = arena_.substitute(part->value, {{of.j1, value(last)}});
    finish(added, turned, sum.angle, value(of.k2), arena_.integer(quotient));
    rename_axes(system_.equation(added));
}

void TurnSplitter::cut(int32_t index, SumOfTurns sum, const Cut& how) {
    const int64_t extent = arena_.extent(sum.j);
    const Digits of{.k1 = digit(sum.k, arena_.extent(sum.k) / how.terms),
                    .k2 = digit(sum.k, how.terms),
                    .j1 = digit(sum.j, how.remainders),
                    .j2 = digit(sum.j, extent / how.remainders)};
    name_terms(index, sum);
    sum.turned = inner_sums(index, sum, of);
    sum.angle = scaled(sum.angle, 1, how.remainders);
    sum.angle.of_k = sum.angle.constant = 0;
    if (extent % how.remainders > 0) add_rest(Equation(system_.equation(index)), sum, of);
    sum_over(system_.equation(index), of.k2, sum.j, {of.j2, of.j1},
             arena_.add(value(of.j1), value(of.j2), how.remainders));
    sum.k = of.k2;
    sum.j = of.j2;
    make(index, sum, 1);
}

}  // namespace

void split_turns(System& system, TableMaker& tables) { TurnSplitter(system, tables).run(); }

}  // namespace heddle::equations
