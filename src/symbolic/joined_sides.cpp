#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/body_rebuild.h"
#include "symbolic/interleaving.h"

namespace heddle {
namespace {

constexpr int64_t most_tries = int64_t{1} << 24;  // to look for the variables' values of all elements

// Values with expressions in place of variables. An array over them is made anew, a state is read elsewhere.
class Replacing : public NodeRebuild<Replacing> {
public:
    Replacing(Body& body, BodyNodes& nodes, const std::map<VariableId, NodeId>& by)
        : NodeRebuild(body, NodeTable(body.nodes.size())), body_(body), nodes_(nodes), by_(by) {}

    NodeId add(NodeId, Node node) { return nodes_.add(node); }
    std::optional<NodeId> replaced(NodeId id) {
        if (from_.node(id).kind == Node::Kind::previous) return step_before(id);
        if (from_.node(id).kind != Node::Kind::variable) return std::nullopt;
        const auto found = by_.find(from_.node(id).variable());
        return found == by_.end() ? std::nullopt : std::optional(found->second);
    }
    LocalId local(LocalId id) {
        if (from_.local(id).is_state()) return id;
        if (const auto made = arrays_.find(id); made != arrays_.end()) return made->second;
        const NodeId old = from_.local(id).value, fresh = value(old);
        if (fresh == old) return arrays_[id] = id;
        Local copy = from_.local(id);
        copy.value = fresh;
        body_.locals.push_back(std::move(copy));
        return arrays_[id] = last_id<LocalId>(body_.locals);
    }

private:
    // The step before is one by the scan's own variable; at another step the state is an array, with its first value
    // in front.
    std::optional<NodeId> step_before(NodeId id) {
        const Node node = from_.node(id);
        const auto step = by_.find(from_.local(node.local()).variables[0]);
        if (step == by_.end()) return std::nullopt;
        NodeList at = {step->second};
        for (NodeId operand : node.operands) at.push_back(value(operand));
        return nodes_.local(node.local(), node.dtype, std::move(at));
    }

    Body& body_;
    BodyNodes& nodes_;
    const std::map<VariableId, NodeId>& by_;
    std::map<LocalId, LocalId> arrays_;
};

class Joining {
public:
    Joining(Body& body, BodyNodes& nodes, std::span<const LeftSide> sides, std::span<const Size> extents)
        : body_(body), nodes_(nodes), sides_(sides), extents_(extents) {}

    bool run(const std::string& name) {
        if (!few_enough()) return false;
        BodyEquation joined{body_.equations[sides_[0].equation].output, {}, {}, no_id};
        for (size_t d = 0; d < extents_.size(); ++d) {
            const VariableId own = kept(d);
            joined.variables.push_back(own != no_id ? own
                                                    : nodes_.add_variable(fmt::format("{}_{}", name, d),
                                                                          Variable::Kind::parallel, extents_[d]));
            joined.left.push_back(nodes_.variable(joined.variables.back()));
        }
        at_ = joined.left;
        for (size_t s = sides_.size(); s-- > 0;) {
            conditions_.clear();
            values_.clear();
            solve(sides_[s]);
            const NodeId value = Replacing(body_, nodes_, values_).value(body_.equations[sides_[s].equation].value);
            joined.value = joined.value == no_id ? value : nodes_.select(all(conditions_), value, joined.value);
        }
        std::ranges::sort(joined.variables, {}, [&](VariableId id) {
            return std::pair(body_.variable(id).kind != Variable::Kind::index, id);
        });
        body_.equations[sides_[0].equation] = std::move(joined);
        return true;
    }

private:
    static bool is_searched(const LeftSide& side, const LeftCoordinate& coordinate) {
        return !side.apart || !coordinate.is_unique;
    }

    bool few_enough() const {
        const int64_t elements = Box::whole({extents_.begin(), extents_.end()}).volume();
        int64_t tries = 0;
        for (const LeftSide& side : sides_)
            for (const LeftCoordinate& coordinate : side.coordinates)
                if (is_searched(side, coordinate)) tries += checked_multiply(side.points(), elements).value_or(highest / 64);
        return tries <= most_tries;
    }

    // The variable that every side has in this dimension alone, over the whole of it.
    VariableId kept(size_t d) const {
        VariableId own = no_id;
        for (const LeftSide& side : sides_) {
            const LeftCoordinate& coordinate = side.coordinates[d];
            if (!side.apart || coordinate.digits.size() != 1) return no_id;
            const auto& digit = coordinate.digits[0];
            if (digit.factor != 1 || digit.reversed || digit.extent != extents_[d] || (own != no_id && own != digit.atom))
                return no_id;
            own = digit.atom;
        }
        return own;
    }

    // The values of a side's variables at the element, and the conditions that it writes it.
    void solve(const LeftSide& side) {
        std::vector<size_t> searched;
        for (VariableId id : body_.equations[side.equation].variables)
            if (body_.variable(id).extent == 1) values_[id] = number(0);
        for (size_t d = 0; d < extents_.size(); ++d) {
            if (is_searched(side, side.coordinates[d]))
                searched.push_back(d);
            else if (kept(d) == no_id)
                divide(side.coordinates[d], d);
        }
        if (!side.apart) {
            search(side, searched);
        } else {
            for (size_t d : searched) search(side, {d});
        }
    }

    void divide(const LeftCoordinate& coordinate, size_t d) {
        NodeId rest = at_[d];
        if (coordinate.high < extents_[d] - 1) require(ScalarOp::less_equal, rest, coordinate.high);
        int64_t greatest = extents_[d] - 1 - coordinate.low;
        if (coordinate.low > 0) {
            require(ScalarOp::greater_equal, rest, coordinate.low);
            rest = with(ScalarOp::maximum, with(ScalarOp::subtract, rest, coordinate.low), 0);
        }
        for (size_t i = coordinate.digits.size(); i-- > 0;) {
            const auto& digit = coordinate.digits[i];
            NodeId value = digit.factor == 1 ? rest : with(ScalarOp::floor_divide, rest, digit.factor);
            if (greatest / digit.factor >= digit.extent) {
                require(ScalarOp::less, value, digit.extent);
                value = with(ScalarOp::minimum, value, digit.extent - 1);
            }
            if (digit.reversed) value = nodes_.scalar(ScalarOp::subtract, {number(digit.extent - 1), value});
            values_[digit.atom] = value;
            rest = digit.factor == 1 ? no_id : with(ScalarOp::modulo, rest, digit.factor);
            greatest = std::min<int64_t>(greatest, digit.factor - 1);
        }
        if (rest != no_id && greatest > 0) require(ScalarOp::equal, rest, 0);
    }

    // Where division does not tell: the first of all values of the variables that give the coordinates, found once for
    // each element, since no data matter.
    void search(const LeftSide& side, const std::vector<size_t>& dimensions) {
        std::map<VariableId, NodeId> tried;
        VariableList variables;
        NodeList hits;
        for (size_t d : dimensions) {
            for (const auto& digit : side.coordinates[d].digits) {
                if (tried.contains(digit.atom)) continue;
                const Variable& own = body_.variable(digit.atom);
                variables.push_back(nodes_.add_variable(own.name, Variable::Kind::reduction, own.extent));
                tried[digit.atom] = nodes_.variable(variables.back());
            }
        }
        for (size_t d : dimensions) {
            const NodeId written = body_.equations[side.equation].left[d];
            hits.push_back(nodes_.scalar(ScalarOp::equal, {Replacing(body_, nodes_, tried).value(written), at_[d]}));
        }
        const NodeId hit = all(hits);
        if (variables.empty()) {
            conditions_.push_back(hit);
            return;
        }
        conditions_.push_back(nodes_.reduce(Reducer::any, DType::boolean, variables, hit, no_id));
        NodeId place = nodes_.reduce(Reducer::argument_maximum, DType::int64, variables,
                                     nodes_.select(hit, number(1), number(0)), no_id);
        for (size_t i = variables.size(); i-- > 0;) {
            const int64_t extent = body_.variable(variables[i]).extent.value();
            const auto variable = std::ranges::find_if(
                tried, [&](const auto& one) { return body_.node(one.second).variable() == variables[i]; });
            values_[variable->first] = i == 0 ? place : with(ScalarOp::modulo, place, extent);
            place = with(ScalarOp::floor_divide, place, extent);
        }
    }

    NodeId number(int64_t value) { return nodes_.integer(value, DType::int64, true); }
    NodeId with(ScalarOp op, NodeId a, int64_t b) { return nodes_.scalar(op, {a, number(b)}); }
    void require(ScalarOp op, NodeId a, int64_t b) { conditions_.push_back(with(op, a, b)); }
    NodeId all(const NodeList& conditions) {
        if (conditions.empty()) return nodes_.boolean(true);
        NodeId result = conditions[0];
        for (size_t i = 1; i < conditions.size(); ++i)
            result = nodes_.scalar(ScalarOp::logical_and, {result, conditions[i]});
        return result;
    }

    Body& body_;
    BodyNodes& nodes_;
    std::span<const LeftSide> sides_;
    std::span<const Size> extents_;
    NodeList at_;  // the element
    NodeList conditions_;
    std::map<VariableId, NodeId> values_;
};

}  // namespace

bool join_by_elements(Body& body, BodyNodes& nodes, std::span<const LeftSide> sides, std::span<const Size> extents,
                      const std::string& name) {
    return Joining(body, nodes, sides, extents).run(name);
}

}  // namespace heddle
