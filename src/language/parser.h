// Recursive descent over tokens, one method a rule of the grammar in docs/language.md. A rule that fails has reported
// why and throws `ParseFailure`; the entry points below catch it, at the end of the piece or at the next statement.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "language/lexer.h"
#include "language/template.h"
#include "support/precedence.h"

namespace heddle {

struct ParseFailure {};

class Parser {
public:
    // A range of the tokens that `tokenize` made of `fragment`, closed by an `end` token.
    Parser(const Fragment& fragment, std::vector<Token> tokens, DiagnosticSink& sink)
        : fragment_(fragment), tokens_(std::move(tokens)), sink_(sink) {}

    // ---- expressions (parser.cpp)
    SyntaxPointer expression();
    SyntaxPointer sum() { return binary(Precedence::sum); }  // what may follow `name <`
    SyntaxPointer element();
    SyntaxPointer list();                       // "[" elements "]"
    std::vector<Generator> generators_below();  // name < sum {, name < sum}

    // ---- shape patterns, index projection functions, tensor types (parser_pattern.cpp)
    SyntaxPointer pattern();
    SyntaxPointer ipf();
    void need_told(const SyntaxPointer& rows);
    struct TensorType {
        SyntaxPointer dtype, shape;  // shape is null if there is none
        bool optional = false, variadic = false;
    };
    TensorType tensor_type(bool is_input);
    Parameter parameter();   // type and default; parser_parameter.cpp
    Iteration iteration();   // $i < count
    KernelRow kernel_row();  // parser_parameter.cpp

    // ---- statements (parser_statement.cpp)
    SyntaxPointer statement();   // one line of a body that opens no block
    SyntaxPointer assignment();  // one line of a graph
    struct StaticAssignment {
        std::string name;
        std::vector<std::string> parameters;
        SyntaxPointer value;
        Place place;
        SyntaxPointer neutral;
    };
    StaticAssignment static_let();    // $name = expression
    StaticAssignment function_let();  // name(parameters) = expression; without one where lets follow, and the value
    SyntaxPointer let_statement();    // let name = expression
    SyntaxPointer neutral();          // `from expression`, or null

    // ---- tokens
    const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
    bool at(std::string_view symbol) const { return peek().is(symbol); }
    bool at_word(std::string_view word) const { return peek().is_word(word); }
    bool at_end() const { return peek().kind == Token::Kind::end; }
    bool accept(std::string_view symbol);
    void expect(std::string_view symbol);
    Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
    Token take_name(std::string_view what);
    void expect_end();
    Place place(const Token& token) const { return fragment_.place(token.offset, token.length); }
    // From `first` to the last token taken.
    Place place_since(const Token& first) const;
    [[noreturn]] void fail(const Place& where, std::string code, std::string summary, std::string remedy = {});
    // "expected X, found Y" at the next token.
    [[noreturn]] void fail_expected(std::string_view what);

private:
    // Counts how deep the rules have called each other, and fails beyond the limit.
    class Nesting {
    public:
        explicit Nesting(Parser& parser);
        ~Nesting() { parser_.nesting_--; }
        Nesting(const Nesting&) = delete;
        Nesting& operator=(const Nesting&) = delete;

    private:
        Parser& parser_;
    };

    SyntaxPointer condition() { return binary(Precedence::disjunction); }
    SyntaxPointer binary(Precedence loosest);
    SyntaxPointer unary();
    SyntaxPointer power();
    SyntaxPointer postfix();
    SyntaxPointer primary();
    SyntaxPointer literal(const Token& token);
    SyntaxPointer subscript(SyntaxPointer base, const Token& first);
    SyntaxPointer guard(SyntaxPointer access, const Token& first);
    SyntaxPointer call(const Token& function);
    SyntaxPointer reduction(std::shared_ptr<Syntax> made, const Token& first, const std::vector<Generator>& parts);
    Generator range_part();
    SyntaxPointer comprehension(SyntaxPointer item, const Token& first);
    std::vector<Generator> generators();

    SyntaxPointer pattern_dimension();
    SyntaxPointer pattern_variable();
    std::vector<SyntaxPointer> pattern_sequence(std::string_view close);
    std::string take_collector();

    SyntaxPointer choice_default(const ParameterType& type);
    void range(ParameterType& type);
    std::vector<std::string> type_words();
    std::vector<std::string> flavour_words();

    SyntaxPointer equation();
    std::vector<SyntaxPointer> left_coordinates();

    std::shared_ptr<Syntax> make(Syntax::Kind kind, const Token& first) const;
    // Sets the place to what was taken since `first`, and the height; checks the latter.
    SyntaxPointer finish(std::shared_ptr<Syntax> made, const Token& first);

    const Fragment& fragment_;
    std::vector<Token> tokens_;
    DiagnosticSink& sink_;
    size_t at_ = 0;
    int nesting_ = 0;
};

// ---- pieces of a template. A null pointer (or an empty answer) means that the reasons are in `sink`.
SyntaxPointer parse_expression(const Fragment& fragment, DiagnosticSink& sink);
SyntaxPointer parse_list(const Fragment& fragment, DiagnosticSink& sink);
SyntaxPointer parse_element(const Fragment& fragment, DiagnosticSink& sink);
SyntaxPointer parse_pattern(const Fragment& fragment, DiagnosticSink& sink);
SyntaxPointer parse_ipf(const Fragment& fragment, DiagnosticSink& sink);

std::optional<Parameter> parse_parameter(const Fragment& fragment, DiagnosticSink& sink);
std::optional<Parser::TensorType> parse_tensor_type(const Fragment& fragment, bool is_input, DiagnosticSink& sink);
std::optional<Iteration> parse_iteration(const Fragment& fragment, DiagnosticSink& sink);
std::optional<KernelRow> parse_kernel_row(const Fragment& fragment, DiagnosticSink& sink);

// Lines of a block: `;` separates, a deeper indent or an open bracket continues. Lines that do not parse are reported
// and left out; the name that such a line would have defined is added to `failed`.
std::vector<SyntaxPointer> parse_body(const Fragment& fragment, DiagnosticSink& sink, std::vector<std::string>& failed);
std::vector<SyntaxPointer> parse_graph(const Fragment& fragment, DiagnosticSink& sink,
                                       std::vector<std::string>& failed);
std::vector<Parser::StaticAssignment> parse_static_lets(const Fragment& fragment, DiagnosticSink& sink,
                                                        std::vector<std::string>& failed);
std::vector<Parser::StaticAssignment> parse_function_lets(const Fragment& fragment, DiagnosticSink& sink,
                                                          std::vector<std::string>& failed);

// A reduction's name: sum prod min max any all mean argmin argmax count first order.
bool is_reduction_name(std::string_view name);

}  // namespace heddle
