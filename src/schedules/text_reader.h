// Tokens of the text forms of kernels, trees and plans: lines with an indentation, words, numbers, punctuation.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "support/dtype.h"

namespace heddle::schedules {

struct Token {
    enum class Kind : uint8_t { word, integer, real, mark, string, line, end };
    Kind kind = Kind::end;
    std::string text;     // a line's: empty
    int64_t integer = 0;  // of a magnitude of 2^63 and above: its bits
    double real = 0;
    int indentation = 0;  // of a line: spaces before its first token
    size_t offset = 0, length = 0;
};

// A line token stands before each line that is not empty. Comments run from `//` to the end of a line. The first error
// stays; after it every token is the end.
class TextReader {
public:
    explicit TextReader(std::shared_ptr<const SourceText> source);

    const Token& peek(size_t ahead = 0) const;
    Token next();
    bool is(const std::string& text) const { return peek().text == text && peek().kind != Token::Kind::string; }
    bool take(const std::string& text);  // if it is next
    void expect(const std::string& text);
    std::string word(const char* expected);
    int64_t integer(const char* expected);  // with a sign before
    double real(const char* expected);      // an integer, a real, inf, -inf or nan
    // Kernels have reals only; the ends of a plan are of any dtype.
    DType dtype(bool complex = false);
    // What a name stands for.
    template <typename T>
    T named(const std::map<std::string, T>& table, const char* expected) {
        auto found = table.find(peek().text);
        if (found == table.end()) error(expected);
        next();
        return found == table.end() ? T{} : found->second;
    }
    // What stands between two brackets, with commas.
    template <typename Element>
    auto list(const char* open, const char* close, Element element) {
        std::vector<decltype(element())> result;
        expect(open);
        while (!failed() && !is(close)) {
            result.push_back(element());
            if (!take(",")) break;
        }
        expect(close);
        return result;
    }
    // Past the next line token; false at the end and after an error.
    bool next_line();
    int indentation() const { return indentation_; }  // of the line that next_line moved to
    bool at_line() const { return peek().kind == Token::Kind::line; }
    bool at_end() const { return peek().kind == Token::Kind::end; }
    // Moves to the next line that is indented no further than `indentation`; the whole lines before it.
    Place skip_block(int indentation);
    Place place() const { return {source_, peek().offset, peek().length}; }
    void error(const std::string& expected);
    bool failed() const { return error_.has_value(); }
    std::unexpected<Diagnostics> failure() const { return fail(*error_); }

private:
    void tokenize();
    std::shared_ptr<const SourceText> source_;
    std::vector<Token> tokens_;
    size_t at_ = 0;
    int indentation_ = 0;
    std::optional<Diagnostic> error_;
};

// Shortest text that reads back as the same double; "inf", "-inf", "nan" for those.
std::string real_text(double value);

}  // namespace heddle::schedules
