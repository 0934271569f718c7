// Where the values of a body's reductions are asked for. A reduction that becomes an operation of its own is computed
// at every point, also where a condition kept it from reading outside its tensor: then the condition goes with it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "symbolic/body_nodes.h"
#include "zspace/box.h"

namespace heddle::sharding {

class ConditionedBody {
public:
    // The body with its variables as they are and other node numbers, and conditions added; `extents` are its inputs'
    // sizes.
    ConditionedBody(const Body& from, const std::vector<Corner>& extents);

    const std::shared_ptr<Body>& body() const { return made_; }
    const BodyNodes& nodes() const { return nodes_; }
    // The number here of a reduction of the body before.
    NodeId number(NodeId from) const { return numbers_.at(from); }

    // Where the value of a reduction is used; no_id: it may be computed at every point.
    NodeId condition(NodeId reduction) const {
        const auto found = conditions_.find(reduction);
        return found == conditions_.end() ? no_id : found->second;
    }
    // It may not be computed everywhere, and where it is used cannot be said apart from it.
    bool is_tied(NodeId reduction) const { return tied_.contains(reduction); }

private:
    void find(NodeId reduction);
    bool is_inside(NodeId value) const;

    const std::vector<Corner>& extents_;
    std::shared_ptr<Body> made_;
    BodyNodes nodes_;
    std::map<NodeId, NodeId> numbers_, conditions_;
    std::set<NodeId> tied_;
    std::vector<std::vector<bool>> scopes_;  // once they are asked for
};

}  // namespace heddle::sharding
