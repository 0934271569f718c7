#include "language/lexer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace heddle {
namespace {

Complaint complaint(const Token& token, const Fragment& fragment) {
    const std::string_view spelling = std::string_view(fragment.text).substr(token.offset, token.length);
    Complaint complaint{.place = fragment.place(token.offset, token.length)};
    switch (token.problem) {
    case Token::Problem::none:
        complaint.code = "language.character";
        complaint.summary = "a name must follow `$`";
        complaint.remedy = "write $name";
        break;
    case Token::Problem::character:
        complaint.code = "language.character";
        complaint.summary = fmt::format("`{}` is not part of the language", spelling);
        if (spelling == "&") complaint.remedy = "`and` is written &&";
        if (spelling == "\"") complaint.remedy = "text is written in single quotes: 'text'";
        break;
    case Token::Problem::too_large:
        complaint.code = "language.number";
        complaint.summary = "this number is too large";
        complaint.remedy = spelling.find_first_of(".eE") == std::string_view::npos
                               ? "integers have 64 bits"
                               : "write inf, or a number that a double holds";
        break;
    case Token::Problem::letter_after_number:
        complaint.code = "language.number";
        complaint.summary = "a letter follows a number";
        complaint.remedy = "names begin with a letter, and products are written with *";
        if (spelling.starts_with("0x") || spelling.starts_with("0X")) {
            complaint.summary = "a hexadecimal number has the digits 0 to 9 and a to f";
            complaint.remedy = "write an integer, as in 0x00ff";
        }
        break;
    case Token::Problem::unclosed_text:
        complaint.code = "language.unclosed_text";
        complaint.summary = "this text has no closing quote";
        complaint.remedy = "close it with ' on the same line";
        break;
    }
    return complaint;
}

}  // namespace

std::vector<Token> tokenize(const Fragment& fragment, DiagnosticSink& sink) {
    std::vector<Token> tokens = tokens_of(fragment.text);
    for (Token& token : tokens) {
        // Integers are signed here, and a static name is no number.
        if (token.kind == Token::Kind::integer && token.integer < 0) token.problem = Token::Problem::too_large;
        const bool numbered = token.kind == Token::Kind::static_name && !is_identifier(token.text);
        if (token.problem != Token::Problem::none || numbered) {
            token.kind = Token::Kind::bad;
            sink.add(complaint(token, fragment));
        }
    }
    return tokens;
}

bool is_reserved(std::string_view word) {
    constexpr std::array<std::string_view, 12> words = {"let",  "for",   "scan", "from", "if",  "in",
                                                        "true", "false", "none", "inf",  "nan", "pi"};
    return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace heddle
