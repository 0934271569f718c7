#include "language/syntax.h"

#include <cmath>

namespace heddle {

std::string_view name(Syntax::Kind kind) {
    switch (kind) {
        using enum Syntax::Kind;
    case integer: return "an integer";
    case real: return "a number";
    case text: return "text";
    case boolean: return "a truth value";
    case none: return "none";
    case static_name: return "a static name";
    case index_name: return "a coordinate";
    case index_all: return "all coordinates";
    case Syntax::Kind::name: return "a name";
    case unknown_extent: return "an unknown extent";
    case unary: return "a unary operator";
    case binary: return "a binary operator";
    case conditional: return "a condition";
    case subscript: return "a subscript";
    case slice: return "a slice";
    case attribute: return "an attribute";
    case fill: return "a fill";
    case guard: return "a guarded read";
    case call: return "a call";
    case reduction: return "a reduction";
    case list: return "a list";
    case comprehension: return "a comprehension";
    case scoped: return "lets and a value";
    case whole: return "a whole dimension";
    case wildcard: return "a wildcard";
    case ranged: return "a range";
    case spread: return "an expansion";
    case named_element: return "a named element";
    case binder: return "a bound coordinate";
    case pattern: return "a shape pattern";
    case dimension: return "a dimension";
    case dimensions: return "dimensions";
    case dimension_group: return "a group of dimensions";
    case any_dimension: return "any dimension";
    case any_dimensions: return "any dimensions";
    case let: return "a let";
    case equation: return "an equation";
    case parallel_block: return "a for";
    case scan_block: return "a scan";
    case assignment: return "an assignment";
    case rows: return "rows";
    case diagonal: return "a diagonal";
    case structured: return "a structured projection";
    }
    return "";
}

namespace {

bool equal(const SyntaxPointer& a, const SyntaxPointer& b) { return a && b ? equal(*a, *b) : a == b; }

template <typename T, typename Same>
bool equal_lists(const std::vector<T>& a, const std::vector<T>& b, const Same& same) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); i++) {
        if (!same(a[i], b[i])) return false;
    }
    return true;
}

bool equal_reals(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

bool equal(const Syntax& a, const Syntax& b) {
    if (&a == &b) return true;
    auto same_generator = [](const Generator& x, const Generator& y) {
        return x.kind == y.kind && x.name == y.name && equal(x.range, y.range) && equal(x.first, y.first) &&
               equal(x.end, y.end);
    };
    auto same_argument = [](const NamedArgument& x, const NamedArgument& y) {
        return x.name == y.name && equal(x.value, y.value);
    };
    return a.kind == b.kind && a.text == b.text && a.integer == b.integer && equal_reals(a.real, b.real) &&
           a.collector == b.collector && a.broadcast == b.broadcast && a.has_left == b.has_left &&
           equal_lists(a.children, b.children, [](const auto& x, const auto& y) { return equal(x, y); }) &&
           equal_lists(a.generators, b.generators, same_generator) && equal_lists(a.named, b.named, same_argument) &&
           equal(a.filter, b.filter) && equal(a.value, b.value) && equal(a.initial, b.initial) &&
           equal(a.pick, b.pick) && equal(a.offset, b.offset) && equal(a.extents, b.extents);
}

}  // namespace heddle
