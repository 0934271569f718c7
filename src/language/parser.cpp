#include "language/parser.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numbers>

#include <fmt/format.h>

namespace heddle {

using Kind = Syntax::Kind;

bool is_reduction_name(std::string_view name) {
    constexpr std::array<std::string_view, 12> names = {"sum",  "prod",   "min",    "max",   "any",   "all",
                                                        "mean", "argmin", "argmax", "count", "first", "order"};
    return std::find(names.begin(), names.end(), name) != names.end();
}

// ---------------------------------------------------------------- tokens

Parser::Nesting::Nesting(Parser& parser) : parser_(parser) {
    if (++parser_.nesting_ > nesting_limit) {
        parser_.nesting_--;
        parser_.fail(parser_.place(parser_.peek()), "language.too_deep",
                     fmt::format("nested deeper than {} levels", nesting_limit), "name a part of it with let");
    }
}

Place Parser::place_since(const Token& first) const {
    const Token& last = tokens_[at_ == 0 ? 0 : at_ - 1];
    size_t end = std::max(last.offset + last.length, first.offset + first.length);
    return fragment_.place(first.offset, end - first.offset);
}

void Parser::fail(const Place& where, std::string code, std::string summary, std::string remedy) {
    sink_.add({.code = std::move(code), .summary = std::move(summary), .place = where, .remedy = std::move(remedy)});
    throw ParseFailure{};
}

namespace {

// What is written so in other languages, and how here. `before` is the token in front of the unexpected one.
std::string foreign_notation(const Token& before, const Token& found) {
    if (before.is("*") && found.is("*")) return "a power is written ^";
    if (before.is_word("not")) return "`not` is written !";
    if (before.is(",") && found.is(":")) return "a body reads one element: give each dimension a coordinate";
    if (found.is("=")) return "equality is written ==";
    if (found.is("|")) return "`or` is written ||";
    if (found.is("&")) return "`and` is written &&";
    if (found.is_word("and")) return "`and` is written &&";
    if (found.is_word("or")) return "`or` is written ||";
    if (found.is_word("if")) return "a choice is written condition ? value : other";
    if (found.is_word("for") || found.is_word("in")) return "a reduction is written sum(k < $n : x[k])";
    return {};
}

}  // namespace

void Parser::fail_expected(std::string_view what) {
    const Token& token = peek();
    if (token.kind == Token::Kind::bad) throw ParseFailure{};  // the lexer has said it
    std::string found = token.kind == Token::Kind::end
                            ? "the end"
                            : fmt::format("`{}`", std::string_view(fragment_.text).substr(token.offset, token.length));
    Complaint diagnostic{
        .code = "language.syntax", .summary = fmt::format("expected {}, found {}", what, found), .place = place(token)};
    diagnostic.remedy = foreign_notation(at_ == 0 ? Token{} : tokens_[at_ - 1], token);
    if (token.kind == Token::Kind::end && (what == "`)`" || what == "`]`"))
        diagnostic.remedy = "close the bracket; a line goes on while one is open";
    if (what == "`=`" || what == "`[` or `=` after a name")
        diagnostic.remedy = "a statement is `let name = value` or `output[...] = value`";
    sink_.add(std::move(diagnostic));
    throw ParseFailure{};
}

bool Parser::accept(std::string_view symbol) {
    if (!at(symbol)) return false;
    take();
    return true;
}

void Parser::expect(std::string_view symbol) {
    if (!accept(symbol)) fail_expected(fmt::format("`{}`", symbol));
}

Token Parser::take_name(std::string_view what) {
    if (peek().kind != Token::Kind::name) fail_expected(what);
    if (is_reserved(peek().text)) {
        fail(place(peek()), "language.reserved_word", fmt::format("`{}` is a word of the language", peek().text),
             "choose another name");
    }
    return take();
}

void Parser::expect_end() {
    if (!at_end()) fail_expected("the end");
}

std::shared_ptr<Syntax> Parser::make(Kind kind, const Token& first) const {
    auto made = std::make_shared<Syntax>();
    made->kind = kind;
    made->mark = place(first);
    return made;
}

SyntaxPointer Parser::finish(std::shared_ptr<Syntax> made, const Token& first) {
    made->place = place_since(first);
    int below = 0;
    auto look = [&](const SyntaxPointer& part) {
        if (part) below = std::max(below, part->height);
    };
    for (const auto& child : made->children) look(child);
    for (const auto& generator : made->generators)
        for (const SyntaxPointer* part : {&generator.range, &generator.first, &generator.end}) look(*part);
    for (const auto& argument : made->named) look(argument.value);
    for (const SyntaxPointer* part :
         {&made->filter, &made->value, &made->initial, &made->pick, &made->offset, &made->extents}) {
        look(*part);
    }
    made->height = below + 1;
    if (made->height > nesting_limit) {
        fail(made->place, "language.too_deep", fmt::format("an expression of more than {} levels", nesting_limit),
             "name a part of it with let");
    }
    return made;
}

// ---------------------------------------------------------------- expressions

SyntaxPointer Parser::expression() {
    Nesting nesting(*this);
    Token first = peek();
    SyntaxPointer choice = condition();
    if (!at("?")) return choice;
    auto made = make(Kind::conditional, take());
    made->children.push_back(choice);
    made->children.push_back(expression());
    expect(":");
    made->children.push_back(expression());
    return finish(made, first);
}

// Operators that bind as `loosest` or tighter between operands.
SyntaxPointer Parser::binary(Precedence loosest) {
    if (loosest > Precedence::product) return unary();
    Token first = peek();
    SyntaxPointer left = binary(tighter(loosest));
    while (is_operator(peek(), loosest)) {
        auto made = make(Kind::binary, peek());
        made->text = take().text;
        made->children = {left, binary(tighter(loosest))};
        if (loosest == Precedence::comparison && is_operator(peek(), loosest))
            fail(place(peek()), "language.chained_comparison", "comparisons do not chain", "write a < b && b < c");
        left = finish(made, first);
    }
    return left;
}

SyntaxPointer Parser::unary() {
    if (!at("-") && !at("!")) return power();
    Nesting nesting(*this);
    Token first = take();
    auto made = make(Kind::unary, first);
    made->text = first.text;
    made->children.push_back(unary());
    return finish(made, first);
}

SyntaxPointer Parser::power() {
    Token first = peek();
    SyntaxPointer base = postfix();
    if (!at("^")) return base;
    Nesting nesting(*this);
    auto made = make(Kind::binary, take());
    made->text = "^";
    made->children = {base, unary()};
    return finish(made, first);
}

SyntaxPointer Parser::postfix() {
    Token first = peek();
    SyntaxPointer made = primary();
    for (;;) {
        if (at("[")) {
            made = subscript(made, first);
        } else if (at(".")) {
            take();
            Token attribute = peek();
            auto node = make(Kind::attribute, attribute);
            if (attribute.kind != Token::Kind::name) fail_expected("a name after `.`");
            node->text = take().text;
            node->children.push_back(made);
            made = finish(node, first);
        } else if (at("...") && peek(1).is("[")) {
            auto node = make(Kind::fill, take());
            node->children.push_back(made);
            made = finish(node, first);
        } else {
            break;
        }
    }
    return at("??") ? guard(made, first) : made;
}

// `??` binds to one access: x, x[...], tensors[$i][...].
SyntaxPointer Parser::guard(SyntaxPointer access, const Token& first) {
    const Syntax* base = access.get();
    while (base->kind == Kind::subscript) base = base->children[0].get();
    if (base->kind != Kind::name) {
        fail(place(peek()), "language.guard", "`??` stands behind something that is not a read",
             "write it directly behind the read that may lie outside: (x[...] ?? 0) * y");
    }
    Nesting nesting(*this);
    auto made = make(Kind::guard, take());
    made->children = {std::move(access), unary()};
    return finish(made, first);
}

SyntaxPointer Parser::subscript(SyntaxPointer base, const Token& first) {
    Nesting nesting(*this);
    auto made = make(Kind::subscript, peek());
    expect("[");
    made->children.push_back(std::move(base));
    if (accept("]")) return finish(made, first);
    SyntaxPointer start = at(":") ? nullptr : element();
    if (accept(":")) {
        made->kind = Kind::slice;
        SyntaxPointer stop = at("]") ? nullptr : expression();
        made->children.push_back(std::move(start));
        made->children.push_back(std::move(stop));
        expect("]");
        return finish(made, first);
    }
    made->children.push_back(std::move(start));
    while (accept(",")) made->children.push_back(element());
    expect("]");
    return finish(made, first);
}

SyntaxPointer Parser::literal(const Token& token) {
    auto made = make(Kind::integer, token);
    if (token.kind == Token::Kind::integer) {
        made->integer = token.integer;
    } else if (token.kind == Token::Kind::real) {
        made->kind = Kind::real;
        made->real = token.real;
    } else if (token.kind == Token::Kind::text) {
        made->kind = Kind::text;
        made->text = token.text;
    } else if (token.text == "true" || token.text == "false") {
        made->kind = Kind::boolean;
        made->integer = token.text == "true";
    } else if (token.text == "none") {
        made->kind = Kind::none;
    } else {
        made->kind = Kind::real;
        made->real = token.text == "inf"   ? std::numeric_limits<double>::infinity()
                     : token.text == "nan" ? std::numeric_limits<double>::quiet_NaN()
                                           : std::numbers::pi;
    }
    return finish(made, token);
}

SyntaxPointer Parser::primary() {
    Token token = peek();
    auto leaf = [&](Kind kind) {
        take();
        auto made = make(kind, token);
        made->text = token.text;
        return finish(made, token);
    };
    switch (token.kind) {
    case Token::Kind::integer:
    case Token::Kind::real:
    case Token::Kind::text: take(); return literal(token);
    case Token::Kind::static_name: return leaf(Kind::static_name);
    case Token::Kind::index_name: return leaf(token.text.empty() ? Kind::index_all : Kind::index_name);
    case Token::Kind::name:
        if (token.text == "true" || token.text == "false" || token.text == "none" || token.text == "inf" ||
            token.text == "nan" || token.text == "pi") {
            take();
            return literal(token);
        }
        take_name("a value");
        if (accept("::")) {  // library::operator
            token.text += "::" + take_name("an operator's name after `::`").text;
            if (!at("(")) fail_expected("`(`: a library's name stands before a call");
        }
        if (at("(")) return call(token);
        at_--;
        return leaf(Kind::name);
    case Token::Kind::symbol: break;
    case Token::Kind::end:
    case Token::Kind::bad: fail_expected("a value");
    }
    if (accept("(")) {
        SyntaxPointer inner = expression();
        expect(")");
        return inner;
    }
    if (at("[")) return list();
    if (accept("?")) {
        auto made = make(Kind::unknown_extent, token);
        made->text = take_name("a name after `?`").text;
        return finish(made, token);
    }
    fail_expected("a value");
}

// ---------------------------------------------------------------- calls, reductions, lists

namespace {

// f(k < n ...: what a function of the file's own joins terms over.
bool is_range(const Syntax& call) {
    const Syntax* first = call.children.empty() ? nullptr : call.children[0].get();
    return first && first->kind == Kind::binary && first->text == "<" && first->children[0]->kind == Kind::name;
}

}  // namespace

SyntaxPointer Parser::call(const Token& function) {
    Nesting nesting(*this);
    auto made = make(Kind::call, function);
    made->text = function.text;
    expect("(");
    if (accept(")")) return finish(made, function);
    std::vector<Generator> parts;  // what is said of the ranges, by position
    do {
        if (peek().kind == Token::Kind::name && (peek(1).is(":") || peek(1).is("="))) {  // either way
            Token name = take();
            if (is_reduction_name(function.text) && at(":") && made->children.empty() && made->named.empty()) {
                fail(place(name), "language.syntax",
                     fmt::format("the variable `{}` of `{}` has no extent", name.text, function.text),
                     fmt::format("write {}({} < $n : ...)", function.text, name.text));
            }
            take();
            made->named.push_back({name.text, element(), place(name)});
        } else {
            if (!made->named.empty()) {
                fail(place(peek()), "language.syntax", "a positional argument follows a named one",
                     "put positional arguments first");
            }
            made->children.push_back(element());
            parts.push_back(range_part());
        }
    } while (accept(","));
    const bool joins = is_reduction_name(function.text) || is_range(*made);
    if (joins && made->named.empty() && (at(":") || at_word("if"))) {
        return reduction(made, function, parts);
    }
    if (std::ranges::any_of(parts, &Generator::is_part)) fail_expected("`:` behind the ranges of a reduction");
    expect(")");
    return finish(made, function);
}

// `from first`, `to end`, both or neither.
Generator Parser::range_part() {
    Generator part;
    for (const auto& [word, value] : {std::pair("from", &part.first), std::pair("to", &part.end)}) {
        if (!at_word(word)) continue;
        take();
        *value = sum();
    }
    return part;
}

// The arguments read so far were generators: `name < extent` each.
SyntaxPointer Parser::reduction(std::shared_ptr<Syntax> made, const Token& first, const std::vector<Generator>& parts) {
    made->kind = Kind::reduction;
    for (const SyntaxPointer& argument : made->children) {
        bool below =
            argument->kind == Kind::binary && argument->text == "<" && argument->children[0]->kind == Kind::name;
        if (!below) {
            fail(argument->place, "language.syntax", "a reduction variable is written `name < extent`",
                 "put an extent that is a condition in parentheses");
        }
        const SyntaxPointer& variable = argument->children[0];
        const Generator& part = parts[made->generators.size()];
        made->generators.push_back(
            {Generator::Kind::below, variable->text, argument->children[1], variable->place, part.first, part.end});
    }
    made->children.clear();
    if (at_word("if")) {
        take();
        made->filter = condition();
    }
    expect(":");
    made->children.push_back(expression());
    expect(")");
    return finish(made, first);
}

std::vector<Generator> Parser::generators_below() {
    std::vector<Generator> result;
    do {
        Token name = take_name("a variable's name");
        expect("<");
        result.push_back({Generator::Kind::below, name.text, sum(), place(name)});
    } while (accept(","));
    return result;
}

std::vector<Generator> Parser::generators() {
    std::vector<Generator> result;
    do {
        Token name = take_name("a variable's name");
        if (at_word("in")) {
            take();
            result.push_back({Generator::Kind::in, name.text, condition(), place(name)});
        } else {
            if (!at("<")) fail_expected("`<` or `in`");
            take();
            result.push_back({Generator::Kind::below, name.text, sum(), place(name)});
        }
    } while (accept(","));
    return result;
}

SyntaxPointer Parser::comprehension(SyntaxPointer item, const Token& first) {
    auto made = make(Kind::comprehension, take());
    made->children.push_back(std::move(item));
    made->generators = generators();
    if (at_word("if")) {
        take();
        made->filter = expression();
    }
    expect("]");
    return finish(made, first);
}

SyntaxPointer Parser::list() {
    Nesting nesting(*this);
    Token first = peek();
    auto made = make(Kind::list, first);
    expect("[");
    if (accept("]")) return finish(made, first);
    SyntaxPointer item = element();
    if (at_word("for")) return comprehension(item, first);
    made->children.push_back(item);
    while (accept(",")) {
        if (at("]")) break;
        made->children.push_back(element());
    }
    expect("]");
    return finish(made, first);
}

SyntaxPointer Parser::element() {
    Token first = peek();
    if (at("...")) {
        take();
        auto one = make(Kind::integer, first);
        one->integer = 1;
        if (at("[")) {  // a part of so many ones: ...[:$axis]
            auto ones = make(Kind::fill, first);
            ones->children.push_back(finish(one, first));
            auto part = make(Kind::spread, first);
            part->children.push_back(subscript(finish(ones, first), first));
            accept("...");
            return finish(part, first);
        }
        auto made = make(Kind::spread, first);
        made->text = "...";
        made->children.push_back(finish(one, first));
        return finish(made, first);
    }
    if (first.kind == Token::Kind::name && peek(1).is("=") && !is_reserved(first.text)) {
        Nesting nesting(*this);
        take();
        take();
        auto made = make(Kind::named_element, first);
        made->text = first.text;
        if (peek().kind == Token::Kind::name && peek(1).is("=")) fail_expected("a value");
        made->children.push_back(element());
        return finish(made, first);
    }
    SyntaxPointer item;
    if (accept("*")) {
        item = finish(make(Kind::whole, first), first);
    } else if (at_word("_")) {
        take();
        item = finish(make(Kind::wildcard, first), first);
    } else {
        item = expression();
    }
    if (at(":>")) {
        auto made = make(Kind::ranged, take());
        made->children = {item, expression()};
        item = finish(made, first);
    }
    if (at("...")) {
        auto made = make(Kind::spread, take());
        made->children.push_back(item);
        if (accept("{")) {
            made->children.push_back(expression());
            expect("}");
        }
        item = finish(made, first);
    }
    return item;
}

}  // namespace heddle
