// Pass 4: a pointwise reader of a name with several equations becomes several equations, one a piece, each written into
// its box; a name whose readers each look at one piece only becomes several names.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "equations/passes.h"
#include "equations/pass_support.h"

namespace heddle::equations {
namespace {

constexpr size_t maximum_pieces = 64;  // of one name: nested concatenations multiply

// Its equations make all of it: no box is state.
bool is_whole(const System& system, const SystemTensor& tensor) {
    std::vector<Box> boxes;
    for (int32_t index : tensor.equations) boxes.push_back(box_of(system.equation(index)));
    return total_volume(boxes) == Box::whole(tensor.shape).volume();
}

// How an equation falls apart: the read that spans the pieces, and for each dimension that a piece cuts, the axis
// there.
struct Plan {
    Expr read = nullptr;
    std::vector<std::pair<size_t, AxisId>> cut;  // dimension of the read tensor, axis of the equation
};

std::vector<size_t> cut_dimensions(const System& system, const SystemTensor& tensor) {
    std::set<size_t> cut;
    for (int32_t index : tensor.equations) {
        const Box box = box_of(system.equation(index));
        for (size_t d = 0; d < tensor.shape.size(); d++) {
            if (box.start[d] != 0 || box.end[d] != tensor.shape[d]) cut.insert(d);
        }
    }
    return {cut.begin(), cut.end()};
}

// `axis` walks a dimension of the left side as its outermost digit: a range of it is a box.
bool is_outermost_on_left(const Equation& equation, AxisId axis) {
    for (Expr left : equation.left) {
        const auto digits = digits_of(left);
        for (size_t k = 0; k < digits.size(); k++) {
            if (digits[k].axis == axis) return k == 0;
        }
    }
    return false;
}

std::optional<Plan> plan_for(const System& system, const Equation& equation) {
    if (equation.dead || equation.reducer || system.tensor(equation.tensor).prepared) return std::nullopt;
    if (equation.scan >= 0) return std::nullopt;
    Plan plan;
    for (Expr read : reads(equation)) {
        const SystemTensor& tensor = system.tensor(read->tensor());
        if (tensor.equations.size() < 2 || tensor.prepared || maker_of(system, read) >= 0) continue;
        if (plan.read != nullptr || read->kind != Kind::read || !is_whole(system, tensor)) return std::nullopt;
        plan.read = read;
    }
    if (plan.read == nullptr) return std::nullopt;
    const SystemTensor& tensor = system.tensor(plan.read->tensor());
    const size_t already = system.tensor(equation.tensor).equations.size();
    if (tensor.equations.size() + already - 1 > maximum_pieces) return std::nullopt;
    for (size_t d : cut_dimensions(system, tensor)) {
        Expr coordinate = plan.read->parts()[d];
        if (coordinate->kind != Kind::variable) return std::nullopt;
        const AxisId axis = coordinate->axes[0];
        if (system.arena->extent(axis) != tensor.shape[d] || !is_outermost_on_left(equation, axis)) return std::nullopt;
        const auto uses = std::count_if(plan.read->parts().begin(), plan.read->parts().end(), [&](Expr operand) {
            return std::binary_search(operand->axes.begin(), operand->axes.end(), axis);
        });
        if (uses != 1) return std::nullopt;
        plan.cut.emplace_back(d, axis);
    }
    return plan;
}

// The equation over one piece's box of what it reads.
Equation piece_of(System& system, const Equation& equation, const Plan& plan, const Box& box) {
    Arena& arena = *system.arena;
    Equation piece = equation;
    Arena::Substitution renaming;
    for (AxisId& axis : piece.axes) {
        Axis own = arena.axis(axis);
        Size offset = 0;
        for (const auto& [dimension, cut] : plan.cut) {
            if (cut != axis) continue;
            offset = box.start[dimension];
            own = axis_of_extent(system, own.name, box.end[dimension] - box.start[dimension]);
        }
        const AxisId fresh = arena.add_axis(std::move(own));
        renaming[axis] = arena.add(arena.axis_value(fresh), arena.integer(offset));
        axis = fresh;
    }
    for (Expr& left : piece.left) left = arena.substitute(left, renaming);
    piece.right = arena.substitute(piece.right, renaming);
    return piece;
}

void renumber_pieces(System& system, TensorIndex tensor) {
    int32_t piece = 0;
    for (int32_t index : system.tensor(tensor).equations) system.equation(index).piece = piece++;
}

// Puts `pieces` in the place of one equation of its tensor.
void replace_equation(System& system, int32_t index, const std::vector<Equation>& pieces) {
    const TensorIndex tensor = system.equation(index).tensor;
    auto list = system.tensor(tensor).equations;
    auto place = std::find(list.begin(), list.end(), index);
    place = list.erase(place);
    std::vector<int32_t> made;
    for (const Equation& piece : pieces) made.push_back(system.add_equation(piece));
    list.insert(place, made.begin(), made.end());
    system.tensor(tensor).equations = list;
    system.equation(index).dead = true;
    renumber_pieces(system, tensor);
}

bool distribute_readers(System& system) {
    bool changed = false;
    for (int32_t index : system.order()) {
        const auto plan = plan_for(system, system.equation(index));
        if (!plan) continue;
        const Equation equation = system.equation(index);
        std::vector<Equation> pieces;
        for (int32_t part : system.tensor(plan->read->tensor()).equations) {
            pieces.push_back(piece_of(system, equation, *plan, box_of(system.equation(part))));
        }
        replace_equation(system, index, pieces);
        changed = true;
    }
    return changed;
}

struct Separation {
    std::vector<bool> read;  // by tensor: at all
    std::vector<bool> possible;
};

Separation find_separable(const System& system) {
    Separation result;
    result.read.resize(system.tensors.size());
    result.possible.resize(system.tensors.size());
    for (size_t t = 0; t < system.tensors.size(); t++) {
        const SystemTensor& tensor = system.tensors[t];
        result.possible[t] = tensor.equations.size() > 1 && !tensor.is_output && is_whole(system, tensor) &&
                             !system.in_scan(TensorIndex(t));
    }
    for (int32_t index : system.order()) {
        for (Expr read : reads(system.equation(index))) {
            const auto t = static_cast<size_t>(read->tensor());
            result.read[t] = true;
            if (read->kind != Kind::read || maker_of(system, read) < 0) result.possible[t] = false;
        }
    }
    return result;
}

// A tensor of its own for one equation of a name.
TensorIndex tensor_of_piece(System& system, int32_t index) {
    Arena& arena = *system.arena;
    const SystemTensor whole = system.tensor(system.equation(index).tensor);
    const Box box = box_of(system.equation(index));
    SystemTensor tensor;
    tensor.name = whole.name + "_piece";
    tensor.dtype = whole.dtype;
    tensor.prepared = whole.prepared;
    tensor.operation = whole.operation;
    for (size_t d = 0; d < whole.shape.size(); d++) {
        tensor.shape.push_back(box.end[d] - box.start[d]);
    }
    const TensorIndex made = system.add_tensor(std::move(tensor));
    Equation equation = system.equation(index);
    equation.tensor = made;
    equation.piece = 0;
    for (size_t d = 0; d < box.rank(); d++) {
        equation.left[d] = arena.add(equation.left[d], arena.integer(-box.start[d]));
    }
    system.equation(index).dead = true;
    system.add_equation(std::move(equation));
    return made;
}

bool separate_pieces(System& system) {
    const Separation separation = find_separable(system);
    Arena& arena = *system.arena;
    std::map<int32_t, std::pair<TensorIndex, Box>> piece_of_equation;  // what stands for an equation's elements now
    const size_t count = system.tensors.size();
    for (size_t t = 0; t < count; t++) {
        if (!separation.possible[t] || !separation.read[t]) continue;
        for (int32_t index : std::vector(system.tensors[t].equations)) {
            const Box box = box_of(system.equation(index));
            piece_of_equation[index] = {tensor_of_piece(system, index), box};
        }
    }
    if (piece_of_equation.empty()) return false;
    const auto replace = [&](Expr read) -> Expr {
        const auto t = static_cast<size_t>(read->tensor());
        if (t >= count || !separation.possible[t] || !separation.read[t]) return nullptr;
        const Box reach = box_of_read(system.tensors[t], read);
        for (int32_t index : system.tensors[t].equations) {
            const auto& [made, box] = piece_of_equation.at(index);
            if (!contains(box, reach)) continue;
            std::vector<Expr> coordinates = coordinates_of(read);
            for (size_t d = 0; d < coordinates.size(); d++) {
                coordinates[d] = arena.add(coordinates[d], arena.integer(-box.start[d]));
            }
            return arena.read(made, read->dtype, coordinates);
        }
        return nullptr;
    };
    for (size_t index = 0; index < system.equations.size(); index++) {
        Equation& equation = system.equations[index];
        if (!equation.dead) equation.right = replace_reads(arena, equation.right, replace);
    }
    prune(system);
    return true;
}

}  // namespace

void distribute(System& system) {
    // A distributed reader can itself be what another equation reads in pieces: the order is producers first, so one
    // round goes all the way down; separation opens no new case before views are composed again.
    distribute_readers(system);
    separate_pieces(system);
}

}  // namespace heddle::equations
