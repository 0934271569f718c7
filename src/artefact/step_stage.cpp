#include "artefact/step_stage.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontends/onnx/order.h"
#include "support/union_find.h"
#include "zspace/size_facts.h"

namespace heddle::artefact {
namespace {

// More inputs decide than were known to: the state is another one.
constexpr const char* again = "again";

// Whether each result of the operation is what is read somewhere.
bool only_moves(const Operation& operation) {
    return operation.body && std::ranges::all_of(operation.body->equations, [&](const BodyEquation& equation) {
        return operation.body->node(equation.value).kind == expr::Kind::read;
    });
}

// The inputs of which each element of a tensor is one, or a constant; nothing: it is computed otherwise.
std::optional<std::set<std::string>> moved_from(const Graph& graph, TensorId tensor) {
    if (std::ranges::find(graph.inputs, tensor) != graph.inputs.end()) return std::set{graph.tensor(tensor).name};
    std::set<std::string> from;
    for (const Operation& operation : graph.operations) {
        if (std::ranges::find(operation.outputs, tensor) == operation.outputs.end()) continue;
        if (!only_moves(operation)) return std::nullopt;
        for (const TensorId input : operation.inputs) {
            auto inputs = moved_from(graph, input);
            if (!inputs) return std::nullopt;
            from.merge(*inputs);
        }
    }
    return from;
}

}  // namespace

std::vector<std::vector<onnx::OnnxNode>> pieces_of(const std::vector<onnx::OnnxNode>& nodes) {
    std::map<std::string, size_t> makers;
    for (size_t n = 0; n < nodes.size(); n++)
        for (const std::string& output : nodes[n].outputs) makers.emplace(output, n);
    UnionFind<size_t> pieces(nodes.size());
    for (size_t n = 0; n < nodes.size(); n++) {
        for (const std::string_view name : onnx::reads_of(nodes[n])) {
            const auto maker = makers.find(std::string(name));
            if (maker != makers.end()) pieces.join(maker->second, n);
        }
    }
    std::vector<std::vector<onnx::OnnxNode>> result;
    std::map<size_t, size_t> places;  // by root
    for (size_t n = 0; n < nodes.size(); n++) {
        const auto [place, is_new] = places.emplace(pieces.root(n), result.size());
        if (is_new) result.emplace_back();
        result[place->second].push_back(nodes[n]);
    }
    return result;
}

void forget(const StepScope& scope, StepState& state) {
    std::set<std::string> needed = onnx::reads_of(state.rest);
    std::set<std::string> made;
    for (const onnx::OnnxNode& node : state.rest) made.insert(node.outputs.begin(), node.outputs.end());
    std::erase_if(state.asked, [&](const std::string& name) {
        return !needed.contains(name) && !made.contains(name.substr(0, name.rfind('#')));
    });
    needed.insert(state.asked.begin(), state.asked.end());
    std::erase_if(state.truths, [&](const auto& truth) { return !needed.contains(truth.first); });
    needed.insert(scope.outputs.begin(), scope.outputs.end());
    std::erase_if(state.values, [&](const auto& value) { return !needed.contains(value.first); });
}

std::unexpected<Diagnostics> not_yet(std::string summary, std::string reason, const onnx::OnnxNode* node) {
    Diagnostic problem{.code = "artefact.steps",
                       .summary = std::move(summary),
                       .reason = std::move(reason),
                       .remedy = "run the model in a session: `heddle run`, heddle.InferenceSession"};
    if (node) problem.params = {{"node", node->label()}, {"operator", node->operator_type}};
    return fail(std::move(problem));
}

Result<void> StageImport::prepare() {
    std::set<std::string> reads = onnx::reads_of(state_.rest);
    reads.insert(state_.asked.begin(), state_.asked.end());
    for (const std::string& name : reads) {
        const auto type = state_.values.find(name);
        if (type == state_.values.end() || state_.truths.contains(name) || !type->second.is_tensor()) continue;
        if (!state_.asked.contains(name)) {
            inputs.push_back(name);
            for (const ValueDimension& dimension : type->second.shape)
                if (!dimension.value) names_.insert(dimension.name);
            continue;
        }
        const std::optional<int64_t> elements = type->second.elements();
        const auto sizes =
            elements && type->second.shape.size() <= 1 ? onnx::size_names(name, example(name, {})) : std::nullopt;
        if (!sizes) return not_a_size(name, type->second);
        for (size_t i = 0; i < sizes->size(); i++) {
            const bool is_size = std::ssize(known_names) != open_;
            known_names.push_back({name, static_cast<int32_t>(i), is_size ? (*sizes)[i] : std::string()});
            if (is_size) names_.insert((*sizes)[i]);
        }
    }
    return {};
}

std::vector<Dimension> StageImport::dimensions() const {
    std::vector<Dimension> result;
    for (const std::string& name : names_) {
        const auto given = std::ranges::find(request_.dimensions, name, &Dimension::name);
        result.push_back(given != request_.dimensions.end() ? *given : Dimension{name, 0, greatest(name), 1, true});
    }
    return result;
}

Result<Graph> StageImport::graph(const SizeNames& sizes) {
    if (++asked_for_ - left_out_ > most_plans && is_open())
        return fail({.code = "artefact.too_many_sizes",
                     .summary = "a step is to hold for too many sizes",
                     .expected = fmt::format("at most {} kinds of sizes", most_plans),
                     .reason = "what is computed, or how, follows from sizes themselves",
                     .remedy = "narrower ranges of the model's dimensions"});
    const onnx::OnnxModel part = model();
    onnx::ImportOptions options{.bindings = sizes, .values = {}, .free_weights = {}, .progress = request_.progress};
    onnx::StageOptions stage{.known = {}, .wanted = {}, .lists = {}};
    for (const Known& known : known_names) {
        if (!stage.known.contains(known.value)) stage.known.emplace(known.value, example(known.value, sizes));
    }
    for (const std::string& output : scope_.outputs) {
        if (!state_.values.contains(output) && !scope_.initializer(output)) stage.wanted.insert(output);
    }
    for (const auto& [name, type] : state_.values)
        if (!type.is_tensor()) stage.lists.insert(name);
    SizeFacts facts;
    auto imported = [&] {
        const RecordingFacts recording(facts);
        return onnx::import_stage(part, request_.library, options, stage);
    }();
    if (!imported && may_leave_out()) return left_out(std::move(facts), std::move(imported.error()));
    if (!imported) return fail(std::move(imported.error()));
    if (auto done = end_with(*imported); !done) return fail(std::move(done.error()));
    Graph graph = std::move(imported->graph);
    for (const Known& known : known_names) {
        if (known.size.empty()) continue;
        const int64_t number = sizes.at(known.size);
        const TensorId input = graph.add_tensor("size " + known.size, {DType::uint8, {named_size(known.size, number)}});
        graph.inputs.push_back(input);
    }
    graph.dimension_names.insert(sizes.begin(), sizes.end());
    graph.facts = std::move(facts);
    graph.tag = tag_;
    return graph;
}

Graph StageImport::left_out(SizeFacts facts, Diagnostics why) {
    left_out_++;
    if (left_out_for.empty()) left_out_for = std::move(why);
    Graph nothing;
    nothing.facts = std::move(facts);
    nothing.tag = left_out_tag;
    return nothing;
}

int64_t StageImport::greatest(const std::string& size) const {
    int64_t most = -1;
    for (const onnx::OnnxNode& node : state_.rest) {
        const bool asks = std::ranges::any_of(
            node.outputs, [&](const std::string& output) { return !output.empty() && size.starts_with(output + "#"); });
        if (!asks) continue;
        for (const std::string& input : node.inputs) {
            const auto type = state_.values.find(input);
            if (type != state_.values.end()) most = std::max(most, most_elements(type->second));
        }
    }
    return most < 0 ? open_end : std::min(most, open_end);
}

int64_t StageImport::most_elements(const ValueType& type) const {
    int64_t all = 1;
    for (const ValueDimension& dimension : type.shape) {
        const auto given = std::ranges::find(request_.dimensions, dimension.name, &Dimension::name);
        const int64_t most = dimension.value                     ? *dimension.value
                             : given != request_.dimensions.end() ? given->to
                                                                  : open_end;
        if (__builtin_mul_overflow(all, most, &all)) return open_end;
    }
    return all;
}

TensorData StageImport::example(const std::string& name, const SizeNames& sizes) const {
    const ValueType& type = state_.values.at(name);
    std::vector<int64_t> shape;
    for (const ValueDimension& dimension : type.shape) shape.push_back(*dimension.value);
    constexpr int64_t most = 64;  // others are no sizes, whatever they are
    if (shape.size() == 1) shape[0] = std::min(shape[0], most + 1);
    TensorData data(type.dtype, shape);
    for (int64_t i = 0; i < data.size() && is_integer(type.dtype); i++) data.set_integer(i, 1);
    for (const Known& known : known_names) {
        const auto size = sizes.find(known.size);
        if (known.value == name && known.size.empty()) data.set_integer(known.element, -1);
        if (known.value == name && size != sizes.end()) data.set_integer(known.element, size->second);
    }
    return data;
}

std::unexpected<Diagnostics> StageImport::not_a_size(const std::string& name, const ValueType& type) const {
    std::string readers;
    for (const onnx::OnnxNode& node : state_.rest) {
        const auto reads = onnx::reads_of(node);
        const bool reads_it = reads.contains(name) || std::ranges::any_of(node.outputs, [&](const std::string& output) {
                                  return !output.empty() && name.starts_with(output + "#");
                              });
        if (reads_it)
            readers += fmt::format("{}'{}' ({})", readers.empty() ? "" : ", ", node.label(), node.operator_type);
    }
    return not_yet(fmt::format("the value '{}' decides, and it is no size", name),
                   fmt::format("it is {}, which {} asks for; a program is made ahead for sizes (integers, at most 64, "
                               "their number known) and truth values",
                               type.text(), readers));
}

onnx::OnnxModel StageImport::model() const {
    const auto weight = [&](const std::string& name) {
        const bool is_made = state_.values.contains(name) || state_.truths.contains(name);
        return is_made ? nullptr : scope_.initializer(name);
    };
    onnx::OnnxModel part = onnx::model_of(request_.model, state_.rest, weight);
    for (const auto& [name, truth] : state_.truths)
        part.graph.initializers.push_back({.name = name, .data = truth_data(name, truth), .type_text = "bool"});
    for (const std::string& name : inputs) {
        const ValueType& type = state_.values.at(name);
        part.graph.inputs.push_back(onnx::value_of(name, type.dtype, type.shape));
    }
    return part;
}

TensorData StageImport::truth_data(const std::string& name, bool truth) const {
    TensorData data(DType::boolean, std::vector<int64_t>(state_.values.at(name).shape.size(), 1));
    data.set_integer(0, truth ? 1 : 0);
    return data;
}

// What decides is often put together of inputs: with these as sizes it follows, and has no sizes of its own.
void StageImport::ask_for_origins(const onnx::ImportedStage& stage) {
    for (size_t i = 0; i < stage.results.size(); i++) {
        const auto result = state_.values.find(stage.results[i]);
        const bool is_asked = std::ranges::find(stage.asked, stage.results[i]) != stage.asked.end();
        if (!is_asked || result != state_.values.end()) continue;
        const auto origins = moved_from(stage.graph, stage.graph.outputs[i]);
        if (!origins) continue;
        const bool are_sizes = std::ranges::all_of(*origins, [&](const std::string& name) {
            const auto type = state_.values.find(name);
            const bool has_number = type != state_.values.end() && type->second.shape.size() <= 1 && type->second.elements();
            return has_number && onnx::size_names(name, example(name, {})).has_value();
        });
        if (are_sizes) also_asked.insert(origins->begin(), origins->end());
    }
}

Result<void> StageImport::end_with(onnx::ImportedStage& stage) {
    for (const std::string& name : stage.asked) {
        if (std::ranges::find(inputs, name) != inputs.end()) also_asked.insert(name);
    }
    ask_for_origins(stage);
    if (!also_asked.empty()) return fail(Diagnostic{.code = again, .summary = "values of inputs decide"});
    const bool knows_more =
        std::ranges::any_of(stage.results, [&](const std::string& name) { return !state_.values.contains(name); });
    if (!knows_more && stage.rest.size() >= state_.rest.size() && !stage.has_written) {
        if (stage.waiting.empty())
            return not_yet(fmt::format("node '{}' waits for what nothing makes", state_.rest[0].label()), {});
        return fail(std::move(stage.waiting));
    }
    StageEnd end{.key = onnx::key_of(stage.rest),
                 .results = stage.results,
                 .types = {},
                 .rest = std::move(stage.rest),
                 .initializers = std::move(stage.initializers),
                 .asked = {stage.asked.begin(), stage.asked.end()}};
    for (size_t i = 0; i < end.results.size(); i++) {
        end.types.push_back(type_of(end.results[i], stage.graph.tensor(stage.graph.outputs[i]).type));
        end.key +=
            fmt::format("{} {} {}\n", end.results[i], heddle::name(end.types[i].dtype), end.types[i].shape.size());
    }
    end.key += fmt::format("asked {}", fmt::join(end.asked, ","));
    const auto same = std::ranges::find(ends, end.key, &StageEnd::key);
    tag_ = same - ends.begin() + 1;
    if (same == ends.end()) {
        ends.push_back(std::move(end));
        return {};
    }
    for (size_t i = 0; i < end.types.size(); i++)
        same->types[i] = *joined(end.results[i], same->types[i], end.types[i]);
    return {};
}

}  // namespace heddle::artefact
