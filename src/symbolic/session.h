// A graph being built by applying operators: the way from templates to operations (docs/language.md).
//
// Values that are known are computed at once: a constant, and the result of an operation on known values where neither
// it nor any of them has more than `largest_folded` elements. Such results are constants of the graph, and may be given
// to inputs with `flavour: concrete`. Integers computed from named dimensions keep their origin on the way.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "language/library.h"
#include "support/diagnostic.h"
#include "symbolic/value.h"

namespace heddle {

class Progress;

inline constexpr int64_t largest_folded = 4'096;  // elements

// What is given for one input of an operator.
struct Argument {
    bool given = false;
    bool list = false;  // a list for a variadic input
    std::vector<TensorId> tensors;

    Argument() = default;                                        // not given
    Argument(TensorId tensor) : given(true), tensors{tensor} {}  // NOLINT: a tensor is an argument
    Argument(std::vector<TensorId> several) : given(true), list(true), tensors(std::move(several)) {}  // NOLINT
};

// One use of an operator as it was asked for: what can be applied again, before anything is expanded.
struct Call {
    const Template* metakernel = nullptr;
    std::vector<Argument> inputs;  // one an input of the template; a list exactly for a variadic one
    std::map<std::string, StaticValue> parameters;
    std::vector<bool> requested;    // one an output
    std::vector<TensorId> results;  // as Session::apply answers
};

// What the caller wants of an application. By default all outputs, named after the node.
struct ApplyOptions {
    std::string node_name;        // of the operations, for messages and profiles; empty: the operator's name
    std::vector<bool> requested;  // by position of the template's outputs; missing ones are not asked for. Empty: all
    std::vector<std::string>
        names;  // of the result tensors, in the order of the answer; made unique. Empty: from the node
    bool records_calls =
        false;  // a composition that only holds calls: `calls` has those, and not the composition itself
};

class Environment;

class Session {
public:
    // Compositions look their operators up in `library`, which outlives the session.
    explicit Session(const Library& library);
    ~Session();
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;

    const Library& library() const;
    // `start`: where the tensor's range begins (graph.h).
    TensorId add_input(std::string name, TensorType type, std::vector<int64_t> start = {});
    TensorId add_constant(std::string name, TensorData data);
    // The value that an input will have. It is looked at only where a value must be known (`flavour: concrete`, a
    // branch):
    // then the graph holds for this value alone, and the input is one of `deciding_inputs`. A value of another type or
    // shape than the input's offers nothing.
    void offer_value(TensorId input, TensorData value);
    // The value of a tensor if it is known, or follows from offered ones by operations on at most `largest_folded`
    // elements.
    const TensorData* decide(TensorId tensor);
    std::vector<TensorId> deciding_inputs() const;
    // From now on no value is computed from offered ones: an application that asks for one (`asked`) fails without a trace but
    // this: what it has made to compute the value stays in the graph. Applied again when the value is known, it asks the
    // same things in the same order: `answers` are for these questions of the next application.
    void ask();
    void answer(std::vector<TensorId> answers);
    // What the last application asked for and nothing answered; no_id: it did not fail for that.
    TensorId asked() const;
    // A rank-1 int64 constant whose elements keep their origins.
    TensorId add_sizes(std::string name, const std::vector<Size>& sizes);
    // A constant of integers or floats whose elements are these.
    TensorId add_sizes(std::string name, TensorType type, std::vector<SizeQuotient> sizes);

    // Adds the operations of one use of an operator. Arguments are in the template's order; those left out at the end
    // are not given; a variadic last input takes all remaining ones, or a list. A parameter that is `none` counts as
    // not given.
    // Answers one tensor an output, -1 for an output that was not asked for, and all of a variadic output.
    // After an error the graph is as it was.
    // Codes: symbolic.missing_input, symbolic.too_many_inputs, symbolic.not_a_list, symbolic.unknown_tensor,
    // symbolic.not_concrete, symbolic.composition, symbolic.results, symbolic.limit; those of application.h; those of
    // folding (evaluate.h).
    Result<std::vector<TensorId>> apply(const Template& metakernel, const std::vector<Argument>& inputs,
                                        const std::map<std::string, StaticValue>& parameters = {},
                                        const ApplyOptions& options = {});

    // Adds the operations of a whole graph without named dimensions. `known`, one a tensor of `from`: the tensor here
    // that it is, or no_id, where it becomes one with its name behind `prefix`; its inputs are known. Operations whose
    // results are all known are left out. Answers its outputs.
    std::vector<TensorId> add_graph(const Graph& from, std::vector<TensorId> known, const std::string& prefix);
    // Who is asked before each application if it is wanted still; outlives what is applied. Code support.cancelled.
    void set_progress(Progress* progress);

    // From now on calls are recorded.
    void record_calls();
    // What was applied since, in order: calls by callers, and those of compositions with `records_calls`. What other
    // compositions consist of is not listed.
    const std::vector<Call>& calls() const;
    // The `$` names of a call, bound and checked, without applying it. `parameters` outlive the answer.
    Result<std::unique_ptr<Environment>> bind(const Template& metakernel, const std::vector<Argument>& inputs,
                                              const std::map<std::string, StaticValue>& parameters) const;

    // What is to be said of what was applied without being wrong: a declared projection that is larger than what the
    // body reads (symbolic.ipf_loose), once for each application that differs.
    const Diagnostics& notes() const;

    const Graph& graph() const;
    // The value of a tensor, if it is known; its elements with their origins, if some have one.
    const TensorData* known_value(TensorId tensor) const;
    const std::vector<SizeQuotient>* known_sizes(TensorId tensor) const;

    // The graph with these outputs, and without what they do not need. The session is spent.
    Graph finish(std::vector<TensorId> outputs);

    struct State;

private:
    std::unique_ptr<State> state_;
};

}  // namespace heddle
