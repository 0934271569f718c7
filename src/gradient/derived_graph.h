// A graph that grows by operations with derived bodies, and what forward and reverse mode check alike.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "symbolic/body_nodes.h"

namespace heddle::gradient {

// Axes of an index, one a dimension, and the point of it.
struct IndexAxes {
    VariableList variables;
    NodeList at;
};
IndexAxes index_axes(BodyNodes& nodes, const std::vector<Size>& shape);

class DerivedGraph {
public:
    // A copy of `from`: its tensors keep their numbers.
    explicit DerivedGraph(Graph from) : graph_(std::move(from)) {}

    Graph& graph() { return graph_; }

    // An operation of what `body` needs of `tensors`. It writes `outputs`.
    void add(Body body, const std::vector<TensorId>& tensors, const std::string& name, const std::string& operator_name,
             const std::vector<TensorId>& outputs);
    // A tensor of this name and type, the sum of others; of none: zeros. `prefix`: of the operation's name.
    TensorId add_sum(const std::vector<TensorId>& parts, const std::string& prefix, const std::string& name,
                     const TensorType& type);

private:
    Graph graph_;
    std::set<std::string> names_;  // of the first `known_` operations: others add some, too
    size_t known_ = 0;
};

// By tensor: whether it depends on what is wanted, by floats alone.
std::vector<bool> reached(const Graph& graph, const std::vector<TensorId>& wanted);

// Those of a float or complex type, each once.
std::vector<TensorId> outputs_with_derivatives(const Graph& graph);

// Checks that each of `wanted` is an input of a float or complex type, and that there is an output of one, and has
// `derived` made of the graph: from its inputs, and a tensor for each of `given`, to one for each of `results`. Complex
// numbers are pairs of reals inside of what is made. Codes: gradient.input, gradient.output.
Result<Graph> derive(const Graph& graph, const std::vector<TensorId>& wanted, const std::vector<TensorId>& given,
                     const std::vector<TensorId>& results,
                     const std::function<Result<Graph>(const Graph& real)>& derived);

// The same graph from and to tensors of these types, where it has pairs for complex numbers.
Graph with_complex_ends(const Graph& pairs, const std::vector<TensorType>& inputs,
                        const std::vector<TensorType>& outputs);

// Code gradient.opaque.
Diagnostic opaque(const Operation& operation);

// The same, told of the operation whose body has them.
Diagnostics in_operation(Diagnostics problems, const Operation& operation);

}  // namespace heddle::gradient
