// What an environment is made of. Symbolic execution fills it; everybody else reads through Environment.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/body.h"
#include "support/inline_vector.h"
#include "symbolic/environment.h"

namespace heddle {

// A name of the `$` namespace.
struct NameSlot {
    enum class Kind : uint8_t { parameter, let, variable, input, each, index };
    enum class Phase : uint8_t { unknown, busy, known };
    std::string_view name;  // of the template's strings
    Kind kind = Kind::variable;
    Phase phase = Phase::unknown;
    bool per_operation = false;  // depends on the `each` variable or the index: forgotten between operations
    bool collected = false;      // a variable with [$i]: a list of one value a tensor
    int32_t number = 0;          // of the parameter, let or input
    StaticValue value;
    const Place* bound_at = nullptr;  // a variable: the pattern or dtype that bound it; of the template
    std::string_view bound_by;        // a variable: the tensor that bound it
};

struct Environment::State {
    // As it was made: nothing given or known.
    void forget();

    const Template* metakernel = nullptr;
    std::string node_name;
    const std::map<std::string, StaticValue>* given_parameters = nullptr;  // null: none
    std::vector<BoundInput> inputs;
    std::vector<BoundOutput> outputs;
    std::vector<BoundAxis> index;
    bool index_known = false;
    int64_t each_value = 0;
    EvaluationBudget budget;
    // Whether a variable of this reduction may pick from a list; the syntax outlives the environment.
    std::vector<std::pair<const Syntax*, bool>> may_pick;
    Body scratch;  // where bodies are built: the next one finds the memory of the last

    std::vector<NameSlot> slots;
    // Positions of slots by `hash_of` their names, -1 for none: a power of two of places, at most half in use.
    InlineVector<int32_t, 64> places;

    // Set when an expression needed a pattern variable that no pattern has bound yet: matching tries again later.
    bool matching = false;
    bool met_unbound = false;
    bool touched_operation = false;  // evaluation read something that changes from operation to operation
    int32_t frames = 0;              // of the evaluator, to bound its recursion
    int32_t nesting = 0;             // names and functions within each other

    NameSlot* slot(std::string_view name) {
        int32_t found = places[place_of(name)];
        return found < 0 ? nullptr : &slots[static_cast<size_t>(found)];
    }
    const NameSlot* slot(std::string_view name) const { return const_cast<State*>(this)->slot(name); }
    // Where the name stands among `places`, or would.
    size_t place_of(std::string_view name) const {
        size_t at = hash_of(name) & (places.size() - 1);
        while (places[at] >= 0 && slots[static_cast<size_t>(places[at])].name != name)
            at = (at + 1) & (places.size() - 1);
        return at;
    }
    // Names are short and few.
    static size_t hash_of(std::string_view name) {
        if (name.empty()) return 0;
        auto letter = [&](size_t at) { return static_cast<size_t>(static_cast<unsigned char>(name[at])); };
        return name.size() + 5 * letter(0) + 23 * letter(name.size() / 2) + 3 * letter(name.size() - 1);
    }
};

// ---- the steps of an application, in order (symbolic/application.cpp)

// Converts and checks the value given for a parameter, or its default.
Result<StaticValue> parameter_value(Environment& environment, const Parameter& parameter);
// Binds dtype and pattern variables; fills the coordinates of every bound tensor.
Result<void> match_dtypes(Environment& environment);
Result<void> match_patterns(Environment& environment);
// All parameters, dtype sets and `require`.
Result<void> check_parameters(Environment& environment);
Result<void> check_constraints(Environment& environment);
// Forgets what depends on the operation, and sets the value of the `each` variable and then the index.
Result<void> begin_operation(Environment& environment, int64_t each_value);

}  // namespace heddle
