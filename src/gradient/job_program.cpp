#include "gradient/job_program.h"

namespace heddle::gradient {

Result<CompileJob> job_for(const ConfigSource& backend, const Target& target, const Graph& graph,
                           const heddle::Derivation& derivation) {
    return compile_job_for(backend, {.target = target, .program = print(graph), .derivation = derivation});
}

Result<DerivedProgram> program_of(const CompileJob& job, const Graph& graph) {
    if (job.program != print(graph))
        return fail(Diagnostic{.code = "gradient.job",
                               .summary = "the job is of another graph",
                               .expected = "the graph that job_for() was given",
                               .found = "a graph of another text",
                               .remedy = "make a job of this graph"});
    return derived_program(graph, job.derivation);
}

}  // namespace heddle::gradient
