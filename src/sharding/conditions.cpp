#include "sharding/conditions.h"

#include <algorithm>
#include <optional>

#include "graph/verify.h"
#include "sharding/axes.h"
#include "sharding/body_copy.h"
#include "symbolic/projection_accesses.h"

namespace heddle::sharding {
namespace {

// What is computed at each point of its variables, whatever is asked for.
struct Root {
    NodeId value;
    std::set<VariableId> variables;
};

std::vector<Root> roots(const Body& body) {
    std::vector<Root> result;
    const auto add = [&](NodeId value, std::span<const VariableId> variables) {
        result.push_back({value, {variables.begin(), variables.end()}});
    };
    for (const BodyEquation& equation : body.equations) add(equation.value, equation.variables);
    const FreeVariables free(body);
    for (const Local& local : body.locals) {
        add(local.value, local.variables);
        if (local.is_state())
            add(local.initial, std::span(local.variables).subspan(1));
        else
            for (const VariableId id : free.list(local.value)) result.back().variables.insert(id);
    }
    return result;
}

// For each node the variables that are bound wherever it is used.
std::vector<std::vector<bool>> scopes_of(const Body& body) {
    std::vector<std::vector<bool>> scopes(body.nodes.size());
    const auto use = [&](NodeId id, const std::vector<bool>& scope) {
        std::vector<bool>& own = scopes[static_cast<size_t>(id)];
        if (own.empty()) {
            own = scope;
            return;
        }
        for (size_t v = 0; v < own.size(); ++v) own[v] = own[v] && scope[v];
    };
    for (const Root& root : roots(body)) {
        std::vector<bool> scope(body.variables.size());
        for (const VariableId id : root.variables) scope[static_cast<size_t>(id)] = true;
        use(root.value, scope);
    }
    for (size_t i = body.nodes.size(); i-- > 0;) {
        if (scopes[i].empty()) continue;
        std::vector<bool> scope = scopes[i];
        for (const VariableId id : body.nodes[i].variables) scope[static_cast<size_t>(id)] = true;
        for (const NodeId operand : body.nodes[i].operands) use(operand, scope);
    }
    return scopes;
}

// A value where one node of it is not computed: anything may stand for that.
class Without : public NodeRebuild<Without> {
public:
    Without(const Body& body, BodyNodes& nodes, const std::vector<bool>& contains, NodeId node)
        : NodeRebuild(body, NodeTable(body.nodes.size())), nodes_(nodes), contains_(contains), node_(node) {}

private:
    friend NodeRebuild<Without>;

    std::optional<NodeId> replaced(NodeId id) {
        if (id == node_) return nodes_.integer(0, nodes_.node(id).dtype, true);
        return contains_[static_cast<size_t>(id)] ? std::nullopt : std::optional(id);
    }
    NodeId add(NodeId, const Node& node) { return nodes_.add(node); }

    BodyNodes& nodes_;
    const std::vector<bool>& contains_;
    NodeId node_;
};

// Where one node is computed, if only the chosen operand of a `select` is, and the term of a reduction only where its
// filter passes. A condition is asked only where the body asks it: what is behind it may not be computed elsewhere.
class Asked {
public:
    Asked(BodyNodes& nodes, NodeId target, const std::vector<bool>& scope, const std::map<NodeId, NodeId>& conditions)
        : nodes_(nodes),
          free_(nodes.body()),
          target_(target),
          scope_(scope),
          conditions_(conditions),
          contains_(nodes.body().nodes.size()),
          always_(nodes.boolean(true)) {
        contains_[static_cast<size_t>(target)] = true;
        for (auto id = static_cast<size_t>(target) + 1; id < contains_.size(); ++id)
            contains_[id] = std::ranges::any_of(nodes.node(NodeId(id)).operands, [&](NodeId operand) {
                return contains_[static_cast<size_t>(operand)];
            });
    }

    // no_id: nowhere.
    NodeId run() {
        NodeId anywhere = no_id;
        for (const Root& root : roots(nodes_.body())) anywhere = either(anywhere, by(root.value));
        return anywhere;
    }
    bool is_always(NodeId id) const { return id == always_; }
    // Otherwise it is said of more points than those where it is computed.
    bool exact() const { return exact_; }

private:
    NodeId by(NodeId id) {
        if (id == target_) return always_;
        if (static_cast<size_t>(id) >= contains_.size() || !contains_[static_cast<size_t>(id)]) return no_id;
        if (const auto known = known_.find(id); known != known_.end()) return known->second;
        return known_[id] = by_operands(Node(nodes_.node(id)));  // the nodes may move
    }

    NodeId by_operands(const Node& node) {
        const NodeList& of = node.operands;
        if (node.kind == Node::Kind::select) return first(by(of[0]), [&] { return where(of[0], of[1], of[2]); });
        if (node.kind == Node::Kind::reduce && of.size() > 1)
            return first(by(of[1]), [&] { return where(of[1], of[0], no_id); });
        NodeId result = no_id;
        for (const NodeId operand : of) result = either(result, by(operand));
        return result;
    }

    NodeId where(NodeId condition, NodeId then, NodeId otherwise) {
        const NodeId held = by(then), failed = otherwise < 0 ? no_id : by(otherwise);
        if (held < 0 && failed < 0) return no_id;
        if (held == always_ && failed == always_) return always_;
        const auto known = without_target(condition);
        if (!known) {
            exact_ = false;
            return always_;
        }
        const NodeId never = nodes_.boolean(false);
        return nodes_.select(*known, held < 0 ? never : held, failed < 0 ? never : failed);
    }

    // What is asked behind a condition is asked only where that does not compute it already.
    template <typename Next>
    NodeId first(NodeId before, const Next& next) {
        if (before == always_) return always_;
        const NodeId behind = next();
        if (before < 0) return behind;
        return behind < 0 ? before : nodes_.select(before, always_, behind);
    }

    NodeId either(NodeId a, NodeId b) {
        if (a < 0 || b == always_) return b;
        if (b < 0 || a == always_) return a;
        return nodes_.scalar(ScalarOp::logical_or, {a, b});
    }

    // A condition where the target is not computed; nothing: it cannot be said at the target's points, or needs the
    // target at others.
    std::optional<NodeId> without_target(NodeId condition) {
        for (const VariableId id : free_.list(condition))
            if (!scope_[static_cast<size_t>(id)]) return std::nullopt;
        std::set<std::pair<NodeId, bool>> seen;
        if (is_elsewhere(condition, false, seen)) return std::nullopt;
        if (!contains_[static_cast<size_t>(condition)]) return condition;
        return Without(nodes_.body(), nodes_, contains_, target_).value(condition);
    }

    // Whether a value needs the target at other points, or waits for what does.
    bool is_elsewhere(NodeId id, bool elsewhere, std::set<std::pair<NodeId, bool>>& seen) const {
        if (id == target_) return elsewhere;
        if (!seen.insert({id, elsewhere}).second) return false;
        const Node& node = nodes_.node(id);
        const bool array = node.kind == Node::Kind::local || node.kind == Node::Kind::previous;
        const bool inner = elsewhere || array || node.kind == Node::Kind::reduce;
        const auto waits = conditions_.find(id);
        if (waits != conditions_.end() && is_elsewhere(waits->second, true, seen)) return true;
        return std::ranges::any_of(sources_of(nodes_.body(), id),
                                   [&](NodeId source) { return is_elsewhere(source, inner, seen); });
    }

    BodyNodes& nodes_;
    const FreeVariables free_;
    const NodeId target_;
    const std::vector<bool>& scope_;
    const std::map<NodeId, NodeId>& conditions_;
    std::vector<bool> contains_;  // by operands alone
    std::map<NodeId, NodeId> known_;
    const NodeId always_;
    bool exact_ = true;
};

}  // namespace

ConditionedBody::ConditionedBody(const Body& from, const std::vector<Corner>& extents)
    : extents_(extents), made_(std::make_shared<Body>()), nodes_(*made_) {
    BodyCopy copy(from, nodes_, *made_);
    for (size_t i = 0; i < from.variables.size(); ++i) {
        const Variable& variable = from.variables[i];
        copy.bind(VariableId(i), nodes_.add_variable(variable.name, variable.kind, variable.extent), 0);
    }
    for (const BodyEquation& equation : from.equations) {
        BodyEquation own{equation.output, equation.variables, {}, copy.copy(equation.value)};
        for (NodeId left : equation.left) own.left.push_back(copy.copy(left));
        made_->equations.push_back(std::move(own));
    }
    for (NodeId id : reductions_of(from)) numbers_[id] = copy.value(id);
    for (NodeId id : reductions_of(*made_))
        if (nodes_.has_open_read(id)) find(id);
}

void ConditionedBody::find(NodeId id) {
    if (scopes_.empty()) scopes_ = scopes_of(*made_);
    Asked asked(nodes_, id, scopes_[static_cast<size_t>(id)], conditions_);
    const NodeId condition = asked.run();
    if (condition < 0) return;
    const bool everywhere = asked.is_always(condition);
    if (asked.exact() && everywhere) return;
    if (is_inside(id)) return;
    if (!everywhere) conditions_[id] = condition;
    if (asked.exact()) return;
    const NodeId none = nodes_.integer(0, made_->node(id).dtype, true);
    if (everywhere || !is_inside(nodes_.select(condition, id, none))) tied_.insert(id);
}

// Whether what is read for it is inside of its tensors wherever it is computed, by way of locals too: these are computed where
// they are asked for.
bool ConditionedBody::is_inside(NodeId value) const {
    Body alone = *made_;
    alone.equations = {BodyEquation{0, FreeVariables(alone).list(value), {}, value}};
    const BodyAccesses accesses(alone);
    if (accesses.exhausted()) return false;
    const auto own = used_by(*made_, {value});
    std::vector<std::span<const Size>> extents(extents_.begin(), extents_.end());
    if (std::ranges::any_of(accesses.failures(extents), [&](const FootprintFailure& failure) {
            return own[static_cast<size_t>(failure.access.node)];
        }))
        return false;
    return std::ranges::all_of(accesses.accesses(), [&](const Access& access) {
        for (size_t d = 0; d < access.coordinates.size(); ++d) {
            const ValueRange& range = accesses.range(access, d);
            const Size extent = access.tensor >= 0 ? Size(extents_[access.tensor][d])
                                                   : alone.extent(alone.local(access.local), access.before + d);
            const bool inside = range.interval.low >= 0 && range.interval.high < extent.value();
            if (range.data && !inside && !access.guarded && own[static_cast<size_t>(access.node)]) return false;
        }
        return true;
    });
}

}  // namespace heddle::sharding
