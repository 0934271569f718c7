#include "equations/passes.h"

#include <algorithm>

#include "equations/pass_support.h"

namespace heddle::equations {
namespace {

// A pass that others reopen runs so often at most: chains of reshapes and concatenations end long before.
constexpr int most_runs = 9;

const std::vector<Pass>& list() {
    static const std::vector<Pass> all = {
        {"prune", "equations without points, or that no output needs, go", prune},
        {"histories", "a state that hands on another one's step before is that state", join_history},
        {"narrow", "integers, sums and states of integers in the smallest types that hold them", narrow_integers},
        {"merge", "equations and scans that make the same become one", merge_equal},
        {"separate", "a window of several axes becomes windows of one axis each", separate_windows, true},
        {"unroll", "short axes that choose from lists are unrolled", unroll_axes, true},
        {"narrow-steps", "what a cast makes small is computed in small types", narrow_steps},
        {"common-subexpressions", "what two equations compute at great cost gets a name", name_common_subexpressions},
        {"views", "equations that only read go into their readers", compose_views},
        {"pointwise", "pointwise equations go into their readers", substitute_pointwise, true},
        {"distribute",
         "a reader of a tensor in pieces becomes an equation for each piece",
         distribute,
         true,
         {"common-subexpressions", "views", "pointwise", "distribute"}},
        {"pull-out",
         "factors that are the same for all terms of a sum are multiplied behind it",
         pull_out_factors,
         true,
         {"pointwise"}},
        {"hoist", "what an equation would compute again and again becomes one of its own", hoist_expensive, true},
        {"sweeps", "several steps of a scan share one walk over its state", share_sweeps},
        {"words", "reductions of bools and small integers take several elements a word",
         [](System& system) { pack_words(system); }, true},
        {"factor-axes", "digits of mixed radices become axes", factor_axes},
        {"split-reductions", "long reductions with few results are cut into parts",
         [](System& system) { split_reductions(system); }},
        {"join-scans", "pointwise readers of a scan's steps become part of it", join_scans, true},
        {"slices", "of a state that is read after its scan the part that is read is kept", keep_slices},
        {"changes", "a state that keeps most of its elements is changed in place", name_changes},
        {"liveness", "elements of a state that no later step reads are left as they are", keep_dead_elements},
        {"extremes", "a running maximum is left as it is where it stays the same", leave_extremes},
        {"demand", "elements of a scan's steps that no read reaches are left open", leave_undemanded_elements}};
    return all;
}

// Of all that passes change: equal for equal systems, and different for others but by chance.
class Fingerprint {
public:
    explicit Fingerprint(const System& system) {
        add(system.tensors.size());
        for (const SystemTensor& tensor : system.tensors) {
            add(static_cast<uint64_t>(tensor.dtype) << 3 | uint64_t{tensor.dead} << 2 |
                uint64_t{tensor.keep_name} << 1 | uint64_t{tensor.in_parts});
            add_all(tensor.equations);
        }
        for (const Equation& equation : system.equations) add(equation);
    }
    bool operator==(const Fingerprint&) const = default;

private:
    void add(uint64_t value) { hash_ = (hash_ ^ value) * 0x9e3779b97f4a7c15u ^ hash_ >> 29; }
    void add_all(const auto& values) {
        add(values.size());
        for (const auto value : values) add(static_cast<uint64_t>(value));
    }
    void add(const Equation& equation) {
        add(equation.dead);
        if (equation.dead) return;
        add(static_cast<uint64_t>(equation.tensor));
        add_all(equation.axes);
        add_all(equation.reduced);
        for (Expr left : equation.left) add(left->id);
        add(equation.right->id);
        add(equation.reducer ? static_cast<uint64_t>(*equation.reducer) + 1 : 0);
        add(static_cast<uint64_t>(equation.scan));
        add(static_cast<uint64_t>(equation.ordered));
    }

    uint64_t hash_ = 0;
};

class Run {
public:
    Run(System& system, const OptimiseOptions& options)
        : system_(system), options_(options), present_(system), runs_(list().size()), open_(list().size(), true) {}

    void all() {
        for (auto next = open_.begin(); (next = std::ranges::find(open_, true)) != open_.end();) {
            *next = false;
            one(static_cast<size_t>(next - open_.begin()));
        }
        see_to_marks();
    }

private:
    void one(size_t index) {
        const Pass& pass = list()[index];
        if (options_.without.contains(pass.name)) return;
        runs_[index]++;
        if (pass.needs_prepared) see_to_marks();
        pass.run(system_);
        const Fingerprint before = std::exchange(present_, Fingerprint(system_));
        const bool changed = before != present_;
        if (options_.after) options_.after(pass, system_, changed);
        if (!changed) return;
        for (size_t other = 0; other < list().size(); other++) {
            const bool reopened = std::ranges::find(pass.reopens, list()[other].name) != pass.reopens.end();
            if (reopened && runs_[other] < most_runs) open_[other] = true;
        }
    }

    // They hold for the system as it was when they were made.
    void see_to_marks() {
        if (marked_ == present_) return;
        mark_prepared(system_);
        marked_ = present_;
    }

    System& system_;
    const OptimiseOptions& options_;
    Fingerprint present_;
    std::optional<Fingerprint> marked_;
    std::vector<int> runs_;
    std::vector<bool> open_;
};

}  // namespace

std::span<const Pass> passes() { return list(); }

const Pass* pass_named(std::string_view name) {
    const auto found = std::ranges::find(list(), name, &Pass::name);
    return found == list().end() ? nullptr : &*found;
}

void optimise(System& system, const OptimiseOptions& options) { Run(system, options).all(); }

}  // namespace heddle::equations
