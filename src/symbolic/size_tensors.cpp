#include "symbolic/size_tensors.h"

#include <algorithm>
#include <memory>

#include "symbolic/body_nodes.h"
#include "symbolic/projection.h"

namespace heddle {
namespace {

// y[i, j] = (i, j) is the first place ? its size : ...
Operation operation_of(Graph& graph, TensorId id, const std::vector<SizeQuotient>& sizes) {
    Tensor& tensor = graph.tensors[static_cast<size_t>(id)];
    auto body = std::make_shared<Body>();
    BodyNodes nodes(*body);
    Operation operation{.name = tensor.name, .operator_name = "sizes", .inputs = {}, .outputs = {id}};
    BodyEquation equation{0, {}, {}, no_id};
    NodeId place = nodes.integer(0, DType::int64, true);
    for (size_t d = 0; d < tensor.type.shape.size(); ++d) {
        const Size& extent = tensor.type.shape[d];
        const VariableId axis = nodes.add_variable("d" + std::to_string(d), Variable::Kind::index, extent);
        operation.index.push_back({body->variable(axis).name, extent, std::nullopt});
        equation.variables.push_back(axis);
        equation.left.push_back(nodes.variable(axis));
        const NodeId before = nodes.scalar(ScalarOp::multiply, {place, nodes.sized_integer(extent, DType::int64, true)});
        place = nodes.scalar(ScalarOp::add, {before, nodes.variable(axis)});
    }
    const auto element = [&](const SizeQuotient& size) {
        return is_float(tensor.type.dtype) ? nodes.sized_real(size, tensor.type.dtype, false)
                                           : nodes.sized_integer(size.above, tensor.type.dtype, false);
    };
    NodeId value = element(sizes.back());
    for (size_t i = sizes.size() - 1; i-- > 0;) {
        const NodeId here =
            nodes.scalar(ScalarOp::equal, {place, nodes.integer(static_cast<int64_t>(i), DType::int64, true)});
        value = nodes.select(here, element(sizes[i]), value);
    }
    equation.value = value;
    body->equations.push_back(std::move(equation));
    operation.output_projections.push_back(written_projection(*body, 0, tensor.type.shape));
    operation.body = std::move(body);
    return operation;
}

}  // namespace

void compute_size_tensors(Session::State& session) {
    Graph& graph = session.graph;
    std::vector<TensorId> made;
    for (const auto& [id, sizes] : session.sizes) {
        if (graph.tensor(id).constant && std::ranges::any_of(sizes, &SizeQuotient::named)) made.push_back(id);
    }
    std::ranges::sort(made);
    std::vector<Operation> operations;
    for (TensorId id : made) operations.push_back(operation_of(graph, id, session.sizes.at(id)));
    for (Tensor& tensor : graph.tensors) {
        if (tensor.producer >= 0) tensor.producer = OperationId(static_cast<size_t>(tensor.producer) + made.size());
    }
    for (size_t i = 0; i < made.size(); ++i) {
        Tensor& tensor = graph.tensors[static_cast<size_t>(made[i])];
        tensor.constant.reset();
        tensor.producer = OperationId(i);
    }
    graph.operations.insert(graph.operations.begin(), std::make_move_iterator(operations.begin()),
                            std::make_move_iterator(operations.end()));
}

}  // namespace heddle
