// Partial results of one reduction, and how they become one value. All of it follows from the reducer: `sum` of a part
// is added to the others', `max` of the parts' maxima is taken. `argmax` gives a value and a number for each part; of
// the parts with the best value the one with the least number wins, so that the first of equals does, however the axes
// are cut.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sharding/body_copy.h"
#include "sharding/rounds.h"

namespace heddle::sharding {

class PartialResults {
public:
    // Both outlive this.
    PartialResults(const Body& body, const CutReduction& reduction) : body_(body), reduction_(reduction) {}

    // What each part gives, with names for tensors of it: dimensions are the parts of each axis, then the variables.
    std::vector<std::pair<std::string, DType>> values() const;

    // The part at `position`, where each variable runs over its range: one equation for each of `values`.
    void write(Body& into, const std::vector<int64_t>& position, const std::function<Range(VariableId)>& range,
               const std::vector<std::pair<NodeId, StoredValue>>& stored) const;

    // One value for each point of the variables from `values` as inputs, and the whole maximum after them where the sum
    // is rescaled; `counts` parts of each axis; written where `equation` says, if there is one; for the variables within
    // `ranges`.
    void write_combination(Body& into, const std::vector<int64_t>& counts, const std::map<VariableId, Range>& ranges,
                           const BodyEquation* equation) const;

private:
    class Part;
    NodeId rescaled_term(BodyNodes& nodes, BodyCopy& copy, NodeId sum, NodeId own) const;
    // Whether the reduction is one of each step of the scan over this variable, and reads its states.
    bool runs_scan(VariableId id) const;
    bool filtered() const { return node().operands.size() > 1; }
    const Node& node() const { return body_.node(reduction_.node); }

    const Body& body_;
    const CutReduction& reduction_;
};

}  // namespace heddle::sharding
