// What values the integer expressions of a body can take: affine forms exactly, everything else by intervals. The
// ground of the footprint proof and of index projections (docs/language.md, "Projections").
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "expr/scalar_interval.h"
#include "graph/body.h"
#include "support/inline_vector.h"
#include "symbolic/node_map.h"
#include "symbolic/stepped_form.h"
#include "zspace/linear_form.h"

namespace heddle {

inline constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
inline constexpr int64_t highest = std::numeric_limits<int64_t>::max();

// The values of one node over a box of variables.
struct ValueRange {
    enum class Kind : uint8_t { integer, real, truth };
    Kind kind = Kind::integer;
    std::optional<LinearForm<VariableId>> affine;  // integer: the exact value, where it is affine
    std::optional<SteppedForm> stepped;            // integer: the exact value, where it has one quotient
    Interval interval;                             // integer
    RealInterval real;
    std::optional<bool> truth;  // truth: where it is the same everywhere
    bool data = false;          // depends on the elements of a tensor
};

// One interval for each variable of a body.
using VariableRanges = InlineVector<Interval, 8>;

// What is known of variables at one place: a range for each, and of sums of several what conditions say of them.
struct VariableRegion {
    struct Sum {
        LinearForm<VariableId> form;  // of two variables or more, without a constant, its first coefficient positive
        Interval values;
    };
    static constexpr size_t most_sums = 16;
    VariableRanges ranges;
    std::vector<Sum> sums;
    std::vector<std::pair<NodeId, Interval>> values;  // of integers that are not affine

    bool is_empty() const;
};

// 0 .. extent - 1 of every variable.
VariableRegion full_region(const Body& body);

// Evaluates nodes over fixed ranges, none of them empty. Remembers what it has seen. Total, and bounded by `budget`
// steps, shared between evaluators that were made from each other; when it is used up every answer is "unbounded".
class RangeEvaluator {
public:
    RangeEvaluator(const Body& body, VariableRegion region, int64_t* budget)
        : body_(body), region_(std::move(region)), budget_(budget) {}

    const VariableRegion& region() const { return region_; }
    const ValueRange& of(NodeId id);
    Interval interval(const LinearForm<VariableId>& form) const;
    // The region where `condition` is `holds`, as far as comparisons of affine forms say. Nothing if the condition says
    // nothing; an empty region if it cannot be.
    std::optional<VariableRegion> narrowed(NodeId condition, bool holds);

private:
    ValueRange evaluate(const Node& node);
    bool narrow_value(NodeId id, ScalarOp op, const Interval& bound, VariableRegion& region);
    ValueRange scalar(const Node& node);
    ValueRange arithmetic(ScalarOp op, const ValueRange& a, const ValueRange& b);
    ValueRange divided(ScalarOp op, const ValueRange& a, const ValueRange& b);
    ValueRange comparison(ScalarOp op, const ValueRange& a, const ValueRange& b);
    ValueRange unary(const Node& node, const ValueRange& a);
    static ValueRange fitting(ValueRange value, DType dtype);
    ValueRange converted(const ValueRange& value, DType from, DType to);
    ValueRange selection(const Node& node);
    ValueRange reduction(const Node& node);
    ValueRange exact(LinearForm<VariableId> form) const;
    ValueRange stepped(SteppedForm form) const;
    bool narrow(NodeId condition, bool holds, VariableRegion& region);
    bool narrow(LinearForm<VariableId> difference, ScalarOp op, VariableRegion& region);
    Interval over_ranges(const LinearForm<VariableId>& form) const;

    const Body& body_;
    VariableRegion region_;
    int64_t* budget_;
    NodeMap<ValueRange> known_;
};

// The value of an integer or bool node at one point; nothing if it depends on tensors or is not an integer.
std::optional<int64_t> value_at(const Body& body, NodeId id, const std::vector<int64_t>& point);

// The variables that `id` depends on, those bound by reductions below it apart.
std::vector<VariableId> variables_of(const Body& body, NodeId id);

}  // namespace heddle
