#include "flavours/typing.h"

#include <algorithm>

#include "evaluate/evaluate.h"

namespace heddle::flavours {

std::vector<TensorType> TypedApplication::types() const {
    std::vector<TensorType> list;
    for (TensorId id : results) list.push_back(session.graph().tensor(id).type);
    return list;
}

Result<std::vector<TensorData>> TypedApplication::evaluate(const std::vector<TensorData>& inputs) {
    Graph graph = session.finish(results);
    auto values = evaluate_graph(graph, inputs, Precision::body);
    if (!values) return std::unexpected(values.error());
    std::vector<TensorData> list;
    for (TensorId id : graph.outputs) list.push_back((*values)[static_cast<size_t>(id)]);
    return list;
}

Result<TypedApplication> type_application(const Template& metakernel, const Library& library,
                                          const std::vector<Value>& arguments, const Parameters& parameters) {
    TypedApplication typed{heddle::Session(library), {}};
    std::vector<Argument> inputs;
    for (size_t i = 0; i < arguments.size(); ++i) {
        const Value& argument = arguments[i];
        const auto& specs = metakernel.inputs;
        const TensorSpec* spec = specs.empty() ? nullptr : &specs[std::min(i, specs.size() - 1)];
        bool opens = spec && spec->flavour == Flavour::concrete && argument.concrete() && Opened(argument).data();
        std::string name = spec ? spec->name : "argument";
        inputs.emplace_back(opens ? typed.session.add_constant(name, *Opened(argument).data())
                                  : typed.session.add_input(name, argument.tensor()));
    }
    auto results = typed.session.apply(metakernel, inputs, parameters);
    if (!results) return std::unexpected(results.error());
    typed.results = std::move(*results);
    return typed;
}

}  // namespace heddle::flavours
