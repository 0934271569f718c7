#include "language/names.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "language/functions.h"
#include "language/parser.h"

namespace heddle {

using Kind = Syntax::Kind;

std::string_view name(BareName::Kind kind) {
    switch (kind) {
    case BareName::Kind::input: return "an input";
    case BareName::Kind::output: return "an output";
    case BareName::Kind::let: return "a let";
    case BareName::Kind::local: return "a local array";
    case BareName::Kind::state: return "a state";
    case BareName::Kind::variable: return "a variable";
    case BareName::Kind::result: return "a result";
    }
    return "";
}

namespace {

std::string asked(const std::string& nearest, const char* sigil = "") {
    return nearest.empty() ? std::string() : fmt::format("did you mean {}{}?", sigil, nearest);
}

std::vector<std::string> keys(const std::set<std::string>& set) { return {set.begin(), set.end()}; }

template <typename Value>
std::vector<std::string> keys(const std::map<std::string, Value>& map) {
    std::vector<std::string> names;
    for (const auto& [name, value] : map) names.push_back(name);
    return names;
}

using Pair = std::pair<std::string_view, std::string_view>;

template <size_t Count>
std::string_view looked_up(const std::array<Pair, Count>& table, std::string_view key) {
    auto found = std::find_if(table.begin(), table.end(), [&](const Pair& pair) { return pair.first == key; });
    return found == table.end() ? std::string_view() : found->second;
}

// What NumPy and the frameworks call it, and what it is here.
constexpr std::array<Pair, 19> foreign_functions = {{
    {"norm", "sqrt(sum(k < $n : x[k] * x[k]))"},
    {"clz", "leading_zeros(x)"},
    {"ctz", "trailing_zeros(x)"},
    {"bit_count", "popcount(x)"},
    {"lgamma", "Stirling's series: the language has no gamma functions"},
    {"maximum", "max(a, b)"},
    {"minimum", "min(a, b)"},
    {"power", "a ^ b, or pow(a, b)"},
    {"absolute", "abs(x)"},
    {"fabs", "abs(x)"},
    {"mod", "a % b"},
    {"fmod", "trunc_rem(a, b)"},
    {"astype", "cast(x, $T), or float32(x)"},
    {"relu", "max(x, 0)"},
    {"square", "x * x"},
    {"select", "condition ? a : b"},
    {"logical_and", "a && b"},
    {"logical_or", "a || b"},
    {"logical_not", "!a"},
}};

constexpr std::array<Pair, 5> foreign_dtypes = {{
    {"float", "float32"},
    {"double", "float64"},
    {"half", "float16"},
    {"int", "int64"},
    {"long", "int64"},
}};

// How a call with so many arguments looks.
std::string form_of(const std::string& function, int count) {
    if (const FunctionInfo* known = function_named(function); known && !known->form.empty())
        return std::string(known->form);
    std::string arguments;
    for (int i = 0; i < count; i++) arguments += fmt::format("{}{}", i ? ", " : "", static_cast<char>('a' + i % 26));
    return fmt::format("{}({})", function, arguments);
}

// `sum(k < $n, x[k])`: a reduction with a comma where its colon belongs.
bool looks_like_reduction(const Syntax& call) {
    return is_reduction_name(call.text) && call.children.size() > 1 && call.children[0]->kind == Kind::binary &&
           call.children[0]->text == "<" && call.children[0]->children[0]->kind == Kind::name;
}

}  // namespace

std::vector<std::string> callable_names(const FunctionTable& functions) {
    std::vector<std::string> names = function_names();
    for (const auto& [name, function] : functions) names.push_back(name);
    for (const char* name : {"mean", "argmin", "argmax", "count", "first", "order"}) names.emplace_back(name);
    return names;
}

bool NameChecker::declare(const std::string& name, BareName::Kind kind, const Place& place) {
    auto [found, fresh] = scope.try_emplace(name, BareName{kind, place});
    if (fresh) return true;
    report({.code = "language.shadowing",
            .summary = fmt::format("`{}` already names {}", name, heddle::name(found->second.kind)),
            .place = place,
            .reason = "a name means one thing wherever it can be seen",
            .remedy = "choose another name",
            .contexts = {{"the other is here", found->second.place}}});
    return false;
}

void NameChecker::check_static_name(const std::string& name, const Place& place) {
    if (statics.contains(name) || name == "index" || failed.contains(name)) return;
    if (axes.contains(name) && !coordinates_allowed) {
        report(
            {.code = "language.unbound_static",
             .summary = fmt::format("nothing binds ${}", name),
             .place = place,
             .reason = "an axis `$name` of the index takes its extent from an input, a parameter or a let of that name",
             .remedy = fmt::format("bind it in an input's shape, or by a let: ${0} = ...; an axis that the index alone "
                                   "needs has its extent there: {0} = ...",
                                   name)});
        return;
    }
    if (axes.contains(name)) {
        report({.code = "language.unbound_static",
                .summary = fmt::format("nothing binds ${}", name),
                .place = place,
                .reason = fmt::format("{} is an axis of the index", name),
                .remedy = fmt::format("did you mean @{}?", name)});
        return;
    }
    std::string remedy = asked(nearest_name(name, keys(statics)), "$");
    if (scope.contains(name)) remedy = fmt::format("did you mean {} without `$`?", name);
    if (remedy.empty()) remedy = fmt::format("bind it in an input's shape or dtype, or write a let: ${} = ...", name);
    report({.code = "language.unbound_static",
            .summary = fmt::format("nothing binds ${}", name),
            .place = place,
            .reason = "a `$` name is bound by a parameter, an input's shape or dtype, a let or each",
            .remedy = remedy});
}

void NameChecker::check_coordinate(const Syntax& node) {
    if (!coordinates_allowed) {
        report({.code = "language.coordinate_in_static",
                .summary = fmt::format("@{} has no value here", node.text),
                .place = node.place,
                .reason = "this expression is evaluated once, before there are index points",
                .remedy = node.text.empty() ? "" : fmt::format("did you mean ${}?", node.text)});
        return;
    }
    if (node.text.empty() || axes.contains(node.text) || failed.contains(node.text)) return;
    std::string remedy = asked(nearest_name(node.text, keys(axes)), "@");
    if (scope.contains(node.text)) remedy = fmt::format("did you mean {} without `@`?", node.text);
    if (remedy.empty() && axes.empty()) remedy = fmt::format("name an axis in the index: [{} = EXTENT]", node.text);
    if (remedy.empty())
        remedy = fmt::format("{}; the index has {}",
                             statics.contains(node.text) ? fmt::format("write ${} in the index", node.text)
                                                         : fmt::format("write {} = EXTENT in the index", node.text),
                             fmt::format("@{}", fmt::join(keys(axes), ", @")));
    report({.code = "language.unknown_coordinate",
            .summary = fmt::format("the index has no axis named {}", node.text),
            .place = node.place,
            .reason = "an axis is named by `$name`, `$name...` or `name = extent` in the index",
            .remedy = remedy});
}

void NameChecker::check_bare_name(const Syntax& node) {
    auto found = scope.find(node.text);
    if (found != scope.end()) {
        if (found->second.kind != BareName::Kind::output) return;
        report({.code = "language.output_read",
                .summary = fmt::format("`{}` is an output, and outputs are not read", node.text),
                .place = node.place,
                .remedy =
                    "name the value with let, and use that name here and in the output's equation; in a scan, make "
                    "it a state: s[t] = ... s[t - 1] ... from 0"});
        return;
    }
    if (is_dtype_name(node.text) || failed.contains(node.text)) return;
    if (coordinates_allowed && axes.contains(node.text)) {
        report({.code = "language.forgotten_at",
                .summary = fmt::format("nothing is named `{}`", node.text),
                .place = node.place,
                .reason = fmt::format("{} is an axis of the index", node.text),
                .remedy = fmt::format("did you mean @{}?", node.text)});
        return;
    }
    std::vector<std::string> known = keys(scope);
    for (std::string& dtype : dtype_names()) known.push_back(std::move(dtype));
    std::string remedy = statics.contains(node.text) ? fmt::format("did you mean ${}?", node.text)
                                                     : asked(nearest_name(node.text, known));
    if (std::string_view dtype = looked_up(foreign_dtypes, node.text); !dtype.empty() && !statics.contains(node.text))
        remedy = fmt::format("did you mean {}?", dtype);
    if (remedy.empty()) {
        remedy =
            coordinates_allowed
                ? fmt::format("make it an input, or name a value: let {} = ...", node.text)
                : fmt::format("did you mean ${}? What is known when an operator is applied begins with $", node.text);
    }
    report({.code = "language.unknown_name",
            .summary = fmt::format("nothing is named `{}`", node.text),
            .place = node.place,
            .remedy = remedy});
}

void NameChecker::check_extent(const Generator& generator) {
    check(generator.range);
    if (generator.kind != Generator::Kind::below) return;
    visit_all(generator.range, [&](const Syntax& node) {
        if ((node.kind != Kind::index_name && node.kind != Kind::index_all) || !coordinates_allowed) return;
        report({.code = "language.extent_not_static",
                .summary = fmt::format("the extent of `{}` depends on a coordinate", generator.name),
                .place = node.place,
                .reason = "extents are known before there are index points",
                .remedy = fmt::format("give a static bound, and behind it where the range ends: {} < $n to {}",
                                      generator.name, print(*generator.range))});
    });
}

void NameChecker::check_presence(const Syntax& node) {
    check_argument_count(node, 1, 1);
    if (node.children.empty()) return;
    const Syntax& asked_for = *node.children[0];
    bool is_name = asked_for.kind == Kind::name || asked_for.kind == Kind::static_name;
    if (is_name && (presence.contains(asked_for.text) || failed.contains(asked_for.text))) return;
    report(
        {.code = "language.unknown_name",
         .summary = "`has` asks for an input, an output or a parameter",
         .place = asked_for.place,
         .remedy = asked(is_name ? nearest_name(asked_for.text, {presence.begin(), presence.end()}) : std::string())});
}

void NameChecker::check_elements_allowed(const Syntax& node) {
    if (!static_only || coordinates_allowed) return;
    report({.code = "language.function_of_elements",
            .summary = fmt::format("`{}` gives an element, and there are none here", node.text),
            .place = node.mark,
            .reason = "this expression is evaluated when the operator is applied; its numbers have no dtype yet",
            .remedy = "compute it in a body"});
}

void NameChecker::check_argument_count(const Syntax& node, int least, int most) {
    const int given = static_cast<int>(node.children.size());
    if (!node.named.empty() && is_reduction_name(node.text)) {
        const std::string of = node.children.empty() ? "x" : print(*node.children[0]);
        report({.code = "language.function_arguments",
                .summary = fmt::format("`{}` has no `{}`: it reduces over a variable", node.text, node.named[0].name),
                .place = node.named[0].place,
                .remedy = fmt::format("write {}(k < $n : {}[..., k]), with k in the place of the axis", node.text, of)});
        return;
    }
    for (const auto& argument : node.named) {
        report({.code = "language.function_arguments",
                .summary = fmt::format("`{}` has no named arguments", node.text),
                .place = argument.place,
                .remedy = "only operators, in a graph, take `name: value`"});
    }
    bool expands = std::any_of(node.children.begin(), node.children.end(),
                               [](const SyntaxPointer& child) { return child->kind == Kind::spread; });
    if (expands || (given >= least && (most < 0 || given <= most))) return;
    std::string wanted = least == most ? std::to_string(least)
                         : most < 0    ? fmt::format("{} or more", least)
                                       : fmt::format("{} to {}", least, most);
    report({.code = "language.function_arguments",
            .summary = fmt::format("`{}` takes {} argument{}", node.text, wanted, wanted == "1" ? "" : "s"),
            .place = node.place,
            .expected = wanted,
            .found = std::to_string(given),
            .remedy = fmt::format("write {}", form_of(node.text, std::max(least, 1)))});
}

void NameChecker::check_call(const Syntax& node) {
    if (node.text == "has") return check_presence(node);
    if (looks_like_reduction(node)) {
        const std::string& variable = node.children[0]->children[0]->text;
        report({.code = "language.function_arguments",
                .summary = fmt::format("`{}` takes what it reduces after a colon", node.text),
                .place = node.place,
                .remedy = fmt::format("write {}({} < ... : ...)", node.text, variable)});
        return;
    }
    for (const auto& child : node.children) check(child);
    for (const auto& argument : node.named) check(argument.value);
    auto user = functions_.find(node.text);
    if (user != functions_.end()) {
        int count = static_cast<int>(user->second.parameters.size());
        return check_argument_count(node, count, count);
    }
    const FunctionInfo* known = function_named(node.text);
    const bool cast = is_dtype_name(node.text);
    if (known || cast) {
        if (cast || known->of_elements) check_elements_allowed(node);
        return cast ? check_argument_count(node, 1, 1) : check_argument_count(node, known->least, known->most);
    }
    if (failed.contains(node.text)) return;
    if (is_reduction_name(node.text)) {
        if (!node.named.empty()) return check_argument_count(node, 0, -1);
        report({.code = "language.function_arguments",
                .summary = fmt::format("`{}` reduces over a variable", node.text),
                .place = node.mark,
                .remedy = fmt::format("write {}(k < $n : x[k])", node.text)});
        return;
    }
    std::string remedy = asked(nearest_name(node.text, callable_names(functions_)));
    if (std::string_view here = looked_up(foreign_functions, node.text); !here.empty())
        remedy = fmt::format("write {}", here);
    if (remedy.empty()) remedy = "operators are called in a graph, not here; functions: docs/language.md, Bodies";
    report({.code = "language.unknown_function",
            .summary = fmt::format("no function is named `{}`", node.text),
            .place = node.mark,
            .remedy = remedy});
}

// A reduction by another name than those of the language.
void NameChecker::check_reducer(const Syntax& node) {
    if (failed.contains(node.text)) return;
    const auto own = functions_.find(node.text);
    if (own != functions_.end() && own->second.neutral) return;
    Complaint complaint{
        .code = "language.reducer",
        .summary = fmt::format("`{}` joins no terms", node.text),
        .place = node.mark,
        .reason =
            "sum, prod, min, max, any, all, mean, count, first, argmin and argmax do, and functions that "
            "say what changes nothing"};
    if (own == functions_.end()) complaint.remedy = asked(nearest_name(node.text, callable_names(functions_)));
    if (complaint.remedy.empty())
        complaint.remedy =
            fmt::format("write a function with what changes nothing: let: \"{}(a, b) = ... from 0\"", node.text);
    report(std::move(complaint));
}

void NameChecker::check_children(const Syntax& node) {
    for (const auto& child : node.children) check(child);
    for (const auto& argument : node.named) check(argument.value);
    check(node.offset);
    check(node.extents);
}

void NameChecker::check(const SyntaxPointer& syntax) {
    if (!syntax || sink_.full()) return;
    const Syntax& node = *syntax;
    switch (node.kind) {
    case Kind::static_name: return check_static_name(node.text, node.place);
    case Kind::index_name:
    case Kind::index_all: return check_coordinate(node);
    case Kind::name: return check_bare_name(node);
    case Kind::call: return check_call(node);
    case Kind::reduction:
        if (!is_reduction_name(node.text)) check_reducer(node);
        [[fallthrough]];
    case Kind::comprehension:
        with_generators(node.generators, [&] {
            check(node.filter);
            check_children(node);
        });
        return;
    case Kind::scoped: {
        std::vector<std::string> added;
        for (const auto& part : node.children) {
            if (part->kind != Kind::let) {
                check(part);
                continue;
            }
            with_generators(part->generators, [&] { check(part->value); });
            const auto kind = part->generators.empty() ? BareName::Kind::let : BareName::Kind::local;
            if (declare(part->text, kind, part->mark)) added.push_back(part->text);
        }
        for (const std::string& let : added) scope.erase(let);
        return;
    }
    case Kind::spread: {
        const Kind item = node.children[0]->kind;
        if (!fill_allowed && node.children.size() == 1 && (item == Kind::integer || item == Kind::real)) {
            report({.code = "language.fill_without_size",
                    .summary = "this fill has no size",
                    .place = node.place,
                    .reason = "only an index projection function describes a known number of dimensions",
                    .remedy = "say how many: 1...{$axis}"});
        }
        return check_children(node);
    }
    default: return check_children(node);
    }
}

void NameChecker::check_graph(const SyntaxPointer& syntax) {
    if (!syntax) return;
    const Syntax& node = *syntax;
    switch (node.kind) {
    case Kind::call:
        if (node.text == "has") return check(syntax);
        for (const auto& child : node.children) check_graph(child);
        for (const auto& argument : node.named) check(argument.value);
        return;
    case Kind::conditional:
        check(node.children[0]);
        check_graph(node.children[1]);
        check_graph(node.children[2]);
        return;
    case Kind::comprehension:
        with_generators(node.generators, [&] {
            check(node.filter);
            check_graph(node.children[0]);
        });
        return;
    case Kind::subscript:
    case Kind::slice:
    case Kind::spread:
        check_graph(node.children[0]);
        for (size_t i = 1; i < node.children.size(); i++) check(node.children[i]);
        return;
    case Kind::list:
        for (const auto& child : node.children) check_graph(child);
        return;
    default: return check(syntax);
    }
}

}  // namespace heddle
