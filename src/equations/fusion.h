// From a system to kernels: substitution, names, distribution, factoring, common axes, greedy grouping under a cost
// model.
// Rules and their reasons: docs/equations.md.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "equations/system.h"
#include "target/choice_numbers.h"
#include "target/target.h"

namespace heddle::equations {

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

// The passes, each to its fixed point; they change the system in place and keep its values. Order: as listed.
void join_history(System& system);          // states that hand on the step before of others are these
void narrow_integers(System& system);       // sums, tensors inside and states, in the smallest types
void narrow_steps(System& system);          // values that a cast makes small, in small types
void name_expensive(System& system);        // 0. one name for an expensive subexpression of two equations
void merge_equal(System& system);           // equations that make the same
void separate_windows(System& system);      // of several axes, one axis after the other
void write_out_axes(System& system);        // short axes that choose from lists
void compose_views(System& system);         // 1. views into every reader where the result is clean
void substitute_pointwise(System& system);  // 2. and 3.
void distribute(System& system);        // 4. a pointwise reader of a several-equation name becomes several equations
void pull_out_factors(System& system);  // what a sum does not need for each term is multiplied once, behind it
void hoist_expensive(System& system);   // expensive arithmetic that would be done again, or on constants
void share_sweeps(System& system);      // several steps of a scan in one sweep over a state
void pack_words(System& system,
                const WordLimits& limits = {});  // reductions of bools and of small integers, several in a word
void factor_axes(System& system);                // mixed-radix digits become axes of their own
void split_reductions(System& system, const ReductionParts& limits = {});  // many terms of few elements
void mark_prepared(System& system);
void join_scans(System& system);              // readers that walk a scan's steps become equations of it
void name_changes(System& system);            // of states that keep all but few elements
void keep_dead_elements(System& system);      // of states, where no later step asks for them
void leave_extremes(System& system);          // of states that are running maxima, where they stay what they were
void leave_unasked_elements(System& system);  // of a scan's steps, which no read reaches
void optimise(System& system);                // all of them, as often as docs/equations.md says

// A kernel: which equations, over which common axes.
struct Kernel {
    std::vector<int32_t> equations;  // in order
    // The common axes T, outermost first. Entry t has one axis of each equation that has it (or -1): its tasks are
    // independent over T.
    struct CommonAxis {
        int64_t extent = 1;
        std::map<int32_t, AxisId> axis_of;  // equation -> axis
    };
    std::vector<CommonAxis> common;
    std::set<int32_t> light;           // equations that may lack a common axis: each task computes them again
    std::vector<TensorIndex> inputs;   // read from buffers, by first use
    std::vector<TensorIndex> outputs;  // written to buffers: read outside of the kernel, or outputs of the system
};

struct Decision {
    std::string producer, reader;  // tensor names
    bool joined = false;
    double gain = 0;     // microseconds of modelled time
    std::string reason;  // empty for a joined pair
};

struct Partition {
    std::vector<Kernel> kernels;                // producers before readers; prepared ones first
    std::vector<bool> prepared;                 // per kernel: of the prepare phase
    std::vector<std::vector<int32_t>> batches;  // run-phase kernels that share a launch, in order
    std::vector<Decision> decisions;
};

struct FusionOptions {
    bool fuse = true;              // false: every equation a kernel of its own (the unfused plan)
    bool one_contraction = true;   // a second contraction only where the tensor between is more than twice its operands
    std::set<int32_t> apart = {};  // equations that nothing is fused with, but for the rest of their scan
};

Partition fuse(const System& system, const Target& target, const FusionOptions& options);
std::string print(const System& system, const Partition& partition);

}  // namespace heddle::equations
