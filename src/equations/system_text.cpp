#include "equations/system_text.h"

#include <fmt/format.h>

#include <set>

#include "equations/system.h"
#include "expr/expression_text.h"
#include "support/lexer.h"
#include "support/spelling.h"

namespace heddle::equations {
namespace {

// The equation's axes with names of their own.
ExpressionPrinter::AxisNames names_of_axes(const System& system, const Equation& equation) {
    ExpressionPrinter::AxisNames names;
    std::set<std::string> taken;
    for (const std::vector<AxisId>* list : {&equation.axes, &equation.reduced}) {
        for (AxisId axis : *list) {
            std::string wanted = system.arena->axis(axis).name;
            if (!is_identifier(wanted) || is_reserved_word(wanted)) wanted = "i";
            std::string unique = wanted;
            for (int number = 2; !taken.insert(unique).second; number++) unique = fmt::format("{}_{}", wanted, number);
            names.emplace_back(axis, unique);
        }
    }
    return names;
}

std::string axes_text(const System& system, const Equation& equation,
                      std::span<const std::pair<AxisId, std::string>> names) {
    std::string result;
    for (const auto& [id, name] : names) {
        const Axis& axis = system.arena->axis(id);
        if (!result.empty()) result += ", ";
        result += fmt::format("{} < {}", name, axis.extent);
        if (axis.named) result += axis.factor == axis.extent ? " named" : fmt::format(" named {}", axis.factor);
        if (id == equation.ordered) result += fmt::format(" ordered {}", equation.scan);
    }
    return result;
}

std::string equation_text(const System& system, const Equation& equation) {
    const auto names = names_of_axes(system, equation);
    const std::span axes(names);
    const size_t free = equation.axes.size();
    auto tensor_name = [&](TensorIndex t) { return quoted(system.tensor(t).name); };
    std::vector<Expr> roots = equation.left;
    roots.push_back(equation.right);
    const ExpressionPrinter printer(roots, names, tensor_name);
    std::string result;
    if (free > 0) result += fmt::format("  for {}:\n", axes_text(system, equation, axes.first(free)));
    for (const std::string& let : printer.lets()) result += fmt::format("    {}\n", let);
    std::string right = printer.text(equation.right);
    if (equation.reducer) {
        right =
            fmt::format("{}({} : {})", name(*equation.reducer), axes_text(system, equation, axes.subspan(free)), right);
    }
    return result + fmt::format("    {}[{}] = {}\n", tensor_name(equation.tensor), printer.list(equation.left), right);
}

std::string constant_text(const TensorData& data) {
    std::string result;
    for (int64_t i = 0; i < data.size(); i++) result += (i > 0 ? ", " : "") + element_text(data, i);
    return fmt::format(" = [{}]", result);
}

std::string declaration_text(const System& system, const SystemTensor& tensor) {
    std::string_view word = tensor.is_output ? "out" : "local";
    if (tensor.kind == SystemTensor::Kind::input) word = "in";
    if (tensor.kind == SystemTensor::Kind::constant) word = "const";
    if (tensor.kind == SystemTensor::Kind::opaque) word = "opaque";
    std::string result = fmt::format("  {} {}: {}[", word, quoted(tensor.name), name(tensor.dtype));
    for (size_t d = 0; d < tensor.shape.size(); d++) result += fmt::format("{}{}", d == 0 ? "" : ", ", tensor.shape[d]);
    result += "]";
    if (tensor.prepared) result += " prepared";
    if (tensor.keep_name) result += " kept";
    if (tensor.in_parts) result += " parts";
    if (tensor.storing == Storing::stored) result += " stored";
    if (tensor.storing == Storing::inlined) result += " inlined";
    if (tensor.constant && tensor.constant->size() <= printed_constant_limit) result += constant_text(*tensor.constant);
    if (tensor.kind == SystemTensor::Kind::opaque) {
        result += " from (";
        for (size_t i = 0; i < tensor.opaque_inputs.size(); i++) {
            result += (i == 0 ? "" : ", ") + quoted(system.tensor(tensor.opaque_inputs[i]).name);
        }
        result += ")";
    }
    return result + "\n";
}

}  // namespace

bool is_reserved_word(std::string_view name) {
    static const std::set<std::string_view> words = {
        "system", "in",   "out",   "local", "const", "opaque", "prepared", "kept",    "from",  "for",
        "let",    "true", "false", "inf",   "nan",   "data",   "named",    "ordered", "value", "outputs"};
    return words.contains(name) || dtype_named(name) || scalar_op_named(name) || reducer_named(name);
}

std::string quoted(std::string_view name) {
    if (is_identifier(name) && !is_reserved_word(name)) return std::string(name);
    return quoted_text(name);
}

std::string print(const System& system, const std::string& name) {
    std::string result = fmt::format("system {}\n", quoted(name));
    for (const SystemTensor& tensor : system.tensors) {
        if (!tensor.dead) result += declaration_text(system, tensor);
    }
    for (const Equation& equation : system.equations) {
        if (!equation.dead) result += equation_text(system, equation);
    }
    for (size_t i = 0; i < system.outputs.size(); i++) {
        result += (i == 0 ? "  outputs " : ", ") + quoted(system.tensor(system.outputs[i]).name);
    }
    if (!system.outputs.empty()) result += "\n";
    return result;
}

}  // namespace heddle::equations
