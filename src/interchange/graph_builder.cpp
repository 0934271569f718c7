#include "interchange/graph_builder.h"

namespace heddle::interchange {

TensorId GraphBuilder::tensor(std::string name, DType dtype, const DocumentRange& range) {
    TensorType type{dtype, {}};
    for (size_t i = 0; i < range.start.size(); i++) type.shape.push_back(range.end[i] - range.start[i]);
    return session_.add_input(std::move(name), std::move(type), {range.start.begin(), range.start.end()});
}

Result<std::vector<TensorId>> GraphBuilder::apply(const std::string& operator_name, const std::vector<Argument>& inputs,
                                                  const std::map<std::string, StaticValue>& parameters,
                                                  const std::string& name, const std::vector<std::string>& results) {
    auto metakernel = session_.library().find(operator_name);
    if (!metakernel) return fail(std::move(metakernel.error()));
    return session_.apply(**metakernel, inputs, parameters, {.node_name = name, .requested = {}, .names = results});
}

}  // namespace heddle::interchange
