#include "placing/wish.h"

#include <algorithm>

#include <fmt/format.h>

namespace heddle::placing {

std::optional<Wish> join(const Wish& a, const Wish& b) {
    const auto part = [](const std::string& left, const std::string& right) -> std::optional<std::string> {
        if (left.empty() || right.empty() || left == right) return left.empty() ? right : left;
        return std::nullopt;
    };
    const auto device = part(a.device, b.device), scope = part(a.scope, b.scope);
    if (!device || !scope) return std::nullopt;
    return Wish{*device, *scope};
}

namespace {

std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
    const std::string near = nearest_name(name, known);
    return near.empty() ? "" : "did you mean '" + near + "'?";
}

// Of the one with this name; else of the only one whose name ends with it behind a dot, as names of a program's values
// do ("program.a"). -1: none.
template <typename Named>
int32_t named(const std::vector<Named>& list, const std::string& name) {
    int32_t found = -1;
    for (size_t i = 0; i < list.size(); i++) {
        if (list[i].name == name) return static_cast<int32_t>(i);
        if (!list[i].name.ends_with("." + name)) continue;
        found = found == -1 ? static_cast<int32_t>(i) : -2;
    }
    return std::max(found, -1);
}

std::string list_of(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::string few_of(std::vector<std::string> names) {
    constexpr size_t few = 12;
    const bool all = names.size() <= few;
    if (!all) names.resize(few);
    return list_of(names) + (all ? "" : ", ...");
}

}  // namespace

Result<std::vector<Location>> locations_for(const System& system, const Wish& wish) {
    std::vector<Location> left;
    std::vector<std::string> devices, scopes;
    for (const Location& location : system.locations()) {
        const Device& device = system.device(location.device);
        const std::string& scope = system.memory(location.memory).scope;
        if (devices.empty() || devices.back() != device.name) devices.push_back(device.name);
        if (!wish.device.empty() && wish.device != device.name) continue;
        if (std::ranges::find(scopes, scope) == scopes.end()) scopes.push_back(scope);
        const bool first = location.memory == device.memories.front();
        if (wish.scope.empty() ? first : wish.scope == scope) left.push_back(location);
    }
    if (!wish.device.empty() && std::ranges::find(devices, wish.device) == devices.end()) {
        return fail({.code = "placing.unknown_device",
                     .summary = fmt::format("the system has no device '{}'", wish.device),
                     .expected = list_of(devices),
                     .remedy = suggestion(wish.device, devices),
                     .params = {{"device", wish.device}}});
    }
    if (left.empty()) {
        return fail(
            {.code = "placing.unknown_scope",
             .summary = fmt::format("{} has no memory '{}'",
                                    wish.device.empty() ? "the system" : "device '" + wish.device + "'", wish.scope),
             .expected = list_of(scopes),
             .remedy = suggestion(wish.scope, scopes),
             .params = {{"scope", wish.scope}}});
    }
    return left;
}

Result<Annotations> parse_annotations(const std::vector<std::string>& texts, const Graph& graph, const System& system) {
    Annotations annotations;
    Diagnostics problems;
    const auto wrong = [&](const std::string& text, const char* summary) {
        problems.push_back({.code = "placing.annotation",
                            .summary = summary,
                            .expected = "NAME=DEVICE, NAME=DEVICE:SCOPE or NAME=:SCOPE",
                            .found = text});
    };
    for (const std::string& text : texts) {
        const size_t equals = text.rfind('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
            wrong(text, "an annotation does not parse");
            continue;
        }
        const std::string name = text.substr(0, equals), place = text.substr(equals + 1);
        const size_t colon = place.find(':');
        const Wish wish{place.substr(0, colon), colon == std::string::npos ? "" : place.substr(colon + 1)};
        if (auto known = locations_for(system, wish); !known) {
            problems.insert(problems.end(), known.error().begin(), known.error().end());
            continue;
        }
        const TensorId tensor(named(graph.tensors, name));
        const OperationId operation(tensor == no_id ? named(graph.operations, name) : -1);
        bool fresh = true;
        if (tensor != no_id) {
            fresh = annotations.tensors.emplace(tensor, wish).second;
        } else if (operation != no_id) {
            fresh = annotations.operations.emplace(operation, wish).second;
        } else {
            std::vector<std::string> names;
            for (const Tensor& known : graph.tensors) names.push_back(known.name.substr(known.name.rfind('.') + 1));
            problems.push_back({.code = "placing.unknown_name",
                                .summary = fmt::format("no tensor or operation, or several, are called '{}'", name),
                                .expected = few_of(names),
                                .remedy = suggestion(name, names),
                                .params = {{"name", name}}});
        }
        if (!fresh) wrong(text, "something is annotated twice");
    }
    if (!problems.empty()) return fail(std::move(problems));
    return annotations;
}

}  // namespace heddle::placing
