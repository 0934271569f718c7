#include "placement/choose_cuts.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::placement {
namespace {

Diagnostic wrong_text(const std::string& text) {
    return {.code = "placement.cut_syntax",
            .summary = fmt::format("'{}' says no cut", text),
            .expected = "AXIS=PARTS or OPERATION.AXIS=PARTS, with a comma between dimensions of the mesh",
            .params = {{"text", text}}};
}

bool parse_count(const char* begin, const char* end, int64_t& count) {
    const auto [rest, error] = std::from_chars(begin, end, count);
    return error == std::errc() && rest == end && count >= 1;
}

// A number alone: any axis.
Result<std::optional<SaidCut>> parse_cut(const std::string& text, int64_t& parts) {
    const char* const end = text.data() + text.size();
    if (parse_count(text.data(), end, parts)) return std::nullopt;
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) return fail(wrong_text(text));
    SaidCut cut;
    if (!parse_count(text.data() + equals + 1, end, parts)) return fail(wrong_text(text));
    const std::string name = text.substr(0, equals);
    const size_t dot = name.rfind('.');
    cut.operation = dot == std::string::npos ? "" : name.substr(0, dot);
    cut.axis = dot == std::string::npos ? name : name.substr(dot + 1);
    if (cut.axis.empty()) return fail(wrong_text(text));
    return cut;
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

class Chooser {
public:
    Chooser(const Graph& graph, const SaidCuts& said, const System& system)
        : graph_(graph), said_(said), system_(system), traffic_(graph, system.devices.size()) {
        made_.mesh = said.mesh;
        made_.out.assign(system.devices.size(), 0);
        made_.in.assign(system.devices.size(), 0);
        for (const Link& link : system.links) {
            bandwidth_ = bandwidth_ > 0 ? std::min(bandwidth_, link.bandwidth) : link.bandwidth;
            latency_ = std::max(latency_, link.latency);
        }
    }

    Result<Cutting> choose(const std::vector<sharding::PlaceId>& readers) {
        for (size_t o = 0; o < graph_.operations.size(); o++) {
            if (auto done = choose_for(OperationId(o)); !done) return fail(std::move(done.error()));
        }
        if (auto used = check_used(); !used) return fail(std::move(used.error()));
        for (sharding::PlaceId reader : readers)
            for (TensorId output : graph_.outputs) count(traffic_.gather(output, reader));
        return std::move(made_);
    }

private:
    struct Candidate {
        AxesOfMesh axes;
        sharding::Cut cut;
        CutCost cost;
    };

    // For each dimension of the mesh the axes to choose among.
    Result<std::vector<std::vector<int32_t>>> choices(const Operation& operation,
                                                      const std::vector<sharding::Axis>& axes) {
        std::vector<std::vector<int32_t>> list(said_.mesh.size());
        for (size_t d = 0; d < said_.mesh.size(); d++) {
            for (const SaidCut& cut : said_.cuts) {
                if (cut.dimension != d) continue;
                if (!cut.operation.empty() && cut.operation != operation.name) continue;
                if (cut.axis.empty()) {
                    used_.insert(&cut);
                    list[d] = {-1};
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
            for (size_t axis = 0; axis < axes.size(); axis++) {
                if (!axes[axis].refusal && axes[axis].extent.value() > 1) list[d].push_back(static_cast<int32_t>(axis));
            }
        }
        return list;
    }

    static std::vector<AxesOfMesh> combinations(const std::vector<std::vector<int32_t>>& choices) {
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

    Result<void> choose_for(OperationId id) {
        const Operation& operation = graph_.operation(id);
        const auto axes = sharding::axes_of(graph_, operation);
        auto lists = choices(operation, axes);
        if (!lists) return fail(std::move(lists.error()));
        std::optional<Candidate> best;
        double least = std::numeric_limits<double>::infinity();
        Diagnostics problems;
        for (const AxesOfMesh& mesh_axes : combinations(*lists)) {
            auto candidate = candidate_of(id, axes, mesh_axes);
            if (!candidate) {
                problems = std::move(candidate.error());
                continue;
            }
            Traffic trial = traffic_;
            const double time = std::ranges::max(candidate->cost.seconds) +
                                seconds(trial.apply(candidate->cost), bandwidth_, latency_);
            if (time >= least) continue;
            least = time;
            best = std::move(*candidate);
        }
        if (!best) return fail(std::move(problems));
        made_.compute_seconds += std::ranges::max(best->cost.seconds);
        count(traffic_.apply(best->cost));
        auto& names = made_.axes.emplace_back();
        for (int32_t axis : best->axes) names.push_back(axis < 0 ? "" : axes[static_cast<size_t>(axis)].name);
        made_.cuts.push_back(std::move(best->cut));
        return {};
    }

    Result<Candidate> candidate_of(OperationId id, const std::vector<sharding::Axis>& axes, const AxesOfMesh& mesh_axes) {
        auto cut = cut_by(graph_.operation(id), axes, said_.mesh, mesh_axes);
        if (!cut) return fail(std::move(cut.error()));
        cut->round_bytes = latency_ * bandwidth_;
        auto cost = cost_of_cut(graph_, id, *cut, system_);
        if (!cost) return fail(std::move(cost.error()));
        return Candidate{mesh_axes, std::move(*cut), std::move(*cost)};
    }

    void count(const Traffic::Sent& sent) {
        made_.send_seconds += seconds(sent, bandwidth_, latency_);
        made_.bytes += sent.bytes;
        for (size_t p = 0; p < made_.out.size(); p++) {
            made_.out[p] += sent.out[p];
            made_.in[p] += sent.in[p];
        }
    }

    Result<void> check_used() const {
        Diagnostics problems;
        for (const SaidCut& cut : said_.cuts) {
            if (used_.contains(&cut)) continue;
            std::set<std::string> names;
            for (const Operation& operation : graph_.operations)
                for (const sharding::Axis& axis : sharding::axes_of(graph_, operation))
                    if (cut.operation.empty() || cut.operation == operation.name) {
                        names.insert(axis.name);
                        if (axis.extent.named()) names.insert(axis.extent.text());
                    }
            problems.push_back({.code = "placement.cut_name",
                                .summary = cut.operation.empty()
                                               ? fmt::format("no operation has an axis '{}'", cut.axis)
                                               : fmt::format("there is no axis '{}' of an operation '{}'", cut.axis,
                                                             cut.operation),
                                .expected = names.empty() ? "" : fmt::format("one of {}", fmt::join(names, ", ")),
                                .params = {{"axis", cut.axis}}});
        }
        if (!problems.empty()) return fail(std::move(problems));
        return {};
    }

    const Graph& graph_;
    const SaidCuts& said_;
    const System& system_;
    Traffic traffic_;
    double bandwidth_ = 0, latency_ = 0;
    Cutting made_;
    std::set<const SaidCut*> used_;
};

}  // namespace

Result<SaidCuts> parse_cuts(const std::vector<std::string>& texts) {
    SaidCuts said;
    for (const std::string& text : texts) {
        Mesh mesh;
        for (size_t begin = 0; begin <= text.size();) {
            const size_t end = std::min(text.find(',', begin), text.size());
            auto cut = parse_cut(text.substr(begin, end - begin), mesh.emplace_back());
            if (!cut) return fail(std::move(cut.error()));
            if (*cut) {
                (*cut)->dimension = mesh.size() - 1;
                said.cuts.push_back(std::move(**cut));
            }
            begin = end + 1;
        }
        if (said.mesh.empty()) said.mesh = mesh;
        if (said.mesh == mesh) continue;
        return fail({.code = "placement.cut_mesh",
                     .summary = fmt::format("'{}' is of another mesh than the cuts before", text),
                     .expected = fmt::format("{} parts", fmt::join(said.mesh, ", ")),
                     .found = fmt::format("{} parts", fmt::join(mesh, ", "))});
    }
    return said;
}

Result<Cutting> choose_cuts(const Graph& graph, const SaidCuts& said, const System& system,
                            const std::vector<sharding::PlaceId>& readers) {
    return Chooser(graph, said, system).choose(readers);
}

}  // namespace heddle::placement
