#include "schedules/movements.h"

#include <algorithm>

#include "schedules/tree.h"

namespace heddle::schedules {

Movement Movements::of(TensorIndex tensor, Coordinates coordinates, AxisId axis) const {
    int moving = 0, unit = unit_dimension(tensor);
    Size by = 0;  // along the dimension of stride one
    for (size_t d = 0; d < coordinates.size(); d++) {
        if (!depends_on(coordinates[d], axis)) continue;
        for (const auto& [part, unused] : parts_of(coordinates[d]).values) {
            if (depends_on(part, axis)) return Movement::indirect;
        }
        const Size factor = coefficient(coordinates[d], axis);
        moving++;
        by = static_cast<int>(d) == unit ? factor : Size(0);
    }
    if (moving == 0) return Movement::still;
    const LocalStorage& storage = storage_[static_cast<size_t>(tensor)];
    bool open = kernel_.tensor(tensor).role == KernelTensor::Role::local && storage.order.empty() &&
                storage.kind != LocalStorage::Kind::output;
    if (open && plain_dimension(coordinates, axis)) return Movement::unit;
    if (moving > 1) return Movement::strided;
    return by.same_as(1) ? Movement::unit : is_interleaving(by) ? Movement::interleaved : Movement::strided;
}

Movement Movements::of(Expr read, AxisId axis) const {
    const LocalStorage& storage = storage_[static_cast<size_t>(read->tensor())];
    if (storage.kind == LocalStorage::Kind::output) {
        const auto& equation = kernel_.equations[static_cast<size_t>(storage.target_equation)];
        return of(storage.target, equation.left, axis);
    }
    return of(read->tensor(), coordinates_of(read), axis);
}

bool Movements::are_neighbours(Expr read, AxisId axis) const {
    const Movement movement = of(read, axis);
    if (movement != Movement::interleaved) return movement == Movement::unit;
    return std::ranges::any_of(coordinates_of(read), [&](Expr at) { return coefficient(at, axis) == -1; });
}

int Movements::unit_dimension(TensorIndex tensor) const {
    const KernelTensor& t = kernel_.tensor(tensor);
    if (t.role == KernelTensor::Role::local) {
        const LocalStorage& storage = storage_[static_cast<size_t>(tensor)];
        return storage.order.empty() ? static_cast<int>(t.dimensions.size()) - 1 : storage.order.back();
    }
    // Where an extent of one makes further strides one, the place decides: it is the same for every size.
    for (size_t d = t.dimensions.size(); d-- > 0;) {
        if (t.dimensions[d].stride.same_as(1)) return static_cast<int>(d);
    }
    return -1;
}

std::optional<int> Movements::plain_dimension(Coordinates coordinates, AxisId axis) const {
    std::optional<int> found;
    for (size_t d = 0; d < coordinates.size(); d++) {
        const Size factor = coefficient(coordinates[d], axis);
        if (factor.same_as(0)) continue;
        if (found || !factor.same_as(1)) return std::nullopt;
        found = static_cast<int>(d);
    }
    return found;
}

}  // namespace heddle::schedules
