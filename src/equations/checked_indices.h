// An index that data choose is checked when it runs, against the extent of what it reads. What takes the place of such a
// read reads something else, perhaps larger: it must fail for the same indices.
#pragma once

#include <vector>

#include "equations/system.h"

namespace heddle::equations {

class CheckedIndices {
public:
    CheckedIndices(System& system, Expr read);

    // Whether `value`, in the place of the read, still fails for each index outside, by reads that no selection skips.
    bool fail_in(Expr value) const;
    // The read with indices that are far outside of all tensors where they are outside of this one, so that what is
    // computed from them is outside, too.
    Expr sent_far() const;
    // Whether `value` in the place of `sent`, which is so, fails for each index outside.
    bool far_in(Expr value, Expr sent) const;

private:
    Size extent(size_t dimension) const { return system_.tensor(read_->tensor()).shape[dimension]; }
    bool fail_in(Expr value, Expr read, const auto& fails) const;

    System& system_;
    Expr read_;
    std::vector<size_t> checked_;  // its dimensions
};

}  // namespace heddle::equations
