#include "expr/expression.h"

#include <bit>

#include "support/intern_table.h"

namespace heddle::expr {
bool same_head(const Expression& a, const Expression& b) {
    return a.kind == b.kind && a.dtype == b.dtype && a.op == b.op && a.reducer == b.reducer && a.index == b.index &&
           a.integer.same_as(b.integer) && std::bit_cast<uint64_t>(a.real) == std::bit_cast<uint64_t>(b.real) &&
           a.from_template == b.from_template && a.operands.size() == b.operands.size() &&
           a.variables.size() == b.variables.size();
}

bool same(const Expression& a, const Expression& b) {
    return same_head(a, b) && a.operands == b.operands && a.variables == b.variables;
}

size_t hash_of(const Expression& expression) {
    size_t hash = mixed_hash(static_cast<size_t>(expression.kind), static_cast<size_t>(expression.dtype));
    hash = mixed_hash(hash, static_cast<size_t>(expression.op) * 16 + static_cast<size_t>(expression.reducer));
    hash = mixed_hash(hash, static_cast<size_t>(expression.index));
    hash = mixed_hash(hash, expression.integer.hash());
    hash = mixed_hash(hash, std::bit_cast<size_t>(expression.real));
    for (ExpressionId operand : expression.operands) hash = mixed_hash(hash, static_cast<size_t>(operand));
    for (VariableId variable : expression.variables) hash = mixed_hash(hash, static_cast<size_t>(variable));
    return mixed_hash(hash, expression.from_template ? 1 : 0);
}

}  // namespace heddle::expr
