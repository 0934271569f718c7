// The accesses of a body: every read with the values that its coordinates can take where it stands, and the proof that
// none of them leaves its tensor (docs/language.md, "Projections").
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <span>
#include <vector>

#include "symbolic/projection_range.h"

namespace heddle {

// What is known at one place of a body: ranges, and conditions of variables alone that hold (or do not) there.
struct AccessContext {
    std::unique_ptr<RangeEvaluator> ranges;
    std::vector<std::pair<NodeId, bool>> conditions;
};

struct Access {
    NodeId node;         // the read
    TensorIndex tensor;  // an input, or
    LocalId local;       // a local
    size_t before =
        0;  // dimensions of a local that stand before the coordinates: a state's step, where it is `previous`
    InlineVector<NodeId, 4> coordinates;
    bool guarded = false;
    bool dead = false;     // no point reaches it: an extent around it is zero
    int32_t context = 0;   // of BodyAccesses::contexts
    int32_t equation = 0;  // the first one that reaches it
};

// A read that is not inside its tensor, or cannot be proved to be.
struct FootprintFailure {
    Access access;
    size_t dimension = 0;
    Interval values;  // of the coordinate
    int64_t extent = 0;
    // Whether there is a point where it is outside, or only no proof that there is none. The point: variables and their
    // values, and the coordinate there.
    bool outside = false;
    std::vector<std::pair<VariableId, int64_t>> point;
    int64_t coordinate = 0;
};

class BodyAccesses {
public:
    explicit BodyAccesses(const Body& body);

    const std::vector<Access>& accesses() const { return accesses_; }
    const Body& body() const { return body_; }
    // The values of a coordinate where the access stands.
    const ValueRange& range(const Access& access, size_t dimension) const;
    const VariableRanges& variable_ranges(const Access& access) const;
    // The values of nodes over all values of all variables.
    RangeEvaluator& everywhere() const { return *contexts_[0].ranges; }
    // Those of variables alone that the ranges do not say (and perhaps some that they do).
    const std::vector<std::pair<NodeId, bool>>& conditions(const Access& access) const {
        return contexts_[static_cast<size_t>(access.context)].conditions;
    }
    // The body was too large to look at: nothing is known.
    bool exhausted() const { return budget_ < 0; }
    // Every unguarded read that may leave its tensor, by inputs' extents. Coordinates that depend on tensors are
    // checked when the body runs.
    std::vector<FootprintFailure> failures(std::span<const std::span<const Size>> extents) const;

private:
    void walk(NodeId id, int32_t context, bool dead);
    void walk_local(LocalId local);
    void record(NodeId id, int32_t context, bool dead);
    int32_t under(int32_t context, NodeId condition, bool holds);
    bool is_empty_extent(std::span<const VariableId> variables) const;
    std::optional<FootprintFailure> failure(const Access& access, size_t dimension, const Size& extent) const;
    bool enumerate(const Access& access, size_t dimension, FootprintFailure& failure) const;

    const Body& body_;
    mutable int64_t budget_;
    mutable int64_t points_;        // left to enumerate
    InlineVector<bool, 64> reads_;  // a read lies below the node
    InlineVector<bool, 64> plain_;  // the node depends on variables alone
    InlineVector<bool, 8> local_done_;
    std::vector<AccessContext> contexts_;
    std::map<std::pair<int32_t, std::pair<NodeId, bool>>, int32_t> context_under_;
    InlineVector<bool, 64> seen_everywhere_;     // nodes in the first context
    std::set<std::pair<int32_t, NodeId>> seen_;  // in others
    mutable std::vector<bool> computed_;         // once it is asked for
    std::vector<Access> accesses_;
    int32_t equation_ = 0;
};

}  // namespace heddle
