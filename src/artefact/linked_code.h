// Kernels as object code, weights as a file, and both linked with the C around them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "artefact/artefact.h"
#include "artefact/program.h"
#include "artefact/workshop.h"

namespace heddle::artefact {

// Where the weights of each program begin in one file of all.
std::vector<int64_t> places_of_weights(std::span<const Program> programs);
Result<void> write_weights(std::span<const Program> programs, const std::string& path);

// Paths of object files. Codes of the backend and of writing files.
Result<std::vector<std::string>> write_kernels(const Program& program, const Workshop& workshop,
                                               const ArtefactOptions& options);

// libNAME.so or NAME.o of NAME.c, which is in the workshop, and these objects: the file's name. Code artefact.compiler.
Result<std::string> link_code(const std::string& name, const std::vector<std::string>& objects,
                              const Workshop& workshop, const ArtefactOptions& options);

}  // namespace heddle::artefact
