#include "explain/sharded_document.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "explain/shards.h"
#include "interchange/to_document.h"
#include "sharding/shard.h"

namespace heddle::explain {
namespace {

using interchange::DocumentRange;
using interchange::OperandBoxes;
using sharding::Application;
using sharding::Axis;
using sharding::Combination;
using sharding::Region;
using sharding::Sharding;

// By one application.
struct Touched {
    std::vector<Region> inputs, outputs;
};

// One side of an operation: a tensor as often as one of the applications has it.
class Operands {
public:
    // The boxes of each application, empty ones where it does not have the operand.
    std::vector<std::vector<DocumentRange>> add(const Graph& graph, const std::vector<Touched>& parts,
                                                std::vector<Region> Touched::* side) {
        for (const Touched& part : parts) {
            std::map<TensorId, size_t> seen;
            for (const Region& region : part.*side) place(region.tensor, seen[region.tensor]++);
        }
        std::vector<std::vector<DocumentRange>> boxes;
        for (const Touched& part : parts) {
            auto& own = boxes.emplace_back();
            for (TensorId id : tensors) {
                const size_t rank = graph.tensor(id).type.shape.size();
                own.push_back({heddle::Corner(rank, 0), heddle::Corner(rank, 0)});
            }
            std::map<TensorId, size_t> seen;
            for (const Region& region : part.*side) own[place(region.tensor, seen[region.tensor]++)] = region.box;
        }
        return boxes;
    }

    std::vector<TensorId> tensors;

private:
    size_t place(TensorId tensor, size_t count) {
        const auto [found, fresh] = places_.try_emplace({tensor, count}, tensors.size());
        if (fresh) tensors.push_back(tensor);
        return found->second;
    }

    std::map<std::pair<TensorId, size_t>, size_t> places_;
};

constexpr size_t most_applications = 65'536;

class ShardedDocument {
public:
    explicit ShardedDocument(const Graph& graph) : graph_(graph), made_(graph) { made_.operations.clear(); }

    Result<interchange::GraphDocument> run(std::vector<sharding::Cut> cuts) {
        std::map<OperationId, std::vector<heddle::Box>> by_index;
        size_t applications = 0;
        for (size_t i = 0; i < graph_.operations.size(); ++i) {
            axes_.push_back(sharding::axes_of(graph_, graph_.operations[i]));
            const size_t boxes = cuts[i].boxes.size();
            if (boxes == 1) continue;
            applications += boxes;
            for (size_t a = 0; a < axes_.back().size(); ++a) {
                const Axis& axis = axes_.back()[a];
                if (axis.ordered && is_cut(cuts[i].boxes, a, axis)) return fail(in_order(graph_.operations[i], axis));
            }
            if (is_by_index(graph_.operations[i], axes_.back(), cuts[i].boxes)) {
                by_index[OperationId(i)] = std::move(cuts[i].boxes);
                cuts[i] = sharding::uncut(axes_.back());
            }
        }
        if (applications > most_applications)
            return fail({.code = "sharding.limit",
                         .summary = "there are too many shards for a document",
                         .expected = fmt::format("at most {} of all operations", most_applications)});
        const auto placed = sharding::place(graph_, cuts, {sharding::PlaceId(0)});
        if (!placed) return fail(placed.error());
        placed_ = &placed->graph;
        for (size_t i = 0; i < graph_.operations.size(); ++i) {
            const Operation& operation = graph_.operations[i];
            if (by_index.contains(OperationId(i)))
                add_by_index(operation, axes_[i], by_index[OperationId(i)]);
            else if (cuts[i].boxes.size() > 1)
                add_stages(operation, placed->operations[i]);
            else
                made_.operations.push_back(operation);
        }
        return interchange::to_document(made_, options_);
    }

private:
    static Diagnostic in_order(const Operation& operation, const Axis& axis) {
        return {.code = "cli.shard",
                .summary = fmt::format("parts of axis '{}' of '{}' are no applications of a document", axis.name,
                                       operation.name),
                .reason = "each begins with the states that the one before ends with, and only these are written",
                .remedy = "cut another axis; heddle explain shows the parts",
                .params = {{"operation", operation.name}, {"axis", axis.name}}};
    }

    static bool is_cut(const std::vector<heddle::Box>& boxes, size_t axis, const Axis& of) {
        return std::ranges::any_of(
            boxes, [&](const heddle::Box& box) { return box.end[axis] - box.start[axis] != of.extent.value(); });
    }

    // Whether parts of its index say it all.
    static bool is_by_index(const Operation& operation, const std::vector<Axis>& axes,
                            const std::vector<heddle::Box>& boxes) {
        if (operation.output_projections.size() != operation.outputs.size()) return false;
        for (size_t a = 0; a < axes.size(); ++a) {
            const bool by_index = axes[a].column >= 0 && axes[a].reductions.empty() && !axes[a].fold;
            if (!by_index && is_cut(boxes, a, axes[a])) return false;
        }
        return true;
    }

    // Partial results and what they become are behind the tensors that the graph has.
    TensorId made(TensorId id) {
        if (static_cast<size_t>(id) < graph_.tensors.size()) return id;
        const auto [found, fresh] = made_ids_.try_emplace(id, no_id);
        if (fresh) found->second = made_.add_tensor(placed_->tensor(id).name, placed_->tensor(id).type);
        return found->second;
    }

    void add_by_index(const Operation& operation, const std::vector<Axis>& axes,
                      const std::vector<heddle::Box>& boxes) {
        std::map<int32_t, size_t> columns;  // of index axes
        for (size_t a = 0; a < axes.size(); ++a)
            if (axes[a].column >= 0) columns[axes[a].column] = a;
        std::vector<DocumentRange>& ranges = options_.shards[next_id<OperationId>(made_.operations)];
        for (const heddle::Box& box : boxes) {
            if (box.is_empty()) continue;
            DocumentRange& own = ranges.emplace_back();
            for (const auto& [column, axis] : columns) {
                own.start.push_back(box.start[axis]);
                own.end.push_back(box.end[axis]);
            }
        }
        made_.operations.push_back(operation);
    }

    std::vector<Region> made(std::vector<Region> regions) {
        for (Region& region : regions) region.tensor = made(region.tensor);
        return regions;
    }

    // Applications of a stage and part stand together; partial results are combined behind as many stages as are counted.
    void add_stages(const Operation& operation, const Sharding& sharding) {
        size_t combined = 0;
        const auto combine = [&](size_t before) {
            for (; combined < before; ++combined) add_combination(operation, sharding.combinations[combined]);
        };
        std::vector<const Application*> stage;
        const auto end_stage = [&] {
            if (!stage.empty()) add_stage(operation, stage.front()->part, stage);
            stage.clear();
        };
        for (const Application& application : sharding.applications) {
            if (!stage.empty() &&
                (application.stage != stage.front()->stage || application.part != stage.front()->part))
                end_stage();
            combine(std::min(application.stage, sharding.combinations.size()));
            stage.push_back(&application);
        }
        end_stage();
        combine(sharding.combinations.size());
    }

    // Of an output without dimensions there is no empty box to say that a shard does not write it: the one that does is
    // an operation of its own.
    void add_stage(const Operation& operation, const std::string& part,
                   const std::vector<const Application*>& applications) {
        const std::string name = part == "result" ? operation.name : fmt::format("{} {}", operation.name, part);
        std::vector<Touched> all;
        for (const Application* application : applications) {
            Touched own{made(application->inputs), {}};
            for (Region& region : made(application->outputs)) {
                if (region.box.rank() > 0)
                    own.outputs.push_back(std::move(region));
                else
                    add_touched(operation, name, {{own.inputs, {std::move(region)}}});
            }
            if (!own.outputs.empty()) all.push_back(std::move(own));
        }
        if (!all.empty()) add_touched(operation, name, all);
    }

    void add_touched(const Operation& operation, const std::string& name, const std::vector<Touched>& parts) {
        Operands read, written;
        auto read_boxes = read.add(made_, parts, &Touched::inputs);
        auto written_boxes = written.add(made_, parts, &Touched::outputs);
        std::vector<OperandBoxes> boxes;
        for (size_t i = 0; i < parts.size(); ++i)
            boxes.push_back({std::move(read_boxes[i]), std::move(written_boxes[i])});
        add(name, "shard:" + operation.operator_name, operation.params, std::move(read.tensors),
            std::move(written.tensors), std::move(boxes));
    }

    // All of the partial results, and of the result, at once.
    void add_combination(const Operation& operation, const Combination& combination) {
        std::vector<TensorId> inputs;
        for (TensorId id : combination.partial) inputs.push_back(made(id));
        OperandBoxes whole;
        for (TensorId id : inputs) whole.inputs.push_back(whole_of(id));
        const TensorId result = made(combination.result);
        whole.outputs = {whole_of(result)};
        std::vector<OperandBoxes> boxes;
        boxes.push_back(std::move(whole));
        add(fmt::format("{} combined, {}", operation.name, combination.part), "combine:" + combination.combiner, {},
            std::move(inputs), {result}, std::move(boxes));
    }

    DocumentRange whole_of(TensorId id) const {
        const auto extents = made_.tensor(id).type.extents();
        return {heddle::Corner(extents.size(), 0), heddle::Corner(extents.begin(), extents.end())};
    }

    void add(std::string name, std::string kernel, std::map<std::string, std::string> params,
             std::vector<TensorId> inputs, std::vector<TensorId> outputs, std::vector<OperandBoxes> boxes) {
        options_.boxes[next_id<OperationId>(made_.operations)] = std::move(boxes);
        Operation operation;
        operation.name = std::move(name);
        operation.operator_name = std::move(kernel);
        operation.params = std::move(params);
        operation.inputs = std::move(inputs);
        operation.outputs = std::move(outputs);
        made_.operations.push_back(std::move(operation));
    }

    const Graph& graph_;
    Graph made_;
    std::vector<std::vector<Axis>> axes_;  // by operation
    const Graph* placed_ = nullptr;
    std::map<TensorId, TensorId> made_ids_;  // of tensors that the placed graph has added
    interchange::DocumentOptions options_;
};

}  // namespace

Result<interchange::GraphDocument> sharded_document(const Graph& graph, const std::vector<std::string>& texts) {
    auto cuts = cuts_of(graph, texts);
    if (!cuts) return fail(std::move(cuts.error()));
    return ShardedDocument(graph).run(std::move(*cuts));
}

}  // namespace heddle::explain
