// A model, or a program of calls, with its gradient as a program.
#pragma once

#include "cli/support.h"

namespace heddle::cli {

// What is differentiated: as of `heddle run`.
struct Differentiated {
    std::string model, call;
    std::vector<std::string> bindings, rules;
};

// Inputs: those of the model or call, weights of the model that are wanted (with their values), what else the loss
// reads, and without a loss an adjoint `d_OUTPUT` of each output of a float type. Outputs: the loss, or the model's,
// then `d_NAME` of each that is wanted.
// Codes: cli.wrt (a name or pattern fits nothing that has a gradient), cli.loss (no single number of a float type),
// inference.unknown_input, those of loading, and of gradients.
Result<Source> load_gradient(const Differentiated& from, const GradientOptions& options, const Library& library,
                             const std::map<std::string, TensorData>& given, Progress* progress = nullptr);

// What --wrt may name.
struct Differentiable {
    std::string name, type;
    bool is_weight = false;
};
Result<std::vector<Differentiable>> list_differentiable(const Differentiated& from, const GradientOptions& options,
                                                        const Library& library,
                                                        const std::map<std::string, TensorData>& given);

}  // namespace heddle::cli
