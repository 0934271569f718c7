// What the parsers of the text forms (systems, kernels, trees, plans) share: tokens in turn, names, numbers, literals,
// lists, lines with their indentation, the first error.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "support/diagnostic.h"
#include "support/dtype.h"
#include "support/lexer.h"
#include "support/spelling.h"

namespace heddle {

// The first error stays; after it every token is the end. Where lines matter, every token behind the line that
// next_line moved to is the end too.
class TextReader {
public:
    enum class Lines : uint8_t { matter, are_space };
    // `code`: of the diagnostic for what does not follow the grammar.
    TextReader(std::shared_ptr<const SourceText> source, const char* code, Lines lines = Lines::matter);

    const Token& peek(size_t ahead = 0) const;
    Token next();
    bool is(std::string_view text, size_t ahead = 0) const;  // a symbol or a word
    bool take(std::string_view text);                        // if it is next
    void expect(std::string_view text);

    std::string word(const char* expected);
    std::string text(const char* expected);  // in quotes, without its escapes
    std::string name(const char* expected);  // a word or a text
    bool at_text() const { return peek().kind == Token::Kind::text; }
    int64_t integer(const char* expected);  // with a sign before
    int64_t natural(const char* expected, int64_t most = std::numeric_limits<int64_t>::max());
    double real(const char* expected);  // an integer, a real, inf, -inf or nan
    bool at_number() const { return peek().kind == Token::Kind::integer || is("-"); }
    // A word, digits or a typed literal is next, as spelling.h writes them.
    bool at_literal() const;
    Literal literal();
    Literal literal_of(DType dtype);  // digits alone
    // Kernels have reals only; the ends of a plan are of any dtype.
    DType dtype(bool complex = false);
    // What a name stands for.
    template <typename T>
    T named(const std::map<std::string, T>& table, const char* expected) {
        auto found = peek().kind == Token::Kind::name ? table.find(peek().text) : table.end();
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
    // What may hold its own kind, `deepest` times in itself at most.
    template <typename Read>
    auto nested(Read read) {
        if (++depth_ > deepest) error("what is nested less deeply");
        auto result = failed() ? std::decay_t<decltype(read())>{} : read();
        depth_--;
        return result;
    }

    // To the next line; false at the end and after an error.
    bool next_line();
    int indentation() const { return indentation_; }  // of the line that next_line moved to
    // Behind the last token of a line; how far the next one is indented.
    bool at_line() const { return !at_end() && at_ == line_end_; }
    int next_indentation() const { return tokens_[at_].indent; }
    bool at_end() const { return failed() || tokens_[at_].kind == Token::Kind::end; }
    // Moves to the next line that is indented no further than `indentation`; the whole lines before it.
    Place skip_block(int indentation);

    Place place() const { return place(tokens_[at_]); }
    Place place(const Token& token) const { return {source_, token.offset, std::max<size_t>(token.length, 1)}; }
    // The grammar wants something else here.
    void error(const std::string& expected);
    void error(Diagnostic diagnostic);
    bool failed() const { return error_.has_value(); }
    std::unexpected<Diagnostics> failure() const { return fail(*error_); }

private:
    static constexpr int deepest = 400;
    bool at_digits(size_t ahead) const;
    std::optional<Literal> digits(DType dtype, bool negative, const Token& token) const;

    const std::shared_ptr<const SourceText> source_;
    const char* code_;
    std::vector<Token> tokens_;
    size_t at_ = 0;
    size_t line_end_ = 0;  // the first token that is not of this line
    int indentation_ = 0;
    int depth_ = 0;
    std::optional<Diagnostic> error_;
};

}  // namespace heddle
