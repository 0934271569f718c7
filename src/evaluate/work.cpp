#include "evaluate/work.h"

#include <fmt/format.h>

#include "evaluate/inversion.h"
#include "graph/verify.h"

namespace heddle {
namespace {

class WorkCounter {
public:
    explicit WorkCounter(const Body& body) : body_(body), free_(body), forms_(affine_forms(body)) {
        seen_.resize(body.nodes.size(), false);
        seen_locals_.resize(body.locals.size(), false);
    }

    double run() {
        for (const BodyEquation& equation : body_.equations) {
            work_ += points(equation.variables);
            need(equation.value);
        }
        while (!open_.empty()) {
            const NodeId id = open_.back();
            open_.pop_back();
            count(id);
        }
        return work_;
    }

private:
    void need(NodeId id) {
        if (seen_[static_cast<size_t>(id)]) return;
        seen_[static_cast<size_t>(id)] = true;
        open_.push_back(id);
    }

    template <typename Variables>
    double points(const Variables& variables) const {
        double product = 1;
        for (VariableId id : variables) product *= static_cast<double>(body_.variable(id).extent.value());
        return product;
    }

    void count(NodeId id) {
        const Node& node = body_.node(id);
        if (forms_[static_cast<size_t>(id)]) return;
        switch (node.kind) {
        case Node::Kind::integer:
        case Node::Kind::real:
        case Node::Kind::variable: return;
        case Node::Kind::reduce: return reduction(id);
        case Node::Kind::local:
        case Node::Kind::previous: local(node.index); break;
        default: break;
        }
        work_ += points(free_.list(id));
        for (NodeId operand : node.operands) need(operand);
    }

    void reduction(NodeId id) {
        const Node& node = body_.node(id);
        const auto inversion = evaluation::invert(body_, id, free_, forms_);
        work_ += points(node.variables) * points(inversion ? inversion->rows : free_.list(id));
        if (!inversion) {
            for (NodeId operand : node.operands) need(operand);
            return;
        }
        need(node.operands[0]);
        for (const auto& part : inversion->parts) need(part.value);
    }

    void local(int32_t index) {
        if (seen_locals_[static_cast<size_t>(index)]) return;
        seen_locals_[static_cast<size_t>(index)] = true;
        const Local& array = body_.locals[static_cast<size_t>(index)];
        work_ += points(array.variables) * points(free_.of_local(index));
        need(array.value);
        if (array.is_state()) need(array.initial);
    }

    const Body& body_;
    FreeVariables free_;
    std::vector<std::optional<AffineForm>> forms_;
    std::vector<bool> seen_, seen_locals_;
    std::vector<NodeId> open_;
    double work_ = 0;
};

}  // namespace

double scalar_operations(const Body& body) { return WorkCounter(body).run(); }

double scalar_operations(const Graph& graph) {
    double total = 0;
    for (const Operation& operation : graph.operations) {
        if (operation.body) total += scalar_operations(*operation.body);
    }
    return total;
}

Result<void> check_work(const Graph& graph, double limit, double share, const std::string& option) {
    double total = 0, most = 0;
    const Operation* largest = nullptr;
    for (const Operation& operation : graph.operations) {
        if (!operation.body) continue;
        const double work = scalar_operations(*operation.body);
        total += work;
        if (work > most) most = work, largest = &operation;
    }
    if (total <= limit * share) return {};
    return fail({.code = "evaluate.too_much_work",
                 .summary = fmt::format("this takes {:.2g} scalar operations", total),
                 .expected = fmt::format("at most {:.2g}", limit * share),
                 .found = fmt::format("{:.2g} for the operation '{}' alone", most, largest->name),
                 .reason = "sizes that a file claims may ask for years",
                 .remedy = fmt::format("if that is meant, raise the limit: {} {:.0e}", option, 2 * total / share),
                 .params = {{"operation", largest->name}}});
}

}  // namespace heddle
