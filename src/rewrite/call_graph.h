// A program of operator calls: what rewrite rules match and make. Operations of a graph hold bodies, from which the
// call that made them cannot be told; so rules work a level above, on templates with their arguments and parameters,
// and a rewritten program is expanded to a graph as any other is.
//
// Calls are values: equal calls of equal arguments are one, so a variable that occurs twice in a pattern may be
// compared by the tensor alone. A value that is known when the graph is built has no call: it is a constant.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbolic/program.h"
#include "symbolic/session.h"

namespace heddle::rewrite {

class CallGraph {
public:
    // Codes as build_program's.
    static Result<CallGraph> of_program(std::shared_ptr<const SourceText> text, const Library& library,
                                        const std::vector<ProgramInput>& inputs);
    // What a session has recorded, which goes on here.
    CallGraph(Session session, std::vector<TensorId> outputs, std::vector<std::string> names);
    explicit CallGraph(const Library& library) : session_(library) { session_.record_calls(); }

    // One result of a call: `element` of a variadic output.
    struct Producer {
        int32_t call = 0;
        int32_t output = 0;
        int32_t element = 0;
    };
    std::optional<Producer> producer(TensorId tensor) const;
    const std::vector<Call>& calls() const { return calls_; }
    const Call& call(int32_t number) const { return calls_[static_cast<size_t>(number)]; }
    // The tensors of one output of a call: one, or all of a variadic output; -1 for one that was not asked for.
    std::vector<TensorId> results(int32_t call, size_t output) const;
    const TensorType& type(TensorId tensor) const { return session_.graph().tensor(tensor).type; }
    const Session& session() const { return session_; }
    const std::vector<TensorId>& outputs() const { return outputs_; }
    const std::vector<std::string>& output_names() const { return output_names_; }

    // Calls that the outputs need, producers before users.
    std::vector<int32_t> order() const { return order_of(outputs_); }

    TensorId add_input(std::string name, TensorType type);
    void set_outputs(std::vector<TensorId> outputs, std::vector<std::string> names);
    // Adds the calls of a composition and answers its results.
    Result<std::vector<TensorId>> add(const Template& composition, const std::vector<Argument>& arguments,
                                      const std::map<std::string, StaticValue>& parameters,
                                      const std::vector<bool>& requested = {});
    // Uses of `from[i]` become uses of `to[i]`, but for those by which `to` is made. False if the outputs need
    // none of them.
    bool replace(const std::vector<TensorId>& from, const std::vector<TensorId>& to);

    // The graph of these tensors: each call applied again, its results named as before. Inputs are those of the
    // program, in its order; those whose values have decided something are decided (graph.h).
    Result<Graph> expand(const std::vector<TensorId>& outputs) const;
    // As a program that the language reads back (constants of rank 2 and more apart): a call a line.
    std::string text() const;

private:
    std::vector<int32_t> order_of(const std::vector<TensorId>& tensors) const;
    void adopt_calls(size_t first, std::vector<TensorId>& results);
    std::string key_of(const Call& call) const;

    Session session_;
    std::vector<Call> calls_;
    std::unordered_map<TensorId, Producer> producers_;
    std::unordered_map<std::string, int32_t> known_;  // calls by what they are: see key_of
    std::vector<TensorId> outputs_;
    std::vector<std::string> output_names_;
    std::map<TensorId, TensorData> decided_;  // of inputs
};

}  // namespace heddle::rewrite
