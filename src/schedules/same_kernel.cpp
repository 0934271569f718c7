#include "schedules/same_kernel.h"

#include <algorithm>
#include <bit>

#include "support/intern_table.h"

namespace heddle::schedules {
namespace {

bool same_axis(const Axis& a, const Axis& b) {
    return a.extent.same_as(b.extent) && a.named == b.named && a.factor == b.factor && a.hint == b.hint &&
           a.most == b.most && a.name == b.name;
}

bool same_expression(const expr::Interned& a, const expr::Interned& b) {
    return expr::same(a, b) && std::ranges::equal(a.coefficients, b.coefficients, &Size::same_as) &&
           a.low.same_as(b.low) && a.high.same_as(b.high);
}

bool same_arena(const Arena& a, const Arena& b) {
    if (a.size() != b.size() || a.axis_count() != b.axis_count()) return false;
    for (AxisId axis(0); axis < static_cast<int32_t>(a.axis_count()); axis++) {
        if (!same_axis(a.axis(axis), b.axis(axis))) return false;
    }
    for (expr::ExpressionId e(0); e < static_cast<int32_t>(a.size()); e++) {
        if (!same_expression(*a.at(e), *b.at(e))) return false;
    }
    return true;
}

bool same_dimension(const BufferDimension& a, const BufferDimension& b) {
    return a.extent.same_as(b.extent) && a.stride.same_as(b.stride) && a.margin_before.same_as(b.margin_before) &&
           a.margin_after.same_as(b.margin_after);
}

bool same_tensor(const KernelTensor& a, const KernelTensor& b) {
    return a.name == b.name && a.role == b.role && a.dtype == b.dtype && a.constant == b.constant &&
           a.aligned == b.aligned && a.slack == b.slack && a.shares == b.shares &&
           std::bit_cast<uint64_t>(a.filling) == std::bit_cast<uint64_t>(b.filling) &&
           std::ranges::equal(a.dimensions, b.dimensions, same_dimension);
}

// Of arenas that are the same.
bool same_equation(const KernelEquation& a, const KernelEquation& b) {
    const auto same_id = [](Expr x, Expr y) { return x->id == y->id; };
    return a.tensor == b.tensor && a.axes == b.axes && a.reducer == b.reducer && a.reduced == b.reduced &&
           a.light == b.light && a.update == b.update && a.ordered == b.ordered && same_id(a.right, b.right) &&
           std::ranges::equal(a.left, b.left, same_id);
}

}  // namespace

bool same(const Kernel& a, const Kernel& b) {
    return a.common == b.common && a.representatives == b.representatives &&
           std::ranges::equal(a.tensors, b.tensors, same_tensor) && same_arena(*a.arena, *b.arena) &&
           std::ranges::equal(a.equations, b.equations, same_equation);
}

size_t hash_of(const Kernel& kernel) {
    size_t hash = mixed_hash(kernel.tensors.size(), kernel.arena->size());
    for (const KernelEquation& equation : kernel.equations) {
        hash = mixed_hash(hash, static_cast<size_t>(equation.tensor));
        hash = mixed_hash(hash, static_cast<size_t>(equation.right->id));
        hash = mixed_hash(hash, expr::hash_of(*equation.right));
    }
    for (const KernelTensor& tensor : kernel.tensors) {
        for (const BufferDimension& dimension : tensor.dimensions) hash = mixed_hash(hash, dimension.extent.hash());
    }
    return hash;
}

}  // namespace heddle::schedules
