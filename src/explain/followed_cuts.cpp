#include "explain/followed_cuts.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "explain/arguments.h"
#include "sharding/shard.h"

namespace heddle::explain {
namespace {

using sharding::Axis;
using sharding::Movement;

class Follower {
public:
    Follower(const Graph& graph, const Cuts& parts) : graph_(graph) {
        readers_.resize(graph.tensors.size());
        for (size_t i = 0; i < graph.operations.size(); ++i) {
            axes_.push_back(sharding::axes_of(graph, graph.operations[i]));
            for (TensorId id : graph.operations[i].inputs) readers_[static_cast<size_t>(id)].insert(OperationId(i));
        }
        for (size_t i = 0; i < graph.operations.size(); ++i) {
            const bool has_all = std::ranges::all_of(parts, [&](const auto& part) {
                return std::ranges::find(axes_[i], part.first, &Axis::name) != axes_[i].end();
            });
            if (has_all) named_.emplace(OperationId(i), parts);
        }
    }

    std::map<OperationId, Cuts> run() {
        for (const auto& [id, parts] : named_)
            for (const auto& [name, count] : parts) open_.push_back({id, axis_of(id, name), count});
        for (size_t next = 0; next < open_.size(); ++next) follow(open_[next]);
        std::map<OperationId, Cuts> result = named_;
        result.insert(followed_.begin(), followed_.end());
        return result;
    }

private:
    struct Cut {
        OperationId operation;
        size_t axis;
        int64_t parts;
    };

    size_t axis_of(OperationId id, const std::string& name) const {
        const auto& axes = axes_[static_cast<size_t>(id)];
        return static_cast<size_t>(std::ranges::find(axes, name, &Axis::name) - axes.begin());
    }

    static bool passes(const Axis& axis) {
        return axis.passed && axis.reductions.empty() && !axis.fold && !axis.refusal;
    }

    // The dimension whose elements are the axis's points, one by one.
    std::optional<int32_t> dimension_of(const Axis& axis, TensorId tensor, const std::vector<Movement>& moves) const {
        if (moves.size() != 1 || moves[0].step != 1 || moves[0].window != 1) return std::nullopt;
        const auto extents = graph_.tensor(tensor).type.extents();
        if (extents[static_cast<size_t>(moves[0].dimension)] != axis.extent.value()) return std::nullopt;
        return moves[0].dimension;
    }

    void follow(Cut cut) {
        const Operation& operation = graph_.operation(cut.operation);
        const Axis& axis = axes_[static_cast<size_t>(cut.operation)][cut.axis];
        if (!passes(axis)) return;
        for (size_t i = 0; i < operation.outputs.size(); ++i) {
            const TensorId tensor = operation.outputs[i];
            const auto dimension = dimension_of(axis, tensor, axis.outputs[i]);
            if (!dimension) continue;
            for (OperationId reader : readers_[static_cast<size_t>(tensor)])
                cut_along(reader, tensor, *dimension, cut.parts);
        }
        for (size_t i = 0; i < operation.inputs.size(); ++i) {
            const TensorId tensor = operation.inputs[i];
            const OperationId maker = graph_.tensor(tensor).producer;
            const auto dimension = dimension_of(axis, tensor, axis.inputs[i]);
            if (dimension && maker >= 0) cut_along(maker, tensor, *dimension, cut.parts);
        }
    }

    // The first axis of the operation that this dimension of the tensor moves along.
    void cut_along(OperationId id, TensorId tensor, int32_t dimension, int64_t parts) {
        if (named_.contains(id)) return;
        const Operation& operation = graph_.operation(id);
        const auto& axes = axes_[static_cast<size_t>(id)];
        for (size_t a = 0; a < axes.size(); ++a) {
            if (!passes(axes[a]) || !has(axes[a], operation, tensor, dimension)) continue;
            Cuts& own = followed_[id];
            if (std::ranges::find(own, axes[a].name, &Cuts::value_type::first) == own.end()) {
                own.emplace_back(axes[a].name, parts);
                open_.push_back({id, a, parts});
            }
            return;
        }
    }

    bool has(const Axis& axis, const Operation& operation, TensorId tensor, int32_t dimension) const {
        const auto moves = [&](const std::vector<TensorId>& tensors, const std::vector<std::vector<Movement>>& lists) {
            for (size_t i = 0; i < tensors.size(); ++i)
                if (tensors[i] == tensor && dimension_of(axis, tensor, lists[i]) == dimension) return true;
            return false;
        };
        return moves(operation.inputs, axis.inputs) || moves(operation.outputs, axis.outputs);
    }

    const Graph& graph_;
    std::vector<std::vector<Axis>> axes_;         // of each operation
    std::vector<std::set<OperationId>> readers_;  // of each tensor
    std::map<OperationId, Cuts> named_, followed_;
    std::vector<Cut> open_;  // to be followed, in order
};

constexpr size_t most_listed = 8;  // operations

// No operation has all of the axes: which ones they have.
Diagnostics no_such_axes(const Graph& graph, const Cuts& parts) {
    if (graph.operations.size() == 1) {
        const Operation& operation = graph.operations[0];
        return sharding::boxes_by(operation, sharding::axes_of(graph, operation), parts).error();
    }
    std::vector<std::string> wanted, known;
    for (const auto& [name, count] : parts) wanted.push_back(fmt::format("'{}'", name));
    for (size_t i = 0; i < std::min(graph.operations.size(), most_listed); ++i) {
        std::vector<std::string> names;
        for (const Axis& axis : sharding::axes_of(graph, graph.operations[i])) names.push_back(axis.name);
        known.push_back(fmt::format("{} of '{}'", fmt::join(names, ", "), graph.operations[i].name));
    }
    if (graph.operations.size() > most_listed) known.emplace_back("...");
    return {{.code = "sharding.axis",
             .summary = parts.size() == 1 ? fmt::format("no operation has an axis {}", wanted[0])
                                          : fmt::format("no operation has all of the axes {}", fmt::join(wanted, ", ")),
             .expected = fmt::format("{}", fmt::join(known, "; "))}};
}

}  // namespace

std::map<OperationId, Cuts> followed_cuts(const Graph& graph, const Cuts& parts) {
    return Follower(graph, parts).run();
}

Result<std::map<OperationId, Cuts>> cuts_of(const Graph& graph, const std::vector<std::string>& texts) {
    auto bindings = parse_bindings(texts, "--shard");
    if (!bindings) return fail(std::move(bindings.error()));
    if (graph.operations.empty())
        return fail({.code = "cli.shard",
                     .summary = "there is no operation to cut",
                     .reason = "the results are known from what is given",
                     .remedy = "give types instead of values"});
    const Cuts parts(bindings->begin(), bindings->end());
    auto cuts = followed_cuts(graph, parts);
    if (cuts.empty()) return fail(no_such_axes(graph, parts));
    return cuts;
}

}  // namespace heddle::explain
