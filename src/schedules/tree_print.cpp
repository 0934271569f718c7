#include <map>
#include <type_traits>

#include "schedules/tree.h"
#include "schedules/tree_names.h"
#include "support/spelling.h"

namespace heddle::schedules {
namespace {

class Printer {
public:
    explicit Printer(const Tree& tree) : tree_(tree) {}

    std::string print() {
        line(0, "scheduled " + tree_.name);
        for (const std::string& fact : tree_.facts) line(1, "fact " + quoted_text(fact));
        for (size_t i = 0; i < tree_.numbers.size(); i++) {
            line(1, "number $" + std::to_string(i) + ": " + std::string(name(tree_.numbers[i].dtype)) + " " +
                        quoted_text(tree_.numbers[i].what));
        }
        for (const TaskAxis& axis : tree_.tasks) {
            line(1, "tasks " + axis.name + " " + variable(axis.begin) + " .. " + variable(axis.end) + " in " +
                        text(axis.extent) + " step " + text(axis.step) + " count " + text(axis.count) + " divisor " +
                        text(axis.divisor) + (axis.rounds ? " rounds" : ""));
        }
        for (const Memory& memory : tree_.memories) print_memory(memory);
        for (const Accumulator& accumulator : tree_.accumulators) print_accumulator(accumulator);
        block(tree_.body, 1);
        std::string body;
        body.swap(text_);
        return body;
    }

private:
    void line(int depth, const std::string& content) {
        text_ += std::string(static_cast<size_t>(depth) * 2, ' ') + content + "\n";
    }
    const std::string& variable(VariableId id) const { return tree_.variable(id).name; }
    static std::string text(const Number& n) { return (n.launch ? "$" : "") + std::to_string(n.value); }

    void print_memory(const Memory& m) {
        std::string content =
            std::string(tree_names::memory_kind(m.kind)) + " " + m.name + ": " + std::string(name(m.dtype));
        if (m.kind == Memory::Kind::array) {
            content += " at " + text(m.offset);
            for (const Term& term : m.origin) content += " - " + this->term(term);
        } else {
            content +=
                std::string(m.aligned ? " aligned" : "") + (m.slack ? " slack" : "") + (m.may_alias ? " aliased" : "");
        }
        line(1, content);
    }

    void print_accumulator(const Accumulator& a) {
        line(1, "accumulator " + a.name + ": " + std::string(name(a.reducer)) + " " + std::string(name(a.dtype)) +
                    " index " + std::string(name(a.index_dtype)) + " vectors " + std::to_string(a.vectors) + " x " +
                    std::to_string(a.width) + (a.reduced_lanes ? " reduced" : "") + (a.running ? " running" : "") +
                    (a.state ? " state" : ""));
    }

    std::string term(const Term& t) const {
        std::string content = variable(t.variable);
        const bool plain = t.number.is(1);
        if (t.scale != 1 || (!plain && !t.number.launch)) content += "*" + std::to_string(t.scale);
        if (!plain) content += "*" + text(t.number);
        return content;
    }

    std::string affine(const Affine& a) {
        std::string content;
        for (const Term& t : a.terms) content += (content.empty() ? "" : " + ") + term(t);
        for (const auto& [value, factor] : a.values) {
            content += (content.empty() ? "" : " + ") + ("{" + expression(value) + "}") +
                       (factor.is(1) ? "" : "*" + text(factor));
        }
        if (!a.constant.is(0) || content.empty()) content += (content.empty() ? "" : " + ") + text(a.constant);
        return content;
    }

    std::string bound(const Bound& b) { return affine(b.affine) + (b.divisor.is(1) ? "" : " / " + text(b.divisor)); }

    std::string range(const Range& r) {
        std::string content;
        for (size_t i = 0; i < r.lower.size(); i++) content += (i ? ", " : "") + bound(r.lower[i]);
        content += " .. ";
        for (size_t i = 0; i < r.upper.size(); i++) content += (i ? ", " : "") + bound(r.upper[i]);
        return content;
    }

    std::string address(const Address& a) {
        return tree_.memory(a.memory).name + "[" + affine(a.element) + "] " + tree_names::access(a.access);
    }

    // Lines for the shared nodes under `id` that have none yet, at this place.
    void prepare(ExpressionId id, int depth) {
        if (seen_.empty()) count_uses();
        if (seen_[static_cast<size_t>(id)]) return;
        seen_[static_cast<size_t>(id)] = true;
        const Expression& e = tree_.expression(id);
        for (ExpressionId operand : e.operands) prepare(operand, depth);
        for (const Affine* a : {&e.affine, &e.address.element}) prepare(*a, depth);
        bool leaf = e.operands.empty() && e.affine.values.empty() && e.address.element.values.empty();
        if (uses_[static_cast<size_t>(id)] < 2 || leaf) return;
        std::string content = expression(id);
        names_[id] = "e" + std::to_string(names_.size());
        line(depth, "value " + names_[id] + " = " + content);
    }

    void prepare(const Affine& a, int depth) {
        for (const auto& [value, factor] : a.values) prepare(value, depth);
    }

    void prepare(const Range& r, int depth) {
        for (const auto* list : {&r.lower, &r.upper}) {
            for (const Bound& b : *list) prepare(b.affine, depth);
        }
    }

    // By expressions that `prepare` comes to: what only a dead one or a prefetch shares is not shared in the text.
    void count_uses() {
        uses_.resize(tree_.expressions.size());
        seen_.resize(tree_.expressions.size());
        reached_.resize(tree_.expressions.size());
        reach(tree_.body);
        for (size_t i = 0; i < tree_.expressions.size(); i++) {
            const Expression& e = tree_.expressions[i];
            if (!reached_[i]) continue;
            for (ExpressionId operand : e.operands) uses_[static_cast<size_t>(operand)]++;
            for (const Affine* a : {&e.affine, &e.address.element}) {
                for (const auto& [value, factor] : a->values) uses_[static_cast<size_t>(value)]++;
            }
        }
    }

    void reach(const Block& statements) {
        for (const Statement& statement : statements) {
            std::visit([&](const auto& node) { reach_node(node); }, statement.node);
        }
    }
    template <typename Node>
    void reach_node(const Node& node) {
        if constexpr (requires { node.range; }) {
            for (const auto* list : {&node.range.lower, &node.range.upper}) {
                for (const Bound& bound : *list) reach(bound.affine);
            }
        }
        if constexpr (requires { node.body; }) reach(node.body);
        if constexpr (requires { node.let; }) reach(tree_.let(node.let).value);
        if constexpr (requires { node.value; }) reach(node.value);
        if constexpr (requires { node.index; }) reach(node.index);
        if constexpr (requires { node.factor; }) reach(node.factor);
        if constexpr (requires { node.guard; }) reach(node.guard);
        if constexpr (requires { node.filling; }) reach(node.filling), reach(node.fits);
        if constexpr (requires { node.beside; }) {
            for (ExpressionId value : node.beside) reach(value);
        }
        if constexpr (std::is_same_v<Node, Store>) reach(node.address.element);
    }
    void reach(const Affine& a) {
        for (const auto& [value, factor] : a.values) reach(value);
    }
    void reach(ExpressionId id) {
        if (id < 0 || reached_[static_cast<size_t>(id)]) return;
        reached_[static_cast<size_t>(id)] = true;
        const Expression& e = tree_.expression(id);
        for (ExpressionId operand : e.operands) reach(operand);
        for (const Affine* a : {&e.affine, &e.address.element}) reach(*a);
    }

    std::string expression(ExpressionId id) {
        if (auto found = names_.find(id); found != names_.end()) return found->second;
        const Expression& e = tree_.expression(id);
        std::string operands;
        for (ExpressionId operand : e.operands) operands += (operands.empty() ? "" : ", ") + expression(operand);
        std::string dtype = ":" + std::string(name(e.dtype));
        switch (e.kind) {
        case Expression::Kind::integer:
        case Expression::Kind::real: return literal_text({.dtype = e.dtype, .integer = e.integer, .real = e.real});
        case Expression::Kind::number: return text(e.number) + dtype;
        case Expression::Kind::index: return "index(" + affine(e.affine) + ")" + dtype;
        case Expression::Kind::scalar: return std::string(info(e.op).name) + "(" + operands + ")" + dtype;
        case Expression::Kind::cast: return "cast(" + operands + ")" + dtype;
        case Expression::Kind::select: return "select(" + operands + ")" + dtype;
        case Expression::Kind::inside: return "inside(" + operands + ", " + text(e.number) + ")";
        case Expression::Kind::check:
            return "check " + std::to_string(e.integer) + " " + text(e.number) + " (" + operands + ")" + dtype;
        case Expression::Kind::load: return address(e.address) + (operands.empty() ? "" : " if (" + operands + ")");
        case Expression::Kind::accumulator: return "acc(" + std::to_string(e.target) + ")" + dtype;
        case Expression::Kind::before: return "before(" + std::to_string(e.target) + ")" + dtype;
        case Expression::Kind::carried: return "carried(" + std::to_string(e.target) + ")" + dtype;
        case Expression::Kind::let: return "let(" + std::to_string(e.target) + ")" + dtype;
        }
        return {};
    }

    void block(const Block& statements, int depth) {
        for (const Statement& statement : statements) {
            std::visit([&](const auto& node) { print_statement(node, depth); }, statement.node);
        }
    }

    void print_statement(const Phase& p, int depth) {
        line(depth, "phase " + p.name);
        block(p.body, depth + 1);
    }

    static std::string until(const std::vector<AccumulatorId>& settled) {
        std::string text = settled.empty() ? "" : " until";
        for (AccumulatorId id : settled) text += " " + std::to_string(id);
        return text;
    }

    void print_statement(const For& loop, int depth) {
        prepare(loop.range, depth);
        line(depth, "for " + variable(loop.variable) + " in " + range(loop.range) +
                        (loop.unrolled ? " unrolled " + std::to_string(loop.unrolled) : "") + until(loop.until));
        block(loop.body, depth + 1);
    }

    void print_statement(const Rows& rows, int depth) {
        prepare(rows.range, depth);
        std::string content =
            "rows " + variable(rows.variable) + " in " + range(rows.range) + " " + tree_names::rows_mode(rows.mode);
        for (int size : rows.sizes) content += " " + std::to_string(size);
        for (const Rows::Digit& digit : rows.fused)
            content += " digit " + variable(digit.variable) + " < " + text(digit.extent);
        line(depth, content);
        block(rows.body, depth + 1);
    }

    void print_statement(const Lanes& lanes, int depth) {
        prepare(lanes.range, depth);
        line(depth, "lanes " + variable(lanes.variable) + " in " + range(lanes.range) + " by " +
                        std::to_string(lanes.vectors) + " x " + std::to_string(lanes.width) + " mask " +
                        tree_names::mask(lanes.mask) + (lanes.reduced ? " reduced" : "") + until(lanes.until));
        block(lanes.body, depth + 1);
    }

    void print_statement(const Start& s, int depth) {
        if (s.value >= 0) prepare(s.value, depth);
        line(depth, "start " + std::to_string(s.accumulator) + (s.value >= 0 ? " at " + expression(s.value) : ""));
    }
    void print_statement(const Finish& f, int depth) { line(depth, "finish " + std::to_string(f.accumulator)); }

    void print_statement(const Update& u, int depth) {
        prepare(u.value, depth);
        if (u.index >= 0) prepare(u.index, depth);
        if (u.factor >= 0) prepare(u.factor, depth);
        line(depth, "update " + std::to_string(u.accumulator) + (u.fused ? " fused" : "") + " with " +
                        expression(u.value) + (u.index >= 0 ? " at " + expression(u.index) : "") +
                        (u.factor >= 0 ? " factor " + expression(u.factor) : ""));
    }

    void print_statement(const Define& d, int depth) {
        const Let& let = tree_.let(d.let);
        prepare(let.value, depth);
        line(depth, "define " + std::to_string(d.let) + " " + let.name + " = " + expression(let.value));
    }

    void print_statement(const Store& s, int depth) {
        prepare(s.address.element, depth);
        prepare(s.value, depth);
        for (ExpressionId value : s.beside) prepare(value, depth);
        for (ExpressionId value : {s.filling, s.fits, s.guard}) {
            if (value >= 0) prepare(value, depth);
        }
        std::string beside;
        for (ExpressionId value : s.beside) beside += (beside.empty() ? " beside " : ", ") + expression(value);
        if (s.filling >= 0) beside = " filling " + expression(s.filling) + " if (" + expression(s.fits) + ")";
        line(depth, "store " + address(s.address) + " = " + expression(s.value) + beside +
                        (s.guard >= 0 ? " where (" + expression(s.guard) + ")" : "") +
                        (s.non_temporal ? " nontemporal" : ""));
    }

    void print_statement(const EachRow& each, int depth) {
        line(depth, "each row");
        block(each.body, depth + 1);
    }

    void print_statement(const PrefetchStart& p, int depth) {
        line(depth, "prefetch_start " + tree_.memory(p.memory).name + "[" + affine(p.element) + "]");
    }

    void print_statement(const Prefetch& p, int depth) {
        if (p.running)
            line(depth, "prefetch_next step " + text(p.step));
        else if (p.row != no_id)
            line(depth, "prefetch_row " + tree_.variable(p.row).name + " " + address(p.address));
        else
            line(depth, "prefetch_ahead " + std::to_string(p.ahead) + " " + address(p.address));
    }

    const Tree& tree_;
    std::string text_;
    std::vector<int> uses_;
    std::vector<bool> seen_, reached_;
    std::map<ExpressionId, std::string> names_;
};

}  // namespace

std::string print(const Tree& tree) { return Printer(tree).print(); }

}  // namespace heddle::schedules
