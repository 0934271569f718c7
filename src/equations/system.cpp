#include "equations/system.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>

#include "expr/arena_interval.h"
#include "zspace/checked.h"
#include "zspace/linear_equation.h"

namespace heddle::equations {
namespace {

std::vector<TensorIndex> tensors_read(const Equation& equation) {
    std::vector<TensorIndex> tensors;
    for (Expr read : reads(equation)) tensors.push_back(read->tensor());
    std::sort(tensors.begin(), tensors.end());
    tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
    return tensors;
}

// What must come before what: nodes are the equations, then the tensors (an opaque operation stands between its inputs
// and its output; other tensors only pass on). A scan is one node, its first equation's.
struct Dependencies {
    std::vector<std::vector<int32_t>> after;
    std::vector<int32_t> waiting;
    std::map<int32_t, std::vector<int32_t>> scans;  // live equations of each, by its first one

    explicit Dependencies(const System& system)
        : after(system.equations.size() + system.tensors.size()), waiting(after.size(), 0) {
        find_scans(system);
        const auto first_tensor = static_cast<int32_t>(system.equations.size());
        for (size_t i = 0; i < system.equations.size(); i++) {
            const Equation& equation = system.equations[i];
            if (equation.dead) continue;
            const int32_t node = node_of(equation, static_cast<int32_t>(i));
            add(node, first_tensor + equation.tensor);
            for (TensorIndex tensor : tensors_read(equation)) {
                if (tensor == equation.tensor && equation.scan < 0) continue;
                if (!of_scan(system, equation, tensor)) {
                    add(first_tensor + tensor, node);
                    continue;
                }
                // Of its own scan's names the other pieces come before.
                for (int32_t maker : system.tensor(tensor).equations) {
                    const Equation& made = system.equation(maker);
                    if (!made.dead && made.scan != equation.scan) add(node_of(made, maker), node);
                }
            }
        }
        for (size_t t = 0; t < system.tensors.size(); t++) {
            for (TensorIndex input : system.tensors[t].opaque_inputs) {
                add(first_tensor + input, first_tensor + static_cast<int32_t>(t));
            }
        }
    }

    bool is_inside(const System& system, int32_t equation) const {
        return node_of(system.equation(equation), equation) != equation;
    }

private:
    std::map<int32_t, int32_t> first_of_;  // by scan

    void find_scans(const System& system) {
        for (size_t i = 0; i < system.equations.size(); i++) {
            const Equation& equation = system.equations[i];
            if (equation.dead || equation.scan < 0) continue;
            const auto index = static_cast<int32_t>(i);
            scans[first_of_.try_emplace(equation.scan, index).first->second].push_back(index);
        }
    }
    int32_t node_of(const Equation& equation, int32_t index) const {
        return equation.scan < 0 ? index : first_of_.at(equation.scan);
    }
    static bool of_scan(const System& system, const Equation& equation, TensorIndex tensor) {
        const auto& makers = system.tensor(tensor).equations;
        return equation.scan >= 0 && std::any_of(makers.begin(), makers.end(), [&](int32_t maker) {
                   return !system.equation(maker).dead && system.equation(maker).scan == equation.scan;
               });
    }
    void add(int32_t before, int32_t node) {
        after[static_cast<size_t>(before)].push_back(node);
        waiting[static_cast<size_t>(node)]++;
    }
};

// What the equations of a scan read of one another, of this step or of steps before.
struct StepReads {
    std::map<int32_t, std::set<int32_t>> present, before;  // makers, by reader

    StepReads(const System& system, const std::vector<int32_t>& members) {
        std::map<TensorIndex, std::vector<int32_t>> makers;
        for (int32_t member : members) makers[system.equation(member).tensor].push_back(member);
        for (int32_t reader : members) {
            for (Expr read : reads(system.equation(reader))) {
                const auto found = makers.find(read->tensor());
                if (found == makers.end()) continue;
                for (int32_t maker : found->second) {
                    if (leaves_open(system.equation(reader), read)) continue;
                    const auto step = step_of_read(system.equation(reader), read, system.equation(maker));
                    (step.value_or(0) >= 0 ? present : before)[reader].insert(maker);
                }
            }
        }
    }
};

// The equations of one scan in the order of a step: what an equation reads of this step comes before it. What it reads
// of the step before comes after it where that can be: the new value may then take the place of the old one. But where
// nothing is before the first step, it comes before it, too: all that a kernel reads has been written by an equation
// before.
std::vector<int32_t> order_of_step(const System& system, std::vector<int32_t> members) {
    StepReads reads(system, members);
    std::vector<int32_t> result;
    const auto waits = [&](int32_t reader) {
        return std::ranges::any_of(members, [&](int32_t maker) { return reads.present[reader].contains(maker); });
    };
    std::set<int32_t> unfilled;
    for (int32_t maker : members) {
        const auto& makers = system.tensor(system.equation(maker).tensor).equations;
        const bool filled = std::ranges::any_of(makers, [&](int32_t other) {
            return !system.equation(other).dead && system.equation(other).scan != system.equation(maker).scan;
        });
        if (!filled) unfilled.insert(maker);
    }
    const auto reads_before = [&](int32_t reader, int32_t maker) {
        return reader != maker && reads.before[reader].contains(maker);
    };
    const auto is_early = [&](int32_t m) {
        return std::ranges::any_of(members,
                                   [&](int32_t maker) { return unfilled.contains(maker) && reads_before(m, maker); });
    };
    const auto overwrites = [&](int32_t maker) {
        return !unfilled.contains(maker) &&
               std::ranges::any_of(members, [&](int32_t reader) { return reads_before(reader, maker); });
    };
    while (!members.empty()) {
        const auto fits = [&](int32_t m) { return !waits(m) && !is_early(m); };
        auto next = std::ranges::find_if(members, [&](int32_t m) { return fits(m) && !overwrites(m); });
        if (next == members.end()) next = std::ranges::find_if(members, fits);
        if (next == members.end()) next = std::ranges::find_if_not(members, waits);
        if (next == members.end()) break;
        result.push_back(*next);
        members.erase(next);
    }
    return result;
}

}  // namespace

int64_t Equation::points(const Arena& arena) const {
    int64_t product = 1;
    for (const std::vector<AxisId>* list : {&axes, &reduced}) {
        for (AxisId axis : *list) product = checked_multiply(product, arena.extent(axis)).value_or(INT64_MAX);
    }
    return product;
}

TensorIndex System::add_tensor(SystemTensor tensor) {
    if (tensor.name.empty()) tensor.name = "t";
    // A number behind the name, found at once for long runs of one name.
    auto& next = name_numbers[tensor.name];
    if (next++ > 0) {
        const std::string stem = tensor.name;
        do tensor.name = stem + "_" + std::to_string(next++);
        while (name_numbers.contains(tensor.name));
        name_numbers[tensor.name] = 1;
    }
    const auto index = next_id<TensorIndex>(tensors);
    if (tensor.constant && tensor.dtype == DType::int64 && tensor.constant->size() > 0) {
        int64_t low = INT64_MAX, high = INT64_MIN;
        for (int64_t i = 0; i < tensor.constant->size(); i++) {
            const int64_t value = tensor.constant->integer_at(i);
            low = std::min(low, value), high = std::max(high, value);
        }
        arena->declare_range(index, low, high);
    }
    tensors.push_back(std::move(tensor));
    return index;
}

int32_t System::add_equation(Equation equation) {
    const auto index = static_cast<int32_t>(equations.size());
    tensor(equation.tensor).equations.push_back(index);
    equations.push_back(std::move(equation));
    return index;
}

std::vector<int32_t> System::order() const {
    Dependencies dependencies(*this);
    const auto count = static_cast<int32_t>(equations.size());
    std::vector<int32_t> result;
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
    // Tensors before equations, so that what has become ready joins the choice at once.
    auto key = [&](int32_t node) { return node < count ? node : node - count - static_cast<int32_t>(tensors.size()); };
    auto node_of = [&](int32_t k) { return k >= 0 ? k : k + count + static_cast<int32_t>(tensors.size()); };
    for (size_t node = 0; node < dependencies.waiting.size(); node++) {
        if (dependencies.waiting[node] == 0) ready.push(key(static_cast<int32_t>(node)));
    }
    while (!ready.empty()) {
        const int32_t node = node_of(ready.top());
        ready.pop();
        if (auto scan = dependencies.scans.find(node); scan != dependencies.scans.end()) {
            const auto members = order_of_step(*this, scan->second);
            result.insert(result.end(), members.begin(), members.end());
        } else if (node < count && !equation(node).dead && !dependencies.is_inside(*this, node)) {
            result.push_back(node);
        }
        for (int32_t next : dependencies.after[static_cast<size_t>(node)]) {
            if (--dependencies.waiting[static_cast<size_t>(next)] == 0) ready.push(key(next));
        }
    }
    return result;
}

bool System::in_scan(TensorIndex index) const {
    const auto& makers = tensor(index).equations;
    return std::any_of(makers.begin(), makers.end(),
                       [&](int32_t maker) { return !equation(maker).dead && equation(maker).scan >= 0; });
}

std::optional<int64_t> step_of_read(const Equation& reader, Expr read, const Equation& maker) {
    for (size_t d = 0; d < maker.left.size(); d++) {
        const CoordinateForm made = linear_form(maker.left[d]), at = linear_form(read->parts()[d]);
        const auto is_axis = [](const CoordinateForm& form, AxisId axis) {
            const auto lone = lone_atom(form);
            return lone && (*lone)->kind == Kind::variable && (*lone)->index == axis;
        };
        if (!is_axis(made, maker.ordered)) continue;
        return is_axis(at, reader.ordered) ? std::optional(at.constant - made.constant) : std::nullopt;
    }
    return std::nullopt;
}

bool leaves_open(const Equation& equation, Expr read) {
    if (read->kind != Kind::read || read->tensor() != equation.tensor || coordinates_of(read) != equation.left)
        return false;
    const auto contains = [&](Expr e) {
        const std::vector<Expr> nodes = walk(e);
        return std::ranges::find(nodes, read) != nodes.end();
    };
    std::vector<Expr> branches = {equation.right};
    while (!branches.empty()) {
        Expr branch = branches.back();
        branches.pop_back();
        if (branch == read) continue;
        const bool chooses = branch->kind == Kind::select;
        if (contains(chooses ? branch->parts()[0] : branch)) return false;
        if (chooses) branches.insert(branches.end(), {branch->parts()[1], branch->parts()[2]});
    }
    return true;
}

std::vector<std::vector<int32_t>> System::readers() const {
    std::vector<std::vector<int32_t>> result(tensors.size());
    for (size_t i = 0; i < equations.size(); i++) {
        if (equations[i].dead) continue;
        for (TensorIndex tensor : tensors_read(equations[i])) {
            result[static_cast<size_t>(tensor)].push_back(static_cast<int32_t>(i));
        }
    }
    return result;
}

bool leaves(const System& system, Expr read, size_t dimension) {
    Expr coordinate = read->parts()[dimension];
    return !interval(coordinate).within(0, system.tensor(read->tensor()).shape[dimension] - 1) &&
           !coordinate->has_reads;
}

std::vector<Expr> reads(const Equation& equation) {
    return reads_below(equation.right);
}

std::map<TensorIndex, std::vector<int32_t>> readers(const System& system) {
    std::map<TensorIndex, std::vector<int32_t>> result;
    for (int32_t index = 0; index < static_cast<int32_t>(system.equations.size()); index++) {
        const Equation& equation = system.equation(index);
        if (equation.dead) continue;
        const auto add = [&](Expr read) {
            std::vector<int32_t>& of = result[read->tensor()];
            if (of.empty() || of.back() != index) of.push_back(index);
        };
        std::ranges::for_each(reads(equation), add);
        for (Expr left : equation.left) std::ranges::for_each(reads_below(left), add);
    }
    return result;
}

}  // namespace heddle::equations
