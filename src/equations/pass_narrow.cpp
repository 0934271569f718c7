// Sums of small integers are accumulated in a small type: a count of a window's elements needs 8 bits, not the 64 of its
// result, and a vector holds eight times as many. So are tensors of small integers that stay inside (`c[i] >= 4 ? 1 : 0`), and
// what is made of them for a smaller type is worked out in it.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "equations/fusion.h"
#include "equations/integer_ranges.h"
#include "equations/pass_support.h"
#include "equations/scatter.h"
#include "expr/arena_interval.h"
#include "expr/remake.h"
#include "expr/scalar_interval.h"

namespace heddle::equations {
namespace {

class Narrower {
public:
    explicit Narrower(System& system) : system_(system), arena_(*system.arena), ranges_(system) {}

    void run() {
        for (int32_t index : system_.order()) narrow(index);
        for (size_t t = 0; t < system_.tensors.size(); t++) narrow_tensor(TensorIndex(t));
        for (size_t t = 0; t < system_.tensors.size(); t++) narrow_state(TensorIndex(t));
        if (!narrowed_.empty()) read_narrowed();
    }
    void run_steps() {
        for (int32_t index : system_.order()) narrow_steps(index);
    }

private:
    // Terms of one element, at most: a named axis is shorter than twice its class's representative.
    std::optional<int64_t> most_terms(const Equation& equation) const {
        int64_t terms = 1;
        for (AxisId axis : equation.reduced) {
            const Axis& a = arena_.axis(axis);
            if (a.named && a.hint == 0) return std::nullopt;
            if (__builtin_mul_overflow(terms, a.named ? 2 * a.hint : a.extent, &terms)) return std::nullopt;
        }
        return terms;
    }

    // What a cast makes smaller, in the smallest type that holds all steps on the way: vectors of it have more lanes.
    Expr in_small_steps(Expr e) {
        if (e->kind != Kind::cast || !is_integer(e->dtype)) return e;
        const Expr value = e->parts()[0];
        if (value->kind == Kind::read || !is_integer(value->dtype)) return e;
        for (DType dtype : types) {
            if (bytes(dtype) >= bytes(value->dtype)) break;
            if (bytes(dtype) < bytes(e->dtype)) continue;
            if (const Expr small = ranges_.narrowed(arena_, value, dtype)) return arena_.cast(e->dtype, small);
        }
        return e;
    }

    void narrow_steps(int32_t index) {
        Equation& equation = system_.equation(index);
        if (equation.scan >= 0) return;
        equation.right = remade(equation.right, [&](Expr e, std::vector<Expr> operands) {
            return e->is_coordinate() ? e : in_small_steps(arena_.rebuild(e, std::move(operands)));
        });
    }

    static constexpr std::array types = {DType::int8, DType::uint8, DType::int16, DType::uint16, DType::int32};

    void narrow(int32_t index) {
        const Equation& equation = system_.equation(index);
        const DType wide = equation.right->dtype;
        const SystemTensor& tensor = system_.tensor(equation.tensor);
        const bool alone = equation.scan < 0 && tensor.equations.size() == 1 && tensor.dtype == wide;
        if (equation.reducer != Reducer::sum || !is_integer(wide) || !alone || scatter_of(system_, equation)) return;
        const Interval term = ranges_.of(equation.right);
        const std::optional<int64_t> terms = most_terms(equation);
        Interval sum;
        if (!terms || !term.known() || __builtin_mul_overflow(std::min<int64_t>(term.low, 0), *terms, &sum.low) ||
            __builtin_mul_overflow(std::max<int64_t>(term.high, 0), *terms, &sum.high))
            return;
        for (DType dtype : types) {
            if (bytes(dtype) >= bytes(wide)) return;
            const Expr right = holds(dtype, sum) ? ranges_.narrowed(arena_, equation.right, dtype) : nullptr;
            if (right == nullptr) continue;
            Arena::Substitution renaming;
            const Expr total = name_reduction(system_, index, "_narrow", right, renaming);
            system_.equation(index).right = arena_.cast(wide, total);
            return;
        }
    }

    // A tensor inside, whose elements all fit a smaller type and count as values alone, is made in that type.
    void narrow_tensor(TensorIndex index) {
        SystemTensor& tensor = system_.tensor(index);
        const bool inside = tensor.kind == SystemTensor::Kind::computed && !tensor.is_output && !tensor.dead;
        const bool own = tensor.graph_tensor == no_id;  // else its type is the graph's
        if (!inside || !own || !is_integer(tensor.dtype) || tensor.equations.empty() || !is_value(index)) return;
        for (DType dtype : types) {
            if (bytes(dtype) >= bytes(tensor.dtype)) return;
            std::vector<Expr> rights;
            for (int32_t maker : tensor.equations) {
                const Equation& equation = system_.equation(maker);
                const bool plain = !equation.reducer && equation.right->dtype == tensor.dtype;
                rights.push_back(plain ? ranges_.narrowed(arena_, equation.right, dtype) : nullptr);
            }
            if (std::ranges::find(rights, nullptr) != rights.end()) continue;
            for (size_t i = 0; i < rights.size(); i++) system_.equation(tensor.equations[i]).right = rights[i];
            narrowed_[index] = tensor.dtype;
            tensor.dtype = dtype;
            return;
        }
    }

    // A state of which only low bits are asked for: a count that becomes the int32 of the result.
    void narrow_state(TensorIndex index) {
        SystemTensor& tensor = system_.tensor(index);
        if (tensor.is_output || tensor.dead || !is_integer(tensor.dtype) || !system_.in_scan(index)) return;
        if (tensor.graph_tensor != no_id || narrowed_.contains(index)) return;
        for (DType dtype : {DType::int8, DType::int16, DType::int32}) {
            if (bytes(dtype) >= bytes(tensor.dtype)) return;
            const auto asks_low = [&](const Equation& e) { return e.dead || asks_low_bits(index, e, dtype); };
            if (!std::ranges::all_of(system_.equations, asks_low)) continue;
            for (int32_t maker : tensor.equations) {
                Equation& equation = system_.equation(maker);
                equation.right = arena_.cast(dtype, equation.right);
            }
            narrowed_[index] = tensor.dtype;
            tensor.dtype = dtype;
            return;
        }
    }

    bool asks_low_bits(TensorIndex index, const Equation& equation, DType dtype) const {
        const bool own = equation.tensor == index;
        if (own && (equation.reducer || equation.right->kind == Kind::guarded_read)) return false;
        std::vector<std::pair<Expr, bool>> open = {{equation.right, own}};
        std::set<std::pair<Expr, bool>> seen;
        while (!open.empty()) {
            const auto [e, low] = open.back();
            open.pop_back();
            if (!seen.insert({e, low}).second) continue;
            if (e->is_read() && e->tensor() == index && (!low || e->kind != Kind::read)) return false;
            const bool cast = e->kind == Kind::cast && is_integer(e->dtype) && bytes(e->dtype) <= bytes(dtype) &&
                              is_integer(e->parts()[0]->dtype);
            const bool keeps = e->kind == Kind::scalar && (e->op == ScalarOp::add || e->op == ScalarOp::subtract ||
                                                           e->op == ScalarOp::multiply);
            const auto& parts = e->parts();
            for (size_t i = 0; i < parts.size(); i++)
                open.push_back({parts[i], cast || (low && (keeps || (e->kind == Kind::select && i > 0)))});
        }
        return true;
    }

    // Every read of it is an operand of an operation, a cast or a selection: no coordinate, no condition.
    bool is_value(TensorIndex index) const {
        const auto is_read_of = [&](Expr e) { return e->is_read() && e->tensor() == index; };
        bool any = false;
        for (const Equation& equation : system_.equations) {
            if (equation.dead) continue;
            if (is_read_of(equation.right)) return false;
            for (Expr e : walk(equation.right)) {
                const auto& parts = e->parts();
                if (e->kind == Kind::guarded_read && is_read_of(e)) return false;
                if (std::ranges::none_of(parts, is_read_of)) continue;
                any = true;
                if (e->kind != Kind::scalar && e->kind != Kind::cast && e->kind != Kind::select) return false;
            }
            for (Expr left : equation.left) {
                if (std::ranges::any_of(walk(left), is_read_of)) return false;
            }
        }
        return any;
    }

    void read_narrowed() {
        for (Equation& equation : system_.equations) {
            const bool concerned = !equation.dead && std::ranges::any_of(reads(equation), [&](Expr read) {
                                       return narrowed_.contains(read->tensor());
                                   });
            if (!concerned) continue;
            equation.right = remade(equation.right, [&](Expr e, std::vector<Expr> operands) {
                if (e->kind == Kind::read && narrowed_.contains(e->tensor())) {
                    const DType dtype = system_.tensor(e->tensor()).dtype;
                    return arena_.cast(e->dtype, arena_.read(e->tensor(), dtype, std::move(operands)));
                }
                if (e->kind == Kind::cast && is_integer(e->dtype)) {
                    if (Expr less = wrapped(operands[0], e->dtype)) return less;
                }
                return arena_.rebuild(e, std::move(operands));
            });
        }
    }

    // The low bits of an integer, worked out in a type that is no wider; null where they are not enough.
    Expr wrapped(Expr e, DType dtype) {
        if (!is_integer(e->dtype) || bytes(e->dtype) < bytes(dtype)) return nullptr;
        if (e->kind == Kind::integer) return e->dtype == DType::uint64 ? nullptr : arena_.cast(dtype, e);
        if (e->kind == Kind::cast) {
            Expr of = e->parts()[0];
            return is_integer(of->dtype) || is_bool(of->dtype) ? arena_.cast(dtype, of) : nullptr;
        }
        const bool chosen = e->kind == Kind::select;
        const bool low = e->kind == Kind::scalar && (e->op == ScalarOp::add || e->op == ScalarOp::subtract ||
                                                     e->op == ScalarOp::multiply);
        if (!chosen && !low) return nullptr;
        const Expr a = wrapped(e->parts()[chosen ? 1 : 0], dtype), b = wrapped(e->parts()[chosen ? 2 : 1], dtype);
        if (a == nullptr || b == nullptr) return nullptr;
        return chosen ? arena_.select(e->parts()[0], a, b) : arena_.scalar(e->op, dtype, {a, b});
    }

    System& system_;
    Arena& arena_;
    IntegerRanges ranges_;
    std::map<TensorIndex, DType> narrowed_;  // and the type that they had
};

}  // namespace

void narrow_sums(System& system) { Narrower(system).run(); }
void narrow_steps(System& system) { Narrower(system).run_steps(); }

}  // namespace heddle::equations
