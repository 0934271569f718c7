#include "language/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace heddle {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_character(char c) { return is_letter(c) || is_digit(c); }

// Longest first.
constexpr std::array<std::string_view, 36> symbols = {
    "...", "::", ":>", "??", "->", "&&", "||", "==", "!=", "<=", ">=", "=>", "//", "|", "-", "+", "*", "/",
    "%",   "^",  "<",  ">",  "!",  "?",  ":",  ",",  ".",  "[",  "]",  "(",  ")",  "{", "}", "=", "~", ";",
};

class Lexer {
public:
    Lexer(const Fragment& fragment, DiagnosticSink& sink) : fragment_(fragment), text_(fragment.text), sink_(sink) {}

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
        if (c == '$') {
            at_++;
            if (peek() == '.' && is_letter(peek(1))) at_++;
            return sigil(token, Token::Kind::static_name);
        }
        if (c == '@') {
            at_++;
            token.kind = Token::Kind::index_name;
            if (is_letter(peek())) token.text = word();
            return;
        }
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
        unknown_character(token);
    }

    void sigil(Token& token, Token::Kind kind) {
        if (!is_letter(peek())) {
            token.kind = Token::Kind::bad;
            report(token, "language.character", "a name must follow `$`", "write $name");
            return;
        }
        token.kind = kind;
        token.text = word();
    }

    void number(Token& token) {
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
        std::string_view digits = text_.substr(from, at_ - from);
        const char* last = digits.data() + digits.size();
        auto status = real ? std::from_chars(digits.data(), last, token.real).ec
                           : std::from_chars(digits.data(), last, token.integer).ec;
        token.kind = real ? Token::Kind::real : Token::Kind::integer;
        if (status != std::errc{}) {
            token.kind = Token::Kind::bad;
            report(token, "language.number", "this number is too large",
                   real ? "write inf, or a number that a double holds" : "integers have 64 bits");
        } else if (is_letter(peek())) {
            token.kind = Token::Kind::bad;
            const std::string rest = word();
            if (digits == "0" && (rest[0] == 'x' || rest[0] == 'X')) return hexadecimal(token, rest);
            report(token, "language.number", "a letter follows a number",
                   "names begin with a letter, and products are written with *");
        }
    }

    void hexadecimal(const Token& token, std::string_view word) {
        int64_t value = 0;
        const char* last = word.data() + word.size();
        const auto [stop, status] = std::from_chars(word.data() + 1, last, value, 16);
        report(token, "language.number", "numbers are written with decimal digits",
               stop == last && status == std::errc{} ? fmt::format("write {}", value) : "");
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
        token.kind = Token::Kind::bad;
        report(token, "language.unclosed_text", "this text has no closing quote", "close it with ' on the same line");
    }

    void unknown_character(Token& token) {
        token.kind = Token::Kind::bad;
        char c = peek();
        at_++;
        while (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) & 0xC0) == 0x80) at_++;
        std::string remedy;
        if (c == '&') remedy = "`and` is written &&";
        if (c == '"') remedy = "text is written in single quotes: 'text'";
        report(token, "language.character",
               fmt::format("`{}` is not part of the language", text_.substr(token.offset, at_ - token.offset)), remedy);
    }

    void report(const Token& token, const char* code, std::string summary, std::string remedy) {
        sink_.add({.code = code,
                   .summary = std::move(summary),
                   .place = fragment_.place(token.offset, at_ - token.offset),
                   .remedy = std::move(remedy)});
    }

    const Fragment& fragment_;
    std::string_view text_;
    DiagnosticSink& sink_;
    std::vector<Token> tokens_;
    size_t at_ = 0;
    size_t line_start_ = 0;
    int line_ = 0;
    int indent_ = 0;
    bool fresh_line_ = true;
};

}  // namespace

std::vector<Token> tokenize(const Fragment& fragment, DiagnosticSink& sink) { return Lexer(fragment, sink).run(); }

bool is_identifier(std::string_view text) {
    return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_word_character);
}

bool is_reserved(std::string_view word) {
    constexpr std::array<std::string_view, 12> words = {"let",  "for",   "scan", "from", "if",  "in",
                                                        "true", "false", "none", "inf",  "nan", "pi"};
    return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace heddle
