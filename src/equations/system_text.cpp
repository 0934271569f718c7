#include "equations/system_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>
#include <unordered_map>

#include "equations/system.h"
#include "support/lexer.h"
#include "support/spelling.h"

namespace heddle::equations {
namespace {

// A shared subexpression of more nodes than this gets a name; so does one that nests deeper than `let_depth`.
constexpr int32_t let_nodes = 12;
constexpr int32_t let_depth = 64;

std::string marked_literal(Expr e) {
    const std::string text = literal_text({.dtype = e->dtype, .integer = e->integer, .real = e->real});
    return e->from_template ? text : fmt::format("data({})", text);
}

bool is_commutative(Kind kind) {
    return kind == Kind::linear || kind == Kind::minimum || kind == Kind::maximum || kind == Kind::conjunction;
}

// Prints one equation. Operands of commutative nodes stand in an order that does not depend on when they were made: by
// a hash of their structure.
class EquationPrinter {
public:
    EquationPrinter(const System& system, const Equation& equation) : system_(system), equation_(equation) {
        std::set<std::string> taken;
        for (const std::vector<AxisId>* list : {&equation.axes, &equation.reduced}) {
            for (AxisId axis : *list) {
                ranks_.emplace(axis, static_cast<int>(ranks_.size()));
                std::string wanted = system.arena->axis(axis).name;
                if (!is_identifier(wanted) || is_reserved_word(wanted)) wanted = "i";
                std::string unique = wanted;
                for (int number = 2; !taken.insert(unique).second; number++)
                    unique = fmt::format("{}_{}", wanted, number);
                names_[axis] = unique;
            }
        }
    }

    std::string text() {
        const std::vector<Expr> order = hash_all();
        count_uses(order);
        std::string result;
        if (!equation_.axes.empty()) result += fmt::format("  for {}:\n", axes_text(equation_.axes));
        for (Expr e : order) render(e, result);
        std::string left;
        for (Expr coordinate : equation_.left) left += (left.empty() ? "" : ", ") + texts_.at(coordinate);
        std::string right = texts_.at(equation_.right);
        if (equation_.reducer) {
            right = fmt::format("{}({} : {})", name(*equation_.reducer), axes_text(equation_.reduced), right);
        }
        return result + fmt::format("    {}[{}] = {}\n", quoted(system_.tensor(equation_.tensor).name), left, right);
    }

private:
    std::string axes_text(const std::vector<AxisId>& axes) const {
        std::string result;
        for (AxisId id : axes) {
            const Axis& axis = system_.arena->axis(id);
            if (!result.empty()) result += ", ";
            result += fmt::format("{} < {}", names_.at(id), axis.extent);
            if (axis.named) result += axis.factor == axis.extent ? " named" : fmt::format(" named {}", axis.factor);
            if (id == equation_.ordered) result += fmt::format(" ordered {}", equation_.scan);
        }
        return result;
    }

    // Operands before users, each once, in printing order; fills hashes_.
    std::vector<Expr> hash_all() {
        std::vector<Expr> roots = equation_.left;
        roots.push_back(equation_.right);
        for (Expr e : postorder(roots, false)) hashes_[e] = hash_of(e);
        return postorder(roots, true);
    }

    std::vector<Expr> postorder(const std::vector<Expr>& roots, bool sorted) const {
        std::vector<Expr> order;
        std::set<Expr> done;
        for (Expr root : roots) {
            std::vector<std::pair<Expr, bool>> stack = {{root, false}};
            while (!stack.empty()) {
                auto [e, expanded] = stack.back();
                stack.pop_back();
                if (expanded) {
                    order.push_back(e);
                    continue;
                }
                if (!done.insert(e).second) continue;
                stack.emplace_back(e, true);
                std::vector<Expr> operands;
                for (size_t i : sorted ? operand_order(e) : plain_order(e)) operands.push_back(e->operands[i]);
                for (auto it = operands.rbegin(); it != operands.rend(); ++it) {
                    if (!done.contains(*it)) stack.emplace_back(*it, false);
                }
            }
        }
        return order;
    }

    static std::vector<size_t> plain_order(Expr e) {
        std::vector<size_t> order(e->operands.size());
        for (size_t i = 0; i < order.size(); i++) order[i] = i;
        return order;
    }

    std::vector<size_t> operand_order(Expr e) const {
        std::vector<size_t> order = plain_order(e);
        if (!is_commutative(e->kind)) return order;
        auto key = [&](size_t i) {
            Expr operand = e->operands[i];
            const bool axis = operand->kind == Kind::axis;
            return std::tuple(!axis, axis ? rank(operand) : 0, axis ? 0 : hashes_.at(operand));
        };
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
        return order;
    }

    int rank(Expr axis) const {
        auto found = ranks_.find(static_cast<AxisId>(axis->integer));
        return found == ranks_.end() ? -1 : found->second;
    }

    uint64_t hash_of(Expr e) const {
        auto mixed = [](uint64_t seed, uint64_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15u + (seed >> 29); };
        uint64_t seed = mixed(17, static_cast<uint64_t>(e->kind) << 16 | static_cast<uint64_t>(e->dtype) << 8 |
                                      static_cast<uint64_t>(e->from_template));
        seed = mixed(seed, static_cast<uint64_t>(e->op));
        seed = mixed(seed, static_cast<uint64_t>(e->tensor));
        seed = mixed(seed, static_cast<uint64_t>(e->kind == Kind::axis ? rank(e) : e->integer));
        seed = mixed(seed, std::bit_cast<uint64_t>(e->real));
        std::vector<uint64_t> parts;
        for (size_t i = 0; i < e->operands.size(); i++) {
            const uint64_t factor = e->kind == Kind::linear ? static_cast<uint64_t>(e->coefficients[i]) : 0;
            parts.push_back(mixed(hashes_.at(e->operands[i]), factor));
        }
        // The nesting of a conjunction follows the order of making: only its set of conditions counts.
        if (e->kind == Kind::conjunction) {
            uint64_t sum = 0;
            for (Expr condition : conditions(e)) sum += mixed(hashes_.at(condition), 0);
            return mixed(seed, sum);
        }
        if (is_commutative(e->kind)) std::sort(parts.begin(), parts.end());
        for (uint64_t part : parts) seed = mixed(seed, part);
        return seed;
    }

    static std::vector<Expr> conditions(Expr e) {
        std::vector<Expr> result;
        for (; e->kind == Kind::conjunction; e = e->operands[1]) result.push_back(e->operands[0]);
        result.push_back(e);
        return result;
    }

    void count_uses(const std::vector<Expr>& order) {
        for (Expr e : order) {
            for (Expr operand : e->operands) uses_[operand]++;
        }
    }

    void render(Expr e, std::string& lets) {
        int32_t depth = 1;
        for (Expr operand : e->operands) depth = std::max(depth, depths_.at(operand) + 1);
        std::string text = text_of(e);
        const bool shared = uses_[e] > 1 && e->nodes > let_nodes && e->kind != Kind::conjunction;
        if (shared || (depth > let_depth && e->kind != Kind::conjunction)) {
            const std::string name = fmt::format("${}", let_count_++);
            lets += fmt::format("    let {} = {}\n", name, text);
            text = name;
            depth = 0;
        }
        texts_[e] = std::move(text);
        depths_[e] = depth;
    }

    std::string list(Expr e, size_t count) const {
        std::string result;
        for (size_t i = 0; i < count; i++) result += (i == 0 ? "" : ", ") + texts_.at(e->operands[i]);
        return result;
    }

    std::string linear_text(Expr e) const {
        std::string result;
        for (size_t i : operand_order(e)) {
            const int64_t factor = e->coefficients[i];
            const std::string& atom = texts_.at(e->operands[i]);
            const bool minus = factor < 0 && factor != INT64_MIN;
            const int64_t magnitude = minus ? -factor : factor;
            if (result.empty())
                result = minus ? "-" : "";
            else
                result += minus ? " - " : " + ";
            result += magnitude == 1 ? atom : fmt::format("{} * {}", magnitude, atom);
        }
        if (e->integer < 0 && e->integer != INT64_MIN)
            result += fmt::format(" - {}", -e->integer);
        else if (e->integer != 0)
            result += fmt::format(" + {}", e->integer);
        return fmt::format("({})", result);
    }

    std::string scalar_text(Expr e) const {
        const ScalarOpInfo& row = info(e->op);
        const DType of = e->operands[0]->dtype;
        const bool logical = e->op == ScalarOp::logical_or || e->op == ScalarOp::logical_not;
        if (of == DType::int64 || (is_bool(of) && !logical))
            return fmt::format("value.{}({})", row.name, list(e, e->operands.size()));
        if (row.infix.empty() || row.infix == "^") return fmt::format("{}({})", row.name, list(e, e->operands.size()));
        return fmt::format("({} {} {})", texts_.at(e->operands[0]), row.infix, texts_.at(e->operands[1]));
    }

    std::string read_text(Expr e) const {
        const bool guarded = e->kind == Kind::guarded_read;
        const size_t rank = e->operands.size() - (guarded ? 1 : 0);
        std::string result = fmt::format("{}[{}]", quoted(system_.tensor(e->tensor).name), list(e, rank));
        if (guarded) result += " ?? " + texts_.at(e->operands.back());
        return result;
    }

    std::string text_of(Expr e) const {
        auto operand = [&](size_t i) -> const std::string& { return texts_.at(e->operands[i]); };
        switch (e->kind) {
        case Kind::integer:
        case Kind::real: return marked_literal(e);
        case Kind::axis: {
            auto found = names_.find(static_cast<AxisId>(e->integer));
            return found == names_.end() ? fmt::format("?axis{}", e->integer) : found->second;
        }
        case Kind::linear: return linear_text(e);
        case Kind::floor_divide: return fmt::format("({} // {})", operand(0), e->integer);
        case Kind::modulo: return fmt::format("({} % {})", operand(0), e->integer);
        case Kind::minimum:
        case Kind::maximum: {
            const std::vector<size_t> order = operand_order(e);
            return fmt::format("{}({}, {})", e->kind == Kind::minimum ? "min" : "max", operand(order[0]),
                               operand(order[1]));
        }
        case Kind::negative: return fmt::format("({} < 0)", operand(0));
        case Kind::conjunction: {
            std::vector<Expr> joined = conditions(e);
            std::sort(joined.begin(), joined.end(), [&](Expr a, Expr b) { return hashes_.at(a) < hashes_.at(b); });
            std::string result;
            for (Expr condition : joined) result += (result.empty() ? "" : " && ") + texts_.at(condition);
            return fmt::format("({})", result);
        }
        case Kind::scalar: return scalar_text(e);
        case Kind::cast: return fmt::format("{}({})", name(e->dtype), operand(0));
        case Kind::select: return fmt::format("({} ? {} : {})", operand(0), operand(1), operand(2));
        case Kind::read:
        case Kind::guarded_read: return read_text(e);
        }
        return "";
    }

    const System& system_;
    const Equation& equation_;
    std::unordered_map<AxisId, int> ranks_;
    std::unordered_map<AxisId, std::string> names_;
    std::unordered_map<Expr, uint64_t> hashes_;
    std::unordered_map<Expr, int> uses_;
    std::unordered_map<Expr, std::string> texts_;
    std::unordered_map<Expr, int32_t> depths_;
    int let_count_ = 0;
};

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
        if (!equation.dead) result += EquationPrinter(system, equation).text();
    }
    for (size_t i = 0; i < system.outputs.size(); i++) {
        result += (i == 0 ? "  outputs " : ", ") + quoted(system.tensor(system.outputs[i]).name);
    }
    if (!system.outputs.empty()) result += "\n";
    return result;
}

}  // namespace heddle::equations
