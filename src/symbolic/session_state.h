// The inside of a session, shared by the files that build with it.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "support/place_table.h"
#include "symbolic/application.h"
#include "symbolic/session.h"

namespace heddle {

struct Session::State {
    const Library* library = nullptr;
    Progress* progress = nullptr;
    Graph graph;
    PlaceTable tensor_names, operation_names;               // by the hashes of the names in `graph`
    std::unordered_map<TensorId, std::vector<SizeQuotient>> sizes;  // of constants whose elements are made of sizes
    std::unordered_map<TensorId, TensorData> offered;       // values of inputs, for where one must be known
    std::unordered_map<TensorId, TensorData> decided;       // values that followed from offered ones
    std::set<TensorId> deciding_inputs;
    bool asks = false;               // for values that are not known (Session::ask)
    std::vector<TensorId> answers;   // to the questions of the application at hand
    size_t answered = 0;             // of them
    TensorId asked = no_id;          // the question that nothing answered
    // Equal applications share bodies: a network repeats its layers. Forgotten all together when there are too many.
    static constexpr size_t most_applications = 65'536;
    std::string key;  // of the application at hand, which applies nothing else until it is kept
    size_t key_hash = 0;
    struct KeptApplication {
        std::string key;
        Application application;
    };
    std::deque<KeptApplication> applications;
    PlaceTable application_keys;
    // What applications of one template have in common.
    struct TemplateUse {
        std::unique_ptr<Environment> spare;            // used before, forgotten; null while it is in use
        std::vector<TensorReference> inputs, outputs;  // of the last operation
        OperandNames input_names, output_names;
    };
    std::unordered_map<const Template*, TemplateUse> uses;
    double work_left = double{1 << 27};  // scalar operations that may still be computed while this graph is built
    bool work_ran_out = false;           // something was not computed for that
    int32_t compositions = 0;            // within each other, at this moment
    int64_t expanded = 0;                // operators applied by the outermost composition
    std::vector<Call> calls;
    Diagnostics notes;
    bool declares = true;    // false where a declared rule itself is built: its operators' own rules are not
    bool records = false;    // what callers apply
    bool recording = false;  // at this moment: not within a composition that is itself a recorded call

    void forget_applications();
    TensorId add_tensor(std::string name, TensorType type);
    TensorId add_constant(std::string name, TensorData data);
    const TensorData* known_value(TensorId tensor) const;
    const TensorData* decide(TensorId tensor);
    // Whether the value is known, or that of an input which is offered: nothing is computed for it.
    bool is_told(TensorId tensor) const;
    // The tensors whose values a template takes are known; where they are not, what answers for them stands in their place.
    void answer_for(const Template& metakernel, struct BoundArguments& arguments);
    bool take_work(double work);  // false, and nothing is taken, if as much is not left
    const std::vector<SizeQuotient>* known_sizes(TensorId tensor) const;
    Result<std::vector<TensorId>> apply(const Template& metakernel, const std::vector<Argument>& inputs,
                                        const std::map<std::string, StaticValue>& parameters,
                                        const ApplyOptions& options);
    Result<std::vector<TensorId>> apply_bound(const Template& metakernel, const struct BoundArguments& arguments,
                                              const std::map<std::string, StaticValue>& parameters,
                                              const ApplyOptions& options);
    // In an environment of the template without anything given; it is to be forgotten afterwards.
    Result<std::vector<TensorId>> apply_in(Environment& environment, const struct BoundArguments& arguments,
                                           const std::map<std::string, StaticValue>& parameters,
                                           const ApplyOptions& options);
};

// What was given to the inputs of a template, one list of tensors an input; `given` tells an empty list from nothing.
struct BoundArguments {
    std::vector<InlineVector<TensorId, 4>> tensors;
    InlineVector<bool, 8> given;
};

// What a template declares of its operations (`reduces`, `grad`), checked against types and bodies. Codes:
// symbolic.reduces, symbolic.grad, and those of applying the operators that are named.
Result<void> add_declared(const Session::State& session, const Environment& environment,
                          const BoundArguments& arguments, Application& application);

// Expands a composition whose inputs `environment` has bound. Answers as Session::apply does.
Result<std::vector<TensorId>> expand_composition(Session::State& session, Environment& environment,
                                                 const BoundArguments& arguments, const ApplyOptions& options);

// The value of a tensor as a static value: a number, or nested lists.
StaticValue static_value_of(const TensorData& data, const std::vector<SizeQuotient>* sizes);

// The scalar operations of a body that may be computed while a graph is built; nothing: they are too many. All of them
// together are bounded by Session::State::take_work: a model may have a million such bodies.
std::optional<double> cheap_work(const Body& body);

// Every index that follows from known values lies inside of what it indexes, where it is read whatever other data are.
// Code: symbolic.index_out_of_range.
Result<void> check_known_indices(Session::State& session, const Template& metakernel, const Application& application,
                                 const BoundArguments& arguments);

// The constants that an application gives if all that it reads is known, one list an output; nothing if something is
// not known, too large, or too much work. What elements are made of is in `sizes` beside them.
struct FoldedOutput {
    TensorData data;
    std::vector<SizeQuotient> sizes;  // empty: no element has an origin
};
Result<std::optional<std::vector<std::vector<FoldedOutput>>>> fold_application(Session::State& session,
                                                                               const Application& application,
                                                                               const BoundArguments& arguments);

}  // namespace heddle
