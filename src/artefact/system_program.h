// A program that is placed on a system (docs/systems.md), as it leaves home: one artefact of functions for several
// targets. The host function becomes C; each of its steps that computes is an exported program of its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "artefact/artefact.h"
#include "artefact/program.h"
#include "placing/module.h"

namespace heddle::artefact {

struct SystemPart {
    Program program;  // "NAME_part0"
    Emit emit = Emit::object;
    std::vector<std::string> flags;  // for the C compiler, of a part in C
};

struct SystemProgram {
    std::string name;
    std::vector<Dimension> dimensions;  // that stay open
    placing::Module module;             // at the first sizes; its entry is what the program does
    std::vector<Argument> inputs, outputs;
    std::vector<SystemPart> parts;  // of the entry's steps that compute or launch, in order
};

struct SystemRequest {
    std::string name;
    std::vector<Dimension> dimensions;
    Target system;
    std::vector<std::string> annotations;  // "y=c0"
    std::vector<Target> usual_targets;     // of code for processors of which the system says nothing
    std::function<Result<Graph>(const std::map<std::string, int64_t>& bindings)> graph;
    Progress* progress = nullptr;
};

// Placed at the first sizes, as it then stays. Kinds that leave home are "cpu" (object code), "c" and the library "cc"
// (C, with their option "optimise"). Codes: artefact.kind (another kind), artefact.structure (the program has other
// operations at other sizes), those of placing and of make_program, for each part.
Result<SystemProgram> make_system_program(const SystemRequest& request);

// NAME.c: the host function, which has the three functions of every program and calls those of the parts.
std::string host_text(const SystemProgram& program);

// libNAME.so of the host function and all parts, NAME.h and NAME.json; and what it was linked of: NAME.c, and of each
// part its object or C. All files or none. Codes of write_artefact.
Result<std::vector<WrittenFile>> write_system_artefact(const SystemProgram& program, const std::string& folder,
                                                       const ArtefactOptions& options);

}  // namespace heddle::artefact
