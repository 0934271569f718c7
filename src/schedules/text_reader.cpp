#include "schedules/text_reader.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "support/quoted_text.h"

namespace heddle::schedules {
namespace {

bool starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

TextReader::TextReader(std::shared_ptr<const SourceText> source) : source_(std::move(source)) { tokenize(); }

void TextReader::tokenize() {
    std::string_view text = source_->text();
    size_t i = 0;
    bool line_open = false;
    size_t line_start = 0;
    while (i < text.size()) {
        char c = text[i];
        if (c == '\n') {
            line_open = false;
            line_start = ++i;
            continue;
        }
        if (c == ' ' || c == '\r' || c == '\t') {
            i++;
            continue;
        }
        if (text.substr(i, 2) == "//") {
            while (i < text.size() && text[i] != '\n') i++;
            continue;
        }
        if (!line_open) {
            Token line;
            line.kind = Token::Kind::line;
            line.indentation = static_cast<int>(i - line_start);
            line.offset = i;
            tokens_.push_back(line);
            line_open = true;
        }
        Token token;
        token.offset = i;
        size_t end = i + 1;
        if (starts_word(c)) {
            token.kind = Token::Kind::word;
            while (end < text.size() && (starts_word(text[end]) || is_digit(text[end]))) end++;
        } else if (is_digit(c)) {
            token.kind = Token::Kind::integer;
            const char* first = text.data() + i;
            const char* last = text.data() + text.size();
            uint64_t magnitude = 0;
            auto whole = std::from_chars(first, last, magnitude);
            auto fraction = std::from_chars(first, last, token.real);
            token.integer = static_cast<int64_t>(magnitude);
            bool range = text.substr(static_cast<size_t>(whole.ptr - text.data()), 2) == "..";
            if (!range && fraction.ptr > whole.ptr) {
                token.kind = Token::Kind::real;
                end = static_cast<size_t>(fraction.ptr - text.data());
            } else {
                if (whole.ec != std::errc()) token.kind = Token::Kind::real;
                end = static_cast<size_t>(whole.ptr - text.data());
            }
        } else if (c == '"') {
            token.kind = Token::Kind::string;
            end = read_quoted_text(text, i, token.text);
            if (end == 0) {
                error_ = Diagnostic{.code = "schedules.syntax",
                                    .summary = "a text in quotes does not end, or has an unknown escape",
                                    .place = {source_, i, 1}};
                break;
            }
        } else {
            token.kind = Token::Kind::mark;
            if (text.substr(i, 2) == ".." || text.substr(i, 2) == "??") end = i + 2;
        }
        token.length = end - i;
        if (token.kind != Token::Kind::string) token.text = std::string(text.substr(i, end - i));
        tokens_.push_back(std::move(token));
        i = end;
    }
    Token last;
    last.offset = text.size();
    tokens_.push_back(last);
}

const Token& TextReader::peek(size_t ahead) const {
    if (error_ || at_ + ahead >= tokens_.size()) return tokens_.back();
    return tokens_[at_ + ahead];
}

Token TextReader::next() {
    Token token = peek();
    if (!error_ && at_ + 1 < tokens_.size()) at_++;
    return token;
}

bool TextReader::take(const std::string& text) {
    if (!is(text) || peek().kind == Token::Kind::line || peek().kind == Token::Kind::end) return false;
    next();
    return true;
}

void TextReader::expect(const std::string& text) {
    if (!take(text)) error("\"" + text + "\"");
}

std::string TextReader::word(const char* expected) {
    if (peek().kind == Token::Kind::word) return next().text;
    error(expected);
    return {};
}

int64_t TextReader::integer(const char* expected) {
    bool negative = take("-");
    if (peek().kind == Token::Kind::integer) {
        int64_t value = peek().integer;
        bool lowest = negative && value == std::numeric_limits<int64_t>::min();
        if (value >= 0 || lowest) {
            next();
            return negative && !lowest ? -value : value;
        }
    }
    error(expected);
    return 0;
}

double TextReader::real(const char* expected) {
    double sign = take("-") ? -1 : 1;
    if (peek().kind == Token::Kind::integer || peek().kind == Token::Kind::real) return sign * next().real;
    if (take("inf")) return sign * std::numeric_limits<double>::infinity();
    if (take("nan")) return std::numeric_limits<double>::quiet_NaN();
    error(expected);
    return 0;
}

DType TextReader::dtype(bool complex) {
    auto found = dtype_named(peek().text);
    if (!found || (is_complex(*found) && !complex)) error("a dtype");
    next();
    return found.value_or(DType::float32);
}

bool TextReader::next_line() {
    if (at_end()) return false;
    if (!at_line()) error("the end of the line");
    indentation_ = next().indentation;
    return !failed();
}

Place TextReader::skip_block(int indentation) {
    size_t begin = peek().offset;
    if (at_line()) begin -= static_cast<size_t>(peek().indentation);
    while (!at_end() && !(at_line() && peek().indentation <= indentation)) next();
    size_t end = peek().offset;
    if (at_line()) end -= static_cast<size_t>(peek().indentation);
    return {source_, begin, end - begin};
}

void TextReader::error(const std::string& expected) {
    if (error_) return;
    const Token& token = peek();
    Diagnostic diagnostic;
    diagnostic.code = "schedules.syntax";
    diagnostic.summary = "the text does not follow the grammar";
    diagnostic.place = {source_, token.offset, token.length};
    diagnostic.expected = expected;
    bool line = token.kind == Token::Kind::line;
    diagnostic.found = token.kind == Token::Kind::end ? "the end" : line ? "a new line" : "\"" + token.text + "\"";
    error_ = std::move(diagnostic);
}

std::string real_text(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char buffer[40];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
    return std::string(buffer, end.ptr);
}

}  // namespace heddle::schedules
