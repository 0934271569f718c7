#include "symbolic/projection_accesses.h"

#include <algorithm>

#include "graph/verify.h"

namespace heddle {
namespace {

constexpr int64_t most_steps = 1'000'000;
constexpr int64_t most_points = 65'536;  // enumerated for one body, where intervals do not decide

}  // namespace

BodyAccesses::BodyAccesses(const Body& body)
    : body_(body), budget_(most_steps), points_(most_points), local_done_(body.locals.size(), false) {
    seen_everywhere_.resize(body.nodes.size(), false);
    reads_.reserve(body.nodes.size());
    plain_.reserve(body.nodes.size());
    for (const Node& node : body.nodes) {
        bool is_read = node.is_read() || node.kind == Node::Kind::local || node.kind == Node::Kind::previous;
        bool reads = is_read, plain = !is_read && node.kind != Node::Kind::reduce;
        for (NodeId operand : node.operands) {
            reads = reads || reads_[static_cast<size_t>(operand)];
            plain = plain && plain_[static_cast<size_t>(operand)];
        }
        reads_.push_back(reads);
        plain_.push_back(plain);
    }
    contexts_.push_back({std::make_unique<RangeEvaluator>(body, full_region(body), &budget_), {}});
    constexpr size_t usual = 4;
    accesses_.reserve(usual);
    for (const BodyEquation& equation : body.equations) {
        walk(equation.value, 0, is_empty_extent(equation.variables));
        ++equation_;
    }
}

bool BodyAccesses::is_empty_extent(std::span<const VariableId> variables) const {
    return std::any_of(variables.begin(), variables.end(),
                       [&](VariableId id) { return body_.variable(id).extent <= 0; });
}

const ValueRange& BodyAccesses::range(const Access& access, size_t dimension) const {
    return contexts_[static_cast<size_t>(access.context)].ranges->of(access.coordinates[dimension]);
}

const VariableRanges& BodyAccesses::variable_ranges(const Access& access) const {
    return contexts_[static_cast<size_t>(access.context)].ranges->region().ranges;
}

// The context where `condition` holds as well (or does not); -1 if that is nowhere.
int32_t BodyAccesses::under(int32_t context, NodeId condition, bool holds) {
    auto key = std::pair(context, std::pair(condition, holds));
    if (auto found = context_under_.find(key); found != context_under_.end()) return found->second;
    RangeEvaluator& ranges = *contexts_[static_cast<size_t>(context)].ranges;
    int32_t result = context;
    auto truth = ranges.of(condition).truth;
    auto narrowed = ranges.narrowed(condition, holds);
    bool nowhere = (truth && *truth != holds) || (narrowed && narrowed->is_empty() && !ranges.region().is_empty());
    if (nowhere) {
        result = -1;
    } else if (!truth && (narrowed || plain_[static_cast<size_t>(condition)])) {
        budget_ -= 50;  // a context costs more than a node
        AccessContext inner;
        inner.conditions = contexts_[static_cast<size_t>(context)].conditions;
        if (plain_[static_cast<size_t>(condition)]) inner.conditions.emplace_back(condition, holds);
        inner.ranges =
            std::make_unique<RangeEvaluator>(body_, narrowed ? std::move(*narrowed) : ranges.region(), &budget_);
        result = static_cast<int32_t>(contexts_.size());
        contexts_.push_back(std::move(inner));
    }
    context_under_.emplace(key, result);
    return result;
}

void BodyAccesses::record(NodeId id, int32_t context, bool dead) {
    const Node& node = body_.node(id);
    Access access;
    access.node = id;
    access.guarded = node.kind == Node::Kind::guarded_read;
    access.before = node.kind == Node::Kind::previous ? 1 : 0;
    if (node.is_read())
        access.tensor = node.tensor();
    else
        access.local = node.local();
    for (size_t i = 0; i + (access.guarded ? 1 : 0) < node.operands.size(); ++i)
        access.coordinates.push_back(node.operands[i]);
    access.dead = dead;
    access.context = context;
    access.equation = equation_;
    accesses_.push_back(std::move(access));
}

void BodyAccesses::walk_local(LocalId local) {
    if (local_done_[local]) return;
    local_done_[local] = true;
    const Local& array = body_.local(local);
    // All of it is computed, wherever one element is read.
    walk(array.value, 0, is_empty_extent(array.variables));
    if (array.is_state()) walk(array.initial, 0, is_empty_extent({array.variables.begin() + 1, array.variables.end()}));
}

void BodyAccesses::walk(NodeId id, int32_t context, bool dead) {
    if (!reads_[static_cast<size_t>(id)] || --budget_ < 0) return;
    if (context == 0 ? seen_everywhere_[static_cast<size_t>(id)] : !seen_.insert({context, id}).second) return;
    if (context == 0) seen_everywhere_[static_cast<size_t>(id)] = true;
    const Node& node = body_.node(id);
    switch (node.kind) {
    case Node::Kind::select: {
        walk(node.operands[0], context, dead);
        for (bool holds : {true, false}) {
            int32_t inner = under(context, node.operands[0], holds);
            if (inner >= 0) walk(node.operands[holds ? 1 : 2], inner, dead);
        }
        return;
    }
    case Node::Kind::reduce: {
        bool empty = dead || is_empty_extent(node.variables);
        int32_t inner = context;
        if (node.operands.size() == 2) {
            walk(node.operands[1], context, empty);
            inner = under(context, node.operands[1], true);
        }
        if (inner >= 0) walk(node.operands[0], inner, empty);
        return;
    }
    case Node::Kind::local:
    case Node::Kind::previous: walk_local(node.local()); [[fallthrough]];
    case Node::Kind::read:
    case Node::Kind::guarded_read: record(id, context, dead); [[fallthrough]];
    default:
        for (NodeId operand : node.operands) walk(operand, context, dead);
    }
}

std::vector<FootprintFailure> BodyAccesses::failures(std::span<const std::span<const Size>> extents) const {
    std::vector<FootprintFailure> result;
    for (const Access& access : accesses_) {
        if (access.guarded || access.dead) continue;
        for (size_t dimension = 0; dimension < access.coordinates.size(); ++dimension) {
            const Size extent = access.tensor >= 0 ? extents[access.tensor][dimension]
                                                : body_.extent(body_.local(access.local), access.before + dimension);
            if (auto found = failure(access, dimension, extent)) result.push_back(std::move(*found));
        }
    }
    return result;
}

std::optional<FootprintFailure> BodyAccesses::failure(const Access& access, size_t dimension, const Size& extent) const {
    const ValueRange& value = range(access, dimension);
    if (value.interval.low >= 0 && value.interval.high < extent) return std::nullopt;
    if (value.data) return std::nullopt;  // indirect: checked when the body runs
    FootprintFailure failure{access, dimension, value.interval, extent.number(), false, {}, 0};
    const auto& conditions = contexts_[static_cast<size_t>(access.context)].conditions;
    if (value.affine && conditions.empty()) {
        failure.outside = true;
        // The end of an affine range is taken: where every variable is at the end that its sign asks for.
        bool above = value.interval.high >= extent;
        const VariableRanges& ranges = variable_ranges(access);
        for (const auto& [variable, coefficient] : value.affine->terms) {
            const Interval& range = ranges[static_cast<size_t>(variable)];
            failure.point.emplace_back(variable, ((coefficient > 0) == above ? range.high : range.low).number());
        }
        failure.coordinate = (above ? value.interval.high : value.interval.low).number();
        return failure;
    }
    if (enumerate(access, dimension, failure)) return std::nullopt;
    if (computed_.empty()) computed_ = computed_indices(body_);
    if (!failure.outside && computed_[static_cast<size_t>(access.coordinates[dimension])]) return std::nullopt;
    return failure;
}

// True if the coordinate is inside at every point where the conditions hold. Puts a point outside into `failure`.
bool BodyAccesses::enumerate(const Access& access, size_t dimension, FootprintFailure& failure) const {
    NodeId coordinate = access.coordinates[dimension];
    const auto& conditions = contexts_[static_cast<size_t>(access.context)].conditions;
    const VariableRanges& ranges = variable_ranges(access);
    std::set<VariableId> wanted;
    for (VariableId id : variables_of(body_, coordinate)) wanted.insert(id);
    for (const auto& [condition, holds] : conditions)
        for (VariableId id : variables_of(body_, condition)) wanted.insert(id);
    std::vector<VariableId> variables(wanted.begin(), wanted.end());
    int64_t count = 1;
    for (VariableId id : variables) {
        const Interval& range = ranges[static_cast<size_t>(id)];
        if (range.is_empty()) return true;
        int64_t span = range.high - range.low + 1;
        if (span > points_ || count > points_ / span) return false;
        count *= span;
    }
    points_ -= count;
    std::vector<int64_t> point(body_.variables.size());
    for (VariableId id : variables) point[static_cast<size_t>(id)] = ranges[static_cast<size_t>(id)].low;
    for (int64_t n = 0; n < count; ++n) {
        bool reached = std::all_of(conditions.begin(), conditions.end(), [&](const auto& condition) {
            auto value = value_at(body_, condition.first, point);
            return !value || (*value != 0) == condition.second;
        });
        auto value = reached ? value_at(body_, coordinate, point) : std::optional<int64_t>(0);
        if (!value) return false;
        if (reached && (*value < 0 || *value >= failure.extent)) {
            failure.outside = true;
            for (VariableId id : variables) failure.point.emplace_back(id, point[static_cast<size_t>(id)]);
            failure.coordinate = *value;
            return false;
        }
        for (size_t i = variables.size(); i-- > 0;) {
            int64_t& digit = point[static_cast<size_t>(variables[i])];
            const Interval& range = ranges[static_cast<size_t>(variables[i])];
            if (++digit <= range.high) break;
            digit = range.low;
        }
    }
    return true;
}

}  // namespace heddle
