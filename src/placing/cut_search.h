// The search for the cuts of a whole graph that cost least, over one mesh. A state is how the tensors lie that are still
// read: operations are cut one after another, and of the ways that lead to one state the cheapest is kept, which for chains,
// trees and residual graphs are few. Where there are too many states, those that cost least go on (a beam), and the result
// is improved by exchanging the cuts of single operations. Whether it is the least of all is known, and said.
#pragma once

#include <functional>
#include <vector>

#include "placing/cut_table.h"
#include "placing/layouts.h"

namespace heddle::placing {

// By OperationId.
using CutChoices = std::vector<const CutChoice*>;

// What a cut program costs by the model.
struct CutCosts {
    double compute_seconds = 0, send_seconds = 0;  // of the slowest place in each operation
    int64_t bytes = 0;                             // that are sent
    // Of the place that holds most: constants and inputs that it reads, tensors while they are read.
    int64_t peak_bytes = 0;
    int64_t launches = 0;          // operations, of the slowest place in each
    std::vector<int64_t> out, in;  // bytes by place
    std::vector<LayoutId> made;    // by TensorId, before outputs are gathered
    double seconds() const { return compute_seconds + send_seconds; }
};

// What counts for how many seconds; loaded bytes are of constants, at the place that reads most of them.
struct CutWeights {
    double seconds = 1, byte = 0, loaded_byte = 0, launch = 0;
};

struct SearchEffort {
    size_t first_beam = 32;  // states that a first pass keeps, which bounds what the second looks at
    size_t beam = 1024;
    int exchanges = 4;  // times that cuts of single operations are exchanged, all of them
    std::function<bool()> stop = [] { return false; };  // from then on: what there is
};

struct FoundCuts {
    CutChoices choices;
    double cost = 0;        // weighted
    bool is_least = false;  // nothing costs less
};

class CutSearch {
public:
    // All but `spreads` outlive this. Each of `readers` gets all outputs but those of `spreads`, of which places get what that
    // says: nothing, where it says nothing.
    CutSearch(const Graph& graph, const CutTable& table, Layouts& layouts,
              const std::vector<sharding::PlaceId>& readers, const sharding::Spreads& spreads = {});

    FoundCuts search(const CutWeights& weights, const SearchEffort& effort);
    CutCosts costs(const CutChoices& choices) const;

private:
    class Pass;
    class Exchange;

    // Where the layouts of an operation's tensors come from, and go to.
    struct Frame {
        std::vector<TensorId> tensors;  // the operation's
        std::vector<int32_t> before;    // of each its position among the live ones before; -1: everywhere, -2: nowhere
        std::vector<TensorId> live;     // after it
        std::vector<int32_t> from;      // of each of these the position before, or, from the end on, among `tensors`
    };

    double alone(OperationId operation, const CutChoice& choice, const CutWeights& weights) const;
    double sent(const Layouts::Step& step, const CutWeights& weights) const;
    // What it takes that places get what they ask for of an output.
    double gathered(TensorId output, LayoutId layout, const CutWeights& weights) const;
    // The same of all outputs that no later operation reads.
    double given_away(size_t operation, const Layouts::Step& step, const CutWeights& weights) const;
    int64_t loaded_bytes(OperationId operation, const CutChoice& choice) const;
    std::vector<std::vector<double>> costs_alone(const CutWeights& weights) const;

    const Graph& graph_;
    const CutTable& table_;
    Layouts& layouts_;
    std::map<TensorId, sharding::Spread> asked_;  // of outputs, where that is anything
    std::vector<bool> given_;                     // everywhere
    std::vector<LayoutId> begin_;                 // by TensorId
    std::vector<TensorId> live_;                  // before the first operation
    // By TensorId: the last operation that reads or writes it; past all: none does, and it is asked for.
    std::vector<int32_t> last_read_;
    mutable std::map<std::pair<TensorId, LayoutId>, std::pair<double, int64_t>> gathered_;  // seconds and bytes
    std::vector<Frame> frames_;
    std::vector<std::vector<int64_t>> loaded_;  // by operation and choice
};

}  // namespace heddle::placing
