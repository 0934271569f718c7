// The `$` namespace of one application of a template: parameters, pattern variables, lets, `$X.shape` and its like,
// dtype variables, `$index`. Each name is evaluated once, when it is first needed (per value of an `each`, where it
// depends on it). Made by symbolic execution; the body builder reads from it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "language/template.h"
#include "support/diagnostic.h"
#include "symbolic/value.h"

namespace heddle {

// One coordinate with which an input is read, as its pattern says. Under `~` these are the *joint* coordinates: one for
// each dimension of the joint shape, of which the tensor has some.
struct PatternCoordinate {
    std::string_view name;   // the pattern variable (the group's member, not the group); empty for an expression or _
    std::string_view group;  // $shape of $shape=($height, $width), else empty
    int32_t position = 0;    // within `$name...`; 0 for a single dimension
    int32_t group_position = 0;  // within the group's list
    bool spread = false;         // written $name...: the variable is a list
    int32_t dimension = 0;       // of the tensor; -1: it has none there, the coordinate is dropped
    bool zero = false;           // the tensor's dimension is 1 where the joint one is not: it is read at 0
};

// A tensor that was given for an input, as its pattern matched it.
struct BoundTensor {
    std::string name;  // "x", "tensors[2]"
    TensorType type;
    std::vector<PatternCoordinate> coordinates;
    std::optional<StaticValue> value;  // of a tensor whose value is known: a number, or nested lists
};

struct BoundInput {
    const TensorSpec* spec = nullptr;
    bool given = false;                // false only for an optional input
    std::vector<BoundTensor> tensors;  // one, or as many as were given to a variadic input
};

// One entry of the operation index: `$n` is one axis, `$batch...` a list of axes, `part = e` a name of its own.
struct BoundAxis {
    std::string name;  // empty: read by position
    bool spread = false;
    std::vector<Size> extents;  // one unless `spread`
};

struct BoundOutput {
    const TensorSpec* spec = nullptr;
    bool requested = false;         // false: an optional output that nobody asked for; its equations are skipped
    std::vector<TensorType> types;  // one; of a variadic output one a value of `each`
};

// A tensor of an operation: element `element` of input (or output) number `position` of the template.
struct TensorReference {
    int32_t position = 0;
    int32_t element = 0;
    bool operator==(const TensorReference& other) const = default;
};

// What is left of the steps of one application. Every element that an operation touches is a step.
struct EvaluationBudget {
    int64_t steps = largest_evaluation;
    bool spend(int64_t count) { return (steps -= count) >= 0; }
};

// A diagnostic that carries the operator's name, and the operation's when one was given.
Diagnostic application_diagnostic(const Template& metakernel, const std::string& node_name, std::string code,
                                  const Place& place, std::string summary);

class Environment {
public:
    explicit Environment(const Template& metakernel);
    ~Environment();
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

    const Template& metakernel() const;

    // ---- static expressions

    // The value of `$name` (without sigil). Codes: symbolic.unknown_name, symbolic.cycle, symbolic.not_given, and
    // whatever its expression gives.
    Result<StaticValue> lookup(std::string_view name, const Place& use);
    // A static expression (symbolic/evaluator.h). Bare names are dtypes.
    Result<StaticValue> evaluate(const Syntax& expression);
    // A list of elements (a `list` node's children, an index, a shape): spreads expanded; a fill is an error. Elements
    // such as `*` or `:>` are not static.
    Result<std::vector<StaticValue>> evaluate_elements(std::span<const SyntaxPointer> elements);
    // `has(name)`: is an optional input given, an optional output asked for, a parameter not none?
    Result<bool> has(std::string_view name, const Place& use);
    EvaluationBudget& budget();

    // ---- what the body builder reads

    const std::vector<BoundInput>& inputs() const;    // in the template's order
    const std::vector<BoundOutput>& outputs() const;  // in the template's order
    // Position in `inputs()` or `outputs()`, -1 if there is none of that name.
    int32_t input_position(std::string_view name) const;
    int32_t output_position(std::string_view name) const;
    const std::vector<BoundAxis>& index() const;
    // The value of the `each` variable in this operation; 0 where the template has no `each`.
    int64_t each_value() const;

    // As application_diagnostic.
    Diagnostic diagnostic(std::string code, const Place& place, std::string summary) const;

    // ---- what symbolic execution does with it (symbolic/application.h): see environment_state.h
    struct State;
    State& state() { return *state_; }
    const State& state() const { return *state_; }

private:
    std::unique_ptr<State> state_;
};

}  // namespace heddle
