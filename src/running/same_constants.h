// Whether all processes of a program have the same constants, as far as one of them uses them.
#pragma once

#include <vector>

#include "placing/module.h"
#include "transport/transport.h"

namespace heddle::running {

// All call it, at the same point, with the same modules but for the values of constants. Each process reads from its constants
// what it uses; of what nobody else uses, one more process reads as much. Code: transport.other_program, which names those
// that differ from most.
Result<void> agree_on_constants(transport::Transport& transport, const std::vector<placing::Module>& processes);

}  // namespace heddle::running
