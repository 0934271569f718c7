// Passes 2 and 3: pointwise equations into their readers. One read: unless the reader runs it at more points and it is
// expensive, or the reader is a reduction that does so and it computes anything. Several reads: at most two cheap
// operations on small operands, or a movement of one. Everything else keeps its name.
#include <algorithm>
#include <set>

#include "equations/passes.h"
#include "equations/pass_support.h"

namespace heddle::equations {
namespace {

constexpr int maximum_nodes = 200;          // of a right side
constexpr double least_spread = 64 * 1024;  // bytes

struct Use {
    int32_t reader = -1;
    Expr read = nullptr;
};

class PointwiseChoice {
public:
    explicit PointwiseChoice(System& system) : system_(system) {}

    // The equations to substitute in this round: no two of them next to each other. Empty: the fixed point is reached.
    // `guards`: also what is computed under a guard.
    std::vector<bool> choose(bool guards);

private:
    bool may_vanish(int32_t index);
    bool is_spread(const Equation& equation);
    std::set<TensorIndex> large_operands(const Equation& equation) const;
    bool worth(int32_t index, bool guards);
    bool worth_with_one_read(const Equation& equation, const Equation& reader);
    bool worth_under_guard(const Equation& equation, const Use& use);
    bool worth_with_several_reads(const Equation& equation, const std::vector<Use>& uses);
    bool fits(int32_t index);

    System& system_;
    FactCache facts_;
    std::vector<std::vector<Use>> uses_;         // by equation that makes what is read
    std::vector<std::vector<int32_t>> readers_;  // by tensor
    std::vector<bool> shared_;                   // a read reaches this and another equation's elements
    std::vector<int> nodes_;                     // of each equation's right side with what it will take in
};

// Operands of which an element is read for only a few elements of the result.
std::set<TensorIndex> PointwiseChoice::large_operands(const Equation& equation) const {
    const Arena& arena = *system_.arena;
    std::set<TensorIndex> large;
    for (Expr read : reads(equation)) {
        std::set<AxisId> axes;
        for (Expr coordinate : coordinates_of(read)) axes.insert(coordinate->axes.begin(), coordinate->axes.end());
        if (hint_points(arena, {axes.begin(), axes.end()}) * 4 >= hint_points(system_, equation))
            large.insert(read->tensor());
    }
    return large;
}

// A few constants, spread over what no cache holds at hand: to work it out again is less than to read it.
bool PointwiseChoice::is_spread(const Equation& equation) {
    const double bytes = hint_points(system_, equation) * heddle::bytes(system_.tensor(equation.tensor).dtype);
    return bytes >= least_spread && facts_.of(equation.right).operations <= 2 && large_operands(equation).empty();
}

bool PointwiseChoice::may_vanish(int32_t index) {
    const Equation& equation = system_.equation(index);
    const SystemTensor& tensor = system_.tensor(equation.tensor);
    if (equation.dead || equation.reducer || tensor.is_output || tensor.keep_name) return false;
    if (tensor.prepared && !is_spread(equation)) return false;
    if (equation.scan >= 0 && !stays_in_step(system_, equation, readers_[static_cast<size_t>(equation.tensor)]))
        return false;
    if (tensor.equations.size() != 1 || tensor.kind != SystemTensor::Kind::computed) return false;
    return !uses_[static_cast<size_t>(index)].empty() && !shared_[static_cast<size_t>(index)];
}

bool PointwiseChoice::worth_with_one_read(const Equation& equation, const Equation& reader) {
    const ValueFacts& facts = facts_.of(equation.right);
    const bool more_points = hint_points(system_, reader) > 1.01 * hint_points(system_, equation);
    if (reader.reducer && more_points && facts.operations > 0) return false;
    return !(more_points && facts.expensive);
}

bool PointwiseChoice::worth_with_several_reads(const Equation& equation, const std::vector<Use>& uses) {
    const int operations = facts_.of(equation.right).operations;
    const double points = hint_points(system_, equation);
    const std::set<TensorIndex> large = large_operands(equation);
    if (operations > 2 || large.size() > 1 || (large.size() == 1 && operations > 0)) return false;
    return std::none_of(uses.begin(), uses.end(), [&](const Use& use) {
        const Equation& reader = system_.equation(use.reader);
        return reader.reducer && operations > 0 && hint_points(system_, reader) > 1.01 * points;
    });
}

// No element is read at two points of the reader's axes: what is computed where the guard holds is not computed twice.
bool reads_once(const Arena& arena, const Equation& reader, Expr read) {
    std::set<AxisId> told;
    for (Expr coordinate : coordinates_of(read)) {
        const auto terms = linear_form(coordinate).terms;
        if (terms.size() == 1 && terms.begin()->first->kind == Kind::variable) told.insert(coordinate->axes[0]);
    }
    return std::ranges::all_of(reader.axes, [&](AxisId axis) { return arena.extent(axis) == 1 || told.contains(axis); });
}

// A reduction's operand keeps its name: the guard is its buffer's margin, and its inner loop has no selection. A
// pointwise reader would only read again what it can compute (a padded activation).
bool PointwiseChoice::worth_under_guard(const Equation& equation, const Use& use) {
    const Equation& reader = system_.equation(use.reader);
    if (reader.reducer || reader.scan >= 0 || equation.scan >= 0) return false;
    return reads_once(*system_.arena, reader, use.read) || worth_with_one_read(equation, reader);
}

bool PointwiseChoice::worth(int32_t index, bool guards) {
    const Equation& equation = system_.equation(index);
    const auto& uses = uses_[static_cast<size_t>(index)];
    for (const Use& use : uses) {
        if (use.read->kind != Kind::guarded_read || facts_.of(equation.right).operations == 0) continue;
        return guards && uses.size() == 1 && worth_under_guard(equation, use);
    }
    if (uses.size() == 1) return worth_with_one_read(equation, system_.equation(uses[0].reader));
    return worth_with_several_reads(equation, uses);
}

bool PointwiseChoice::fits(int32_t index) {
    for (const Use& use : uses_[static_cast<size_t>(index)]) {
        if (nodes_[static_cast<size_t>(use.reader)] + nodes_[static_cast<size_t>(index)] > maximum_nodes) return false;
    }
    return true;
}

std::vector<bool> PointwiseChoice::choose(bool guards) {
    const auto order = system_.order();
    uses_.assign(system_.equations.size(), {});
    readers_ = system_.readers();
    shared_.assign(system_.equations.size(), false);
    nodes_.assign(system_.equations.size(), 0);
    std::vector<std::set<int32_t>> sources(system_.equations.size());
    for (int32_t index : order) {
        const Equation& equation = system_.equation(index);
        nodes_[static_cast<size_t>(index)] = facts_.of(equation.right).nodes;
        for (Expr read : reads(equation)) {
            const auto makers = makers_of(system_, read);
            for (int32_t maker : makers) {
                uses_[static_cast<size_t>(maker)].push_back({index, read});
                sources[static_cast<size_t>(index)].insert(maker);
                if (makers.size() > 1 || maker_of(system_, read) != maker) shared_[static_cast<size_t>(maker)] = true;
            }
        }
    }
    std::vector<bool> chosen(system_.equations.size());
    for (int32_t index : order) {
        if (!may_vanish(index) || !worth(index, guards) || !fits(index)) continue;
        const auto& uses = uses_[static_cast<size_t>(index)];
        const bool beside =
            std::any_of(uses.begin(), uses.end(),
                        [&](const Use& use) { return static_cast<bool>(chosen[static_cast<size_t>(use.reader)]); }) ||
            std::any_of(sources[static_cast<size_t>(index)].begin(), sources[static_cast<size_t>(index)].end(),
                        [&](int32_t source) { return static_cast<bool>(chosen[static_cast<size_t>(source)]); });
        if (beside) continue;
        chosen[static_cast<size_t>(index)] = true;
        for (const Use& use : uses) nodes_[static_cast<size_t>(use.reader)] += nodes_[static_cast<size_t>(index)];
    }
    return chosen;
}

}  // namespace

void substitute_pointwise(System& system) {
    PointwiseChoice choice(system);
    // Behind all others: until then a padding may still become part of a reduction that reads it.
    for (bool guards : {false, true}) {
        while (true) {
            const auto chosen = choice.choose(guards);
            if (std::find(chosen.begin(), chosen.end(), true) == chosen.end()) break;
            inline_equations(system, chosen);
        }
    }
}

}  // namespace heddle::equations
