// Outputs that take over the memory of inputs: which ones, and kernels in an order that lets them.
#pragma once

#include <optional>
#include <vector>

#include "equations/fusion.h"
#include "plan/plan.h"

namespace heddle::plan {

// For each of these inputs of a graph, by their places, the output that takes over its memory: of its type, and made by
// an operation that reads the input, if there is one left; else the first that is left. Code plan.donation: there is
// none.
Result<std::vector<Donation>> donations_of(const Graph& graph, const std::vector<int32_t>& inputs);

// Whether outputs and inputs are there, of equal types, and each is named once. Code plan.donation.
Result<void> check_donations(const Graph& graph, const std::vector<Donation>& donations);

struct Takeover {
    equations::TensorIndex output = no_id, input = no_id;
};

// Puts kernels that write an output of these behind all others that read the input. What comes back are those for which
// that goes; of the others a kernel that reads the input needs what the output is made of.
std::vector<Takeover> put_behind_readers(const equations::System& system, equations::Partition& partition,
                                         const std::vector<Takeover>& wanted);

// Of a kernel's tensors.
struct InPlacePair {
    schedules::TensorIndex input = no_id, output = no_id;
};
struct ScheduledInPlace {
    schedules::Scheduled scheduled;
    std::optional<InPlacePair> wrong;  // cannot be, and stands in the way of others if one of them does
};
// The kernel's schedule with outputs in the memory of inputs, as `in_place.h` has checked it. Codes of `schedule`.
Result<ScheduledInPlace> schedule_in_place(schedules::Kernel& kernel, const std::vector<InPlacePair>& pairs,
                                           const Target& target, decltype(PlanOptions::schedule) schedule);

}  // namespace heddle::plan
