// ONNX models as programs: inputs by name, open dimensions and branches from what is given.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontends/onnx/model.h"
#include "frontends/onnx/weights.h"
#include "inference/program_cache.h"
#include "language/library.h"
#include "rewrite/apply.h"

namespace heddle::inference {

// Given tensors in the order of `names`, null where one is not given. Code inference.unknown_input.
Result<std::vector<const TensorData*>> arrange(const std::vector<std::string>& names,
                                               const std::map<std::string, TensorData>& given);

// Code inference.missing_input.
Diagnostic missing_input(const std::string& name, const std::string& type);

// Those that callers may give, and those that the model's Graph has: what nothing reads need not be given.
std::vector<std::string> input_names(const onnx::OnnxModel& model);
std::vector<std::string> read_input_names(const onnx::OnnxModel& model);
std::vector<std::string> output_names(const onnx::OnnxModel& model);

// Rules that are applied to a model's calls before they are a graph, and what they did.
struct Rewriting {
    std::vector<rewrite::RuleUse> rules;
    std::vector<rewrite::Step> steps;
};

// Weights of a model that are inputs of its graph: those that are wanted by name, what values they will have as far as
// that is known, and those that the graph then has, its last inputs in order.
struct FreeWeights {
    std::set<std::string> wanted;
    std::map<std::string, TensorData> values;
    std::vector<onnx::OnnxWeight> found;
};

// The model's graph for what is given, one an input or null, and numbers for dimensions that stay open. Values of
// inputs are looked at where a shape or a branch depends on them; of a tensor without memory only the type is known. Codes: runtime.input_dtype, those of bind_shapes and
// import_model, apply_rules.
Result<Graph> specialise(const onnx::OnnxModel& model, const Library& library,
                         const std::vector<const TensorData*>& given, const std::map<std::string, int64_t>& bindings = {},
                         Rewriting* rewriting = nullptr, Progress* progress = nullptr, FreeWeights* weights = nullptr);

// From now on the graph, and what is made of it, holds for these numbers of its dimensions alone: what a caller has bound
// is not another number another time.
void hold_bound(Graph& graph, const std::map<std::string, int64_t>& bindings);

}  // namespace heddle::inference
