#include "explain/facts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "equations/cost.h"
#include "equations/passes.h"
#include "explain/operation.h"
#include "gradient/gradient.h"
#include "pictures/draw_parts.h"
#include "plan/donation.h"
#include "plan/plan.h"
#include "plan/stack.h"
#include "plan/validity.h"
#include "symbolic/bindings.h"
#include "target/choice_numbers.h"

namespace heddle::explain {
namespace {

using namespace pictures;

using Json = nlohmann::ordered_json;

constexpr int64_t largest_tensor = int64_t{1} << 48;  // elements

Json names_json(const std::vector<Binding>& bindings) {
    Json json = Json::object();
    for (const Binding& binding : bindings) json[binding.name] = binding.value;
    return json;
}

Result<equations::RunCost> modelled(const Graph& graph, const Target& target) {
    auto system = equations::lower(graph);
    if (!system) return fail(std::move(system.error()));
    equations::optimise(*system);
    return equations::run_cost(*system, equations::fuse(*system, target, {}), target);
}

int64_t bytes_of(const Graph& graph, const std::vector<TensorId>& tensors) {
    int64_t bytes = 0;
    for (TensorId id : tensors) bytes += graph.tensor(id).type.byte_size();
    return bytes;
}

Json launches_json(const plan::Plan& plan) {
    Json list = Json::array();
    auto add = [&](const std::vector<plan::Batch>& batches, const char* phase) {
        for (const plan::Batch& batch : batches) {
            for (const plan::Launch& launch : batch) {
                const std::string& key = plan.keys[static_cast<size_t>(launch.tree)];
                list.push_back({{"writes", launch.name},
                                {"tasks", launch.tasks.number()},
                                {"rounds", launch.rounds.number()},
                                {"kernel", key.substr(0, 8)},
                                {"phase", phase},
                                {"layout", launch.layout}});
                if (launch.tasks.named()) list.back()["tasks_for_sizes"] = launch.tasks.text();
            }
        }
    };
    add(plan.prepare, "prepare");
    add(plan.run, "run");
    return list;
}

}  // namespace

Json bindings_json(Environment& environment) {
    OtherBindings others = other_bindings(environment);
    return {{"patterns", names_json(pattern_bindings(environment))},
            {"dtypes", names_json(others.dtypes)},
            {"parameters", names_json(others.parameters)},
            {"lets", names_json(others.lets)}};
}

Result<void> add_cost(const Graph& graph, const Target& target, Json& json) {
    json["compiled"] = Json::array();
    auto opaque = std::ranges::find_if(graph.operations, [](const Operation& operation) { return !operation.body; });
    if (opaque != graph.operations.end()) {
        json["cost"]["refusal"] = {{"code", "cli.opaque"},
                                   {"summary", fmt::format("operation '{}' is a kernel elsewhere", opaque->name)},
                                   {"reason", "costs follow from bodies"}};
        return {};
    }
    // Sums of bytes stay within 64 bits.
    auto large =
        std::ranges::find_if(graph.tensors, [](const Tensor& t) { return t.type.elements() > largest_tensor; });
    if (large != graph.tensors.end()) {
        json["cost"]["refusal"] = {{"code", "cli.large_tensor"},
                                   {"summary", fmt::format("'{}' is too large to be planned", large->name)},
                                   {"reason", fmt::format("it has {} elements", large->type.elements())}};
        return {};
    }
    auto sum = modelled(graph, target);
    auto plan = sum ? plan::make_plan(graph, target) : Result<plan::Plan>(fail(std::move(sum.error())));
    if (!plan) return fail(std::move(plan.error()));
    int64_t constants = 0;
    for (const Tensor& tensor : graph.tensors) constants += tensor.constant ? tensor.type.byte_size().number() : 0;
    const Json memory = {{"inputs", bytes_of(graph, graph.inputs)},
                         {"outputs", bytes_of(graph, graph.outputs)},
                         {"constants", constants},
                         {"prepared", plan->prepared_bytes()},
                         {"workspace", plan->workspace_bytes}};
    int64_t peak = 0;
    for (const Json& part : memory) peak += part.get<int64_t>();
    json["cost"] = {{"time_seconds", plan->launches() == 0 ? 0 : sum->seconds},
                    {"bytes_moved", sum->bytes},
                    {"peak_bytes", peak},
                    {"memory", memory},
                    {"devices", 1},
                    {"launches", plan->launches()},
                    {"operations", sum->operations}};
    if (const std::string sizes = plan::validity_text(*plan); !sizes.empty()) {
        json["cost"]["sizes"] = sizes;
        json["cost"]["workspace"] = plan::workspace_text(*plan);
    }
    json["compiled"] = launches_json(*plan);
    return {};
}

Json in_place_json(const Graph& graph, const Target& target) {
    constexpr int most_plans = 16;
    Json json = Json::array();
    int plans = 0;
    for (size_t o = 0; o < graph.outputs.size(); o++) {
        Json inputs = Json::array();
        for (size_t i = 0; i < graph.inputs.size() && plans < most_plans; i++) {
            const plan::Donation donation{static_cast<int32_t>(o), static_cast<int32_t>(i)};
            if (!plan::check_donations(graph, {donation})) continue;
            plans++;
            const auto plan = plan::make_plan(graph, target, {.donations = {donation}});
            if (plan && plan->is_in_place(donation)) inputs.push_back(graph.tensor(graph.inputs[i]).name);
        }
        if (!inputs.empty()) json.push_back({{"output", graph.tensor(graph.outputs[o]).name}, {"inputs", inputs}});
    }
    return json;
}

std::vector<TensorId> wanted_of(const Graph& graph) {
    std::vector<TensorId> wanted = graph.inputs;
    auto is_smooth = [&](TensorId id) { return gradient::is_differentiable(graph.tensor(id).type.dtype); };
    if (std::ranges::any_of(wanted, is_smooth)) std::erase_if(wanted, std::not_fn(is_smooth));
    return wanted;
}

Result<Graph> gradient_of(const Graph& graph) { return gradient::gradient(graph, wanted_of(graph)); }

Json gradient_json(const Graph& forward, const Graph& graph) {
    auto types = [&](const std::vector<TensorId>& tensors) {
        Json list = Json::array();
        for (TensorId t : tensors)
            list.push_back({{"name", graph.tensor(t).name}, {"type", graph.tensor(t).type.text()}});
        return list;
    };
    auto is_given = [&](TensorId t) {
        return std::ranges::any_of(forward.inputs,
                                   [&](TensorId input) { return forward.tensor(input).name == graph.tensor(t).name; });
    };
    std::vector<TensorId> adjoints = graph.inputs;
    std::erase_if(adjoints, is_given);
    Json json = {{"inputs", types(graph.inputs)}, {"adjoints", types(adjoints)}, {"outputs", types(graph.outputs)}};
    json["operations"] = Json::array();
    for (const Operation& operation : graph.operations) json["operations"].push_back(operation_json(graph, operation));
    return json;
}

Json refusal_json(const Diagnostics& problems) {
    return {{"code", problems[0].code}, {"summary", problems[0].summary}, {"reason", problems[0].reason}};
}

// ---- for people

namespace {

std::string refusal_text(const Json& refusal) {
    std::string reason = text_of(refusal, "reason");
    return fmt::format("{}{}", text_of(refusal, "summary"), reason.empty() ? "" : "; " + reason);
}

// "840", "1.2 million"
std::string count_text(double number) {
    if (number < 1e5) return fmt::format("{:.0f}", number);
    if (number < 1e9) return fmt::format("{:.3g} million", number / 1e6);
    if (number < 1e12) return fmt::format("{:.3g} billion", number / 1e9);
    return fmt::format("{:.3g} trillion", number / 1e12);
}

std::string time_text(double seconds) {
    if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
    return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} s", seconds);
}

std::string names_of(const Json& tensors) {
    std::vector<std::string> names;
    for (const Json& tensor : tensors) names.push_back(text_of(tensor, "name"));
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string bindings_text(const Json& bindings) {
    constexpr std::pair<const char*, const char*> sections[] = {
        {"patterns", "bindings"}, {"dtypes", "dtypes"}, {"parameters", "parameters"}, {"lets", "lets"}};
    std::string text;
    for (const auto& [key, title] : sections) {
        if (bindings[key].empty()) continue;
        text += fmt::format("{}\n", title);
        for (const auto& [name, value] : bindings[key].items())
            text += fmt::format("  ${}={}\n", name, value.get<std::string>());
    }
    return text;
}

std::string notes_text(const Json& notes) {
    std::string text;
    for (const Json& note : notes)
        text += fmt::format("{}note: {}: {}, where {} would do\n", text.empty() ? "\n" : "", text_of(note, "summary"),
                            text_of(note, "found"), text_of(note, "expected"));
    return text;
}

// One line each: for which sizes there is no other plan, and what is between launches for these.
static std::string class_text(const Json& cost) {
    if (!cost.contains("sizes")) return "";
    const std::string workspace = text_of(cost, "workspace");
    return fmt::format("  the plan holds for {}\n{}", text_of(cost, "sizes"),
                       workspace.empty() ? "" : fmt::format("  bytes between launches: {}\n", workspace));
}

std::string cost_text(const Json& cost) {
    if (cost.contains("refusal")) return fmt::format("cost\n  not known: {}\n", refusal_text(cost["refusal"]));
    return fmt::format(
        "cost, as modelled for this machine\n"
        "  time {}, {} on {}\n"
        "  {} moved, {} operations, at most {} of memory\n",
        time_text(cost["time_seconds"].get<double>()), counted(cost["launches"].get<int64_t>(), "launch", "es"),
        counted(cost["devices"].get<int64_t>(), "device"),
        bytes_text(static_cast<int64_t>(cost["bytes_moved"].get<double>())),
        count_text(cost["operations"].get<double>()), bytes_text(cost["peak_bytes"].get<int64_t>())) +
        class_text(cost);
}

std::string in_place_text(const Json& outputs) {
    std::string text = outputs.empty() ? "" : "in place, where it is donated\n";
    for (const Json& output : outputs) {
        std::string names;
        for (const Json& input : output["inputs"]) names += (names.empty() ? "" : " or ") + input.get<std::string>();
        text += fmt::format("  {} in the memory of {}\n", text_of(output, "output"), names);
    }
    return text;
}

std::string memory_text(const Json& cost) {
    if (cost.contains("refusal")) return "";
    const Json& memory = cost["memory"];
    const auto bytes = [&](const char* part) { return bytes_text(memory[part].get<int64_t>()); };
    return fmt::format(
        "  memory: {} of inputs, {} of results, {} of constants, {} prepared from them, {} between launches\n",
        bytes("inputs"), bytes("outputs"), bytes("constants"), bytes("prepared"), bytes("workspace"));
}

std::string gradient_text(const Json& gradient) {
    if (gradient.contains("refusal")) return fmt::format("gradient\n  none: {}\n", refusal_text(gradient["refusal"]));
    if (gradient["outputs"].empty()) return "gradient\n  none: there is no input\n";
    return fmt::format("gradient\n  derived: {} from {}, in {}\n", names_of(gradient["outputs"]),
                       names_of(gradient["adjoints"]),
                       counted(static_cast<int64_t>(gradient["operations"].size()), "operation"));
}

std::string tasks_text(const Json& launch) {
    const int64_t rounds = launch["rounds"], tasks = launch["tasks"];
    const std::string sizes = launch.contains("tasks_for_sizes") ? " (" + text_of(launch, "tasks_for_sizes") + ")" : "";
    if (rounds == 1) return counted(tasks, "task") + sizes;
    return fmt::format("{} rounds of {}", rounds, counted(tasks / rounds, "task"));
}

std::string kernels_text(const Json& json) {
    std::string text = "kernels\n";
    for (const Json& launch : json["compiled"]) {
        const bool moves = launch["layout"].get<bool>();
        text += fmt::format("  {}: {} in {}, kernel {}{}\n",
                            launch.contains("operators") ? text_of(launch, "operators")
                            : moves                      ? "moves into a layout"
                                                         : "compiled from bodies",
                            text_of(launch, "writes"), tasks_text(launch), text_of(launch, "kernel"),
                            text_of(launch, "phase") == "run" ? "" : ", once before all runs");
    }
    for (const Json& row : json["rows"]) text += fmt::format("  on placements: {}\n", row.get<std::string>());
    if (json["compiled"].empty() && json["rows"].empty())
        text += json["cost"].contains("refusal") ? "  none here\n" : "  none: there is nothing to compute\n";
    return text;
}

}  // namespace heddle::explain
