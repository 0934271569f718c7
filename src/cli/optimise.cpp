// heddle optimise: the Pareto front of the ways to cut a program over machines.
#include <algorithm>
#include <array>
#include <chrono>
#include <charconv>
#include <nlohmann/json.hpp>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/front_picture.h"
#include "cli/gradient_source.h"
#include "cli/interrupt.h"
#include "cli/machines.h"
#include "cli/optimise.h"
#include "cli/progress_line.h"
#include "cli/support.h"
#include "pictures/draw_parts.h"
#include "support/file.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;
using placing::FrontPoint;

// ---- limits

constexpr std::array limited = {"seconds", "bytes", "memory", "places", "launches"};

struct Limit {
    size_t of = 0;  // of `limited`
    double most = 0;
};

double figure(const FrontPoint& point, size_t of) {
    const std::array figures = {point.costs.seconds(), static_cast<double>(point.costs.bytes),
                                static_cast<double>(point.costs.peak_bytes), static_cast<double>(point.places()),
                                static_cast<double>(point.costs.launches)};
    return figures[of];
}

Result<std::vector<Limit>> read_limits(const std::string& text) {
    std::vector<Limit> limits;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find(',', begin), text.size());
        const std::string part = text.substr(begin, end - begin);
        const size_t equals = std::min(part.find('='), part.size());
        const auto name = std::ranges::find(limited, part.substr(0, equals));
        Limit limit{static_cast<size_t>(name - limited.begin())};
        const char* const from = part.data() + std::min(equals + 1, part.size());
        const auto [rest, error] = std::from_chars(from, part.data() + part.size(), limit.most);
        if (name == limited.end() || error != std::errc() || rest != part.data() + part.size() || !(limit.most >= 0)) {
            return fail({.code = "cli.limit",
                         .summary = fmt::format("'{}' is no limit", part),
                         .expected = fmt::format("NAME=NUMBER, where NAME is one of {}", fmt::join(limited, ", ")),
                         .params = {{"text", part}}});
        }
        limits.push_back(limit);
        begin = end + 1;
    }
    return limits;
}

bool is_within(const FrontPoint& point, const std::vector<Limit>& limits) {
    return std::ranges::all_of(limits, [&](const Limit& limit) { return figure(point, limit.of) <= limit.most; });
}

Diagnostic nothing_within(const std::vector<FrontPoint>& front, const std::vector<Limit>& limits) {
    std::vector<std::string> asked, least;
    for (const Limit& limit : limits) {
        const auto& point =
            *std::ranges::min_element(front, {}, [&](const FrontPoint& p) { return figure(p, limit.of); });
        asked.push_back(fmt::format("{}={:.6g}", limited[limit.of], limit.most));
        least.push_back(fmt::format("{} from {:.6g}", limited[limit.of], figure(point, limit.of)));
    }
    return {.code = "cli.limit_unmet",
            .summary = "no way was found that stays within the limits",
            .expected = fmt::format("{}", fmt::join(asked, ", ")),
            .found = fmt::format("{}", fmt::join(least, ", ")),
            .remedy = "raise a limit, or give more machines"};
}

// ---- programs

// As it is; with rules also as they make it: what costs less is kept.
Result<std::vector<Source>> load_all(const OptimiseOptions& options) {
    const auto library = open_libraries(options.common);
    if (!library) return fail(library.error());
    std::vector<Source> sources;
    std::vector<std::vector<std::string>> rules = {{}};
    if (!options.rules.empty()) rules.push_back(options.rules);
    for (const auto& own : rules) {
        auto source = load_program(options, *library, options.bindings, own);
        if (!source) return fail(std::move(source.error()));
        source->graph = prune(source->graph);
        if (sources.empty() || !source->rewrites.empty()) sources.push_back(std::move(*source));
    }
    return sources;
}

// ---- the search

struct Found {
    std::vector<FrontPoint> front;
    bool interrupted = false;
    double seconds = 0;
};

Result<Found> search(const std::vector<Source>& sources, const placing::Machines& machines,
                     const OptimiseOptions& options) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    Interruptible interruptible;
    const int cores = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 64u));
    ThreadPool pool(options.threads > 0 ? options.threads : cores);
    StatusLine line(::fileno(stderr), std::chrono::milliseconds(::isatty(::fileno(stderr)) ? 300 : 1 << 30));
    double best = -1;
    placing::FrontOptions how{.seed = static_cast<uint64_t>(options.seed), .pool = &pool};
    how.effort.stop = [&] { return interruptible.was_interrupted() || (options.time > 0 && seconds() > options.time); };
    how.found = [&](const FrontPoint& point, size_t done, size_t total) {
        best = best < 0 ? point.costs.seconds() : std::min(best, point.costs.seconds());
        line.show([&](double taken) {
            return fmt::format("searching: {} of {}, best so far {:.4g} ms ({:.1f} s)", done, total, 1e3 * best, taken);
        });
    };
    std::vector<FrontPoint> all;
    for (size_t s = 0; s < sources.size(); s++) {
        auto points = placing::search_front(sources[s].graph, machines, {sharding::PlaceId(0)}, how);
        if (!points) return fail(std::move(points.error()));
        for (FrontPoint& point : *points) {
            point.program = static_cast<int32_t>(s);
            all.push_back(std::move(point));
        }
    }
    return Found{placing::front_of(std::move(all)), interruptible.was_interrupted(), seconds()};
}

// ---- what is printed

void print_table(const Found& found, const std::vector<Source>& sources) {
    fmt::print("{:>8}  {:>10}  {:>10}  {:>10}  {:>10}  {:>12}  {:>10}  {}\n", "mesh", "time ms", "compute ms",
               "messages ms", "sent", "memory/place", "operations", "cut along");
    for (const FrontPoint& point : found.front) {
        fmt::print("{:>8}  {:>10.4g}  {:>10.4g}  {:>11.4g}  {:>10}  {:>12}  {:>10}  {}{}\n", mesh_text(point.mesh),
                   1e3 * point.costs.seconds(), 1e3 * point.costs.compute_seconds, 1e3 * point.costs.send_seconds,
                   pictures::bytes_text(point.costs.bytes), pictures::bytes_text(point.costs.peak_bytes),
                   point.costs.launches, cuts_text(point.axes), point.program > 0 ? "; rewritten" : "");
    }
    const bool least = std::ranges::any_of(found.front, &FrontPoint::is_least);
    fmt::print("{} way{} of {} operations, in {:.2f} s{}{}\n", found.front.size(), found.front.size() == 1 ? "" : "s",
               sources.front().graph.operations.size(), found.seconds,
               found.interrupted ? "; interrupted: the best so far" : "",
               least && found.front.front().is_least ? "; none is faster over the mesh of the first" : "");
}

Json json_of(const FrontPoint& point, const Source& source) {
    Json json = {{"mesh", point.mesh},
                 {"places", point.places()},
                 {"seconds", point.costs.seconds()},
                 {"compute_seconds", point.costs.compute_seconds},
                 {"message_seconds", point.costs.send_seconds},
                 {"bytes", point.costs.bytes},
                 {"memory", point.costs.peak_bytes},
                 {"launches", point.costs.launches},
                 {"fastest_of_mesh", point.is_least},
                 {"rewritten", point.program > 0},
                 {"cuts", Json::object()}};
    for (size_t o = 0; o < point.axes.size(); o++) {
        Json axes = Json::array();
        for (const std::string& axis : point.axes[o]) axes.push_back(axis.empty() ? Json(nullptr) : Json(axis));
        json["cuts"][source.graph.operations[o].name] = std::move(axes);
    }
    return json;
}

Result<int> optimise(const OptimiseOptions& options) {
    const auto limits = read_limits(options.limit);
    if (!limits) return fail(limits.error());
    const auto machines = open_machines(options.machines);
    if (!machines) return fail(machines.error());
    const auto sources = load_all(options);
    if (!sources) return fail(sources.error());
    auto found = search(*sources, *machines, options);
    if (!found) return fail(std::move(found.error()));
    std::vector<FrontPoint> within = found->front;
    std::erase_if(within, [&](const FrontPoint& point) { return !is_within(point, *limits); });
    if (within.empty()) return fail(nothing_within(found->front, *limits));
    found->front = std::move(within);
    const FrontPoint& fastest = found->front.front();
    const Source& source = (*sources)[static_cast<size_t>(fastest.program)];
    if (!options.svg.empty()) {
        if (auto written = write_file(options.svg, draw_front(found->front)); !written)
            return fail(std::move(written.error()));
    }
    if (!options.output.empty()) {
        const std::string text = placing::print_cuts(source.graph, fastest.mesh, fastest.axes,
                                                     fastest.program > 0 ? options.rules : std::vector<std::string>());
        if (auto written = write_file(options.output, text); !written) return fail(std::move(written.error()));
    }
    if (options.common.json) {
        Json json = {{"seed", options.seed},
                     {"interrupted", found->interrupted},
                     {"search_seconds", found->seconds},
                     {"front", Json::array()}};
        for (const FrontPoint& point : found->front)
            json["front"].push_back(json_of(point, (*sources)[static_cast<size_t>(point.program)]));
        fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
    } else {
        if (sources->size() > 1) print_rewrites((*sources)[1].rewrites);
        if (sources->size() == 1 && !options.rules.empty()) fmt::print("no rule fits anywhere\n");
        print_table(*found, *sources);
        if (!options.output.empty())
            fmt::print("the fastest -> {}{}\n", options.output,
                       fastest.program > 0 ? ", of the rewritten program" : "");
    }
    return found->interrupted ? interrupted_status : 0;
}

}  // namespace

Result<Source> load_program(const OptimiseOptions& options, const Library& library,
                            const std::vector<std::string>& bindings, const std::vector<std::string>& rules) {
    auto given = read_inputs(options.inputs);
    if (!given) return fail(std::move(given.error()));
    if (!options.loss.empty()) {
        const GradientOptions gradient{.wrt = options.wrt, .loss = options.loss, .input_types = options.input_types};
        return load_gradient({options.model, options.call, bindings, rules}, gradient, library, *given);
    }
    if (options.call.empty()) return load_model(options.model, library, *given, bindings, rules);
    std::map<std::string, int64_t> dimensions;
    auto inputs = read_call_inputs(options.input_types, bindings, *given, dimensions);
    if (!inputs) return fail(told_of_inputs(std::move(inputs.error())));
    return load_call(options.call, library, *inputs, rules);
}

int optimise_program(const OptimiseOptions& options) {
    auto done = options.simulate.empty() ? optimise(options) : simulate_scale(options);
    return done ? *done : report(done.error(), options.common);
}

}  // namespace heddle::cli
