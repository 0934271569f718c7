#include "sharding/axes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "graph/body_rebuild.h"
#include "graph/verify.h"
#include "sharding/conditions.h"
#include "symbolic/projection_accesses.h"

namespace heddle::sharding {
namespace {

// (tensor, dimension, coefficient); locals are the tensors below zero
using ReadKeys = std::set<std::tuple<int32_t, size_t, int64_t>>;

struct Group {
    std::vector<VariableId> variables;
    ReadKeys reads;
    bool index = false;
    std::optional<size_t> fold;
};

class AxisFinder {
public:
    AxisFinder(const Graph& graph, const Operation& operation)
        : graph_(graph),
          operation_(operation),
          body_(*operation.body),
          accesses_(body_),
          free_(body_),
          forms_(affine_forms(body_)),
          reductions_(reductions_of(body_)) {
        for (const TensorId id : operation.inputs) extents_.push_back(graph.tensor(id).type.extents());
    }

    std::vector<Axis> run() {
        std::vector<Group> groups = grouped();
        std::vector<Axis> axes;
        std::set<std::string> taken;
        for (const Group& group : groups) axes.push_back(axis(group, taken));
        return axes;
    }

private:
    // Index axes, then those that outputs or reductions add, in the order of their variables.
    std::vector<Group> grouped() {
        std::set<VariableId> further;
        for (const BodyEquation& equation : body_.equations)
            further.insert(equation.variables.begin(), equation.variables.end());
        for (NodeId id : reductions_) further.insert(body_.node(id).variables.begin(), body_.node(id).variables.end());
        std::map<VariableId, ReadKeys> reads = read_keys();
        for (const Local& local : body_.locals)
            if (local.is_state()) further.insert(local.variables[0]);
        add_local_axes(reads, further);
        std::map<VariableId, size_t> folded = folded_variables();
        std::vector<Group> groups;
        for (size_t i = 0; i < body_.variables.size(); ++i) {
            auto id = VariableId(i);
            if (body_.variable(id).kind == Variable::Kind::index) groups.push_back({{id}, reads[id], true});
        }
        for (VariableId id : further) {
            if (body_.variable(id).kind == Variable::Kind::index) continue;
            std::optional<size_t> fold = folded.contains(id) ? std::optional(folded[id]) : std::nullopt;
            auto same = std::ranges::find_if(groups, [&](const Group& group) {
                return fold || group.fold ? fold == group.fold : alike(group, id, reads[id]);
            });
            if (same == groups.end()) {
                groups.push_back({{id}, reads[id], false, fold});
            } else {
                same->variables.push_back(id);
                same->reads.insert(reads[id].begin(), reads[id].end());
            }
        }
        for (size_t dropped = 1; dropped > 0;) {  // a local's axis may be read by another local's
            dropped = 0;
            for (Group& group : groups)
                dropped += std::erase_if(group.variables, [&](VariableId id) { return is_stray(group, id); });
        }
        join_scans(groups);
        std::erase_if(groups, [](const Group& group) { return group.variables.empty(); });
        return groups;
    }

    // What reads a state's steps one by one goes with the scan's axis.
    void join_scans(std::vector<Group>& groups) const {
        const auto group_of = [&](VariableId id) {
            return std::ranges::find_if(
                groups, [&](const Group& group) { return std::ranges::count(group.variables, id) > 0; });
        };
        for (const Access& access : accesses_.accesses()) {
            if (!is_state(access) || access.before > 0) continue;
            const VariableId step = body_.local(access.local).variables[0];
            const auto& form = accesses_.range(access, 0).affine;
            if (!form || form->terms.size() != 1 || std::abs(form->terms.front().second) != 1) continue;
            const auto scan = group_of(step), by = group_of(form->terms.front().first);
            if (scan == groups.end() || by == groups.end() || scan == by || !are_joined(*scan, *by)) continue;
            auto [first, second] = scan->index ? std::pair(scan, by)
                                   : by->index ? std::pair(by, scan)
                                               : std::pair(scan, by);
            first->variables.insert(first->variables.end(), second->variables.begin(), second->variables.end());
            second->variables.clear();
        }
    }

    bool are_joined(const Group& a, const Group& b) const {
        if (a.fold || b.fold || (a.index && b.index)) return false;
        return std::ranges::all_of(a.variables, [&](VariableId own) {
            return std::ranges::all_of(b.variables, [&](VariableId other) {
                return body_.variable(own).extent.value() == body_.variable(other).extent.value() && !meet(own, other);
            });
        });
    }

    // What declared axes are reduced by: one variable each reads their dimensions (checked where they are declared).
    std::map<VariableId, size_t> folded_variables() const {
        std::map<VariableId, size_t> result;
        for (const Access& access : accesses_.accesses())
            for (size_t fold = 0; access.tensor >= 0 && fold < operation_.folds.size(); ++fold)
                for (auto [input, dimension] : operation_.folds[fold].dimensions)
                    if (input == access.tensor)
                        result[body_.node(access.coordinates[static_cast<size_t>(dimension)]).variable()] = fold;
        return result;
    }

    VariableId own_axis(const Access& access, size_t d) const {
        return body_.local(access.local).variables[access.before + d];
    }

    // The variable that alone is coordinate `d` of a local, and as long as the local's axis; none: there is none.
    VariableId reader(const Access& access, size_t d) const {
        const Node& coordinate = body_.node(access.coordinates[d]);
        bool plain = coordinate.kind == Node::Kind::variable && body_.variable(coordinate.variable()).extent.value() ==
                                                                    body_.variable(own_axis(access, d)).extent.value();
        return plain ? coordinate.variable() : no_id;
    }

    // A local array's axis goes with the variables that read it at their own value and nothing else.
    void add_local_axes(std::map<VariableId, ReadKeys>& reads, std::set<VariableId>& further) {
        std::set<VariableId> other;
        for (const Access& access : accesses_.accesses()) {
            for (size_t d = 0; access.local >= 0 && d < access.coordinates.size(); ++d) {
                VariableId own = own_axis(access, d), by = reader(access, d);
                if (body_.variable(own).kind != Variable::Kind::parallel) continue;  // axes by themselves
                if (by < 0 || (by != own && meet(own, by)))
                    other.insert(own);
                else
                    local_readers_[own].insert(by);
            }
        }
        for (VariableId id : other) local_readers_.erase(id);
        for (const auto& [own, readers] : local_readers_) {
            further.insert(own);
            std::tuple<int32_t, size_t, int64_t> key{-1 - own, 0, 1};
            reads[own].insert(key);
            for (VariableId reader : readers) reads[reader].insert(key);
        }
    }

    // A local's axis without one of its readers beside it is read elsewhere too: it stays whole.
    bool is_stray(const Group& group, VariableId id) const {
        auto readers = local_readers_.find(id);
        return readers != local_readers_.end() && !std::ranges::all_of(readers->second, [&](VariableId reader) {
                   return std::ranges::find(group.variables, reader) != group.variables.end();
               });
    }

    std::map<VariableId, ReadKeys> read_keys() const {
        std::map<VariableId, ReadKeys> reads;
        for (const Access& access : accesses_.accesses()) {
            for (size_t d = 0; access.tensor >= 0 && d < access.coordinates.size(); ++d) {
                const ValueRange& value = accesses_.range(access, d);
                if (!value.affine) continue;
                for (const auto& [variable, coefficient] : value.affine->terms)
                    reads[variable].insert({access.tensor, d, coefficient});
            }
        }
        return reads;
    }

    bool alike(const Group& group, VariableId id, const ReadKeys& reads) const {
        if (body_.variable(id).kind == Variable::Kind::ordered) return false;
        bool shared = std::ranges::any_of(reads, [&](const auto& key) { return group.reads.contains(key); });
        return shared && std::ranges::all_of(group.variables, [&](VariableId other) {
                   return body_.variable(other).extent.value() == body_.variable(id).extent.value() &&
                          body_.variable(other).kind != Variable::Kind::ordered && !meet(other, id);
               });
    }

    // Some value needs both: then a part of one is not a part of the other.
    bool meet(VariableId a, VariableId b) const {
        for (size_t i = 0; i < body_.nodes.size(); ++i) {
            auto id = NodeId(i);
            if (free_.contains(id, a) && free_.contains(id, b)) return true;
        }
        return std::ranges::any_of(body_.equations, [&](const BodyEquation& equation) {
            return std::ranges::count(equation.variables, a) > 0 && std::ranges::count(equation.variables, b) > 0;
        });
    }

    Axis axis(const Group& group, std::set<std::string>& taken) {
        const Variable& first = body_.variable(group.variables[0]);
        Axis axis;
        axis.fold = group.fold;
        const std::string& name = group.fold ? operation_.folds[*group.fold].axis : first.name;
        axis.name = name;
        for (int copy = 2; !taken.insert(axis.name).second; ++copy) axis.name = fmt::format("{}_{}", name, copy);
        axis.extent = first.extent;
        axis.variables = group.variables;
        if (group.index) {
            axis.column = 0;
            for (VariableId id(0); id < group.variables[0]; ++id)
                axis.column += body_.variable(id).kind == Variable::Kind::index;
        }
        for (const BodyEquation& equation : body_.equations)
            axis.passed = axis.passed ||
                          std::ranges::any_of(equation.variables, [&](VariableId id) { return axis.contains(id); });
        axis.ordered = std::ranges::any_of(
            axis.variables, [&](VariableId id) { return body_.variable(id).kind == Variable::Kind::ordered; });
        for (NodeId id : reductions_) {
            const auto& bound = body_.node(id).variables;
            if (!axis.fold && std::ranges::any_of(bound, [&](VariableId v) { return axis.contains(v); }))
                axis.reductions.push_back(id);
        }
        for (size_t i = 0; i < operation_.inputs.size(); ++i)
            axis.inputs.push_back(movements(axis, static_cast<int32_t>(i)));
        for (size_t i = 0; i < operation_.outputs.size(); ++i)
            axis.outputs.push_back(written(axis, static_cast<int32_t>(i)));
        axis.refusal = refusal(axis);
        return axis;
    }

    // How left sides move. Of several equations all that move a dimension count.
    std::vector<Movement> written(const Axis& axis, int32_t output) const {
        std::vector<Movement> result;
        for (const BodyEquation& equation : body_.equations) {
            if (equation.output != output) continue;
            for (size_t d = 0; d < equation.left.size(); ++d) {
                const auto& form = forms_[static_cast<size_t>(equation.left[d])];
                if (!form) continue;
                for (const auto& [variable, step] : form->terms) {
                    Movement movement{static_cast<int32_t>(d), step, std::abs(step)};
                    if (axis.contains(variable) && std::ranges::find(result, movement) == result.end())
                        result.push_back(movement);
                }
            }
        }
        return result;
    }

    std::vector<Movement> movements(const Axis& axis, int32_t input) const {
        std::vector<Movement> result;
        const Tensor& tensor = graph_.tensor(operation_.inputs[static_cast<size_t>(input)]);
        for (size_t d = 0; d < tensor.type.shape.size(); ++d) {
            if (auto movement = movement_of(axis, input, d, tensor.type.shape[d].value())) result.push_back(*movement);
        }
        return result;
    }

    std::optional<Movement> movement_of(const Axis& axis, int32_t input, size_t dimension, int64_t extent) const {
        std::optional<int64_t> step;
        bool moves = false, differ = false;
        Interval hull{1, 0};
        for (const Access& access : accesses_.accesses()) {
            if (access.tensor != input || access.dead) continue;
            const ValueRange& value = accesses_.range(access, dimension);
            if (!value.affine) {
                std::vector<VariableId> used = variables_of(body_, access.coordinates[dimension]);
                moves = moves || std::ranges::any_of(used, [&](VariableId id) { return axis.contains(id); });
                differ = true;
                continue;
            }
            int64_t coefficient = 0;
            const Interval rest = interval_of(*value.affine, [&](VariableId variable) {
                if (!axis.contains(variable)) return accesses_.variable_ranges(access)[static_cast<size_t>(variable)];
                coefficient = value.affine->coefficient(variable);
                return Interval::point(0);
            });
            moves = moves || coefficient != 0;
            differ = differ || (step && *step != coefficient);
            step = coefficient;
            hull = hull.is_empty() ? rest : heddle::hull(hull, rest);
        }
        if (!moves) return std::nullopt;
        if (differ) return Movement{static_cast<int32_t>(dimension), 0, extent};
        return Movement{static_cast<int32_t>(dimension), *step, hull.high - hull.low + 1};
    }

    std::optional<Diagnostic> refusal(const Axis& axis) const {
        if (accesses_.exhausted())
            return refused("sharding.reads", axis, "the body is too large for what it reads to be known",
                           "use fewer conditions around reads");
        if (auto refusal = refusal_by_states(axis)) return refusal;
        if (auto refusal = refusal_by_conditions(axis)) return refusal;
        for (const BodyEquation& equation : body_.equations) {
            for (size_t d = 0; d < equation.left.size(); ++d) {
                const auto& form = forms_[static_cast<size_t>(equation.left[d])];
                if (!form || !is_inner_digit(*form, axis)) continue;
                const std::string& output =
                    graph_.tensor(operation_.outputs[static_cast<size_t>(equation.output)]).name;
                return refused(
                    "sharding.output_box", axis,
                    fmt::format("a part of it is no box of '{}': it is an inner digit of dimension {}", output, d),
                    "cut the outer digit, or give the two a dimension each and reshape");
            }
        }
        return std::nullopt;
    }

    // A reduction over a cut axis is computed apart from what asks for it.
    std::optional<Diagnostic> refusal_by_conditions(const Axis& axis) const {
        for (const NodeId id : axis.reductions) {
            if (!conditioned_) conditioned_ = std::make_unique<ConditionedBody>(body_, extents_);
            if (!conditioned_->is_tied(conditioned_->number(id))) continue;
            return refused("sharding.condition", axis,
                           fmt::format("the condition that keeps its {} from reading outside of a tensor cannot be "
                                       "asked apart from it",
                                       name(body_.node(id).reducer)),
                           "give a value for what lies outside: X[...] ?? value");
        }
        return std::nullopt;
    }

    std::optional<Diagnostic> refusal_by_states(const Axis& axis) const {
        for (NodeId id : axis.reductions) {
            if (!needs_itself(id)) continue;
            return refused("sharding.state", axis,
                           fmt::format("each step needs the {} along all of it from the step before",
                                       name(body_.node(id).reducer)),
                           "cut an axis that no step reduces over");
        }
        if (axis.ordered) return std::nullopt;  // then what reads a state reads a tensor
        for (const Access& access : accesses_.accesses()) {
            for (size_t d = 0; is_state(access) && d < access.coordinates.size(); ++d)
                if (auto refusal = refusal_by_read(axis, access, d)) return refusal;
        }
        return std::nullopt;
    }

    bool is_state(const Access& access) const { return access.local >= 0 && body_.local(access.local).is_state(); }

    // A part of an axis may read its part of a state only, and this part may need no other.
    std::optional<Diagnostic> refusal_by_read(const Axis& axis, const Access& access, size_t d) const {
        std::vector<VariableId> used = variables_of(body_, access.coordinates[d]);
        bool along = std::ranges::any_of(used, [&](VariableId id) { return axis.contains(id); });
        VariableId own = own_axis(access, d);
        if (body_.variable(own).kind == Variable::Kind::ordered) {
            if (!along || !accesses_.range(access, d).affine) return std::nullopt;  // which step: data decide
            return refused("sharding.ordered_axis", axis,
                           fmt::format("the state {}, and along {} each step needs the one before it",
                                       read_text(access), body_.variable(own).name),
                           "");
        }
        if (axis.contains(own) ? axis.contains(reader(access, d)) : !along) return std::nullopt;
        const Access* whole = &access;  // best of all one that takes many elements
        for (const Access& other : accesses_.accesses()) {
            if (other.local != access.local || other.before > access.before + d) continue;
            VariableId by = reader(other, access.before + d - other.before);
            if (by == own || axis.contains(by)) continue;
            whole = &other;
            if (by < 0 || body_.variable(by).kind == Variable::Kind::reduction) break;
        }
        const Local& state = body_.local(access.local);
        return refused("sharding.state", axis,
                       fmt::format("parts of it need all of the state '{}', which {}", state.name, read_text(*whole)),
                       "cut another axis, as one of the index");
    }

    // "is read at h[t - 1, @batch, k]"
    std::string read_text(const Access& access) const {
        const Local& state = body_.local(access.local);
        std::vector<std::string> list;
        if (access.before > 0) list.push_back(body_.variable(state.variables[0]).name + " - 1");
        for (size_t d = 0; d < access.coordinates.size(); ++d) {
            const auto& form = accesses_.range(access, d).affine;
            // A state's first dimension counts from the initial value.
            int64_t constant = form ? form->constant.value() - (access.before + d == 0 ? 1 : 0) : 0;
            list.push_back(form ? form_text(form->terms, constant) : "...");
        }
        return fmt::format("is read at {}[{}]", state.name, fmt::join(list, ", "));
    }

    template <typename Terms>
    std::string form_text(const Terms& terms, int64_t constant) const {
        std::string text;
        for (const auto& [variable, factor] : terms) {
            const Variable& of = body_.variable(variable);
            std::string sign = factor < 0 ? (text.empty() ? "-" : " - ") : (text.empty() ? "" : " + ");
            std::string times = std::abs(factor) == 1 ? "" : fmt::format("{} * ", std::abs(factor));
            text += sign + times + (of.kind == Variable::Kind::index ? "@" : "") + of.name;
        }
        if (text.empty()) return std::to_string(constant);
        return constant == 0 ? text : fmt::format("{} {} {}", text, constant < 0 ? "-" : "+", std::abs(constant));
    }

    // A step's reduction that the next step's needs.
    bool needs_itself(NodeId id) const { return used_by(body_, sources_of(body_, id))[static_cast<size_t>(id)]; }

    bool is_inner_digit(const AffineForm& form, const Axis& axis) const {
        int64_t own = 0, greatest = 0;
        for (const auto& [variable, coefficient] : form.terms) {
            if (body_.variable(variable).extent.value() <= 1) continue;
            if (axis.contains(variable)) own = std::abs(coefficient);
            greatest = std::max(greatest, std::abs(coefficient));
        }
        return own != 0 && own < greatest;
    }

    Diagnostic refused(const char* code, const Axis& axis, std::string reason, std::string remedy) const {
        return {.code = code,
                .summary = fmt::format("axis '{}' of '{}' cannot be cut", axis.name, operation_.name),
                .reason = std::move(reason),
                .remedy = std::move(remedy),
                .params = {{"operation", operation_.name}, {"axis", axis.name}}};
    }

    const Graph& graph_;
    const Operation& operation_;
    const Body& body_;
    BodyAccesses accesses_;
    FreeVariables free_;
    std::vector<std::optional<AffineForm>> forms_;
    std::vector<NodeId> reductions_;
    std::vector<Corner> extents_;
    mutable std::unique_ptr<const ConditionedBody> conditioned_;  // once it is asked for
    std::map<VariableId, std::set<VariableId>> local_readers_;  // of locals' axes that are read in no other way
};

// Without a body the declared projections are all that is known.
std::vector<Axis> declared_axes(const Operation& operation) {
    std::vector<Axis> axes;
    for (const IndexAxis& from : operation.index) {
        if (from.extends()) continue;
        Axis axis;
        axis.name = from.name;
        axis.extent = from.extent;
        axis.column = static_cast<int32_t>(axes.size());
        axis.passed = true;
        auto moved = [&](const std::vector<IndexProjection>& projections) {
            std::vector<std::vector<Movement>> list;
            for (const IndexProjection& projection : projections) {
                auto& movements = list.emplace_back();
                for (size_t d = 0; d < projection.shape.size(); ++d) {
                    int64_t step = projection.projection[d][axes.size()];
                    if (step != 0) movements.push_back({static_cast<int32_t>(d), step, projection.shape[d]});
                }
            }
            return list;
        };
        axis.inputs = moved(operation.input_projections);
        axis.outputs = moved(operation.output_projections);
        axes.push_back(std::move(axis));
    }
    for (size_t fold = 0; fold < operation.folds.size(); ++fold) {
        const Fold& of = operation.folds[fold];
        Axis axis{.name = of.axis,
                  .extent = of.extent,
                  .variables = {},
                  .reductions = {},
                  .inputs = {},
                  .outputs = {},
                  .fold = fold,
                  .refusal = {}};
        axis.inputs.resize(operation.inputs.size());
        axis.outputs.resize(operation.outputs.size());
        for (auto [input, dimension] : of.dimensions)
            axis.inputs[static_cast<size_t>(input)].push_back({dimension, 1, 1});
        axes.push_back(std::move(axis));
    }
    return axes;
}

}  // namespace

bool Axis::contains(VariableId id) const { return std::ranges::find(variables, id) != variables.end(); }

std::vector<NodeId> reductions_of(const Body& body) {
    NodeList values;
    for (const BodyEquation& equation : body.equations) values.push_back(equation.value);
    const auto used = used_by(body, std::move(values));
    std::vector<NodeId> result;
    for (size_t id = 0; id < used.size(); ++id)
        if (used[id] && body.nodes[id].kind == Node::Kind::reduce) result.push_back(NodeId(id));
    return result;
}

std::vector<Axis> axes_of(const Graph& graph, const Operation& operation) {
    return operation.body ? AxisFinder(graph, operation).run() : declared_axes(operation);
}

}  // namespace heddle::sharding
