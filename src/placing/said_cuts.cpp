#include "placing/said_cuts.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cache/hash.h"
#include "sharding/shard.h"
#include "support/file.h"
#include "support/json_tree.h"

namespace heddle::placing {
namespace {

Diagnostic wrong_text(const std::string& text) {
    return {.code = "placing.cut_syntax",
            .summary = fmt::format("'{}' says no cut", text),
            .expected = "AXIS=PARTS or OPERATION.AXIS=PARTS, with a comma between dimensions of the mesh; AXIS/TURNS",
            .params = {{"text", text}}};
}

bool parse_count(const char* begin, const char* end, int64_t& count) {
    const auto [rest, error] = std::from_chars(begin, end, count);
    return error == std::errc() && rest == end && count >= 1;
}

// OPERATION.AXIS, or AXIS of all; whether it is one.
bool parse_name(const std::string& name, std::string& operation, std::string& axis) {
    const size_t dot = name.rfind('.');
    operation = dot == std::string::npos ? "" : name.substr(0, dot);
    axis = dot == std::string::npos ? name : name.substr(dot + 1);
    return !axis.empty();
}

// A number alone: any axis.
Result<std::optional<SaidCut>> parse_cut(const std::string& text, int64_t& parts) {
    const char* const end = text.data() + text.size();
    if (parse_count(text.data(), end, parts)) return std::nullopt;
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) return fail(wrong_text(text));
    SaidCut cut;
    if (!parse_count(text.data() + equals + 1, end, parts)) return fail(wrong_text(text));
    if (!parse_name(text.substr(0, equals), cut.operation, cut.axis)) return fail(wrong_text(text));
    return cut;
}

// "batch/8"; none: it is something else.
std::optional<SaidTurns> parse_turns(const std::string& text) {
    const size_t slash = text.rfind('/');
    SaidTurns turns;
    if (slash == std::string::npos || text.find_first_of("=,") != std::string::npos) return std::nullopt;
    if (!parse_count(text.data() + slash + 1, text.data() + text.size(), turns.count)) return std::nullopt;
    if (!parse_name(text.substr(0, slash), turns.operation, turns.axis)) return std::nullopt;
    return turns;
}

// ---- files

constexpr size_t most_text = size_t{64} << 20, most_memory = size_t{512} << 20, most_dimensions = 8;

class CutsReader {
public:
    explicit CutsReader(std::shared_ptr<const SourceText> text) : text_(std::move(text)) {}

    Result<SaidCuts> read() {
        const auto tree = read_json_tree(
            text_, {most_text, most_memory, 8, "placing.cut_file", "placing.cut_file", "placing.cut_file"});
        if (!tree) return fail(tree.error());
        const JsonValue* const mesh = tree->kind == JsonValue::Kind::object ? member(*tree, "mesh") : nullptr;
        const JsonValue* const cuts = tree->kind == JsonValue::Kind::object ? member(*tree, "cuts") : nullptr;
        if (!mesh || !cuts) return fail(wrong(*tree, "a file of cuts", "an object with \"mesh\" and \"cuts\""));
        if (const JsonValue* const program = member(*tree, "program")) read_program(*program);
        if (const JsonValue* const rules = member(*tree, "rules")) read_rules(*rules);
        read_mesh(*mesh);
        if (problems_.empty()) read_operations(*cuts);
        if (!problems_.empty()) return fail(std::move(problems_));
        return std::move(said_);
    }

private:
    Diagnostic wrong(const JsonValue& value, std::string what, std::string expected) const {
        return {.code = "placing.cut_file",
                .summary = fmt::format("{} is something else", what),
                .place = {text_, value.offset, value.length},
                .expected = std::move(expected),
                .found = kind_name(value.kind)};
    }

    void read_mesh(const JsonValue& mesh) {
        int64_t places = 1;
        bool fine = mesh.kind == JsonValue::Kind::array;
        if (fine) {
            each_element(mesh, [&](const JsonValue& item) {
                fine = fine && item.kind == JsonValue::Kind::integer && item.integer >= 1 &&
                       item.integer <= static_cast<int64_t>(sharding::most_shards) / places;
                if (fine) places *= item.integer;
                said_.mesh.push_back(item.integer);
            });
        }
        if (fine && !said_.mesh.empty() && said_.mesh.size() <= most_dimensions) return;
        problems_.push_back(wrong(mesh, "the mesh",
                                  fmt::format("a list of up to {} numbers of places, [2, 2], that make up at most {}",
                                              most_dimensions, sharding::most_shards)));
    }

    void read_program(const JsonValue& program) {
        if (program.kind == JsonValue::Kind::string)
            said_.program = program.text;
        else
            problems_.push_back(wrong(program, "\"program\"", "a digest, as heddle optimise writes it"));
    }

    void read_rules(const JsonValue& rules) {
        bool fine = rules.kind == JsonValue::Kind::array;
        if (fine) {
            each_element(rules, [&](const JsonValue& item) {
                fine = fine && item.kind == JsonValue::Kind::string;
                said_.rules.push_back(fine ? item.text : "");
            });
        }
        if (!fine) problems_.push_back(wrong(rules, "\"rules\"", "a list of rules, as --rule takes them"));
    }

    void read_operations(const JsonValue& cuts) {
        if (cuts.kind != JsonValue::Kind::object) {
            problems_.push_back(wrong(cuts, "\"cuts\"", "an object: for each operation a list"));
            return;
        }
        for (const JsonValue& operation : cuts.items) {
            const bool is_list = operation.kind == JsonValue::Kind::array && operation.numbers.empty();
            const bool fits = is_list && operation.items.size() == said_.mesh.size();
            if (!fits) {
                problems_.push_back(wrong(
                    operation, fmt::format("the cut of '{}'", operation.name),
                    fmt::format("{} names of axes, or null: one for each dimension of the mesh", said_.mesh.size())));
                if (is_list) problems_.back().found = fmt::format("{} of them", operation.items.size());
                continue;
            }
            for (size_t d = 0; d < operation.items.size(); d++) {
                const JsonValue& axis = operation.items[d];
                const bool none = axis.kind == JsonValue::Kind::null;
                if (!none && (axis.kind != JsonValue::Kind::string || axis.text.empty()))
                    problems_.push_back(wrong(axis, fmt::format("an axis of '{}'", operation.name), "a name, or null"));
                said_.cuts.push_back({operation.name, none ? "" : axis.text, d});
            }
        }
    }

    std::shared_ptr<const SourceText> text_;
    SaidCuts said_;
    Diagnostics problems_;
};

}  // namespace

Result<SaidCuts> parse_cuts(const std::vector<std::string>& texts) {
    if (texts.size() == 1 && texts.front().ends_with(".json")) {
        auto text = read_file(texts.front(), static_cast<int64_t>(most_text));
        if (!text) return fail(std::move(text.error()));
        return read_cuts(std::make_shared<SourceText>(texts.front(), std::move(*text)));
    }
    SaidCuts said;
    for (const std::string& text : texts) {
        if (auto turns = parse_turns(text)) {
            said.turns.push_back(std::move(*turns));
            continue;
        }
        Mesh mesh;
        std::vector<bool> stages;
        for (size_t begin = 0; begin <= text.size();) {
            const size_t end = std::min(text.find(',', begin), text.size());
            auto cut = parse_cut(text.substr(begin, end - begin), mesh.emplace_back());
            if (!cut) return fail(std::move(cut.error()));
            stages.push_back(*cut && (*cut)->operation.empty() && (*cut)->axis == "stages");
            if (*cut && !stages.back()) {
                (*cut)->dimension = mesh.size() - 1;
                said.cuts.push_back(std::move(**cut));
            }
            begin = end + 1;
        }
        if (said.mesh.empty()) {
            said.mesh = mesh;
            said.stages = stages;
        }
        if (said.mesh == mesh && said.stages == stages) continue;
        return fail({.code = "placing.cut_mesh",
                     .summary = fmt::format("'{}' is of another mesh than the cuts before", text),
                     .expected = fmt::format("{} parts", fmt::join(said.mesh, ", ")),
                     .found = fmt::format("{} parts", fmt::join(mesh, ", "))});
    }
    return said;
}

Result<SaidCuts> read_cuts(const std::shared_ptr<const SourceText>& text) { return CutsReader(text).read(); }

std::string print_cuts(const Graph& graph, const Mesh& mesh, const std::vector<std::vector<std::string>>& axes,
                       const std::vector<std::string>& rules) {
    using Json = nlohmann::ordered_json;
    const auto text_of = [](const std::string& name) {
        return Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
    };
    std::vector<std::string> lines;
    for (size_t o = 0; o < graph.operations.size(); o++) {
        std::vector<std::string> own;
        for (const std::string& axis : axes[o]) own.push_back(axis.empty() ? "null" : text_of(axis));
        lines.push_back(fmt::format("    {}: [{}]", text_of(graph.operations[o].name), fmt::join(own, ", ")));
    }
    std::vector<std::string> own_rules;
    for (const std::string& rule : rules) own_rules.push_back(text_of(rule));
    return fmt::format(
        "{{\n  \"mesh\": [{}],\n  \"program\": \"{}\",\n  \"rules\": [{}],\n  \"cuts\": {{\n{}\n  }}\n}}\n",
        fmt::join(mesh, ", "), digest_of(graph), fmt::join(own_rules, ", "), fmt::join(lines, ",\n"));
}

std::string digest_of(const Graph& graph) {
    const Graph needed = prune(graph);
    const auto text_of = [&](TensorId t) {
        const Tensor& tensor = needed.tensor(t);
        return fmt::format("{}{}[{}]", tensor.producer == no_id ? "" : needed.operation(tensor.producer).name,
                           name(tensor.type.dtype), tensor.type.shape.size());
    };
    std::string text;
    for (const Operation& operation : needed.operations) {
        text += fmt::format("{} {}", operation.name, operation.operator_name);
        for (TensorId t : operation.inputs) text += ' ' + text_of(t);
        text += '\n';
    }
    for (TensorId t : needed.outputs) text += text_of(t) + '\n';
    return cache::digest(text);
}

Result<void> check_program(const SaidCuts& said, const Graph& graph) {
    if (said.program.empty() || said.program == digest_of(graph)) return {};
    Diagnostic problem{.code = "placing.cut_program",
                       .summary = "the file's cuts are for another program",
                       .expected = said.program,
                       .found = digest_of(graph),
                       .remedy = "let heddle optimise -o search this program's"};
    if (!said.rules.empty()) problem.remedy += fmt::format(", or rewrite it by {}", fmt::join(said.rules, ", "));
    return fail(std::move(problem));
}

}  // namespace heddle::placing
