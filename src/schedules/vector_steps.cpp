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
enum class Age : uint8_t { none, now, before, far, other };  // far: no vector of steps makes and reads it

struct State {
    RunningTerm takes;
    TensorIndex first = no_id, running = no_id, before = no_id;  // what is made of it
};

// One scan, whose equations are taken apart. Nothing is changed before all of it is known to fit.
class ScanInParts {
public:
    ScanInParts(Kernel& kernel, AxisId ordered, bool in_turn, int64_t lanes)
        : kernel_(kernel), arena_(*kernel.arena), ordered_(ordered), in_turn_(in_turn), lanes_(lanes) {
        for (size_t i = 0; i < kernel.equations.size(); i++) {
            if (kernel.equations[i].ordered == ordered) equations_.push_back(i);
        }
        others_ = equation(equations_[0]).axes;
    }

    // Steps that only add: a factor, or an extreme that asks for NaN, costs as much as turning rows does.
    bool only_adds() const {
        return states_.size() == 1 && states_.begin()->second.takes.reducer == Reducer::sum &&
               !states_.begin()->second.takes.factor;
    }
    bool fits();
    std::vector<KernelEquation> equations();

private:
    const KernelEquation& equation(size_t i) const { return kernel_.equations[i]; }
    bool is_plain(const KernelEquation& e);
    bool joins(const KernelEquation& update) const;
    bool counts_steps(const std::vector<Expr>& left) const;
    bool is_read_elsewhere(TensorIndex tensor) const;
    Expr at_step(Expr coordinate, Expr step) { return arena_.substitute(coordinate, {{ordered_, step}}); }
    Age age(size_t reader, Expr read);
    bool find_states();
    bool is_last_alone_read(TensorIndex tensor, const std::vector<Expr>& left, const std::vector<Expr>& last) const;
    bool is_kept_apart(TensorIndex tensor, size_t maker);
    bool sort();
    std::optional<std::vector<Expr>> last_place(const std::vector<Expr>& left);
    TensorIndex add_local(TensorIndex like, const std::string& suffix, bool of_steps);
    std::vector<Expr> own_point();
    Expr own(TensorIndex tensor) { return arena_.read(tensor, kernel_.tensor(tensor).dtype, own_point()); }
    Expr rewritten(size_t reader, Expr right);
    KernelEquation made(TensorIndex tensor, Part part, Expr right);
    void add_states_first(std::vector<KernelEquation>& into);
    void add_before(TensorIndex tensor, std::vector<KernelEquation>& into);
    void add_state(size_t i, std::vector<KernelEquation>& into);
    void add_other(size_t i, std::vector<KernelEquation>& into);
    void add_update(size_t i, std::vector<KernelEquation>& into);

    Kernel& kernel_;
    Arena& arena_;
    const AxisId ordered_;
    const bool in_turn_;
    const int64_t lanes_;            // of a vector of steps: what lies farther back is in memory
    std::vector<size_t> equations_;  // first in the kernel's order, then each behind what it reads
    std::vector<size_t> updates_;    // by vectors: those that go where the states say, step by step
    std::vector<AxisId> others_;
    std::map<TensorIndex, size_t> makers_;
    std::map<TensorIndex, State> states_;
    bool contains_update(const KernelEquation& e) const {
        return std::ranges::any_of(updates_, [&](size_t i) { return &equation(i) == &e; });
    }
    std::set<TensorIndex> read_before_;  // states of which the step before is read, by others
    std::set<TensorIndex> read_far_;     // what is read at steps that no vector has in common with the reader
    std::set<TensorIndex> earlier_;      // states of which more than the last step is known behind the scan
    std::map<TensorIndex, TensorIndex> temporaries_;  // what only a step knows
};

bool ScanInParts::counts_steps(const std::vector<Expr>& left) const {
    return std::ranges::any_of(left, [&](Expr c) { return coefficient(c, ordered_) != 0; });
}

bool ScanInParts::is_read_elsewhere(TensorIndex tensor) const {
    return read_far_.contains(tensor) || std::ranges::any_of(kernel_.equations, [&](const KernelEquation& e) {
               if (contains_update(e)) return false;
               const bool on_left = std::ranges::any_of(e.left, [&](Expr c) { return reads_tensor(c, tensor); });
               return e.ordered != ordered_ && (on_left || reads_tensor(e.right, tensor));
           });
}

// Makes all of its own tensor's steps, at the same points as the others.
bool ScanInParts::is_plain(const KernelEquation& e) {
    if (e.reducer || e.update || !same_axes(e.axes, others_)) return false;
    return std::ranges::none_of(e.left, [](Expr c) { return c->has_reads; });
}

// A state that has one place holds the step before until its equation has run.
Age ScanInParts::age(size_t reader, Expr read) {
    const auto maker = makers_.find(read->tensor());
    if (maker == makers_.end()) return Age::none;
    if (read->kind != Kind::read) return Age::other;
    const std::vector<Expr>& left = equation(maker->second).left;
    const std::vector<Expr> at = coordinates_of(read);
    const bool moves = std::ranges::any_of(left, [&](Expr c) { return depends_on(c, ordered_); });
    if (at == left) return reader > maker->second ? Age::now : moves ? Age::other : Age::before;
    const auto is_of_step = [&](int64_t back) {
        const Expr step = arena_.add(arena_.axis_value(ordered_), arena_.integer(-back));
        for (size_t d = 0; d < left.size(); d++) {
            if (at[d] != at_step(left[d], step)) return false;
        }
        return true;
    };
    if (is_of_step(1)) return Age::before;
    for (size_t d = 0; d < left.size() && !in_turn_; d++) {
        const Expr apart = arena_.add(left[d], at[d], -1);
        if (coefficient(left[d], ordered_) == 1 && apart->kind == Kind::integer && apart->integer >= lanes_ &&
            is_of_step(apart->integer))
            return Age::far;
    }
    return Age::other;
}

// Those of which the step before is read. By vectors, each must only take a term.
bool ScanInParts::find_states() {
    std::set<TensorIndex> found;
    for (size_t i : equations_) {
        for (const ReadAccess& read : reads_of(equation(i).right)) {
            const Age age = this->age(i, read.value);
            if (age == Age::other) return false;
            if (age == Age::far) read_far_.insert(read.tensor);
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
        if (in_turn_) {
            states_[tensor];
            continue;
        }
        const auto is_state = [&](Expr e) { return e->is_read() && e->tensor() == tensor; };
        const auto takes = running_term(arena_, e.right, tensor, is_state);
        if (!takes || !accepts(takes->reducer, dtype)) return false;
        states_[tensor].takes = *takes;
    }
    return !states_.empty() || !read_far_.empty();
}

// Of steps that are kept in turn, others may know more than the last one.
bool ScanInParts::is_last_alone_read(TensorIndex tensor, const std::vector<Expr>& left,
                                     const std::vector<Expr>& last) const {
    const auto is_last = [&](size_t d, Expr c) {
        if (!depends_on(left[d], ordered_)) return true;
        if (!is_kept_in_turn(c) || c->parts()[1] != last[d]->parts()[1]) return false;
        const CoordinateParts step = parts_of(c->parts()[0]);
        return step.is_constant() && step.constant == parts_of(last[d]->parts()[0]).constant;
    };
    const auto reads_last = [&](const ReadAccess& read) {
        for (size_t d = 0; read.tensor == tensor && d < left.size(); d++) {
            if (!is_last(d, read.value->parts()[d])) return false;
        }
        return true;
    };
    return std::ranges::all_of(kernel_.equations, [&](const KernelEquation& e) {
        const bool on_left = std::ranges::any_of(e.left, [&](Expr c) { return reads_tensor(c, tensor); });
        return e.ordered == ordered_ || (!on_left && std::ranges::all_of(reads_of(e.right), reads_last));
    });
}

// What has no place for each step is known behind the scan only as a state's last step, or if steps in turn store it.
bool ScanInParts::is_kept_apart(TensorIndex tensor, size_t maker) {
    const std::vector<Expr>& left = equation(maker).left;
    if (counts_steps(left)) return true;
    if (kernel_.tensor(tensor).role != KernelTensor::Role::local) return false;
    if (states_.contains(tensor)) {
        const auto last = last_place(left);
        if (!last || is_last_alone_read(tensor, left, *last)) return last.has_value();
        earlier_.insert(tensor);
        return in_turn_;
    }
    temporaries_[tensor] = no_id;
    return !is_read_elsewhere(tensor);
}

// Each behind what it reads of this step and of the one before, its own state apart. In turn, what is read of this step
// stands before its reader anyway.
bool ScanInParts::sort() {
    if (in_turn_) return true;
    std::vector<size_t> sorted;
    std::set<TensorIndex> done;
    while (sorted.size() < equations_.size()) {
        const auto next = std::ranges::find_if(equations_, [&](size_t i) {
            if (done.contains(equation(i).tensor)) return false;
            const auto reads = reads_of(equation(i).right);
            return std::ranges::all_of(reads, [&](const ReadAccess& read) {
                return read.tensor == equation(i).tensor || !makers_.contains(read.tensor) ||
                       done.contains(read.tensor) || age(i, read.value) == Age::far;
            });
        });
        if (next == equations_.end()) return false;
        sorted.push_back(*next);
        done.insert(equation(*next).tensor);
    }
    equations_ = sorted;
    return true;
}

bool ScanInParts::fits() {
    for (size_t i : equations_) {
        if (!is_plain(equation(i)) || !makers_.emplace(equation(i).tensor, i).second) return false;
    }
    if (!find_states()) return false;
    for (size_t i = 0; i < kernel_.equations.size(); i++) {
        if (!in_turn_ && joins(equation(i))) updates_.push_back(i);
    }
    for (const auto& [tensor, maker] : makers_) {
        if (!is_kept_apart(tensor, maker)) return false;
    }
    return sort();
}

// An update along as many points, of what states say at them and what no equation of the kernel makes.
bool ScanInParts::joins(const KernelEquation& update) const {
    if (update.ascending < 0 || !update.axes.empty() || !others_.empty()) return false;
    if (kernel_.axis(update.ascending).extent != kernel_.axis(ordered_).extent) return false;
    std::vector<Expr> roots = update.left;
    roots.push_back(update.right->parts()[0]);
    roots.push_back(update.right->parts()[1]);
    const Expr point = arena_.axis_value(update.ascending), behind = arena_.add(point, arena_.integer(1));
    const auto is_of_step = [&](const ReadAccess& read) {
        if (!states_.contains(read.tensor)) return kernel_.tensor(read.tensor).role == KernelTensor::Role::input;
        const std::vector<Expr> at = coordinates_of(read.value);
        return at.size() == 1 && (at[0] == point || at[0] == behind) && read.value->kind == Kind::read;
    };
    return std::ranges::all_of(roots, [&](Expr root) { return std::ranges::all_of(reads_of(root), is_of_step); });
}

// Where the last step's lies, which no axis says any more. Steps that are kept in turn are counted at launch.
std::optional<std::vector<Expr>> ScanInParts::last_place(const std::vector<Expr>& left) {
    std::vector<Expr> place = left;
    for (Expr& c : place) {
        if (!depends_on(c, ordered_)) continue;
        if (!is_kept_in_turn(c)) return std::nullopt;
        const CoordinateParts parts = parts_of(c->parts()[0]);
        if (parts.axes.size() != 1 || parts.axes[0].second != 1 || !parts.values.empty()) return std::nullopt;
        const Size last = parts.constant + maximum(kernel_.axis(ordered_).extent, 0) - 1;
        c = arena_.scalar(ScalarOp::modulo, c->dtype, {arena_.literal(DType::int64, last, false), c->parts()[1]});
    }
    return place;
}

TensorIndex ScanInParts::add_local(TensorIndex like, const std::string& suffix, bool of_steps) {
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

std::vector<Expr> ScanInParts::own_point() {
    std::vector<Expr> point;
    for (AxisId axis : others_) point.push_back(arena_.axis_value(axis));
    point.push_back(arena_.axis_value(ordered_));
    return point;
}

// Reads of states and of what only a step knows, by what stands for them.
Expr ScanInParts::rewritten(size_t reader, Expr right) {
    const auto given = [&](Expr e) -> Expr {
        if (e->kind == Kind::variable) return e;
        if (!e->is_read()) return nullptr;
        const Age age = this->age(reader, e);
        if (age == Age::far) return e;
        if (const auto state = states_.find(e->tensor()); state != states_.end())
            return own(age == Age::before ? state->second.before : state->second.running);
        const auto temporary = temporaries_.find(e->tensor());
        return temporary == temporaries_.end() ? nullptr : own(temporary->second);
    };
    Arena::Memo memo;
    const auto make = [&](Expr e, std::vector<Expr> operands) { return arena_.rebuild(e, std::move(operands)); };
    return expr::remade(right, memo, given, [](Expr e) { return operands_of(e); }, make);
}

KernelEquation ScanInParts::made(TensorIndex tensor, Part part, Expr right) {
    KernelEquation e;
    e.tensor = tensor;
    e.axes = others_;
    e.axes.push_back(ordered_);
    e.left = own_point();
    e.right = right;
    e.vector_steps = {.steps = ordered_, .in_turn = in_turn_, .part = part};
    return e;
}

// What states hold before the first step.
void ScanInParts::add_states_first(std::vector<KernelEquation>& into) {
    for (size_t i : equations_) {
        const auto state = states_.find(equation(i).tensor);
        if (state == states_.end()) continue;
        std::vector<Expr> place = equation(i).left;
        for (Expr& c : place) c = at_step(c, arena_.integer(-1));
        state->second.first = add_local(state->first, "_first", false);
        KernelEquation first = made(state->second.first, Part::plain,
                                    arena_.read(state->first, kernel_.tensor(state->first).dtype, place));
        first.axes = others_;
        first.left.pop_back();
        into.push_back(std::move(first));
    }
}

// The step before: by vectors it is known behind the state's own step, in turn before all others.
void ScanInParts::add_before(TensorIndex tensor, std::vector<KernelEquation>& into) {
    State& state = states_.at(tensor);
    state.before = add_local(tensor, "_before", true);
    into.push_back(made(state.before, Part::before, own(state.running)));
    into.back().vector_steps.of = state.running;
}

void ScanInParts::add_state(size_t i, std::vector<KernelEquation>& into) {
    const KernelEquation from = equation(i);
    State& state = states_.at(from.tensor);
    if (!in_turn_) state.running = add_local(from.tensor, "_running", true);
    KernelEquation running = made(state.running, Part::running, rewritten(i, in_turn_ ? from.right : state.takes.term));
    running.vector_steps.reducer = state.takes.reducer;
    running.vector_steps.of = state.first;
    if (state.takes.factor) {
        running.vector_steps.factor = add_local(from.tensor, "_factor", true);
        kernel_.tensors[static_cast<size_t>(running.vector_steps.factor)].dtype = state.takes.factor->dtype;
        into.push_back(made(running.vector_steps.factor, Part::plain, rewritten(i, state.takes.factor)));
    }
    into.push_back(std::move(running));
    if (!in_turn_ && (read_before_.contains(from.tensor) || !updates_.empty())) add_before(from.tensor, into);
    const bool local = kernel_.tensor(from.tensor).role == KernelTensor::Role::local;
    const bool has_place = counts_steps(from.left) || earlier_.contains(from.tensor);
    if (!has_place || (local && !is_read_elsewhere(from.tensor))) return;
    into.push_back(made(from.tensor, Part::plain, own(state.running)));
    into.back().left = from.left;
}

void ScanInParts::add_other(size_t i, std::vector<KernelEquation>& into) {
    const KernelEquation from = equation(i);
    KernelEquation to = made(from.tensor, Part::plain, rewritten(i, from.right));
    to.left = from.left;
    if (const auto temporary = temporaries_.find(from.tensor); temporary != temporaries_.end()) {
        to.tensor = temporary->second = add_local(from.tensor, "_step", true);
        to.left = own_point();
    }
    into.push_back(std::move(to));
}

// What was a state before the axis' point is its step before, what is behind it is the step itself.
void ScanInParts::add_update(size_t i, std::vector<KernelEquation>& into) {
    const KernelEquation from = equation(i);
    const Expr point = arena_.axis_value(from.ascending);
    Arena::Memo memo;
    const auto given = [&](Expr e) -> Expr {
        if (e == point) return arena_.axis_value(ordered_);
        const auto state = e->is_read() ? states_.find(e->tensor()) : states_.end();
        if (state == states_.end()) return nullptr;
        return own(e->parts()[0] == point ? state->second.before : state->second.running);
    };
    const auto at_step = [&](Expr e) {
        const auto make = [&](Expr like, std::vector<Expr> operands) {
            return arena_.rebuild(like, std::move(operands));
        };
        return expr::remade(e, memo, given, [](Expr part) { return operands_of(part); }, make);
    };
    KernelEquation to = made(from.tensor, Part::plain, at_step(from.right));
    to.left.clear();
    for (Expr c : from.left) to.left.push_back(at_step(c));
    to.update = true;
    to.ascending = ordered_;
    to.filling = from.filling;
    into.push_back(std::move(to));
}

std::vector<KernelEquation> ScanInParts::equations() {
    std::vector<KernelEquation> result;
    add_states_first(result);
    for (size_t i : equations_) {
        const auto state = states_.find(equation(i).tensor);
        if (!in_turn_ || state == states_.end()) continue;
        state->second.running = add_local(state->first, "_running", true);
        add_before(state->first, result);
    }
    for (size_t i : equations_) states_.contains(equation(i).tensor) ? add_state(i, result) : add_other(i, result);
    for (size_t i : updates_) add_update(i, result);
    for (size_t i : equations_) {
        const KernelEquation& from = equation(i);
        const bool stored = counts_steps(from.left) || earlier_.contains(from.tensor);
        if (!states_.contains(from.tensor) || stored || !is_read_elsewhere(from.tensor)) continue;
        KernelEquation last = made(from.tensor, Part::last, own(states_.at(from.tensor).running));
        last.axes = others_;
        last.left = *last_place(from.left);
        last.vector_steps.of = states_.at(from.tensor).running;
        result.push_back(std::move(last));
    }
    return result;
}

// Vectors of steps: enough of them.
bool fills_vectors(const Kernel& kernel, AxisId ordered, const Target& target) {
    const int64_t lanes = target.lanes(choice_numbers::least_element);
    return lanes > 1 && kernel.hint(ordered) >= 2 * lanes;
}

// No other axis fills a vector.
bool has_no_other_lanes(const Kernel& kernel, const KernelEquation& of_scan, const Target& target) {
    const int64_t lanes = target.lanes(choice_numbers::least_element);
    return std::ranges::none_of(of_scan.axes, [&](AxisId axis) { return kernel.hint(axis) >= lanes; });
}

// What a step reads and writes in memory lies beside what the next one does: for lanes along another axis all of it would
// have to be turned.
bool steps_are_neighbours(const Kernel& kernel, const KernelEquation& e) {
    const auto fits = [&](TensorIndex tensor, Coordinates coordinates) {
        const KernelTensor& t = kernel.tensor(tensor);
        if (t.role == KernelTensor::Role::local || coordinates.empty()) return true;
        const auto moves = [&](Expr c) { return depends_on(c, e.ordered); };
        if (std::ranges::none_of(coordinates, moves)) return true;
        return coefficient(coordinates.back(), e.ordered) == 1 &&
               std::none_of(coordinates.begin(), coordinates.end() - 1, moves);
    };
    const auto reads_fit = [&](const ReadAccess& read) { return fits(read.tensor, coordinates_of(read.value)); };
    return fits(e.tensor, e.left) && std::ranges::all_of(reads_of(e.right), reads_fit);
}

// Bytes of what is read or written at one step, where steps lie behind one another: 0 where they lie side by side.
int64_t row_of_step(const Kernel& kernel, const KernelEquation& e, TensorIndex index, Coordinates coordinates) {
    const KernelTensor& tensor = kernel.tensor(index);
    const auto of_step = std::ranges::find_if(coordinates, [&](Expr c) { return depends_on(c, e.ordered); });
    if (of_step == coordinates.end()) return 0;
    int64_t row = 0;
    for (AxisId axis : e.axes) {
        if (std::any_of(of_step + 1, coordinates.end(), [&](Expr c) { return depends_on(c, axis); }))
            row = std::max(row, bytes(tensor.dtype)) * std::clamp<int64_t>(kernel.hint(axis), 1, 1 << 20);
        row = std::min(row, int64_t{1} << 40);
    }
    return row;
}

// A border of the lanes, which is cut off elsewhere.
bool has_border(const Kernel& kernel, const KernelEquation& e, Expr read) {
    for (size_t d = 0; read->kind == Kind::guarded_read && d + 1 < read->parts().size(); d++) {
        const auto moves = [&](AxisId axis) { return depends_on(read->parts()[d], axis); };
        if (std::ranges::any_of(e.axes, moves) && needs_guard(kernel, read, d)) return true;
    }
    return false;
}

// Steps in turn: a tile keeps its states in registers, but walks what it reads and writes a step at a time, as small
// tasks do anyway. Else, where that is a long way from step to step, whole rows are better.
bool gains_in_turn(const Kernel& kernel, const KernelEquation& e) {
    const bool small_tasks = std::ranges::all_of(e.axes, [&](AxisId axis) { return contains(kernel.common, axis); });
    const auto is_short = [&](TensorIndex tensor, Coordinates coordinates) {
        return small_tasks || kernel.tensor(tensor).role == KernelTensor::Role::local ||
               row_of_step(kernel, e, tensor, coordinates) <= choice_numbers::longest_row_in_turn;
    };
    const auto fits = [&](const ReadAccess& read) {
        return is_short(read.tensor, coordinates_of(read.value)) && !has_border(kernel, e, read.value);
    };
    return std::ranges::all_of(reads_of(e.right), fits) && is_short(e.tensor, e.left);
}

// Rows that come from behind L2, as many at each step as there are states at least: then a step's states cost less to
// keep in L1 than the rows do to walk a few vectors of each at a time.
bool streams_rows(const Kernel& kernel, AxisId ordered, const Target& target) {
    std::set<TensorIndex> states, streams;
    int64_t row_bytes = 0;
    const auto add = [&](const KernelEquation& e, TensorIndex tensor, Coordinates coordinates) {
        const bool kept = std::ranges::any_of(coordinates, is_kept_in_turn);
        const int64_t row = row_of_step(kernel, e, tensor, coordinates);
        if (kept || row < choice_numbers::least_streamed_row || !streams.insert(tensor).second) return;
        row_bytes += row;
    };
    for (const KernelEquation& e : kernel.equations) {
        if (e.ordered != ordered) continue;
        states.insert(e.tensor);
        add(e, e.tensor, e.left);
        for (const ReadAccess& read : reads_of(e.right)) add(e, read.tensor, coordinates_of(read.value));
    }
    const int64_t steps = std::clamp<int64_t>(kernel.hint(ordered), 1, int64_t{1} << 20);
    return streams.size() >= states.size() && row_bytes > choice_numbers::kept_in_l2(target) / steps;
}

// The scan's equations in its place, and before them what fills the tensors that its steps now update.
void replace(Kernel& kernel, AxisId ordered, std::vector<KernelEquation> steps) {
    const auto is_updated = [&](const KernelEquation& e) {
        return std::ranges::any_of(steps, [&](const KernelEquation& s) { return s.update && s.tensor == e.tensor; });
    };
    std::erase_if(kernel.equations, [&](const KernelEquation& e) { return e.update && is_updated(e); });
    std::ranges::stable_partition(kernel.equations, is_updated);
    const auto of_scan = [&](const KernelEquation& e) { return e.ordered == ordered; };
    const auto place = std::ranges::find_if(kernel.equations, of_scan) - kernel.equations.begin();
    std::erase_if(kernel.equations, of_scan);
    kernel.equations.insert(kernel.equations.begin() + place, std::make_move_iterator(steps.begin()),
                            std::make_move_iterator(steps.end()));
}

// What a scan's steps are worth taking by.
struct Gains {
    bool by_vectors = false;
    bool by_vectors_of_rows = true;  // if the steps only add
    bool in_turn = true;

    bool any() const { return by_vectors || by_vectors_of_rows || in_turn; }
};

}  // namespace

std::optional<Kernel> in_vector_steps(const Kernel& kernel, const Target& target) {
    std::map<AxisId, Gains> scans;
    for (const KernelEquation& e : kernel.equations) {
        if (e.ordered < 0) continue;
        Gains& gains = scans[e.ordered];
        const bool vectors = fills_vectors(kernel, e.ordered, target);
        gains.by_vectors = gains.by_vectors || (vectors && has_no_other_lanes(kernel, e, target));
        gains.by_vectors_of_rows = gains.by_vectors_of_rows && vectors && steps_are_neighbours(kernel, e);
        gains.in_turn = gains.in_turn && gains_in_turn(kernel, e);
    }
    for (auto& [ordered, gains] : scans) gains.in_turn = gains.in_turn && !streams_rows(kernel, ordered, target);
    std::erase_if(scans, [](const auto& scan) { return !scan.second.any(); });
    if (scans.empty()) return std::nullopt;
    Kernel made = copied(kernel);
    bool any = false;
    for (const auto& [ordered, gains] : scans) {
        for (const bool in_turn : {false, true}) {
            if (!(in_turn ? gains.in_turn : gains.by_vectors || gains.by_vectors_of_rows)) continue;
            // Lanes that are invocations do not see what others have stored within a phase, however far back it is.
            const int64_t lanes = target.lanes(choice_numbers::least_element);
            ScanInParts scan(made, ordered, in_turn, target.has_workgroups() ? INT64_MAX : lanes);
            if (!scan.fits() || (!in_turn && !gains.by_vectors && !scan.only_adds())) continue;
            replace(made, ordered, scan.equations());
            any = true;
            break;
        }
    }
    return any ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace heddle::schedules
