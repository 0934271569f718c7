// What the compiler of a body knows of its nodes beforehand: affine forms, free variables, what may come from a read
// outside, which of them take terms into states, and which of them scans need.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/body.h"
#include "graph/verify.h"
#include "support/tensor_data.h"

namespace heddle::evaluation {

class BodyFacts {
public:
    BodyFacts(const Body& body, const std::vector<TensorData>& inputs);

    int64_t extent(VariableId id) const { return body.variable(id).extent.value(); }
    int64_t points(std::span<const VariableId> variables) const;  // INT64_MAX: more than that
    std::vector<int64_t> source_extents(const Node& node) const;
    bool proven(NodeId coordinate, int64_t extent) const;  // it lies from 0 to extent - 1

    const Body& body;
    const std::vector<TensorData>& inputs;
    const FreeVariables free;
    const std::vector<std::optional<AffineForm>> forms;
    std::vector<bool> poisoned;  // by node: may a lane of it come from a read outside?
    std::vector<bool> stepped;   // by node: a scan's states need it, and it depends on what they were the step before
    // By node: which operand is a scan's state, or made of it, where the node takes a term into the state as all nodes
    // between do: sums, or products. Terms may then be taken together in another order (docs/schedules.md, "Scans").
    // -1: none.
    std::vector<int8_t> taken_into;
    std::vector<NodeId> after;  // by node: the last value of the scans whose states it reads, -1: none

private:
    bool spread_poison();
    void find_steps();
    bool takes_into(NodeId node, LocalId state, ScalarOp op);
};

}  // namespace heddle::evaluation
