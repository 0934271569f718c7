// Hash-consed nodes of one typed body: an equal node is made once, whatever order its users ask in. Integer arithmetic
// of literals is folded (coordinates stay readable); arithmetic on floats is never changed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/body.h"
#include "support/intern_table.h"
#include "zspace/size_quotient.h"

namespace heddle {

// The bounds of one body. Everything that walks a body may recurse as deep as this.
inline constexpr int32_t deepest_body = 3'000;
inline constexpr size_t largest_body = 200'000;  // nodes

class BodyNodes {
public:
    // Nodes are added to `body`, which outlives this.
    explicit BodyNodes(Body& body);

    const Body& body() const { return *body_; }
    const Node& node(NodeId id) const { return body_->node(id); }

    // A literal of any dtype, from a number that the dtype can hold after the language's cast rules; of a complex dtype
    // a literal of its parts, cast.
    NodeId integer(int64_t value, DType dtype, bool from_template);
    // The same, keeping where the number comes from: shape tensors are computed by bodies, and their elements are
    // sizes.
    NodeId sized_integer(const Size& value, DType dtype, bool from_template);
    NodeId real(double value, DType dtype, bool from_template);
    // The quotient as floats of this type divide it; its sizes keep where they come from.
    NodeId sized_real(const SizeQuotient& value, DType dtype, bool from_template);
    NodeId boolean(bool value) { return integer(value ? 1 : 0, DType::boolean, true); }

    VariableId add_variable(std::string name, Variable::Kind kind, Size extent);
    NodeId variable(VariableId id);
    LocalId add_local(Local local);

    // Operands are of the types that the operation's row asks for.
    NodeId scalar(ScalarOp op, NodeList operands);
    // The same node if it is of that type already; a literal of the new type for a literal that it can hold exactly. To
    // a complex type by way of its parts'.
    NodeId cast(NodeId operand, DType dtype);
    NodeId cast_of(NodeId operand, DType dtype);  // as it is
    NodeId select(NodeId condition, NodeId then, NodeId otherwise);
    NodeId read(TensorIndex tensor, DType dtype, NodeList coordinates);
    NodeId guarded_read(TensorIndex tensor, DType dtype, NodeList coordinates, NodeId otherwise);
    NodeId local(LocalId local, DType dtype, NodeList coordinates);
    NodeId previous(LocalId state, DType dtype, NodeList coordinates);
    // `filter` may be absent (no_id). A reduction equal to an earlier one up to the names of its variables is that one.
    NodeId reduce(Reducer reducer, DType dtype, VariableList variables, NodeId operand, NodeId filter);

    // A node of this or another body again, by its kind's function; its operands, variables and index are this body's.
    NodeId add(const Node& node);

    // Operands below `id`, itself included, along the longest path. Callers refuse a body deeper than `deepest_body`.
    int32_t depth(NodeId id) const { return known_[static_cast<size_t>(id)].depth; }
    // Some read below `id` is not guarded and of an input or a local.
    bool has_open_read(NodeId id) const { return known_[static_cast<size_t>(id)].open_read; }
    // Whether only data, or what is not sums of multiples, can tell where a read leads.
    bool is_led(NodeId read) const {
        return std::ranges::any_of(node(read).operands, [&](NodeId id) { return !is_plain(id); });
    }
    std::optional<Size> literal_size(NodeId id) const;
    std::optional<int64_t> literal_integer(NodeId id) const;
    std::optional<bool> literal_boolean(NodeId id) const;

private:
    bool is_plain(NodeId coordinate) const;
    NodeId intern(Node node);
    std::optional<NodeId> folded(ScalarOp op, std::span<const NodeId> operands);
    bool same_up_to_variables(NodeId a, NodeId b, std::unordered_map<VariableId, VariableId>& renamed,
                              std::unordered_map<NodeId, NodeId>& equal) const;

    Body* body_;
    InternTable table_;
    struct Known {
        int32_t depth = 0;
        bool open_read = false;
    };
    InlineVector<Known, 32> known_;  // of each node
    std::vector<NodeId> reductions_;
};

}  // namespace heddle
