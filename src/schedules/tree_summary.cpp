// The choices that a tree holds, without its arithmetic: what a person looks at first, and what tests pin.
#include <algorithm>
#include <set>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/tree.h"
#include "schedules/tree_names.h"

namespace heddle::schedules {
namespace {

class Summary {
public:
    Summary(const Tree& tree, const std::vector<Size>& numbers) : tree_(tree), numbers_(numbers) {}

    std::string text() {
        add_tasks();
        std::vector<std::string> arrays;
        for (const Memory& memory : tree_.memories) {
            if (memory.kind == Memory::Kind::array) arrays.push_back(memory.name);
        }
        if (!arrays.empty()) line(0, fmt::format("arrays {}", fmt::join(arrays, ", ")));
        block(tree_.body, 0);
        return std::move(text_);
    }

private:
    void line(int depth, const std::string& content) {
        text_ += std::string(static_cast<size_t>(depth) * 2, ' ') + content + "\n";
    }
    int64_t value(const Number& n) const { return n.launch ? numbers_[static_cast<size_t>(n.value)].number() : n.value; }

    // Outermost first: the innermost axis has the least divisor.
    void add_tasks() {
        std::vector<TaskAxis> axes = tree_.tasks;
        std::stable_sort(axes.begin(), axes.end(),
                         [&](const TaskAxis& a, const TaskAxis& b) { return value(a.divisor) > value(b.divisor); });
        std::vector<std::string> parts;
        for (const TaskAxis& axis : axes)
            parts.push_back(fmt::format("{} {} step {}", axis.name, value(axis.extent), value(axis.step)));
        line(0, parts.empty() ? "one task" : fmt::format("tasks {}", fmt::join(parts, ", ")));
    }

    // Loops with what stands in them; then what the block itself touches.
    void block(const Block& statements, int depth) {
        std::set<std::string> prefetches, reads, writes;
        std::set<ExpressionId> seen;
        for (const Statement& statement : statements) {
            std::visit(
                [&](const auto& node) {
                    using Node = std::decay_t<decltype(node)>;
                    if constexpr (requires { node.body; }) {
                        line(depth, head(node));
                        block(node.body, depth + 1);
                    }
                    if constexpr (requires { node.let; }) add_reads(tree_.let(node.let).value, seen, reads);
                    if constexpr (requires { node.value; }) add_reads(node.value, seen, reads);
                    if constexpr (requires { node.guard; }) add_reads(node.guard, seen, reads);
                    if constexpr (requires { node.beside; }) {
                        for (ExpressionId value : node.beside) add_reads(value, seen, reads);
                    }
                    if constexpr (std::is_same_v<Node, Store>)
                        writes.insert(place(node.address) + (node.non_temporal ? " past the caches" : ""));
                    if constexpr (std::is_same_v<Node, Prefetch>)
                        prefetches.insert(node.running        ? "the next panel"
                                          : node.row != no_id ? "the next row"
                                                              : fmt::format("{} ahead", node.ahead));
                },
                statement.node);
        }
        for (const auto& [verb, what] :
             {std::pair("prefetches", &prefetches), {"reads", &reads}, {"writes", &writes}}) {
            if (!what->empty()) line(depth, fmt::format("{} {}", verb, fmt::join(*what, ", ")));
        }
    }

    std::string place(const Address& a) const {
        return fmt::format("{} {}", tree_.memory(a.memory).name, tree_names::access(a.access));
    }

    void add_reads(ExpressionId id, std::set<ExpressionId>& seen, std::set<std::string>& reads) const {
        if (id < 0 || !seen.insert(id).second) return;
        const Expression& e = tree_.expression(id);
        if (e.kind == Expression::Kind::load) reads.insert(place(e.address));
        for (ExpressionId operand : e.operands) add_reads(operand, seen, reads);
        for (const Affine* affine : {&e.affine, &e.address.element}) {
            for (const auto& [part, factor] : affine->values) add_reads(part, seen, reads);
        }
    }

    // More than one bound on a side: a border or the interior of clipped windows.
    static const char* cut(const Range& range) { return range.lower.size() + range.upper.size() > 2 ? " cut" : ""; }
    static std::string head(const Phase& phase) { return "phase " + phase.name; }
    std::string head(const For& loop) const {
        std::string text = fmt::format("for {}{}", tree_.variable(loop.variable).name, cut(loop.range));
        return loop.unrolled > 0 ? text + fmt::format(" unrolled {}", loop.unrolled) : text;
    }
    static const char* head(const EachRow&) { return "each row"; }
    std::string head(const Rows& rows) const {
        std::vector<std::string> digits;
        for (const Rows::Digit& digit : rows.fused) digits.push_back(tree_.variable(digit.variable).name);
        return fmt::format("rows {}{}{} {} {}", tree_.variable(rows.variable).name,
                           digits.empty() ? "" : fmt::format(" of {}", fmt::join(digits, " x ")), cut(rows.range),
                           tree_names::rows_mode(rows.mode), fmt::join(rows.sizes, " "));
    }
    std::string head(const Lanes& lanes) const {
        return fmt::format("lanes {}{} by {} x {} mask {}{}", tree_.variable(lanes.variable).name, cut(lanes.range),
                           lanes.vectors, lanes.width, tree_names::mask(lanes.mask), lanes.reduced ? " reduced" : "");
    }

    const Tree& tree_;
    const std::vector<Size>& numbers_;
    std::string text_;
};

}  // namespace

std::string summary(const Tree& tree, const std::vector<Size>& numbers) { return Summary(tree, numbers).text(); }

}  // namespace heddle::schedules
