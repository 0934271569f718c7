// Parameter types with defaults, `each`, and rows of kernels.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "language/parser.h"

namespace heddle {

using Kind = Syntax::Kind;

namespace {

const std::map<std::string, ParameterType::Kind>& parameter_kinds() {
    using enum ParameterType::Kind;
    static const std::map<std::string, ParameterType::Kind> kinds = {
        {"int", integer}, {"float", real},    {"bool", boolean}, {"string", string},
        {"dtype", dtype}, {"number", number}, {"axis", axis},    {"axes", axes},
    };
    return kinds;
}

// A literal that can never be of the type; anything computed is judged when it is known.
bool contradicts(const ParameterType& type, const Syntax& value) {
    if (type.is_list || type.kind == ParameterType::Kind::axes) return false;
    switch (value.kind) {
    case Kind::text: return type.kind != ParameterType::Kind::string && type.kind != ParameterType::Kind::choice;
    case Kind::boolean: return type.kind != ParameterType::Kind::boolean;
    case Kind::integer:
        return type.kind == ParameterType::Kind::string || type.kind == ParameterType::Kind::boolean ||
               type.kind == ParameterType::Kind::dtype;
    case Kind::real: return type.kind != ParameterType::Kind::real && type.kind != ParameterType::Kind::number;
    default: return false;
    }
}

}  // namespace

// The default of `a | b | c`: one of them, with or without quotes.
SyntaxPointer Parser::choice_default(const ParameterType& type) {
    Token token = peek();
    if (token.kind != Token::Kind::name && token.kind != Token::Kind::text) fail_expected("one of the choices");
    take();
    if (std::find(type.choices.begin(), type.choices.end(), token.text) == type.choices.end() && token.text != "none") {
        std::string nearest = nearest_name(token.text, type.choices);
        fail(place(token), "language.parameter_default", fmt::format("`{}` is not one of the choices", token.text),
             nearest.empty() ? "" : fmt::format("did you mean {}?", nearest));
    }
    auto made = make(token.is_word("none") ? Kind::none : Kind::text, token);
    if (made->kind == Kind::text) made->text = token.text;
    return finish(made, token);
}

// `>= lowest` and `<= highest`, each at most once, in any order.
void Parser::range(ParameterType& type) {
    using enum ParameterType::Kind;
    while (at(">=") || at("<=")) {
        const Token sign = take();
        if (type.kind != integer && type.kind != real && type.kind != number) {
            fail(place(sign), "language.parameter_type", "only numbers have a range",
                 "leave the bound out, or make the parameter an int, a float or a number");
        }
        SyntaxPointer& bound = sign.is(">=") ? type.lowest : type.highest;
        if (bound) fail(place(sign), "language.parameter_type", "this bound is given twice", "leave one of them out");
        bound = sum();
    }
}

Parameter Parser::parameter() {
    Parameter made;
    ParameterType& type = made.type;
    Token first = peek();
    auto known = parameter_kinds().find(first.text);
    bool is_choice = peek(1).is("|") || first.kind == Token::Kind::text;
    if (is_choice) {
        type.kind = ParameterType::Kind::choice;
        do {
            if (peek().kind != Token::Kind::name && peek().kind != Token::Kind::text) fail_expected("a choice");
            type.choices.push_back(take().text);
        } while (accept("|"));
    } else if (first.kind == Token::Kind::name && known != parameter_kinds().end()) {
        take();
        type.kind = known->second;
    } else {
        if (first.kind == Token::Kind::integer || first.kind == Token::Kind::real) {
            auto number = std::string_view(fragment_.text).substr(first.offset, first.length);
            fail(place(first), "language.parameter_type", fmt::format("`{}` is a value, and not a type", number),
                 fmt::format("write the type before it: {} = {}", first.kind == Token::Kind::integer ? "int" : "float",
                             number));
        }
        if (first.kind != Token::Kind::name) fail_expected("a parameter's type");
        std::vector<std::string> names;
        for (const auto& [name, kind] : parameter_kinds()) names.push_back(name);
        std::string nearest = nearest_name(first.text, names);
        fail(place(first), "language.parameter_type", fmt::format("`{}` is not a type of parameters", first.text),
             nearest.empty() ? "write int, float, bool, string, dtype, number, axis(X), axes(X), or a | b | c"
                             : fmt::format("did you mean {}?", nearest));
    }
    if (type.kind == ParameterType::Kind::axis || type.kind == ParameterType::Kind::axes) {
        expect("(");
        type.of = expression();
        expect(")");
    }
    if (accept("[")) {
        type.is_list = true;
        if (!at("]")) type.length = expression();
        expect("]");
    }
    range(type);
    Token mark = peek();
    if (accept("?")) {
        made.default_value = finish(make(Kind::none, mark), mark);
    } else if (accept("=")) {
        made.default_value = is_choice ? choice_default(type) : expression();
        if (contradicts(type, *made.default_value)) {
            fail(made.default_value->place, "language.parameter_default",
                 fmt::format("the default is {}, which is not of the parameter's type", name(made.default_value->kind)),
                 "change the type or the default");
        }
    }
    expect_end();
    return made;
}

Iteration Parser::iteration() {
    Iteration made;
    Token name = peek();
    if (name.kind != Token::Kind::static_name) fail_expected("`$i < count`");
    take();
    made.name = name.text;
    made.place = place(name);
    expect("<");
    made.count = sum();
    expect_end();
    return made;
}

std::vector<std::string> Parser::type_words() {
    std::vector<std::string> words;
    if (!accept("(")) {
        words.push_back(take_name("a type, as HostRing64Tensor").text);
        return words;
    }
    while (!at(")")) {
        words.push_back(take_name("a type, as HostRing64Tensor").text);
        if (!accept(",")) break;
    }
    expect(")");
    return words;
}

std::vector<std::string> Parser::flavour_words() {
    std::vector<std::string> words;
    while (peek().kind == Token::Kind::name) {
        Token word = take();
        if (word.text != "concrete" && word.text != "transparent") {
            fail(place(word), "language.kernel_row", fmt::format("`{}` is not a flavour", word.text),
                 "write concrete (the kernel opens the value) or transparent (it passes it on unopened)");
        }
        words.push_back(word.text);
        if (!accept(",")) break;
    }
    return words;
}

KernelRow Parser::kernel_row() {
    KernelRow row;
    row.text = fragment_.text;
    row.place = fragment_.whole();
    expect("(");
    row.placement = take_name("a placement").text;
    expect(",");
    row.arguments = type_words();
    expect("->");
    row.results = type_words();
    const bool around = !accept(")");  // the bracket around the whole row: (placement, (A) -> B => [..] => kernel)
    expect("=>");
    Token open = peek();
    expect("[");
    if (at_word("runtime")) {
        take();
        row.runtime = true;
    } else {
        row.argument_flavours = flavour_words();
        expect("->");
        row.result_flavours = flavour_words();
    }
    expect("]");
    auto check = [&](size_t flavours, size_t types, std::string_view what) {
        if (row.runtime || flavours == types) return;
        fail(place_since(open), "language.kernel_row",
             fmt::format("{} {}, but {} of their flavours", types, what, flavours),
             "write one flavour per argument and result, or [runtime]");
    };
    check(row.argument_flavours.size(), row.arguments.size(), "argument types");
    check(row.result_flavours.size(), row.results.size(), "result types");
    do {
        expect("=>");
        if (at_word("Self") && peek(1).is("::")) take(), take();  // a kernel of the operator itself
        row.stages.push_back(take_name("a kernel's name").text);
    } while (around ? !accept(")") : !at_end());
    expect_end();
    return row;
}

namespace {

template <typename Answer, typename Rule>
std::optional<Answer> parse_piece(const Fragment& fragment, DiagnosticSink& sink, const Rule& rule) {
    Parser parser(fragment, tokenize(fragment, sink), sink);
    try {
        return rule(parser);
    } catch (const ParseFailure&) {
        return std::nullopt;
    }
}

}  // namespace

std::optional<Parameter> parse_parameter(const Fragment& fragment, DiagnosticSink& sink) {
    return parse_piece<Parameter>(fragment, sink, [](Parser& parser) { return parser.parameter(); });
}
std::optional<Parser::TensorType> parse_tensor_type(const Fragment& fragment, bool is_input, DiagnosticSink& sink) {
    return parse_piece<Parser::TensorType>(fragment, sink,
                                           [&](Parser& parser) { return parser.tensor_type(is_input); });
}
std::optional<Iteration> parse_iteration(const Fragment& fragment, DiagnosticSink& sink) {
    return parse_piece<Iteration>(fragment, sink, [](Parser& parser) { return parser.iteration(); });
}
std::optional<KernelRow> parse_kernel_row(const Fragment& fragment, DiagnosticSink& sink) {
    return parse_piece<KernelRow>(fragment, sink, [](Parser& parser) { return parser.kernel_row(); });
}

}  // namespace heddle
