// Which operations of a graph have gone into an equation, so that what equations and kernels cost can be said of them.
#pragma once

#include <set>
#include <vector>

#include "equations/system.h"

namespace heddle::equations {

// Which operations an equation stands for: that of its tensor, and those before it whose results are no tensors any
// more, since passes have put them into what reads them. An operation with a step that is a tensor of its own (the sum
// of a convolution) is where this is made, though what is left of it (the bias) may have gone elsewhere. Of several
// that write parts of one tensor it is those that read what the equation reads.
class OperationFinder {
public:
    // Of a system that passes have made of what was lowered from the graph. Both outlive this.
    OperationFinder(const Graph& graph, const System& system);

    void add(const Equation& equation, std::set<OperationId>& operations) const;

private:
    const Graph& graph_;
    const System& system_;
    std::vector<std::vector<OperationId>> makers_;  // by tensor
    std::vector<TensorIndex> tensors_;              // by tensor: the system's, where it still is one
    std::vector<bool> has_steps_;                   // by operation
    std::vector<std::set<TensorIndex>> sources_;    // by operation: tensors of the system that it is made of
};

}  // namespace heddle::equations
