// Rules put to the test on random instances: types when they are loaded, values by `heddle verify`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rewrite/instance.h"

namespace heddle::rewrite {

// How the types of both sides were found equal.
struct TypeCheck {
    int64_t instances = 0;  // that the rule matched, of different ranks, dtypes and parameters
    // On all of them every dimension of both sides is the same polynomial of the dimensions of the variables, so that
    // they are equal for all sizes (at these ranks). False: they were compared as numbers.
    bool symbolic = false;
};

// Codes: rewrite.no_instance (nothing random is matched), rewrite.types, rewrite.replacement; with the smallest
// instance found in the contexts.
Result<TypeCheck> check_types(const std::shared_ptr<const Rule>& rule, const Library& library, uint64_t seed = 1);

// Compiles all rules of the library and checks their types: all problems at once. With `space` those of one user's
// library.
Result<std::vector<std::shared_ptr<const Rule>>> load_rules(const Library& library,
                                                            const std::optional<std::string>& space = {});

struct Counterexample {
    Instance instance;          // no dimension or value of it can be made smaller without losing the difference
    std::string before, after;  // both sides as programs
    std::vector<std::pair<std::string, std::string>> inputs;  // "X: float32[2]", "[1, 2]"
    std::string element;                                      // of the first difference: "result[0, 1]"
    std::string expected, found;                              // what the match gives there, and the replacement
};

struct Verdict {
    int64_t trials = 0;     // instances compared
    int64_t elements = 0;   // compared; those that lie too near a switch to be decided are left out
    int64_t undecided = 0;  // those
    std::optional<Counterexample> counterexample;  // none: all agree
};

struct VerifyOptions {
    int64_t trials = 100;
    uint64_t seed = 1;
    std::function<void(int64_t done)> progress;  // called now and then
};

// Both sides by the interpreter on random values: integers and bools exactly, floats within four times the sum of both
// sides' bounds on rounding (docs/equality.md). Codes: rewrite.no_instance, rewrite.undecided (not one element could be
// compared), and those of replacement_at.
Result<Verdict> verify_rule(const std::shared_ptr<const Rule>& rule, const Library& library,
                            const VerifyOptions& options);

// Random values for the inputs of a graph: small integers, or (floats) normally distributed ones.
std::vector<TensorData> random_feeds(const Graph& graph, std::mt19937_64& random, bool whole_numbers);

// ---- shared by the two checks

// The instance made smaller, step by step, as long as `fails` holds.
Instance shrink(Instance instance, const std::function<bool(const Instance&)>& fails);

}  // namespace heddle::rewrite
