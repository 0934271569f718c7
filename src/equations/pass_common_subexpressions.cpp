// Pass 0: an expensive subexpression that two equations hold over the same axes, up to renaming, becomes an equation of
// its own (softmax's exp(x - m), which its sum and its quotient both use).
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "equations/passes.h"
#include "equations/pass_support.h"
#include "expr/remake.h"

namespace heddle::equations {
namespace {

// A subexpression with its axes renamed by first use: equal for occurrences that differ only in their axes.
struct Canonical {
    Expr expression = nullptr;
    std::vector<AxisId> axes;  // of the occurrence, in the order of the canonical ones
};

Canonical canonical_form(Arena& arena, CanonicalAxes& pool, Expr expression) {
    Canonical result;
    Arena::Substitution renaming;
    for (Expr node : walk(expression)) {
        if (node->kind != Kind::variable) continue;
        const AxisId axis = node->axes[0];
        if (renaming.contains(axis)) continue;
        renaming[axis] = arena.axis_value(pool.get(result.axes.size(), axis));
        result.axes.push_back(axis);
    }
    result.expression = arena.substitute(expression, renaming);
    return result;
}

// Depends on what a scan makes: a name for it would have to join the scan.
bool reads_scan(const System& system, Expr expression) {
    return std::ranges::any_of(reads_below(expression), [&](Expr read) { return system.in_scan(read->tensor()); });
}

struct Occurrence {
    int32_t equation = -1;
    Expr expression = nullptr;
    std::vector<AxisId> axes;
};

// The expression is all that the equation computes, at each point of it: it has a name already.
bool is_whole(const System& system, const Equation& equation, Expr expression) {
    return equation.right == expression && !equation.reducer && equation.axes.size() == expression->axes.size() &&
           system.tensor(equation.tensor).equations.size() == 1;
}

using Groups = std::vector<std::vector<Occurrence>>;

// The expensive expressions that two equations hold, the greatest first.
Groups find_shared(System& system, CanonicalAxes& pool, std::map<Expr, Canonical>& known) {
    std::map<uint32_t, std::vector<Occurrence>> found;  // by the canonical expression's id
    for (int32_t index : system.order()) {
        for (Expr node : walk(system.equation(index).right)) {
            if (node->kind != Kind::scalar || !is_expensive(node->op) || reads_scan(system, node)) continue;
            auto [entry, fresh] = known.try_emplace(node);
            if (fresh) entry->second = canonical_form(*system.arena, pool, node);
            found[entry->second.expression->id].push_back({index, node, entry->second.axes});
        }
    }
    Groups groups;
    for (auto& [id, occurrences] : found) {
        const bool two = std::any_of(occurrences.begin(), occurrences.end(),
                                     [&](const Occurrence& o) { return o.equation != occurrences[0].equation; });
        if (two && reads_inside(system, occurrences[0].expression)) groups.push_back(std::move(occurrences));
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const auto& a, const auto& b) { return a[0].expression->nodes > b[0].expression->nodes; });
    return groups;
}

// An occurrence that is already a whole equation; else -1.
int32_t whole_equation(const System& system, const std::vector<Occurrence>& occurrences) {
    for (const Occurrence& occurrence : occurrences) {
        if (is_whole(system, system.equation(occurrence.equation), occurrence.expression)) return occurrence.equation;
    }
    return -1;
}

// The occurrence's axes in the order in which its equation walks them.
std::vector<size_t> left_order(const Equation& equation, const std::vector<AxisId>& axes) {
    std::vector<size_t> order;
    for (const auto* list : {&equation.axes, &equation.reduced}) {
        for (AxisId axis : *list) {
            auto position = std::find(axes.begin(), axes.end(), axis);
            if (position != axes.end()) order.push_back(static_cast<size_t>(position - axes.begin()));
        }
    }
    return order;
}

// Makes the equation of a new name from one occurrence; the name's dimensions are the positions `order`.
TensorIndex make_name(System& system, const Occurrence& occurrence, const std::vector<size_t>& order) {
    Arena& arena = *system.arena;
    const TensorIndex holder_index = system.equation(occurrence.equation).tensor;
    const SystemTensor holder = system.tensor(holder_index);
    SystemTensor tensor;
    tensor.name = holder.name + "_part";
    tensor.operation = holder.operation;
    tensor.dtype = occurrence.expression->dtype;
    Equation equation;
    Arena::Substitution renaming;
    for (size_t position : order) {
        const Axis axis = arena.axis(occurrence.axes[position]);
        const AxisId own = arena.add_axis(axis);
        renaming[occurrence.axes[position]] = arena.axis_value(own);
        equation.axes.push_back(own);
        equation.left.push_back(arena.axis_value(own));
        tensor.shape.push_back(axis.extent);
    }
    equation.right = arena.substitute(occurrence.expression, renaming);
    equation.tensor = system.add_tensor(std::move(tensor));
    const TensorIndex result = equation.tensor;
    system.add_equation(std::move(equation));
    return result;
}

Expr replace_node(Arena& arena, Expr root, Expr old, Expr replacement) {
    return remade(root, [&](Expr node, std::vector<Expr> operands) {
        return node == old ? replacement : arena.rebuild(node, std::move(operands));
    });
}

void name_occurrences(System& system, const std::vector<Occurrence>& occurrences) {
    Arena& arena = *system.arena;
    const int32_t whole = whole_equation(system, occurrences);
    if (whole >= 0) {
        const Equation made = system.equation(whole);
        auto own = std::find_if(occurrences.begin(), occurrences.end(),
                                [&](const Occurrence& o) { return o.equation == whole && o.expression == made.right; });
        for (const Occurrence& occurrence : occurrences) {
            if (occurrence.equation == whole) continue;
            Arena::Substitution renaming;
            for (size_t k = 0; k < occurrence.axes.size(); k++) {
                renaming[own->axes[k]] = arena.axis_value(occurrence.axes[k]);
            }
            std::vector<Expr> coordinates;
            for (Expr left : made.left) coordinates.push_back(arena.substitute(left, renaming));
            Expr read = arena.read(made.tensor, made.right->dtype, coordinates);
            Equation& equation = system.equation(occurrence.equation);
            equation.right = replace_node(arena, equation.right, occurrence.expression, read);
        }
        return;
    }
    // The order of a pointwise holder, if there is one: that is how the name will be walked.
    const Occurrence* model = &occurrences[0];
    for (const Occurrence& occurrence : occurrences) {
        if (!system.equation(occurrence.equation).reducer) model = &occurrence;
    }
    const auto order = left_order(system.equation(model->equation), model->axes);
    const TensorIndex name = make_name(system, *model, order);
    for (const Occurrence& occurrence : occurrences) {
        std::vector<Expr> coordinates;
        for (size_t position : order) coordinates.push_back(arena.axis_value(occurrence.axes[position]));
        Equation& equation = system.equation(occurrence.equation);
        Expr read = arena.read(name, occurrence.expression->dtype, coordinates);
        equation.right = replace_node(arena, equation.right, occurrence.expression, read);
    }
}

}  // namespace

void name_common_subexpressions(System& system) {
    CanonicalAxes pool(*system.arena);
    std::map<Expr, Canonical> known;
    bool changed = true;
    while (changed) {
        changed = false;
        std::set<int32_t> touched;  // their other occurrences are out of date
        for (const auto& occurrences : find_shared(system, pool, known)) {
            const bool stale = std::any_of(occurrences.begin(), occurrences.end(),
                                           [&](const Occurrence& o) { return touched.contains(o.equation); });
            if (stale) continue;
            for (const Occurrence& occurrence : occurrences) touched.insert(occurrence.equation);
            name_occurrences(system, occurrences);
            changed = true;
        }
    }
    prune(system);
}

}  // namespace heddle::equations
