#include "expr/expression_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <unordered_set>

#include "expr/remake.h"
#include "support/spelling.h"

namespace heddle::expr {
namespace {

// A shared subexpression of more nodes than this gets a name; so does one that nests deeper than `let_depth`.
constexpr int32_t let_nodes = 12;
constexpr int32_t let_depth = 64;

bool is_commutative(Kind kind) {
    return kind == Kind::linear || kind == Kind::minimum || kind == Kind::maximum || kind == Kind::conjunction;
}

std::vector<Expr> conditions(Expr e) {
    std::vector<Expr> result;
    for (; e->kind == Kind::conjunction; e = e->parts()[1]) result.push_back(e->parts()[0]);
    result.push_back(e);
    return result;
}

}  // namespace

std::string ExpressionSpeller::operand(const Expression& e, size_t number, Precedence least) const {
    const Text& text = texts_.at(e.operands[number]);
    return text.precedence < least ? fmt::format("({})", text.text) : text.text;
}

std::string ExpressionSpeller::list(std::span<const ExpressionId> ids) const {
    std::string result;
    for (ExpressionId id : ids) result += (result.empty() ? "" : ", ") + text_of(id);
    return result;
}

ExpressionSpeller::Text ExpressionSpeller::joined(std::string text, Precedence precedence) const {
    if (reader_ == Reader::parser) return {fmt::format("({})", text)};
    return {std::move(text), precedence};
}

ExpressionSpeller::Text ExpressionSpeller::literal(const Expression& e) const {
    std::string text = literal_text({.dtype = e.dtype, .integer = e.integer.number(), .real = e.real});
    if (reader_ == Reader::parser && !e.from_template) return {fmt::format("data({})", text)};
    const auto precedence = text[0] == '-' ? Precedence::unary : Precedence::postfix;
    return {std::move(text), precedence};
}

ExpressionSpeller::Text ExpressionSpeller::scalar(const Expression& e) const {
    const ScalarOpInfo& row = info(e.op);
    const DType of = at(e.operands[0]).dtype;
    // Without the word, a parser takes these for arithmetic on coordinates and conditions.
    const bool logical = e.op == ScalarOp::logical_or || e.op == ScalarOp::logical_not;
    const bool value = reader_ == Reader::parser && (of == DType::int64 || (is_bool(of) && !logical));
    const bool no_operator = row.infix.empty() || (reader_ == Reader::parser && e.op == ScalarOp::power);
    if (value || no_operator) return {fmt::format("{}{}({})", value ? "value." : "", row.name, list(e.operands))};
    const Precedence own = *precedence_of(row.infix);
    return joined(fmt::format("{} {} {}", operand(e, 0, left_of(own)), row.infix, operand(e, 1, right_of(own))), own);
}

// A literal that is read back has its type in brackets here: uint8(3) is a literal, uint8(int64(3)) a cast.
ExpressionSpeller::Text ExpressionSpeller::cast(const Expression& e) const {
    const Expression& of = at(e.operands[0]);
    const std::string& text = text_of(e.operands[0]);
    const bool bare = reader_ == Reader::parser && of.is_literal() && !text.ends_with(')');
    return {bare ? fmt::format("{}({}({}))", name(e.dtype), name(of.dtype), text)
                 : fmt::format("{}({})", name(e.dtype), text)};
}

ExpressionSpeller::Text ExpressionSpeller::spelled(ExpressionId id) const {
    using enum Precedence;
    const Expression& e = at(id);
    switch (e.kind) {
    case Kind::integer:
    case Kind::real: return literal(e);
    case Kind::variable: return {variable_of(e)};
    case Kind::scalar: return scalar(e);
    case Kind::cast: return cast(e);
    case Kind::select:
        return joined(fmt::format("{} ? {} : {}", operand(e, 0, disjunction), operand(e, 1, disjunction),
                                  operand(e, 2, selection)),
                      selection);
    case Kind::read: return {fmt::format("{}[{}]", tensor(e.tensor()), list(e.operands))};
    case Kind::guarded_read: {
        const size_t rank = e.operands.size() - 1;
        return {fmt::format("{}[{}] ?? {}", tensor(e.tensor()), list(std::span(e.operands).first(rank)),
                            operand(e, rank, unary)),
                reader_ == Reader::parser ? postfix : selection};
    }
    default: return special(id);
    }
}

ExpressionPrinter::ExpressionPrinter(const std::vector<Expr>& roots, AxisNames axes, TensorName tensor_name)
    : ExpressionSpeller(Reader::parser),
      arena_(roots.at(0)->arena),
      axes_(std::move(axes)),
      tensor_name_(std::move(tensor_name)) {
    for (const auto& [axis, name] : axes_) ranks_.emplace(axis, static_cast<int>(ranks_.size()));
    for (Expr root : roots) {
        for (Expr e : operands_first(root)) hashes_.try_emplace(e, hash_of(e));
    }
    std::unordered_map<Expr, int> uses;
    const std::vector<Expr> order = postorder(roots);
    for (Expr e : order) {
        for (Expr operand : e->parts()) uses[operand]++;
    }
    for (Expr e : order) render(e, uses[e] > 1 && e->nodes > let_nodes);
}

std::string ExpressionPrinter::list(std::span<const Expr> expressions) const {
    std::vector<ExpressionId> ids;
    for (Expr e : expressions) ids.push_back(e->id);
    return ExpressionSpeller::list(ids);
}

// Operands before users, each once, in the order of the text.
std::vector<Expr> ExpressionPrinter::postorder(const std::vector<Expr>& roots) const {
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
            for (size_t i : std::views::reverse(operand_order(e))) stack.emplace_back(e->parts()[i], false);
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
    auto found = ranks_.find(axis->axis());
    return found == ranks_.end() ? -1 : found->second;
}

uint64_t ExpressionPrinter::hash_of(Expr e) const {
    auto mixed = [](uint64_t seed, uint64_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15u + (seed >> 29); };
    uint64_t seed = mixed(17, static_cast<uint64_t>(e->kind) << 16 | static_cast<uint64_t>(e->dtype) << 8 |
                                  static_cast<uint64_t>(e->from_template));
    seed = mixed(seed, static_cast<uint64_t>(e->op));
    seed = mixed(seed, static_cast<uint64_t>(e->is_read() ? e->index : -1));
    seed = mixed(seed, static_cast<uint64_t>(e->kind == Kind::variable ? rank(e) : e->integer.number()));
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
    Text text = spelled(e->id);
    if ((shared || depth > let_depth) && e->kind != Kind::conjunction) {
        const std::string name = fmt::format("${}", lets_.size());
        lets_.push_back(fmt::format("let {} = {}", name, text.text));
        text = {name};
        depth = 0;
    }
    texts_[e->id] = std::move(text);
    depths_[e] = depth;
}

std::string ExpressionPrinter::linear_text(Expr e) const {
    std::string result;
    for (size_t i : operand_order(e)) {
        const int64_t factor = e->coefficients[i];
        const std::string& atom = text_of(e->operands[i]);
        const bool minus = factor < 0 && factor != INT64_MIN;
        const int64_t magnitude = minus ? -factor : factor;
        if (result.empty())
            result = minus ? "-" : "";
        else
            result += minus ? " - " : " + ";
        result += magnitude == 1 ? atom : fmt::format("{} * {}", magnitude, atom);
    }
    if (e->integer < 0 && e->integer != INT64_MIN)
        result += fmt::format(" - {}", -e->integer.number());
    else if (e->integer != 0)
        result += fmt::format(" + {}", e->integer.number());
    return fmt::format("({})", result);
}

std::string ExpressionPrinter::conjunction_text(Expr e) const {
    std::vector<Expr> joined = conditions(e);
    std::sort(joined.begin(), joined.end(), [&](Expr a, Expr b) { return hashes_.at(a) < hashes_.at(b); });
    std::string result;
    for (Expr condition : joined) result += (result.empty() ? "" : " && ") + text_of(condition->id);
    return fmt::format("({})", result);
}

std::string ExpressionPrinter::variable_of(const Expression& e) const {
    auto found = ranks_.find(e.axis());
    return found == ranks_.end() ? fmt::format("?axis{}", e.index) : axes_[static_cast<size_t>(found->second)].second;
}

ExpressionSpeller::Text ExpressionPrinter::special(ExpressionId id) const {
    Expr e = arena_->at(id);
    auto operand = [&](size_t i) -> const std::string& { return text_of(e->operands[i]); };
    switch (e->kind) {
    case Kind::linear: return {linear_text(e)};
    case Kind::floor_divide: return {fmt::format("({} // {})", operand(0), e->integer.number())};
    case Kind::modulo: return {fmt::format("({} % {})", operand(0), e->integer.number())};
    case Kind::minimum:
    case Kind::maximum: {
        const std::vector<size_t> order = operand_order(e);
        return {
            fmt::format("{}({}, {})", e->kind == Kind::minimum ? "min" : "max", operand(order[0]), operand(order[1]))};
    }
    case Kind::negative: return {fmt::format("({} < 0)", operand(0))};
    case Kind::inside: return {fmt::format("inside({}, {})", operand(0), e->integer.number())};
    case Kind::conjunction: return {conjunction_text(e)};
    default: return {};  // in bodies only
    }
}

}  // namespace heddle::expr
