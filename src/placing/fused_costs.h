// What operations take in their program, of which fusion makes kernels: beside what each would take alone (costs.h).
#pragma once

#include <string>
#include <vector>

#include "placing/costs.h"
#include "placing/devices.h"

namespace heddle::placing {

// An operation where it stands in a program. What is said holds for parts of it, too.
struct InProgram {
    double launches = 1;           // its share of those of the kernels that it is in
    double operations = 1;         // of the device, for a scalar operation: a multiply-add is two, its reads are none
    double times = 1;              // its share of its kernels' seconds, beside the roofline of its own work
    std::vector<bool> in_kernels;  // by tensor, as tensors_of numbers them: it never lies in memory
    std::string text() const;      // equal texts: one stands for the other
};

// By OperationId: how the whole graph would run on one device. An operation of which nothing is known (what cannot be
// lowered is told of when it is compiled) is a kernel of its own.
std::vector<InProgram> in_program(const Graph& graph, const Target& target);

// launch + times * max(bytes / bandwidth, operations / rate), of work whose bytes are those in memory alone. `kernels`: that
// are more than the operation itself, as what combines partial results.
double seconds(const OperationWork& work, const Target& target, const InProgram& in, double kernels = 0);

}  // namespace heddle::placing
