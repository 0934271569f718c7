// A made-up use that does not fit, changed by what binding says of it: the extent that a pattern expects, the rank, the
// dtype; and by what a requirement asks for, solved for one name.
#pragma once

#include "rewrite/made_up_use.h"

namespace heddle::rewrite {

// Whether something was changed.
bool repair(MadeUpUse& use, const Diagnostic& misfit);
// `condition` does not hold in `environment`, which `use` was bound to.
bool repair(MadeUpUse& use, const Syntax& condition, Environment& environment);

}  // namespace heddle::rewrite
