// All that is known of an operator, applied to types: what `heddle explain` and Python's `Library.explain` give.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "equations/storing.h"
#include "graph/graph.h"
#include "language/library.h"
#include "target/target.h"

namespace heddle::explain {

struct ExplanationOptions {
    bool notations = false;  // all of each projection, not the rows alone
    bool gradient = false;   // of the operator: its adjoint bodies; the parts below are of these then
    bool equations = false;
    std::string pass = {};  // equations: of passes.h, behind which the system is shown too, or "all"
    std::vector<equations::StoringChoice> storing = {};  // against what costs say
    bool schedule = false, source = false;
    std::vector<std::string> shards;                 // "m=2,y.k=3" (placing::parse_cuts)
    bool one_round = false;                          // maxima and sums of exponentials together
    bool picture = false;                            // of the shards, or the operator
    std::shared_ptr<const Target> system = nullptr;  // where to place it; null: nowhere
    std::vector<std::string> place = {};             // "y=gpu0": what is annotated
};

struct Explanation {
    std::shared_ptr<const nlohmann::ordered_json> facts;
    ExplanationOptions options;
    std::string svg;    // empty: not asked for
    Diagnostics notes;  // of the plan

    std::string json() const;
    std::string text() const;  // for people
};

// `name`: "softmax", "onnx:Softmax", "onnx:com.example::Swish". `arguments` as arguments.h reads them; without any
// there is the template alone. `target` is asked for the machine that is compiled for. Codes: those of Library::find,
// of parse_operator_arguments, of Session::apply, of gradients, shards and plans.
Result<Explanation> explain(const Library& library, const std::string& name, const std::vector<std::string>& arguments,
                            const std::function<Result<Target>()>& target, const ExplanationOptions& options);

// What callers call a graph's inputs and outputs, in order.
struct EndNames {
    std::vector<std::string> inputs, outputs;
};

// The same of a whole graph: its ends, its operators with their numbers, what it costs, its kernels, and what `options`
// ask for of the steps of compiling it. Codes: those of plans.
Result<Explanation> explain_graph(const Graph& graph, const EndNames& names, const Target& target,
                                  const ExplanationOptions& options);

}  // namespace heddle::explain
