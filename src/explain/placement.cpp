#include "explain/placement.h"

#include <nlohmann/json.hpp>

#include "target/hosts.h"

namespace heddle::explain {

Result<PlacedGraph> placed(const Graph& graph, const Target& target, const std::vector<std::string>& texts) {
    auto system = placing::system_of(target);
    if (!system) return fail(std::move(system.error()));
    PlacedGraph made{std::make_shared<const placing::System>(std::move(*system)), {}, {}};
    auto annotations = placing::parse_annotations(texts, graph, *made.system);
    if (!annotations) return fail(std::move(annotations.error()));
    auto placement = placing::place(graph, *made.system, *annotations);
    if (!placement) return fail(std::move(placement.error()));
    if (auto sound = placing::verify(graph, *made.system, *annotations, *placement); !sound)
        return fail(std::move(sound.error()));
    made.placement = std::move(*placement);
    placing::Module source{made.system, std::make_shared<const Target>(target), {}};
    source.add_function(placing::mixed_function("main", graph, *made.system, made.placement));
    if (auto sound = placing::verify(source); !sound) return fail(std::move(sound.error()));
    auto module = placing::split(source);
    if (!module) return fail(std::move(module.error()));
    if (auto sound = placing::verify(*module); !sound) return fail(std::move(sound.error()));
    made.module = std::move(*module);
    return made;
}

nlohmann::ordered_json placement_json(const Graph& graph, const PlacedGraph& placed) {
    using Json = nlohmann::ordered_json;
    Json json = Json::parse(placing::print_json(graph, *placed.system, placed.placement));
    if (const std::string host = host_text(*placed.module.target); !host.empty()) json["host"] = host;
    json["functions"] = Json::parse(placing::print_json(placed.module));
    return json;
}

std::string placement_text(const Graph& graph, const PlacedGraph& placed) {
    const std::string host = host_text(*placed.module.target);
    return (host.empty() ? "" : "host: " + host + "\n") + placing::print(graph, *placed.system, placed.placement) +
           "\n" + placing::print(placed.module);
}

}  // namespace heddle::explain
