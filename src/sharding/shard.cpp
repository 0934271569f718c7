#include "sharding/shard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "sharding/body_copy.h"
#include "sharding/boxes.h"
#include "sharding/combine.h"
#include "sharding/fold.h"
#include "sharding/rounds.h"

namespace heddle::sharding {
namespace {

class Sharder {
public:
    Sharder(const Graph& graph, OperationId id, const std::vector<Box>& boxes, bool rescale)
        : operation_(graph.operations[static_cast<size_t>(id)]), rescale_(rescale), assembler_(result_.graph) {
        result_.axes = axes_of(graph, operation_);
        result_.boxes = boxes;
        result_.graph = graph;
        result_.graph.operations.clear();
    }

    Result<Sharding> run(const Graph& graph, OperationId id) {
        if (auto checked = check(); !checked) return fail(std::move(checked.error()));
        for (size_t i = 0; i < graph.operations.size(); ++i) {
            if (OperationId(i) != id)
                assembler_.add_as_it_is(graph.operations[i]);
            else if (operation_.body)
                replace();
            else
                replace_opaque();
        }
        return std::move(result_);
    }

private:
    // ---- which boxes there are

    Result<void> check() {
        if (auto covered = check_boxes(operation_, result_.axes, result_.boxes); !covered) return covered;
        for (size_t i = 0; i < result_.boxes.size(); ++i)
            if (!result_.boxes[i].is_empty()) full_.push_back(i);
        if (full_.empty()) full_.push_back(0);
        std::vector<Box> boxes;
        for (size_t i : full_) boxes.push_back(result_.boxes[i]);
        parts_ = parts_of(boxes, result_.axes.size());
        Diagnostics problems;
        bool needs_grid = false, reduced = false;
        for (size_t axis = 0; axis < parts_.size(); ++axis) {
            const Axis& of = result_.axes[axis];
            cut_.push_back(parts_[axis].size() > 1);
            if (!cut_[axis]) continue;
            if (of.refusal) problems.push_back(*of.refusal);
            needs_grid = needs_grid || of.fold || !of.reductions.empty() || !in_every_equation(of);
            reduced = reduced || !of.reductions.empty();
            if (of.fold) folded_.push_back(axis);
        }
        if (reduced && !folded_.empty()) problems.push_back(both(result_.axes[folded_[0]]));
        if (!problems.empty()) return fail(std::move(problems));
        if (needs_grid && !is_grid(boxes, result_.axes)) {
            return fail({.code = "sharding.grid",
                         .summary = fmt::format("the boxes of '{}' are no grid", operation_.name),
                         .expected = "every combination of the parts of each axis",
                         .reason = "partial results of other boxes could not be combined one by one",
                         .params = {{"operation", operation_.name}}});
        }
        return {};
    }

    Diagnostic both(const Axis& axis) const {
        return {.code = "sharding.fold",
                .summary = fmt::format("axis '{}' of '{}' cannot be cut together with another reduction", axis.name,
                                       operation_.name),
                .reason = "each part of it is a whole result, in which the other reduction is done",
                .remedy = "cut one of the two, or cut the shards of the one along the other",
                .params = {{"operation", operation_.name}, {"axis", axis.name}}};
    }

    bool in_every_equation(const Axis& axis) const {
        if (!operation_.body) return true;
        return std::ranges::all_of(operation_.body->equations, [&](const BodyEquation& equation) {
            return std::ranges::any_of(equation.variables, [&](VariableId id) { return axis.contains(id); });
        });
    }

    int32_t axis_of(VariableId id) const {
        for (size_t axis = 0; axis < result_.axes.size(); ++axis)
            if (result_.axes[axis].contains(id)) return static_cast<int32_t>(axis);
        return -1;
    }

    // The part of a variable that box number `box` works on.
    Range part_of(size_t box, VariableId id) const {
        int32_t axis = axis_of(id);
        if (axis < 0 || !cut_[static_cast<size_t>(axis)]) return {0, rounds_.body->variable(id).extent.value()};
        const Box& of = result_.boxes[box];
        return {of.start[static_cast<size_t>(axis)], of.end[static_cast<size_t>(axis)]};
    }

    // A box with what does not matter to some work made whole: boxes that are equal then share it.
    Box projected(size_t box, const std::set<size_t>& axes) const {
        Box result = result_.boxes[box];
        for (size_t axis = 0; axis < cut_.size(); ++axis) {
            if (axes.contains(axis)) continue;
            result.start[axis] = 0;
            result.end[axis] = result_.axes[axis].extent.value();
        }
        return result;
    }

    // ---- the operation without a body

    void replace_opaque() {
        for (size_t box : full_) {
            std::string name = fmt::format("{} shard {}", operation_.name, box);
            Box index = result_.boxes[box];
            std::vector<Range> folds;
            for (size_t axis = 0; axis < result_.axes.size(); ++axis)
                if (result_.axes[axis].fold) folds.push_back({index.start[axis], index.end[axis]});
            index.start.resize(index.start.size() - folds.size());  // they are the last axes
            index.end.resize(index.start.size());
            Placed placed = assembler_.add_opaque(operation_, name, index, folds, targets(box));
            result_.applications.push_back({box, 0, 0, result_part(), result_.boxes[box], std::move(placed.inputs),
                                            std::move(placed.outputs), placed.operation});
        }
        fold();
    }

    // ---- declared axes: each part of them has outputs of its own

    std::string result_part() const {
        std::vector<std::string> parts;
        for (size_t axis : folded_) {
            const Axis& of = result_.axes[axis];
            parts.push_back(fmt::format("{} over {}", operation_.folds[*of.fold].combiner, of.name));
        }
        return parts.empty() ? "result" : fmt::format("{}", fmt::join(parts, ", "));
    }

    // The outputs that a box gives parts of.
    const std::vector<TensorId>& targets(size_t box) {
        if (folded_.empty()) return operation_.outputs;
        std::vector<int64_t> position;
        std::string suffix;
        for (size_t axis : folded_) {
            Range own{result_.boxes[box].start[axis], result_.boxes[box].end[axis]};
            position.push_back(std::ranges::find(parts_[axis], own) - parts_[axis].begin());
            suffix += fmt::format(" {}[{}:{}]", result_.axes[axis].name, own.begin, own.end);
        }
        auto [known, fresh] = partial_.try_emplace(position);
        for (size_t i = 0; fresh && i < operation_.outputs.size(); ++i) {
            const Tensor& whole = result_.graph.tensor(operation_.outputs[i]);
            TensorType type = whole.type;
            known->second.push_back(result_.graph.add_tensor(whole.name + suffix, type));
        }
        return known->second;
    }

    // Neighbours along the last declared axis are joined first.
    void fold() {
        for (size_t output = 0; !folded_.empty() && output < operation_.outputs.size(); ++output) {
            Combination made{.part = result_part(), .axes = folded_, .result = operation_.outputs[output]};
            std::vector<TensorId> parts;
            for (const auto& [position, tensors] : partial_) parts.push_back(tensors[output]);
            made.partial = parts;
            for (size_t i = folded_.size(); i-- > 0;) {
                const Fold& fold = operation_.folds[*result_.axes[folded_[i]].fold];
                made.combiner += (made.combiner.empty() ? "" : ", then ") + fold.combiner;
                size_t count = parts_[folded_[i]].size();
                std::vector<TensorId> joined;
                for (size_t first = 0; first < parts.size(); first += count) {
                    std::vector<TensorId> row(parts.begin() + static_cast<std::ptrdiff_t>(first),
                                              parts.begin() + static_cast<std::ptrdiff_t>(first + count));
                    joined.push_back(folded(assembler_, fold, output, row, i == 0 ? made.result : no_id));
                }
                parts = std::move(joined);
            }
            made.operation = result_.graph.tensor(made.result).producer;
            result_.combinations.push_back(std::move(made));
        }
    }

    // ---- the operation with one

    void replace() {
        std::vector<Corner> extents;
        for (TensorId id : operation_.inputs) extents.push_back(result_.graph.tensor(id).type.extents());
        std::vector<bool> reduced = cut_;
        for (size_t axis : folded_) reduced[axis] = false;
        rounds_ = rounds_of(*operation_.body, extents, result_.axes, reduced, rescale_);
        inputs_ = operation_.inputs;
        for (const CutReduction& reduction : rounds_.reductions) add_reduction(reduction);
        add_results();
        fold();
    }

    Work work(std::string name) const {
        return {.name = std::move(name),
                .operator_name = operation_.operator_name,
                .body = {},
                .inputs = inputs_,
                .outputs = {},
                .params = operation_.params};
    }

    void add_application(size_t box, int32_t round, const std::string& part, Box index, Work made) {
        Placed placed = assembler_.add_in_regions(std::move(made));
        result_.applications.push_back({box, round, result_.combinations.size(), part, std::move(index),
                                        std::move(placed.inputs), std::move(placed.outputs), placed.operation});
    }

    std::string part_name(const CutReduction& reduction) const {
        std::vector<std::string> axes;
        for (size_t axis : reduction.axes) axes.push_back(result_.axes[axis].name);
        return fmt::format("{} over {}", name(rounds_.body->node(reduction.node).reducer), fmt::join(axes, ", "));
    }

    void add_reduction(const CutReduction& reduction) {
        PartialResults partial(*rounds_.body, reduction);
        std::string part = part_name(reduction);
        std::vector<Size> shape;
        for (size_t axis : reduction.axes) shape.emplace_back(static_cast<int64_t>(parts_[axis].size()));
        for (VariableId id : reduction.variables) shape.push_back(rounds_.body->variable(id).extent);
        std::vector<TensorId> stacks;
        for (const auto& [what, dtype] : partial.values())
            stacks.push_back(result_.graph.add_tensor(fmt::format("{} {}", operation_.name, what), {dtype, shape}));
        // What it runs over is cut to the box; a free variable of the same axis is not, for each part needs all of it.
        std::set<size_t> needed(reduction.axes.begin(), reduction.axes.end());
        for (VariableId id : reduction.variables)
            if (int32_t axis = axis_of(id); axis >= 0) needed.insert(static_cast<size_t>(axis));
        std::set<size_t> whole;
        for (VariableId id : reduction.variables) {
            auto axis = static_cast<size_t>(axis_of(id));
            if (std::ranges::count(reduction.axes, axis) > 0) whole.insert(axis);
        }
        std::set<Box> done;
        for (size_t box : full_) {
            Box index = projected(box, needed);
            if (!done.insert(index).second) continue;
            Work made = work(fmt::format("{} {} shard {}", operation_.name, part, box));
            made.outputs = stacks;
            std::vector<int64_t> position;
            for (size_t axis : reduction.axes) {
                Range own{index.start[axis], index.end[axis]};
                position.push_back(std::ranges::find(parts_[axis], own) - parts_[axis].begin());
            }
            auto range = [&](VariableId id) {
                bool uncut = whole.contains(static_cast<size_t>(axis_of(id))) &&
                             std::ranges::count(rounds_.body->node(reduction.node).variables, id) == 0;
                return uncut ? Range{0, rounds_.body->variable(id).extent.value()} : part_of(box, id);
            };
            partial.write(made.body, position, range, stored_);
            add_application(box, reduction.round, part, std::move(index), std::move(made));
        }
        combine(reduction, partial, part, stacks);
    }

    void combine(const CutReduction& reduction, const PartialResults& partial, const std::string& part,
                 const std::vector<TensorId>& stacks) {
        Work made = work(fmt::format("{} {}", operation_.name, part));
        made.operator_name = "combine";
        made.inputs = stacks;
        for (const auto& [node, value] : stored_)
            if (reduction.rescaled.is_given() && node == reduction.rescaled.maximum)
                made.inputs.push_back(inputs_[static_cast<size_t>(value.input)]);
        made.params.clear();
        std::vector<int64_t> counts;
        for (size_t axis : reduction.axes) counts.push_back(static_cast<int64_t>(parts_[axis].size()));
        const BodyEquation* direct = equation_that_is(reduction);
        TensorId result;
        if (direct) {
            result = operation_.outputs[static_cast<size_t>(direct->output)];
            finished_.insert(direct);
        } else {
            std::vector<Size> shape;
            for (VariableId id : reduction.variables) shape.push_back(rounds_.body->variable(id).extent);
            DType dtype = rounds_.body->node(reduction.node).dtype;
            result = result_.graph.add_tensor(fmt::format("{} {}", operation_.name, part), {dtype, shape});
            stored_.emplace_back(reduction.node, StoredValue{next_id<TensorIndex>(inputs_), reduction.variables});
            inputs_.push_back(result);
        }
        made.outputs = {result};
        partial.write_combination(made.body, counts, direct);
        OperationId id = assembler_.add(std::move(made));
        result_.combinations.push_back({.round = reduction.round,
                                        .combiner = std::string(name(rounds_.body->node(reduction.node).reducer)),
                                        .part = part,
                                        .axes = reduction.axes,
                                        .partial = stacks,
                                        .dimensions = dimension_names(reduction),
                                        .result = result,
                                        .operation = id});
    }

    std::vector<std::string> dimension_names(const CutReduction& reduction) const {
        std::vector<std::string> names;
        for (size_t axis : reduction.axes) names.push_back("part of " + result_.axes[axis].name);
        for (VariableId id : reduction.variables) names.push_back(rounds_.body->variable(id).name);
        return names;
    }

    // The equation that says nothing but the reduction, if nothing else needs it: the combination writes the output.
    const BodyEquation* equation_that_is(const CutReduction& reduction) const {
        const Body& body = *rounds_.body;
        for (const Node& node : body.nodes)
            if (std::ranges::count(node.operands, reduction.node) > 0) return nullptr;
        const BodyEquation* result = nullptr;
        for (const BodyEquation& equation : body.equations) {
            if (equation.value != reduction.node) continue;
            VariableList variables = equation.variables;
            std::ranges::sort(variables);
            if (result || !std::ranges::equal(variables, reduction.variables)) return nullptr;
            result = &equation;
        }
        for (const Local& local : body.locals)
            if (local.value == reduction.node || local.initial == reduction.node) return nullptr;
        return reduction.condition < 0 ? result : nullptr;
    }

    // ---- results

    void add_results() {
        const Body& body = *rounds_.body;
        std::vector<std::set<Box>> done(body.equations.size());
        int32_t round = rounds_.reductions.empty() ? 0 : rounds_.reductions.back().round + 1;
        for (size_t box : full_) {
            std::vector<const BodyEquation*> own;
            std::set<size_t> needed;
            for (size_t i = 0; i < body.equations.size(); ++i) {
                const BodyEquation& equation = body.equations[i];
                if (finished_.contains(&equation)) continue;
                std::set<size_t> axes(folded_.begin(), folded_.end());
                for (VariableId id : equation.variables)
                    if (int32_t axis = axis_of(id); axis >= 0) axes.insert(static_cast<size_t>(axis));
                if (!done[i].insert(projected(box, axes)).second) continue;
                own.push_back(&equation);
                needed.insert(axes.begin(), axes.end());
            }
            if (own.empty()) continue;
            Work made = work(fmt::format("{} shard {}", operation_.name, box));
            made.outputs = targets(box);
            write_results(made.body, box, own);
            add_application(box, round, result_part(), projected(box, needed), std::move(made));
        }
    }

    void write_results(Body& into, size_t box, const std::vector<const BodyEquation*>& equations) const {
        const Body& body = *rounds_.body;
        BodyNodes nodes(into);
        BodyCopy copy(body, nodes, into);
        for (const auto& [node, value] : stored_) copy.store(node, value);
        std::map<VariableId, Range> parts;
        for (const Local& local : body.locals)
            for (VariableId id : local.variables) parts[id] = part_of(box, id);
        for (size_t axis : folded_)
            for (VariableId id : result_.axes[axis].variables) parts[id] = part_of(box, id);
        copy.restrict(std::move(parts));
        std::map<VariableId, VariableId> made;
        auto bind = [&](VariableId id) {
            if (!made.contains(id)) made[id] = copy.bind_part(id, body.variable(id).kind, part_of(box, id));
        };
        for (size_t i = 0; i < body.variables.size(); ++i)
            if (body.variables[i].kind == Variable::Kind::index) bind(VariableId(i));
        for (const BodyEquation* equation : equations) {
            BodyEquation own{equation->output, {}, {}};
            for (VariableId id : equation->variables) {
                bind(id);
                own.variables.push_back(made[id]);
            }
            for (NodeId left : equation->left) own.left.push_back(copy.copy(left));
            own.value = copy.copy(equation->value);
            into.equations.push_back(std::move(own));
        }
    }

    const Operation& operation_;
    bool rescale_;
    Sharding result_;
    Assembler assembler_;
    std::vector<size_t> full_;  // boxes with points, or the first of them
    std::vector<std::vector<Range>> parts_;
    std::vector<bool> cut_;
    std::vector<size_t> folded_;                                     // the declared axes that are cut
    std::map<std::vector<int64_t>, std::vector<TensorId>> partial_;  // outputs by parts of those
    Rounds rounds_;
    std::vector<TensorId> inputs_;  // the operation's, then what was combined
    std::vector<std::pair<NodeId, StoredValue>> stored_;
    std::set<const BodyEquation*> finished_;
};

}  // namespace

Result<Sharding> shard(const Graph& graph, OperationId operation, const std::vector<Box>& boxes, bool rescale) {
    return Sharder(graph, operation, boxes, rescale).run(graph, operation);
}

}  // namespace heddle::sharding
