#include "sharding/rounds.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/verify.h"
#include "sharding/body_copy.h"
#include "symbolic/projection_accesses.h"

namespace heddle::sharding {
namespace {

// Conditions that all hold (or do not): one way to a value.
using Way = std::set<std::pair<NodeId, bool>>;

constexpr size_t most_ways = 32;

// The ways on which each node is reached. A way that another one is part of says nothing more; where there are too
// many, what all have in common is kept, so that a value is computed in more places than it is used.
class Reached {
public:
    explicit Reached(const Body& body) : ways_(body.nodes.size()) {
        for (const BodyEquation& equation : body.equations) add(equation.value, {});
        for (const Local& local : body.locals) {  // a state may stand behind what reads its step before
            if (!local.is_state()) continue;
            add(local.value, {});
            add(local.initial, {});
        }
        for (size_t i = body.nodes.size(); i-- > 0;) {
            if (ways_[i].empty()) continue;
            const Node& node = body.nodes[i];
            // All of a local is computed, wherever one element is read.
            if (node.kind == Node::Kind::local) add(body.local(node.local()).value, {});
            for (size_t operand = 0; operand < node.operands.size(); ++operand) pass(node, operand, ways_[i]);
        }
    }

    const std::vector<Way>& of(NodeId id) const { return ways_[static_cast<size_t>(id)]; }

private:
    void pass(const Node& node, size_t operand, const std::vector<Way>& ways) {
        bool branch = node.kind == Node::Kind::select && operand > 0;
        bool filtered = node.kind == Node::Kind::reduce && operand == 0 && node.operands.size() > 1;
        for (Way way : ways) {
            if (branch) way.insert({node.operands[0], operand == 1});
            if (filtered) way.insert({node.operands[1], true});
            add(node.operands[operand], std::move(way));
        }
    }

    void add(NodeId id, Way way) {
        auto& ways = ways_[static_cast<size_t>(id)];
        auto within = [](const Way& a, const Way& b) { return std::ranges::includes(b, a); };
        if (std::ranges::any_of(ways, [&](const Way& known) { return within(known, way); })) return;
        std::erase_if(ways, [&](const Way& known) { return within(way, known); });
        ways.push_back(std::move(way));
        if (ways.size() <= most_ways) return;
        Way common = ways[0];
        for (const Way& other : ways) std::erase_if(common, [&](const auto& part) { return !other.contains(part); });
        ways = {std::move(common)};
    }

    std::vector<std::vector<Way>> ways_;
};

class RoundFinder {
public:
    RoundFinder(const Body& body, const std::vector<Corner>& extents, const std::vector<Axis>& axes,
                const std::vector<bool>& cut)
        : extents_(extents), axes_(axes), cut_(cut), made_(std::make_shared<Body>()), nodes_(*made_) {
        BodyCopy copy(body, nodes_, *made_);
        for (size_t i = 0; i < body.variables.size(); ++i) {
            const Variable& from = body.variables[i];
            copy.bind(VariableId(i), nodes_.add_variable(from.name, from.kind, from.extent), 0);
        }
        for (const BodyEquation& equation : body.equations) {
            BodyEquation own{equation.output, equation.variables, {}, copy.copy(equation.value)};
            for (NodeId left : equation.left) own.left.push_back(copy.copy(left));
            made_->equations.push_back(std::move(own));
        }
    }

    Rounds run(bool rescale) {
        find_reductions();
        find_conditions();
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
            CutReduction reduction{.node = id, .variables = {}, .axes = {}};
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

    // A reduction that becomes an operation is computed at every point, also where a condition kept it from reading
    // outside its tensor: then the condition goes with it.
    void find_conditions() {
        std::vector<NodeId> open;
        for (const CutReduction& reduction : reductions_)
            if (nodes_.has_open_read(reduction.node) && !is_inside(reduction.node)) open.push_back(reduction.node);
        if (open.empty()) return;
        Reached reached(*made_);
        for (NodeId id : open) {
            NodeId any = no_id;
            for (const Way& way : reached.of(id)) {
                NodeId all = no_id;
                for (auto [condition, holds] : way) {
                    if (needs_later(condition, id)) continue;
                    NodeId part = holds ? condition : nodes_.scalar(ScalarOp::logical_not, {condition});
                    all = all < 0 ? part : nodes_.scalar(ScalarOp::logical_and, {all, part});
                }
                if (all < 0) all = nodes_.boolean(true);
                any = any < 0 ? all : nodes_.scalar(ScalarOp::logical_or, {any, all});
            }
            if (any >= 0 && !nodes_.literal_boolean(any)) reductions_[position_[id]].condition = any;
        }
    }

    // Whether its reads are inside their tensors wherever it is computed.
    bool is_inside(NodeId id) const {
        Body alone = *made_;
        alone.equations = {BodyEquation{0, FreeVariables(alone).list(id), {}, id}};
        BodyAccesses accesses(alone);
        std::vector<std::span<const Size>> extents(extents_.begin(), extents_.end());
        if (accesses.exhausted() || !accesses.failures(extents).empty()) return false;
        return std::ranges::all_of(accesses.accesses(), [&](const Access& access) {
            for (size_t d = 0; d < access.coordinates.size(); ++d)
                if (accesses.range(access, d).data && !access.guarded) return false;
            return true;
        });
    }

    // Whether a condition needs a cut reduction that does not stand before `id`: it could wait for `id` itself.
    bool needs_later(NodeId condition, NodeId id) const {
        const auto used = used_by(*made_, {condition});
        return std::ranges::any_of(
            position_, [&](const auto& cut) { return cut.first >= id && used[static_cast<size_t>(cut.first)]; });
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

    const std::vector<Corner>& extents_;
    const std::vector<Axis>& axes_;
    const std::vector<bool>& cut_;
    std::shared_ptr<Body> made_;
    BodyNodes nodes_;
    std::vector<CutReduction> reductions_;
    std::map<NodeId, size_t> position_;
};

}  // namespace

Rounds rounds_of(const Body& body, const std::vector<Corner>& extents, const std::vector<Axis>& axes,
                 const std::vector<bool>& cut, bool rescale) {
    return RoundFinder(body, extents, axes, cut).run(rescale);
}

}  // namespace heddle::sharding
