#include "schedules/in_place.h"

#include <algorithm>
#include <limits>
#include <map>
#include <type_traits>

#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

// Of a variable: what it may be, ends included.
struct Reach {
    int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
    bool is_known() const {
        return low > std::numeric_limits<int64_t>::min() && high < std::numeric_limits<int64_t>::max();
    }
    bool is_single() const { return is_known() && low >= high; }
};

class InPlaceCheck {
public:
    InPlaceCheck(const Tree& tree, const std::vector<Size>& numbers, MemoryId input, MemoryId output)
        : tree_(tree), numbers_(numbers), input_(input), output_(output) {}

    std::optional<std::string> problem() {
        if (!tree_.memory(input_).may_alias || !tree_.memory(output_).may_alias)
            return "code that takes them to be apart";
        find_reads();
        reach_.resize(tree_.variables.size());
        for (const TaskAxis& axis : tree_.tasks) {
            if (axis.rounds && value(axis.count) > 1) return "tasks that run in rounds";
            reach_[axis.begin] = reach_[axis.end] = {0, std::max<int64_t>(0, value(axis.extent))};
        }
        if (!walk(tree_.body, false)) return problem_;
        if (!store_) return "the output is not written";
        if (!check_loads() || !is_injective()) return problem_;
        return std::nullopt;
    }

private:
    using Coefficients = std::map<VariableId, int64_t>;

    bool bad(const char* what) {
        problem_ = what;
        return false;
    }

    int64_t value(const Number& number) const {
        return number.launch ? numbers_[static_cast<size_t>(number.value)] : Size(number.value);
    }

    // ---- what reads the input: expressions, through their operands. A let is a value: its definition reads.
    void find_reads() {
        for (const Expression& e : tree_.expressions) {
            bool reads = e.kind == Expression::Kind::load && e.address.memory == input_;
            for (ExpressionId operand : e.operands) reads = reads || reads_[static_cast<size_t>(operand)];
            reads_.push_back(reads || reads_any(e.affine) || reads_any(e.address.element));
        }
    }
    bool reads_input(ExpressionId id) const { return id >= 0 && reads_[static_cast<size_t>(id)]; }
    bool reads_any(const Affine& affine) const {
        return std::ranges::any_of(affine.values, [&](const auto& part) { return reads_input(part.first); });
    }
    bool reads_any(const Range& range) const {
        const auto reads = [&](const Bound& bound) { return reads_any(bound.affine); };
        return std::ranges::any_of(range.lower, reads) || std::ranges::any_of(range.upper, reads);
    }

    // What a statement evaluates itself, without those inside of it.
    template <typename Node>
    bool evaluates_read(const Node& node) const {
        if constexpr (std::is_same_v<Node, Start>) return reads_input(node.value);
        if constexpr (std::is_same_v<Node, Define>) return reads_input(tree_.let(node.let).value);
        if constexpr (std::is_same_v<Node, Update>)
            return reads_input(node.value) || reads_input(node.index) || reads_input(node.factor);
        if constexpr (std::is_same_v<Node, Store>) {
            const bool beside = std::ranges::any_of(node.beside, [&](ExpressionId id) { return reads_input(id); });
            return beside || reads_any(node.address.element) || reads_input(node.value) || reads_input(node.guard) ||
                   reads_input(node.filling) || reads_input(node.fits);
        }
        if constexpr (std::is_same_v<Node, PrefetchStart>) return reads_any(node.element);
        if constexpr (std::is_same_v<Node, Prefetch>) return reads_any(node.address.element);
        if constexpr (requires { node.range; }) return reads_any(node.range);
        return false;
    }

    // ---- statements, in order. `may_read`: they stand before the store of their block, or inside of one that does.
    bool walk(const Block& block, bool may_read) {
        const auto is_store = [&](const Statement& statement) {
            const auto* store = std::get_if<Store>(&statement.node);
            return store && store->address.memory == output_;
        };
        const auto first = std::ranges::find_if(block, is_store);
        if (first != block.end()) {
            if (store_ || may_read || std::find_if(std::next(first), block.end(), is_store) != block.end())
                return bad("an output that is written in several places");
            store_ = &std::get<Store>(first->node);
            if (!check_path()) return false;
        }
        for (auto statement = block.begin(); statement != block.end(); ++statement) {
            const bool before = may_read || (first != block.end() && statement < first);
            if (!std::visit([&](const auto& node) { return visit(node, before); }, statement->node)) return false;
        }
        return true;
    }

    template <typename Node>
    bool visit(const Node& node, bool may_read) {
        if (!may_read && evaluates_read(node))
            return bad("the input is read elsewhere than right before the output is written");
        if constexpr (std::is_same_v<Node, Phase> || std::is_same_v<Node, EachRow>) return walk(node.body, may_read);
        if constexpr (std::is_same_v<Node, For> || std::is_same_v<Node, Rows> || std::is_same_v<Node, Lanes>) {
            path_.push_back(Loop(node));
            const bool fine = walk(node.body, may_read);
            path_.pop_back();
            return fine;
        }
        return true;
    }

    // ---- loops around the store
    struct Loop {
        explicit Loop(const For& loop) : variable(loop.variable), range(&loop.range), unrolled(loop.unrolled) {}
        explicit Loop(const Rows& rows) : variable(rows.variable), range(&rows.range), digits(&rows.fused) {}
        explicit Loop(const Lanes& lanes) : variable(lanes.variable), range(&lanes.range), lanes(&lanes) {}
        VariableId variable;
        const Range* range;
        int64_t unrolled = 0;
        const std::vector<Rows::Digit>* digits = nullptr;
        const Lanes* lanes = nullptr;
    };

    // Every point of the loops, and of the tasks that cut them, is another element.
    bool check_path() {
        const auto address = coefficients(store_->address.element);
        const bool plain = store_->beside.empty() && store_->filling < 0 &&
                           store_->address.access != Access::compressed && store_->address.access != Access::packed;
        if (!plain || !address) return bad("an output whose elements data choose");
        store_address_ = *address;
        std::vector<bool> cut(tree_.tasks.size(), false);
        for (const Loop& loop : path_) {
            if (loop.lanes && (loop.lanes->mask == Lanes::Mask::shifted || loop.lanes->reduced))
                return bad("lanes that are written twice");
            reach_[loop.variable] = reach_of(loop);
            for (size_t t = 0; t < cut.size(); t++) cut[t] = cut[t] || is_cut_by(*loop.range, tree_.tasks[t]);
            if (!moves(loop)) return bad("an element that several points write");
        }
        for (size_t t = 0; t < cut.size(); t++) {
            if (!cut[t] && value(tree_.tasks[t].count) > 1) return bad("an element that several tasks write");
        }
        return true;
    }

    // Points of different tasks of the axis are different.
    static bool is_cut_by(const Range& range, const TaskAxis& axis) {
        const auto holds = [](const std::vector<Bound>& bounds, VariableId end) {
            return std::ranges::find(bounds, bound(end)) != bounds.end();
        };
        return holds(range.lower, axis.begin) && holds(range.upper, axis.end);
    }

    // Whether the store moves with the loop: with its variable, or with all digits that this stands for.
    bool moves(const Loop& loop) {
        if (!loop.digits || loop.digits->empty())
            return store_address_.contains(loop.variable) || reach_[loop.variable].is_single();
        int64_t points = 1;
        for (const Rows::Digit& digit : *loop.digits) {
            const int64_t extent = value(digit.extent);
            reach_[digit.variable] = {0, std::max<int64_t>(0, extent - 1)};
            if (extent > 1 && !store_address_.contains(digit.variable)) return false;
            if (__builtin_mul_overflow(points, std::max<int64_t>(0, extent), &points)) return false;
        }
        const Reach& rows = reach_[loop.variable];
        return !store_address_.contains(loop.variable) && rows.low >= 0 && rows.high < points;
    }

    Reach reach_of(const Loop& loop) const {
        if (loop.unrolled > 0) return {0, loop.unrolled - 1};
        Reach reach;
        for (const Bound& bound : loop.range->lower)
            if (const auto least = end_of(bound, false)) reach.low = std::max(reach.low, *least);
        for (const Bound& bound : loop.range->upper)
            if (const auto most = end_of(bound, true)) reach.high = std::min(reach.high, *most - 1);
        return reach;
    }

    // The greatest value of a bound, or the least.
    std::optional<int64_t> end_of(const Bound& bound, bool greatest) const {
        const auto terms = coefficients(bound.affine);
        if (!terms || !bound.divisor.is(1)) return std::nullopt;
        std::optional<int64_t> sum = value(bound.affine.constant);
        for (const auto& [variable, factor] : *terms) {
            const Reach& reach = reach_[variable];
            if (!sum || !reach.is_known()) return std::nullopt;
            const auto part = checked_multiply(factor, (factor > 0) == greatest ? reach.high : reach.low);
            sum = part ? checked_add(*sum, *part) : std::nullopt;
        }
        return sum;
    }

    // Of each variable, without zeros; nothing where data are a part.
    std::optional<Coefficients> coefficients(const Affine& affine) const {
        if (!affine.values.empty()) return std::nullopt;
        Coefficients result;
        for (const Term& term : affine.terms) {
            const auto factor = checked_multiply(term.scale, value(term.number));
            const auto sum = factor ? checked_add(result[term.variable], *factor) : std::nullopt;
            if (!sum) return std::nullopt;
            result[term.variable] = *sum;
        }
        std::erase_if(result, [](const auto& part) { return part.second == 0; });
        return result;
    }

    // What reads the input reads what lies where the store writes.
    bool check_loads() {
        for (const Expression& e : tree_.expressions) {
            if (e.kind != Expression::Kind::load || e.address.memory != input_) continue;
            const bool plain = e.address.access != Access::packed && e.address.access != Access::consecutive;
            const auto address = coefficients(e.address.element);
            if (!plain || address != store_address_ ||
                value(e.address.element.constant) != value(store_->address.element.constant))
                return bad("the input is read at other points than the output is written at");
        }
        return true;
    }

    // Of a sum of steps, each is further than all shorter ones together reach.
    bool is_injective() {
        std::vector<std::pair<int64_t, int64_t>> steps;  // and how many
        for (const auto& [variable, factor] : store_address_) {
            const Reach& reach = reach_[variable];
            if (!reach.is_known() || factor == std::numeric_limits<int64_t>::min())
                return bad("an output whose elements may be the same");
            const auto count = checked_add(reach.high, -reach.low);
            if (!count) return bad("an output whose elements may be the same");
            if (*count > 0) steps.emplace_back(std::abs(factor), *count);
        }
        std::ranges::sort(steps);
        int64_t reached = 0;
        for (const auto& [step, count] : steps) {
            const auto far = checked_multiply(step, count);
            const auto sum = far ? checked_add(reached, *far) : std::nullopt;
            if (step <= reached || !sum) return bad("an output whose elements may be the same");
            reached = *sum;
        }
        return true;
    }

    const Tree& tree_;
    const std::vector<Size>& numbers_;
    const MemoryId input_, output_;
    std::vector<bool> reads_;   // by expression
    std::vector<Reach> reach_;  // by variable, as far as loops around the store tell
    std::vector<Loop> path_;
    const Store* store_ = nullptr;
    Coefficients store_address_;
    const char* problem_ = "";
};

}  // namespace

std::optional<std::string> overwrites_early(const Tree& tree, const std::vector<Size>& numbers, MemoryId input,
                                            MemoryId output) {
    return InPlaceCheck(tree, numbers, input, output).problem();
}

}  // namespace heddle::schedules
