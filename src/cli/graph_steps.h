// heddle graph of a model whose sizes, branches or trip counts follow from data.
#pragma once

#include "artefact/step_program.h"
#include "cli/commands.h"
#include "pictures/draw_parts.h"

namespace heddle::cli {

// Its steps, with graphs at small sizes where data decide them. Codes: cli.stages, those of make_step_program.
Result<artefact::StepProgram> sketch(const GraphOptions& options, const Library& library);
// The steps, then each stage: its operations, or its launches.
Result<std::vector<pictures::Picture>> pictures_of(const GraphOptions& options, const std::string& title,
                                                   const artefact::StepProgram& program);

}  // namespace heddle::cli
