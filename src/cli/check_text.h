// The compiler's own text forms, checked: systems of equations, kernels, scheduled kernels, plans (docs/equations.md,
// docs/schedules.md).
#pragma once

#include <string>

#include "support/diagnostic.h"
#include "target/target.h"

namespace heddle::cli {

// Parsed and verified; in words what the text is, and for a kernel what its schedule on the target would be. The first
// word says which form it is. Codes: cli.text_form (it is none), and those of the form's parser and verifier.
Result<std::string> check_text(const std::string& path, const Target& target);

}  // namespace heddle::cli
