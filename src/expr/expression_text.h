// Expressions as text, in one notation for systems and kernels (docs/equations.md, "Text form"). What occurs twice is
// named by a `let`, so that the text of a graph is no longer than the graph.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "expr/arena.h"

namespace heddle::expr {

// The texts of expressions that stand together, and the lets before them. Operands of sums and other commutative nodes
// stand in an order that does not depend on when they were made: axes as they are given here, then by a hash of the
// structure.
class ExpressionPrinter {
public:
    using AxisNames = std::vector<std::pair<AxisId, std::string>>;
    using TensorName = std::function<std::string(TensorIndex)>;
    ExpressionPrinter(const std::vector<Expr>& roots, AxisNames axes, TensorName tensor_name);

    const std::vector<std::string>& lets() const { return lets_; }  // "let $0 = ...", in order
    const std::string& text(Expr root) const { return texts_.at(root); }
    std::string list(std::span<const Expr> expressions) const;  // with commas

private:
    std::vector<Expr> postorder(const std::vector<Expr>& roots, bool sorted) const;
    std::vector<size_t> operand_order(Expr e) const;
    int rank(Expr axis) const;
    uint64_t hash_of(Expr e) const;
    void render(Expr e, bool shared);
    std::string text_of(Expr e) const;
    std::string linear_text(Expr e) const;
    std::string conjunction_text(Expr e) const;
    std::string scalar_text(Expr e) const;
    std::string cast_text(Expr e) const;

    AxisNames axes_;
    TensorName tensor_name_;
    std::unordered_map<AxisId, int> ranks_;
    std::unordered_map<Expr, uint64_t> hashes_;
    std::unordered_map<Expr, std::string> texts_;
    std::unordered_map<Expr, int32_t> depths_;
    std::vector<std::string> lets_;
};

}  // namespace heddle::expr
