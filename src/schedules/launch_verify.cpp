// What a launch gives a tree: an independent check of the numbers that tasks are cut by.
#include <algorithm>
#include <set>

#include "schedules/tree.h"

namespace heddle::schedules {
namespace {

class LaunchVerifier {
public:
    LaunchVerifier(const Tree& tree, const std::vector<Size>& numbers, const Size& tasks, const Size& rounds)
        : tree_(tree), numbers_(numbers), tasks_(tasks), rounds_(rounds) {}

    Result<void> verify() {
        if (numbers_.size() != tree_.numbers.size())
            return bad("the tree asks for another number of them", std::to_string(tree_.numbers.size()));
        if (tasks_ == 0) return {};  // nothing runs
        if (auto fine = check_digits(); !fine) return fine;
        for (const Expression& e : tree_.expressions) {
            if (e.kind != Expression::Kind::load || e.address.access != Access::packed) continue;
            for (const Term& term : e.address.element.terms) {
                if (tree_.variable(term.variable).kind == Variable::Kind::lane) packed_lanes_.insert(term.variable);
            }
        }
        return check_panels(tree_.body);
    }

private:
    static std::unexpected<Diagnostics> bad(std::string expected, std::string found) {
        return fail({.code = "schedules.launch",
                     .summary = "the numbers of a launch do not fit its tree",
                     .expected = std::move(expected),
                     .found = std::move(found)});
    }

    int64_t value(const Number& number) const {
        return number.launch ? numbers_[static_cast<size_t>(number.value)] : Size(number.value);
    }

    // Each axis is covered, and the number of a task has one digit for each axis.
    Result<void> check_digits() const {
        std::vector<std::pair<int64_t, int64_t>> digits;  // divisor, count
        for (const TaskAxis& axis : tree_.tasks) {
            const int64_t step = value(axis.step), count = value(axis.count), divisor = value(axis.divisor);
            int64_t reach = 0;
            const bool far = step < 1 || count < 1 || __builtin_mul_overflow(step, count, &reach);
            if (far || reach < value(axis.extent)) return bad("tasks that cover their axis", axis.name);
            if (count > 1) digits.emplace_back(divisor, count);
        }
        std::sort(digits.begin(), digits.end());
        int64_t next = 1;
        for (const auto& [divisor, count] : digits) {
            if (divisor != next || __builtin_mul_overflow(next, count, &next))
                return bad("divisors that are products of the counts before", std::to_string(divisor));
        }
        if (auto fine = check_rounds(); !fine) return fine;
        return next == tasks_ ? Result<void>() : bad(std::to_string(next) + " tasks", std::to_string(tasks_));
    }

    // The tasks of a round stand side by side.
    Result<void> check_rounds() const {
        const bool any = !tree_.tasks.empty() && tree_.tasks.front().rounds;
        const int64_t rounds = any ? value(tree_.tasks.front().count) : 1;
        if (rounds != rounds_) return bad(std::to_string(rounds) + " rounds", std::to_string(rounds_));
        const bool outermost = rounds == 1 || value(tree_.tasks.front().divisor) == tasks_ / rounds;
        return outermost ? Result<void>() : bad("rounds outside of all other axes", tree_.tasks.front().name);
    }

    Result<void> check_panels(const Block& block) const {
        for (const Statement& statement : block) {
            const Block* inner = nullptr;
            if (const auto* phase = std::get_if<Phase>(&statement.node)) inner = &phase->body;
            if (const auto* loop = std::get_if<For>(&statement.node)) inner = &loop->body;
            if (const auto* rows = std::get_if<Rows>(&statement.node)) inner = &rows->body;
            if (const auto* lanes = std::get_if<Lanes>(&statement.node)) {
                inner = &lanes->body;
                if (auto fine = check_lanes(*lanes); !fine) return fine;
            }
            if (!inner) continue;
            if (auto fine = check_panels(*inner); !fine) return fine;
        }
        return {};
    }

    // A packed operand is addressed by whole panels: a block of lanes begins where one does.
    Result<void> check_lanes(const Lanes& lanes) const {
        if (!packed_lanes_.contains(lanes.variable)) return {};
        const int64_t panel = int64_t{lanes.vectors} * lanes.width;
        const auto whole = [&](const Term& term) {
            const auto axis = std::find_if(tree_.tasks.begin(), tree_.tasks.end(),
                                           [&](const TaskAxis& task) { return task.begin == term.variable; });
            return axis != tree_.tasks.end() && (value(axis->step) % panel == 0 || value(term.number) % panel == 0);
        };
        for (const Bound& bound : lanes.range.lower) {
            const Affine& begin = bound.affine;
            const bool plain = begin.values.empty() && bound.divisor.is(1) && value(begin.constant) % panel == 0;
            if (plain && std::all_of(begin.terms.begin(), begin.terms.end(), whole)) continue;
            return bad("lanes over a packed operand that begin at multiples of " + std::to_string(panel),
                       tree_.variable(lanes.variable).name);
        }
        return {};
    }

    const Tree& tree_;
    const std::vector<Size>& numbers_;
    const int64_t tasks_, rounds_;
    std::set<VariableId> packed_lanes_;
};

}  // namespace

Result<void> verify(const Tree& tree, const std::vector<Size>& numbers, const Size& tasks, const Size& rounds) {
    return LaunchVerifier(tree, numbers, tasks, rounds).verify();
}

}  // namespace heddle::schedules
