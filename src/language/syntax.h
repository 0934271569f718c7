// The syntax tree of the template language: expressions, list elements, shape patterns, statements and index projection
// functions, each node with its place in the source. Trees are immutable and shared; splicing a family member's value
// shares its nodes. Nothing later needs the text again.
//
// Sigils are worlds and are explicit: `$name` is `static_name`, `@name` is `index_name`, a bare name is `name`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/source_text.h"

namespace heddle {

struct Syntax;
using SyntaxPointer = std::shared_ptr<const Syntax>;

// `name < extent`, or `name in list`. Binds `name` (a bare name) in what follows it. In a reduction the range may be a
// part of it that elements decide: `name < extent from first to end`.
struct Generator {
    enum class Kind : uint8_t { below, in };
    Kind kind = Kind::below;
    std::string name;
    SyntaxPointer range;       // the extent, or the list
    Place place;               // of the name
    SyntaxPointer first, end;  // of a reduction: null where the range has its own

    bool is_part() const { return first || end; }
};

// `name: value` in a call; a field of a structured index projection function.
struct NamedArgument {
    std::string name;
    SyntaxPointer value;
    Place place;  // of the name
};

struct Syntax {
    enum class Kind : uint8_t {
        // ---- expressions
        integer,         // `integer`
        real,            // `real`; 1.5, 2e3, inf, nan, pi
        text,            // 'text' without its quotes, `''` undone
        boolean,         // `integer` is 0 or 1
        none,            // none
        static_name,     // $name; `text` is the name without sigil. `$.index` is $index
        index_name,      // @name; `text` is the name
        index_all,       // @ alone: the list of all coordinates
        name,            // a bare name: element, let, local variable; a dtype name; an operator in a graph
        unknown_extent,  // ?name: an extent that is data
        unary,           // `text` is "-" or "!"; children: operand
        binary,          // `text` is the operator, one of ^ * / // % + - == != < <= > >= && ||; children: left, right
        conditional,     // children: condition, then, else
        subscript,       // base[elements]; children: base, then the elements. `x[]` has no elements
        slice,           // base[from:to]; children: base, from, to; an end left out is null
        attribute,       // base.name; children: base; `text` is the name
        fill,            // `value...` before `[`, as in 1...[:$axis]; children: the value
        guard,           // access ?? otherwise; children: access, otherwise
        call,            // text(children..., named...); children are elements (a spread may occur); see `reduction`
        reduction,       // text(generators if filter : children[0]); `text` is sum prod min max any all mean argmin
                         // argmax count first order
        list,            // [elements]; children are elements
        comprehension,   // [children[0] for generators if filter]; children[0] is an element (a spread may occur)
        scoped,          // what a function gives, behind its lets; children: the lets, then the value
        // ---- elements: what else may stand in a list, a subscript, an index, an output's shape
        whole,          // *: the whole dimension
        wildcard,       // _
        ranged,         // start :> extent; children: start (may be `whole`), extent
        spread,         // element...  or  element...{count}; children: element, then the count if one is given.
                        // A bare `...` is a spread of integer 1 with `text` "..."
        named_element,  // name = element, in an index; `text` is the name; children: the element
        binder,         // name < extent as a left coordinate; `text` is the name; children: the extent
        // ---- shape patterns of inputs. A dimension that must equal a value is that expression itself
        pattern,          // [dimensions]; children
        dimension,        // $name: one dimension; `text` is the name; see `broadcast`, `collector`
        dimensions,       // $name...  or  $name...{count}; `text` is the name; children: the count if one is given
        dimension_group,  // $name=(members); `text` is the name; children: dimension patterns
        any_dimension,    // _
        any_dimensions,   // _...
        // ---- statements
        let,             // let text = value; with generators: let text[j < n, ...] = value, a local array
        equation,        // text[children] = value from initial; see `pick`, `has_left`
        parallel_block,  // for generators: children (statements)
        scan_block,      // scan generators[0] until filter: children (statements)
        assignment,      // in a graph: children (names) = value
        // ---- index projection functions
        rows,        // children: one element per tensor dimension (`whole`, `ranged`, an expression, a spread)
        diagonal,    // children: the coefficients (elements); `offset` and `extents` are lists, null if not given
        structured,  // named: projection (list of lists), offset, shape, and where given clip, rows, map
    };

    Kind kind = Kind::none;
    Place place;  // of the whole construct; of a binary, its operator's operands included
    std::string text;
    int64_t integer = 0;
    double real = 0;
    std::vector<SyntaxPointer> children;
    std::vector<Generator> generators;  // reduction, comprehension, let, parallel_block, scan_block; in source order
    std::vector<NamedArgument> named;   // call, structured
    SyntaxPointer filter;   // reduction, comprehension: the condition after `if`, or null; scan_block: after `until`
    SyntaxPointer value;    // let, equation, assignment
    SyntaxPointer initial;  // equation: the expression after `from`, or null
    SyntaxPointer pick;     // equation: the `[$i]` of a variadic output, or null
    SyntaxPointer offset, extents;  // diagonal
    std::string collector;          // dimension, dimensions, dimension_group: `i` of `[$i]`, or empty
    bool broadcast = false;         // dimension, dimensions: written with ~
    bool has_left = false;          // equation: left coordinates were written (`y[] =` differs from `y =`)
    // Levels of nodes from here down, 1 for a leaf: bounded, so that recursion over a tree is safe.
    int height = 1;
    // Where a binary's operator, an attribute's or call's name stands; else the same as `place`.
    Place mark;
};

// Kind as a word, for messages.
std::string_view name(Syntax::Kind kind);

// The tree in the language's own notation; parses back to an equal tree. Parentheses only where precedence asks for
// them.
std::string print(const Syntax& syntax);
// A statement with its blocks, one line each, indented by `indent` spaces, each ending in a line end.
std::string print_statement(const Syntax& statement, int indent = 0);

// An expression as written may be this high (`height`) and nested this deep in brackets; splicing a family's values
// into a template's may double it.
inline constexpr int nesting_limit = 200;

// Same tree, places apart.
bool equal(const Syntax& a, const Syntax& b);

// Calls visit(node) for `syntax` and all nodes below it, parents first, in source order.
template <typename Visit>
void visit_all(const SyntaxPointer& syntax, const Visit& visit) {
    if (!syntax) return;
    visit(*syntax);
    for (const auto& generator : syntax->generators)
        for (const SyntaxPointer* part : {&generator.range, &generator.first, &generator.end}) visit_all(*part, visit);
    visit_all(syntax->pick, visit);
    for (const auto& child : syntax->children) visit_all(child, visit);
    for (const auto& argument : syntax->named) visit_all(argument.value, visit);
    visit_all(syntax->filter, visit);
    visit_all(syntax->value, visit);
    visit_all(syntax->initial, visit);
    visit_all(syntax->offset, visit);
    visit_all(syntax->extents, visit);
}

}  // namespace heddle
