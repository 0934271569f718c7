// What `heddle explain` says of an operator as a whole: what its names stand for, what it costs, its gradient, its
// kernels.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "explain/operation.h"
#include "graph/graph.h"
#include "language/template.h"
#include "pictures/draw_parts.h"
#include "symbolic/environment.h"
#include "target/target.h"

namespace heddle::explain {

// {patterns, dtypes, parameters, lets}: each from names to values, in the template's order.
nlohmann::ordered_json bindings_json(Environment& environment);

// {cost: {time_seconds, bytes_moved, peak_bytes, memory, devices, launches, operations} or {refusal},
//  compiled: [{writes, tasks, kernel, phase, layout}]}: of the graph's compiled form on this target, without code.
// Time, bytes and operations are those of the cost model by which kernels are fused, constants folded before. A graph
// that should have a plan and has none is an error.
Result<void> add_cost(const Graph& graph, const Target& target, nlohmann::ordered_json& json);

// By output: the inputs whose memory it may take over without a copy, if any; each pair is planned by itself, of few
// pairs. Of a graph that has a plan.
nlohmann::ordered_json in_place_json(const Graph& graph, const Target& target);

// From adjoints of the outputs to those of all inputs of a float type.
Result<Graph> gradient_of(const Graph& graph);
// What that is with respect to: inputs of float and complex types, or all if there are none, which are refused.
std::vector<TensorId> wanted_of(const Graph& graph);
// {inputs, adjoints, outputs, operations}
nlohmann::ordered_json gradient_json(const Graph& graph, const Graph& gradient);
// {code, summary, reason}
nlohmann::ordered_json refusal_json(const Diagnostics& problems);

// Lines without an indent, with the section's name in the first; empty where there is nothing to say.
std::string bindings_text(const nlohmann::ordered_json& bindings);
std::string notes_text(const nlohmann::ordered_json& notes);
std::string cost_text(const nlohmann::ordered_json& cost);
// Of `in_place`.
std::string in_place_text(const nlohmann::ordered_json& outputs);
// What the memory consists of.
std::string memory_text(const nlohmann::ordered_json& cost);
std::string gradient_text(const nlohmann::ordered_json& gradient);
// Of `compiled`, and of the `rows` of kernels elsewhere.
std::string kernels_text(const nlohmann::ordered_json& json);

// The picture of `heddle explain`: what it says (explain.cpp's JSON), with the boxes of every tensor that one point of
// the index projects to.
pictures::Picture draw_operator(const Graph& graph, const nlohmann::ordered_json& facts, Notations notations);

}  // namespace heddle::explain
