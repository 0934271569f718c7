// Steps of a scan that share a sweep. A state that each step updates everywhere, by little that it reads of itself (a pivot's row
// and column: eliminations, factorisations, shortest paths), is loaded and stored once for several steps. A step of the new scan
// is a block of old ones: what they read of the state at few places is worked out first, one old step after the other, each as
// what the old steps of the block before it make of the state's element there; then all of them are done to each element at once.
// The operations are those of before, in their order.
#include <algorithm>
#include <map>
#include <optional>

#include "equations/fusion.h"
#include "equations/pass_support.h"

namespace heddle::equations {
namespace {

constexpr int64_t most_steps = 4;  // in a block: more cost more beside the sweep, and save less
constexpr int64_t least_blocks = 8;
constexpr double least_points = 4096;           // of a step: fewer are a vector or two for each row
constexpr double least_share = 4 * most_steps;  // of the states' points to all others of a step
constexpr int most_operations = 16;             // of a step: more hide the loads and stores

// A tensor that the scan makes.
struct Made {
    int32_t equation = -1;
    size_t dimension = 0;  // that counts the steps
    int64_t first = 0;     // 1: a state, one value stands before the steps
    bool swept = false;
    bool is_kept = false;  // more than the last step is asked for behind the scan
    // For each step of a block; of what is swept the last one alone. Of what is kept they are one tensor, with a dimension for them.
    std::vector<TensorIndex> copies = {};
};

class Sweeper {
public:
    Sweeper(System& system, int32_t scan) : system_(system), arena_(*system.arena), scan_(scan) {}

    void run() {
        if (!collect()) return;
        steps_ = arena_.extent(of(made_.begin()->second).ordered);
        if (!choose_swept() || !choose_count()) return;
        for (auto& [tensor, made] : made_) add_copies(tensor, made);
        for (const auto& [tensor, made] : made_) {
            for (int64_t s = made.swept ? count_ - 1 : 0; s < count_; s++) add_step(made, s);
        }
        for (const auto& [tensor, made] : made_) hand_over(tensor, made);
    }

private:
    const Equation& of(const Made& made) const { return system_.equation(made.equation); }

    // Every tensor is made by one equation of the scan, step after step.
    bool collect() {
        for (size_t i = 0; i < system_.equations.size(); i++) {
            const Equation& equation = system_.equations[i];
            if (equation.dead || equation.scan != scan_) continue;
            const auto made = made_by(static_cast<int32_t>(i));
            if (!made || !made_.emplace(equation.tensor, *made).second) return false;
        }
        for (const auto& [tensor, made] : made_) {
            const auto& makers = system_.tensor(tensor).equations;
            const auto live = std::ranges::count_if(makers, [&](int32_t m) { return !system_.equation(m).dead; });
            if (live != 1 + made.first) return false;
        }
        return !made_.empty() && reads_are_near();
    }

    std::optional<Made> made_by(int32_t index) const {
        const Equation& equation = system_.equation(index);
        std::optional<Made> found;
        for (size_t d = 0; d < equation.left.size(); d++) {
            const CoordinateForm form = linear_form(equation.left[d]);
            const bool plain =
                form.terms.size() == 1 && form.terms[0].second == 1 && form.terms[0].first->kind == Kind::variable;
            if (!plain && !equation.left[d]->axes.empty()) return std::nullopt;
            if (equation.left[d]->axes == std::vector{equation.ordered}) found = Made{index, d, form.constant};
        }
        return found && found->first <= 1 ? found : std::nullopt;
    }

    // In the scan, of this step or the one before.
    bool reads_are_near() const {
        for (const auto& [tensor, made] : made_) {
            for (Expr read : reads(of(made))) {
                const auto from = made_.find(read->tensor());
                if (from == made_.end()) continue;
                const auto step = step_of_read(of(made), read, of(from->second));
                if (read->kind != Kind::read || !step || *step < -from->second.first || *step > 0) return false;
            }
        }
        return true;
    }

    // States of many points that are read by all of these at their own points alone, and by other equations at few.
    bool choose_swept() {
        double most = 0, swept = 0, others = 0;
        for (const auto& [tensor, made] : made_) most = std::max(most, hint_points(system_, of(made)) / steps_);
        for (auto& [tensor, made] : made_) {
            const double points = hint_points(system_, of(made)) / steps_;
            made.swept = 2 * points > most;
            made.is_kept = is_asked_behind(tensor, made);
            (made.swept ? swept : others) += points;
        }
        bool reads_pivots = false;
        for (const auto& [tensor, made] : made_) {
            if (made.swept && !is_state(made)) return false;
            for (Expr read : reads(of(made))) {
                const auto from = made_.find(read->tensor());
                if (from == made_.end() || !from->second.swept) continue;
                if (made.swept && !is_own_point(made, from->second, read)) return false;
                reads_pivots |= !made.swept;
            }
        }
        return reads_pivots && swept >= least_points && swept >= least_share * others;
    }

    bool is_state(const Made& made) {
        const ValueFacts& facts = facts_.of(of(made).right);
        return made.first == 1 && !of(made).reducer && !made.is_kept && !facts.expensive &&
               facts.operations <= most_operations;
    }

    bool is_asked_behind(TensorIndex tensor, const Made& made) const {
        return system_.tensor(tensor).is_output || std::ranges::any_of(system_.equations, [&](const Equation& reader) {
                   return !reader.dead && reader.scan != scan_ && std::ranges::any_of(reads(reader), [&](Expr r) {
                       return r->tensor() == tensor && !is_last(made, r);
                   });
               });
    }

    bool is_last(const Made& made, Expr read) const {
        const Expr at = read->parts()[made.dimension];
        return read->kind == Kind::read && at->kind == Kind::integer && at->integer == steps_;
    }

    bool is_own_point(const Made& reader, const Made& made, Expr read) const {
        const Equation& equation = of(reader);
        if (of(made).left.size() != equation.left.size() || made.dimension != reader.dimension) return false;
        for (size_t d = 0; d < equation.left.size(); d++) {
            if (d != made.dimension && read->parts()[d] != equation.left[d]) return false;
        }
        return true;
    }

    bool choose_count() {
        for (count_ = most_steps; count_ > 1; count_--) {
            if (steps_ % count_ == 0 && steps_ >= least_blocks * count_) return true;
        }
        return false;
    }

    AxisId add_blocks(AxisId ordered) {
        Axis axis = arena_.axis(ordered);
        axis.extent /= count_;
        axis.factor = 0;
        axis.hint /= count_;
        axis.most /= count_;
        return arena_.add_axis(axis);
    }

    void add_copies(TensorIndex tensor, Made& made) {
        made.copies.assign(static_cast<size_t>(count_), TensorIndex(no_id));
        for (int64_t s = made.swept || made.is_kept ? count_ - 1 : 0; s < count_; s++) {
            const SystemTensor& from = system_.tensor(tensor);
            SystemTensor copy{.name = from.name + "_sweep", .dtype = from.dtype};
            copy.shape = from.shape;
            copy.sizes = from.sizes;
            copy.operation = from.operation;
            copy.shape[made.dimension] = steps_ / count_ + (s + 1 == count_ ? made.first : 0);
            copy.sizes[made.dimension] = Size(copy.shape[made.dimension]);
            if (made.is_kept) {
                const auto behind = static_cast<std::ptrdiff_t>(made.dimension) + 1;
                copy.shape.insert(copy.shape.begin() + behind, count_);
                copy.sizes.insert(copy.sizes.begin() + behind, Size(count_));
            }
            made.copies[static_cast<size_t>(s)] = system_.add_tensor(std::move(copy));
        }
        if (made.is_kept) std::ranges::fill(made.copies, TensorIndex(made.copies.back()));
        if (made.first == 1) add_first(tensor, made);
    }

    // What stands before the steps.
    void add_first(TensorIndex tensor, const Made& made) {
        for (int32_t index : std::vector(system_.tensor(tensor).equations)) {
            Equation before = system_.equation(index);
            if (before.dead || before.scan == scan_) continue;
            before.tensor = made.copies.back();
            if (made.is_kept) add_digit(before, made);
            system_.add_equation(std::move(before));
        }
    }

    // An axis for the steps of a block, in the dimension behind the blocks. Returns its value.
    Expr add_digit(Equation& equation, const Made& made) {
        size_t before = 0;
        for (size_t d = 0; d <= made.dimension; d++) before += equation.left[d]->axes.size();
        const AxisId digit = arena_.add_axis({.name = "step", .extent = count_});
        equation.axes.insert(equation.axes.begin() + static_cast<std::ptrdiff_t>(before), digit);
        equation.left.insert(equation.left.begin() + static_cast<std::ptrdiff_t>(made.dimension) + 1,
                             arena_.axis_value(digit));
        return arena_.axis_value(digit);
    }

    // The element of the copy for step s of the block; for none, of the last step of the block before.
    std::vector<Expr> place(const Made& made, std::vector<Expr> at, int64_t s, Expr block) {
        const bool behind_first = s >= 0 && (made.is_kept || s + 1 == count_);
        at[made.dimension] = arena_.add(block, arena_.integer(behind_first ? made.first : 0));
        const auto behind = at.begin() + static_cast<std::ptrdiff_t>(made.dimension) + 1;
        if (made.is_kept) at.insert(behind, arena_.integer(s < 0 ? count_ - 1 : s));
        return at;
    }

    // What step s of a block makes, in an equation of its own.
    void add_step(const Made& made, int64_t s) {
        Equation step = of(made);
        Arena::Substitution own;
        for (std::vector<AxisId>* axes : {&step.axes, &step.reduced}) {
            for (AxisId& axis : *axes) {
                const bool ordered = axis == of(made).ordered;
                const AxisId old = axis;
                axis = ordered ? add_blocks(old) : arena_.add_axis(arena_.axis(old));
                if (ordered) step.ordered = axis;
                if (!ordered) own[old] = arena_.axis_value(axis);
            }
        }
        Expr block = arena_.axis_value(step.ordered);
        for (Expr& left : step.left) left = arena_.substitute(left, own);
        step.left = place(made, step.left, s, block);
        const auto at = [&](int64_t old_step) {
            own[of(made).ordered] = arena_.add(arena_.scale(block, count_), arena_.integer(old_step));
            return own;
        };
        step.right = value(arena_.substitute(of(made).right, at(s)), block);
        if (made.swept) {
            std::vector<Expr> before = step.left;
            before[made.dimension] = block;
            Expr old = arena_.read(made.copies.back(), step.right->dtype, before);
            for (Expr c : below_zero(made)) {
                Expr first = arena_.substitute(c, at(0)), last = arena_.substitute(c, at(count_ - 1));
                Expr further = arena_.add(last, first, -1);
                if (further->kind != Kind::integer) continue;
                Expr weakest = further->integer < 0 ? last : first;
                step.right = arena_.select(arena_.less(weakest, arena_.integer(0)), step.right, old);
            }
        }
        step.tensor = made.copies[static_cast<size_t>(s)];
        step.piece = static_cast<int32_t>(system_.tensor(step.tensor).equations.size());
        system_.add_equation(std::move(step));
    }

    // Coordinates that are below 0 wherever a step changes the state's element.
    std::vector<Expr> below_zero(const Made& made) {
        const Equation& equation = of(made);
        std::vector<Expr> before = equation.left, found;
        before[made.dimension] = arena_.axis_value(equation.ordered);
        const Expr old = arena_.read(equation.tensor, equation.right->dtype, before);
        Expr right = equation.right;
        while (right->kind == Kind::select && (right->parts()[1] == old || right->parts()[2] == old)) {
            const bool holds = right->parts()[2] == old;
            std::vector<Expr> conditions = {right->parts()[0]};
            for (size_t i = 0; i < conditions.size(); i++) {
                Expr c = conditions[i];
                if (c->kind == Kind::negative)
                    found.push_back(holds ? c->parts()[0] : arena_.add(arena_.integer(-1), c->parts()[0], -1));
                if (c->kind == Kind::conjunction && holds)
                    conditions.insert(conditions.end(), c->parts().begin(), c->parts().end());
            }
            right = right->parts()[holds ? 1 : 2];
        }
        return found;
    }

    // With reads of the new scan's tensors, in its block, in place of those of the old one's.
    Expr value(Expr right, Expr block) {
        return replace_reads(arena_, right, [&](Expr read) -> Expr {
            const auto from = made_.find(read->tensor());
            if (from == made_.end()) return nullptr;
            const Made& made = from->second;
            const int64_t s = linear_form(read->parts()[made.dimension]).constant - made.first;
            return made.swept ? element(made, read, s, block) : of_copy(made, read, s, block);
        });
    }

    Expr of_copy(const Made& made, Expr read, int64_t s, Expr block) {
        const size_t copy = static_cast<size_t>(s < 0 ? count_ - 1 : s);
        return arena_.read(made.copies[copy], read->dtype, place(made, coordinates_of(read), s, block));
    }

    // What the steps of the block up to s have made of a state's element.
    Expr element(const Made& made, Expr read, int64_t s, Expr block) {
        if (s < 0) return of_copy(made, read, s, block);
        Arena::Substitution at;
        for (size_t d = 0; d < of(made).left.size(); d++) {
            const auto& axes = of(made).left[d]->axes;
            if (!axes.empty() && d != made.dimension) at[axes.front()] = read->parts()[d];
        }
        at[of(made).ordered] = arena_.add(arena_.scale(block, count_), arena_.integer(s));
        return value(arena_.substitute(of(made).right, at), block);
    }

    // Who reads the last step behind the scan reads the last block's; for others all steps are one tensor, as before.
    void hand_over(TensorIndex tensor, const Made& made) {
        for (Equation& equation : system_.equations) {
            if (equation.dead || equation.scan == scan_) continue;
            equation.right = replace_reads(arena_, equation.right, [&](Expr read) -> Expr {
                if (read->tensor() != tensor || made.first == 0 || !is_last(made, read)) return nullptr;
                const bool from_template = read->parts()[made.dimension]->from_template;
                Expr blocks = arena_.literal(DType::int64, steps_ / count_, from_template);
                return of_copy(made, read, -1, blocks);
            });
        }
        Equation& equation = system_.equation(made.equation);
        if (made.is_kept)
            take_over(equation, made);
        else
            equation.dead = true;
    }

    // All steps, side by side as before.
    void take_over(Equation& equation, const Made& made) {
        const AxisId block = add_blocks(equation.ordered);
        std::ranges::replace(equation.axes, equation.ordered, block);
        equation.left[made.dimension] = arena_.axis_value(block);
        Expr digit = add_digit(equation, made);
        const auto behind = equation.left.begin() + static_cast<std::ptrdiff_t>(made.dimension) + 1;
        std::vector<Expr> at = equation.left;
        at[made.dimension] = arena_.add(arena_.axis_value(block), arena_.integer(made.first));
        equation.left.erase(behind);
        equation.left[made.dimension] =
            arena_.add(arena_.add(digit, arena_.axis_value(block), count_), arena_.integer(made.first));
        equation.right = arena_.read(made.copies.back(), system_.tensor(equation.tensor).dtype, std::move(at));
        equation.reducer.reset();
        equation.reduced.clear();
        equation.scan = -1;
        equation.ordered = no_id;
    }

    System& system_;
    Arena& arena_;
    FactCache facts_;
    const int32_t scan_;
    int64_t steps_ = 1, count_ = 1;  // of the scan, of a block
    std::map<TensorIndex, Made> made_;
};

}  // namespace

void share_sweeps(System& system) {
    std::vector<int32_t> scans;
    for (const Equation& equation : system.equations) {
        if (!equation.dead && equation.scan >= 0 && std::ranges::find(scans, equation.scan) == scans.end())
            scans.push_back(equation.scan);
    }
    for (int32_t scan : scans) Sweeper(system, scan).run();
    if (scans.empty()) return;
    prune(system);
    compose_views(system);
}

}  // namespace heddle::equations
