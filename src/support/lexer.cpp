#include "support/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace heddle {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_character(char c) { return is_letter(c) || is_digit(c); }

// Longest first.
constexpr std::array<std::string_view, 37> symbols = {
    "...", "..", "::", ":>", "??", "->", "&&", "||", "==", "!=", "<=", ">=", "=>", "//", "|", "-", "+", "*", "/",
    "%",   "^",  "<",  ">",  "!",  "?",  ":",  ",",  ".",  "[",  "]",  "(",  ")",  "{",  "}", "=", "~", ";",
};

class Lexer {
public:
    Lexer(std::string_view text, bool continued) : text_(text), continued_(continued) {}

    std::vector<Token> run() {
        while (skip_blanks()) {
            Token& token = begin();
            read(token);
            token.length = at_ - token.offset;
        }
        Token& last = begin();
        last.kind = Token::Kind::end;
        return std::move(tokens_);
    }

private:
    char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

    // To the next token; false at the end.
    bool skip_blanks() {
        for (; at_ < text_.size(); at_++) {
            char c = text_[at_];
            if (c == '\n') {
                line_++;
                line_start_ = at_ + 1;
                fresh_line_ = true;
            } else if (continued_ && c == '\\' && peek(1) == '\n') {
                line_++;
                at_++;
            } else if (c == '#') {
                while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') at_++;
            } else if (c != ' ' && c != '\t' && c != '\r') {
                return true;
            }
        }
        return false;
    }

    Token& begin() {
        if (fresh_line_) indent_ = static_cast<int>(std::min<size_t>(at_ - line_start_, 1U << 20));
        Token token;
        token.offset = at_;
        token.line = line_;
        token.indent = indent_;
        token.begins_line = fresh_line_;
        fresh_line_ = false;
        tokens_.push_back(std::move(token));
        return tokens_.back();
    }

    std::string word() {
        size_t from = at_;
        while (is_word_character(peek())) at_++;
        return std::string(text_.substr(from, at_ - from));
    }

    void read(Token& token) {
        char c = peek();
        if (is_digit(c)) return number(token);
        if (c == '\'') return quoted(token);
        if (c == '$' || c == '@') return sigil(token);
        if (is_letter(c)) {
            token.kind = Token::Kind::name;
            token.text = word();
            return;
        }
        for (std::string_view symbol : symbols) {
            if (symbol[0] == c && text_.substr(at_).starts_with(symbol)) {
                at_ += symbol.size();
                token.kind = Token::Kind::symbol;
                token.text = symbol;
                return;
            }
        }
        bad(token, Token::Problem::character);
        at_++;
        while (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) & 0xC0) == 0x80) at_++;
    }

    static void bad(Token& token, Token::Problem problem) {
        token.kind = Token::Kind::bad;
        token.problem = problem;
    }

    void sigil(Token& token) {
        const bool index = text_[at_++] == '@';
        token.kind = index ? Token::Kind::index_name : Token::Kind::static_name;
        if (!index && peek() == '.' && is_letter(peek(1))) at_++;
        if (is_letter(peek()) || (!index && is_digit(peek()))) token.text = word();
        if (token.text.empty() || !is_digit(token.text[0])) return;
        const char* last = token.text.data() + token.text.size();
        auto [end, status] = std::from_chars(token.text.data(), last, token.integer);
        if (status != std::errc{}) bad(token, Token::Problem::too_large);
        if (end != last) bad(token, Token::Problem::letter_after_number);
    }

    static bool is_hexadecimal(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

    // 0x00ff: an integer of 64 bits.
    void hexadecimal(Token& token) {
        const size_t from = at_;
        at_ += 2;
        while (is_hexadecimal(peek())) at_++;
        token.text = text_.substr(from, at_ - from);
        token.kind = Token::Kind::integer;
        uint64_t magnitude = 0;
        const char* last = token.text.data() + token.text.size();
        const bool fits = std::from_chars(token.text.data() + 2, last, magnitude, 16).ec == std::errc{};
        token.integer = static_cast<int64_t>(magnitude);
        token.real = static_cast<double>(magnitude);
        if (!fits) return bad(token, Token::Problem::too_large);
        if (!is_letter(peek()) && peek() != '.') return;
        while (is_word_character(peek()) || peek() == '.') at_++;
        bad(token, Token::Problem::letter_after_number);
    }

    void number(Token& token) {
        if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X') && is_hexadecimal(peek(2))) return hexadecimal(token);
        size_t from = at_;
        bool real = false;
        while (is_digit(peek())) at_++;
        if (peek() == '.' && is_digit(peek(1))) {
            real = true;
            at_++;
            while (is_digit(peek())) at_++;
        }
        size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
        if ((peek() == 'e' || peek() == 'E') && is_digit(peek(1 + sign))) {
            real = true;
            at_ += 1 + sign;
            while (is_digit(peek())) at_++;
        }
        token.text = text_.substr(from, at_ - from);
        token.kind = real ? Token::Kind::real : Token::Kind::integer;
        const char *first = token.text.data(), *last = first + token.text.size();
        uint64_t magnitude = 0;
        bool fits = std::from_chars(first, last, token.real).ec == std::errc{};
        if (!real) fits = std::from_chars(first, last, magnitude).ec == std::errc{};
        token.integer = static_cast<int64_t>(magnitude);
        if (!fits) {
            bad(token, Token::Problem::too_large);
        } else if (is_letter(peek())) {
            word();
            bad(token, Token::Problem::letter_after_number);
        }
    }

    void quoted(Token& token) {
        at_++;
        for (; at_ < text_.size() && peek() != '\n'; at_++) {
            if (peek() == '\'') {
                if (peek(1) != '\'') {
                    at_++;
                    token.kind = Token::Kind::text;
                    return;
                }
                at_++;
            }
            token.text += peek();
        }
        bad(token, Token::Problem::unclosed_text);
    }

    std::string_view text_;
    bool continued_;
    std::vector<Token> tokens_;
    size_t at_ = 0;
    size_t line_start_ = 0;
    int line_ = 0;
    int indent_ = 0;
    bool fresh_line_ = true;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text, bool continued) { return Lexer(text, continued).run(); }

std::string joined_lines(std::string_view text) {
    std::string joined;
    for (size_t i = 0; i < text.size(); i++) {
        if (text.substr(i).starts_with("\\\n"))
            i = std::min(text.find_first_not_of(' ', i + 2), text.size()) - 1;
        else
            joined += text[i];
    }
    return joined;
}

bool is_identifier(std::string_view text) {
    return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_word_character);
}

}  // namespace heddle
