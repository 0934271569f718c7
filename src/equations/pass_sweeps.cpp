// Steps of a scan that share a sweep. A state that each step updates everywhere, by little that it reads of itself (a
// pivot's row and column: eliminations, factorisations, shortest paths), is loaded and stored once for several steps. A
// step of the new scan is a block of old ones: what they read of the state at few places is worked out first, one old
// step after the other, each as what the old steps of the block before it make of the state's element there; then all
// of them are done to each element at once. The operations are those of before, in their order.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "equations/passes.h"
#include "equations/pass_support.h"

namespace heddle::equations {
namespace {

constexpr int64_t most_steps = 4;  // in a block: more cost more beside the sweep, and save less
constexpr int64_t least_blocks = 8;
constexpr double least_points = 4096;           // of a step: fewer are a vector or two for each row
constexpr double least_share = 4 * most_steps;  // of the states' points to all others of a step
constexpr int most_operations = 16;             // of a step: more hide the loads and stores
constexpr int64_t most_nodes_of_block = 128;    // of its right sides: longer ones take long to compile

// A tensor that the scan makes.
struct Made {
    int32_t equation = -1;
    size_t dimension = 0;  // that counts the steps
    int64_t first = 0;     // 1: a state, one value stands before the steps
    bool swept = false;
    std::vector<TensorIndex> copies =
        {};                   // for each step of a block, if the scan reads them; of what is swept the last one
    TensorIndex all = no_id;  // with a dimension for the steps of a block: what is asked for behind the scan
};

class Sweeper {
public:
    Sweeper(System& system, int32_t scan) : system_(system), arena_(*system.arena), scan_(scan) {}

    void run() {
        if (!collect() || !choose_swept() || !choose_count()) return;
        for (auto& [tensor, made] : made_) add_tensors(tensor, made);
        for (const auto& [tensor, made] : made_) {
            for (int64_t s = made.swept ? count_ - 1 : 0; s < count_; s++) add_step(made, s);
        }
        for (const auto& [tensor, made] : made_) hand_over(tensor, made);
        prune(system_);
        std::vector<bool> chosen(system_.equations.size());
        for (int32_t view : views_) chosen[static_cast<size_t>(view)] = !system_.equation(view).dead;
        inline_equations(system_, chosen);
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
            // A block's steps divide all of them.
            if (arena_.extent(equation.ordered).named()) return false;
            steps_ = arena_.extent(equation.ordered);
        }
        return std::ranges::all_of(made_, [&](const auto& entry) {
            const auto is_live = [&](int32_t maker) { return !system_.equation(maker).dead; };
            const auto& [tensor, made] = entry;
            return std::ranges::count_if(system_.tensor(tensor).equations, is_live) == 1 + made.first &&
                   reads_near(made);
        });
    }

    std::optional<Made> made_by(int32_t index) const {
        const Equation& equation = system_.equation(index);
        std::optional<Made> found;
        for (size_t d = 0; d < equation.left.size(); d++) {
            const CoordinateForm form = linear_form(equation.left[d]);
            const bool moves = form.terms.size() == 1 && form.terms[0].second == 1;
            if (!moves || form.terms[0].first->kind != Kind::variable) return std::nullopt;
            if (equation.left[d]->axes == std::vector{equation.ordered})
                found = Made{index, d, form.constant};
            else if (form.constant != 0)
                return std::nullopt;
        }
        return found && found->first <= 1 ? found : std::nullopt;
    }

    // In the scan, of this step or the one before.
    bool reads_near(const Made& made) const {
        return std::ranges::all_of(reads(of(made)), [&](Expr read) {
            const auto from = made_.find(read->tensor());
            if (from == made_.end()) return true;
            const auto step = step_of_read(of(made), read, of(from->second));
            return read->kind == Kind::read && step && *step >= -from->second.first && *step <= 0;
        });
    }

    // States of many points that all of these read at their own points alone, and other equations at few.
    bool choose_swept() {
        const auto points = [&](const auto& entry) {
            return hint_points(system_, of(entry.second)) / static_cast<double>(arena_.hint(of(entry.second).ordered));
        };
        double most = 0, swept = 0, others = 0;
        for (const auto& entry : made_) most = std::max(most, points(entry));
        for (auto& entry : made_) {
            entry.second.swept = 2 * points(entry) > most;
            (entry.second.swept ? swept : others) += points(entry);
        }
        bool reads_pivots = false;
        for (const auto& [tensor, made] : made_) {
            if (made.swept && !is_state(tensor, made)) return false;
            for (Expr read : reads(of(made))) {
                const auto from = made_.find(read->tensor());
                if (from == made_.end() || !from->second.swept) continue;
                if (made.swept && !is_own_point(made, from->second, read)) return false;
                reads_pivots |= !made.swept;
            }
        }
        return reads_pivots && swept >= least_points && swept >= least_share * others;
    }

    bool is_state(TensorIndex tensor, const Made& made) {
        const ValueFacts& facts = facts_.of(of(made).right);
        const bool is_short = !of(made).reducer && !facts.expensive && facts.operations <= most_operations;
        return made.first == 1 && is_short && !is_asked_behind(tensor, made);
    }

    // More than the last step.
    bool is_asked_behind(TensorIndex tensor, const Made& made) const {
        const auto asks = [&](Expr read) { return read->tensor() == tensor && !is_last(made, read); };
        return system_.tensor(tensor).is_output || std::ranges::any_of(system_.equations, [&](const Equation& reader) {
                   return !reader.dead && reader.scan != scan_ && std::ranges::any_of(reads(reader), asks);
               });
    }

    bool is_last(const Made& made, Expr read) const {
        const Expr at = read->parts()[made.dimension];
        return read->kind == Kind::read && made.first == 1 && at->kind == Kind::integer && at->integer == steps_;
    }

    bool is_own_point(const Made& reader, const Made& made, Expr read) const {
        const Equation& equation = of(reader);
        if (of(made).left.size() != equation.left.size() || made.dimension != reader.dimension) return false;
        for (size_t d = 0; d < equation.left.size(); d++) {
            if (d != made.dimension && read->parts()[d] != equation.left[d]) return false;
        }
        return true;
    }

    // What divides the steps, so that there is no block of fewer.
    bool choose_count() {
        int64_t nodes = 0;
        for (const auto& [tensor, made] : made_) nodes += facts_.of(of(made).right).nodes;
        for (count_ = most_steps; count_ > 1; count_--) {
            if (steps_ % count_ == 0 && steps_ >= least_blocks * count_ && nodes * count_ <= most_nodes_of_block)
                return true;
        }
        return false;
    }

    void add_tensors(TensorIndex tensor, Made& made) {
        const bool is_kept = is_asked_behind(tensor, made);
        const bool is_read = !is_kept || std::ranges::any_of(made_, [&](const auto& reader) {
            const auto asks = [&](Expr read) { return read->tensor() == tensor; };
            return std::ranges::any_of(reads(of(reader.second)), asks);
        });
        if (is_kept) made.all = add_like(tensor, made, {steps_ / count_, count_});
        if (!is_read) return;
        made.copies.assign(static_cast<size_t>(count_), TensorIndex(no_id));
        for (int64_t s = made.swept ? count_ - 1 : 0; s < count_; s++)
            made.copies[static_cast<size_t>(s)] = add_like(tensor, made, {steps_ / count_ + before(made, s)});
        for (int32_t index : std::vector(system_.tensor(tensor).equations)) {
            Equation first = system_.equation(index);
            if (!first.dead && first.scan != scan_) add(made.copies.back(), with_own_axes(std::move(first)));
        }
    }

    // With these dimensions in place of the one that counts the steps.
    TensorIndex add_like(TensorIndex tensor, const Made& made, const std::vector<int64_t>& counts) {
        const SystemTensor& from = system_.tensor(tensor);
        SystemTensor copy{.name = from.name + "_sweep", .dtype = from.dtype};
        copy.operation = from.operation;
        for (size_t d = 0; d < from.shape.size(); d++) {
            if (d != made.dimension) copy.shape.push_back(from.shape[d]);
            for (size_t c = 0; d == made.dimension && c < counts.size(); c++) copy.shape.emplace_back(counts[c]);
        }
        return system_.add_tensor(std::move(copy));
    }

    // Values that stand before the blocks: the first one of a state, before its last step of a block.
    int64_t before(const Made& made, int64_t s) const { return s + 1 == count_ ? made.first : 0; }

    int32_t add(TensorIndex tensor, Equation equation) {
        equation.tensor = tensor;
        equation.piece = static_cast<int32_t>(system_.tensor(tensor).equations.size());
        return system_.add_equation(std::move(equation));
    }

    Equation with_own_axes(Equation equation) {
        Arena::Substitution own;
        const AxisId ordered = equation.ordered;
        for (std::vector<AxisId>* axes : {&equation.axes, &equation.reduced}) {
            for (AxisId& axis : *axes) {
                const AxisId old = axis;
                axis = arena_.add_axis(Axis(arena_.axis(old)));
                own[old] = arena_.axis_value(axis);
                if (old == ordered) equation.ordered = axis;
            }
        }
        for (Expr& left : equation.left) left = arena_.substitute(left, own);
        equation.right = arena_.substitute(equation.right, own);
        return equation;
    }

    AxisId add_blocks(AxisId ordered) {
        Axis axis = arena_.axis(ordered);
        axis.extent /= count_;
        axis.factor = 1;  // steps are not cut: lower_body
        axis.hint /= count_;
        axis.most /= count_;
        return arena_.add_axis(std::move(axis));
    }

    // What step s of a block makes, in an equation of its own.
    void add_step(const Made& made, int64_t s) {
        Equation step = with_own_axes(of(made));
        const AxisId ordered = std::exchange(step.ordered, add_blocks(step.ordered));
        std::ranges::replace(step.axes, ordered, step.ordered);
        Expr block = arena_.axis_value(step.ordered);
        const auto at = [&](Expr e, int64_t old_step) {
            Expr time = arena_.add(arena_.integer(old_step), block, count_);
            return arena_.substitute(e, {{ordered, time}});
        };
        std::vector<Expr> below_zero;
        if (made.swept) below_zero = changes(made, step, ordered);
        step.right = value(at(step.right, s), block);
        for (Expr c : below_zero) {
            const auto weakest = least([&](int64_t old_step) { return at(c, old_step); });
            if (!weakest) continue;
            Expr old = of_copy(made, step.right->dtype, step.left, -1, block);
            Expr some_step_changes = arena_.less(*weakest, arena_.integer(0));
            step.right = arena_.select(some_step_changes, step.right, old);
        }
        step.left[made.dimension] = arena_.add(block, arena_.integer(before(made, s)));
        if (made.all >= 0) add_to_all(made, s, step, block);
        if (!made.copies.empty()) add(made.copies[static_cast<size_t>(s)], std::move(step));
    }

    // Of what a coordinate is in the steps of a block, where these differ by numbers.
    std::optional<Expr> least(const std::function<Expr(int64_t)>& of_step) {
        Expr found = of_step(0);
        for (int64_t s = 1; s < count_; s++) {
            Expr further = arena_.add(of_step(s), found, -1);
            if (further->kind != Kind::integer) return std::nullopt;
            if (further->integer < 0) found = of_step(s);
        }
        return found;
    }

    // Coordinates that are below 0 wherever the step changes the state's element.
    std::vector<Expr> changes(const Made& made, const Equation& equation, AxisId ordered) {
        std::vector<Expr> itself = equation.left, found;
        itself[made.dimension] = arena_.axis_value(ordered);
        const Expr old = arena_.read(equation.tensor, equation.right->dtype, itself);
        Expr right = equation.right;
        while (right->kind == Kind::select && (right->parts()[1] == old || right->parts()[2] == old)) {
            const bool holds = right->parts()[2] == old;
            std::vector<Expr> conditions = {right->parts()[0]};
            for (size_t i = 0; i < conditions.size(); i++) {
                const Expr condition = conditions[i];
                if (condition->kind == Kind::negative) {
                    Expr c = condition->parts()[0];
                    found.push_back(holds ? c : arena_.add(arena_.integer(-1), c, -1));
                }
                if (condition->kind != Kind::conjunction || !holds) continue;
                for (Expr both : condition->parts()) conditions.push_back(both);
            }
            right = right->parts()[holds ? 1 : 2];
        }
        return found;
    }

    // The same where all steps are; what is made already is read.
    void add_to_all(const Made& made, int64_t s, Equation step, Expr block) {
        if (!made.copies.empty()) {
            step.right = of_copy(made, system_.tensor(made.all).dtype, step.left, s, block);
            step.reducer.reset();
            step.reduced.clear();
        }
        step.left[made.dimension] = block;
        step.left.insert(step.left.begin() + static_cast<std::ptrdiff_t>(made.dimension) + 1, arena_.integer(s));
        add(made.all, with_own_axes(std::move(step)));
    }

    // With reads of the new scan's tensors, in this block, in place of those of the old one's.
    Expr value(Expr right, Expr block) {
        return replace_reads(arena_, right, [&](Expr read) -> Expr {
            const auto from = made_.find(read->tensor());
            if (from == made_.end()) return nullptr;
            const Made& made = from->second;
            const int64_t s = linear_form(read->parts()[made.dimension]).constant - made.first;
            return made.swept && s >= 0 ? element(made, read, s, block)
                                        : of_copy(made, read->dtype, coordinates_of(read), s, block);
        });
    }

    // What step s of the block made; of the block before, if there is none.
    Expr of_copy(const Made& made, DType dtype, std::vector<Expr> at, int64_t s, Expr block) {
        at[made.dimension] = arena_.add(block, arena_.integer(s < 0 ? 0 : before(made, s)));
        return arena_.read(made.copies[static_cast<size_t>(s < 0 ? count_ - 1 : s)], dtype, std::move(at));
    }

    // What the steps of the block up to s have made of a state's element.
    Expr element(const Made& made, Expr read, int64_t s, Expr block) {
        const Equation& equation = of(made);
        Arena::Substitution at;
        for (size_t d = 0; d < equation.left.size(); d++) at[equation.left[d]->axes.front()] = read->parts()[d];
        at[equation.ordered] = arena_.add(arena_.integer(s), block, count_);
        return value(arena_.substitute(equation.right, at), block);
    }

    // Who reads the last step behind the scan reads the last block's; for others all steps lie side by side, as before.
    void hand_over(TensorIndex tensor, const Made& made) {
        for (Equation& equation : system_.equations) {
            if (equation.dead || equation.scan == scan_) continue;
            equation.right = replace_reads(arena_, equation.right, [&](Expr read) -> Expr {
                if (read->tensor() != tensor || made.copies.empty() || !is_last(made, read)) return nullptr;
                const bool from_template = read->parts()[made.dimension]->from_template;
                Expr blocks = arena_.literal(DType::int64, steps_ / count_, from_template);
                return of_copy(made, read->dtype, coordinates_of(read), -1, blocks);
            });
        }
        if (made.all >= 0) views_.push_back(add(tensor, side_by_side(made)));
        system_.equation(made.equation).dead = true;
    }

    Equation side_by_side(const Made& made) {
        Equation equation = with_own_axes(of(made));
        const AxisId block = add_blocks(equation.ordered), step = arena_.add_axis({.name = "step", .extent = count_});
        std::vector<Expr> at = equation.left;
        at[made.dimension] = arena_.axis_value(block);
        at.insert(at.begin() + static_cast<std::ptrdiff_t>(made.dimension) + 1, arena_.axis_value(step));
        equation.right = arena_.read(made.all, system_.tensor(made.all).dtype, std::move(at));
        Expr time = arena_.add(arena_.axis_value(step), arena_.axis_value(block), count_);
        equation.left[made.dimension] = arena_.add(time, arena_.integer(made.first));
        const auto place = std::ranges::find(equation.axes, equation.ordered);
        *place = block;
        equation.axes.insert(place + 1, step);
        equation.reducer.reset();
        equation.reduced.clear();
        equation.scan = -1;
        equation.ordered = no_id;
        return equation;
    }

    System& system_;
    Arena& arena_;
    FactCache facts_;
    const int32_t scan_;
    int64_t steps_ = 1, count_ = 1;  // of the scan, of a block
    std::map<TensorIndex, Made> made_;
    std::vector<int32_t> views_;  // equations that lay all steps side by side
};

}  // namespace

void share_sweeps(System& system) {
    std::vector<int32_t> scans;
    for (const Equation& equation : system.equations) {
        if (!equation.dead && equation.scan >= 0 && std::ranges::find(scans, equation.scan) == scans.end())
            scans.push_back(equation.scan);
    }
    for (int32_t scan : scans) Sweeper(system, scan).run();
}

}  // namespace heddle::equations
