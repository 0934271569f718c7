// Hash-consed nodes of one typed body: an equal node is made once, whatever order its users ask in. Integer arithmetic
// of literals is folded (coordinates stay readable); arithmetic on floats is never changed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/body.h"

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

    // A literal of any dtype, from a number that the dtype can hold after the language's cast rules; of a complex dtype a
    // literal of its parts, cast.
    NodeId integer(int64_t value, DType dtype, bool from_template);
    // The same, keeping where the number comes from: shape tensors are computed by bodies, and their elements are
    // sizes.
    NodeId sized_integer(const Size& value, DType dtype, bool from_template);
    NodeId real(double value, DType dtype, bool from_template);
    NodeId boolean(bool value) { return integer(value ? 1 : 0, DType::boolean, true); }

    VariableId add_variable(std::string name, Variable::Kind kind, Size extent);
    NodeId variable(VariableId id);

    // Operands are of the types that the operation's row asks for.
    NodeId scalar(ScalarOp op, NodeList operands);
    // The same node if it is of that type already; a literal of the new type for a literal that it can hold exactly. To a
    // complex type by way of its parts'.
    NodeId cast(NodeId operand, DType dtype);
    NodeId select(NodeId condition, NodeId then, NodeId otherwise);
    NodeId read(int32_t tensor, DType dtype, NodeList coordinates);
    NodeId guarded_read(int32_t tensor, DType dtype, NodeList coordinates, NodeId otherwise);
    NodeId local(int32_t local, DType dtype, NodeList coordinates);
    NodeId previous(int32_t state, DType dtype, NodeList coordinates);
    // `filter` may be absent (-1). A reduction equal to an earlier one up to the names of its variables is that one.
    NodeId reduce(Reducer reducer, DType dtype, VariableList variables, NodeId operand, NodeId filter);

    // Operands below `id`, itself included, along the longest path. Callers refuse a body deeper than `deepest_body`.
    int32_t depth(NodeId id) const { return known_[static_cast<size_t>(id)].depth; }
    // Some read below `id` is not guarded and of an input or a local.
    bool has_open_read(NodeId id) const { return known_[static_cast<size_t>(id)].open_read; }
    std::optional<int64_t> literal_integer(NodeId id) const;
    std::optional<bool> literal_boolean(NodeId id) const;

private:
    NodeId intern(Node node);
    void grow();
    std::optional<NodeId> folded(ScalarOp op, std::span<const NodeId> operands);
    bool same_up_to_variables(NodeId a, NodeId b, std::unordered_map<VariableId, VariableId>& renamed,
                              std::unordered_map<NodeId, NodeId>& equal) const;

    Body* body_;
    // Nodes by their hash, -1 for none: a power of two of places, at most half in use.
    InlineVector<NodeId, 64> places_;
    struct Known {
        uint32_t hash = 0;
        int32_t depth = 0;
        bool open_read = false;
    };
    InlineVector<Known, 32> known_;  // of each node
    std::vector<NodeId> reductions_;
};

// How a copy of a body makes its states: one is numbered when it is first read, since its values may read it. Behind
// the present step its values are copied first; elsewhere those of all states of its scan that an equation uses.
class StateCopies {
public:
    explicit StateCopies(const Body& from);

protected:
    ~StateCopies() = default;
    virtual int32_t number_state(int32_t state) = 0;  // a new local for an old state, without values
    virtual void copy_values(int32_t state) = 0;

    int32_t previous_state(int32_t state);  // the new number, for a read of the step before
    int32_t read_state(int32_t state);      // the new number, for any other read
    void finish_states();                   // the values of all that were numbered

private:
    VariableId scan_of(int32_t state) const { return from_.locals[static_cast<size_t>(state)].variables[0]; }
    void finish_state(int32_t state);
    void finish_scan(VariableId scan);

    const Body& from_;
    std::set<int32_t> used_;  // states that the source's equations use
    std::map<int32_t, int32_t> numbers_;
    std::set<int32_t> open_;  // numbered, their values not copied yet
    std::set<VariableId> running_;
};

// The same body without the nodes and variables that no equation uses, in the order of first use, and with its tensors
// numbered by `tensors` (the old number of each new one). `nodes`, if given, gets the new number of each old node, or
// -1. Takes the nodes and variables out of `body`, and leaves it the memory that they stood in.
Body compacted(Body&& body, std::span<const int32_t> tensors, InlineVector<NodeId, 64>* nodes = nullptr);

// Whether each tensor of 0 .. count is read by an equation, directly or through a local.
InlineVector<bool, 8> tensors_read(const Body& body, int32_t count);

}  // namespace heddle
