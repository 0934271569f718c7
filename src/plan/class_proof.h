// What holds for a plan's own sizes, proved for all for which it stands: from expressions, the names' classes and the plan's
// facts, without a number.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace heddle::plan {

// How many statements there are, and those that do not follow: they may hold all the same. That no two live buffers share bytes
// is not among them: it asks for no sizes (stack.h).
struct ClassProof {
    int64_t statements = 0;
    std::vector<std::string> unproved;  // "tasks of 'y' cover their axis: rows - 4 * (rows // 4) >= 0"
};

// That buffers have the bytes and the bases of their maps, and these the extents of the tensors; that aligned bases are; that
// tasks of launches cover their axes, and their numbers have a digit for each axis; that all that kernels read and write lies
// inside of its buffer, or of the launch's scratch memory (schedules/access_proof.h). It takes longer than planning does: tests
// and `heddle check` ask for it.
ClassProof prove_class(const Plan& plan);

}  // namespace heddle::plan
