#include <algorithm>

#include "language/parser.h"

namespace heddle {

using Kind = Syntax::Kind;

SyntaxPointer Parser::pattern() {
    Token first = peek();
    auto made = make(Kind::pattern, first);
    expect("[");
    made->children = pattern_sequence("]");
    expect("]");
    return finish(made, first);
}

std::vector<SyntaxPointer> Parser::pattern_sequence(std::string_view close) {
    std::vector<SyntaxPointer> dimensions;
    while (!at(close)) {
        dimensions.push_back(pattern_dimension());
        if (!accept(",")) break;
    }
    return dimensions;
}

// `[$i]` behind a name, if it is there.
std::string Parser::take_collector() {
    if (!(at("[") && peek(1).kind == Token::Kind::static_name && peek(2).is("]"))) return {};
    take();
    std::string collector = take().text;
    take();
    return collector;
}

SyntaxPointer Parser::pattern_dimension() {
    Token first = peek();
    if (at_word("_")) {
        take();
        auto made = make(Kind::any_dimension, first);
        if (accept("...")) made->kind = Kind::any_dimensions;
        return finish(made, first);
    }
    if (at("~") || first.kind == Token::Kind::static_name) {
        if (SyntaxPointer variable = pattern_variable()) return variable;
    }
    return expression();
}

// A variable on its own, or null (with nothing taken) if it begins an expression like `$c / $group`.
SyntaxPointer Parser::pattern_variable() {
    size_t begin = at_;
    Token first = peek();
    bool broadcast = accept("~");
    if (broadcast && peek().kind != Token::Kind::static_name) fail_expected("a `$` name after `~`");
    auto made = make(Kind::dimension, first);
    made->broadcast = broadcast;
    made->text = take().text;
    made->collector = take_collector();
    if (!broadcast && at("=")) {
        Nesting nesting(*this);
        take();
        made->kind = Kind::dimension_group;
        expect("(");
        made->children = pattern_sequence(")");
        expect(")");
        return finish(made, first);
    }
    if (accept("...")) {
        made->kind = Kind::dimensions;
        if (accept("{")) {
            made->children.push_back(expression());
            expect("}");
        }
        return finish(made, first);
    }
    if (at(",") || at("]") || at(")") || at_end()) return finish(made, first);
    if (broadcast) fail_expected("`...`, `,` or `]` after a name with `~`");
    at_ = begin;
    return nullptr;
}

namespace {

// Rows are told by a coordinate, a whole dimension or an inner extent; else the list holds diagonal coefficients.
bool marks_rows(const SyntaxPointer& syntax) {
    bool found = false;
    visit_all(syntax, [&](const Syntax& node) {
        found = found || node.kind == Kind::index_name || node.kind == Kind::index_all || node.kind == Kind::whole ||
                node.kind == Kind::ranged;
    });
    return found;
}

}  // namespace

// `[1, *]` is read as rows by its `*` alone: the 1 could be an element or a coefficient.
void Parser::need_told(const SyntaxPointer& rows) {
    const Syntax* number = nullptr;
    bool told = false;
    for (const SyntaxPointer& row : rows->children) {
        bool own = row->kind == Kind::whole;
        visit_all(row, [&](const Syntax& node) {
            own = own || node.kind == Kind::ranged;
            told = told || node.kind == Kind::ranged || node.kind == Kind::index_name || node.kind == Kind::index_all;
        });
        if (!own && !number) number = row.get();
    }
    if (!number || told) return;
    fail(number->place, "language.syntax", "this may be an element of the tensor or a coefficient",
         "write D[...] for coefficients, an element as 1 :> 1, and a coordinate of the index as @name");
}

SyntaxPointer Parser::ipf() {
    Token first = peek();
    bool diagonal = at_word("D") && peek(1).is("[");
    if (diagonal) take();
    SyntaxPointer coefficients = list();
    if (coefficients->kind != Kind::list) {
        fail(coefficients->place, "language.syntax", "an index projection function is a plain list",
             "write one element per tensor dimension; a list expands with `...`");
    }
    bool rows = !diagonal && marks_rows(coefficients);
    if (rows) need_told(coefficients);
    auto made = make(rows ? Kind::rows : Kind::diagonal, first);
    made->children = coefficients->children;
    if (rows && (at("+") || at(":>"))) {
        fail(place(peek()), "language.syntax", "rows carry their offsets and extents inside",
             "write each row as start :> extent, or mark a diagonal with D[...]");
    }
    if (accept("+")) made->offset = list();
    if (accept(":>")) made->extents = list();
    return finish(made, first);
}

Parser::TensorType Parser::tensor_type(bool is_input) {
    TensorType type;
    Token first = peek();
    type.dtype = primary();
    while (at(".")) {
        take();
        Token attribute = peek();
        auto node = make(Kind::attribute, attribute);
        if (attribute.kind != Token::Kind::name) fail_expected("a name after `.`");
        node->text = take().text;
        node->children.push_back(type.dtype);
        type.dtype = finish(node, first);
    }
    if (at("[")) type.shape = is_input ? pattern() : list();
    if (accept("?")) {
        type.optional = true;
    } else if (accept("*")) {
        type.variadic = true;
    }
    expect_end();
    return type;
}

}  // namespace heddle
