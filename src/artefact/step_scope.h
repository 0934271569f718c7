// What the building of steps knows of the values of one graph of a model (step_builder.cpp).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "artefact/sizes.h"
#include "frontends/onnx/flatten.h"
#include "frontends/onnx/model.h"
#include "graph/graph.h"

namespace heddle::artefact {

// A dimension of a value: a number, or a name, which is a size in each part that reads the value.
using ValueDimension = onnx::OnnxDimension;

// Of a list, its elements' type: a dimension without a number and a name is another one in each.
struct ValueType {
    enum class Kind : uint8_t { tensor, list, nothing };  // nothing: an optional value that is absent

    DType dtype = DType::float32;
    std::vector<ValueDimension> shape;
    Kind kind = Kind::tensor;
    bool is_empty = false;      // a list that has no elements: they are of no type
    bool may_be_absent = false;  // whether it is there, is asked before it is read

    bool is_tensor() const { return kind == Kind::tensor && !may_be_absent; }
    bool is_list() const { return kind == Kind::list && !may_be_absent; }

    std::string text() const;  // all of it
    std::optional<int64_t> elements() const;  // where all dimensions are numbers
    bool operator==(const ValueType&) const = default;
};
using ValueTypes = std::map<std::string, ValueType>;

ValueType type_of(const TensorData& data);
// Of a result called so: what is no number and no name alone gets a name of its own.
ValueType type_of(const std::string& name, const TensorType& type);
ValueType list_of(ValueType element);
// What is taken of a list, called so.
ValueType element_of(const std::string& name, ValueType list);
// Dimensions without a number and a name get names of their own.
ValueType named_in_full(const std::string& name, ValueType type);
// Without names that are none of these: dimensions get names of their own, and in lists none.
ValueType known_outside(const std::string& name, ValueType type, const std::set<std::string>& outside);
// What both are: dimensions that differ get a name of their own. Nothing: they are of other ranks or element types.
std::optional<ValueType> joined(const std::string& name, const ValueType& a, const ValueType& b);

// A graph of the model: its own, or the body of a loop.
class StepScope {
public:
    StepScope(const onnx::OnnxModel& model, const onnx::OnnxGraph& graph, StepScope* around, std::string name);

    const onnx::OnnxTensor* initializer(const std::string& name) const;
    bool has_value(const std::string& name) const { return values.contains(name); }
    // The place of a value of this graph, or of one around it; -1: there is none yet.
    int32_t place(const std::string& name) const;

    const onnx::OnnxGraph& graph;
    StepScope* around;
    std::string name;
    std::set<std::string> captures, outputs;
    std::vector<onnx::OnnxNode> nodes;
    std::map<std::string, onnx::OnnxTensor> initializers;
    std::map<std::string, int32_t> values;  // places of its own values
    std::map<std::string, int32_t> lent;    // of values of a graph around it, by its own names
    std::map<std::string, int32_t> states;  // steps by what is left to do
    ValueTypes output_types;                // on all ways to the end
    std::set<std::string> mixed;            // outputs of the model whose ways give other ranks
};

}  // namespace heddle::artefact
