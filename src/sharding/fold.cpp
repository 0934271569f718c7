#include "sharding/fold.h"

#include <fmt/format.h>

#include "symbolic/body_nodes.h"

namespace heddle::sharding {
namespace {

// Element by element in the arithmetic of the type; of one part a copy.
Body joining_body(const TensorType& type, Reducer reducer, size_t parts) {
    Body body;
    BodyNodes nodes(body);
    BodyEquation equation;
    for (size_t d = 0; d < type.shape.size(); ++d) {
        equation.variables.push_back(nodes.add_variable(fmt::format("i{}", d), Variable::Kind::index, type.shape[d]));
        equation.left.push_back(nodes.variable(equation.variables.back()));
    }
    DType arithmetic = parts > 1 ? info(type.dtype).arithmetic : type.dtype;
    NodeId joined = no_id;
    for (size_t part = 0; part < parts; ++part) {
        NodeId own = nodes.cast(nodes.read(TensorIndex(part), type.dtype, equation.left), arithmetic);
        joined = joined < 0 ? own : nodes.scalar(*joining_op(reducer), {joined, own});
    }
    equation.value = nodes.cast(joined, type.dtype);
    body.equations.push_back(std::move(equation));
    return body;
}

}  // namespace

TensorId folded(Assembler& assembler, const Fold& fold, size_t output, const std::vector<TensorId>& parts,
                TensorId result, PlaceId place) {
    Graph& graph = assembler.graph();
    std::string name = fmt::format("{} over {}", fold.combiner, fold.axis);
    std::vector<TensorId> joined = parts;
    if (!fold.reducer) {
        TensorId first = parts[0];
        for (size_t i = 1; i < parts.size(); ++i)
            first = splice(graph, *fold.graphs[output], {first, parts[i]}, fmt::format("{} {}: ", name, i))[0];
        assembler.locate(place);
        joined = {first};
    }
    TensorType type = graph.tensor(parts[0]).type;
    if (result < 0) {
        if (joined.size() == 1) return joined[0];
        result = graph.add_tensor(name, type);
    }
    Body body = joining_body(type, fold.reducer.value_or(Reducer::sum), joined.size());
    assembler.add({.name = name,
                   .operator_name = "combine",
                   .body = std::move(body),
                   .inputs = joined,
                   .outputs = {result},
                   .params = {}},
                  place);
    return result;
}

}  // namespace heddle::sharding
