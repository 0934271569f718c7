// Text of the language to tokens. Bare line ends are kept as line numbers and indentation: blocks need them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "language/fragment.h"

namespace heddle {

struct Token {
    enum class Kind : uint8_t { end, integer, real, text, static_name, index_name, name, symbol, bad };
    Kind kind = Kind::end;
    std::string text;  // a name without sigil (`@` alone: empty), a symbol, a literal text without quotes
    int64_t integer = 0;
    double real = 0;
    size_t offset = 0;  // in the fragment's text
    size_t length = 0;
    int line = 0;    // counted from 0 within the fragment
    int indent = 0;  // of its line, in columns
    bool begins_line = false;

    bool is(std::string_view symbol) const { return kind == Kind::symbol && text == symbol; }
    bool is_word(std::string_view word) const { return kind == Kind::name && text == word; }
};

// Ends with one `end` token. A character or number that is no token is reported and becomes a `bad` token, at which a
// parser stops without a second complaint.
std::vector<Token> tokenize(const Fragment& fragment, DiagnosticSink& sink);

// Letters, digits and _, not beginning with a digit.
bool is_identifier(std::string_view text);
// Words of the grammar, which name nothing: let for scan from if in true false none inf nan pi.
bool is_reserved(std::string_view word);

}  // namespace heddle
