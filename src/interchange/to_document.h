// From a graph to a document of the published layout: for exchange, validation and pictures.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "interchange/document.h"

namespace heddle::interchange {

// What an application selects of each operand of its operation, counted from where the tensors begin.
struct OperandBoxes {
    std::vector<DocumentRange> inputs, outputs;
};

struct DocumentOptions {
    // The applications of an operation: a box of its index each. One that is not named has one, its whole index;
    // nothing for an empty list.
    std::map<OperationId, std::vector<DocumentRange>> shards;
    // Those of an operation without projections, which then selects the hulls of their boxes.
    std::map<OperationId, std::vector<OperandBoxes>> boxes;
    bool applications = true;  // false: only operations
};

// Tensors that nothing uses are left out. Ranges begin where the tensors' do (graph.h), and projections are moved
// along; indices begin at zero and have no reduced axes. What an operation selects of an operand is what its index
// projects to, cut to the tensor where reads are guarded. A dimension that is read whole is a row of zeros with the
// tensor's extent as shape. Operands have the names of the operator's inputs and outputs ("inputs" and "outputs" where
// nobody knows them).
// An operation without projections (a kernel elsewhere) selects whole tensors, and has no tags; applications only where
// `boxes` names it.
// Ids follow from names alone: the same graph gives the same bytes.
GraphDocument to_document(const Graph& graph, const DocumentOptions& options = {});

// The signature that an operation of the graph has in its document; nothing for one without projections.
std::optional<DocumentSignature> signature_of(const Graph& graph, const Operation& operation);

// An application of an operation that has a signature, for a box of its index: the selections that the box projects to.
// Nothing: the operation has no signature that fits, or the numbers leave the 64-bit integers.
std::optional<DocumentNode> application_of(const DocumentNode& operation, const DocumentRange& index, std::string id);

}  // namespace heddle::interchange
