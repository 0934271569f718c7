// What operations take in their program, of which fusion makes kernels: beside what each would take alone (costs.h).
#pragma once

#include <string>
#include <vector>

#include "placing/costs.h"
#include "placing/devices.h"

namespace heddle::placing {

// Where a tensor of an operation lies.
enum class Lies : uint8_t {
    in_kernels,  // never in memory
    in_memory,
    streamed,  // and no arithmetic hides that (equations/cost.h)
    copied,    // and of a copy, which each run makes
};

// An operation where it stands in a program. What is said holds for parts of it, too.
struct InProgram {
    double launches = 1;        // its share of those of the kernels that it is in
    double operations = 1;      // of the device, for a scalar operation: a multiply-add is two, its reads are none
    double times = 1;           // its share of its kernels' seconds, beside the roofline of its own work
    std::vector<Lies> tensors;  // as tensors_of numbers them; those behind: in memory
    std::string text() const;   // equal texts: one stands for the other

    Lies lies(TensorId tensor) const {
        const auto t = static_cast<size_t>(tensor.number());
        return t < tensors.size() ? tensors[t] : Lies::in_memory;
    }
};

// By OperationId: how the whole graph would run on one device. An operation of which nothing is known (what cannot be
// lowered is told of when it is compiled) is a kernel of its own.
std::vector<InProgram> in_program(const Graph& graph, const Target& target);

// launch + streamed / bandwidth + times * max(bytes / bandwidth, operations / rate), of work whose bytes are those in memory
// alone. `kernels`: that are more than the operation itself, as what combines partial results.
double seconds(const OperationWork& work, const Target& target, const InProgram& in, double kernels = 0);

// Of putting so many pieces, of so many bytes together, side by side in one tensor: each is a kernel, and what has just come
// lies in caches.
double assembling_seconds(double bytes, double pieces, const Target& target);

}  // namespace heddle::placing
