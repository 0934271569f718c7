// A metakernel template as loaded from a file: all sections parsed, short forms opened, families expanded, and every
// check done that needs no tensors (docs/language.md). Its meaning is given by symbolic execution.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "language/syntax.h"
#include "support/diagnostic.h"
#include "support/dtype.h"

namespace heddle {

// The type of a parameter: "int", "float[$x.rank]", "int >= 1 <= 8", "axis($x) = -1", "constant | reflect = constant".
struct ParameterType {
    // `any` is never written: a value that a rewrite rule's match has bound.
    enum class Kind : uint8_t { integer, real, boolean, string, dtype, number, axis, axes, choice, any };
    Kind kind = Kind::integer;
    bool is_list = false;              // int[], int[n]; `axes` is a list by itself
    SyntaxPointer length;              // of int[n]: a static expression; a scalar argument repeats. Null: any length
    SyntaxPointer of;                  // axis(X), axes(X): an input ($x, $tensors[0]) or a rank ($x.rank + 1)
    SyntaxPointer lowest, highest;     // of numbers: >= lowest, <= highest, static; null: no bound
    std::vector<std::string> choices;  // a | b | c; the value is one of these texts
};

struct Parameter {
    std::string name;
    ParameterType type;
    SyntaxPointer default_value;  // static; null if the argument must be given. A choice's default is a `text` node
    Place place;                  // of the name
};

enum class Flavour : uint8_t { any, concrete, transparent };

// An input or an output.
struct TensorSpec {
    std::string name;
    // An input: a `pattern` node. An output: a `list` node, or null for its default: the first output of a template
    // without shape, and every other output without one, has the shape of the index.
    SyntaxPointer shape;
    // A static expression: $name (binds in an input), a dtype's bare name, a call. Null if not given: any dtype.
    SyntaxPointer dtype;
    SyntaxPointer ipf;  // rows, diagonal or structured; null if not given
    // A variadic input of a template without a body: the tensor that an operation of the `each` reads, or a list of them.
    // Null: all.
    SyntaxPointer reads;
    std::string placement;
    Flavour flavour = Flavour::any;
    bool optional = false;
    bool variadic = false;
    std::string overwrites;  // an output: the input that it updates in place; empty if none
    std::string doc;
    Place place;  // of the name
    Place overwrites_place;
};

// $name takes one of these dtypes.
struct DTypeConstraint {
    std::string name;  // "T" of {T: [float32, float64]}
    // As written. `complex64` and the like are allowed here though no tensor of ours has them.
    std::vector<std::string> dtype_names;
    Place place;
};

struct Requirement {
    SyntaxPointer condition;
    std::string message;
};

struct StaticLet {
    std::string name;  // without sigil
    SyntaxPointer value;
    Place place;
};

// `each: "$i < count"`: one operation per value.
struct Iteration {
    std::string name;
    SyntaxPointer count;
    Place place;
};

// One row of `kernels`: "(placement, (arguments) -> results) => [flavours] => stage => kernel".
struct KernelRow {
    std::string text;  // as written
    std::string placement;
    std::vector<std::string> arguments, results;                  // type words: "HostRing64Tensor"
    bool runtime = false;                                         // [runtime]
    std::vector<std::string> argument_flavours, result_flavours;  // "concrete" or "transparent"; empty if `runtime`
    std::vector<std::string> stages;  // from left to right: one is the kernel, the others convert
    Place place;
};

// `reduces: {inner: sum}`: on parts of the inputs' dimensions `$inner` the operator gives results that the combiner
// joins to the result of the whole.
struct Reduces {
    std::string axis;
    std::string combiner;  // a built-in one, or an operator of two tensors
    Place place, combiner_place;
};
// sum prod min max any all
bool is_combiner(std::string_view name);

// A user's function: `wrap(i, n) = i < 0 ? i + n : i`. Its parameters are bare names of its body. One of two
// parameters, `f(a, b) = ... from neutral`, also joins the terms of a reduction: f(k < n : ...).
struct FunctionLet {
    std::string name;
    std::vector<std::string> parameters;
    SyntaxPointer value;
    Place place;
    SyntaxPointer neutral;  // static, and changes nothing; null if it joins no terms
};
using FunctionTable = std::map<std::string, FunctionLet>;

struct OnnxKey {
    std::string domain;  // empty: ONNX's own
    std::string name;
    int64_t since = 1;
};

// Where a template's name counts. Names of `onnx` templates may equal core names: they are found by `find_onnx`, or by
// the compositions of the same namespace.
enum class Namespace : uint8_t { core, onnx };

struct Template {
    std::string name;
    std::string doc;
    std::vector<Parameter> params;
    std::vector<TensorSpec> inputs;
    std::vector<TensorSpec> outputs;
    std::vector<DTypeConstraint> dtypes;
    std::vector<Requirement> requirements;
    std::vector<StaticLet> lets;  // in source order; order has no meaning
    SyntaxPointer index;          // a `list` node, or null: the first output's shape
    std::optional<Iteration> each;
    std::vector<SyntaxPointer> body;   // statements; empty if there is none
    std::vector<SyntaxPointer> graph;  // assignments; empty if there is none
    std::vector<KernelRow> kernels;
    std::vector<Reduces> reduces;
    std::vector<SyntaxPointer> grad;  // assignments of a gradient rule that replaces the derived one
    std::optional<OnnxKey> onnx;
    Namespace space = Namespace::core;
    std::string library;      // the namespace of the user's library that holds it; empty: none has a name for it
    bool is_program = false;  // text that the user has given to be run, which no library holds
    std::shared_ptr<const FunctionTable> functions;  // of its file and the file's imports; never null
    Place place;                                     // of the name

    const Parameter* parameter(const std::string& parameter_name) const;
    const TensorSpec* input(const std::string& input_name) const;
    const TensorSpec* output(const std::string& output_name) const;
    const StaticLet* let(const std::string& let_name) const;
    bool has_body() const { return !body.empty(); }
    bool is_composition() const { return !graph.empty(); }
};

// An axis of an index as its element names it. `$n`, `$n...` and `part = e` have a name; any other element has none
// and is read by position (@[0]).
struct TemplateAxis {     // not graph.h's IndexAxis, which is an axis with its extent
    std::string name;     // empty if it has none
    bool spread = false;  // `$batch...`: a list of axes
    SyntaxPointer element;
};
// The axes of the index (of the first output's shape where the index is left out), in order.
std::vector<TemplateAxis> index_axes(const Template& metakernel);

// What expressions in input patterns bind: `$half` of 2 * $half, the one name in it that nothing else binds, once in
// it, in sums, differences and products. Nodes of the patterns.
std::vector<const Syntax*> solved_names(const Template& metakernel);

// The calls of operators in a composition, or in a gradient rule, in source order. In a `graph:`, names are operators
// everywhere but in a condition, after `name:`, in a generator's range, a filter, a subscript or a spread's count:
// there they are functions.
std::vector<const Syntax*> operator_calls(const Template& composition);

// The rule `grad` of a template as a composition: its inputs are the template's inputs and outputs and "d_NAME" of each
// output, its outputs "d_NAME" of each input.
Template gradient_rule(const Template& metakernel);

// The whole template as readable text: signature, lets, index, body. For explain.
std::string print(const Template& metakernel);

// A rewrite rule of a file, parsed but not yet checked against types.
struct RewriteRule {
    std::string name;
    std::string doc;
    SyntaxPointer match, replace;
    std::vector<Parameter> params;
    std::vector<StaticLet> lets;
    std::vector<Requirement> requirements;
    std::shared_ptr<const FunctionTable> functions;  // as a template's
    std::string library;                             // as a template's
    Place place;
};

struct LoadedFile {
    std::shared_ptr<const SourceText> source;
    std::string doc;
    std::vector<std::shared_ptr<const Template>> templates;  // of this file, families expanded, in source order
    std::vector<RewriteRule> rewrites;
    std::shared_ptr<const FunctionTable> functions;  // own and imported
    std::vector<std::shared_ptr<const LoadedFile>> imports;
};

// Gives the text that an `import` names, or diagnostics. `place` is that of the name in the importing file.
using ImportReader =
    std::function<Result<std::shared_ptr<const SourceText>>(const std::string& path, const Place& place)>;

// Reads one template file: a pure function of the text (and of what `reader` gives). All independent errors at once.
// Without a reader an import is an error. Never throws; time and memory are bounded by the size of the text.
// `library` is the namespace of a user's library.
Result<LoadedFile> load_template_file(std::shared_ptr<const SourceText> source, Namespace space = Namespace::core,
                                      const ImportReader& reader = {}, const std::string& library = {});

// ---- for tools and tests: the parsers of single pieces. The text is the whole source.
Result<SyntaxPointer> parse_expression(std::shared_ptr<const SourceText> source);
Result<SyntaxPointer> parse_pattern(std::shared_ptr<const SourceText> source);
Result<SyntaxPointer> parse_ipf(std::shared_ptr<const SourceText> source);
Result<std::vector<SyntaxPointer>> parse_body(std::shared_ptr<const SourceText> source);

}  // namespace heddle
