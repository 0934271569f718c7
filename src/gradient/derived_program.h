// The program that a job's derivation means (target/compile_job.h): which of its arguments have shadows, and what is
// done with these.
#pragma once

#include "gradient/tape.h"
#include "target/compile_job.h"

namespace heddle::gradient {

struct DerivedProgram {
    Graph graph;
    TapeLayout tape;  // of `augmented` and `reverse`
};

// Arguments are the graph's inputs and then its outputs. Without activities, those of a float or complex type are
// `duplicated` (where the width is above one, `batched`) and the others `constant`. A shadow is a tensor of its argument's
// type; a batched one has one more first axis, of the width. In the order of the arguments,
//
//   primal     takes the inputs and gives the outputs
//   forward    takes the inputs and the tangents "t_NAME" of those with shadows; gives the outputs, but for those that nobody
//              needs, and the tangents of those with shadows
//   combined   takes the inputs, the adjoints "d_NAME" of outputs with shadows, and the shadows "d_NAME" of inputs; gives
//              the outputs, but for those that nobody needs, and for each input with a shadow the shadow with its adjoint
//              added. Of an active input, a single number, there is no shadow, and the adjoint is given.
//              An overwritten output's shadow is consumed: behind all these it is given again, as zeros, which is the adjoint
//              of what its memory held before.
//   augmented  takes the inputs; gives the outputs and the tape
//   reverse    takes what split()'s reverse program takes, without the values of overwritten outputs, and shadows of
//              inputs as `combined`; gives what that gives for inputs and for overwritten outputs. The adjoint of an output
//              without a shadow is zero.
//
// Each reads the primal's values once, whatever the width. A constant argument is not looked at beside its value.
// Codes: gradient.activity (of activities and width), gradient.tape_policy (of its text), those of gradient().
Result<DerivedProgram> derived_program(const Graph& graph, const heddle::Derivation& derivation);

// Of "balanced", "save_all", "recompute_all", "fewest_bytes", "budget BYTES", and "checkpoints STEPS" (balanced, with
// TapePolicy::every); none is "balanced". Code gradient.tape_policy.
Result<TapePolicy> parse_tape_policy(std::string_view text);

}  // namespace heddle::gradient
