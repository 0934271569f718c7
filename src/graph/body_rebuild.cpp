#include "graph/body_rebuild.h"

#include <algorithm>

namespace heddle {

StateCopies::StateCopies(const Body& from) : source_(from) {
    if (std::ranges::none_of(from.locals, &Local::is_state)) return;
    const auto used = used_by(from, roots_of(from));
    for (size_t id = 0; id < used.size(); ++id) {
        const Node& node = from.nodes[id];
        const bool reads = node.kind == Node::Kind::local || node.kind == Node::Kind::previous;
        if (used[id] && reads && from.local(node.local()).is_state()) used_.insert(node.local());
    }
}

LocalId StateCopies::previous_state(LocalId state) {
    auto [known, fresh] = numbers_.try_emplace(state);
    if (!fresh) return known->second;
    open_.insert(state);
    return known->second = number_state(state);
}

LocalId StateCopies::read_state(LocalId state) {
    const LocalId number = previous_state(state);
    if (running_.contains(scan_of(state)))
        finish_state(state);
    else
        finish_scan(scan_of(state));
    return number;
}

void StateCopies::finish_states() {
    while (!open_.empty()) finish_scan(scan_of(*open_.begin()));
}

void StateCopies::finish_state(LocalId state) {
    if (open_.erase(state) > 0) copy_values(state);
}

// In the order of the source; copying one may ask for more. What nothing has read yet may be read behind the scan
// later, when it is too late for its values.
void StateCopies::finish_scan(VariableId scan) {
    running_.insert(scan);
    auto of_scan = [&](LocalId state) { return scan_of(state) == scan; };
    auto is_new = [&](LocalId state) { return of_scan(state) && !numbers_.contains(state); };
    for (;;) {
        auto next = std::ranges::find_if(open_, of_scan);
        if (next == open_.end()) {
            next = std::ranges::find_if(used_, is_new);
            if (next == used_.end()) break;
            previous_state(*next);
        }
        finish_state(*next);
    }
    running_.erase(scan);
}

namespace {

// Copies what equations need, in the order of first use: operands before users.
class Compaction : public BodyRebuild<Compaction> {
public:
    // Takes the nodes out of `body`, and what it makes goes into `to`.
    Compaction(Body& body, std::span<const int32_t> tensors, Body& to) : BodyRebuild(body, to), taken_(body) {
        to.nodes.reserve(body.nodes.size());
        to.variables.reserve(body.variables.size());
        to.equations.reserve(body.equations.size());
        for (size_t i = 0; i < tensors.size(); ++i) {
            auto old = static_cast<size_t>(tensors[i]);
            if (tensors_.size() <= old) tensors_.resize(old + 1);
            tensors_[old] = TensorIndex(i);
        }
    }

    void run() {
        // Index axes keep their numbers: an axis that nothing reads is still an axis.
        for (size_t i = 0; i < taken_.variables.size(); ++i)
            if (taken_.variables[i].kind == Variable::Kind::index) variable(VariableId(i));
        for (const BodyEquation& equation : taken_.equations) {
            BodyEquation copy;
            copy.output = equation.output;
            copy.variables.reserve(equation.variables.size());
            copy.left.reserve(equation.left.size());
            for (VariableId id : equation.variables) copy.variables.push_back(variable(id));
            for (NodeId id : equation.left) copy.left.push_back(value(id));
            copy.value = this->copy(equation.value);
            to_.equations.push_back(std::move(copy));
        }
    }
    const InlineVector<NodeId, 64>& nodes() const { return made_.all(); }

private:
    friend NodeRebuild<Compaction>;
    friend BodyRebuild<Compaction>;

    VariableId make_variable(VariableId id) {
        to_.variables.push_back(std::move(taken_.variables[static_cast<size_t>(id)]));
        return last_id<VariableId>(to_.variables);
    }
    TensorIndex tensor(TensorIndex id) const { return tensors_[id]; }
    Node take(NodeId id) { return std::move(taken_.nodes[static_cast<size_t>(id)]); }

    Body& taken_;
    InlineVector<TensorIndex, 8> tensors_;
};

}  // namespace

Body compacted(Body&& body, std::span<const int32_t> tensors, InlineVector<NodeId, 64>* nodes) {
    Body result;
    Compaction compaction(body, tensors, result);
    compaction.run();
    if (nodes) *nodes = compaction.nodes();
    return result;
}

namespace {

template <typename Visit>
void each_source(const Body& body, NodeId id, const Visit& visit) {
    const Node& node = body.node(id);
    for (NodeId operand : node.operands) visit(operand);
    if (node.kind != Node::Kind::local && node.kind != Node::Kind::previous) return;
    const Local& local = body.local(node.local());
    visit(local.value);
    if (local.is_state()) visit(local.initial);
}

}  // namespace

NodeList sources_of(const Body& body, NodeId id) {
    NodeList sources;
    each_source(body, id, [&](NodeId source) { sources.push_back(source); });
    return sources;
}

InlineVector<bool, 64> used_by(const Body& body, NodeList roots) {
    InlineVector<bool, 64> used(body.nodes.size(), false);
    InlineVector<NodeId, 32> open(roots.begin(), roots.end());
    while (!open.empty()) {
        const NodeId id = open.back();
        open.pop_back();
        if (used[static_cast<size_t>(id)]) continue;
        used[static_cast<size_t>(id)] = true;
        each_source(body, id, [&](NodeId source) {
            if (!used[static_cast<size_t>(source)]) open.push_back(source);
        });
    }
    return used;
}

NodeList roots_of(const Body& body) {
    NodeList roots;
    for (const BodyEquation& equation : body.equations) {
        roots.push_back(equation.value);
        roots.insert(roots.end(), equation.left.begin(), equation.left.end());
    }
    return roots;
}

InlineVector<bool, 8> tensors_read(const Body& body, int32_t count) {
    InlineVector<bool, 8> read(static_cast<size_t>(count), false);
    const auto used = used_by(body, roots_of(body));
    for (size_t id = 0; id < used.size(); ++id) {
        const Node& node = body.nodes[id];
        const bool is_read = node.is_read();
        if (used[id] && is_read) read[node.tensor()] = true;
    }
    return read;
}

}  // namespace heddle
