#include "cli/target_places.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/support.h"
#include "placing/places.h"
#include "target/hosts.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t printed_places = 16, printed_links = 32, listed_places = 4096;

std::string place_text(const placing::Places& places, size_t number, size_t width) {
    const placing::Place place = places.at(number);
    std::string text = fmt::format("{:>5}  {:{}}  {}", number, place.name, width, short_text(*place.target));
    if (place.target->host) text += ", host " + short_text(*place.target->host);
    if (place.memory_bytes > 0) text += fmt::format(", {:.4g} GB", static_cast<double>(place.memory_bytes) / 1e9);
    return text;
}

void print_links(const placing::Places& places) {
    fmt::print("links, in all {} pairs\n", places.size() * (places.size() - 1));
    const auto classes = places.link_classes();
    for (const auto& each : std::span(classes).first(std::min(classes.size(), printed_links))) {
        auto way = places.way(each.from, each.to);
        if (!each.link.is_said) way = {places.at(each.from).name, places.at(each.to).name};
        fmt::print("{:>10.4g} GB/s {:>8.4g} us  {:>10} pairs, as {}{}\n", each.link.bandwidth / 1e9,
                   each.link.latency * 1e6, each.pairs, fmt::join(way, " -> "),
                   each.link.is_said ? "" : ": assumed, the target says no way");
    }
    if (classes.size() > printed_links)
        fmt::print("  and {} more with other figures (--format json)\n", classes.size() - printed_links);
}

void print_places(const placing::Places& places) {
    fmt::print("{} place{}\n", places.size(), places.size() == 1 ? "" : "s");
    const size_t shown = std::min(places.size(), printed_places);
    size_t width = 0;
    for (size_t p = 0; p < shown; p++) width = std::max(width, places.at(p).name.size());
    for (size_t p = 0; p < shown; p++) fmt::print("{}\n", place_text(places, p, width));
    if (shown < places.size())
        fmt::print("  and {} more, to {} {}\n", places.size() - shown, places.size() - 1,
                   places.at(places.size() - 1).name);
    if (places.size() > 1) print_links(places);
}

Json places_json(const placing::Places& places) {
    Json json = {
        {"size", places.size()}, {"groups", Json::array()}, {"places", Json::array()}, {"links", Json::array()}};
    for (const placing::PlaceGroup& group : places.groups()) {
        Json entry = {{"device", group.device}, {"machines", group.machines}, {"memory_bytes", group.memory_bytes}};
        if (!group.entry.empty()) entry["machine"] = group.entry;
        entry["target"] = Json::parse(print(*group.target, TargetText::expanded));
        json["groups"].push_back(std::move(entry));
    }
    for (size_t p = 0; p < std::min(places.size(), listed_places); p++) json["places"].push_back(places.at(p).name);
    for (const auto& each : places.link_classes()) {
        json["links"].push_back({{"from", places.at(each.from).name},
                                 {"to", places.at(each.to).name},
                                 {"pairs", each.pairs},
                                 {"bandwidth", each.link.bandwidth},
                                 {"latency", each.link.latency},
                                 {"assumed", !each.link.is_said},
                                 {"way", places.way(each.from, each.to)}});
    }
    return json;
}

}  // namespace

int show_places(const Target& target, const TargetsOptions& options) {
    const auto places = placing::places_of(target, options.place_kind);
    if (!places) return report(places.error(), options.common);
    if (options.common.json)
        fmt::print("{}\n", places_json(*places).dump(2));
    else
        print_places(*places);
    return 0;
}

}  // namespace heddle::cli
