#include "gradient/zero_outside.h"

#include <algorithm>
#include <map>

namespace heddle::gradient {
namespace {

class Product {
public:
    explicit Product(Terms& terms) : terms_(terms) {}

    // Whether it is one; then its reads that may lie outside are known. What several factors share is asked once: a square of
    // squares has few nodes and very many paths.
    bool split(NodeId id) {
        const auto [known, fresh] = is_product_.try_emplace(id, true);
        return fresh ? (is_product_[id] = made_split(id)) : known->second;
    }

private:
    bool made_split(NodeId id) {
        const Node& node = terms_.node(id);
        if (!is_float(node.dtype)) return false;
        if (node.kind == Node::Kind::real) return true;
        if (node.kind == Node::Kind::cast) return split(node.operands[0]);
        if (node.kind == Node::Kind::scalar)
            return node.op == ScalarOp::multiply &&
                   std::ranges::all_of(node.operands, [&](NodeId o) { return split(o); });
        if (node.kind != Node::Kind::read && node.kind != Node::Kind::guarded_read) return false;
        if (!terms_.safe(id)) outside_.push_back(id);
        return true;
    }

public:
    // Whether the condition is no more than that one of the reads lies inside, along one of its dimensions.
    bool asks_for_inside(NodeId condition) {
        const Node& node = terms_.node(condition);
        if (node.kind != Node::Kind::scalar || node.operands.size() != 2) return false;
        const Node& bound = terms_.node(node.operands[1]);
        if (bound.kind != Node::Kind::integer || reads_data(node.operands[0])) return false;
        return std::ranges::any_of(outside_, [&](NodeId read) {
            const Node& of = terms_.node(read);
            for (size_t d = 0; d < of.operands.size(); ++d) {
                if (of.operands[d] != node.operands[0]) continue;
                if (node.op == ScalarOp::greater_equal && bound.integer == 0) return true;
                if (node.op == ScalarOp::less && bound.integer == terms_.extent(of.tensor(), d)) return true;
            }
            return false;
        });
    }

    NodeId guarded(NodeId id) {
        const auto [known, fresh] = guarded_.try_emplace(id, no_id);
        return fresh ? guarded_[id] = made_guarded(id) : known->second;
    }

private:
    NodeId made_guarded(NodeId id) {
        const Node node = terms_.node(id);  // nodes are made below
        NodeList operands = node.operands;
        if (node.kind == Node::Kind::cast) return terms_.nodes().cast(guarded(operands[0]), node.dtype);
        if (node.kind == Node::Kind::scalar) {
            for (NodeId& operand : operands) operand = guarded(operand);
            return terms_.scalar(node.op, std::move(operands));
        }
        if (node.kind != Node::Kind::read || terms_.safe(id)) return id;
        const NodeId zero = terms_.nodes().real(0, node.dtype, true);
        return terms_.nodes().guarded_read(node.tensor(), node.dtype, std::move(operands), zero);
    }

    // Such a read may be an error of the whole program, which a guard would hide.
    bool reads_data(NodeId id) {
        const Node& node = terms_.node(id);
        if (node.kind == Node::Kind::variable || node.kind == Node::Kind::integer) return false;
        if (node.kind != Node::Kind::scalar) return true;
        const auto [known, fresh] = reads_data_.try_emplace(id, false);
        if (!fresh) return known->second;
        return reads_data_[id] =
                   std::ranges::any_of(node.operands, [&](NodeId operand) { return reads_data(operand); });
    }

    Terms& terms_;
    NodeList outside_;
    std::map<NodeId, bool> is_product_, reads_data_;
    std::map<NodeId, NodeId> guarded_;
};

}  // namespace

NodeId with_zeros_outside(Terms& terms, NodeId value, NodeList& filter) {
    Product product(terms);
    if (!product.split(value)) return value;
    NodeList rest;
    std::ranges::copy_if(filter, std::back_inserter(rest), [&](NodeId c) { return !product.asks_for_inside(c); });
    if (rest.size() == filter.size()) return value;
    filter = std::move(rest);
    return product.guarded(value);
}

}  // namespace heddle::gradient
