#include "plan/growth.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace heddle::plan {

using namespace equations;

namespace {

// Whether the equation, which copies to the same place, copies all of a tensor of this shape.
bool is_whole(const System& system, const Equation& equation, const std::vector<Size>& shape) {
    Size points = 1, elements = 1;
    for (AxisId axis : equation.axes) points *= system.arena->extent(axis);
    for (const Size& extent : shape) elements *= extent;
    if (points.same_as(elements)) return true;
    const auto spans = [&](const auto& coordinate, const Size& extent) {
        return coordinate->kind == Kind::variable && Size::always_equal(system.arena->extent(coordinate->axis()), extent);
    };
    return std::ranges::equal(equation.left, shape, spans);
}

// The input that the equation copies, all of it and to the same place; nothing: it is another equation.
std::optional<TensorIndex> copied_by(const System& system, const Equation& equation) {
    const bool copies = !equation.dead && !equation.reducer && equation.scan < 0 && equation.right->kind == Kind::read &&
                        std::ranges::equal(equation.right->parts(), equation.left);
    if (!copies) return std::nullopt;
    const TensorIndex from = equation.right->tensor();
    const bool is_input = system.tensor(from).kind == SystemTensor::Kind::input;
    return is_input && is_whole(system, equation, system.tensor(from).shape) ? std::optional(from) : std::nullopt;
}

// Whether a plan of the graph can be for more sizes than this one.
bool is_open(const Size& size, const Graph& graph) {
    if (!size.named() || !graph.facts) return false;
    if (size.origin()->kind() != Origin::Kind::name) return true;
    return std::ranges::any_of(std::array{-1, 1}, [&](int64_t step) {
        auto names = graph.dimension_names;
        names[size.origin()->text()] += step;
        return !graph.facts->broken_by(names);
    });
}

// Where the output is longer. Nothing: the two differ in more.
std::optional<size_t> longer_dimension(const SystemTensor& output, const SystemTensor& input) {
    std::vector<size_t> longer;
    for (size_t d = 0; d < output.shape.size(); d++) {
        if (!Size::always_equal(output.shape[d], input.shape[d])) longer.push_back(d);
    }
    const bool grows = longer.size() == 1 && output.dtype == input.dtype &&
                       output.shape[longer[0]] > input.shape[longer[0]];
    return grows ? std::optional(longer[0]) : std::nullopt;
}

}  // namespace

std::vector<GrowingTensor> take_out_growths(System& system, const Graph& graph) {
    std::vector<GrowingTensor> result;
    std::set<TensorIndex> taken;
    for (TensorIndex output : system.outputs) {
        SystemTensor& tensor = system.tensor(output);
        const bool once = std::ranges::count(system.outputs, output) == 1;
        if (tensor.kind != SystemTensor::Kind::computed || tensor.prepared || !once || tensor.equations.size() < 2) continue;
        for (int32_t e : tensor.equations) {
            const auto input = copied_by(system, system.equation(e));
            if (!input || taken.contains(*input)) continue;
            const auto dimension = longer_dimension(tensor, system.tensor(*input));
            if (!dimension || !is_open(system.tensor(*input).shape[*dimension], graph)) continue;
            taken.insert(*input);
            result.push_back({output, *input, *dimension});
            system.equation(e).dead = true;
            std::erase(tensor.equations, e);
            break;
        }
    }
    return result;
}

StorageMap with_capacity(const std::vector<Size>& shape, size_t dimension, const Size& capacity) {
    StorageMap map = StorageMap::row_major(shape);
    map.room[dimension] = capacity - shape[dimension];
    return map;
}

int64_t capacity_for(int64_t length) {
    constexpr int64_t least = 16;
    return length + std::max(least, length / 2);
}

}  // namespace heddle::plan
