// One application of a template to tensor types: everything about it but the tensors themselves. A pure function of the
// template, the types (and values, where a template opens them) and the parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "symbolic/body_builder.h"
#include "symbolic/environment.h"

namespace heddle {

struct AppliedOperation {
    std::shared_ptr<const Body> body;        // null: a kernel elsewhere
    std::vector<TensorReference> inputs;     // what the body reads, of the template's inputs
    std::vector<TensorReference> outputs;    // what it writes
    OperandNames input_names, output_names;  // of those
    OperationProjections projections;
    std::vector<Fold> folds;                       // declared
    std::shared_ptr<const GradientRule> gradient;  // declared
    // The first operation of the session's graph that was made of it, which has the projections since then.
    std::optional<OperationId> first = std::nullopt;
};

struct AppliedOutput {
    bool requested = false;
    std::vector<TensorType> types;  // one; of a variadic output one a value of `each`
};

inline constexpr int64_t largest_shown_value = 1'024;  // elements

struct Application {
    std::vector<AppliedOutput> outputs;        // in the template's order
    std::vector<AppliedOperation> operations;  // one a value of `each`
    // As printed; those of inputs that were opened too, up to `largest_shown_value` elements.
    std::map<std::string, std::string> parameters;
};

// Binds dtypes, patterns and parameters and checks the constraints: all that a composition needs too. The inputs of
// `environment` have been filled in (symbolic/environment_state.h).
Result<void> bind_application(Environment& environment);

// `bind_application`, then the output types and the operations. Codes: symbolic.limit, symbolic.extent,
// symbolic.output_type, symbolic.data_extent, symbolic.variadic_output, and those of the steps.
Result<Application> apply_template(Environment& environment);

}  // namespace heddle
