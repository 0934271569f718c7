// Counters of scans in 32 bits: a state that a step changes by a bounded integer stays within its first value and as
// many changes as there are steps. Half the memory is written and read, and a vector holds twice as many.
#include <algorithm>
#include <optional>

#include "equations/fusion.h"
#include "equations/integer_ranges.h"
#include "equations/pass_support.h"
#include "expr/arena_interval.h"

namespace heddle::equations {
namespace {

class StateNarrower {
public:
    explicit StateNarrower(System& system) : system_(system), arena_(*system.arena), ranges_(system) {}

    void run() {
        const size_t tensors = system_.tensors.size();
        for (size_t t = 0; t < tensors; t++) {
            tensor_ = TensorIndex(static_cast<int32_t>(t));
            if (is_state() && is_bounded()) narrow();
        }
    }

private:
    static constexpr DType wide = DType::int64, narrow_type = DType::int32;

    const SystemTensor& tensor() const { return system_.tensor(tensor_); }

    // A state that the equations alone see.
    bool is_state() {
        if (tensor().dtype != wide || tensor().dead || !system_.in_scan(tensor_)) return false;
        if (tensor().is_output || tensor().graph_tensor != no_id) return false;
        const auto reduces = [&](int32_t index) { return system_.equation(index).reducer.has_value(); };
        const auto guards = [&](Expr read) {
            return read->tensor() == tensor_ && read->kind == Kind::guarded_read &&
                   !holds(narrow_type, ranges_.of(read->parts().back()));
        };
        return std::ranges::none_of(tensor().equations, reduces) &&
               std::ranges::none_of(system_.equations, [&](const Equation& equation) {
                   return !equation.dead && std::ranges::any_of(reads(equation), guards);
               });
    }

    bool holds_state(Expr e) const {
        return std::ranges::any_of(walk(e), [&](Expr node) { return node->is_read() && node->tensor() == tensor_; });
    }

    // Whether every value of the state is known to fit.
    bool is_bounded() {
        first_.reset();
        change_ = Interval::point(0);
        int64_t steps = 0;
        for (int32_t index : tensor().equations) {
            const Equation& equation = system_.equation(index);
            if (equation.scan >= 0) steps = std::max(steps, steps_of(arena_.axis(equation.ordered)));
            if (!visit(equation.right, Interval::point(0))) return false;
        }
        const Interval all = hull(Interval::point(0), change_);
        Interval moved;
        if (!first_ || !first_->known() || __builtin_mul_overflow(all.low, steps, &moved.low) ||
            __builtin_mul_overflow(all.high, steps, &moved.high))
            return false;
        return holds(narrow_type, *first_ + moved);
    }
    // A step's axis has a hint where its size has an origin.
    static int64_t steps_of(const Axis& axis) { return axis.hint > 0 ? 2 * axis.hint : axis.extent; }

    // What a value adds to a state, or is without one.
    bool visit(Expr e, Interval offset) {
        if (!holds_state(e)) {
            const Interval own = ranges_.of(e);
            if (!own.known()) return false;
            first_ = first_ ? hull(*first_, own + offset) : own + offset;
            return true;
        }
        if (e->kind == Kind::read && e->tensor() == tensor_) {
            if (std::ranges::any_of(e->parts(), [&](Expr coordinate) { return holds_state(coordinate); })) return false;
            change_ = hull(change_, offset);
            return true;
        }
        if (e->kind == Kind::select) return visit(e->parts()[1], offset) && visit(e->parts()[2], offset);
        if (!is_exact_on_integers(e) || e->op == ScalarOp::multiply) return false;
        const Expr a = e->parts()[0], b = e->parts()[1];
        if (e->op == ScalarOp::minimum || e->op == ScalarOp::maximum) return visit(a, offset) && visit(b, offset);
        const bool second = holds_state(b);
        if (second && (holds_state(a) || e->op == ScalarOp::subtract)) return false;
        const Interval term = ranges_.of(second ? a : b);
        if (!term.known()) return false;
        return visit(second ? b : a, e->op == ScalarOp::subtract ? offset - term : offset + term);
    }

    // The tensor becomes one of the narrow type; others read it as before.
    void narrow() {
        std::vector<std::pair<int32_t, Expr>> own;
        for (int32_t index : tensor().equations) own.emplace_back(index, narrowed(system_.equation(index).right));
        const auto replace = [&](Expr read) -> Expr {
            return read->tensor() == tensor_ && read->dtype == wide ? arena_.cast(wide, narrow_read(read)) : nullptr;
        };
        for (Equation& equation : system_.equations) {
            if (!equation.dead && equation.tensor != tensor_)
                equation.right = replace_reads(arena_, equation.right, replace);
        }
        for (const auto& [index, right] : own) system_.equation(index).right = right;
        system_.tensor(tensor_).dtype = narrow_type;
    }
    Expr narrow_read(Expr read) {
        const std::vector<Expr> coordinates = coordinates_of(read);
        if (read->kind == Kind::read) return arena_.read(tensor_, narrow_type, coordinates);
        return arena_.guarded_read(tensor_, narrow_type, coordinates,
                                   arena_.literal(narrow_type, read->parts().back()->integer), tensor().shape);
    }
    Expr narrowed(Expr e) {
        if (e->is_read() && e->tensor() == tensor_) return narrow_read(e);
        if (!holds_state(e)) {
            const Expr own = ranges_.narrowed(arena_, e, narrow_type);
            return own != nullptr ? own : arena_.cast(narrow_type, e);
        }
        if (e->kind == Kind::select) {
            const auto replace = [&](Expr read) -> Expr {
                return read->tensor() == tensor_ ? arena_.cast(wide, narrow_read(read)) : nullptr;
            };
            const Expr condition = replace_reads(arena_, e->parts()[0], replace);
            return arena_.select(condition, narrowed(e->parts()[1]), narrowed(e->parts()[2]));
        }
        return arena_.scalar(e->op, narrow_type, {narrowed(e->parts()[0]), narrowed(e->parts()[1])});
    }

    System& system_;
    Arena& arena_;
    IntegerRanges ranges_;
    TensorIndex tensor_ = no_id;
    std::optional<Interval> first_;  // of values that no state is in
    Interval change_;
};

}  // namespace

void narrow_states(System& system) { StateNarrower(system).run(); }

}  // namespace heddle::equations
