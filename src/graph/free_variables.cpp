#include "graph/verify.h"

namespace heddle {

FreeVariables::FreeVariables(const Body& body) : words_((body.variables.size() + 63) / 64) {
    bits_.assign(words_ * body.nodes.size(), 0);
    locals_.resize(body.locals.size());
    std::vector<bool> known(body.locals.size(), false);
    auto set = [&](uint64_t* row, VariableId id) { row[id / 64] |= uint64_t{1} << (id % 64); };
    auto clear = [&](uint64_t* row, VariableId id) { row[id / 64] &= ~(uint64_t{1} << (id % 64)); };
    std::vector<uint64_t> scratch(words_);
    for (size_t i = 0; i < body.nodes.size(); i++) {
        const Node& node = body.nodes[i];
        uint64_t* row = bits_.data() + i * words_;
        for (NodeId operand : node.operands) {
            const uint64_t* from = bits_.data() + static_cast<size_t>(operand) * words_;
            for (size_t word = 0; word < words_; word++) row[word] |= from[word];
        }
        if (node.kind == Node::Kind::variable) set(row, node.variable());
        if (node.kind == Node::Kind::reduce) {
            for (VariableId id : node.variables) clear(row, id);
        }
        if (node.kind == Node::Kind::previous) set(row, body.local(node.local()).variables[0]);
        // A state uses no variables but its own.
        if (node.kind != Node::Kind::local || body.local(node.local()).is_state()) continue;
        // The local's value stands before this node, so its row is final.
        auto index = static_cast<size_t>(node.index);
        if (!known[index]) {
            const Local& local = body.locals[index];
            scratch.assign(bits_.data() + static_cast<size_t>(local.value) * words_,
                           bits_.data() + (static_cast<size_t>(local.value) + 1) * words_);
            for (VariableId id : local.variables) clear(scratch.data(), id);
            for (size_t bit = 0; bit < words_ * 64; bit++) {
                if (scratch[bit / 64] >> (bit % 64) & 1) locals_[index].push_back(VariableId(bit));
            }
            known[index] = true;
        }
        for (VariableId id : locals_[index]) set(row, id);
    }
}

bool FreeVariables::contains(NodeId node, VariableId variable) const {
    const uint64_t* row = bits_.data() + static_cast<size_t>(node) * words_;
    return row[variable / 64] >> (variable % 64) & 1;
}

bool FreeVariables::meets(NodeId node, std::span<const VariableId> variables) const {
    for (VariableId id : variables) {
        if (contains(node, id)) return true;
    }
    return false;
}

std::vector<VariableId> FreeVariables::list(NodeId node) const {
    std::vector<VariableId> variables;
    const uint64_t* row = bits_.data() + static_cast<size_t>(node) * words_;
    for (size_t word = 0; word < words_; word++) {
        for (uint64_t rest = row[word]; rest != 0; rest &= rest - 1) {
            variables.push_back(VariableId(word * 64 + static_cast<size_t>(__builtin_ctzll(rest))));
        }
    }
    return variables;
}

}  // namespace heddle
