#include "explain/tape.h"

#include <fmt/format.h>

#include "explain/operation.h"
#include "gradient/checkpoints.h"
#include "gradient/split.h"

namespace heddle::explain {
namespace {

using Json = nlohmann::ordered_json;

Json layout_json(const gradient::TapeLayout& tape) {
    Json entries = Json::array();
    for (const gradient::TapeEntry& entry : tape.entries) {
        entries.push_back({{"name", entry.name},
                           {"type", entry.type.text()},
                           {"offset", entry.offset},
                           {"bytes", entry.bytes},
                           {"reason", entry.reason}});
    }
    return {{"bytes", tape.bytes}, {"bytes_of_sizes", tape.bytes_text()}, {"entries", entries}};
}

std::string layout_text(const Json& layout) {
    if (layout["entries"].empty()) return "nothing\n";
    std::string text = fmt::format("{} bytes in {}\n", text_of(layout, "bytes_of_sizes"),
                                   counted(static_cast<int64_t>(layout["entries"].size()), "tensor"));
    for (const Json& entry : layout["entries"]) {
        text += fmt::format("    at {}: {}: {}, {}\n", entry["offset"].get<int64_t>(), text_of(entry, "name"),
                            text_of(entry, "type"), text_of(entry, "reason"));
    }
    return text;
}

}  // namespace

Result<Json> tape_json(const Graph& graph, const std::vector<TensorId>& wanted) {
    using Kind = gradient::TapePolicy::Kind;
    std::vector<TensorId> ends = graph.inputs;
    ends.insert(ends.end(), graph.outputs.begin(), graph.outputs.end());
    constexpr const char* keys[] = {"all", "balanced", "overwritten", "fewest", "checkpoints"};
    std::vector<gradient::TapeQuestion> questions = {{{.kind = Kind::save_all}, {}},
                                                     {{.kind = Kind::balanced}, {}},
                                                     {{.kind = Kind::save_all}, ends},
                                                     {{.kind = Kind::fewest_bytes}, ends}};
    if (gradient::has_scan(graph)) questions.push_back({{.kind = Kind::balanced, .every = 0}, {}});
    auto tapes = gradient::tape_layouts(graph, wanted, questions);
    if (!tapes) return fail(std::move(tapes.error()));
    Json json = Json::object();
    for (size_t i = 0; i < tapes->size(); ++i) json[keys[i]] = layout_json((*tapes)[i]);
    if (json.contains("checkpoints") && json["checkpoints"] == json["balanced"])
        json.erase("checkpoints");  // no states are needed
    return json;
}

std::string tape_text(const Json& tape) {
    std::string text = fmt::format(
        "\ntape\n  beside inputs and results, adjoints ask for {}  of which is kept, unless others are asked for, {}"
        "  where inputs and results are overwritten, adjoints ask for {}  of which is enough {}",
        layout_text(tape["all"]), layout_text(tape["balanced"]), layout_text(tape["overwritten"]),
        layout_text(tape["fewest"]));
    if (tape.contains("checkpoints"))
        text += fmt::format("  with checkpoints of its scans, which work out again what lies between, is kept {}",
                            layout_text(tape["checkpoints"]));
    return text;
}

}  // namespace heddle::explain
