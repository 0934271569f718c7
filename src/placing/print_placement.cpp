#include <algorithm>

#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "placing/placement.h"

namespace heddle::placing {
namespace {

using Json = nlohmann::ordered_json;

std::string time_text(double seconds) {
    const double size = std::abs(seconds);
    if (size >= 1) return fmt::format("{:.3g} s", seconds);
    if (size >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
    return fmt::format("{:.3g} us", seconds * 1e6);
}

// Below what the model can tell apart.
bool is_nothing(double seconds) { return std::abs(seconds) < 1e-12; }

std::string difference(double seconds) {
    if (is_nothing(seconds)) return "as long";
    return fmt::format("{} {}", time_text(std::abs(seconds)), seconds < 0 ? "less" : "more");
}

const char* name(Decision::Rule rule) {
    switch (rule) {
    case Decision::Rule::annotated: return "annotated";
    case Decision::Rule::neighbours: return "neighbours";
    case Decision::Rule::cheapest: return "cheapest";
    }
    return "";
}

std::string reason(const System& system, const Decision& decision) {
    if (decision.rule == Decision::Rule::annotated) return fmt::format("'{}' is annotated", decision.cause);
    if (decision.rule == Decision::Rule::neighbours)
        return fmt::format("all that is annotated around it is here, as '{}'", decision.cause);
    if (decision.next.device == no_id) return "there is no other place";
    if (is_nothing(decision.compute) && is_nothing(decision.copies))
        return fmt::format("on {} it takes as long", system.text(decision.next));
    return fmt::format("{}on {} it takes {} to compute and {} to copy",
                       decision.by_memory ? "elsewhere is no memory left: " : "", system.text(decision.next),
                       difference(decision.compute), difference(decision.copies));
}

std::string route_text(const System& system, const Route& route) {
    std::string text;
    for (MemoryId memory : route.memories) text += (text.empty() ? "" : " -> ") + system.memory(memory).text();
    return text;
}

// Columns as wide as their longest cell; the last one as it is.
std::string table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t c = 0; c < row.size(); c++) widths[c] = std::max(widths[c], row[c].size());
    }
    std::string text;
    for (const auto& row : rows) {
        for (size_t c = 0; c < row.size(); c++)
            text += c + 1 == row.size() ? row[c] : fmt::format("{:<{}}  ", row[c], widths[c]);
        text += "\n";
    }
    return text;
}

}  // namespace

std::string print(const Graph& graph, const System& system, const Placement& placement) {
    std::vector<std::vector<std::string>> rows;
    for (size_t o = 0; o < graph.operations.size(); o++) {
        const Decision& decision = placement.decisions[o];
        rows.push_back({graph.operations[o].name, system.text(placement.operations[o]), time_text(decision.seconds),
                        reason(system, decision)});
    }
    std::string text = table(rows);
    rows.clear();
    for (const Copy& copy : placement.copies) {
        const Tensor& tensor = graph.tensor(copy.tensor);
        rows.push_back({"copy " + tensor.name, fmt::format("{} bytes", tensor.type.byte_size()),
                        copy.at_load ? "at load" : time_text(copy.route.seconds), route_text(system, copy.route)});
    }
    text += table(rows);
    if (placement.copies.empty()) text += "no copies\n";
    text += fmt::format("modelled: {} computing, {} copying\n", time_text(placement.compute_seconds),
                        time_text(placement.copy_seconds));
    for (size_t m = 0; m < system.memories.size(); m++) {
        const Memory& memory = system.memories[m];
        if (placement.peak_bytes[m] == 0) continue;
        text += fmt::format("memory of {}: {}{} bytes at once\n", memory.text(), placement.peak_bytes[m],
                            memory.bytes > 0 ? fmt::format(" of {}", memory.bytes) : "");
    }
    return text;
}

std::string print_json(const Graph& graph, const System& system, const Placement& placement) {
    Json json;
    json["operations"] = Json::array();
    for (size_t o = 0; o < graph.operations.size(); o++) {
        const Decision& decision = placement.decisions[o];
        const Location& at = placement.operations[o];
        Json entry = {{"name", graph.operations[o].name},
                      {"device", system.device(at.device).name},
                      {"scope", system.memory(at.memory).scope},
                      {"seconds", decision.seconds},
                      {"rule", name(decision.rule)},
                      {"reason", reason(system, decision)}};
        if (decision.next.device != no_id)
            entry["next"] = {{"location", system.text(decision.next)},
                             {"compute_seconds", decision.compute},
                             {"copy_seconds", decision.copies}};
        json["operations"].push_back(std::move(entry));
    }
    json["copies"] = Json::array();
    for (const Copy& copy : placement.copies) {
        const Tensor& tensor = graph.tensor(copy.tensor);
        Json route = Json::array();
        for (MemoryId memory : copy.route.memories) route.push_back(system.memory(memory).text());
        json["copies"].push_back({{"tensor", tensor.name},
                                  {"bytes", tensor.type.byte_size().number()},
                                  {"seconds", copy.route.seconds},
                                  {"at_load", copy.at_load},
                                  {"route", std::move(route)}});
    }
    json["compute_seconds"] = placement.compute_seconds;
    json["copy_seconds"] = placement.copy_seconds;
    json["memory"] = Json::array();
    for (size_t m = 0; m < system.memories.size(); m++) {
        const Memory& memory = system.memories[m];
        json["memory"].push_back(
            {{"name", memory.text()}, {"peak_bytes", placement.peak_bytes[m]}, {"bytes", memory.bytes}});
    }
    return json.dump(2) + "\n";
}

}  // namespace heddle::placing
