// The passes over a system, as data: what each is called, what it needs and which others have new work after it.
// `optimise` runs them in this order; a pass changes the system in place and keeps its values. Rules: docs/equations.md.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "equations/system.h"
#include "target/choice_numbers.h"

namespace heddle::equations {

struct Pass {
    std::string_view name;  // as `heddle explain --equations=NAME` says it
    std::string_view what;  // for people
    void (*run)(System&);
    // It asks which tensors are made of constants (SystemTensor::prepared): they are marked before it runs.
    bool needs_prepared = false;
    // Passes before it, or itself, that may find new work where this one has changed something: they run again.
    std::vector<std::string_view> reopens = {};
};

std::span<const Pass> passes();
const Pass* pass_named(std::string_view name);  // null: none

struct OptimiseOptions {
    std::set<std::string_view> without = {};  // names of passes that do not run
    // Told after each run of a pass, and whether it has changed the system.
    std::function<void(const Pass&, const System&, bool changed)> after = nullptr;
};

// Runs the passes, each as often as others reopen it, up to a bound; then what is made of constants is marked.
void optimise(System& system, const OptimiseOptions& options = {});

// Marks what is made of constants only: `prepare` computes it.
void mark_prepared(System& system);

// How many parts a reduction's terms are cut into.
struct ReductionParts {
    // Of a scatter: at most so many, each with so many terms an element of its copy of the result, and so many at all.
    int64_t most = choice_numbers::most_scatter_parts;
    double terms_an_element = choice_numbers::scatter_terms_an_element;
    double terms = choice_numbers::scatter_terms_a_task;
    // Of a product of which each factor serves so many points that the other one has alone: each with so many terms.
    double product_shares = choice_numbers::product_shares;
    double product_terms = choice_numbers::product_terms_a_task;
};

// Which reductions go by words of several elements: by their terms, by the terms that share an element, by all terms.
struct WordLimits {
    double terms = choice_numbers::least_terms_by_words;
    double uses = choice_numbers::least_uses_of_a_word;
    double work = choice_numbers::least_work_by_words;
};

// Each is in a file of its own, pass_*.cpp; what it does stands in the list (passes.cpp).
void join_history(System& system);
void narrow_integers(System& system);
void narrow_steps(System& system);
void merge_equal(System& system);
void separate_windows(System& system);
void unroll_axes(System& system);
void name_common_subexpressions(System& system);
void compose_views(System& system);
void substitute_pointwise(System& system);
void distribute(System& system);
void pull_out_factors(System& system);
void hoist_expensive(System& system);
void share_sweeps(System& system);
void pack_words(System& system, const WordLimits& limits = {});
void factor_axes(System& system);
void split_reductions(System& system, const ReductionParts& limits = {});
void join_scans(System& system);
void keep_slices(System& system);
void name_changes(System& system);
void keep_dead_elements(System& system);
void leave_extremes(System& system);
void leave_undemanded_elements(System& system);

}  // namespace heddle::equations
