#include "sharding/rounds.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/body_rebuild.h"
#include "graph/verify.h"
#include "sharding/conditions.h"

namespace heddle::sharding {
namespace {

class RoundFinder {
public:
    RoundFinder(const Body& body, const std::vector<Corner>& extents, const std::vector<Axis>& axes,
                const std::vector<bool>& cut)
        : axes_(axes), cut_(cut), conditioned_(body, extents), made_(conditioned_.body()) {}

    Rounds run(bool rescale) {
        find_reductions();
        for (CutReduction& reduction : reductions_)
            if (rescale) reduction.rescaled = rescaled(reduction);
        for (CutReduction& reduction : reductions_) round_of(reduction);
        find_variables();
        std::ranges::stable_sort(reductions_, {}, &CutReduction::round);
        return {made_, std::move(reductions_)};
    }

private:
    void find_reductions() {
        for (NodeId id : reductions_of(*made_)) {
            CutReduction reduction{.node = id, .variables = {}, .axes = {}, .condition = conditioned_.condition(id)};
            for (size_t axis = 0; axis < axes_.size(); ++axis) {
                bool over = std::ranges::any_of(made_->node(id).variables,
                                                [&](VariableId bound) { return axes_[axis].contains(bound); });
                if (cut_[axis] && over) reduction.axes.push_back(axis);
            }
            if (reduction.axes.empty()) continue;
            position_[id] = reductions_.size();
            reductions_.push_back(std::move(reduction));
        }
    }

    // The cut reductions that a value needs at first hand.
    void find_needs(NodeId id, std::set<NodeId>& seen, std::set<NodeId>& needs) const {
        if (!seen.insert(id).second) return;
        if (position_.contains(id)) {
            needs.insert(id);
            return;
        }
        for (NodeId source : sources_of(*made_, id)) find_needs(source, seen, needs);
    }

    std::set<NodeId> needs_of(NodeId id) const {
        std::set<NodeId> seen, needs;
        find_needs(id, seen, needs);
        return needs;
    }

    Rescaled rescaled(const CutReduction& reduction) const {
        const Node& sum = made_->node(reduction.node);
        if (sum.reducer != Reducer::sum || !is_float(sum.dtype) || reduction.condition >= 0) return {};
        std::set<NodeId> needs = needs_of(sum.operands[0]);
        if (needs.size() != 1 || (sum.operands.size() > 1 && !needs_of(sum.operands[1]).empty())) return {};
        const CutReduction& other = reductions_[position_.at(*needs.begin())];
        if (made_->node(other.node).reducer != Reducer::maximum || other.axes != reduction.axes || other.condition >= 0)
            return {};
        NodeId shift = shift_of(sum.operands[0]);
        if (shift < 0 || !is_simple(shift, other.node)) return {};
        return Rescaled{other.node, shift, {}};
    }

    // g, if a term is exp(a - g) times what needs no cut reduction, and a needs none.
    NodeId shift_of(NodeId term) const {
        const Node& node = made_->node(term);
        if (node.kind != Node::Kind::scalar) return no_id;
        if (node.op == ScalarOp::multiply) {
            bool first = needs_of(node.operands[1]).empty(), second = needs_of(node.operands[0]).empty();
            return first == second ? no_id : shift_of(node.operands[first ? 0 : 1]);
        }
        if (node.op != ScalarOp::exp) return no_id;
        const Node& difference = made_->node(node.operands[0]);
        bool subtracts = difference.kind == Node::Kind::scalar && difference.op == ScalarOp::subtract;
        return subtracts && needs_of(difference.operands[0]).empty() ? difference.operands[1] : no_id;
    }

    // Made of the maximum and literals.
    bool is_simple(NodeId id, NodeId maximum) const {
        const Node& node = made_->node(id);
        bool plain = node.kind == Node::Kind::integer || node.kind == Node::Kind::real ||
                     node.kind == Node::Kind::scalar || node.kind == Node::Kind::cast ||
                     node.kind == Node::Kind::select;
        return id == maximum ||
               (plain && std::ranges::all_of(node.operands, [&](NodeId of) { return is_simple(of, maximum); }));
    }

    // One more than the greatest round of what its terms and its condition need.
    int32_t round_of(CutReduction& reduction) {
        if (reduction.round >= 0) return reduction.round;
        if (reduction.rescaled.is_given())
            return reduction.round = round_of(reductions_[position_[reduction.rescaled.maximum]]);
        std::set<NodeId> seen, needs;
        for (NodeId operand : made_->node(reduction.node).operands) find_needs(operand, seen, needs);
        if (reduction.condition >= 0) find_needs(reduction.condition, seen, needs);
        int32_t round = 0;
        for (NodeId id : needs) round = std::max(round, round_of(reductions_[position_[id]]) + 1);
        return reduction.round = round;
    }

    void find_variables() {
        FreeVariables free(*made_);
        for (CutReduction& reduction : reductions_) {
            std::vector<VariableId> list = free.list(reduction.node);
            std::set<VariableId> variables(list.begin(), list.end());
            if (reduction.condition >= 0) {
                list = free.list(reduction.condition);
                variables.insert(list.begin(), list.end());
            }
            reduction.variables.assign(variables.begin(), variables.end());
            if (reduction.rescaled.is_given()) reduction.rescaled.variables = free.list(reduction.rescaled.maximum);
        }
    }

    const std::vector<Axis>& axes_;
    const std::vector<bool>& cut_;
    const ConditionedBody conditioned_;
    const std::shared_ptr<const Body> made_;
    std::vector<CutReduction> reductions_;
    std::map<NodeId, size_t> position_;
};

}  // namespace

Rounds rounds_of(const Body& body, const std::vector<Corner>& extents, const std::vector<Axis>& axes,
                 const std::vector<bool>& cut, bool rescale) {
    return RoundFinder(body, extents, axes, cut).run(rescale);
}

}  // namespace heddle::sharding
