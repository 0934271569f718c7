// From a graph to a system: its tensors, and the equations of its operations' bodies one after the other.
#include <algorithm>

#include "equations/lower_body.h"
#include "equations/lower_turns.h"
#include "graph/complex.h"
#include "graph/wide_sums.h"
#include "zspace/checked.h"
#include "zspace/size_class.h"

namespace heddle::equations {
namespace {

constexpr int64_t progression_limit = 65536;  // elements of a constant that are looked through

// The affine function of the coordinates whose values `data` has, if it is one.
std::optional<std::pair<int64_t, std::vector<int64_t>>> find_progression(const TensorData& data) {
    if (!is_integer(data.dtype()) || data.dtype() == DType::uint64 || data.size() == 0 ||
        data.size() > progression_limit)
        return std::nullopt;
    const std::vector<int64_t>& shape = data.shape();
    std::vector<int64_t> factors(shape.size(), 0);
    const int64_t first = data.integer_at(0);
    int64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
        if (shape[d] > 1) {
            const auto step = checked_subtract(data.integer_at(stride), first);
            const auto reach = step ? checked_multiply(*step, shape[d] - 1) : std::nullopt;
            if (!reach || !checked_add(first, *reach)) return std::nullopt;
            factors[d] = *step;
        }
        stride *= shape[d];
    }
    for (int64_t i = 0; i < data.size(); i++) {
        __int128 value = first;
        int64_t rest = i;
        for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
            value += static_cast<__int128>(factors[d]) * (rest % shape[d]);
        if (value != data.integer_at(i)) return std::nullopt;
    }
    return std::pair(first, std::move(factors));
}

class GraphLowering {
public:
    explicit GraphLowering(const Graph& graph)
        : state_{graph, {}, std::vector<TensorIndex>(graph.tensors.size(), no_id), TableMaker(state_.system), {}} {}

    Result<System> run() {
        const Graph& graph = state_.graph;
        for (const auto& [name, value] : graph.dimension_names) {
            state_.system.representatives[name] = class_representative(value);
        }
        for (TensorId input : graph.inputs) state_.system.inputs.push_back(state_.tensor(input));
        for (const Operation& operation : graph.operations) {
            if (auto done = lower_operation(operation); !done) return fail(done.error());
        }
        for (TensorId output : graph.outputs) {
            const TensorIndex tensor = state_.tensor(output);
            state_.system.tensor(tensor).is_output = true;
            state_.system.outputs.push_back(tensor);
        }
        if (state_.tables.keeps_turns()) split_turns(state_.system, state_.tables);
        return std::move(state_.system);
    }

private:
    Result<void> lower_operation(const Operation& operation) {
        for (TensorId output : operation.outputs) state_.tensor(output);  // numbered in the order of the graph
        if (operation.body) return BodyLowering(state_, operation).run();
        std::vector<TensorIndex> inputs;
        for (TensorId input : operation.inputs) {
            inputs.push_back(state_.tensor(input));
            state_.system.tensor(inputs.back()).is_output = true;
        }
        for (TensorId output : operation.outputs) {
            SystemTensor& tensor = state_.system.tensor(state_.tensor(output));
            tensor.kind = SystemTensor::Kind::opaque;
            tensor.opaque_inputs = inputs;
        }
        return {};
    }

    LoweringState state_;
};

}  // namespace

TensorIndex LoweringState::tensor(TensorId id) {
    TensorIndex& index = tensor_of[static_cast<size_t>(id)];
    if (index >= 0) return index;
    const Tensor& source = graph.tensor(id);
    SystemTensor made;
    made.name = source.name;
    made.dtype = source.type.dtype;
    made.shape = source.type.shape;
    made.graph_tensor = id;
    made.operation = source.producer;
    if (source.constant) {
        made.kind = SystemTensor::Kind::constant;
        made.constant = source.constant;
    } else if (source.producer < 0) {
        made.kind = SystemTensor::Kind::input;
    }
    index = system.add_tensor(std::move(made));
    return index;
}

const std::optional<std::pair<int64_t, std::vector<int64_t>>>& LoweringState::progression(TensorIndex tensor) {
    auto [it, added] = progressions.try_emplace(tensor);
    if (added && system.tensor(tensor).constant) it->second = find_progression(*system.tensor(tensor).constant);
    return it->second;
}

bool LoweringState::is_reduction(TensorIndex tensor) const {
    for (int step = 0; step < 16; step++) {
        const SystemTensor& made = system.tensor(tensor);
        if (made.equations.size() != 1) return false;
        const Equation& equation = system.equation(made.equations[0]);
        if (equation.reducer) return true;
        if (equation.right->kind != Kind::read) return false;
        tensor = equation.right->tensor();
    }
    return false;
}

void estimate_by(System& system, const std::map<std::string, int64_t>& sizes) {
    for (const auto& [name, size] : sizes) system.representatives[name] = size;
    system.arena->forget_hints();
}

Result<System> lower(const Graph& graph) {
    if (auto sound = heddle::verify(graph); !sound) return fail(sound.error());
    if (has_wide_sums(graph)) return lower(keep_sums_wide(graph));
    return has_complex(graph) ? GraphLowering(lower_complex(graph)).run() : GraphLowering(graph).run();
}

}  // namespace heddle::equations
