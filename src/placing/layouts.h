// How tensors lie over places while a cut program runs, as numbers: which boxes of a tensor are where, whatever tensor it is.
// What an operation's cut sends follows from the layouts of what it reads, and is worked out once for all operations that
// are alike and read layouts that are.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>
#include <span>
#include <tuple>
#include <vector>

#include "placing/cut_table.h"
#include "sharding/pieces.h"
#include "support/strong_id.h"

namespace heddle::placing {

using LayoutId = StrongId<struct LayoutTag>;

// Bytes that go between places.
struct Sent {
    std::vector<int64_t> out, in;  // by place
    int64_t bytes = 0;
    // Rounds are after one another: partial results, then shares of what they become. Each waits for the slowest link of its
    // messages; a place sends them one after another, and receives so.
    double seconds = 0;
    std::vector<double> assembling = {};  // of these by place: what it reads in one, it has and gets in pieces
};

// Disjoint boxes: of one what none of the others holds.
std::vector<Box> without(const Box& box, const std::vector<Box>& held);
// Those that lie in no other, each once; and their elements.
std::vector<Box> largest(const std::vector<Box>& boxes);
int64_t elements_of(const std::vector<Box>& boxes);

// The links of a system between each two of its processes.
class PairLinks {
public:
    explicit PairLinks(const System& system);
    size_t places() const { return places_; }
    const LinkFigures& link(sharding::PlaceId from, sharding::PlaceId to) const { return links_[from * places_ + to]; }

private:
    size_t places_;
    std::vector<LinkFigures> links_;
};

class Layouts {
public:
    explicit Layouts(const System& system);

    static constexpr LayoutId everywhere{0}, nowhere{1};  // inputs and constants; what is not made yet

    struct Step {
        Sent sent;
        double seconds = 0;                // that it takes to send
        std::vector<LayoutId> after;       // of the operation's tensors, which also lie where they were brought
        std::vector<int64_t> inner_bytes;  // by place, of what is the operation's own
    };
    // `before`: layouts of the operation's tensors (tensors_of). The cut is known by its address.
    const Step& step(const CutCost& cut, std::span<const LayoutId> before);
    // A box of a tensor, for a reader. Of no boxes: what has no elements.
    Step gather(LayoutId layout, DType dtype, const Box& box, sharding::PlaceId reader);
    LayoutId number_of(const sharding::Spread& spread);
    // None of `everywhere`.
    sharding::Spread spread(LayoutId layout) const;
    // Elements that each place holds of what lies so.
    const std::vector<int64_t>& elements(LayoutId layout) const { return elements_[layout]; }

private:
    // What is made at a place, others have from there; what was brought to it, it has for itself.
    struct Held {
        sharding::PlaceId place;
        Box box;
        bool is_made = false;
        bool operator==(const Held&) const = default;
        bool operator<(const Held& other) const {
            return std::tie(place, box, is_made) < std::tie(other.place, other.box, other.is_made);
        }
    };
    class Traffic;
    using Boxes =
        std::vector<Held>;  // ascending; those that lie in no other of their place, and of those that are made
    struct Key {
        const CutCost* cut;
        std::vector<LayoutId> before;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        size_t operator()(const Key& key) const;
    };

    LayoutId number_of(Boxes boxes);
    Step simulate(const CutCost& cut, std::span<const LayoutId> before);

    PairLinks links_;
    const Target place_;
    std::map<Boxes, LayoutId> numbers_;
    std::vector<const Boxes*> boxes_;
    std::vector<std::vector<int64_t>> elements_;
    std::unordered_map<Key, Step, KeyHash> steps_;
};

}  // namespace heddle::placing
