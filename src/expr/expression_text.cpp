#include "expr/expression_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <unordered_set>

#include "support/spelling.h"

namespace heddle::expr {
namespace {

// A shared subexpression of more nodes than this gets a name; so does one that nests deeper than `let_depth`.
constexpr int32_t let_nodes = 12;
constexpr int32_t let_depth = 64;

bool is_commutative(Kind kind) {
    return kind == Kind::linear || kind == Kind::minimum || kind == Kind::maximum || kind == Kind::conjunction;
}

std::string literal_text(Expr e) {
    const std::string text = heddle::literal_text({.dtype = e->dtype, .integer = e->integer, .real = e->real});
    return e->from_template ? text : fmt::format("data({})", text);
}

std::vector<Expr> conditions(Expr e) {
    std::vector<Expr> result;
    for (; e->kind == Kind::conjunction; e = e->parts()[1]) result.push_back(e->parts()[0]);
    result.push_back(e);
    return result;
}

}  // namespace

ExpressionPrinter::ExpressionPrinter(const std::vector<Expr>& roots, AxisNames axes, TensorName tensor_name)
    : axes_(std::move(axes)), tensor_name_(std::move(tensor_name)) {
    for (const auto& [axis, name] : axes_) ranks_.emplace(axis, static_cast<int>(ranks_.size()));
    for (Expr e : postorder(roots, false)) hashes_[e] = hash_of(e);
    std::unordered_map<Expr, int> uses;
    const std::vector<Expr> order = postorder(roots, true);
    for (Expr e : order) {
        for (Expr operand : e->parts()) uses[operand]++;
    }
    for (Expr e : order) render(e, uses[e] > 1 && e->nodes > let_nodes);
}

std::string ExpressionPrinter::list(std::span<const Expr> expressions) const {
    std::string result;
    for (Expr e : expressions) result += (result.empty() ? "" : ", ") + texts_.at(e);
    return result;
}

// Operands before users, each once.
std::vector<Expr> ExpressionPrinter::postorder(const std::vector<Expr>& roots, bool sorted) const {
    std::vector<Expr> order;
    std::unordered_set<Expr> done;
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
            std::vector<Expr> operands = operands_of(e);
            if (sorted)
                std::ranges::transform(operand_order(e), operands.begin(), [&](size_t i) { return e->parts()[i]; });
            for (auto it = operands.rbegin(); it != operands.rend(); ++it) {
                if (!done.contains(*it)) stack.emplace_back(*it, false);
            }
        }
    }
    return order;
}

std::vector<size_t> ExpressionPrinter::operand_order(Expr e) const {
    std::vector<size_t> order(e->parts().size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (!is_commutative(e->kind)) return order;
    auto key = [&](size_t i) {
        Expr operand = e->parts()[i];
        const bool axis = operand->kind == Kind::variable;
        return std::tuple(!axis, axis ? rank(operand) : 0, axis ? 0 : hashes_.at(operand));
    };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
    return order;
}

int ExpressionPrinter::rank(Expr axis) const {
    auto found = ranks_.find(axis->index);
    return found == ranks_.end() ? -1 : found->second;
}

uint64_t ExpressionPrinter::hash_of(Expr e) const {
    auto mixed = [](uint64_t seed, uint64_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15u + (seed >> 29); };
    uint64_t seed = mixed(17, static_cast<uint64_t>(e->kind) << 16 | static_cast<uint64_t>(e->dtype) << 8 |
                                  static_cast<uint64_t>(e->from_template));
    seed = mixed(seed, static_cast<uint64_t>(e->op));
    seed = mixed(seed, static_cast<uint64_t>(e->is_read() ? e->index : -1));
    seed = mixed(seed, static_cast<uint64_t>(e->kind == Kind::variable ? rank(e) : e->integer));
    seed = mixed(seed, std::bit_cast<uint64_t>(e->real));
    std::vector<uint64_t> parts;
    for (size_t i = 0; i < e->parts().size(); i++) {
        const uint64_t factor = e->kind == Kind::linear ? static_cast<uint64_t>(e->coefficients[i]) : 0;
        parts.push_back(mixed(hashes_.at(e->parts()[i]), factor));
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

void ExpressionPrinter::render(Expr e, bool shared) {
    int32_t depth = 1;
    for (Expr operand : e->parts()) depth = std::max(depth, depths_.at(operand) + 1);
    std::string text = text_of(e);
    if ((shared || depth > let_depth) && e->kind != Kind::conjunction) {
        const std::string name = fmt::format("${}", lets_.size());
        lets_.push_back(fmt::format("let {} = {}", name, text));
        text = name;
        depth = 0;
    }
    texts_[e] = std::move(text);
    depths_[e] = depth;
}

std::string ExpressionPrinter::linear_text(Expr e) const {
    std::string result;
    for (size_t i : operand_order(e)) {
        const int64_t factor = e->coefficients[i];
        const std::string& atom = texts_.at(e->parts()[i]);
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

std::string ExpressionPrinter::conjunction_text(Expr e) const {
    std::vector<Expr> joined = conditions(e);
    std::sort(joined.begin(), joined.end(), [&](Expr a, Expr b) { return hashes_.at(a) < hashes_.at(b); });
    std::string result;
    for (Expr condition : joined) result += (result.empty() ? "" : " && ") + texts_.at(condition);
    return fmt::format("({})", result);
}

std::string ExpressionPrinter::scalar_text(Expr e) const {
    const ScalarOpInfo& row = info(e->op);
    const DType of = e->parts()[0]->dtype;
    const bool logical = e->op == ScalarOp::logical_or || e->op == ScalarOp::logical_not;
    if (of == DType::int64 || (is_bool(of) && !logical))
        return fmt::format("value.{}({})", row.name, list(operands_of(e)));
    if (row.infix.empty() || row.infix == "^") return fmt::format("{}({})", row.name, list(operands_of(e)));
    return fmt::format("({} {} {})", texts_.at(e->parts()[0]), row.infix, texts_.at(e->parts()[1]));
}

// A literal has its type in brackets here: uint8(3) is a literal, uint8(int64(3)) a cast.
std::string ExpressionPrinter::cast_text(Expr e) const {
    Expr of = e->parts()[0];
    const std::string& text = texts_.at(of);
    const bool bare = of->is_literal() && !text.ends_with(')');
    return bare ? fmt::format("{}({}({}))", name(e->dtype), name(of->dtype), text)
                : fmt::format("{}({})", name(e->dtype), text);
}

std::string ExpressionPrinter::text_of(Expr e) const {
    auto operand = [&](size_t i) -> const std::string& { return texts_.at(e->parts()[i]); };
    switch (e->kind) {
    case Kind::integer:
    case Kind::real: return literal_text(e);
    case Kind::variable: {
        const int at = rank(e);
        return at < 0 ? fmt::format("?axis{}", e->index) : axes_[static_cast<size_t>(at)].second;
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
    case Kind::inside: return fmt::format("inside({}, {})", operand(0), e->integer);
    case Kind::conjunction: return conjunction_text(e);
    case Kind::scalar: return scalar_text(e);
    case Kind::cast: return cast_text(e);
    case Kind::select: return fmt::format("({} ? {} : {})", operand(0), operand(1), operand(2));
    default: break;  // reads
    }
    const std::string read = fmt::format("{}[{}]", tensor_name_(e->index), list(coordinates_of(e)));
    return e->kind == Kind::read ? read : read + " ?? " + texts_.at(e->parts().back());
}

}  // namespace heddle::expr
