// Tokens of every text that Heddle reads but YAML and JSON: templates, and the text forms of systems, kernels, trees
// and plans. Comments run from `#` to the end of their line, texts stand between single quotes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct Token {
    // `name` is a word, `static_name` one behind `$` or `$.`, `index_name` one behind `@`.
    enum class Kind : uint8_t { end, integer, real, text, static_name, index_name, name, symbol, bad };
    enum class Problem : uint8_t { none, character, too_large, letter_after_number, unclosed_text };
    Kind kind = Kind::end;
    Problem problem = Problem::none;  // of a bad one
    bool begins_line = false;
    std::string text;     // without sigil (`@` or `$` alone: empty) or quotes; '' in quotes is one quote
    int64_t integer = 0;  // of 2^63 and above its bits; of a static name of digits their value
    double real = 0;      // of integers too
    size_t offset = 0;
    size_t length = 0;
    int line = 0;    // counted from 0
    int indent = 0;  // of its line, in columns

    bool is(std::string_view symbol) const { return kind == Kind::symbol && text == symbol; }
    bool is_word(std::string_view word) const { return kind == Kind::name && text == word; }
    // `$` and digits.
    bool is_numbered() const { return kind == Kind::static_name && !text.empty() && text[0] >= '0' && text[0] <= '9'; }
};

// Ends with one `end` token. What is no token is a `bad` one, and reading goes on behind it. `continued`: where a
// backslash ends a line, the next one is part of it.
std::vector<Token> tokens_of(std::string_view text, bool continued = false);

// Without these backslashes, the ends of their lines and the blanks at the beginning of the next ones.
std::string joined_lines(std::string_view text);

// Letters, digits and _, not beginning with a digit.
bool is_identifier(std::string_view text);

}  // namespace heddle
