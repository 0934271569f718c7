// Rules broken on purpose: a test passes these to see that the comparison of fused and unfused notices. Nothing else
// does.
#pragma once

#include "equations/fusion.h"

namespace heddle::equations::internal {

struct BrokenRules {
    bool factor_digits_swapped = false;   // factoring gives a coordinate's digits the weights of others
    bool broken_axes_are_common = false;  // axes read at other points than their own count as common
    bool cycles_are_allowed = false;      // kernels may need one another
};

void factor_axes(System& system, const BrokenRules& broken);
void optimise(System& system, const BrokenRules& broken);
Partition fuse(const System& system, const Target& target, const FusionOptions& options, const BrokenRules& broken);

// What the search did: growth is tested on these, not on time.
struct FusionStatistics {
    int64_t cost_evaluations = 0;
    int64_t merges = 0;
};
FusionStatistics statistics_of_fusion(const System& system, const Target& target, const FusionOptions& options);

}  // namespace heddle::equations::internal
