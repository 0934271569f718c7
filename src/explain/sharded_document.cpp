#include "explain/sharded_document.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "explain/shards.h"
#include "interchange/to_document.h"

namespace heddle::explain {
namespace {

using interchange::DocumentRange;
using interchange::OperandBoxes;
using sharding::Application;
using sharding::Combination;
using sharding::Region;
using sharding::Sharding;

// One side of an operation: a tensor as often as one of the applications has it.
class Operands {
public:
    // The boxes of each application, empty ones where it does not have the operand.
    std::vector<std::vector<DocumentRange>> add(const Graph& graph, const std::vector<const std::vector<Region>*>& parts) {
        for (const auto* regions : parts) {
            std::map<TensorId, size_t> seen;
            for (const Region& region : *regions) place(region.tensor, seen[region.tensor]++);
        }
        std::vector<std::vector<DocumentRange>> boxes;
        for (const auto* regions : parts) {
            auto& own = boxes.emplace_back();
            for (TensorId id : tensors) {
                const size_t rank = graph.tensor(id).type.shape.size();
                own.push_back({heddle::Corner(rank, 0), heddle::Corner(rank, 0)});
            }
            std::map<TensorId, size_t> seen;
            for (const Region& region : *regions) own[place(region.tensor, seen[region.tensor]++)] = region.box;
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

class ShardedDocument {
public:
    ShardedDocument(const Graph& graph, const std::vector<ShardedOperation>& sharded) : graph_(graph) {
        for (const ShardedOperation& operation : sharded) sharded_[operation.operation] = &operation;
        made_ = sharded.back().sharding.graph;  // it has the tensors of all
        made_.operations.clear();
    }

    interchange::GraphDocument run() {
        for (size_t i = 0; i < graph_.operations.size(); ++i) {
            const auto found = sharded_.find(OperationId(i));
            if (found == sharded_.end())
                made_.operations.push_back(graph_.operations[i]);
            else if (is_cut_by_index(found->second->sharding))
                add_by_index(graph_.operations[i], found->second->sharding);
            else
                add_stages(graph_.operations[i], found->second->sharding);
        }
        return interchange::to_document(made_, options_);
    }

private:
    static bool is_cut_by_index(const Sharding& sharding) {
        for (size_t a = 0; a < sharding.axes.size(); ++a) {
            const bool is_cut = std::ranges::any_of(
                sharding.boxes, [&](const heddle::Box& box) { return box.extent(a) != sharding.axes[a].extent; });
            if (is_cut && sharding.axes[a].column < 0) return false;
        }
        return sharding.combinations.empty();
    }

    void add_by_index(const Operation& operation, const Sharding& sharding) {
        std::vector<DocumentRange>& boxes = options_.shards[next_id<OperationId>(made_.operations)];
        for (const heddle::Box& box : sharding.boxes) {
            if (box.is_empty()) continue;
            std::map<int32_t, size_t> columns;  // of index axes
            for (size_t a = 0; a < sharding.axes.size(); ++a)
                if (sharding.axes[a].column >= 0) columns[sharding.axes[a].column] = a;
            DocumentRange& own = boxes.emplace_back();
            for (const auto& [column, axis] : columns) {
                own.start.push_back(box.start[axis]);
                own.end.push_back(box.end[axis]);
            }
        }
        made_.operations.push_back(operation);
    }

    // Partial results are combined behind the applications that are counted to their number.
    void add_stages(const Operation& operation, const Sharding& sharding) {
        size_t combined = 0;
        std::map<std::pair<size_t, std::string>, std::vector<const Application*>> stages;
        for (const Application& application : sharding.applications)
            stages[{application.stage, application.part}].push_back(&application);
        for (const auto& [stage, applications] : stages) {
            for (; combined < std::min(stage.first, sharding.combinations.size()); ++combined)
                add_combination(operation, sharding, sharding.combinations[combined]);
            add_stage(operation, stage.second, applications);
        }
        for (; combined < sharding.combinations.size(); ++combined)
            add_combination(operation, sharding, sharding.combinations[combined]);
    }

    void add_stage(const Operation& operation, const std::string& part, const std::vector<const Application*>& applications) {
        std::vector<const std::vector<Region>*> inputs, outputs;
        for (const Application* application : applications) {
            inputs.push_back(&application->inputs);
            outputs.push_back(&application->outputs);
        }
        Operands read, written;
        auto read_boxes = read.add(made_, inputs), written_boxes = written.add(made_, outputs);
        std::vector<OperandBoxes> boxes;
        for (size_t i = 0; i < applications.size(); ++i)
            boxes.push_back({std::move(read_boxes[i]), std::move(written_boxes[i])});
        const bool is_result = part == "result";
        add(is_result ? operation.name : fmt::format("{} {}", operation.name, part), "shard:" + operation.operator_name,
            operation.params, std::move(read.tensors), std::move(written.tensors), std::move(boxes));
    }

    // All of the partial results, and of the result, at once.
    void add_combination(const Operation& operation, const Sharding& sharding, const Combination& combination) {
        std::vector<TensorId> inputs = combination.partial;
        if (!combination.dimensions.empty()) {  // beside the partial results, what they are rescaled by
            for (TensorId id : sharding.graph.operation(combination.operation).inputs)
                if (std::ranges::find(inputs, id) == inputs.end()) inputs.push_back(id);
        }
        OperandBoxes whole;
        for (TensorId id : inputs) whole.inputs.push_back(whole_of(id));
        whole.outputs = {whole_of(combination.result)};
        std::vector<OperandBoxes> boxes;
        boxes.push_back(std::move(whole));
        add(fmt::format("{} combined, {}", operation.name, combination.part), "combine:" + combination.combiner, {},
            std::move(inputs), {combination.result}, std::move(boxes));
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
    std::map<OperationId, const ShardedOperation*> sharded_;
    Graph made_;
    interchange::DocumentOptions options_;
};

}  // namespace

Result<interchange::GraphDocument> sharded_document(const Graph& graph, const std::vector<std::string>& texts) {
    auto sharded = shard_operations(graph, texts, false);
    if (!sharded) return fail(std::move(sharded.error()));
    return ShardedDocument(graph, *sharded).run();
}

}  // namespace heddle::explain
