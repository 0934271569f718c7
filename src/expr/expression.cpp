#include "expr/expression.h"

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

std::vector<Expr> walk(Expr root) {
    std::vector<Expr> order;
    std::unordered_set<Expr> seen;
    std::vector<Expr> stack = {root};
    while (!stack.empty()) {
        Expr expression = stack.back();
        stack.pop_back();
        if (!seen.insert(expression).second) continue;
        order.push_back(expression);
        for (auto operand = expression->operands.rbegin(); operand != expression->operands.rend(); ++operand) {
            stack.push_back(*operand);
        }
    }
    return order;
}

}  // namespace heddle::expr
