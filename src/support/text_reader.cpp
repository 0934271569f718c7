#include "support/text_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "support/narrow_float.h"

namespace heddle {
namespace {

const char* summary_of(Token::Problem problem) {
    switch (problem) {
    case Token::Problem::none: return "the text does not follow the grammar";
    case Token::Problem::character: return "a character that no text form has";
    case Token::Problem::too_large: return "a number out of range";
    case Token::Problem::letter_after_number: return "a letter follows a number";
    case Token::Problem::unclosed_text: return "a text in quotes does not end";
    }
    return "";
}

}  // namespace

TextReader::TextReader(std::shared_ptr<const SourceText> source, const char* code, Lines lines)
    : source_(std::move(source)), code_(code), tokens_(tokens_of(source_->text(), true)) {
    if (lines == Lines::are_space) line_end_ = tokens_.size() - 1;
}

const Token& TextReader::peek(size_t ahead) const {
    return failed() || at_ + ahead >= line_end_ ? tokens_.back() : tokens_[at_ + ahead];
}

Token TextReader::next() {
    Token token = peek();
    if (!failed() && at_ < line_end_) at_++;
    return token;
}

bool TextReader::is(std::string_view text, size_t ahead) const {
    const Token& token = peek(ahead);
    return token.is(text) || token.is_word(text);
}

bool TextReader::take(std::string_view text) {
    if (!is(text)) return false;
    next();
    return true;
}

void TextReader::expect(std::string_view text) {
    if (!take(text)) error("'" + std::string(text) + "'");
}

std::string TextReader::word(const char* expected) {
    if (peek().kind == Token::Kind::name) return next().text;
    error(expected);
    return {};
}

std::string TextReader::text(const char* expected) {
    const auto bytes = at_text() ? without_escapes(peek().text) : std::nullopt;
    if (at_text() && !bytes) error("an escape \\xHH");
    if (!bytes) error(expected);
    next();
    return bytes.value_or("");
}

std::string TextReader::name(const char* expected) { return at_text() ? text(expected) : word(expected); }

int64_t TextReader::integer(const char* expected) {
    const bool negative = take("-");
    const auto value = digits(DType::int64, negative, peek());
    if (!value) error(expected);
    next();
    return value ? value->integer : 0;
}

int64_t TextReader::natural(const char* expected, int64_t most) {
    const Token& token = peek();
    if (token.kind == Token::Kind::integer && token.integer >= 0 && token.integer <= most) return next().integer;
    error(expected);
    return 0;
}

double TextReader::real(const char* expected) {
    const bool negative = take("-");
    const auto value = digits(DType::float64, negative, peek());
    if (!value) error(expected);
    next();
    return value ? value->real : 0;
}

bool TextReader::at_digits(size_t ahead) const {
    if (is("-", ahead))
        return peek(ahead + 1).kind == Token::Kind::integer || peek(ahead + 1).kind == Token::Kind::real ||
               is("inf", ahead + 1);
    const Token& token = peek(ahead);
    if (token.kind == Token::Kind::integer || token.kind == Token::Kind::real) return true;
    const bool word = is("inf", ahead) || is("nan", ahead) || is("true", ahead) || is("false", ahead);
    return word && !is("[", ahead + 1) && !is("(", ahead + 1);
}

bool TextReader::at_literal() const {
    if (at_digits(0)) return true;
    const bool typed = peek().kind == Token::Kind::name && is("(", 1) && dtype_named(peek().text);
    return typed && at_digits(2) && is(")", is("-", 2) ? 4 : 3);
}

Literal TextReader::literal() {
    if (peek().kind == Token::Kind::name && is("(", 1)) {
        const DType type = dtype();
        expect("(");
        const Literal result = literal_of(type);
        expect(")");
        return result;
    }
    const Token& token = peek(is("-") ? 1 : 0);
    if (token.kind == Token::Kind::integer) return literal_of(DType::int64);
    return literal_of(is("true") || is("false") ? DType::boolean : DType::float32);
}

Literal TextReader::literal_of(DType dtype) {
    const bool negative = take("-");
    const auto value = digits(dtype, negative, peek());
    if (!value) error("a literal of " + std::string(heddle::name(dtype)));
    next();
    return value.value_or(Literal{.dtype = dtype});
}

// What one token says as a number of `dtype`; nothing if it is none, or out of range.
std::optional<Literal> TextReader::digits(DType dtype, bool negative, const Token& token) const {
    Literal result{.dtype = dtype};
    const bool integer = token.kind == Token::Kind::integer;
    if (is_bool(dtype)) {
        result.integer = token.is_word("true");
        return !negative && (token.is_word("true") || token.is_word("false")) ? std::optional(result) : std::nullopt;
    }
    if (is_float(dtype)) {
        const bool word = token.is_word("inf") || token.is_word("nan");
        if (!word && !integer && token.kind != Token::Kind::real) return std::nullopt;
        result.real = word ? (token.is_word("inf") ? INFINITY : NAN) : token.real;
        if (dtype == DType::float32 && !token.text.empty() && std::isfinite(result.real)) {
            float once = 0;  // rounded once, not to a double first
            auto [end, status] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), once);
            if (status == std::errc{}) result.real = once;
        }
        result.real = rounded_to(dtype, negative ? -result.real : result.real);
        return result;
    }
    const int64_t value = negative ? static_cast<int64_t>(-static_cast<uint64_t>(token.integer)) : token.integer;
    result.integer = wrapped_to(dtype, value);
    const bool fits = dtype == DType::uint64 ? !negative || value == 0
                                             : result.integer == value && (value < 0) == (negative && value != 0);
    return integer && fits ? std::optional(result) : std::nullopt;
}

DType TextReader::dtype(bool complex) {
    const auto found = peek().kind == Token::Kind::name ? dtype_named(peek().text) : std::nullopt;
    if (!found || (is_complex(*found) && !complex)) error("a dtype");
    next();
    return found.value_or(DType::float32);
}

bool TextReader::next_line() {
    if (at_end()) return false;
    if (!at_line()) {
        error("the end of the line");
        return false;
    }
    indentation_ = tokens_[at_].indent;
    for (line_end_++; line_end_ + 1 < tokens_.size() && !tokens_[line_end_].begins_line;) line_end_++;
    return true;
}

Place TextReader::skip_block(int indentation) {
    auto start = [&] { return tokens_[at_].offset - (at_line() ? static_cast<size_t>(next_indentation()) : 0); };
    const size_t begin = start();
    while (!failed() && at_ + 1 < tokens_.size() && !(tokens_[at_].begins_line && next_indentation() <= indentation))
        at_++;
    line_end_ = at_;
    return {source_, begin, start() - begin};
}

void TextReader::error(const std::string& expected) {
    const Token& token = peek();
    error({.code = code_,
           .summary = summary_of(token.problem),
           .place = place(),
           .expected = expected,
           .found = at_line() ? "a new line"
                    : token.kind == Token::Kind::end
                        ? "the end of the text"
                        : "'" + std::string(source_->text().substr(token.offset, token.length)) + "'"});
}

void TextReader::error(Diagnostic diagnostic) {
    if (!failed()) error_ = std::move(diagnostic);
}

}  // namespace heddle
