// A model in steps (artefact/step_program.h) to look at: stages, what decides between them, loops.
#pragma once

#include <string>

#include "artefact/step_program.h"
#include "pictures/draw_parts.h"

namespace heddle::cli {

// Steps from top to bottom, ways that data decide between side by side, a loop's steps within it.
pictures::Drawing drawing_of(const std::string& title, const artefact::StepProgram& program);
// The same as lines: those of a loop's steps are further to the right.
std::vector<std::string> outline_of(const artefact::StepProgram& program);
// "57 operations: conv 20, relu 20, add 9 ..."
std::string contents_of(const Graph& graph);
// "x.0 = 8, k#0 = 8": what a sketch was made for; empty: nothing is open.
std::string sizes_of(const Graph& graph);

}  // namespace heddle::cli
