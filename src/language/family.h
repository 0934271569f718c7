// One template, many operators: each member's values replace the `$` names of the same spelling, as syntax trees.
#pragma once

#include <map>
#include <vector>

#include "language/sections.h"

namespace heddle {

// The tree with every `$name` of `values` replaced. Parts without one are shared.
SyntaxPointer substitute(const SyntaxPointer& syntax, const std::map<std::string, SyntaxPointer>& values);

// The members of a draft that has a `family`, in order; a draft without one alone.
std::vector<Draft> expand_family(Draft draft, DiagnosticSink& sink);

}  // namespace heddle
