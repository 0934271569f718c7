#include "expr/expression.h"

#include <algorithm>
#include <unordered_set>

namespace heddle::expr {

CoordinateForm linear_form(Expr coordinate) {
    CoordinateForm form;
    if (coordinate->kind == Kind::integer) {
        form.constant = coordinate->integer;
    } else if (coordinate->kind == Kind::linear) {
        form.constant = coordinate->integer;
        form.terms.reserve(coordinate->operands.size());
        for (size_t i = 0; i < coordinate->operands.size(); i++) {
            form.terms.emplace_back(coordinate->operands[i], coordinate->coefficients[i]);
        }
    } else {
        form.terms.emplace_back(coordinate, 1);
    }
    return form;
}

std::vector<Expr> walk(Expr root, Skipped skipped) {
    std::vector<Expr> order;
    std::unordered_set<Expr> seen;
    constexpr int32_t few = 64;  // are found sooner in the list itself
    auto is_new = [&](Expr e) {
        return root->nodes > few ? seen.insert(e).second : std::find(order.begin(), order.end(), e) == order.end();
    };
    std::vector<Expr> stack = {root};
    while (!stack.empty()) {
        Expr expression = stack.back();
        stack.pop_back();
        if (!is_new(expression)) continue;
        order.push_back(expression);
        const bool condition_only = expression->kind == Kind::select && skipped == Skipped::left_out;
        for (size_t i = condition_only ? 1 : expression->operands.size(); i-- > 0;) {
            stack.push_back(expression->operands[i]);
        }
    }
    return order;
}

}  // namespace heddle::expr
