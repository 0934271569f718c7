// A job that a backend makes of a graph and one of its derivatives, and what the job answers for before there is any code:
// the program, and the tape between two programs.
#pragma once

#include "gradient/derived_program.h"

namespace heddle::gradient {

// The backend is asked for its config, and may refuse the derivation. The job's program is the graph's text, in which
// constants have names and types: jobs of graphs that differ in elements of constants alone are equal, and so are their
// tapes. Codes of compile_job_for.
Result<CompileJob> job_for(const ConfigSource& backend, const Target& target, const Graph& graph,
                           const heddle::Derivation& derivation);

// What the job stands for; of `augmented` and `reverse` with the tape's layout, which is the same for both, and by which
// whoever runs them allocates it. No backend is asked and no device is needed. Codes: gradient.job (the job is of
// another graph), those of derived_program.
Result<DerivedProgram> program_of(const CompileJob& job, const Graph& graph);

}  // namespace heddle::gradient
