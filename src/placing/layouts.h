// How tensors lie over places while a cut program runs, as numbers: which boxes of a tensor are where, whatever tensor it is.
// What an operation's cut sends follows from the layouts of what it reads, and is worked out once for all operations that
// are alike and read layouts that are.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>
#include <span>
#include <vector>

#include "placing/cut_costs.h"
#include "sharding/pieces.h"
#include "support/strong_id.h"

namespace heddle::placing {

using LayoutId = StrongId<struct LayoutTag>;

// Bytes and messages that go between places.
struct Sent {
    std::vector<int64_t> out, in;  // bytes by place
    int64_t bytes = 0;
    int32_t rounds = 0;  // after one another: partial results, then shares of what they become
    std::vector<double> assembling;  // seconds by place: what it reads in one, it has and gets in pieces
};

// latency for each round + the most bytes that one place sends or receives / bandwidth + the longest assembling.
double seconds(const Sent& sent, double bandwidth, double latency);

class Layouts {
public:
    Layouts(size_t places, double bandwidth, double latency, const Target& place);

    static constexpr LayoutId everywhere{0}, nowhere{1};  // inputs and constants; what is not made yet

    struct Step {
        Sent sent;
        double seconds = 0;
        std::vector<LayoutId> after;       // of the operation's tensors, which also lie where they were brought
        std::vector<int64_t> inner_bytes;  // by place, of what is the operation's own
    };
    // `before`: layouts of the operation's tensors (tensors_of). The cut is known by its address.
    const Step& step(const CutCost& cut, std::span<const LayoutId> before);
    // A box of a tensor, for a reader. Of no boxes: what has no elements.
    Step gather(LayoutId layout, DType dtype, const Box& box, sharding::PlaceId reader);
    LayoutId number_of(const sharding::Spread& spread);
    // None of `everywhere`.
    const sharding::Spread& spread(LayoutId layout) const { return *boxes_[layout]; }
    // Elements that each place holds of what lies so.
    const std::vector<int64_t>& elements(LayoutId layout) const { return elements_[layout]; }

private:
    using Boxes = sharding::Spread;  // ascending; none within another of its place
    struct Key {
        const CutCost* cut;
        std::vector<LayoutId> before;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        size_t operator()(const Key& key) const;
    };

    LayoutId number_of(const sharding::Pieces& pieces, TensorId tensor);
    Step simulate(const CutCost& cut, std::span<const LayoutId> before);

    size_t places_;
    double bandwidth_, latency_;
    const Target place_;
    std::map<Boxes, LayoutId> numbers_;
    std::vector<const Boxes*> boxes_;
    std::vector<std::vector<int64_t>> elements_;
    std::unordered_map<Key, Step, KeyHash> steps_;
};

}  // namespace heddle::placing
