// Integers in the smallest type that holds them: sums (a count of a window's elements needs 8 bits, not the 64 of its
// result, and a vector holds eight times as many), tensors that stay inside (`c[i] >= 4 ? 1 : 0`), states of scans (a
// running count), and what is made of them for a smaller type.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "equations/passes.h"
#include "equations/integer_ranges.h"
#include "equations/pass_support.h"
#include "equations/scatter.h"
#include "expr/remake.h"

namespace heddle::equations {
namespace {

class Narrower {
public:
    explicit Narrower(System& system) : system_(system), arena_(*system.arena), ranges_(system) {}

    void run() {
        for (int32_t index : system_.order()) narrow_sum(index);
        readers_ = readers(system_);  // once: what is narrowed reads no others
        for (size_t t = 0; t < system_.tensors.size(); t++) narrow_tensor(TensorIndex(t));
        if (!narrowed_.empty()) read_narrowed();
    }
    void run_steps() {
        for (int32_t index : system_.order()) narrow_steps(index);
    }

private:
    static constexpr std::array types = {DType::int8, DType::uint8, DType::int16, DType::uint16, DType::int32};

    // A sum's own tensor may be an output: what is summed gets a name, and is cast behind it.
    void narrow_sum(int32_t index) {
        const Equation& equation = system_.equation(index);
        const DType wide = equation.right->dtype;
        const SystemTensor& tensor = system_.tensor(equation.tensor);
        const bool alone = equation.scan < 0 && tensor.equations.size() == 1 && tensor.dtype == wide;
        if (equation.reducer != Reducer::sum || !is_integer(wide) || !alone || scatter_of(system_, equation)) return;
        for (DType dtype : types) {
            if (bytes(dtype) >= bytes(wide)) return;
            if (!is_lane_of(dtype, equation.right) || !holds(dtype, ranges_.of_elements(equation.tensor))) continue;
            const Expr right = ranges_.narrowed(arena_, equation.right, dtype);
            if (right == nullptr) continue;
            Arena::Substitution renaming;
            const Expr total = name_reduction(system_, index, "_narrow", right, renaming);
            system_.equation(index).right = arena_.cast(wide, total);
            return;
        }
    }

    // A sum in a smaller type than its terms compare has no more lanes, and what is compared must be made as small.
    bool is_lane_of(DType dtype, Expr term) const {
        return std::ranges::none_of(walk(term), [&](Expr e) {
            const bool compares = e->kind == Kind::scalar && is_bool(e->dtype) && !e->parts()[0]->is_coordinate();
            return compares && bytes(e->parts()[0]->dtype) > bytes(dtype);
        });
    }

    void narrow_tensor(TensorIndex index) {
        SystemTensor& tensor = system_.tensor(index);
        const bool inside = tensor.kind == SystemTensor::Kind::computed && !tensor.is_output && !tensor.dead;
        const bool own = tensor.graph_tensor == no_id;  // else its type is the graph's
        if (!inside || !own || !is_integer(tensor.dtype) || tensor.equations.empty()) return;
        for (DType dtype : types) {
            if (bytes(dtype) >= bytes(tensor.dtype)) return;
            auto rights = of_values(index, dtype);
            if (!rights && system_.in_scan(index)) rights = of_state(index, dtype);
            if (!rights) continue;
            for (size_t i = 0; i < rights->size(); i++) system_.equation(tensor.equations[i]).right = (*rights)[i];
            narrowed_[index] = tensor.dtype;
            tensor.dtype = dtype;
            return;
        }
    }

    bool reads_itself(const SystemTensor& tensor) const {
        return std::ranges::any_of(tensor.equations, [&](int32_t maker) {
            const Equation& equation = system_.equation(maker);
            return std::ranges::any_of(reads(equation), [&](Expr e) { return e->tensor() == equation.tensor; });
        });
    }

    // A tensor, and no state, whose elements all fit the smaller type and count as values alone: what makes them in it.
    std::optional<std::vector<Expr>> of_values(TensorIndex index, DType dtype) {
        const SystemTensor& tensor = system_.tensor(index);
        const bool fits = holds(dtype, ranges_.of_elements(index)) && !reads_itself(tensor);
        if (!fits || !is_value(index)) return std::nullopt;
        std::vector<Expr> rights;
        for (int32_t maker : tensor.equations) {
            const Equation& equation = system_.equation(maker);
            const bool sums = equation.reducer == Reducer::sum && !scatter_of(system_, equation);
            if (sums && !is_lane_of(dtype, equation.right)) return std::nullopt;
            const bool plain = (!equation.reducer || sums) && equation.right->dtype == tensor.dtype;
            rights.push_back(plain ? ranges_.narrowed(arena_, equation.right, dtype) : nullptr);
            if (rights.back() == nullptr) return std::nullopt;
        }
        return rights;
    }

    // A state whose elements fit 32 bits, so that it stands beside floats in vectors as long; or one of which no more
    // than the bits of the smaller type are asked for: a count that becomes the int32 of the result.
    std::optional<std::vector<Expr>> of_state(TensorIndex index, DType dtype) {
        const auto asks_low = [&](const Equation& e) { return e.dead || asks_low_bits(index, e, dtype); };
        const bool is_signed = info(dtype).kind == DTypeClass::signed_integer;
        const bool fits =
            dtype == DType::int32 && holds(dtype, ranges_.of_elements(index)) && fits_outside(index, dtype);
        const std::vector<int32_t>& makers = system_.tensor(index).equations;
        const auto all_ask_low = [&](const std::vector<int32_t>& equations) {
            return std::ranges::all_of(equations, [&](int32_t e) { return asks_low(system_.equation(e)); });
        };
        if (!fits && (!is_signed || !all_ask_low(makers) || !all_ask_low(readers_[index]))) return std::nullopt;
        std::vector<Expr> rights;
        for (int32_t maker : makers) {
            const Expr right = system_.equation(maker).right;
            const Expr small = fits ? ranges_.narrowed(arena_, right, dtype) : nullptr;
            rights.push_back(small != nullptr ? small : arena_.cast(dtype, right));
        }
        return rights;
    }

    // What stands for elements outside, in every read of it.
    bool fits_outside(TensorIndex index, DType dtype) {
        for (int32_t reader : readers_[index]) {
            for (Expr read : reads(system_.equation(reader))) {
                const bool guarded = read->tensor() == index && read->kind == Kind::guarded_read;
                if (guarded && !holds(dtype, ranges_.of(read->parts().back()))) return false;
            }
        }
        return true;
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
            const bool keeps = e->kind == Kind::scalar &&
                               (e->op == ScalarOp::add || e->op == ScalarOp::subtract || e->op == ScalarOp::multiply);
            const auto& parts = e->parts();
            for (size_t i = 0; i < parts.size(); i++)
                open.push_back({parts[i], cast || (low && (keeps || (e->kind == Kind::select && i > 0)))});
        }
        return true;
    }

    // Every read of it is an operand of an operation, a cast or a selection: no coordinate, no condition.
    bool is_value(TensorIndex index) {
        const auto is_read_of = [&](Expr e) { return e->is_read() && e->tensor() == index; };
        bool any = false;
        for (int32_t reader : readers_[index]) {
            const Equation& equation = system_.equation(reader);
            if (is_read_of(equation.right)) {
                if (equation.reducer || equation.right->kind != Kind::read) return false;
                any = true;
            }
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
                if (e->is_read() && narrowed_.contains(e->tensor()) && e->dtype == narrowed_[e->tensor()])
                    return arena_.cast(e->dtype, read_of(e, std::move(operands)));
                if (e->kind == Kind::cast && is_integer(e->dtype)) {
                    if (Expr less = wrapped(operands[0], e->dtype)) return less;
                }
                return arena_.rebuild(e, std::move(operands));
            });
        }
    }

    // Of the tensor in its type of now.
    Expr read_of(Expr read, std::vector<Expr> operands) {
        const SystemTensor& tensor = system_.tensor(read->tensor());
        if (read->kind == Kind::read) return arena_.read(read->tensor(), tensor.dtype, std::move(operands));
        const Expr outside = arena_.literal(tensor.dtype, operands.back()->integer);
        operands.pop_back();
        return arena_.guarded_read(read->tensor(), tensor.dtype, std::move(operands), outside, tensor.shape);
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
        const bool low = e->kind == Kind::scalar &&
                         (e->op == ScalarOp::add || e->op == ScalarOp::subtract || e->op == ScalarOp::multiply);
        if (!chosen && !low) return nullptr;
        const Expr a = wrapped(e->parts()[chosen ? 1 : 0], dtype), b = wrapped(e->parts()[chosen ? 2 : 1], dtype);
        if (a == nullptr || b == nullptr) return nullptr;
        return chosen ? arena_.select(e->parts()[0], a, b) : arena_.scalar(e->op, dtype, {a, b});
    }

    // What a cast makes smaller, or a comparison asks, in the smallest type that holds all steps on the way: vectors of
    // it have more lanes.
    Expr in_small_steps(Expr e) {
        const bool compares = e->kind == Kind::scalar && is_bool(e->dtype) && e->parts().size() == 2;
        if (compares && is_integer(e->parts()[0]->dtype)) return compared_in_small_steps(e);
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

    // A remainder of what is below twice the divisor takes a comparison: sums of remainders, places that go round.
    Expr without_division(Expr e) {
        if (!is_remainder(e)) return e;
        const Expr value = e->parts()[0], divisor = e->parts()[1];
        const int64_t n = divisor->integer;
        if (n > INT64_MAX / 2 || value->is_coordinate() || !ranges_.of(value).within(0, 2 * n - 1)) return e;
        const Expr below = arena_.scalar(ScalarOp::less, DType::boolean, {value, divisor});
        return arena_.select(below, value, arena_.scalar(ScalarOp::subtract, e->dtype, {value, divisor}));
    }

    Expr compared_in_small_steps(Expr e) {
        const Expr a = e->parts()[0], b = e->parts()[1];
        if (a->is_coordinate() || (b->is_coordinate() && b->kind != Kind::integer)) return e;
        for (DType dtype : types) {
            if (bytes(dtype) >= bytes(a->dtype)) break;
            const Expr left = ranges_.narrowed(arena_, a, dtype), right = ranges_.narrowed(arena_, b, dtype);
            if (left != nullptr && right != nullptr) return arena_.scalar(e->op, DType::boolean, {left, right});
        }
        return e;
    }

    void narrow_steps(int32_t index) {
        Equation& equation = system_.equation(index);
        equation.right = remade(equation.right, [&](Expr e, std::vector<Expr> operands) {
            return e->is_coordinate() ? e : in_small_steps(without_division(arena_.rebuild(e, std::move(operands))));
        });
    }

    System& system_;
    Arena& arena_;
    IntegerRanges ranges_;
    std::map<TensorIndex, std::vector<int32_t>> readers_;
    std::map<TensorIndex, DType> narrowed_;  // and the type that they had
};

}  // namespace

void narrow_integers(System& system) { Narrower(system).run(); }
void narrow_steps(System& system) { Narrower(system).run_steps(); }

}  // namespace heddle::equations
