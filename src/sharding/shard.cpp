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
#include "sharding/histories.h"
#include "sharding/rounds.h"
#include "sharding/shares.h"
#include "sharding/placed_graph.h"

namespace heddle::sharding {
namespace {

class Sharder {
public:
    // `operation` is one of the graph that `assembler` replaces; all three outlive this.
    Sharder(Assembler& assembler, const Operation& operation, const Cut& cut)
        : operation_(operation), of_(cut), assembler_(assembler), graph_(assembler.graph()) {
        result_.axes = axes_of(graph_, operation_);
        result_.boxes = cut.boxes;
    }

    Result<Sharding> run() {
        if (auto checked = check(); !checked) return fail(std::move(checked.error()));
        if (operation_.body)
            replace();
        else
            replace_opaque();
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
            needs_grid = needs_grid || of.fold || of.ordered || !of.reductions.empty() || !in_every_equation(of);
            reduced = reduced || of.ordered || !of.reductions.empty();
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
                .summary = fmt::format("axis '{}' of '{}' cannot be cut together with another reduction or a scan",
                                       axis.name, operation_.name),
                .reason = "each part of it is a whole result, in which the other one is done",
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

    const std::vector<PlaceId>& places_of(size_t box) const {
        static const std::vector<PlaceId> one = {PlaceId(0)};
        return of_.places.empty() ? one : of_.places[box];
    }

    std::string shard_name(const std::string& work, size_t box) const {
        return full_.size() == 1 ? work : fmt::format("{} shard {}", work, box);
    }

    void replace_opaque() {
        for (size_t box : full_) {
            std::string name = shard_name(operation_.name, box);
            Box index = result_.boxes[box];
            std::vector<Range> folds;
            for (size_t axis = 0; axis < result_.axes.size(); ++axis)
                if (result_.axes[axis].fold) folds.push_back({index.start[axis], index.end[axis]});
            index.start.resize(index.start.size() - folds.size());  // they are the last axes
            index.end.resize(index.start.size());
            take_turn(box);
            for (PlaceId place : places_of(box)) {
                Placed placed = assembler_.add_opaque(operation_, name, index, folds, targets(box), place);
                result_.applications.push_back({box, place, 0, 0, result_part(), !folded_.empty(), result_.boxes[box],
                                                std::move(placed.inputs), std::move(placed.outputs), placed.operation});
            }
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
            const Tensor& whole = graph_.tensor(operation_.outputs[i]);
            TensorType type = whole.type;
            known->second.push_back(graph_.add_tensor(whole.name + suffix, type));
        }
        return known->second;
    }

    // Neighbours along the last declared axis are joined first.
    void fold() {
        const PlaceId place = places_of(full_.front()).front();
        for (size_t output = 0; !folded_.empty() && output < operation_.outputs.size(); ++output) {
            Combination made{.part = result_part(), .axes = folded_, .result = operation_.outputs[output]};
            std::vector<TensorId> parts;
            for (const auto& [position, tensors] : partial_) made.partial.push_back(tensors[output]);
            for (TensorId part : made.partial) parts.push_back(assembler_.whole(part, place));
            const TensorId own = assembler_.made(made.result, Box::whole(graph_.tensor(made.result).type.shape), place);
            for (size_t i = folded_.size(); i-- > 0;) {
                const Fold& fold = operation_.folds[*result_.axes[folded_[i]].fold];
                made.combiner += (made.combiner.empty() ? "" : ", then ") + fold.combiner;
                size_t count = parts_[folded_[i]].size();
                std::vector<TensorId> joined;
                for (size_t first = 0; first < parts.size(); first += count) {
                    std::vector<TensorId> row(parts.begin() + static_cast<std::ptrdiff_t>(first),
                                              parts.begin() + static_cast<std::ptrdiff_t>(first + count));
                    joined.push_back(folded(assembler_, fold, output, row, i == 0 ? own : no_id, place));
                }
                parts = std::move(joined);
            }
            made.operation = graph_.tensor(own).producer;
            result_.combinations.push_back(std::move(made));
        }
    }

    // ---- the operation with one

    void replace() {
        std::shared_ptr<const Body> rest = operation_.body;
        inputs_ = operation_.inputs;
        const std::vector<VariableId> steps = cut_steps();
        for (;;) {
            const std::vector<LocalId> states =
                steps.empty() ? std::vector<LocalId>() : next_states(rounds(*rest), steps);
            if (states.empty()) break;
            ScanApart apart = scan_apart(*rest, states, inputs_.size());
            std::vector<TensorId> behind = inputs_;
            for (History& history : apart.histories) {
                history.tensor = graph_.add_tensor(fmt::format("{} {}", operation_.name, history.name),
                                                   type_of_history(*rest, history.state));
                behind.push_back(history.tensor);
            }
            add_reductions(apart.states);
            add_scan(apart.histories, rest->local(states.front()).variables[0]);
            first_round_ = round_ + 1;
            inputs_ = std::move(behind);
            rest = std::make_shared<const Body>(std::move(apart.rest));
        }
        add_reductions(*rest);
        add_results();
        fold();
    }

    std::vector<VariableId> cut_steps() const {
        std::vector<VariableId> steps;
        for (size_t axis = 0; axis < cut_.size(); ++axis)
            for (VariableId id : result_.axes[axis].variables)
                if (cut_[axis] && operation_.body->variable(id).kind == Variable::Kind::ordered) steps.push_back(id);
        return steps;
    }

    Rounds rounds(const Body& body) const {
        std::vector<Corner> extents;
        for (TensorId id : inputs_) extents.push_back(graph_.tensor(id).type.extents());
        std::vector<bool> reduced = cut_;
        for (size_t axis : folded_) reduced[axis] = false;
        return rounds_of(body, extents, result_.axes, reduced, of_.rescale);
    }

    // Those over cut axes, made whole.
    void add_reductions(const Body& body) {
        rounds_ = rounds(body);
        stored_.clear();
        for (CutReduction& reduction : rounds_.reductions) reduction.round += first_round_;
        for (const CutReduction& reduction : rounds_.reductions) add_reduction(reduction);
        round_ = rounds_.reductions.empty() ? first_round_ : rounds_.reductions.back().round + 1;
    }

    // ---- a scan in parts, one after another

    void add_scan(const std::vector<History>& histories, VariableId step) {
        const auto axis = static_cast<size_t>(axis_of(step));
        std::set<size_t> needed = {axis};
        for (const BodyEquation& equation : rounds_.body->equations)
            for (VariableId id : rounds_.body->local(rounds_.body->node(equation.value).local()).variables)
                if (int32_t of = axis_of(id); of >= 0) needed.insert(static_cast<size_t>(of));
        std::ranges::stable_sort(full_, {}, [&](size_t box) { return result_.boxes[box].start[axis]; });
        std::set<std::pair<Box, PlaceId>> done;
        for_each_box([&](size_t box, PlaceId place) {
            Box index = projected(box, needed);
            if (!done.emplace(index, place).second) return;
            const Range steps{index.start[axis], index.end[axis]};
            const std::string part = fmt::format("states over {} from {}", result_.axes[axis].name, steps.begin);
            Work made = work(shard_name(fmt::format("{} {}", operation_.name, part), box));
            ScanPart own{.steps = steps,
                         .is_last = steps.end == result_.axes[axis].extent.value(),
                         .ranges = local_ranges(box),
                         .stored = stored_,
                         .first_history = next_id<TensorIndex>(made.inputs)};
            for (const History& history : histories) {
                made.inputs.push_back(history.tensor);
                made.outputs.push_back(history.tensor);
            }
            write_scan_part(made.body, *rounds_.body, histories, own);
            if (!made.body.equations.empty())
                add_application(box, place, round_, part, false, std::move(index), std::move(made));
        });
        std::ranges::sort(full_);
    }

    std::map<VariableId, Range> local_ranges(size_t box) const {
        std::map<VariableId, Range> ranges;
        for (const Local& local : rounds_.body->locals)
            for (VariableId id : local.variables) ranges[id] = part_of(box, id);
        return ranges;
    }

    Work work(std::string name) const {
        return {.name = std::move(name),
                .operator_name = operation_.operator_name,
                .body = {},
                .inputs = inputs_,
                .outputs = {},
                .params = operation_.params};
    }

    void add_application(size_t box, PlaceId place, int32_t round, const std::string& part, bool is_partial, Box index,
                         Work made) {
        Placed placed = assembler_.add_in_regions(std::move(made), place);
        result_.applications.push_back({box, place, round, result_.combinations.size(), part, is_partial,
                                        std::move(index), std::move(placed.inputs), std::move(placed.outputs),
                                        placed.operation});
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
            stacks.push_back(graph_.add_tensor(fmt::format("{} {}", operation_.name, what), {dtype, shape}));
        // What it runs over is cut to the box; a free variable of the same axis is not, for each part needs all of it.
        std::set<size_t> needed(reduction.axes.begin(), reduction.axes.end());
        for (VariableId id : reduction.variables)
            if (int32_t axis = axis_of(id); axis >= 0) needed.insert(static_cast<size_t>(axis));
        std::set<size_t> whole;
        for (VariableId id : reduction.variables) {
            auto axis = static_cast<size_t>(axis_of(id));
            if (std::ranges::count(reduction.axes, axis) > 0) whole.insert(axis);
        }
        std::set<std::pair<Box, PlaceId>> done;
        for_each_box([&](size_t box, PlaceId place) {
            Box index = projected(box, needed);
            if (!done.emplace(index, place).second) return;
            Work made = work(shard_name(fmt::format("{} {}", operation_.name, part), box));
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
            add_application(box, place, reduction.round, part, true, std::move(index), std::move(made));
        });
        for (size_t axis : reduction.axes) needed.erase(axis);
        combine(reduction, partial, part, stacks, needed);
    }

    void take_turn(size_t box) const { assembler_.take_turn(of_.turns.empty() ? 0 : of_.turns[box]); }

    template <typename Action>
    void for_each_box(const Action& action) const {
        for (size_t box : full_) {
            take_turn(box);
            for (PlaceId place : places_of(box)) action(box, place);
        }
    }

    // Boxes whose partial results become one, and the places that make them.
    struct Group {
        size_t box = 0;
        std::vector<PlaceId> places;
    };

    // Boxes that agree in these axes; all of them, where that separates no places.
    std::vector<Group> groups_of(const std::set<size_t>& axes) const {
        std::map<Box, size_t> known;
        std::vector<Group> groups;
        for_each_box([&](size_t box, PlaceId place) {
            auto [found, fresh] = known.try_emplace(projected(box, axes), groups.size());
            if (fresh) groups.push_back({box, {}});
            auto& places = groups[found->second].places;
            if (std::ranges::count(places, place) == 0) places.push_back(place);
        });
        const bool one =
            std::ranges::all_of(groups, [&](const Group& group) { return group.places == groups[0].places; });
        if (one) groups.resize(1);
        return groups;
    }

    void combine(const CutReduction& reduction, const PartialResults& partial, const std::string& part,
                 const std::vector<TensorId>& stacks, const std::set<size_t>& kept) {
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
            result = graph_.add_tensor(fmt::format("{} {}", operation_.name, part), {dtype, shape});
            stored_.emplace_back(reduction.node, StoredValue{next_id<TensorIndex>(inputs_), reduction.variables});
            inputs_.push_back(result);
        }
        made.outputs = {result};
        const std::vector<Group> groups = groups_of(kept);
        OperationId id = no_id;
        for (const Group& group : groups) {
            std::map<VariableId, Range> ranges;
            for (VariableId variable : reduction.variables) {
                const bool all = groups.size() == 1 || !kept.contains(static_cast<size_t>(axis_of(variable)));
                ranges[variable] =
                    all ? Range{0, rounds_.body->variable(variable).extent.value()} : part_of(group.box, variable);
            }
            const auto shares =
                shares_of(ranges, bytes(graph_.tensor(result).type.dtype), group.places.size(), of_.round_bytes);
            for (size_t i = 0; i < shares.size(); ++i) {
                Work own = made;
                partial.write_combination(own.body, counts, shares[i], direct);
                const Placed placed = assembler_.add_in_regions(std::move(own), group.places[i]);
                if (id == no_id) id = placed.operation;
            }
        }
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
        std::vector<std::set<std::pair<Box, PlaceId>>> done(body.equations.size());
        for_each_box([&](size_t box, PlaceId place) {
            std::vector<const BodyEquation*> own;
            std::set<size_t> needed;
            for (size_t i = 0; i < body.equations.size(); ++i) {
                const BodyEquation& equation = body.equations[i];
                if (finished_.contains(&equation)) continue;
                std::set<size_t> axes(folded_.begin(), folded_.end());
                for (VariableId id : equation.variables)
                    if (int32_t axis = axis_of(id); axis >= 0) axes.insert(static_cast<size_t>(axis));
                if (!done[i].emplace(projected(box, axes), place).second) continue;
                own.push_back(&equation);
                needed.insert(axes.begin(), axes.end());
            }
            if (own.empty()) return;
            Work made = work(shard_name(operation_.name, box));
            made.outputs = targets(box);
            write_results(made.body, box, own);
            add_application(box, place, round_, result_part(), !folded_.empty(), projected(box, needed),
                            std::move(made));
        });
    }

    void write_results(Body& into, size_t box, const std::vector<const BodyEquation*>& equations) const {
        const Body& body = *rounds_.body;
        BodyNodes nodes(into);
        BodyCopy copy(body, nodes, into);
        for (const auto& [node, value] : stored_) copy.store(node, value);
        std::map<VariableId, Range> parts = local_ranges(box);
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
    const Cut& of_;
    Assembler& assembler_;
    Graph& graph_;
    Sharding result_;
    std::vector<size_t> full_;  // boxes with points, or the first of them
    std::vector<std::vector<Range>> parts_;
    std::vector<bool> cut_;
    std::vector<size_t> folded_;                                     // the declared axes that are cut
    std::map<std::vector<int64_t>, std::vector<TensorId>> partial_;  // outputs by parts of those
    Rounds rounds_;
    int32_t first_round_ = 0, round_ = 0;  // of the reductions in hand, and behind them
    std::vector<TensorId> inputs_;         // the operation's, then histories, then what was combined
    std::vector<std::pair<NodeId, StoredValue>> stored_;
    std::set<const BodyEquation*> finished_;
};

}  // namespace

// As it was, without its operations.
Graph emptied(const Graph& graph) {
    Graph result = graph;
    result.operations.clear();
    return result;
}

Result<PlacedGraph> place(const Graph& graph, const std::vector<Cut>& cuts, const std::vector<PlaceId>& readers,
                          const Spreads& spreads, bool counts_unread) {
    PlacedGraph placed{.graph = emptied(graph)};
    std::erase_if(placed.graph.inputs, [&](TensorId input) { return spreads.inputs.contains(input); });
    Assembler assembler(placed.graph, counts_unread);
    for (TensorId input : graph.inputs) {
        const auto spread = spreads.inputs.find(input);
        if (spread == spreads.inputs.end()) continue;
        for (const auto& [at, box] : spread->second) placed.given.emplace_back(at, assembler.add_input(input, box, at));
    }
    for (size_t i = 0; i < graph.operations.size(); ++i) {
        assembler.begin(OperationId(i));
        auto sharded = Sharder(assembler, graph.operations[i], cuts[i]).run();
        if (!sharded) return fail(std::move(sharded.error()));
        for (const Combination& made : sharded->combinations) {
            const bool known = static_cast<size_t>(made.result) < graph.tensors.size();
            const std::string& name = known ? graph.tensor(made.result).name : graph.operations[i].name;
            const size_t parts = made.dimensions.empty() ? 0 : made.axes.size();
            for (TensorId t : made.partial) placed.partial[t] = {made.result, name, made.combiner, made.part, parts};
        }
        placed.operations.push_back(std::move(*sharded));
    }
    give_outputs(graph, readers, spreads, assembler, placed);
    placed.places = assembler.places();
    placed.turns = assembler.turns();
    placed.touched = assembler.touched();
    placed.slices = assembler.slices();
    for (const auto& [at, output] : placed.kept) placed.slices.erase(output);  // it is somebody's result, too
    placed.of = assembler.of();
    if (!placed.graph.outputs.empty()) drop_unread(placed);
    placed.brought = brought_in(placed, assembler.shared(), readers);
    return placed;
}

}  // namespace heddle::sharding
