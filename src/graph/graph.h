// The graph: immutable tensors and the operations that make them. A pass is a function from graph to graph.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/body.h"
#include "support/diagnostic.h"
#include "support/dtype.h"
#include "support/inline_vector.h"
#include "support/strong_id.h"
#include "support/tensor_data.h"
#include "zspace/size_facts.h"
#include "zspace/size.h"

namespace heddle {

using TensorId = StrongId<struct TensorTag>;        // of Graph::tensors
using OperationId = StrongId<struct OperationTag>;  // of Graph::operations

struct TensorType {
    DType dtype = DType::float32;
    std::vector<Size> shape;

    Size elements() const;
    Size byte_size() const { return elements() * bytes(dtype); }
    std::vector<int64_t> extents() const;
    std::string text() const;  // "float32[batch, 3, 224, 224]"
    bool operator==(const TensorType& other) const = default;
};

struct Tensor {
    std::string name;  // unique in its graph
    TensorType type;
    OperationId producer = no_id;        // -1: an input or a constant
    std::optional<TensorData> constant;  // row-major; an input that has it too is decided: the graph holds for it alone
    // Where its range begins, a number a dimension; empty: at zero. For exchange and for people: bodies, projections
    // and whatever computes count from zero.
    std::vector<int64_t> start;
};

// A matrix, row by row.
class CoefficientRows {
public:
    CoefficientRows() = default;
    CoefficientRows(std::initializer_list<std::initializer_list<int64_t>> rows) {
        for (const auto& row : rows) push_back({row.begin(), row.size()});
    }
    size_t size() const { return rows_; }  // rows
    bool empty() const { return rows_ == 0; }
    size_t columns() const { return columns_; }
    std::span<int64_t> operator[](size_t row) { return {values_.data() + row * columns_, columns_}; }
    std::span<const int64_t> operator[](size_t row) const { return {values_.data() + row * columns_, columns_}; }
    // Of as many columns as the rows before.
    void push_back(std::span<const int64_t> row) {
        columns_ = static_cast<uint32_t>(row.size());
        values_.append(row.begin(), row.end());
        ++rows_;
    }
    void push_zeros(size_t columns) {
        columns_ = static_cast<uint32_t>(columns);
        values_.resize(values_.size() + columns, 0);
        ++rows_;
    }
    bool operator==(const CoefficientRows& other) const = default;

private:
    InlineVector<int64_t, 9> values_;
    uint32_t rows_ = 0, columns_ = 0;
};

// The box of a tensor that a point of the (extended) index space touches: start = projection * point + offset, of
// `shape`.
// Rows are tensor dimensions, columns index axes. A dimension without a common affine start is `whole`.
struct IndexProjection {
    CoefficientRows projection;
    InlineVector<int64_t, 4> offset;
    InlineVector<int64_t, 4> shape;
    InlineVector<bool, 8> whole;

    std::string augmented_matrix() const;  // ( A | b | shape ), a row a line
    bool operator==(const IndexProjection& other) const = default;
};

struct IndexAxis {
    std::string name;
    Size extent;
    std::optional<Reducer> reducer;  // set on the axes that extend the index by a reduction
    bool ordered = false;            // set on those that extend it by a scan

    bool extends() const { return reducer.has_value() || ordered; }
};

// What an operator calls one of its inputs or outputs; `element` counts within a variadic one.
struct OperandName {
    std::string name;
    int32_t element = 0;
};

// One name an operand, or none where nobody knows. Equal operations share them.
class OperandNames {
public:
    OperandNames() = default;
    explicit OperandNames(std::vector<OperandName> names)
        : names_(std::make_shared<const std::vector<OperandName>>(std::move(names))) {}
    size_t size() const { return names_ ? names_->size() : 0; }
    bool empty() const { return size() == 0; }
    const OperandName& operator[](size_t operand) const { return (*names_)[operand]; }
    const OperandName* begin() const { return names_ ? names_->data() : nullptr; }
    const OperandName* end() const { return begin() + size(); }

private:
    std::shared_ptr<const std::vector<OperandName>> names_;
};

struct Graph;
struct GradientRule;

// An axis outside of the index that a template declares (`reduces`): on parts of these dimensions, cut alike, the
// operation gives results that the combiner joins, pair by pair, to the results of the whole.
struct Fold {
    std::string axis;
    Size extent;
    std::vector<std::pair<int32_t, int32_t>> dimensions;  // (input, dimension)
    std::string combiner;                                 // as written
    std::optional<Reducer> reducer;                       // a built-in one; else
    std::vector<std::shared_ptr<const Graph>> graphs;     // for each output: two tensors of its type to one
};

// Which of the operations of one use of an operator: `value` is that of its `each`, `of` the same text in all of them.
struct EachPart {
    std::string of;
    int64_t value = 0;
};

// One use of an operator: what one value of its `each` stands for. Only the tensors that its body reads are inputs.
struct Operation {
    std::string name;           // unique in its graph; error messages and profiles say it
    std::string operator_name;  // for people only: nothing decides by it
    std::vector<TensorId> inputs;
    std::vector<TensorId> outputs;
    std::vector<IndexAxis> index;                    // the extended index
    std::vector<IndexProjection> input_projections;  // one an input, over the axes that do not extend it
    std::vector<IndexProjection> output_projections;
    std::shared_ptr<const Body> body;           // null: an opaque operation (a bound kernel)
    std::map<std::string, std::string> params;  // as printed
    std::vector<Fold> folds;
    std::shared_ptr<const GradientRule> gradient;  // null: it is derived from the body
    OperandNames input_names;                      // for exchange and for people
    OperandNames output_names;
    std::optional<EachPart> each;  // of an operator with `each`; for exchange
    std::vector<std::string> kernels;  // of an opaque one: its template's rows, as written
    std::string placement;             // where its template says that a value is held, if not on a host
};

struct Graph {
    std::vector<Tensor> tensors;
    std::vector<Operation> operations;  // producers before consumers
    std::vector<TensorId> inputs;
    std::vector<TensorId> outputs;
    std::map<std::string, int64_t>
        dimension_names;  // the named dimensions that origins speak of, with their values here
    // What the sizes have decided on the way to this graph: it is the same for all names for which these hold. Nothing: it
    // was not recorded, and the graph holds for its numbers alone.
    std::optional<SizeFacts> facts;
    int64_t tag = 0;  // what its maker knows it by: handed on to plans

    const Tensor& tensor(TensorId id) const { return tensors[id]; }
    const Operation& operation(OperationId id) const { return operations[id]; }
    TensorId add_tensor(std::string name, TensorType type);  // makes the name unique
    TensorId add_constant(std::string name, TensorData data);
    OperationId add_operation(Operation operation);  // sets the outputs' producer
};

// How a template says that adjoints of an operation are computed (`grad`). Inputs of the graph: the operation's inputs,
// its outputs, and the adjoints of those outputs that are of a float type. Outputs: adjoints of the operation's
// `inputs`.
struct GradientRule {
    Graph graph;
    std::vector<int32_t> inputs;
};

// Structural checks: ids in range, order, types of node operands, cover of outputs (several operations may write
// disjoint boxes of one output), unique names. What it finds is our own mistake or a hostile file's.
Result<void> verify(const Graph& graph);

// Drops operations and tensors that no output needs.
Graph prune(const Graph& graph);

// Adds the operations of `from`, with `inputs` in place of its own, their names behind `prefix`. What stands for its
// outputs.
std::vector<TensorId> splice(Graph& into, const Graph& from, const std::vector<TensorId>& inputs,
                             const std::string& prefix);

std::string print(const Graph& graph);

}  // namespace heddle
