#include "language/keys.h"

#include <array>

namespace heddle {
namespace {

constexpr std::array file_keys = {
    FileKey{"doc", "text", "What the file is about."},
    FileKey{"import", "texts", "Files whose operators and functions this one uses."},
    FileKey{"let", "text", "Functions, one a line: wrap(i, n) = i < 0 ? i + n : i"},
    FileKey{"rewrites", "rules", "Rewrite rules, from their names."},
};

constexpr std::array metakernel_keys = {
    FileKey{"doc", "text", "One sentence, then more."},
    FileKey{"params", "parameters", "Arguments that are not tensors: type, default."},
    FileKey{"inputs", "inputs", "Tensors that are read: \"$T[$n]\", with ? optional, with * variadic."},
    FileKey{"outputs", "outputs", "Tensors that are made: \"$T\" has the index's shape."},
    FileKey{"constraints", "constraints", "Sets of dtypes, {T: [float32]}; require: conditions with messages."},
    FileKey{"let", "text", "Static values, one a line: $name = expression."},
    FileKey{"index", "text", "The operation index space: \"[$n, m = $a * $b]\"."},
    FileKey{"each", "text", "One operation for each value: \"$i < count\"."},
    FileKey{"body", "text", "The arithmetic: y = expression."},
    FileKey{"graph", "text", "Instead of a body: calls of other operators."},
    FileKey{"kernels", "kernels", "Implementations outside of the language."},
    FileKey{"reduces", "reduces",
            "Dimensions outside of the index, and what joins results for parts of them: {inner: sum}."},
    FileKey{"grad", "text", "A gradient rule that replaces the derived one."},
    FileKey{"family", "family", "One template, many members: what each puts in place of $name."},
    FileKey{"onnx", "onnx", "The ONNX operator that this metakernel stands for."},
};

// The first one is an input's alone, the last one an output's.
constexpr std::array tensor_keys = {
    FileKey{"reads", "text", "Of a variadic input: the tensor that an operation of the `each` reads, where there is no body."},
    FileKey{"shape", "text", "An input's pattern, an output's expression: \"[$n, $m...]\"."},
    FileKey{"dtype", "text", "A dtype, or a variable: $T."},
    FileKey{"ipf", "projection", "The box of the tensor that belongs to a point of the index."},
    FileKey{"placement", "text", "Where the tensor lives."},
    FileKey{"flavour", "flavour", "Whether its value is opened when the operator is applied."},
    FileKey{"optional", "truth", "Whether it may be left out."},
    FileKey{"variadic", "truth", "Whether it is a list of tensors."},
    FileKey{"doc", "text", "What it is."},
    FileKey{"overwrites", "text", "The input whose memory the output may take."},
};

constexpr std::array parameter_keys = {
    FileKey{"type", "text", "int, float, bool, string, dtype, number, axis($x), axes($x), int[n], a | b."},
    FileKey{"default", "text", "Its value where none is given."},
    FileKey{"doc", "text", "What it is."},
};

constexpr std::array constraint_keys = {
    FileKey{"require", "requirements", "Pairs of a condition and a message."},
};

constexpr std::array projection_keys = {
    FileKey{"affineMap", "affine_map", "Where a point's box begins."},
    FileKey{"map", "structured", "affineMap, in short."},
    FileKey{"shape", "structured", "The extents of a point's box."},
    FileKey{"clip", "structured", "What boxes are clipped to."},
    FileKey{"rows", "structured", "Rows that no affine map expresses."},
};

constexpr std::array affine_map_keys = {
    FileKey{"projection", "structured", "A row of coefficients for each dimension."},
    FileKey{"offset", "structured", "One number for each dimension."},
};

constexpr std::array onnx_keys = {
    FileKey{"domain", "text", "The operator's domain; ai.onnx where left out."},
    FileKey{"name", "text", "The operator's name; the metakernel's where left out."},
    FileKey{"since", "version", "The first opset that means this."},
};

constexpr std::array rule_keys = {
    FileKey{"match", "text", "What is replaced: a call of an operator."},
    FileKey{"replace", "text", "What it is replaced by."},
    FileKey{"params", "parameters", "What must be said to apply the rule."},
    FileKey{"let", "text", "Static values, one a line: $name = expression."},
    FileKey{"require", "requirements", "Pairs of a condition and a message."},
    FileKey{"doc", "text", "One sentence, then more."},
};

}  // namespace

std::span<const FileKey> keys_of(KeyOwner owner) {
    switch (owner) {
    case KeyOwner::file: return file_keys;
    case KeyOwner::metakernel: return metakernel_keys;
    case KeyOwner::input: return std::span<const FileKey>(tensor_keys).first(tensor_keys.size() - 1);
    case KeyOwner::output: return std::span<const FileKey>(tensor_keys).subspan(1);
    case KeyOwner::parameter: return parameter_keys;
    case KeyOwner::constraints: return constraint_keys;
    case KeyOwner::projection: return projection_keys;
    case KeyOwner::affine_map: return affine_map_keys;
    case KeyOwner::onnx: return onnx_keys;
    case KeyOwner::rule: return rule_keys;
    }
    return {};
}

std::vector<std::string> key_names(KeyOwner owner) {
    std::vector<std::string> names;
    for (const FileKey& key : keys_of(owner)) names.emplace_back(key.name);
    return names;
}

}  // namespace heddle
