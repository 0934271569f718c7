#include "schedules/vector_steps.h"

#include <algorithm>
#include <map>
#include <set>

#include "expr/remake.h"
#include "schedules/accesses.h"
#include "schedules/running_term.h"
#include "target/choice_numbers.h"

namespace heddle::schedules {
namespace {

using Part = VectorSteps::Part;

// The step of a scan's equation that a read is of.
enum class Age : uint8_t { none, now, before, other };

struct State {
    RunningTerm takes;
    TensorIndex first = no_id, running = no_id, before = no_id;  // what is made of it
};

// One scan, whose equations are taken apart. Nothing is changed before all of it is known to fit.
class ScanInVectors {
public:
    ScanInVectors(Kernel& kernel, AxisId ordered) : kernel_(kernel), arena_(*kernel.arena), ordered_(ordered) {
        for (size_t i = 0; i < kernel.equations.size(); i++) {
            if (kernel.equations[i].ordered == ordered) equations_.push_back(i);
        }
        others_ = equation(equations_[0]).axes;
    }

    bool fits();
    std::vector<KernelEquation> equations();

private:
    const KernelEquation& equation(size_t i) const { return kernel_.equations[i]; }
    bool is_plain(const KernelEquation& e);
    bool counts_steps(const std::vector<Expr>& left) const;
    bool is_read_elsewhere(TensorIndex tensor) const;
    Expr at_step(Expr coordinate, Expr step) { return arena_.substitute(coordinate, {{ordered_, step}}); }
    Age age(size_t reader, Expr read);
    bool find_states();
    bool is_kept_apart(TensorIndex tensor, size_t maker);
    bool sort();
    std::optional<std::vector<Expr>> last_place(const std::vector<Expr>& left);
    TensorIndex add_local(TensorIndex like, const std::string& suffix, bool of_steps);
    std::vector<Expr> own_point();
    Expr own(TensorIndex tensor) { return arena_.read(tensor, kernel_.tensor(tensor).dtype, own_point()); }
    Expr rewritten(size_t reader, Expr right);
    KernelEquation made(TensorIndex tensor, Part part, Expr right);
    void add_states_first(std::vector<KernelEquation>& into);
    void add_state(size_t i, std::vector<KernelEquation>& into);
    void add_other(size_t i, std::vector<KernelEquation>& into);

    Kernel& kernel_;
    Arena& arena_;
    const AxisId ordered_;
    std::vector<size_t> equations_;  // first in the kernel's order, then each behind what it reads
    std::vector<AxisId> others_;
    std::map<TensorIndex, size_t> makers_;
    std::map<TensorIndex, State> states_;
    std::set<TensorIndex> read_before_;               // states of which the step before is read, by others
    std::map<TensorIndex, TensorIndex> temporaries_;  // what only a step knows
};

bool ScanInVectors::counts_steps(const std::vector<Expr>& left) const {
    return std::ranges::any_of(left, [&](Expr c) { return coefficient(c, ordered_) != 0; });
}

bool ScanInVectors::is_read_elsewhere(TensorIndex tensor) const {
    return std::ranges::any_of(kernel_.equations, [&](const KernelEquation& e) {
        const bool on_left = std::ranges::any_of(e.left, [&](Expr c) { return reads_tensor(c, tensor); });
        return e.ordered != ordered_ && (on_left || reads_tensor(e.right, tensor));
    });
}

// Makes all of its own tensor's steps, at the same points as the others; nothing of it shares memory with anything.
bool ScanInVectors::is_plain(const KernelEquation& e) {
    if (e.reducer || e.update || !same_axes(e.axes, others_) || kernel_.tensor(e.tensor).may_alias) return false;
    if (std::ranges::any_of(e.left, [](Expr c) { return contains_read(c); })) return false;
    const auto reads = reads_of(e.right);
    return std::ranges::none_of(reads, [&](const ReadAccess& read) { return kernel_.tensor(read.tensor).may_alias; });
}

// A state that has one place holds the step before until its equation has run.
Age ScanInVectors::age(size_t reader, Expr read) {
    const auto maker = makers_.find(read->tensor());
    if (maker == makers_.end()) return Age::none;
    if (read->kind != Kind::read) return Age::other;
    const std::vector<Expr>& left = equation(maker->second).left;
    const std::vector<Expr> at = coordinates_of(read);
    const bool moves = std::ranges::any_of(left, [&](Expr c) { return depends_on(c, ordered_); });
    if (at == left) return reader > maker->second ? Age::now : moves ? Age::other : Age::before;
    const Expr step_before = arena_.add(arena_.axis_value(ordered_), arena_.integer(-1));
    for (size_t d = 0; d < left.size(); d++) {
        if (at[d] != at_step(left[d], step_before)) return Age::other;
    }
    return Age::before;
}

// Those of which the step before is read. Each must only take a term.
bool ScanInVectors::find_states() {
    std::set<TensorIndex> found;
    for (size_t i : equations_) {
        for (const ReadAccess& read : reads_of(equation(i).right)) {
            const Age age = this->age(i, read.value);
            if (age == Age::other) return false;
            if (age != Age::before) continue;
            found.insert(read.tensor);
            if (read.tensor != equation(i).tensor) read_before_.insert(read.tensor);
        }
    }
    for (TensorIndex tensor : found) {
        const size_t maker = makers_.at(tensor);
        const KernelEquation& e = equation(maker);
        const DType dtype = kernel_.tensor(tensor).dtype;
        if (e.right->dtype != dtype || (is_float(dtype) && is_narrow(dtype))) return false;
        const auto is_state = [&](Expr e) { return e->is_read() && e->tensor() == tensor; };
        const auto takes = running_term(arena_, e.right, tensor, is_state);
        if (!takes || !accepts(takes->reducer, dtype)) return false;
        states_[tensor].takes = *takes;
    }
    return !states_.empty();
}

// What has no place for each step is known behind the scan only as the last step of a state.
bool ScanInVectors::is_kept_apart(TensorIndex tensor, size_t maker) {
    const std::vector<Expr>& left = equation(maker).left;
    if (counts_steps(left)) return true;
    if (kernel_.tensor(tensor).role != KernelTensor::Role::local) return false;
    if (states_.contains(tensor)) return last_place(left).has_value();
    temporaries_[tensor] = no_id;
    return !is_read_elsewhere(tensor);
}

// Each behind what it reads of this step and of the one before, its own state apart.
bool ScanInVectors::sort() {
    std::vector<size_t> sorted;
    std::set<TensorIndex> done;
    while (sorted.size() < equations_.size()) {
        const auto next = std::ranges::find_if(equations_, [&](size_t i) {
            if (done.contains(equation(i).tensor)) return false;
            const auto reads = reads_of(equation(i).right);
            return std::ranges::all_of(reads, [&](const ReadAccess& read) {
                return read.tensor == equation(i).tensor || !makers_.contains(read.tensor) || done.contains(read.tensor);
            });
        });
        if (next == equations_.end()) return false;
        sorted.push_back(*next);
        done.insert(equation(*next).tensor);
    }
    equations_ = sorted;
    return true;
}

bool ScanInVectors::fits() {
    for (size_t i : equations_) {
        if (!is_plain(equation(i)) || !makers_.emplace(equation(i).tensor, i).second) return false;
    }
    if (!find_states()) return false;
    for (const auto& [tensor, maker] : makers_) {
        if (!is_kept_apart(tensor, maker)) return false;
    }
    return sort();
}

// Where the last step's lies, which no axis says any more. Steps that are kept in turn are counted at launch.
std::optional<std::vector<Expr>> ScanInVectors::last_place(const std::vector<Expr>& left) {
    std::vector<Expr> place = left;
    for (Expr& c : place) {
        if (!depends_on(c, ordered_)) continue;
        if (c->kind != Kind::scalar || c->op != ScalarOp::modulo) return std::nullopt;
        const CoordinateParts parts = parts_of(c->parts()[0]);
        if (parts.axes.size() != 1 || parts.axes[0].second != 1 || !parts.values.empty()) return std::nullopt;
        const int64_t last = parts.constant + std::max<int64_t>(0, kernel_.axis(ordered_).extent) - 1;
        c = arena_.scalar(ScalarOp::modulo, c->dtype, {arena_.literal(DType::int64, last, false), c->parts()[1]});
    }
    return place;
}

TensorIndex ScanInVectors::add_local(TensorIndex like, const std::string& suffix, bool of_steps) {
    KernelTensor local;
    local.name = kernel_.tensor(like).name + suffix;
    const auto same_name = [&](const KernelTensor& other) { return other.name == local.name; };
    while (std::ranges::any_of(kernel_.tensors, same_name)) local.name += "_";
    local.role = KernelTensor::Role::local;
    local.dtype = kernel_.tensor(like).dtype;
    for (AxisId axis : others_) local.dimensions.push_back({.extent = kernel_.axis(axis).extent, .stride = 0});
    if (of_steps) local.dimensions.push_back({.extent = kernel_.axis(ordered_).extent, .stride = 0});
    kernel_.tensors.push_back(std::move(local));
    return last_id<TensorIndex>(kernel_.tensors);
}

std::vector<Expr> ScanInVectors::own_point() {
    std::vector<Expr> point;
    for (AxisId axis : others_) point.push_back(arena_.axis_value(axis));
    point.push_back(arena_.axis_value(ordered_));
    return point;
}

// Reads of states and of what only a step knows, by what stands for them.
Expr ScanInVectors::rewritten(size_t reader, Expr right) {
    const auto given = [&](Expr e) -> Expr {
        if (e->kind == Kind::variable) return e;
        if (!e->is_read()) return nullptr;
        if (const auto state = states_.find(e->tensor()); state != states_.end())
            return own(age(reader, e) == Age::before ? state->second.before : state->second.running);
        const auto temporary = temporaries_.find(e->tensor());
        return temporary == temporaries_.end() ? nullptr : own(temporary->second);
    };
    Arena::Memo memo;
    const auto make = [&](Expr e, std::vector<Expr> operands) { return arena_.rebuild(e, std::move(operands)); };
    return expr::remade(right, memo, given, [](Expr e) { return operands_of(e); }, make);
}

KernelEquation ScanInVectors::made(TensorIndex tensor, Part part, Expr right) {
    KernelEquation e;
    e.tensor = tensor;
    e.axes = others_;
    e.axes.push_back(ordered_);
    e.left = own_point();
    e.right = right;
    e.vector_steps = {.steps = ordered_, .part = part};
    return e;
}

// What states hold before the first step.
void ScanInVectors::add_states_first(std::vector<KernelEquation>& into) {
    for (size_t i : equations_) {
        const auto state = states_.find(equation(i).tensor);
        if (state == states_.end()) continue;
        std::vector<Expr> place = equation(i).left;
        for (Expr& c : place) c = at_step(c, arena_.integer(-1));
        state->second.first = add_local(state->first, "_first", false);
        KernelEquation first =
            made(state->second.first, Part::plain, arena_.read(state->first, kernel_.tensor(state->first).dtype, place));
        first.axes = others_;
        first.left.pop_back();
        into.push_back(std::move(first));
    }
}

void ScanInVectors::add_state(size_t i, std::vector<KernelEquation>& into) {
    const KernelEquation from = equation(i);
    State& state = states_.at(from.tensor);
    state.running = add_local(from.tensor, "_running", true);
    KernelEquation running = made(state.running, Part::running, rewritten(i, state.takes.term));
    running.vector_steps.reducer = state.takes.reducer;
    running.vector_steps.of = state.first;
    into.push_back(std::move(running));
    if (read_before_.contains(from.tensor)) {
        state.before = add_local(from.tensor, "_before", true);
        into.push_back(made(state.before, Part::before, own(state.running)));
        into.back().vector_steps.of = state.running;
    }
    const bool local = kernel_.tensor(from.tensor).role == KernelTensor::Role::local;
    if (!counts_steps(from.left) || (local && !is_read_elsewhere(from.tensor))) return;
    into.push_back(made(from.tensor, Part::plain, own(state.running)));
    into.back().left = from.left;
}

void ScanInVectors::add_other(size_t i, std::vector<KernelEquation>& into) {
    const KernelEquation from = equation(i);
    KernelEquation to = made(from.tensor, Part::plain, rewritten(i, from.right));
    to.left = from.left;
    if (const auto temporary = temporaries_.find(from.tensor); temporary != temporaries_.end()) {
        to.tensor = temporary->second = add_local(from.tensor, "_step", true);
        to.left = own_point();
    }
    into.push_back(std::move(to));
}

std::vector<KernelEquation> ScanInVectors::equations() {
    std::vector<KernelEquation> result;
    add_states_first(result);
    for (size_t i : equations_) states_.contains(equation(i).tensor) ? add_state(i, result) : add_other(i, result);
    for (size_t i : equations_) {
        const KernelEquation& from = equation(i);
        if (!states_.contains(from.tensor) || counts_steps(from.left) || !is_read_elsewhere(from.tensor)) continue;
        KernelEquation last = made(from.tensor, Part::last, own(states_.at(from.tensor).running));
        last.axes = others_;
        last.left = *last_place(from.left);
        last.vector_steps.of = states_.at(from.tensor).running;
        result.push_back(std::move(last));
    }
    return result;
}

// Enough steps, and no other axis that fills a vector.
bool gains(const Kernel& kernel, const KernelEquation& of_scan, const Target& target) {
    const int64_t lanes = target.lanes(choice_numbers::least_element);
    return lanes > 1 && kernel.hint(of_scan.ordered) >= 2 * lanes &&
           std::ranges::none_of(of_scan.axes, [&](AxisId axis) { return kernel.hint(axis) >= lanes; });
}

}  // namespace

std::optional<Kernel> in_vector_steps(const Kernel& kernel, const Target& target) {
    std::set<AxisId> scans;
    for (const KernelEquation& e : kernel.equations) {
        if (e.ordered >= 0 && gains(kernel, e, target)) scans.insert(e.ordered);
    }
    if (scans.empty()) return std::nullopt;
    Kernel made = copied(kernel);
    bool any = false;
    for (AxisId ordered : scans) {
        ScanInVectors scan(made, ordered);
        if (!scan.fits()) continue;
        any = true;
        std::vector<KernelEquation> steps = scan.equations();
        const auto of_scan = [&](const KernelEquation& e) { return e.ordered == ordered; };
        const auto place = std::ranges::find_if(made.equations, of_scan) - made.equations.begin();
        std::erase_if(made.equations, of_scan);
        made.equations.insert(made.equations.begin() + place, std::make_move_iterator(steps.begin()),
                              std::make_move_iterator(steps.end()));
    }
    return any ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace heddle::schedules
