#include "graph/complex.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace heddle {
namespace {

using NodeKind = Node::Kind;

// A real value is in `whole`. `either`: as a function of the variable that runs over the last dimension, 0 for the real
// part and 1 for the imaginary one; only some values have one.
enum Part : uint8_t { whole, real, imaginary, either, parts };
constexpr std::array both = {real, imaginary};

class ComplexLowering {
public:
    explicit ComplexLowering(const Body& from) : from_(from), made_(from.nodes.size()), needed_(from.nodes.size()) {}

    Body run() {
        to_.variables = from_.variables;
        number_locals();
        find_separable();
        for (const BodyEquation& equation : from_.equations) {
            for (NodeId left : equation.left) need(left, whole);
            need_value(equation.value);
        }
        while (!open_.empty()) {
            const auto [id, part] = open_.back();
            open_.pop_back();
            need_operands(id, part);
        }
        const auto end = next_id<NodeId>(from_.nodes);
        for (NodeId id(0); id < end; ++id) {
            for (Part part : {whole, either}) {
                if (is_needed(id, part)) made(id, part) = lowered(id, part);
            }
            if (is_needed(id, real) || is_needed(id, imaginary)) lower_parts(id);
        }
        set_locals();
        for (const BodyEquation& equation : from_.equations) add_equation(equation);
        return std::move(to_);
    }

private:
    const Node& node(NodeId id) const { return from_.node(id); }
    bool is_complex(NodeId id) const { return heddle::is_complex(node(id).dtype); }
    NodeId& made(NodeId id, Part part) { return made_[static_cast<size_t>(id)][part]; }
    bool is_needed(NodeId id, Part part) const { return needed_[static_cast<size_t>(id)] >> part & 1; }

    // ---- what is needed
    // A real number that became complex by a cast: it counts as real.
    bool is_real(NodeId id) const { return node(id).kind == NodeKind::cast && !is_complex(node(id).operands[0]); }
    NodeId real_of(NodeId id) const { return node(id).operands[0]; }
    bool is_zero(NodeId id) const {
        const Node& number = node(id);
        if (number.kind == NodeKind::integer) return number.integer == 0;
        return number.kind == NodeKind::real && number.real == 0 && !std::signbit(number.real);
    }

    // Values whose parts are computed alike, each from nothing but the same part of operands and from reals.
    void find_separable() {
        separable_.assign(from_.nodes.size(), false);
        for (size_t i = 0; i < from_.nodes.size(); ++i) {
            const Node& n = from_.nodes[i];
            if (!heddle::is_complex(n.dtype)) continue;
            auto of = [&](size_t operand) { return bool(separable_[static_cast<size_t>(n.operands[operand])]); };
            switch (n.kind) {
            case NodeKind::read: separable_[i] = true; break;
            case NodeKind::guarded_read: separable_[i] = of(n.operands.size() - 1); break;
            case NodeKind::cast: separable_[i] = is_complex(n.operands[0]) ? of(0) : is_zero(n.operands[0]); break;
            case NodeKind::select: separable_[i] = of(1) && of(2); break;
            case NodeKind::reduce: separable_[i] = of(0); break;
            case NodeKind::scalar:
                if (n.op == ScalarOp::negate) separable_[i] = of(0);
                if (n.op == ScalarOp::add || n.op == ScalarOp::subtract) separable_[i] = of(0) && of(1);
                if (n.op == ScalarOp::multiply)
                    separable_[i] = (is_real(n.operands[1]) && !is_real(n.operands[0]) && of(0)) ||
                                    (is_real(n.operands[0]) && !is_real(n.operands[1]) && of(1));
                if (n.op == ScalarOp::divide)
                    separable_[i] = of(0) && is_real(n.operands[1]) && !is_real(n.operands[0]);
                break;
            default: break;
            }
        }
    }

    void need(NodeId id, Part part) {
        uint8_t& parts_needed = needed_[static_cast<size_t>(id)];
        if (parts_needed >> part & 1) return;
        parts_needed = static_cast<uint8_t>(parts_needed | 1 << part);
        open_.emplace_back(id, part);
    }
    void need_both(NodeId id) {
        if (!is_complex(id)) return need(id, whole);
        for (Part part : both) need(id, part);
    }
    void need_value(NodeId id) {
        if (is_complex(id) && separable_[static_cast<size_t>(id)]) return need(id, either);
        need_both(id);
    }

    // What node `id` takes of its operands to give `part` of itself. The parts of products, quotients and absolute
    // values share what they are computed from.
    void need_operands(NodeId id, Part part) {
        const Node& n = node(id);
        if (n.kind == NodeKind::local || n.kind == NodeKind::previous) {
            const Local& local = from_.local(n.local());
            need(local.value, part);
            if (local.is_state()) need(local.initial, part);
        }
        if (n.kind == NodeKind::scalar) return need_operands_of_scalar(n, part);
        for (NodeId operand : n.operands) {
            if (is_complex(operand))
                need(operand, part);
            else if (!(n.kind == NodeKind::cast && part == imaginary))
                need(operand, whole);
        }
    }

    void need_operands_of_scalar(const Node& n, Part part) {
        if (n.op == ScalarOp::real_part || n.op == ScalarOp::imaginary_part)
            return need(n.operands[0], n.op == ScalarOp::real_part ? real : imaginary);
        if (n.op == ScalarOp::complex) return need(n.operands[part == real ? 0 : 1], whole);
        const bool product = n.op == ScalarOp::multiply || n.op == ScalarOp::divide;
        for (NodeId operand : n.operands) {
            if (part == whole)
                need_both(operand);
            else if (product && is_real(operand))
                need(real_of(operand), whole);
            else if (product && !has_real_factor(n))
                need_both(operand);
            else
                need(operand, part);
        }
    }

    bool has_real_factor(const Node& n) const {
        return is_real(n.operands[1]) || (n.op == ScalarOp::multiply && is_real(n.operands[0]));
    }

    // ---- locals
    // A complex one is two: the imaginary part behind the real one.
    void number_locals() {
        for (const Local& local : from_.locals) {
            locals_.push_back(static_cast<int32_t>(to_.locals.size()));
            const bool two = heddle::is_complex(local.dtype);
            for (Part part : both) {
                if (part == imaginary && !two) continue;
                Local copy = local;
                copy.dtype = real_type(local.dtype);
                if (two) copy.name += part == real ? "_re" : "_im";
                to_.locals.push_back(std::move(copy));
            }
        }
    }

    void set_locals() {
        std::vector<bool> kept(to_.locals.size());
        for (size_t i = 0; i < from_.locals.size(); ++i) {
            const Local& local = from_.locals[i];
            const bool two = heddle::is_complex(local.dtype);
            for (Part part : both) {
                if (part == imaginary && !two) continue;
                const Part of = two ? part : whole;
                const auto number = static_cast<size_t>(locals_[i] + (part == imaginary));
                to_.locals[number].value = made(local.value, of);
                if (local.is_state()) to_.locals[number].initial = made(local.initial, of);
                kept[number] = is_needed(local.value, of) && (!local.is_state() || is_needed(local.initial, of));
            }
        }
        drop_locals(kept);
    }

    // Those that nothing reads have no value here.
    void drop_locals(const std::vector<bool>& kept) {
        std::vector<int32_t> now(kept.size(), -1);
        std::vector<Local> locals;
        for (size_t i = 0; i < kept.size(); ++i) {
            if (!kept[i]) continue;
            now[i] = static_cast<int32_t>(locals.size());
            locals.push_back(std::move(to_.locals[i]));
        }
        to_.locals = std::move(locals);
        for (Node& n : to_.nodes) {
            if (n.kind == NodeKind::local || n.kind == NodeKind::previous) n.index = now[static_cast<size_t>(n.index)];
        }
    }

    // ---- nodes
    NodeId add(Node made_node) {
        to_.nodes.push_back(std::move(made_node));
        return last_id<NodeId>(to_.nodes);
    }
    NodeId number(double value, DType dtype) {
        Node literal;
        literal.kind = NodeKind::real;
        literal.dtype = dtype;
        literal.real = value;
        return add(std::move(literal));
    }
    NodeId coordinate(Part part) {
        NodeId& known = coordinates_[part];
        if (known >= 0) return known;
        Node made_node;
        made_node.kind = part == either ? NodeKind::variable : NodeKind::integer;
        made_node.dtype = DType::int64;
        made_node.integer = part == imaginary ? 1 : 0;
        if (part == either) {
            made_node.index = static_cast<int32_t>(to_.variables.size());
            to_.variables.push_back({"part", Variable::Kind::parallel, 2});
            made_node.integer = 0;
        }
        return known = add(std::move(made_node));
    }
    NodeId scalar(ScalarOp op, std::vector<NodeId> operands) {
        Node made_node;
        made_node.kind = NodeKind::scalar;
        made_node.op = op;
        made_node.dtype = result_type(op, to_.node(operands[0]).dtype);
        made_node.operands = std::move(operands);
        return add(std::move(made_node));
    }
    NodeId select(NodeId condition, NodeId then, NodeId otherwise) {
        Node made_node;
        made_node.kind = NodeKind::select;
        made_node.dtype = to_.node(then).dtype;
        made_node.operands = {condition, then, otherwise};
        return add(std::move(made_node));
    }
    NodeId cast(NodeId operand, DType dtype) {
        if (to_.node(operand).dtype == dtype) return operand;
        Node made_node;
        made_node.kind = NodeKind::cast;
        made_node.dtype = dtype;
        made_node.operands = {operand};
        return add(std::move(made_node));
    }

    NodeId of(NodeId operand, Part part) { return made(operand, is_complex(operand) ? part : whole); }

    // A node that does not mix the parts of complex operands, or a real one.
    NodeId lowered(NodeId id, Part part) {
        const Node& n = node(id);
        if (part == whole && n.kind == NodeKind::scalar) return real_scalar(n);
        if (n.kind == NodeKind::cast && is_complex(id)) return cast_part(n, part);
        if (part == either && n.kind == NodeKind::scalar && is_product(n)) return scaled(n, part);
        Node copy = n;
        copy.dtype = real_type(n.dtype);
        for (NodeId& operand : copy.operands) operand = of(operand, part);
        if (is_complex(id)) {
            if (n.kind == NodeKind::read) copy.operands.push_back(coordinate(part));
            if (n.kind == NodeKind::guarded_read) copy.operands.insert(copy.operands.end() - 1, coordinate(part));
        }
        if (n.kind == NodeKind::local || n.kind == NodeKind::previous)
            copy.index = locals_[static_cast<size_t>(n.index)] + (part == imaginary);
        return add(std::move(copy));
    }

    static bool is_product(const Node& n) { return n.op == ScalarOp::multiply || n.op == ScalarOp::divide; }

    NodeId cast_part(const Node& n, Part part) {
        const DType dtype = real_type(n.dtype);
        if (is_complex(n.operands[0])) return cast(made(n.operands[0], part), dtype);
        return part == real ? cast(made(n.operands[0], whole), dtype) : number(0, dtype);
    }

    // By a real number.
    NodeId scaled(const Node& n, Part part) {
        const bool second = is_real(n.operands[1]);
        const NodeId factor = cast(made(real_of(n.operands[second ? 1 : 0]), whole), real_type(n.dtype));
        const NodeId value = n.operands[second ? 0 : 1];
        return scalar(n.op, {made(value, part), factor});
    }

    NodeId real_scalar(const Node& n) {
        if (!is_complex(n.operands[0])) {
            Node copy = n;
            for (NodeId& operand : copy.operands) operand = made(operand, whole);
            return add(std::move(copy));
        }
        const NodeId z = n.operands[0];
        switch (n.op) {
        case ScalarOp::real_part: return made(z, real);
        case ScalarOp::imaginary_part: return made(z, imaginary);
        case ScalarOp::absolute: return magnitude(made(z, real), made(z, imaginary));
        default: break;
        }
        const NodeId w = n.operands[1];
        const ScalarOp join = n.op == ScalarOp::equal ? ScalarOp::logical_and : ScalarOp::logical_or;
        return scalar(join, {scalar(n.op, {made(z, real), made(w, real)}),
                             scalar(n.op, {made(z, imaginary), made(w, imaginary)})});
    }

    // The greater part times a root between 1 and 2: no square overflows or vanishes. Infinite where a part is, zero
    // where both are. Of equal parts one is the greater and the other the lesser one, as adjoints need it.
    NodeId magnitude(NodeId re, NodeId im) {
        const DType dtype = to_.node(re).dtype;
        const NodeId a = scalar(ScalarOp::absolute, {re}), b = scalar(ScalarOp::absolute, {im});
        const NodeId first = scalar(ScalarOp::greater_equal, {a, b});
        const NodeId greater = select(first, a, b);
        const NodeId ratio = scalar(ScalarOp::divide, {select(first, b, a), greater});
        const NodeId root = scalar(
            ScalarOp::sqrt, {scalar(ScalarOp::add, {number(1, dtype), scalar(ScalarOp::multiply, {ratio, ratio})})});
        const NodeId infinite =
            scalar(ScalarOp::logical_or, {scalar(ScalarOp::is_infinite, {re}), scalar(ScalarOp::is_infinite, {im})});
        const NodeId zero = scalar(ScalarOp::equal, {greater, number(0, dtype)});
        const NodeId finite = select(zero, number(0, dtype), scalar(ScalarOp::multiply, {greater, root}));
        return select(infinite, number(std::numeric_limits<double>::infinity(), dtype), finite);
    }

    void lower_parts(NodeId id) {
        const Node& n = node(id);
        std::array<NodeId, 2> values;
        if (n.kind == NodeKind::scalar && is_product(n) && !has_real_factor(n)) {
            values = n.op == ScalarOp::multiply ? product(id) : quotient(id);
        } else {
            for (size_t i = 0; i < both.size(); ++i) {
                if (is_needed(id, both[i]))
                    values[i] = n.kind == NodeKind::scalar ? scalar_part(n, both[i]) : lowered(id, both[i]);
            }
        }
        for (size_t i = 0; i < both.size(); ++i) made(id, both[i]) = values[i];
    }

    NodeId scalar_part(const Node& n, Part part) {
        if (n.op == ScalarOp::complex) return made(n.operands[part == real ? 0 : 1], whole);
        if (n.op == ScalarOp::conjugate) {
            const NodeId value = made(n.operands[0], part);
            return part == real ? value : scalar(ScalarOp::negate, {value});
        }
        if (is_product(n) && is_real(n.operands[0]) && is_real(n.operands[1])) return real_product(n, part);
        if (is_product(n)) return scaled(n, part);
        std::vector<NodeId> operands;
        for (NodeId operand : n.operands) operands.push_back(made(operand, part));
        return scalar(n.op, std::move(operands));
    }

    // Of two real numbers.
    NodeId real_product(const Node& n, Part part) {
        const DType dtype = real_type(n.dtype);
        if (part == imaginary) return number(0, dtype);
        return scalar(
            n.op, {cast(made(real_of(n.operands[0]), whole), dtype), cast(made(real_of(n.operands[1]), whole), dtype)});
    }

    std::array<NodeId, 2> product(NodeId id) {
        const NodeId z = node(id).operands[0], w = node(id).operands[1];
        const NodeId a = made(z, real), b = made(z, imaginary), c = made(w, real), d = made(w, imaginary);
        std::array<NodeId, 2> values;
        auto times = [&](NodeId x, NodeId y) { return scalar(ScalarOp::multiply, {x, y}); };
        if (is_needed(id, real)) values[0] = scalar(ScalarOp::subtract, {times(a, c), times(b, d)});
        if (is_needed(id, imaginary)) values[1] = scalar(ScalarOp::add, {times(a, d), times(b, c)});
        return values;
    }

    // With r = d/c, or c/d where d is the greater: (a + br, b - ar) / (c + dr), or (ar + b, br - a) / (cr + d). By zero
    // the parts are divided by zero.
    std::array<NodeId, 2> quotient(NodeId id) {
        const NodeId z = node(id).operands[0], w = node(id).operands[1];
        const bool is_scalar = is_real(z);
        const DType dtype = real_type(node(id).dtype);
        const NodeId c = made(w, real), d = made(w, imaginary);
        const NodeId a = is_scalar ? cast(made(real_of(z), whole), dtype) : made(z, real);
        const NodeId b = is_scalar ? number(0, dtype) : made(z, imaginary);
        auto op = [&](ScalarOp of, NodeId x, NodeId y) { return scalar(of, {x, y}); };
        const NodeId first =
            op(ScalarOp::greater_equal, scalar(ScalarOp::absolute, {c}), scalar(ScalarOp::absolute, {d}));
        const NodeId greater = select(first, c, d), lesser = select(first, d, c);
        const NodeId zero = number(0, dtype);
        const NodeId ratio = select(op(ScalarOp::equal, greater, zero), zero, op(ScalarOp::divide, lesser, greater));
        const NodeId divisor = op(ScalarOp::add, greater, op(ScalarOp::multiply, lesser, ratio));
        const NodeId ar = op(ScalarOp::multiply, a, ratio), br = op(ScalarOp::multiply, b, ratio);
        std::array<NodeId, 2> values;
        if (is_needed(id, real)) {
            const NodeId over = select(first, op(ScalarOp::add, a, br), op(ScalarOp::add, ar, b));
            values[0] = op(ScalarOp::divide, over, divisor);
        }
        if (is_needed(id, imaginary)) {
            const NodeId over = select(first, op(ScalarOp::subtract, b, ar), op(ScalarOp::subtract, br, a));
            values[1] = op(ScalarOp::divide, over, divisor);
        }
        return values;
    }

    // ---- equations
    // One over both parts where they are computed alike, and else one for each.
    void add_equation(const BodyEquation& equation) {
        BodyEquation copy = equation;
        for (NodeId& left : copy.left) left = made(left, whole);
        if (!is_complex(equation.value)) {
            copy.value = made(equation.value, whole);
            to_.equations.push_back(std::move(copy));
            return;
        }
        const bool alike = separable_[static_cast<size_t>(equation.value)];
        for (Part part : alike ? std::vector<Part>{either} : std::vector<Part>{real, imaginary}) {
            BodyEquation one = copy;
            one.left.push_back(coordinate(part));
            if (alike) one.variables.push_back(to_.node(one.left.back()).variable());
            one.value = made(equation.value, part);
            to_.equations.push_back(std::move(one));
        }
    }

    const Body& from_;
    Body to_;
    std::vector<std::array<NodeId, parts>> made_;  // by node of `from_`
    std::vector<uint8_t> needed_;                  // bits, one a part
    std::vector<bool> separable_;
    std::vector<std::pair<NodeId, Part>> open_;
    std::vector<int32_t> locals_;
    std::array<NodeId, parts> coordinates_;
};

}  // namespace

TensorType stored_type(TensorType type) {
    if (!is_complex(type.dtype)) return type;
    type.dtype = real_type(type.dtype);
    type.shape.emplace_back(2);
    return type;
}

bool has_complex(const Body& body) {
    return std::ranges::any_of(body.nodes, [](const Node& node) { return is_complex(node.dtype); });
}

bool has_complex(const Graph& graph) {
    return std::ranges::any_of(graph.tensors, [](const Tensor& tensor) { return is_complex(tensor.type.dtype); }) ||
           std::ranges::any_of(graph.operations, [](const Operation& operation) {
               return operation.body && has_complex(*operation.body);
           });
}

Body lower_complex(const Body& body) { return ComplexLowering(body).run(); }

Graph lower_complex(const Graph& graph) {
    Graph result = graph;
    for (Operation& operation : result.operations) {
        if (operation.body && has_complex(*operation.body)) {
            operation.body = std::make_shared<const Body>(lower_complex(*operation.body));
            operation.gradient = nullptr;
        }
        auto extend = [&](std::vector<IndexProjection>& projections, const std::vector<TensorId>& tensors) {
            for (size_t i = 0; i < projections.size(); ++i) {
                if (!is_complex(graph.tensor(tensors[i]).type.dtype)) continue;
                IndexProjection& projection = projections[i];
                const auto axes =
                    std::ranges::count_if(operation.index, [](const IndexAxis& axis) { return !axis.extends(); });
                projection.projection.push_zeros(static_cast<size_t>(axes));
                projection.offset.push_back(0);
                projection.shape.push_back(2);
                if (!projection.whole.empty()) projection.whole.push_back(false);
            }
        };
        extend(operation.input_projections, operation.inputs);
        extend(operation.output_projections, operation.outputs);
    }
    for (Tensor& tensor : result.tensors) {
        if (!is_complex(tensor.type.dtype)) continue;
        tensor.type = stored_type(std::move(tensor.type));
        if (tensor.constant) tensor.constant = tensor.constant->reals();
        if (!tensor.start.empty()) tensor.start.push_back(0);
    }
    return result;
}

}  // namespace heddle
