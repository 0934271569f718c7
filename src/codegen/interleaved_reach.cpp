#include "codegen/interleaved_reach.h"

#include <algorithm>
#include <utility>

namespace heddle::codegen {
namespace {

using namespace schedules;

// A load of lanes that are a number of elements apart that the text says.
bool lies_between_others(const Tree& tree, const Expression& e) {
    if (e.kind != Expression::Kind::load) return false;
    if (e.address.access != Access::strided) return e.address.access == Access::interleaved;
    return std::ranges::any_of(e.address.element.terms, [&](const Term& term) {
        return tree.variable(term.variable).kind == Variable::Kind::lane && term.number.is(1) &&
               is_row_of_neighbours(term.scale);
    });
}

class ReachFinder {
public:
    explicit ReachFinder(const Tree& tree)
        : tree_(tree), unrolled_(tree.variables.size()), seen_in_(tree.expressions.size()) {
        visit(tree.body);
    }
    std::vector<Reach> found() const;

private:
    // Loads with addresses that are alike but for literals.
    struct Alike {
        Address address;  // without what is literal
        std::vector<ExpressionId> guards;
        std::vector<ExpressionId> loads;
        std::optional<Reach> reach;
    };

    void visit(const Block& block);
    void visit(ExpressionId root);
    void load(ExpressionId id);
    bool is_sure(const Affine& element) const;

    const Tree& tree_;
    std::vector<int64_t> unrolled_;  // iterations that are written out, by variable
    std::vector<VariableId> loops_;  // around, inside of the lanes
    std::vector<Alike> all_;
    int statement_ = 0;
    std::vector<int> seen_in_;  // the last statement that each expression was seen in
};

// Loops that the address does not tell of may have no iteration.
bool ReachFinder::is_sure(const Affine& element) const {
    return std::ranges::all_of(loops_, [&](VariableId loop) {
        return std::ranges::find(element.terms, loop, &Term::variable) != element.terms.end();
    });
}

void ReachFinder::load(ExpressionId id) {
    const Expression& e = tree_.expression(id);
    Alike alike{e.address, e.operands, {id}, std::nullopt};
    Affine& element = alike.address.element;
    Reach reach;
    if (!element.constant.launch) {
        reach.first = reach.last = element.constant.value;
        element.constant = {};
    }
    std::erase_if(element.terms, [&](const Term& term) {
        const int64_t iterations = unrolled_[static_cast<size_t>(term.variable)];
        if (iterations == 0 || term.number.launch) return false;
        const int64_t farthest = (iterations - 1) * term.scale * term.number.value;
        (farthest < 0 ? reach.first : reach.last) += farthest;
        return true;
    });
    auto found = std::ranges::find_if(
        all_, [&](const Alike& a) { return a.address == alike.address && a.guards == alike.guards; });
    if (found == all_.end()) found = all_.insert(all_.end(), alike);
    if (std::ranges::find(found->loads, id) == found->loads.end()) found->loads.push_back(id);
    if (!is_sure(e.address.element)) return;
    if (!found->reach) found->reach = reach;
    found->reach = Reach{std::min(found->reach->first, reach.first), std::max(found->reach->last, reach.last)};
}

void ReachFinder::visit(ExpressionId root) {
    if (root < 0 || std::exchange(seen_in_[static_cast<size_t>(root)], statement_) == statement_) return;
    const Expression& e = tree_.expression(root);
    if (lies_between_others(tree_, e)) load(root);
    for (ExpressionId operand : e.operands) visit(operand);
    for (const auto& [value, factor] : e.affine.values) visit(value);
    for (const auto& [value, factor] : e.address.element.values) visit(value);
}

void ReachFinder::visit(const Block& block) {
    for (const Statement& statement : block) {
        statement_++;
        if (const auto* loop = std::get_if<For>(&statement.node)) {
            if (loop->unrolled > 0) unrolled_[static_cast<size_t>(loop->variable)] = loop->unrolled;
            if (loop->unrolled == 0) loops_.push_back(loop->variable);
            visit(loop->body);
            if (loop->unrolled == 0) loops_.pop_back();
        } else if (const auto* lanes = std::get_if<Lanes>(&statement.node)) {
            std::vector<VariableId> around;
            std::swap(around, loops_);
            visit(lanes->body);
            std::swap(around, loops_);
        } else if (const auto* update = std::get_if<Update>(&statement.node)) {
            for (ExpressionId value : {update->value, update->index, update->factor}) visit(value);
        } else if (const auto* define = std::get_if<Define>(&statement.node)) {
            visit(tree_.let(define->let).value);
        } else if (const auto* store = std::get_if<Store>(&statement.node)) {
            visit(store->value);
            for (ExpressionId beside : store->beside) visit(beside);
        } else {
            std::visit(
                [&](const auto& node) {
                    if constexpr (requires { node.body; }) visit(node.body);
                },
                statement.node);
        }
    }
}

std::vector<Reach> ReachFinder::found() const {
    std::vector<Reach> result(tree_.expressions.size());
    for (const Alike& alike : all_) {
        for (ExpressionId id : alike.loads) result[static_cast<size_t>(id)] = alike.reach.value_or(Reach{});
    }
    return result;
}

}  // namespace

std::vector<Reach> reaches(const Tree& tree) {
    if (std::ranges::none_of(tree.expressions, [&](const Expression& e) { return lies_between_others(tree, e); }))
        return {};
    return ReachFinder(tree).found();
}

}  // namespace heddle::codegen
