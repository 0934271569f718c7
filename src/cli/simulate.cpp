// heddle optimise --simulate: what a program costs over many places of a cluster, by the model alone.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/front_picture.h"
#include "cli/machines.h"
#include "cli/optimise.h"
#include "pictures/draw_parts.h"
#include "placing/choose_cuts.h"
#include "placing/parts.h"
#include "placing/scale.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t most_places = 65'536;

Diagnostic wrong(std::string summary, std::string expected, std::string found = {}) {
    return {.code = "cli.simulate",
            .summary = std::move(summary),
            .expected = std::move(expected),
            .found = std::move(found)};
}

Result<std::vector<int64_t>> read_counts(const std::string& text) {
    std::vector<int64_t> counts;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(',', begin), text.size());
        const std::string part = text.substr(begin, end - begin);
        const auto count = number_in(part);
        if (!count || *count < 1 || *count > most_places)
            return fail(wrong(fmt::format("'{}' is no number of places", part),
                              fmt::format("numbers from 1 to {} with commas between, as 8,64,512", most_places)));
        counts.push_back(*count);
        begin = end + 1;
    }
    return counts;
}

// "batch=32"
struct Grown {
    std::string dimension;
    int64_t each = 1;
};

Result<Grown> read_grown(const std::string& text) {
    const size_t equals = text.find('=');
    const auto each = equals == std::string::npos ? std::nullopt : number_in(text.substr(equals + 1));
    if (!each || *each < 1 || equals == 0 || *each > (int64_t{1} << 30))
        return fail(wrong(fmt::format("'{}' does not say how a dimension grows", text), "NAME=NUMBER, as batch=32"));
    return Grown{text.substr(0, equals), *each};
}

// Of the first places: the slowest links within machines and between them. Those of a machine look alike from each other one, so
// the first and the last ones show all. Where machines have different numbers of places, one link stands for all.
placing::MachineLinks links_of(const placing::Places& places, int64_t count) {
    std::map<int64_t, std::string> machines;
    for (int64_t p = 0; p < count; p++)
        if (p < 32 || p >= count - 32) machines.emplace(p, places.at(static_cast<size_t>(p)).machine);
    placing::MachineLinks links;
    while (links.places < count && machines.contains(links.places) && machines.at(links.places) == machines.at(0))
        links.places++;
    const bool alike = std::ranges::all_of(machines, [&](const auto& place) {
        const auto first = machines.find(place.first - place.first % links.places);
        return first == machines.end() || first->second == place.second;
    });
    const auto slow = [](placing::LinkFigures& figures, const placing::PlaceLink& link) {
        figures.bandwidth = figures.bandwidth > 0 ? std::min(figures.bandwidth, link.bandwidth) : link.bandwidth;
        figures.latency = std::max(figures.latency, link.latency);
    };
    for (const auto& [from, own] : machines)
        for (const auto& [to, other] : machines)
            if (from != to)
                slow(own == other ? links.within : links.across,
                     places.link(static_cast<size_t>(from), static_cast<size_t>(to)));
    if (links.places == count) links.across = links.within;
    if (!alike) links.across = links.slowest();
    if (links.places == count || !alike) links.places = 1;
    return links;
}

struct Point {
    int64_t places = 1;
    placing::Mesh mesh;
    placing::MachineLinks links;
    placing::ScaleCosts costs;
    double efficiency = 1;
};

class Simulation {
public:
    Simulation(const OptimiseOptions& options, const placing::Places& places, const Library& library)
        : options_(options), places_(places), library_(library) {}

    Result<std::vector<Point>> run(const std::vector<int64_t>& counts) {
        if (!options_.grow.empty()) {
            auto grown = read_grown(options_.grow);
            if (!grown) return fail(std::move(grown.error()));
            grown_ = std::move(*grown);
        }
        if (auto read = read_said(); !read) return fail(std::move(read.error()));
        for (const int64_t count : counts) {
            if (static_cast<size_t>(count) > places_.size())
                return fail(wrong(fmt::format("the machines have fewer than {} places", count),
                                  fmt::format("at most {}", places_.size()), std::to_string(count)));
            if (count > 1 && count % rest() != 0)
                return fail(
                    wrong(fmt::format("{} places are no mesh of {} in other dimensions than the first", count, rest()),
                          fmt::format("a multiple of {}", rest()), std::to_string(count)));
        }
        if (auto chosen = choose(std::ranges::max(counts)); !chosen) return fail(std::move(chosen.error()));
        const auto one = point(1);
        if (!one) return fail(one.error());
        std::vector<Point> points;
        for (const int64_t count : counts) {
            auto made = point(count);
            if (!made) return fail(std::move(made.error()));
            const double share = grown_ ? 1 : static_cast<double>(count);
            const double seconds = share * made->costs.seconds();
            if (seconds > 0) made->efficiency = one->costs.seconds() / seconds;  // of nothing to do nothing is lost
            points.push_back(std::move(*made));
        }
        return points;
    }

    const std::vector<std::vector<std::string>>& axes() const { return axes_; }

private:
    // Of all dimensions but the first, which takes what places there are.
    int64_t rest() const {
        int64_t rest = 1;
        for (size_t d = 1; d < said_.mesh.size(); d++) rest *= said_.mesh[d];
        return rest;
    }

    Result<void> read_said() {
        said_ = {{1}, {}};
        if (options_.shards.empty()) return {};
        auto said = placing::parse_cuts(options_.shards);
        if (!said) return fail(std::move(said.error()));
        const bool staged = std::ranges::count(said->stages, true) > 0 ||
                            std::ranges::any_of(said->cuts, [](const auto& cut) { return cut.axis.starts_with("@"); });
        if (staged || !said->turns.empty())
            return fail(wrong("stages of a pipeline and turns are not simulated", "axes that are cut, as batch=2"));
        said_ = std::move(*said);
        return {};
    }

    Result<Source> load(int64_t count) const {
        std::vector<std::string> bindings = options_.bindings, rules = options_.rules;
        if (grown_) bindings.push_back(fmt::format("{}={}", grown_->dimension, grown_->each * count));
        if (rules.empty()) rules = said_.rules;
        return load_program(options_, library_, bindings, rules);
    }

    // What is not said is chosen on a mesh of few places, over the links of as many as there will be.
    Result<void> choose(int64_t most) {
        const int64_t first = std::min<int64_t>(std::max<int64_t>(most / rest(), 1), rest() == 1 ? 4 : 2),
                      few = first * rest();
        if (few > most_machines)
            return fail(wrong("the mesh is too large but for its first dimension",
                              fmt::format("at most {} places there", most_machines / 2), std::to_string(rest())));
        if (most == 1) return {};
        auto source = load(few);
        if (!source) return fail(std::move(source.error()));
        placing::SaidCuts said = said_;
        said.mesh[0] = first;
        placing::System system = placing::system_of_processes(places_, static_cast<size_t>(few));
        // Its places stand as far from one another as those of the largest mesh that they are in place of.
        const auto stands_for = [&](placing::MemoryId memory) {
            const auto place = system.memory(memory).process;
            return static_cast<size_t>(place / rest() * std::max<int64_t>(most / few, 1) * rest() + place % rest());
        };
        for (placing::Link& link : system.links) {
            const placing::PlaceLink real = places_.link(stands_for(link.from), stands_for(link.to));
            link.bandwidth = real.bandwidth, link.latency = real.latency;
        }
        auto cutting = placing::choose_cuts(source->graph, said, system, {sharding::PlaceId(0)});
        if (!cutting) return fail(std::move(cutting.error()));
        axes_ = std::move(cutting->axes);
        return {};
    }

    Result<Point> point(int64_t count) const {
        auto source = load(count);
        if (!source) return fail(std::move(source.error()));
        const Graph& graph = source->graph;
        const auto kinds = placing::kinds_of(graph, *places_.at(0).target);
        Point point{.places = count, .mesh = said_.mesh, .links = links_of(places_, count), .costs = {}};
        if (count == 1)
            std::ranges::fill(point.mesh, 1);
        else
            point.mesh[0] = count / rest();
        if (count > 1 && axes_.size() != graph.operations.size())
            return fail(wrong("the program has other operations when it grows", std::to_string(axes_.size()),
                              std::to_string(graph.operations.size())));
        std::vector<placing::AxesOfMesh> cuts;
        for (size_t o = 0; o < graph.operations.size(); o++) {
            auto& own = cuts.emplace_back(point.mesh.size(), -1);
            const auto& axes = kinds.kind(OperationId(o)).axes;
            for (size_t d = 0; d < own.size() && count > 1; d++) {
                const auto axis = std::ranges::find(axes, axes_[o][d], &sharding::Axis::name);
                if (axis != axes.end()) own[d] = static_cast<int32_t>(axis - axes.begin());
            }
        }
        auto costs = placing::costs_at_scale(graph, kinds, point.mesh, cuts, *places_.at(0).target, point.links);
        if (!costs) return fail(std::move(costs.error()));
        point.costs = *costs;
        return point;
    }

    const OptimiseOptions& options_;
    const placing::Places& places_;
    const Library& library_;
    std::optional<Grown> grown_;
    placing::SaidCuts said_;
    std::vector<std::vector<std::string>> axes_;
};

void print_table(const std::vector<Point>& points) {
    fmt::print("{:>7}  {:>8}  {:>10}  {:>10}  {:>11}  {:>10}  {:>13}  {:>12}  {:>10}  {:>10}\n", "places", "mesh",
               "time ms", "compute ms", "messages ms", "sent", "busiest place", "memory/place", "efficiency",
               "results ms");
    for (const Point& point : points) {
        const auto& costs = point.costs;
        fmt::print("{:>7}  {:>8}  {:>10.4g}  {:>10.4g}  {:>11.4g}  {:>10}  {:>13}  {:>12}  {:>9.1f}%  {:>10.4g}\n",
                   point.places, mesh_text(point.mesh), 1e3 * costs.seconds(), 1e3 * costs.compute_seconds,
                   1e3 * costs.send_seconds, pictures::bytes_text(costs.bytes), pictures::bytes_text(costs.most_bytes),
                   pictures::bytes_text(costs.peak_bytes), 100 * point.efficiency, 1e3 * costs.gather_seconds);
    }
}

Json json_of(const Point& point) {
    const auto& costs = point.costs;
    return {{"places", point.places},
            {"mesh", point.mesh},
            {"seconds", costs.seconds()},
            {"compute_seconds", costs.compute_seconds},
            {"message_seconds", costs.send_seconds},
            {"bytes", costs.bytes},
            {"busiest_bytes", costs.most_bytes},
            {"memory", costs.peak_bytes},
            {"efficiency", point.efficiency},
            {"result_seconds", costs.gather_seconds},
            {"result_bytes", costs.gathered_bytes},
            {"places_of_machine", point.links.places},
            {"bandwidth", point.links.across.bandwidth},
            {"latency", point.links.across.latency},
            {"bandwidth_in_machine", point.links.within.bandwidth},
            {"latency_in_machine", point.links.within.latency}};
}

}  // namespace

Result<int> simulate_scale(const OptimiseOptions& options) {
    const auto counts = read_counts(options.simulate);
    if (!counts) return fail(counts.error());
    if (number_in(options.machines))
        return fail(wrong("places of this machine are no cluster", "--machines with a target: a tag or a file",
                          options.machines));
    const auto places = open_places(options.machines);
    if (!places) return fail(places.error());
    const auto library = open_libraries(options.common);
    if (!library) return fail(library.error());
    Simulation simulation(options, *places, *library);
    const auto points = simulation.run(*counts);
    if (!points) return fail(points.error());
    if (options.common.json) {
        Json json = {{"simulated", true}, {"machines", options.machines}, {"points", Json::array()}};
        for (const Point& point : *points) json["points"].push_back(json_of(point));
        fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
    } else {
        print_table(*points);
        fmt::print("simulated, not measured; operations cut along {}\n", cuts_text(simulation.axes()));
    }
    return 0;
}

}  // namespace heddle::cli
