// How tightly the constructs of an expression's text bind, in templates and in texts of bodies, systems and kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "support/lexer.h"

namespace heddle {

// Loosest first. What binds less than its place asks for stands in parentheses there.
enum class Precedence : uint8_t {
    selection,
    disjunction,
    conjunction,
    comparison,
    sum,
    product,
    unary,
    power,
    postfix
};

constexpr Precedence tighter(Precedence p) { return static_cast<Precedence>(static_cast<int>(p) + 1); }

// Of an operator between two operands; nothing if the symbol is none.
constexpr std::optional<Precedence> precedence_of(std::string_view symbol) {
    using enum Precedence;
    constexpr struct {
        std::string_view symbol;
        Precedence precedence;
    } operators[] = {{"||", disjunction}, {"&&", conjunction}, {"==", comparison}, {"!=", comparison},
                     {"<", comparison},   {"<=", comparison},  {">", comparison},  {">=", comparison},
                     {"+", sum},          {"-", sum},          {"*", product},     {"/", product},
                     {"//", product},     {"%", product},      {"^", power}};
    for (const auto& row : operators) {
        if (row.symbol == symbol) return row.precedence;
    }
    return std::nullopt;
}
inline bool is_operator(const Token& token, Precedence precedence) {
    return token.kind == Token::Kind::symbol && precedence_of(token.text) == precedence;
}

// What the operands of such an operator bind as at least. Comparisons do not chain, `^` is right associative with a
// unary on its right, all others are left associative.
constexpr Precedence left_of(Precedence p) {
    return p == Precedence::power || p == Precedence::comparison ? tighter(p) : p;
}
constexpr Precedence right_of(Precedence p) { return p == Precedence::power ? Precedence::unary : tighter(p); }

}  // namespace heddle
