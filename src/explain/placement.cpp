#include "explain/placement.h"

#include <nlohmann/json.hpp>

#include "target/hosts.h"

namespace heddle::explain {

Result<PlacedGraph> placed(const Graph& graph, const Target& target, const std::vector<std::string>& texts) {
    auto system = placement::system_of(target);
    if (!system) return fail(std::move(system.error()));
    PlacedGraph made{std::make_shared<const placement::System>(std::move(*system)), {}, {}};
    auto annotations = placement::parse_annotations(texts, graph, *made.system);
    if (!annotations) return fail(std::move(annotations.error()));
    auto placement = placement::place(graph, *made.system, *annotations);
    if (!placement) return fail(std::move(placement.error()));
    if (auto sound = placement::verify(graph, *made.system, *annotations, *placement); !sound)
        return fail(std::move(sound.error()));
    made.placement = std::move(*placement);
    modules::Module source{made.system, std::make_shared<const Target>(target), {}};
    source.add_function(modules::mixed_function("main", graph, *made.system, made.placement));
    if (auto sound = modules::verify(source); !sound) return fail(std::move(sound.error()));
    auto module = modules::split(source);
    if (!module) return fail(std::move(module.error()));
    if (auto sound = modules::verify(*module); !sound) return fail(std::move(sound.error()));
    made.module = std::move(*module);
    return made;
}

nlohmann::ordered_json placement_json(const Graph& graph, const PlacedGraph& placed) {
    using Json = nlohmann::ordered_json;
    Json json = Json::parse(placement::print_json(graph, *placed.system, placed.placement));
    if (const std::string host = host_text(*placed.module.target); !host.empty()) json["host"] = host;
    json["functions"] = Json::parse(modules::print_json(placed.module));
    return json;
}

std::string placement_text(const Graph& graph, const PlacedGraph& placed) {
    const std::string host = host_text(*placed.module.target);
    return (host.empty() ? "" : "host: " + host + "\n") +
           placement::print(graph, *placed.system, placed.placement) + "\n" + modules::print(placed.module);
}

}  // namespace heddle::explain
