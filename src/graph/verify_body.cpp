// Checks of one body. Everything is checked before it is used: a body may come from a file.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "expr/check.h"
#include "graph/verify.h"
#include "zspace/checked.h"
#include "zspace/linear_equation.h"

namespace heddle {
namespace {

using std::string;

class BodyVerifier {
public:
    BodyVerifier(const Body& body, const std::vector<TensorType>& inputs, const std::vector<TensorType>& outputs)
        : body_(body), inputs_(inputs), outputs_(outputs) {}

    Result<void> run() {
        check_sizes();
        if (problems_.empty()) check_variables();
        if (problems_.empty()) check_states();
        if (problems_.empty()) {
            // Later checks rely on earlier nodes, so the first broken node is the last one looked at.
            for (size_t i = 0; i < body_.nodes.size() && problems_.empty(); i++) check_node(NodeId(i));
        }
        if (problems_.empty()) check_locals();
        if (problems_.empty()) check_scopes();
        if (problems_.empty()) check_cover();
        if (!problems_.empty()) return fail(std::move(problems_));
        return {};
    }

private:
    void problem(const char* code, string summary, string expected = {}, string found = {}) {
        Diagnostic diagnostic;
        diagnostic.code = code;
        diagnostic.summary = std::move(summary);
        diagnostic.expected = std::move(expected);
        diagnostic.found = std::move(found);
        problems_.push_back(std::move(diagnostic));
    }

    static bool is_dtype(DType dtype) { return static_cast<size_t>(dtype) < all_dtypes().size(); }

    template <typename List>
    static bool within(int64_t index, const List& list) {
        return index >= 0 && index < static_cast<int64_t>(list.size());
    }

    void check_sizes() {
        if (body_.variables.size() > maximum_body_variables) {
            problem("graph.limit", "a body has too many variables", fmt::format("at most {}", maximum_body_variables),
                    std::to_string(body_.variables.size()));
        }
        if (body_.nodes.size() > maximum_body_nodes ||
            (body_.variables.size() + 63) / 64 * body_.nodes.size() > (size_t{1} << 24)) {
            problem("graph.limit", "a body has too many nodes", fmt::format("at most {}", maximum_body_nodes),
                    std::to_string(body_.nodes.size()));
        }
    }

    void check_variables() {
        for (const Local& local : body_.locals) {
            if (!is_dtype(local.dtype))
                problem("graph.reference", fmt::format("local '{}' has an unknown type", local.name));
        }
        for (size_t i = 0; i < body_.variables.size(); i++) {
            const Variable& variable = body_.variables[i];
            if (variable.kind > Variable::Kind::ordered)
                problem("graph.scope", fmt::format("variable '{}' is of an unknown kind", variable.name));
            if (variable.extent < 0 || variable.extent > maximum_extent) {
                problem("graph.limit", fmt::format("the extent of variable '{}' is out of range", variable.name),
                        fmt::format("0 to {}", maximum_extent), std::to_string(variable.extent.number()));
            }
        }
    }

    // What other checks rely on: a state's variables and values exist.
    void check_states() {
        for (const Local& local : body_.locals) {
            if (!local.is_state()) continue;
            string where = fmt::format("state '{}'", local.name);
            bool sound = within(local.initial, body_.nodes) && within(local.value, body_.nodes);
            if (!sound) problem("graph.reference", where + " has no value, or no initial one");
            if (!check_domain(local.variables, false, where)) continue;
            if (local.variables.empty() || body_.variable(local.variables[0]).kind != Variable::Kind::ordered)
                problem("graph.scope", where + " has no ordered axis first");
        }
    }

    // A list of distinct variables, all (or none) of them bound by reductions, with a number of points that fits.
    bool check_domain(std::span<const VariableId> variables, bool reduced, const string& where) {
        std::set<VariableId> seen;
        Size points = 1;
        for (VariableId id : variables) {
            if (!within(id, body_.variables)) {
                problem("graph.reference", fmt::format("{} names a variable that does not exist", where), {},
                        std::to_string(id));
                return false;
            }
            const Variable& variable = body_.variable(id);
            if (!seen.insert(id).second) {
                problem("graph.scope", fmt::format("{} binds variable '{}' twice", where, variable.name));
                return false;
            }
            if ((variable.kind == Variable::Kind::reduction) != reduced) {
                problem("graph.scope", fmt::format("{} binds variable '{}' of another kind", where, variable.name),
                        reduced ? "a reduction variable" : "an index or parallel variable");
                return false;
            }
            auto product = checked_multiply(points, greater(variable.extent, 1));
            points = product.value_or(maximum_extent + 1);
            if (points > maximum_extent) {
                problem("graph.limit", fmt::format("{} has too many points", where),
                        fmt::format("at most {}", maximum_extent));
                return false;
            }
        }
        return true;
    }

    // Operands stand before their user, what is named exists; counts and types by kind (expr/check.h).
    void check_node(NodeId id) {
        const Node& node = body_.node(id);
        string where = fmt::format("node {}", id);
        if (node.kind > Node::Kind::reduce || !stands_in(node.kind, expr::Stage::body) ||
            node.op > ScalarOp::conjugate || node.reducer > Reducer::argument_maximum || !is_dtype(node.dtype)) {
            return problem("graph.reference", where + " has an unknown kind, operation, reducer or type");
        }
        InlineVector<DType, 8> types;
        for (NodeId operand : node.operands) {
            if (operand < 0 || operand >= id) {
                return problem("graph.order", where + " uses a node that does not stand before it", {},
                               std::to_string(operand));
            }
            types.push_back(body_.node(operand).dtype);
        }
        if (!names_something(node)) {
            return problem("graph.reference", where + " names something that the operation has not", {},
                           std::to_string(node.index));
        }
        if (const auto wrong = expr::misfit(node, types, expr::Stage::body, source_of(node))) {
            return problem(wrong->number ? "graph.arity" : "graph.type",
                           where + (wrong->number ? " has another number of operands than its kind asks for"
                                                  : " has operands or a result of the wrong type"),
                           wrong->expected, wrong->found);
        }
        if (node.kind == Node::Kind::local) check_order(id, node, where);
        if (node.kind == Node::Kind::reduce) check_domain(node.variables, true, where);
    }

    // A variable, input, local or state.
    bool names_something(const Node& node) const {
        if (node.kind == Node::Kind::variable) return within(node.index, body_.variables);
        if (node.is_read()) return within(node.index, inputs_);
        const bool previous = node.kind == Node::Kind::previous;
        if (node.kind != Node::Kind::local && !previous) return true;
        return within(node.index, body_.locals) && (!previous || local_of(node).is_state());
    }

    expr::Source source_of(const Node& node) const {
        if (node.is_read()) {
            const TensorType& input = inputs_[node.tensor()];
            return {input.dtype, input.shape.size()};
        }
        if (node.kind != Node::Kind::local && node.kind != Node::Kind::previous) return {};
        return {local_of(node).dtype, local_of(node).variables.size()};
    }

    const Local& local_of(const Node& node) const { return body_.local(node.local()); }

    void expect_type(NodeId id, DType wanted, const string& where) {
        const DType found = body_.node(id).dtype;
        if (found != wanted)
            problem("graph.type", where + " has a value of the wrong type", string(name(wanted)), string(name(found)));
    }

    void check_order(NodeId id, const Node& node, const string& where) {
        const Local& local = local_of(node);
        if (local.value < 0 || local.value >= id)
            problem("graph.order", fmt::format("{} reads local '{}' before its value", where, local.name));
        else if (!is_ready(id, node, local))
            problem("graph.order", fmt::format("{} reads state '{}' before its scan is done", where, local.name));
    }

    // A state is read at its scan's present step, or where all states of its scan have been computed.
    bool is_ready(NodeId id, const Node& node, const Local& local) const {
        if (!local.is_state()) return true;
        const Node& step = body_.node(node.operands[0]);
        bool present = step.kind == Node::Kind::scalar && step.op == ScalarOp::add &&
                       is_variable(step.operands[0], local.variables[0]) && is_one(step.operands[1]);
        return present || std::ranges::all_of(body_.locals, [&](const Local& other) {
                   return !other.is_state() || other.variables[0] != local.variables[0] ||
                          (other.value < id && other.initial < id);
               });
    }
    bool is_variable(NodeId id, VariableId variable) const {
        return body_.node(id).kind == Node::Kind::variable && body_.node(id).index == variable;
    }
    bool is_one(NodeId id) const { return body_.node(id).kind == Node::Kind::integer && body_.node(id).integer == 1; }

    void check_locals() {
        for (const Local& local : body_.locals) {
            string where = fmt::format("local '{}'", local.name);
            if (!within(local.value, body_.nodes)) {
                problem("graph.reference", where + " has no value", {}, std::to_string(local.value));
                continue;
            }
            expect_type(local.value, local.dtype, where);
            if (local.is_state()) expect_type(local.initial, local.dtype, where);
            if (!check_domain(local.variables, false, where)) continue;
            for (size_t i = local.is_state() ? 1 : 0; i < local.variables.size(); i++) {
                if (body_.variable(local.variables[i]).kind == Variable::Kind::ordered)
                    problem("graph.scope", where + " binds an ordered axis that is not its scan's");
            }
        }
    }

    void check_scopes() {
        FreeVariables free(body_);
        check_nesting(free);
        for (const Local& local : body_.locals) {
            if (!local.is_state()) continue;
            string where = fmt::format("state '{}'", local.name);
            check_free(free, local.value, local.variables, where);
            check_free(free, local.initial, {local.variables.begin() + 1, local.variables.end()}, where);
        }
        for (size_t i = 0; i < body_.equations.size() && problems_.empty(); i++) {
            const BodyEquation& equation = body_.equations[i];
            string where = fmt::format("equation {}", i);
            if (!within(equation.output, outputs_)) {
                problem("graph.reference", where + " writes an output that the operation has not", {},
                        std::to_string(equation.output));
                continue;
            }
            const TensorType& output = outputs_[static_cast<size_t>(equation.output)];
            if (equation.left.size() != output.shape.size()) {
                problem("graph.arity", where + " has another number of coordinates than its output dimensions",
                        std::to_string(output.shape.size()), std::to_string(equation.left.size()));
                continue;
            }
            if (!within(equation.value, body_.nodes)) {
                problem("graph.reference", where + " has no value", {}, std::to_string(equation.value));
                continue;
            }
            if (!check_domain(equation.variables, false, where)) continue;
            expect_type(equation.value, output.dtype, where);
            check_free(free, equation.value, equation.variables, where);
            for (NodeId left : equation.left) {
                if (!within(left, body_.nodes)) {
                    problem("graph.reference", where + " has a coordinate that does not exist", {},
                            std::to_string(left));
                } else {
                    check_free(free, left, equation.variables, where);
                }
            }
        }
    }

    void check_free(const FreeVariables& free, NodeId node, std::span<const VariableId> bound, const string& where) {
        for (VariableId id : free.list(node)) {
            if (std::ranges::find(bound, id) != bound.end()) continue;
            return problem("graph.scope", fmt::format("{} uses variable '{}', which it does not bind", where,
                                                      body_.variable(id).name));
        }
    }

    // Reductions that depend on the variables of reductions around them, and those on further ones: loops in loops.
    void check_nesting(const FreeVariables& free) {
        std::vector<int> depth(body_.nodes.size(), 0);
        for (size_t i = 0; i < body_.nodes.size(); i++) {
            const Node& node = body_.nodes[i];
            for (NodeId operand : node.operands) {
                auto below = static_cast<size_t>(operand);
                // A value that does not depend on the reduction's variables is computed outside of it.
                bool inside = node.kind != Node::Kind::reduce || free.meets(operand, node.variables);
                if (inside) depth[i] = std::max(depth[i], depth[below]);
            }
            if (node.kind == Node::Kind::reduce && ++depth[i] > maximum_reduction_nesting) {
                return problem("graph.limit", fmt::format("node {} is a reduction in too many others", i),
                               fmt::format("at most {}", maximum_reduction_nesting));
            }
        }
    }

    void check_cover() {
        auto forms = affine_forms(body_);
        for (size_t i = 0; i < body_.equations.size(); i++) {
            const BodyEquation& equation = body_.equations[i];
            const bool empty = std::ranges::any_of(
                equation.variables, [&](VariableId id) { return body_.variable(id).extent == 0; });
            std::set<VariableId> covered;
            for (size_t dimension = 0; dimension < equation.left.size(); dimension++) {
                const auto& form = forms[static_cast<size_t>(equation.left[dimension])];
                if (!form) {
                    return problem("graph.cover",
                                   fmt::format("coordinate {} of equation {} is not affine", dimension, i));
                }
                if (!empty && !check_radix(*form, covered)) {
                    return problem(
                        "graph.cover",
                        fmt::format("coordinate {} of equation {} is not mixed radix in its variables", dimension, i),
                        "coefficients 1, then the product of the extents so far; each variable in one coordinate");
                }
            }
            for (VariableId id : equation.variables) {
                if (empty || body_.variable(id).extent <= 1 || covered.contains(id)) continue;
                return problem("graph.cover",
                               fmt::format("equation {} has variable '{}', which its left side does not use", i,
                                           body_.variable(id).name));
            }
        }
        check_boxes();
    }

    bool check_radix(const AffineForm& form, std::set<VariableId>& covered) const {
        RadixDigits<VariableId> digits;
        for (auto [variable, coefficient] : form.terms) {
            const Size& extent = body_.variable(variable).extent;
            if (extent > 1) digits.push_back({variable, coefficient, extent});
            if (extent > 1 && !covered.insert(variable).second) return false;
        }
        return mixed_radix(std::move(digits)).fits();
    }

    void check_boxes() {
        for (const auto& [number, box] : written_boxes(body_)) {
            const TensorType& output = outputs_[static_cast<size_t>(number)];
            for (size_t d = 0; d < box.rank(); d++) {
                if (box.start[d] >= 0 && box.end[d] <= output.shape[d]) continue;
                return problem("graph.cover",
                               fmt::format("an equation writes outside of output {} in dimension {}", number, d),
                               fmt::format("within [0, {})", output.shape[d].number()),
                               fmt::format("[{}, {})", box.start[d].number(), box.end[d].number()));
            }
        }
    }

    const Body& body_;
    const std::vector<TensorType>& inputs_;
    const std::vector<TensorType>& outputs_;
    Diagnostics problems_;
};

}  // namespace

Result<void> verify(const Body& body, const std::vector<TensorType>& inputs, const std::vector<TensorType>& outputs) {
    return BodyVerifier(body, inputs, outputs).run();
}

}  // namespace heddle
