#include "sharding/combine.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace heddle::sharding {
namespace {

Reducer value_reducer(Reducer argument) {
    return argument == Reducer::argument_maximum ? Reducer::maximum : Reducer::minimum;
}

}  // namespace

// The values of one part.
class PartialResults::Part {
public:
    Part(const PartialResults& of, Body& into, const std::function<Range(VariableId)>& range,
         const std::vector<std::pair<NodeId, StoredValue>>& stored)
        : of_(of), into_(into), nodes_(into), range_(range), stored_(stored) {
        for (VariableId id : of.reduction_.variables) {
            const Variable& from = of.body_.variable(id);
            Range part = range(id);
            bool all = part == Range{0, from.extent.value()};
            auto kind = of.runs_scan(id) ? Variable::Kind::ordered : Variable::Kind::index;
            free_.push_back(nodes_.add_variable(from.name, kind, all ? from.extent : Size(part.length())));
            begins_.push_back(part.begin);
        }
    }

    void write(const std::vector<int64_t>& position) {
        const Node& node = of_.node();
        if (of_.reduction_.rescaled.is_given()) return write_rescaled(position);
        if (!is_argument(node.reducer)) {
            BodyCopy copy = fresh();
            NodeId value = copy.copy(of_.reduction_.node);
            return equation(0, conditional(copy, value), position);
        }
        BodyCopy best = fresh();
        NodeId term = best.copy(node.operands[0]);
        NodeId value = nodes_.reduce(value_reducer(node.reducer), nodes_.node(term).dtype, bound(best), term,
                                     of_.filtered() ? best.copy(node.operands[1]) : no_id);
        equation(0, conditional(best, value), position);
        BodyCopy number = fresh();
        NodeId global = global_number(number.copy(of_.reduction_.node));
        if (of_.filtered()) {
            BodyCopy some = fresh();
            NodeId passes = some.copy(node.operands[1]);
            NodeId any = nodes_.reduce(Reducer::any, DType::boolean, bound(some), passes, no_id);
            global = nodes_.select(any, global, nodes_.integer(-1, DType::int64, true));
            equation(2, conditional(some, any), position);
        }
        equation(1, conditional(number, global), position);
    }

private:
    // The sum by the part's own shift, and that shift. Without anything above -inf every term is exp(-inf): nothing.
    void write_rescaled(const std::vector<int64_t>& position) {
        BodyCopy copy = fresh();
        NodeId shift = of_.reduction_.rescaled.shift, own = copy.copy(shift);
        DType dtype = nodes_.node(own).dtype;
        NodeId lowest = nodes_.scalar(ScalarOp::equal, {own, nodes_.real(-HUGE_VAL, dtype, true)});
        copy.replace(shift, nodes_.select(lowest, nodes_.real(0, dtype, true), own));
        equation(0, copy.copy(of_.reduction_.node), position);
        equation(1, own, position);
    }

    // A copy with reduction variables of its own.
    BodyCopy fresh() {
        BodyCopy copy(of_.body_, nodes_, into_);
        std::map<VariableId, Range> parts;
        for (size_t i = 0; i < of_.body_.variables.size(); ++i) parts[VariableId(i)] = range_(VariableId(i));
        copy.restrict(std::move(parts));
        for (size_t i = 0; i < free_.size(); ++i) copy.bind(of_.reduction_.variables[i], free_[i], begins_[i]);
        for (const auto& [node, value] : stored_)
            if (!of_.reduction_.rescaled.is_given() || node != of_.reduction_.rescaled.maximum) copy.store(node, value);
        return copy;
    }

    VariableList bound(BodyCopy& copy) {
        VariableList list;
        for (VariableId id : of_.node().variables) list.push_back(copy.variable(id));
        return list;
    }

    NodeId conditional(BodyCopy& copy, NodeId value) {
        if (of_.reduction_.condition < 0) return value;
        DType dtype = nodes_.node(value).dtype;
        return nodes_.select(copy.copy(of_.reduction_.condition), value, nodes_.integer(0, dtype, true));
    }

    // The row-major number in the whole from that in the part.
    NodeId global_number(NodeId number) {
        NodeId result = nodes_.integer(0, DType::int64, true);
        const auto& variables = of_.node().variables;
        int64_t inner = 1, inner_part = 1;
        for (size_t i = variables.size(); i-- > 0;) {
            Range part = range_(variables[i]);
            auto literal = [&](int64_t value) { return nodes_.integer(value, DType::int64, true); };
            NodeId digit = nodes_.scalar(ScalarOp::floor_divide, {number, literal(inner_part)});
            if (i > 0) digit = nodes_.scalar(ScalarOp::modulo, {digit, literal(std::max<int64_t>(part.length(), 1))});
            NodeId own = plus(nodes_, digit, part.begin);
            result = nodes_.scalar(ScalarOp::add, {result, nodes_.scalar(ScalarOp::multiply, {own, literal(inner)})});
            inner *= of_.body_.variable(variables[i]).extent.value();
            inner_part *= std::max<int64_t>(part.length(), 1);
        }
        return result;
    }

    void equation(int32_t output, NodeId value, const std::vector<int64_t>& position) {
        BodyEquation made{output, free_, {}, value};
        for (int64_t part : position) made.left.push_back(nodes_.integer(part, DType::int64, true));
        for (size_t i = 0; i < free_.size(); ++i)
            made.left.push_back(plus(nodes_, nodes_.variable(free_[i]), begins_[i]));
        into_.equations.push_back(std::move(made));
    }

    const PartialResults& of_;
    Body& into_;
    BodyNodes nodes_;
    const std::function<Range(VariableId)>& range_;
    const std::vector<std::pair<NodeId, StoredValue>>& stored_;
    VariableList free_;  // index variables of the part
    std::vector<int64_t> begins_;
};

bool PartialResults::runs_scan(VariableId id) const {
    if (body_.variable(id).kind != Variable::Kind::ordered) return false;
    NodeList values{reduction_.node};
    if (reduction_.condition >= 0) values.push_back(reduction_.condition);
    const auto used = used_by(body_, std::move(values));
    for (size_t source = 0; source < used.size(); ++source) {
        const Node& node = body_.nodes[source];
        if (!used[source] || (node.kind != Node::Kind::local && node.kind != Node::Kind::previous)) continue;
        const Local& local = body_.local(node.local());
        if (local.is_state() && local.variables[0] == id) return true;
    }
    return false;
}

std::vector<std::pair<std::string, DType>> PartialResults::values() const {
    if (reduction_.rescaled.is_given())
        return {{"rescaled sum", node().dtype}, {"shift", body_.node(reduction_.rescaled.shift).dtype}};
    if (!is_argument(node().reducer)) return {{std::string(name(node().reducer)), node().dtype}};
    std::vector<std::pair<std::string, DType>> list{
        {std::string(name(value_reducer(node().reducer))), body_.node(node().operands[0]).dtype},
        {std::string(name(node().reducer)), DType::int64}};
    if (filtered()) list.emplace_back("any", DType::boolean);
    return list;
}

void PartialResults::write(Body& into, const std::vector<int64_t>& position,
                           const std::function<Range(VariableId)>& range,
                           const std::vector<std::pair<NodeId, StoredValue>>& stored) const {
    Part(*this, into, range, stored).write(position);
}

// sum * exp(own - whole); a part with the whole's own shift is as it is, also at an infinity.
NodeId PartialResults::rescaled_term(BodyNodes& nodes, BodyCopy& copy, NodeId sum, NodeId own) const {
    const Rescaled& rescaled = reduction_.rescaled;
    copy.store(rescaled.maximum, {TensorIndex(2), rescaled.variables});
    NodeId whole = copy.copy(rescaled.shift);
    DType dtype = nodes.node(whole).dtype;
    NodeId same = nodes.scalar(ScalarOp::equal, {own, whole});
    NodeId above = nodes.scalar(ScalarOp::not_equal, {whole, nodes.real(-HUGE_VAL, dtype, true)});
    NodeId factor = nodes.select(nodes.scalar(ScalarOp::logical_and, {same, above}), nodes.real(1, dtype, true),
                                 nodes.scalar(ScalarOp::exp, {nodes.scalar(ScalarOp::subtract, {own, whole})}));
    return nodes.scalar(ScalarOp::multiply, {sum, factor});
}

void PartialResults::write_combination(Body& into, const std::vector<int64_t>& counts,
                                       const std::map<VariableId, Range>& ranges, const BodyEquation* equation) const {
    BodyNodes nodes(into);
    BodyCopy copy(body_, nodes, into);
    NodeList coordinates;
    BodyEquation made;
    for (VariableId id : reduction_.variables) {
        const Range range = ranges.at(id);
        made.variables.push_back(copy.bind_part(id, Variable::Kind::index, range));
        coordinates.push_back(plus(nodes, nodes.variable(made.variables.back()), range.begin));
    }
    made.left = coordinates;
    if (equation) {
        made.left.clear();
        for (NodeId left : equation->left) made.left.push_back(copy.copy(left));
    }
    std::vector<std::pair<std::string, DType>> parts = values();
    auto parts_variables = [&] {
        VariableList list;
        for (int64_t count : counts) list.push_back(nodes.add_variable("part", Variable::Kind::reduction, count));
        return list;
    };
    auto value = [&](size_t part, std::span<const VariableId> at) {
        NodeList all;
        for (VariableId id : at) all.push_back(nodes.variable(id));
        all.insert(all.end(), coordinates.begin(), coordinates.end());
        return nodes.read(TensorIndex(part), parts[part].second, std::move(all));
    };
    VariableList over = parts_variables();
    if (!is_argument(node().reducer)) {
        NodeId term = value(0, over);
        if (reduction_.rescaled.is_given()) term = rescaled_term(nodes, copy, term, value(1, over));
        made.value = nodes.reduce(node().reducer, node().dtype, over, term, no_id);
    } else {
        DType dtype = parts[0].second;
        NodeId best = nodes.reduce(value_reducer(node().reducer), dtype, over, value(0, over),
                                   filtered() ? value(2, over) : no_id);
        VariableList among = parts_variables();
        NodeId own = value(0, among);
        NodeId wins = nodes.scalar(ScalarOp::equal, {own, best});
        if (is_float(dtype)) {
            NodeId both = nodes.scalar(ScalarOp::logical_and,
                                       {nodes.scalar(ScalarOp::is_nan, {own}), nodes.scalar(ScalarOp::is_nan, {best})});
            wins = nodes.scalar(ScalarOp::logical_or, {wins, both});
        }
        if (filtered()) wins = nodes.scalar(ScalarOp::logical_and, {wins, value(2, among)});
        made.value = nodes.reduce(Reducer::minimum, DType::int64, among, value(1, among), wins);
        if (filtered()) {
            const VariableList some = parts_variables();
            const NodeId any = nodes.reduce(Reducer::any, DType::boolean, some, value(2, some), no_id);
            made.value = nodes.select(any, made.value, nodes.integer(-1, DType::int64, true));
        }
    }
    into.equations.push_back(std::move(made));
}

}  // namespace heddle::sharding
