// Structural checks of one body against the types of its operation's tensors.
//
// Conventions that the checks fix (docs/language.md, "Bodies"):
// - operands come before users; a local's value comes before the nodes that read the local, which makes locals acyclic;
// - a state's value may stand behind nodes that read what is `previous` to it; a state is read at its scan's present
//   step, `t + 1`, or behind the values of all states of its scan;
// - reductions bind variables of kind `reduction`, equations and locals the others; a value's free variables are those
// of
//   the equation that uses it;
// - half types are stored, read, moved and cast, never computed with; literals have any type;
// - a left side is affine in the equation's variables and writes one box, injectively (the cover rule).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "zspace/box.h"
#include "zspace/linear_form.h"

namespace heddle {

inline constexpr size_t maximum_body_variables = 4096;
inline constexpr size_t maximum_body_nodes = size_t{1} << 20;
inline constexpr int64_t maximum_extent = int64_t{1} << 48;  // of a variable, and points of an equation
inline constexpr int maximum_reduction_nesting =
    256;  // counted along values that depend on the variables of the reductions around them

// The elements of an output that one equation writes.
struct WrittenBox {
    int32_t output = 0;
    Box box;
};

Result<void> verify(const Body& body, const std::vector<TensorType>& inputs, const std::vector<TensorType>& outputs);

// The boxes of a verified body's equations, in their order; those without points are left out.
std::vector<WrittenBox> written_boxes(const Body& body);

using AffineForm = LinearForm<VariableId>;  // sorted by variable

// For each int64 node its affine form, if it has one of at most 16 terms whose every partial sum stays within int64 for
// all values of the variables; else nothing. By NodeId. `body` is verified.
std::vector<std::optional<AffineForm>> affine_forms(const Body& body);

// For each node whether it is an integer that is computed otherwise than coordinates are (sums, multiples, quotients and
// remainders by numbers, least and greatest ones, choices): such an index is checked when it runs, where it cannot be
// proved, like one that data decide.
std::vector<bool> computed_indices(const Body& body);

// Over the box of all variables (extents at least one).
Interval interval_of(const AffineForm& form, const Body& body);

// The variables that each node's value depends on: rows of bits, by NodeId.
class FreeVariables {
public:
    explicit FreeVariables(const Body& body);
    bool contains(NodeId node, VariableId variable) const;
    bool meets(NodeId node, std::span<const VariableId> variables) const;
    std::vector<VariableId> list(NodeId node) const;  // ascending
    // Of a local's value, without the local's own variables.
    std::span<const VariableId> of_local(int32_t local) const { return locals_[static_cast<size_t>(local)]; }

private:
    size_t words_ = 0;
    std::vector<uint64_t> bits_;
    std::vector<std::vector<VariableId>> locals_;
};

}  // namespace heddle
