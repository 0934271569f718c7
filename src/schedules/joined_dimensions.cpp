#include "schedules/joined_dimensions.h"

#include <algorithm>
#include <map>
#include <set>

#include "expr/remake.h"
#include "schedules/accesses.h"
#include "schedules/tree.h"

namespace heddle::schedules {
namespace {

constexpr int64_t most_neighbours = 4;

// Where an equation accesses a tensor; of a guarded read without what it gives outside.
struct TensorAccess {
    const KernelEquation* equation = nullptr;
    std::vector<Expr> coordinates;
};

std::vector<TensorAccess> accesses_of(const Kernel& kernel, TensorIndex tensor) {
    std::vector<TensorAccess> found;
    const size_t rank = kernel.tensor(tensor).dimensions.size();
    for (const KernelEquation& e : kernel.equations) {
        if (e.tensor == tensor) found.push_back({&e, e.left});
        for (const ReadAccess& read : reads_of(e.right)) {
            if (read.tensor != tensor) continue;
            const auto& parts = read.value->parts();
            found.push_back({&e, {parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(rank)}});
        }
    }
    return found;
}

// By a number, or along an axis that the equation reduces of this tensor alone: a product wants an operand packed.
bool asks_for_neighbours(const Kernel& kernel, TensorIndex tensor, const TensorAccess& access, int64_t count) {
    const Expr inner = access.coordinates.back();
    if (inner->kind == Kind::integer) return true;
    const AxisId axis = plain_axis(inner);
    const auto is_other = [&](const ReadAccess& read) { return read.tensor != tensor; };
    return axis >= 0 && std::ranges::find(access.equation->reduced, axis) != access.equation->reduced.end() &&
           !kernel.axis(axis).named && kernel.axis(axis).extent <= count &&
           std::ranges::none_of(reads_of(access.equation->right), is_other);
}

// Streams read it, and nothing else does: an operand of a product wants to be packed.
bool is_streamed(const Kernel& kernel, TensorIndex index, const std::vector<TensorAccess>& accesses) {
    return kernel.tensor(index).role == KernelTensor::Role::input &&
           std::ranges::none_of(accesses,
                                [](const TensorAccess& access) { return access.equation->reducer.has_value(); });
}

// Each lane's are a row, of which every equation that reads it wants four at least, by numbers.
bool is_row(const std::vector<TensorAccess>& accesses) {
    std::map<const KernelEquation*, std::set<int64_t>> asked;
    for (const TensorAccess& access : accesses) {
        if (access.coordinates.back()->kind != Kind::integer) return false;
        asked[access.equation].insert(access.coordinates.back()->integer);
    }
    return std::ranges::all_of(asked, [](const auto& of) { return of.second.size() >= most_neighbours; });
}

// The rows and columns of a small matrix, all of it asked for by numbers.
bool is_matrix(const Kernel& kernel, TensorIndex index, const std::vector<TensorAccess>& accesses) {
    const auto& dimensions = kernel.tensor(index).dimensions;
    if (dimensions.size() < 3) return false;
    const auto by_numbers = [](const TensorAccess& access) {
        const auto from = access.coordinates.end() - 2;
        return (*from)->kind == Kind::integer && from[1]->kind == Kind::integer;
    };
    const Size elements = dimensions[dimensions.size() - 2].extent * dimensions.back().extent;
    return !elements.named() && elements <= farthest_neighbour &&
           std::ranges::all_of(accesses, by_numbers);
}

bool is_joined(const Kernel& kernel, TensorIndex index) {
    const KernelTensor& tensor = kernel.tensor(index);
    if (tensor.role == KernelTensor::Role::local || tensor.dimensions.size() < 2) return false;
    const BufferDimension &inner = tensor.dimensions.back(), &outer = tensor.dimensions[tensor.dimensions.size() - 2];
    if (inner.extent.named() || inner.extent < 2 || inner.extent > farthest_neighbour || !inner.stride.same_as(1) ||
        !outer.stride.same_as(inner.extent))
        return false;
    if (inner.has_margins() || outer.has_margins()) return false;
    const std::vector<TensorAccess> accesses = accesses_of(kernel, index);
    // What a guarded read asks for outside of its row is inside of another one.
    const auto leaves_row = [&](const TensorAccess& access) {
        const Expr at = access.coordinates.back();
        return at->kind == Kind::integer && (at->integer < 0 || at->integer >= inner.extent);
    };
    if (std::ranges::any_of(accesses, leaves_row)) return false;
    const bool streamed = is_streamed(kernel, index, accesses);
    if (streamed && is_matrix(kernel, index, accesses)) return true;
    if (inner.extent > most_neighbours && !(streamed && is_row(accesses))) return false;
    bool moves = false;
    for (const TensorAccess& access : accesses) {
        if (!asks_for_neighbours(kernel, index, access, inner.extent)) return false;
        moves = moves || !access.coordinates[access.coordinates.size() - 2]->axes.empty();
    }
    return moves;
}

// Once: the two innermost dimensions of each such tensor.
std::optional<Kernel> with_joined_pairs(const Kernel& kernel) {
    std::set<TensorIndex> joined;
    for (size_t t = 0; t < kernel.tensors.size(); t++) {
        if (is_joined(kernel, TensorIndex(t))) joined.insert(TensorIndex(t));
    }
    if (joined.empty()) return std::nullopt;
    Kernel made = copied(kernel);
    Arena& arena = *made.arena;
    // The last two of the tensor's coordinates become one.
    const auto join = [&](TensorIndex tensor, std::vector<Expr>& coordinates) {
        const size_t last = kernel.tensor(tensor).dimensions.size() - 1;
        coordinates[last] =
            arena.add(coordinates[last], coordinates[last - 1], kernel.tensor(tensor).dimensions[last].extent);
        coordinates.erase(coordinates.begin() + static_cast<std::ptrdiff_t>(last) - 1);
    };
    for (TensorIndex tensor : joined) {
        auto& dimensions = made.tensors[tensor].dimensions;
        dimensions.back().extent *= dimensions[dimensions.size() - 2].extent;
        dimensions.erase(dimensions.end() - 2);
    }
    Arena::Memo memo;
    const auto leaf = [](Expr e) -> Expr { return e->kind == Kind::variable ? e : nullptr; };
    const auto operands = [](Expr e) { return operands_of(e); };
    const auto make = [&](Expr e, std::vector<Expr> parts) {
        if (e->is_read() && joined.contains(e->tensor())) {
            join(e->tensor(), parts);
            if (e->kind == Kind::read) return arena.read(e->tensor(), e->dtype, std::move(parts));
            const Expr otherwise = parts.back();
            parts.pop_back();
            return arena.guarded_read(e->tensor(), e->dtype, std::move(parts), otherwise,
                                      made.readable(e->tensor()).shape);
        }
        return arena.rebuild(e, std::move(parts));
    };
    for (KernelEquation& e : made.equations) {
        if (joined.contains(e.tensor)) join(e.tensor, e.left);
        e.right = expr::remade(e.right, memo, leaf, operands, make);
        for (Expr& left : e.left) left = expr::remade(left, memo, leaf, operands, make);
    }
    return made;
}

}  // namespace

std::optional<Kernel> with_joined_dimensions(const Kernel& kernel) {
    std::optional<Kernel> joined = with_joined_pairs(kernel);
    while (joined) {
        std::optional<Kernel> further = with_joined_pairs(*joined);
        if (!further) break;
        joined = std::move(further);
    }
    return joined;
}

}  // namespace heddle::schedules
