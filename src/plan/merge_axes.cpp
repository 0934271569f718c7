#include "plan/merge_axes.h"

#include <algorithm>
#include <map>
#include <set>

namespace heddle::plan {

using namespace schedules;

namespace {

bool holds(const std::vector<AxisIndex>& axes, AxisIndex axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

int64_t coefficient(const Coordinate& coordinate, AxisIndex axis) {
    for (auto [a, c] : coordinate.axes) {
        if (a == axis) return c;
    }
    return 0;
}

bool is_alone(const Coordinate& coordinate, AxisIndex axis) {
    return coordinate.constant == 0 && coordinate.values.empty() && coordinate.axes.size() == 1 &&
           coordinate.axes[0] == std::pair<AxisIndex, int64_t>{axis, 1};
}

// One access: a tensor at coordinates that may be changed.
struct AccessView {
    TensorIndex tensor;
    std::vector<Coordinate>* coordinates;
    bool guarded;
};

class Merger {
public:
    Merger(Kernel& kernel, std::vector<std::vector<int64_t>>& hint_strides) : kernel_(kernel), hints_(hint_strides) {
        for (auto& equation : kernel.equations) accesses_.push_back({equation.tensor, &equation.left, false});
        for (auto& value : kernel.values) {
            if (value.kind == Value::Kind::read) accesses_.push_back({value.tensor, &value.coordinates, false});
            if (value.kind == Value::Kind::guarded_read) accesses_.push_back({value.tensor, &value.coordinates, true});
        }
        for (auto& value : kernel.values) {
            if (value.kind != Value::Kind::coordinate && value.kind != Value::Kind::inside) continue;
            for (const auto& coordinate : value.coordinates) {
                for (auto [axis, unused] : coordinate.axes) banned_.insert(axis);
            }
        }
    }

    void run() {
        for (bool again = true; again;) {
            again = false;
            for (AxisIndex outer = 0; outer < static_cast<AxisIndex>(kernel_.axes.size()) && !again; outer++) {
                for (AxisIndex inner = 0; inner < static_cast<AxisIndex>(kernel_.axes.size()) && !again; inner++) {
                    if (!mergeable(outer, inner)) continue;
                    merge(outer, inner);
                    again = true;
                }
            }
        }
    }

private:
    bool mergeable(AxisIndex outer, AxisIndex inner) const {
        if (outer == inner || gone_.contains(outer) || gone_.contains(inner)) return false;
        if (banned_.contains(outer) || banned_.contains(inner)) return false;
        if (holds(kernel_.common, outer) != holds(kernel_.common, inner)) return false;
        bool used = false;
        for (const auto& equation : kernel_.equations) {
            if (equation.ordered == outer || equation.ordered == inner) return false;
        }
        for (const auto& equation : kernel_.equations) {
            if (holds(equation.axes, outer) != holds(equation.axes, inner)) return false;
            if (holds(equation.reduced, outer) != holds(equation.reduced, inner)) return false;
            bool argument = equation.reducer && is_argument(*equation.reducer);
            if (argument && holds(equation.reduced, outer) && !follows(equation.reduced, outer, inner)) return false;
            used |= holds(equation.axes, outer) || holds(equation.reduced, outer);
        }
        if (!used) return false;
        // Of one tensor all accesses run through both in the same two dimensions, or none does.
        std::map<TensorIndex, std::pair<int, int>> where;
        for (const AccessView& access : accesses_) {
            std::pair<int, int> at{-1, -1};
            if (!runs_as_one(access, outer, inner, &at)) return false;
            if (where.try_emplace(access.tensor, at).first->second != at) return false;
        }
        return true;
    }

    // An argument reduction's result numbers the terms row-major over its axes: only neighbours keep the numbering.
    static bool follows(const std::vector<AxisIndex>& axes, AxisIndex outer, AxisIndex inner) {
        auto at = std::find(axes.begin(), axes.end(), outer);
        return at + 1 != axes.end() && *(at + 1) == inner;
    }

    bool runs_as_one(const AccessView& access, AxisIndex outer, AxisIndex inner, std::pair<int, int>* at) const {
        auto& [outer_at, inner_at] = *at;
        if (!find(access, outer, &outer_at) || !find(access, inner, &inner_at)) return false;
        if (outer_at < 0 && inner_at < 0) return true;
        if (outer_at < 0 || inner_at < 0 || access.guarded) return false;
        const auto& tensor = kernel_.tensor(access.tensor);
        const auto& a = tensor.dimensions[static_cast<size_t>(outer_at)];
        const auto& b = tensor.dimensions[static_cast<size_t>(inner_at)];
        if (a.extent != kernel_.axis(outer).extent || b.extent != kernel_.axis(inner).extent) return false;
        if (tensor.role == KernelTensor::Role::local) return inner_at == outer_at + 1;
        // A margin inside breaks the run; one outside is passed over as the outer dimension's own.
        if (b.margin_before || b.margin_after || a.margin_before || a.margin_after) return false;
        const auto& hints = hints_[static_cast<size_t>(access.tensor)];
        return a.stride == b.extent * b.stride &&
               hints[static_cast<size_t>(outer_at)] == kernel_.axis(inner).hint * hints[static_cast<size_t>(inner_at)];
    }

    // False where the axis occurs but does not stand alone in exactly one dimension.
    static bool find(const AccessView& access, AxisIndex axis, int* dimension) {
        for (size_t d = 0; d < access.coordinates->size(); d++) {
            const Coordinate& coordinate = (*access.coordinates)[d];
            if (coefficient(coordinate, axis) == 0) continue;
            if (*dimension >= 0 || !is_alone(coordinate, axis)) return false;
            *dimension = static_cast<int>(d);
        }
        return true;
    }

    void merge(AxisIndex outer, AxisIndex inner) {
        std::set<TensorIndex> shrunk;
        for (auto& access : accesses_) {
            int outer_at = -1, inner_at = -1;
            find(access, outer, &outer_at);
            find(access, inner, &inner_at);
            if (outer_at < 0) continue;
            access.coordinates->erase(access.coordinates->begin() + outer_at);
            if (shrunk.insert(access.tensor).second) {
                auto& dimensions = kernel_.tensors[static_cast<size_t>(access.tensor)].dimensions;
                dimensions[static_cast<size_t>(inner_at)].extent *= dimensions[static_cast<size_t>(outer_at)].extent;
                dimensions.erase(dimensions.begin() + outer_at);
                auto& hints = hints_[static_cast<size_t>(access.tensor)];
                hints.erase(hints.begin() + outer_at);
            }
        }
        auto& axis = kernel_.axes[static_cast<size_t>(inner)];
        const auto& gone = kernel_.axis(outer);
        axis.extent *= gone.extent;
        axis.hint *= gone.hint;
        axis.named |= gone.named;
        for (auto& equation : kernel_.equations) {
            std::erase(equation.axes, outer);
            std::erase(equation.reduced, outer);
        }
        std::erase(kernel_.common, outer);
        gone_.insert(outer);
    }

    Kernel& kernel_;
    std::vector<std::vector<int64_t>>& hints_;
    std::vector<AccessView> accesses_;
    std::set<AxisIndex> banned_, gone_;
};

std::string axis_name(size_t number) {
    std::string name;
    for (number++; number > 0; number = (number - 1) / 26)
        name.insert(name.begin(), static_cast<char>('a' + (number - 1) % 26));
    return name;
}

}  // namespace

void merge_axes(Kernel& kernel, std::vector<std::vector<int64_t>>& hint_strides) { Merger(kernel, hint_strides).run(); }

void name_axes(Kernel& kernel) {
    std::vector<AxisIndex> order, number(kernel.axes.size(), -1);
    auto use = [&](AxisIndex axis) {
        if (number[static_cast<size_t>(axis)] >= 0) return;
        number[static_cast<size_t>(axis)] = static_cast<AxisIndex>(order.size());
        order.push_back(axis);
    };
    for (const auto& equation : kernel.equations) {
        if (equation.ordered >= 0) use(equation.ordered);
        for (AxisIndex axis : equation.axes) use(axis);
        for (AxisIndex axis : equation.reduced) use(axis);
    }
    std::vector<KernelAxis> axes;
    for (AxisIndex axis : order) {
        axes.push_back(kernel.axis(axis));
        axes.back().name = axis_name(axes.size() - 1);
    }
    auto rename = [&](AxisIndex& axis) { axis = number[static_cast<size_t>(axis)]; };
    auto rename_all = [&](std::vector<Coordinate>& coordinates) {
        for (auto& coordinate : coordinates) {
            for (auto& [axis, unused] : coordinate.axes) rename(axis);
            std::sort(coordinate.axes.begin(), coordinate.axes.end());
        }
    };
    for (auto& equation : kernel.equations) {
        for (auto* list : {&equation.axes, &equation.reduced}) std::for_each(list->begin(), list->end(), rename);
        if (equation.ordered >= 0) rename(equation.ordered);
        rename_all(equation.left);
    }
    for (auto& value : kernel.values) rename_all(value.coordinates);
    std::erase_if(kernel.common, [&](AxisIndex axis) { return number[static_cast<size_t>(axis)] < 0; });
    std::for_each(kernel.common.begin(), kernel.common.end(), rename);
    kernel.axes = std::move(axes);
}

}  // namespace heddle::plan
