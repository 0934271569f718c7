#include "placing/cut_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "placing/costs.h"

namespace heddle::placing {
namespace {

// Equal texts: equal bodies on equal types, where equal tensors are equal. An operation without a body is like no other.
std::string kind_text(const Graph& graph, const Operation& operation) {
    if (!operation.body || !operation.folds.empty()) return operation.name;
    const std::vector<TensorId> tensors = tensors_of(operation);
    const auto names = [&](const std::vector<TensorId>& list) {
        std::vector<std::string> texts;
        for (TensorId t : list) texts.push_back(fmt::format("t{}", std::ranges::find(tensors, t) - tensors.begin()));
        return texts;
    };
    std::string text;
    for (TensorId t : tensors) text += graph.tensor(t).type.text() + "; ";
    return text + print(*operation.body, names(operation.inputs), names(operation.outputs));
}

// By its name, or, without one, the first that goes along a dimension of this name and can be cut.
const sharding::Axis* axis_called(const std::vector<sharding::Axis>& axes, const std::string& name) {
    const auto named = std::ranges::find(axes, name, &sharding::Axis::name);
    if (named != axes.end()) return &*named;
    const auto along = std::ranges::find_if(axes, [&](const sharding::Axis& axis) {
        return !axis.refusal && axis.extent.named() && axis.extent.text() == name;
    });
    return along == axes.end() ? nullptr : &*along;
}

// "@2"
std::optional<int32_t> coordinate_in(const std::string& text) {
    int32_t coordinate = 0;
    if (!text.starts_with("@")) return std::nullopt;
    const auto [rest, error] = std::from_chars(text.data() + 1, text.data() + text.size(), coordinate);
    if (error != std::errc() || rest != text.data() + text.size() || coordinate < 0) return std::nullopt;
    return coordinate;
}

std::vector<AxesOfMesh> combinations(const std::vector<std::vector<int32_t>>& choices) {
    std::vector<AxesOfMesh> all(1);
    for (const auto& own : choices) {
        std::vector<AxesOfMesh> longer;
        for (const AxesOfMesh& before : all) {
            for (int32_t axis : own) {
                longer.push_back(before);
                longer.back().push_back(axis);
            }
        }
        all = std::move(longer);
    }
    return all;
}

class TableMaker {
public:
    TableMaker(const Graph& graph, const OperationKinds& kinds, const SaidCuts& said, const System& system)
        : graph_(graph), kinds_(kinds), said_(said), system_(system), links_(link_figures(system)) {
        find_stages();
    }

    Result<CutTable> make(ThreadPool* pool) {
        std::vector<std::vector<AxesOfMesh>> of_operation;
        for (size_t o = 0; o < graph_.operations.size(); o++) {
            auto lists = lists_for(OperationId(o));
            if (!lists) return fail(std::move(lists.error()));
            const auto turns = turns_for(OperationId(o));
            if (!turns) return fail(turns.error());
            turns_.push_back(*turns);
            of_operation.push_back(candidates(OperationId(o), *lists));
            for (const AxesOfMesh& axes : of_operation.back()) want(kinds_.of[o], axes, *turns);
        }
        if (auto used = check_used(); !used) return fail(std::move(used.error()));
        const auto work = [&](int, int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; i++) compute(wanted_[static_cast<size_t>(i)]);
        };
        if (pool)
            pool->run(static_cast<int64_t>(wanted_.size()), 1, work);
        else
            work(0, 0, static_cast<int64_t>(wanted_.size()));
        return table(of_operation);
    }

private:
    using Key = std::tuple<int32_t, AxesOfMesh, int32_t, int64_t>;  // kind, cut, and turns: their axis and count
    struct Wanted {
        int32_t kind;
        AxesOfMesh axes;
        Turns turns;
        Result<CutChoice> made = CutChoice{};
    };

    // Operations in their order, divided where as much is computed before as behind.
    void find_stages() {
        if (std::ranges::count(said_.stages, true) == 0) return;
        std::vector<double> until;
        double all = 0;
        const std::vector<OperationWork> works = work_of(graph_);
        for (size_t o = 0; o < works.size(); o++)
            until.push_back(all += seconds(works[o], *system_.devices[0].target, kinds_.kind(OperationId(o)).in));
        for (size_t d = 0; d < said_.mesh.size(); d++) {
            auto& own = stages_.emplace_back();
            for (double seconds : until) {
                const double share = std::ceil(seconds / all * static_cast<double>(said_.mesh[d])) - 1;
                own.push_back(static_cast<int32_t>(std::clamp(share, 0.0, static_cast<double>(said_.mesh[d] - 1))));
            }
        }
    }

    // None where the operation has not the axis.
    Result<Turns> turns_for(OperationId id) {
        const auto& axes = kinds_.kind(id).axes;
        Turns turns;
        for (const SaidTurns& said : said_.turns) {
            if (!said.operation.empty() && said.operation != graph_.operation(id).name) continue;
            const sharding::Axis* axis = axis_called(axes, said.axis);
            if (!axis) continue;
            turned_.insert(&said);
            if (axis->refusal) return fail(*axis->refusal);
            turns = {static_cast<int32_t>(axis - axes.data()), said.count};
        }
        return turns;
    }

    // For each dimension of the mesh the axes to choose among.
    Result<std::vector<std::vector<int32_t>>> lists_for(OperationId id) {
        const Operation& operation = graph_.operation(id);
        const auto& axes = kinds_.kind(id).axes;
        std::vector<std::vector<int32_t>> list(said_.mesh.size());
        for (size_t d = 0; d < said_.mesh.size(); d++) {
            if (!said_.stages.empty() && said_.stages[d]) list[d] = {only_at(stages_[d][id])};
            for (const SaidCut& cut : said_.cuts) {
                if (cut.dimension != d) continue;
                if (!cut.operation.empty() && cut.operation != operation.name) continue;
                if (cut.axis.empty()) {
                    used_.insert(&cut);
                    list[d] = {-1};
                    continue;
                }
                if (const auto coordinate = coordinate_in(cut.axis); coordinate && *coordinate < said_.mesh[d]) {
                    used_.insert(&cut);
                    list[d] = {only_at(*coordinate)};
                    continue;
                }
                const sharding::Axis* axis = axis_called(axes, cut.axis);
                if (!axis) continue;
                used_.insert(&cut);
                if (axis->refusal && said_.mesh[d] > 1) return fail(*axis->refusal);
                list[d] = {static_cast<int32_t>(axis - axes.data())};
            }
            if (!list[d].empty()) continue;
            list[d].push_back(-1);
            for (size_t axis = 0; axis < axes.size() && said_.mesh[d] > 1; axis++) {
                if (!axes[axis].refusal && !axes[axis].ordered && axes[axis].extent.value() >= said_.mesh[d])
                    list[d].push_back(static_cast<int32_t>(axis));
            }
        }
        return list;
    }

    // An axis over two dimensions of the mesh needs a point for each place of both, unless both are said.
    std::vector<AxesOfMesh> candidates(OperationId id, const std::vector<std::vector<int32_t>>& lists) const {
        std::vector<AxesOfMesh> all = combinations(lists);
        const auto& axes = kinds_.kind(id).axes;
        std::erase_if(all, [&](const AxesOfMesh& cut) {
            std::map<int32_t, int64_t> parts;
            bool chosen = false;
            for (size_t d = 0; d < cut.size(); d++) {
                chosen = chosen || lists[d].size() > 1;
                if (cut[d] >= 0) parts.try_emplace(cut[d], 1).first->second *= said_.mesh[d];
            }
            return chosen && std::ranges::any_of(parts, [&](const auto& part) {
                       return axes[static_cast<size_t>(part.first)].extent.value() < part.second;
                   });
        });
        return all;
    }

    void want(int32_t kind, const AxesOfMesh& axes, const Turns& turns) {
        if (known_.try_emplace({kind, axes, turns.axis, turns.count}, wanted_.size()).second)
            wanted_.push_back({kind, axes, turns});
    }

    void compute(Wanted& wanted) const {
        const OperationKind& kind = kinds_.kinds[static_cast<size_t>(wanted.kind)];
        auto cut = cut_by(graph_.operation(kind.first), kind.axes, said_.mesh, wanted.axes, wanted.turns);
        if (!cut) {
            wanted.made = fail(std::move(cut.error()));
            return;
        }
        cut->round_bytes = links_.latency * links_.bandwidth;
        auto cost = cost_of_cut(graph_, kind.first, *cut, kind.in, system_);
        if (!cost) {
            wanted.made = fail(std::move(cost.error()));
            return;
        }
        CutChoice choice{wanted.axes, std::move(*cut), std::move(*cost)};
        choice.seconds = std::ranges::max(choice.cost.seconds);
        choice.launches = std::ranges::max(choice.cost.launches);
        wanted.made = std::move(choice);
    }

    Result<CutTable> table(const std::vector<std::vector<AxesOfMesh>>& of_operation) {
        CutTable table;
        table.of_kind.resize(kinds_.kinds.size());
        std::map<Key, const CutChoice*> made;
        for (size_t o = 0; o < of_operation.size(); o++) {
            auto& own = table.choices.emplace_back();
            const Diagnostics* problem = nullptr;
            for (const AxesOfMesh& axes : of_operation[o]) {
                const int32_t kind = kinds_.of[o];
                const Key key{kind, axes, turns_[o].axis, turns_[o].count};
                Wanted& wanted = wanted_[known_.at(key)];
                const auto [known, fresh] = made.try_emplace(key, nullptr);
                if (fresh && wanted.made)
                    known->second = &table.of_kind[static_cast<size_t>(kind)].emplace_back(std::move(*wanted.made));
                if (known->second)
                    own.push_back(known->second);
                else
                    problem = &wanted.made.error();
            }
            if (own.empty()) return fail(*problem);
        }
        return table;
    }

    Result<void> check_used() const {
        Diagnostics problems;
        std::set<std::string> told;
        for (const SaidTurns& turns : said_.turns)
            if (!turned_.contains(&turns)) problems.push_back(unused({turns.operation, turns.axis}));
        for (const SaidCut& cut : said_.cuts) {
            if (used_.contains(&cut)) continue;
            Diagnostic problem = unused(cut);
            if (told.insert(problem.summary).second) problems.push_back(std::move(problem));
        }
        if (!problems.empty()) return fail(std::move(problems));
        return {};
    }

    Diagnostic unused(const SaidCut& cut) const {
        std::set<std::string> names;
        bool there = cut.operation.empty();
        for (size_t o = 0; o < graph_.operations.size(); o++) {
            if (!cut.operation.empty() && cut.operation != graph_.operations[o].name) continue;
            there = true;
            for (const sharding::Axis& axis : kinds_.kind(OperationId(o)).axes) {
                names.insert(axis.name);
                if (axis.extent.named()) names.insert(axis.extent.text());
            }
        }
        Diagnostic problem{.code = "placing.cut_name",
                           .summary = cut.operation.empty() ? fmt::format("no operation has an axis '{}'", cut.axis)
                                                            : fmt::format("there is no axis '{}' of an operation '{}'",
                                                                          cut.axis, cut.operation),
                           .expected = names.empty() ? "" : fmt::format("one of {}", fmt::join(names, ", ")),
                           .params = {{"axis", cut.axis}}};
        if (!there) problem.summary = fmt::format("there is no operation '{}' to cut", cut.operation);
        return problem;
    }

    const Graph& graph_;
    const OperationKinds& kinds_;
    const SaidCuts& said_;
    const System& system_;
    LinkFigures links_;
    std::set<const SaidCut*> used_;
    std::vector<Wanted> wanted_;
    std::map<Key, size_t> known_;
    std::vector<std::vector<int32_t>> stages_;  // by dimension and OperationId
    std::vector<Turns> turns_;                  // by OperationId
    std::set<const SaidTurns*> turned_;
};

}  // namespace

OperationKinds kinds_of(const Graph& graph, const Target& target) {
    OperationKinds made;
    const std::vector<InProgram> in = in_program(graph, target);
    std::map<std::string, int32_t> known;
    for (size_t o = 0; o < graph.operations.size(); o++) {
        const auto [found, fresh] = known.try_emplace(in[o].text() + kind_text(graph, graph.operations[o]),
                                                      static_cast<int32_t>(made.kinds.size()));
        if (fresh) made.kinds.push_back({OperationId(o), sharding::axes_of(graph, graph.operations[o]), in[o]});
        made.of.push_back(found->second);
    }
    return made;
}

std::vector<std::string> axis_names(const OperationKind& kind, const CutChoice& choice) {
    std::vector<std::string> names;
    for (int32_t axis : choice.axes) {
        if (axis <= only_at(0))
            names.push_back(fmt::format("@{}", only_at(axis)));
        else
            names.push_back(axis < 0 ? "" : kind.axes[static_cast<size_t>(axis)].name);
    }
    return names;
}

LinkFigures link_figures(const System& system) {
    LinkFigures figures;
    for (const Link& link : system.links) {
        figures.bandwidth = figures.bandwidth > 0 ? std::min(figures.bandwidth, link.bandwidth) : link.bandwidth;
        figures.latency = std::max(figures.latency, link.latency);
    }
    return figures;
}

Result<CutTable> cut_table(const Graph& graph, const OperationKinds& kinds, const SaidCuts& said, const System& system,
                           ThreadPool* pool) {
    return TableMaker(graph, kinds, said, system).make(pool);
}

}  // namespace heddle::placing
