#include "schedules/phases.h"

#include <algorithm>
#include <set>

#include "target/choice_numbers.h"

namespace heddle::schedules {
namespace {

const KernelEquation& equation(const Kernel& kernel, EquationIndex index) {
    return kernel.equations[static_cast<size_t>(index)];
}

bool reads_any(const Kernel& kernel, const KernelEquation& reader, const std::vector<EquationIndex>& producers) {
    return std::any_of(producers.begin(), producers.end(), [&](EquationIndex producer) {
        return reads_tensor(reader.right, equation(kernel, producer).tensor);
    });
}

bool reads_all_own_points(const Kernel& kernel, const KernelEquation& reader,
                          const std::vector<EquationIndex>& producers) {
    return std::all_of(producers.begin(), producers.end(),
                       [&](EquationIndex producer) { return reads_own_points(reader, equation(kernel, producer)); });
}

int writers(const Kernel& kernel, TensorIndex tensor) {
    return static_cast<int>(std::count_if(kernel.equations.begin(), kernel.equations.end(),
                                          [&](const KernelEquation& e) { return e.tensor == tensor; }));
}

// One of several equations that write a tensor. A state's first value, made before its scan, is none beside its steps.
bool is_piece(const Kernel& kernel, const KernelEquation& e) {
    return std::count_if(kernel.equations.begin(), kernel.equations.end(), [&](const KernelEquation& other) {
               const bool written = &other != &e && other.written >= 0 && other.written == e.written;
               return other.tensor == e.tensor && other.ordered == e.ordered && !written;
           }) > 1;
}

bool writes_piece(const Kernel& kernel, const PhaseGroup& group) {
    return std::ranges::any_of(group.equations(),
                               [&](EquationIndex index) { return is_piece(kernel, equation(kernel, index)); });
}

// The reader asks for what lies where the writer writes, at another point.
bool reads_overwritten(const Kernel& kernel, const KernelEquation& reader, const KernelEquation& writer) {
    return std::ranges::any_of(reads_of(reader.right), [&](const ReadAccess& read) {
        const bool same = std::ranges::equal(coordinates_of(read.value), writer.left);
        return kernel.tensor(read.tensor).shares == writer.tensor && !same;
    });
}

bool may_overlap(const Kernel& kernel, const PhaseGroup& group, const KernelEquation& e) {
    return std::ranges::any_of(group.equations(), [&](EquationIndex index) {
        const KernelEquation& member = equation(kernel, index);
        return reads_overwritten(kernel, e, member) || reads_overwritten(kernel, member, e);
    });
}

// Whether they are different at every step: of steps that are kept in turn, or all.
bool are_other_steps(Expr a, Expr b) {
    Size places = 0;  // 0: all
    if (is_kept_in_turn(a) && is_kept_in_turn(b) && a->parts()[1] == b->parts()[1] &&
        a->parts()[1]->kind == Kind::integer) {
        places = a->parts()[1]->integer;
        a = a->parts()[0];
        b = b->parts()[0];
    }
    const CoordinateParts first = parts_of(a), second = parts_of(b);
    const Size apart = first.constant - second.constant;
    const bool alike = first.values.empty() && second.values.empty() && std::ranges::equal(first.axes, second.axes);
    return alike && (places > 0 ? floor_modulo(apart, places) != 0 : apart != 0);
}

// A member of the group reads, for the point of another, what the equation writes: the step before, in its place.
bool replaces_early(const Kernel& kernel, const PhaseGroup& group, const KernelEquation& e) {
    for (EquationIndex index : group.equations()) {
        for (const ReadAccess& read : reads_of(equation(kernel, index).right)) {
            if (read.tensor != e.tensor || coordinates_of(read.value) == e.left) continue;
            if (!reads_other_step(e, read.value)) return true;
        }
    }
    return false;
}

std::vector<AxisId> joined(std::vector<AxisId> axes, const std::vector<AxisId>& more) {
    axes.insert(axes.end(), more.begin(), more.end());
    return axes;
}

// Of what the group and the equation make in pieces nothing is read here: their boxes are apart.
bool are_pieces_apart(const Kernel& kernel, const PhaseGroup& group, const KernelEquation& e) {
    const auto is_read = [&](TensorIndex tensor) {
        return std::ranges::any_of(kernel.equations,
                                   [&](const KernelEquation& reader) { return reads_tensor(reader.right, tensor); });
    };
    if (is_piece(kernel, e) && is_read(e.tensor)) return false;
    return std::ranges::none_of(group.equations(), [&](EquationIndex index) {
        return is_piece(kernel, equation(kernel, index)) && is_read(equation(kernel, index).tensor);
    });
}

// An integer by a literal one is a product and a shift.
bool divides_by_literal(Expr e) {
    return (e->op == ScalarOp::floor_divide || e->op == ScalarOp::modulo) && e->parts()[1]->kind == Kind::integer;
}

// The steps of a function wait for one another: vectors beside it hide that, and a load is nothing to it.
bool calls_function(Expr right) {
    constexpr int instructions = 16;
    const auto nodes = expr::walk(right);
    return std::ranges::any_of(nodes, [](Expr e) {
        return e->kind == Kind::scalar && info(e->op).size >= instructions && !divides_by_literal(e);
    });
}

// Stores to neighbours of the same elements: together they fill vectors.
bool fill_one_another(Arena& arena, const KernelEquation& a, const KernelEquation& b) {
    if (a.tensor != b.tensor || a.left.empty() || a.left == b.left) return false;
    if (!std::equal(a.left.begin(), a.left.end() - 1, b.left.begin())) return false;
    const Expr apart = arena.add(b.left.back(), a.left.back(), -1);
    return apart->kind == Kind::integer && absolute(apart->integer) < choice_numbers::longest_written_digit;
}

// What is written in place is gone behind its loop: who reads it too stands in the same one, or the results are copied.
bool reads_shared(const Kernel& kernel, const KernelEquation& reader, const KernelEquation& writer) {
    return std::ranges::any_of(reads_of(reader.right), [&](const ReadAccess& read) {
        return kernel.tensor(read.tensor).shares == writer.tensor;
    });
}

// Streams of the same points that read the same, or one the other, while their code is short: what they share is loaded
// once, and what they write lies side by side.
bool join_streams(const Kernel& kernel, PhaseGroup& group, EquationIndex index) {
    const KernelEquation& e = equation(kernel, index);
    const auto members = group.equations();
    const bool streams = !e.reducer && !e.update && !group.update && group.reductions.empty() && group.vector_steps < 0;
    if (!streams || e.ordered != group.ordered || e.block != group.block) return false;
    if (e.limits != group.limits || e.axes != group.axes) return false;
    if (e.axes.empty() || may_overlap(kernel, group, e) || replaces_early(kernel, group, e)) return false;
    if (!reads_all_own_points(kernel, e, members) || !are_pieces_apart(kernel, group, e)) return false;
    int64_t size = code_size(e.right, e.axes.back());
    const bool in_place = std::ranges::any_of(members, [&](EquationIndex member) {
        const KernelEquation& other = equation(kernel, member);
        return reads_shared(kernel, e, other) || reads_shared(kernel, other, e);
    });
    bool shares = reads_any(kernel, e, members) || in_place;
    bool fills = !members.empty();
    const bool calls = calls_function(e.right);
    for (EquationIndex member : members) {
        const Expr right = equation(kernel, member).right;
        size += code_size(right, e.axes.back());
        fills = fills && fill_one_another(*kernel.arena, equation(kernel, member), e);
        if (calls || calls_function(right)) continue;
        for (const ReadAccess& read : reads_of(e.right)) shares = shares || reads_tensor(right, read.tensor);
    }
    const bool may_be_long = fills || in_place;
    if (!(shares || fills) || size > (may_be_long ? choice_numbers::unrolled_code : choice_numbers::tile_code))
        return false;
    group.after.push_back(index);
    return true;
}

// The read is of what the equation makes at the same point, of this step or of another.
bool is_own_point_of_a_step(const KernelEquation& made, Expr read) {
    const bool other = reads_other_step(made, read);
    for (size_t d = 0; d < made.left.size(); d++) {
        if (read->parts()[d] != made.left[d] && !(other && depends_on(made.left[d], made.ordered))) return false;
    }
    return read->kind == Kind::read;
}

// States that are made of one another's steps before, each at its own point: what they read is loaded once.
bool shares_points(const Kernel& kernel, const PhaseGroup& group, const KernelEquation& e) {
    if (e.ordered < 0 || !group.reductions.empty()) return false;
    std::vector<const KernelEquation*> all = {&e};
    for (EquationIndex member : group.after) all.push_back(&equation(kernel, member));
    bool any = false;
    for (const KernelEquation* reader : all) {
        for (const ReadAccess& read : reads_of(reader->right)) {
            for (const KernelEquation* made : all) {
                if (read.tensor != made->tensor) continue;
                if (!is_own_point_of_a_step(*made, read.value)) return false;
                any |= reader != made;
            }
        }
    }
    return any;
}

bool reads_one_tensor(const KernelEquation& e) {
    const auto reads = reads_of(e.right);
    return std::ranges::all_of(reads, [&](const ReadAccess& read) { return read.tensor == reads[0].tensor; });
}

// Adds equation `index` to the group if one of the three rules allows; false if not.
bool join(const Kernel& kernel, PhaseGroup& group, EquationIndex index) {
    const KernelEquation& e = equation(kernel, index);
    auto members = group.equations();
    if (e.ordered != group.ordered || e.block != group.block || e.limits != group.limits) return false;
    const bool pieces = is_piece(kernel, e) || writes_piece(kernel, group);
    if (pieces && !(e.reducer && are_pieces_apart(kernel, group, e))) return false;
    if (e.update || group.update || may_overlap(kernel, group, e)) return false;
    if (replaces_early(kernel, group, e)) return false;
    const auto is_sibling = [&](EquationIndex member) {
        return e.written >= 0 && equation(kernel, member).written == e.written;
    };
    // The tile of a product has the registers for itself; sums over one tensor's neighbours share what they load.
    if (std::ranges::any_of(members, is_sibling) && !(e.reducer && reads_one_tensor(e))) return false;
    if (!e.reducer) {
        if (!same_axes(e.axes, group.axes)) return false;
        const bool of_group = reads_any(kernel, e, members) && reads_all_own_points(kernel, e, members);
        if (!of_group && !shares_points(kernel, group, e)) return false;
        group.after.push_back(index);
        return true;
    }
    if (group.reductions.empty()) {
        if (!same_axes(joined(e.axes, e.reduced), group.axes) || !reads_any(kernel, e, members)) return false;
        if (!reads_all_own_points(kernel, e, members)) return false;
        group.before = std::move(group.after);
        group.after.clear();
        group.reductions = {index};
        group.axes = e.axes;
        group.reduced = e.reduced;
        return true;
    }
    auto results = group.reductions;
    results.insert(results.end(), group.after.begin(), group.after.end());
    if (!same_axes(e.axes, group.axes) || !same_axes(e.reduced, group.reduced)) return false;
    if (reads_any(kernel, e, results) || !reads_all_own_points(kernel, e, group.before)) return false;
    group.reductions.push_back(index);
    return true;
}

bool read_outside(const Kernel& kernel, const std::vector<PhaseGroup>& groups, const PhaseGroup& home,
                  TensorIndex tensor) {
    for (const PhaseGroup& group : groups) {
        if (&group == &home) continue;
        for (EquationIndex index : group.equations()) {
            if (reads_tensor(equation(kernel, index).right, tensor)) return true;
        }
    }
    return false;
}

std::vector<EquationIndex> readers(const Kernel& kernel, TensorIndex tensor) {
    std::vector<EquationIndex> found;
    for (size_t i = 0; i < kernel.equations.size(); i++) {
        if (reads_tensor(kernel.equations[i].right, tensor)) found.push_back(EquationIndex(i));
    }
    return found;
}

// The dimensions that hold just the task's part: a common axis on the left and in every read.
std::vector<AxisId> task_dimensions(const Kernel& kernel, TensorIndex tensor) {
    std::vector<AxisId> result(kernel.tensor(tensor).dimensions.size(), no_id);
    for (size_t d = 0; d < result.size(); d++) {
        AxisId axis = no_id;
        bool first = true, agreed = true;
        auto see = [&](Expr coordinate, const KernelEquation& where) {
            AxisId found = plain_axis(coordinate);
            if (found < 0 || !contains(kernel.common, found) || !contains(where.axes, found)) agreed = false;
            if (!first && found != axis) agreed = false;
            axis = found;
            first = false;
        };
        for (const KernelEquation& e : kernel.equations) {
            if (e.tensor == tensor) see(e.left[d], e);
            for (const ReadAccess& read : reads_of(e.right)) {
                if (read.tensor == tensor) see(read.value->parts()[d], e);
            }
        }
        if (agreed) result[d] = axis;
    }
    return result;
}

// The output in whose memory a stream local may live: its one reader outside of the phase, at its own point and at its
// own step.
bool live_in_output(const Kernel& kernel, const PhaseGroup& home, EquationIndex made, LocalStorage& storage) {
    const KernelEquation& e = equation(kernel, made);
    EquationIndex found = no_id;
    auto inside = home.equations();
    for (EquationIndex reader : readers(kernel, e.tensor)) {
        if (std::find(inside.begin(), inside.end(), reader) != inside.end()) continue;
        if (found >= 0) return false;
        found = reader;
    }
    if (found < 0 || found < made) return false;
    const KernelEquation& last = equation(kernel, found);
    const KernelTensor& output = kernel.tensor(last.tensor);
    if (output.role != KernelTensor::Role::output || output.may_alias() || last.reducer) return false;
    if (output.dtype != kernel.tensor(e.tensor).dtype || writers(kernel, last.tensor) != 1) return false;
    if (e.written >= 0 && e.written == last.written) return false;
    if (!readers(kernel, last.tensor).empty()) return false;
    if (last.ordered != e.ordered || last.vector_steps.steps != e.vector_steps.steps || !same_axes(last.axes, e.axes) ||
        !reads_own_points(last, e))
        return false;
    storage.kind = LocalStorage::Kind::output;
    storage.target = last.tensor;
    storage.target_equation = found;
    return true;
}

// The array that a stream local may overwrite: read at its point here, and by nobody later, nor here at a later step.
TensorIndex dead_array(const Kernel& kernel, const std::vector<LocalStorage>& storage, const PhaseGroup& home,
                       EquationIndex made) {
    const KernelEquation& e = equation(kernel, made);
    if (e.reducer) return no_id;
    for (const ReadAccess& read : reads_of(e.right)) {
        if (kernel.tensor(read.tensor).role != KernelTensor::Role::local || writers(kernel, read.tensor) != 1) continue;
        const LocalStorage& other = storage[static_cast<size_t>(read.tensor)];
        if (other.kind != LocalStorage::Kind::array && other.kind != LocalStorage::Kind::alias) continue;
        auto producer = std::find_if(kernel.equations.begin(), kernel.equations.end(),
                                     [&](const KernelEquation& p) { return p.tensor == read.tensor; });
        if (producer->ordered != e.ordered) continue;
        const auto own = [&](EquationIndex reader) { return reads_own_points(equation(kernel, reader), *producer); };
        if (producer->left != e.left || !std::ranges::all_of(home.equations(), own)) continue;
        if (readers(kernel, read.tensor).back() > made) continue;
        if (kernel.tensor(read.tensor).dtype != kernel.tensor(e.tensor).dtype) continue;
        if (other.of_task != storage[static_cast<size_t>(e.tensor)].of_task) continue;
        return other.kind == LocalStorage::Kind::alias ? other.target : read.tensor;
    }
    return no_id;
}

}  // namespace

bool reads_other_step(const KernelEquation& e, Expr read) {
    for (size_t d = 0; e.ordered >= 0 && d < e.left.size(); d++) {
        Expr left = e.left[d], coordinate = read->parts()[d];
        const bool of_steps =
            left->axes.size() == 1 && depends_on(left, e.ordered) && std::ranges::equal(left->axes, coordinate->axes);
        if (of_steps && are_other_steps(left, coordinate)) return true;
    }
    return false;
}

std::vector<EquationIndex> PhaseGroup::equations() const {
    std::vector<EquationIndex> all = before;
    all.insert(all.end(), reductions.begin(), reductions.end());
    all.insert(all.end(), after.begin(), after.end());
    std::sort(all.begin(), all.end());
    return all;
}

bool reads_own_points(const KernelEquation& reader, const KernelEquation& producer) {
    for (const ReadAccess& read : reads_of(reader.right)) {
        if (read.tensor != producer.tensor) continue;
        if (read.value->kind != Kind::read || coordinates_of(read.value) != producer.left) return false;
    }
    return true;
}

std::vector<PhaseGroup> group_phases(const Kernel& kernel) {
    std::vector<PhaseGroup> groups;
    for (size_t i = 0; i < kernel.equations.size(); i++) {
        const KernelEquation& e = kernel.equations[i];
        auto index = EquationIndex(i);
        const AxisId vector_steps = e.vector_steps.steps;
        if (vector_steps >= 0 && !groups.empty() && groups.back().vector_steps == vector_steps) {
            groups.back().after.push_back(index);
            continue;
        }
        const bool first = vector_steps >= 0 || groups.empty() || groups.back().vector_steps >= 0;
        if (!first && join_streams(kernel, groups.back(), index)) continue;
        if (!first && join(kernel, groups.back(), index)) continue;
        PhaseGroup group;
        group.axes = e.axes;
        if (vector_steps >= 0 && !contains(e.axes, vector_steps)) group.axes.push_back(vector_steps);
        group.vector_steps = vector_steps;
        group.in_turn = e.vector_steps.in_turn;
        group.reduced = e.reduced;
        group.update = e.update;
        group.ordered = e.ordered;
        group.block = e.block;
        group.limits = e.limits;
        (e.reducer ? group.reductions : group.after).push_back(index);
        groups.push_back(std::move(group));
    }
    return groups;
}

std::vector<LocalStorage> store_locals(const Kernel& kernel, const std::vector<PhaseGroup>& groups) {
    std::vector<LocalStorage> storage(kernel.tensors.size());
    for (size_t t = 0; t < storage.size(); t++) {
        if (kernel.tensors[t].role != KernelTensor::Role::local) continue;
        auto tensor = TensorIndex(t);
        storage[t].of_task = task_dimensions(kernel, tensor);
        storage[t].kind = readers(kernel, tensor).empty() ? LocalStorage::Kind::unused : LocalStorage::Kind::array;
    }
    std::set<TensorIndex> taken;
    for (const PhaseGroup& group : groups) {
        for (EquationIndex index : group.equations()) {
            const KernelEquation& e = equation(kernel, index);
            LocalStorage& local = storage[static_cast<size_t>(e.tensor)];
            if (local.kind != LocalStorage::Kind::array || writers(kernel, e.tensor) != 1) continue;
            const bool own = std::ranges::all_of(
                group.equations(), [&](EquationIndex reader) { return reads_own_points(equation(kernel, reader), e); });
            if (own && !read_outside(kernel, groups, group, e.tensor)) {
                local.kind = LocalStorage::Kind::in_register;
            } else if (TensorIndex dead = dead_array(kernel, storage, group, index); dead >= 0) {
                local.kind = LocalStorage::Kind::alias;
                local.target = dead;
            } else if (LocalStorage trial = local;
                       live_in_output(kernel, group, index, trial) && taken.insert(trial.target).second) {
                local = trial;
            }
        }
    }
    return storage;
}

}  // namespace heddle::schedules
