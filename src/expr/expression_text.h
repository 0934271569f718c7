// Expressions as text: in bodies in the notation of templates, in systems and kernels so that the text can be read back
// (docs/equations.md, "Text form").
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "expr/arena.h"
#include "support/precedence.h"

namespace heddle::expr {

// Writes expressions one by one, operands before users, so that nesting needs no recursion. What differs between bodies
// and arenas is here the names, and the kinds that one of them alone has.
class ExpressionSpeller {
protected:
    struct Text {
        std::string text;
        Precedence precedence = Precedence::postfix;
    };
    enum class Reader : uint8_t {
        person,  // parentheses where precedence asks for them, types as far as a template has them
        parser,  // all parentheses; data and types told apart (expr/expression_parse.h)
    };

    explicit ExpressionSpeller(Reader reader) : reader_(reader) {}
    ~ExpressionSpeller() = default;

    virtual const Expression& at(ExpressionId id) const = 0;
    virtual std::string variable_of(const Expression& e) const = 0;  // of a body, or an axis
    virtual std::string tensor(TensorIndex index) const = 0;
    virtual Text special(ExpressionId id) const = 0;  // of the kinds that do not stand everywhere

    Text spelled(ExpressionId id) const;  // of the operands' texts
    const std::string& text_of(ExpressionId id) const { return texts_.at(id).text; }
    std::string operand(const Expression& e, size_t number, Precedence least) const;
    std::string list(std::span<const ExpressionId> ids) const;  // with commas

    std::unordered_map<ExpressionId, Text> texts_;

private:
    Text joined(std::string text, Precedence precedence) const;
    Text literal(const Expression& e) const;
    Text scalar(const Expression& e) const;
    Text cast(const Expression& e) const;

    const Reader reader_;
};

// The texts of expressions that stand together, and the lets before them: what occurs twice has a name, so that the
// text of a graph is no longer than the graph. Operands of sums and other commutative nodes stand in an order that does
// not depend on when they were made: axes as they are given here, then by a hash of the structure.
class ExpressionPrinter : private ExpressionSpeller {
public:
    using AxisNames = std::vector<std::pair<AxisId, std::string>>;
    using TensorName = std::function<std::string(TensorIndex)>;
    ExpressionPrinter(const std::vector<Expr>& roots, AxisNames axes, TensorName tensor_name);

    const std::vector<std::string>& lets() const { return lets_; }  // "let $0 = ...", in order
    const std::string& text(Expr root) const { return text_of(root->id); }
    std::string list(std::span<const Expr> expressions) const;  // with commas

private:
    std::vector<Expr> postorder(const std::vector<Expr>& roots) const;
    std::vector<size_t> operand_order(Expr e) const;
    int rank(Expr axis) const;
    uint64_t hash_of(Expr e) const;
    void render(Expr e, bool shared);
    const Expression& at(ExpressionId id) const final { return *arena_->at(id); }
    std::string variable_of(const Expression& e) const final;
    std::string tensor(TensorIndex index) const final { return tensor_name_(index); }
    Text special(ExpressionId id) const final;
    std::string linear_text(Expr e) const;
    std::string conjunction_text(Expr e) const;

    const Arena* arena_;
    AxisNames axes_;
    TensorName tensor_name_;
    std::unordered_map<AxisId, int> ranks_;
    std::unordered_map<Expr, uint64_t> hashes_;
    std::unordered_map<Expr, int32_t> depths_;
    std::vector<std::string> lets_;
};

}  // namespace heddle::expr
