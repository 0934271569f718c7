#include "equations/system_text_lexer.h"

#include <array>
#include <cctype>

#include "support/quoted_text.h"

namespace heddle::equations {
namespace {

constexpr std::array<std::string_view, 24> symbols = {"??", "//", "==", "!=", "<=", ">=", "&&", "||",
                                                      "+",  "-",  "*",  "/",  "%",  "<",  ">",  "=",
                                                      "?",  ":",  ",",  "(",  ")",  "[",  "]",  "."};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The end of the number that starts at `at`.
size_t number_end(std::string_view text, size_t at) {
    while (at < text.size() && is_digit(text[at])) at++;
    if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1])) {
        at++;
        while (at < text.size() && is_digit(text[at])) at++;
    }
    if (at < text.size() && text[at] == 'e') {
        size_t exponent = at + 1;
        if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) exponent++;
        if (exponent < text.size() && is_digit(text[exponent])) {
            at = exponent;
            while (at < text.size() && is_digit(text[at])) at++;
        }
    }
    return at;
}

}  // namespace

Result<std::vector<Token>> tokenise(const std::shared_ptr<const SourceText>& source) {
    const std::string_view text = source->text();
    std::vector<Token> tokens;
    auto bad = [&](size_t at, std::string summary) {
        return fail(Diagnostic{.code = "equations.syntax", .summary = std::move(summary), .place = {source, at, 1}});
    };
    size_t at = 0;
    while (at < text.size()) {
        const char c = text[at];
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            at++;
            continue;
        }
        if (c == '#') {
            while (at < text.size() && text[at] != '\n') at++;
            continue;
        }
        Token token;
        token.offset = at;
        if (c == '\'') {
            token.kind = Token::Kind::quoted_name;
            at = read_quoted_text(text, at, token.text);
            if (at == 0) return bad(token.offset, "a name in quotes does not end, or has an unknown escape");
        } else if (is_digit(c)) {
            token.kind = Token::Kind::number;
            at = number_end(text, at);
            token.text = text.substr(token.offset, at - token.offset);
        } else if (is_word(c) || c == '$') {
            token.kind = c == '$' ? Token::Kind::local : Token::Kind::name;
            for (at++; at < text.size() && is_word(text[at]); at++) {
            }
            token.text = text.substr(token.offset, at - token.offset);
        } else {
            token.kind = Token::Kind::symbol;
            for (std::string_view symbol : symbols) {
                if (text.substr(at).starts_with(symbol)) {
                    token.text = symbol;
                    break;
                }
            }
            if (token.text.empty()) return bad(at, "a character that no system's text has");
            at += token.text.size();
        }
        token.length = at - token.offset;
        tokens.push_back(std::move(token));
    }
    tokens.push_back({.kind = Token::Kind::end, .text = "", .offset = text.size(), .length = 0});
    return tokens;
}

}  // namespace heddle::equations
