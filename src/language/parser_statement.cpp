#include <algorithm>

#include <fmt/format.h>

#include "language/parser.h"

namespace heddle {

using Kind = Syntax::Kind;

// ---------------------------------------------------------------- one statement

SyntaxPointer Parser::statement() {
    SyntaxPointer made = at_word("let") ? let_statement() : equation();
    expect_end();
    return made;
}

SyntaxPointer Parser::let_statement() {
    Token first = take();
    auto made = make(Kind::let, first);
    Token name = take_name("a name after `let`");
    made->text = name.text;
    made->mark = place(name);
    if (accept("[")) {
        made->generators = generators_below();
        expect("]");
    }
    const Token equals = peek();
    expect("=");
    if (at_end()) {
        fail(place(equals), "language.syntax", "a let has one value, and a block has none",
             "put its lets before it, or into a function of the file, as in let: f(v) = let q = v * 2; q + 1");
    }
    made->value = expression();
    return finish(made, first);
}

std::vector<SyntaxPointer> Parser::left_coordinates() {
    std::vector<SyntaxPointer> coordinates;
    expect("[");
    while (!at("]")) {
        Token first = peek();
        if (first.kind == Token::Kind::name && peek(1).is("<")) {
            auto made = make(Kind::binder, first);
            made->text = take_name("a variable's name").text;
            expect("<");
            made->children.push_back(sum());
            coordinates.push_back(finish(made, first));
        } else {
            coordinates.push_back(element());
        }
        if (!accept(",")) break;
    }
    expect("]");
    return coordinates;
}

SyntaxPointer Parser::equation() {
    Token first = peek();
    bool foreign = first.is_word("elif") || first.is_word("else") || first.is_word("while");
    if (first.is_word("if") || (foreign && !peek(1).is("=") && !peek(1).is("["))) {
        fail(place(first), "language.syntax", fmt::format("a body has no statement `{}`", first.text),
             first.is_word("while") ? "steps that need the step before are a scan: scan t < $n:"
                                    : "write a choice of values: y = x > 0 ? x : 0");
    }
    auto made = make(Kind::equation, first);
    made->text = take_name("a statement").text;
    if (at("[")) {
        made->has_left = true;
        made->children = left_coordinates();
    }
    if (at("[")) {
        if (made->children.size() != 1) {
            fail(place_since(first), "language.syntax", "one value picks a tensor of a variadic output",
                 "write output[$i][coordinates] = value");
        }
        made->pick = made->children[0];
        made->children = left_coordinates();
    }
    if ((at("+") || at("-") || at("*") || at("/")) && peek(1).is("=")) {
        fail(place(peek()), "language.syntax", fmt::format("`{}=`: nothing is written twice", peek().text),
             "what a loop adds up is a reduction, as in y = sum(k < $n : x[k]); steps that need the step before are a scan, "
             "s[t] = s[t - 1] + x[t] from 0");
    }
    if (!at("=") && !made->has_left) {
        fail_expected("`[` or `=` after a name");
    }
    expect("=");
    made->value = expression();
    if (at_word("from")) {
        take();
        made->initial = expression();
    }
    return finish(made, first);
}

SyntaxPointer Parser::assignment() {
    Token first = peek();
    auto made = make(Kind::assignment, first);
    do {
        Token name = take_name("a result's name");
        auto target = make(Kind::name, name);
        target->text = name.text;
        made->children.push_back(finish(target, name));
    } while (accept(","));
    expect("=");
    made->value = expression();
    expect_end();
    return finish(made, first);
}

Parser::StaticAssignment Parser::static_let() {
    StaticAssignment made;
    Token name = peek();
    if (name.kind != Token::Kind::static_name) fail_expected("`$name = expression`");
    take();
    made.name = name.text;
    made.place = place(name);
    expect("=");
    made.value = expression();
    expect_end();
    return made;
}

Parser::StaticAssignment Parser::function_let() {
    StaticAssignment made;
    Token name = take_name("`name(parameters) = expression`");
    made.name = name.text;
    made.place = place(name);
    expect("(");
    while (!at(")")) {
        Token parameter = take_name("a parameter's name");
        if (std::find(made.parameters.begin(), made.parameters.end(), parameter.text) != made.parameters.end()) {
            fail(place(parameter), "language.duplicate_name",
                 fmt::format("two parameters are named `{}`", parameter.text), "rename one of them");
        }
        made.parameters.push_back(parameter.text);
        if (!accept(",")) break;
    }
    expect(")");
    expect("=");
    if (at_word("let") || at_end()) return made;  // the value is in the lines that follow
    made.value = expression();
    made.neutral = neutral();
    return made;
}

SyntaxPointer Parser::neutral() {
    if (!at_word("from")) return nullptr;
    take();
    return expression();
}

// ---------------------------------------------------------------- blocks

namespace {

// One statement's tokens with an `end` behind them.
struct Line {
    int indent = 0;
    std::vector<Token> tokens;
    bool opens_block = false;  // for ...:  scan ...:
    const Token& first() const { return tokens.front(); }
};

bool opens_block(const Line& line) {
    return (line.first().is_word("for") || line.first().is_word("scan")) && line.tokens.back().is(":");
}

int bracket_step(const Token& token) {
    if (token.is("(") || token.is("[") || token.is("{")) return 1;
    return token.is(")") || token.is("]") || token.is("}") ? -1 : 0;
}

// Splits at line ends and `;`; a deeper indent or an open bracket continues a line.
std::vector<Line> logical_lines(std::vector<Token> tokens) {
    std::vector<Line> lines;
    Line current;
    int depth = 0;
    auto flush = [&] {
        if (current.tokens.empty()) return;
        current.opens_block = opens_block(current);
        Token end;
        end.offset = current.tokens.back().offset + current.tokens.back().length;
        current.tokens.push_back(end);
        lines.push_back(std::move(current));
        current = {};
    };
    for (Token& token : tokens) {
        if (token.kind == Token::Kind::end) break;
        if (token.begins_line && depth == 0 && !current.tokens.empty() &&
            (token.indent <= current.indent || opens_block(current) || token.is_word("let"))) {
            flush();
        }
        if (token.is(";") && depth == 0) {
            flush();
            continue;
        }
        if (current.tokens.empty()) current.indent = token.indent;
        depth = std::max(0, depth + bracket_step(token));
        current.tokens.push_back(std::move(token));
    }
    flush();
    return lines;
}

// What a line that does not parse would have defined: the name behind `let`, or the first one.
void note_failed(const Line& line, std::vector<std::string>& failed) {
    for (const Token& token : line.tokens) {
        if (token.is_word("let") || token.is_word("for") || token.is_word("scan")) continue;
        if (token.kind == Token::Kind::name || token.kind == Token::Kind::static_name) failed.push_back(token.text);
        return;
    }
}

class BlockParser {
public:
    BlockParser(const Fragment& fragment, DiagnosticSink& sink, std::vector<std::string>& failed)
        : fragment_(fragment), sink_(sink), failed_(failed), lines_(logical_lines(tokenize(fragment, sink))) {}

    std::vector<SyntaxPointer> run() {
        std::vector<SyntaxPointer> statements;
        while (next_ < lines_.size()) {
            auto part = block(lines_[next_].indent, 0);
            statements.insert(statements.end(), part.begin(), part.end());
            if (next_ < lines_.size()) report_indentation(lines_[next_]);
        }
        return statements;
    }

private:
    std::vector<SyntaxPointer> block(int indent, int depth) {
        std::vector<SyntaxPointer> statements;
        while (next_ < lines_.size() && lines_[next_].indent >= indent) {
            const Line& line = lines_[next_];
            if (line.indent > indent) report_indentation(line);
            next_++;
            if (SyntaxPointer made = line.opens_block ? block_statement(line, depth) : simple_statement(line)) {
                statements.push_back(made);
            }
        }
        return statements;
    }

    SyntaxPointer simple_statement(const Line& line) {
        Parser parser(fragment_, line.tokens, sink_);
        try {
            if (line.first().is_word("for") || line.first().is_word("scan")) {
                parser.fail(parser.place(line.first()), "language.syntax", "a block's first line ends with `:`",
                            "write the statements of the block below it, indented deeper");
            }
            return parser.statement();
        } catch (const ParseFailure&) {
            note_failed(line, failed_);
            if (line.tokens.size() > 1 && line.tokens[line.tokens.size() - 2].is("=")) skip_deeper(line.indent);
            return nullptr;
        }
    }

    // What was meant to be the block of a statement that has none.
    void skip_deeper(int indent) {
        for (; next_ < lines_.size() && lines_[next_].indent > indent; ++next_) note_failed(lines_[next_], failed_);
    }

    SyntaxPointer block_statement(const Line& line, int depth) {
        bool is_scan = line.first().is_word("scan");
        auto made = std::make_shared<Syntax>();
        made->kind = is_scan ? Kind::scan_block : Kind::parallel_block;
        bool sound = header(line, *made);
        bool filled = next_ < lines_.size() && lines_[next_].indent > line.indent;
        if (!filled && sound) {
            sink_.add({.code = "language.empty_block",
                       .summary = fmt::format("this `{}` has no statements", line.first().text),
                       .place = made->place,
                       .remedy = "indent the statements of the block deeper than its first line"});
            return nullptr;
        }
        if (depth >= nesting_limit) {
            sink_.add({.code = "language.too_deep",
                       .summary = fmt::format("blocks nested deeper than {}", nesting_limit),
                       .place = made->place});
            next_ = lines_.size();
            return nullptr;
        }
        if (filled) made->children = block(lines_[next_].indent, depth + 1);
        if (made->filter) made->height = std::max(made->height, made->filter->height + 1);
        for (const auto& child : made->children) made->height = std::max(made->height, child->height + 1);
        if (sound) return made;
        for (const auto& child : made->children) failed_.push_back(child->text);
        return nullptr;
    }

    bool header(const Line& line, Syntax& made) {
        Parser parser(fragment_, line.tokens, sink_);
        Token first = parser.take();
        made.mark = parser.place(first);
        try {
            made.generators = parser.generators_below();
            if (made.kind == Kind::scan_block && parser.at_word("until")) {
                if (made.generators.size() > 1)
                    parser.fail(parser.place(parser.peek()), "language.syntax", "a scan of several axes has no `until`",
                                "scan all of its cells, or one axis alone, and give states the other as their own");
                parser.take();
                made.filter = parser.expression();
            }
            parser.expect(":");
            parser.expect_end();
            made.place = parser.place_since(first);
            return true;
        } catch (const ParseFailure&) {
            note_failed(line, failed_);
            return false;
        }
    }

    void report_indentation(const Line& line) {
        const Token& first = line.first();
        sink_.add({.code = "language.indentation",
                   .summary = "unexpected indentation",
                   .place = fragment_.place(first.offset, first.length),
                   .reason = "statements of one block begin in one column",
                   .remedy = "indent it like the statement above, or deeper to continue a line"});
    }

    const Fragment& fragment_;
    DiagnosticSink& sink_;
    std::vector<std::string>& failed_;
    std::vector<Line> lines_;
    size_t next_ = 0;
};

// Every line by one rule of the parser.
template <typename Answer, typename Rule>
std::vector<Answer> parse_lines(const Fragment& fragment, DiagnosticSink& sink, std::vector<std::string>& failed,
                                const Rule& rule) {
    std::vector<Answer> answers;
    for (const Line& line : logical_lines(tokenize(fragment, sink))) {
        Parser parser(fragment, line.tokens, sink);
        try {
            answers.push_back(rule(parser));
        } catch (const ParseFailure&) {
            note_failed(line, failed);
        }
    }
    return answers;
}

// `name(parameters) = value`, or behind the `=` lets, line by line, and then the value.
class FunctionParser {
public:
    FunctionParser(const Fragment& fragment, DiagnosticSink& sink, std::vector<std::string>& failed)
        : fragment_(fragment), sink_(sink), failed_(failed), lines_(logical_lines(tokenize(fragment, sink))) {}

    std::vector<Parser::StaticAssignment> run() {
        std::vector<Parser::StaticAssignment> functions;
        while (next_ < lines_.size()) {
            const size_t first = next_;
            try {
                functions.push_back(function());
            } catch (const ParseFailure&) {
                note_failed(lines_[first], failed_);
                while (next_ < lines_.size() && continues(lines_[first])) next_++;
            }
        }
        return functions;
    }

private:
    // A line of the block of the function that begins at `head`.
    bool continues(const Line& head) const {
        return lines_[next_].indent > head.indent || lines_[next_].first().is_word("let");
    }

    Parser::StaticAssignment function() {
        const Line& head = lines_[next_++];
        Parser parser(fragment_, head.tokens, sink_);
        Parser::StaticAssignment made = parser.function_let();
        std::vector<SyntaxPointer> parts;
        if (parser.at_word("let")) {
            parts.push_back(parser.let_statement());
            parser.expect_end();
        } else if (made.value || next_ == lines_.size() || !lines_[next_].first().is_word("let")) {
            if (!made.value) parser.fail_expected("a value");
            parser.expect_end();
            return made;
        }
        while (next_ < lines_.size() && lines_[next_].first().is_word("let")) {
            Parser line(fragment_, lines_[next_++].tokens, sink_);
            parts.push_back(line.let_statement());
            line.expect_end();
        }
        if (next_ == lines_.size())
            parser.fail(parts.back()->place, "language.syntax",
                        fmt::format("the function `{}` gives no value", made.name), "end its block with an expression");
        Parser last(fragment_, lines_[next_++].tokens, sink_);
        parts.push_back(last.expression());
        made.neutral = last.neutral();
        last.expect_end();
        made.value = scoped(std::move(parts));
        return made;
    }

    static SyntaxPointer scoped(std::vector<SyntaxPointer> parts) {
        auto made = std::make_shared<Syntax>();
        made->kind = Kind::scoped;
        made->place = made->mark = parts.back()->place;
        for (const SyntaxPointer& part : parts) made->height = std::max(made->height, part->height + 1);
        made->children = std::move(parts);
        return made;
    }

    const Fragment& fragment_;
    DiagnosticSink& sink_;
    std::vector<std::string>& failed_;
    std::vector<Line> lines_;
    size_t next_ = 0;
};

// The whole fragment by one rule.
template <typename Rule>
SyntaxPointer parse_whole(const Fragment& fragment, DiagnosticSink& sink, const Rule& rule) {
    Parser parser(fragment, tokenize(fragment, sink), sink);
    try {
        SyntaxPointer made = rule(parser);
        parser.expect_end();
        return made;
    } catch (const ParseFailure&) {
        return nullptr;
    }
}

}  // namespace

std::vector<SyntaxPointer> parse_body(const Fragment& fragment, DiagnosticSink& sink,
                                      std::vector<std::string>& failed) {
    return BlockParser(fragment, sink, failed).run();
}
std::vector<SyntaxPointer> parse_graph(const Fragment& fragment, DiagnosticSink& sink,
                                       std::vector<std::string>& failed) {
    return parse_lines<SyntaxPointer>(fragment, sink, failed, [](Parser& parser) { return parser.assignment(); });
}
std::vector<Parser::StaticAssignment> parse_static_lets(const Fragment& fragment, DiagnosticSink& sink,
                                                        std::vector<std::string>& failed) {
    return parse_lines<Parser::StaticAssignment>(fragment, sink, failed,
                                                 [](Parser& parser) { return parser.static_let(); });
}
std::vector<Parser::StaticAssignment> parse_function_lets(const Fragment& fragment, DiagnosticSink& sink,
                                                          std::vector<std::string>& failed) {
    return FunctionParser(fragment, sink, failed).run();
}
SyntaxPointer parse_expression(const Fragment& fragment, DiagnosticSink& sink) {
    return parse_whole(fragment, sink, [](Parser& parser) { return parser.expression(); });
}
SyntaxPointer parse_list(const Fragment& fragment, DiagnosticSink& sink) {
    return parse_whole(fragment, sink, [](Parser& parser) { return parser.list(); });
}
SyntaxPointer parse_element(const Fragment& fragment, DiagnosticSink& sink) {
    return parse_whole(fragment, sink, [](Parser& parser) { return parser.element(); });
}
SyntaxPointer parse_pattern(const Fragment& fragment, DiagnosticSink& sink) {
    return parse_whole(fragment, sink, [](Parser& parser) { return parser.pattern(); });
}
SyntaxPointer parse_ipf(const Fragment& fragment, DiagnosticSink& sink) {
    return parse_whole(fragment, sink, [](Parser& parser) { return parser.ipf(); });
}

}  // namespace heddle
