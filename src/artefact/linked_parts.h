// A library of several programs and the C between them.
#pragma once

#include <string>
#include <vector>

#include "artefact/artefact.h"
#include "artefact/program.h"
#include "artefact/workshop.h"

namespace heddle::artefact {

class LinkedParts {
public:
    LinkedParts(Workshop& workshop, const ArtefactOptions& options) : workshop_(workshop), options_(options) {}

    // The part's header and its code, as an object or as C, of which a compiler with `flags` makes one.
    Result<void> add(const Program& part, Emit emit, const std::vector<std::string>& flags);
    Result<void> add_text(const std::string& name, const std::string& text);
    // libNAME.so of NAME.c, which is there, and all parts.
    Result<void> link(const std::string& name);

    const std::vector<std::string>& made() const { return made_; }  // names of files in the workshop

private:
    Workshop& workshop_;
    const ArtefactOptions& options_;
    std::vector<std::string> made_, objects_;
};

}  // namespace heddle::artefact
