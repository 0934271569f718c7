// heddle explain
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/c/c_source.h"
#include "cli/explain_arguments.h"
#include "cli/explain_projection.h"
#include "cli/explain_shard.h"
#include "cli/support.h"
#include "equations/fusion.h"
#include "gradient/gradient.h"
#include "flavours/kernel_matrix.h"
#include "support/file.h"
#include "symbolic/session.h"
#include "target/target.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

// "softmax", "onnx:Softmax", "onnx:com.example::Swish".
Result<const Template*> find_operator(const Library& library, const std::string& name) {
    constexpr std::string_view prefix = "onnx:";
    if (!name.starts_with(prefix)) return library.find(name);
    std::string rest = name.substr(prefix.size());
    size_t colons = rest.find("::");
    std::string domain = colons == std::string::npos ? "" : rest.substr(0, colons);
    std::string operator_name = colons == std::string::npos ? rest : rest.substr(colons + 2);
    auto newest = library.find_onnx(domain, operator_name, std::numeric_limits<int64_t>::max());
    // The remedy names the opset: no model says one here.
    return newest ? newest : library.find_onnx(domain, operator_name, 1);
}

Result<Graph> apply(const Template& metakernel, const Library& library, const OperatorArguments& arguments) {
    Session session(library);
    std::vector<Argument> inputs;
    auto add = [&](const InputArgument& input) {
        return input.value ? session.add_constant(input.name, *input.value)
                           : session.add_input(input.name, input.type, input.start);
    };
    for (size_t i = 0; i < arguments.inputs.size(); i++) {
        std::vector<TensorId> tensors;
        for (const InputArgument& input : arguments.inputs[i]) tensors.push_back(add(input));
        if (tensors.empty())
            inputs.emplace_back();
        else if (metakernel.inputs[i].variadic)
            inputs.emplace_back(std::move(tensors));
        else
            inputs.emplace_back(tensors.front());
    }
    while (!inputs.empty() && !inputs.back().given) inputs.pop_back();
    std::vector<std::string> names;
    bool variadic = false;
    for (const TensorSpec& output : metakernel.outputs) {
        names.push_back(output.name);
        variadic = variadic || output.variadic;
    }
    auto results = session.apply(metakernel, inputs, arguments.parameters,
                                 {.names = variadic ? std::vector<std::string>{} : names});
    if (!results) return fail(std::move(results.error()));
    std::erase(*results, -1);
    Graph graph = session.finish(std::move(*results));
    graph.dimension_names = arguments.dimensions;
    return graph;
}

// ---- the operations

Json index_json(const std::vector<IndexAxis>& index) {
    Json list = Json::array();
    for (const IndexAxis& axis : index) {
        list.push_back({{"name", axis.name},
                        {"extent", axis.extent.text()},
                        {"size", axis.extent.value},
                        {"reducer", axis.reducer ? Json(name(*axis.reducer)) : Json(nullptr)},
                        {"ordered", axis.ordered}});
    }
    return list;
}

// "int32[200:210, 50:55]" where the tensor does not begin at zero.
std::string type_text(const Tensor& tensor) {
    if (tensor.start.empty()) return tensor.type.text();
    std::vector<std::string> ranges;
    for (size_t i = 0; i < tensor.start.size(); i++)
        ranges.push_back(fmt::format("{}:{}", tensor.start[i], tensor.start[i] + tensor.type.shape[i].value));
    return fmt::format("{}[{}]", name(tensor.type.dtype), fmt::join(ranges, ", "));
}

Json projection_json(const Tensor& tensor, IndexProjection projection, const std::vector<IndexAxis>& index) {
    std::vector<int64_t> extents = tensor.type.extents();
    IndexProjection named = projection;  // where a dimension that is touched whole still begins at zero
    for (size_t row = 0; row < tensor.start.size(); row++) {
        const auto& coefficients = projection.projection[row];
        bool fixed = std::ranges::all_of(coefficients, [](int64_t coefficient) { return coefficient == 0; });
        bool whole = fixed && projection.offset[row] == 0 && projection.shape[row] == extents[row];
        projection.offset[row] += tensor.start[row];
        if (!whole) named.offset[row] = projection.offset[row];
    }
    auto diagonal = diagonal_notation(named, index, extents);
    return {{"name", tensor.name},
            {"type", type_text(tensor)},
            {"projection", projection.projection},
            {"offset", projection.offset},
            {"shape", projection.shape},
            {"whole", projection.whole},
            {"rows", rows_notation(named, index, extents)},
            {"diagonal", diagonal ? Json(*diagonal) : Json(nullptr)},
            {"structured", structured_notation(projection)},
            {"augmented", projection.augmented_matrix()}};
}

Json tensors_json(const Graph& graph, const std::vector<TensorId>& tensors,
                  const std::vector<IndexProjection>& projections, const std::vector<IndexAxis>& index) {
    Json list = Json::array();
    for (size_t i = 0; i < tensors.size(); i++) {
        const Tensor& tensor = graph.tensor(tensors[i]);
        if (i < projections.size())
            list.push_back(projection_json(tensor, projections[i], index));
        else
            list.push_back({{"name", tensor.name}, {"type", tensor.type.text()}});
    }
    return list;
}

Json operation_json(const Graph& graph, const Operation& operation) {
    std::vector<std::string> inputs, outputs;
    for (TensorId t : operation.inputs) inputs.push_back(graph.tensor(t).name);
    for (TensorId t : operation.outputs) outputs.push_back(graph.tensor(t).name);
    return {{"name", operation.name},
            {"operator", operation.operator_name},
            {"parameters", operation.params},
            {"class", name(class_of(operation))},
            {"index", index_json(operation.index)},
            {"inputs", tensors_json(graph, operation.inputs, operation.input_projections, operation.index)},
            {"outputs", tensors_json(graph, operation.outputs, operation.output_projections, operation.index)},
            {"axes", axes_json(graph, operation)},
            {"body", operation.body ? Json(print(*operation.body, inputs, outputs)) : Json(nullptr)}};
}

Json graph_json(const Template& metakernel, const Graph& graph) {
    Json json = {{"operator", metakernel.name}, {"doc", metakernel.doc}, {"template", print(metakernel)}};
    json["outputs"] = Json::array();
    for (TensorId t : graph.outputs) {
        const Tensor& tensor = graph.tensor(t);
        json["outputs"].push_back(
            {{"name", tensor.name}, {"type", tensor.type.text()}, {"known", tensor.constant.has_value()}});
    }
    json["operations"] = Json::array();
    for (const Operation& operation : graph.operations) json["operations"].push_back(operation_json(graph, operation));
    return json;
}

// From adjoints of the outputs to those of all inputs that are not known and of a float type.
Result<Graph> gradient_of(const Graph& graph) {
    std::vector<TensorId> wanted = graph.inputs;
    auto is_real = [&](TensorId id) { return is_float(graph.tensor(id).type.dtype); };
    // Without any, all are named in the refusal.
    if (std::ranges::any_of(wanted, is_real)) std::erase_if(wanted, std::not_fn(is_real));
    return gradient::gradient(graph, wanted);
}

Json gradient_json(const Graph& graph) {
    auto types = [&](const std::vector<TensorId>& tensors) {
        Json list = Json::array();
        for (TensorId t : tensors)
            list.push_back({{"name", graph.tensor(t).name}, {"type", graph.tensor(t).type.text()}});
        return list;
    };
    Json json = {{"inputs", types(graph.inputs)}, {"outputs", types(graph.outputs)}};
    json["operations"] = Json::array();
    for (const Operation& operation : graph.operations) json["operations"].push_back(operation_json(graph, operation));
    return json;
}

// ---- the compiled parts

Result<Json> equations_json(const Graph& graph, const Target& target) {
    auto system = equations::lower(graph);
    if (!system) return fail(std::move(system.error()));
    Json json;
    json["lowered"] = equations::print(*system);
    equations::optimise(*system);
    json["optimised"] = equations::print(*system);
    auto partition = equations::fuse(*system, target, {});
    json["kernels"] = equations::print(*system, partition);
    json["decisions"] = Json::array();
    for (const auto& decision : partition.decisions) {
        json["decisions"].push_back({{"producer", decision.producer},
                                     {"reader", decision.reader},
                                     {"joined", decision.joined},
                                     {"gain_microseconds", decision.gain},
                                     {"reason", decision.reason}});
    }
    return json;
}

void add_plan_json(const plan::Plan& plan, const ExplainOptions& options, Json& json) {
    if (options.schedule) {
        Json trees = Json::array();
        for (size_t i = 0; i < plan.trees.size(); i++)
            trees.push_back({{"key", plan.keys[i]}, {"tree", schedules::print(*plan.trees[i])}});
        json["schedule"] = {{"plan", plan::print(plan)}, {"kernels", std::move(trees)}};
    }
    if (options.source) {
        json["source"] = Json::array();
        for (size_t i = 0; i < plan.trees.size(); i++) {
            std::string function = "kernel_" + plan.keys[i].substr(0, 8);
            json["source"].push_back({{"function", function}, {"c", backends::c_source(*plan.trees[i], function)}});
        }
    }
}

// The graph with its operations sharded.
Result<Graph> add_shards(const Graph& graph, const ExplainOptions& options, Json& json) {
    auto sharded = shard_operations(graph, options.shards, options.one_round);
    if (!sharded) return fail(std::move(sharded.error()));
    json["sharding"] = Json::array();
    for (const ShardedOperation& operation : *sharded) json["sharding"].push_back(shards_json(operation));
    if (!options.svg.empty()) {
        ShardPicture picture = draw_shards(*sharded);
        auto written = write_file(options.svg, picture.svg.finish(picture.width, picture.height));
        if (!written) return fail(std::move(written.error()));
    }
    return std::move(sharded->back().sharding.graph);
}

// ---- for people

std::string indented(const std::string& text, int by) {
    std::string pad(static_cast<size_t>(by), ' '), result;
    for (size_t begin = 0; begin < text.size();) {
        size_t end = std::min(text.find('\n', begin), text.size());
        if (end > begin) result += pad + text.substr(begin, end - begin);
        result += "\n";
        begin = end + 1;
    }
    return result;
}

std::string text_of(const Json& json, const char* key) { return json[key].get<std::string>(); }

void print_tensors(const char* title, const Json& tensors) {
    for (const Json& tensor : tensors) {
        fmt::print("  {} {}: {}\n", title, text_of(tensor, "name"), text_of(tensor, "type"));
        if (!tensor.contains("rows")) continue;
        fmt::print("    rows        {}\n", text_of(tensor, "rows"));
        if (!tensor["diagonal"].is_null()) fmt::print("    diagonal    {}\n", text_of(tensor, "diagonal"));
        fmt::print("    structured  {}\n", text_of(tensor, "structured"));
        fmt::print("{}", indented(text_of(tensor, "augmented"), 4));
    }
}

void print_operation(const Json& operation) {
    fmt::print("\noperation {} ({})\n", text_of(operation, "name"), text_of(operation, "class"));
    for (const auto& [name, value] : operation["parameters"].items())
        fmt::print("  {} = {}\n", name, value.get<std::string>());
    std::vector<std::string> index, extended;
    for (const Json& axis : operation["index"]) {
        std::string extent = text_of(axis, "extent"), size = std::to_string(axis["size"].get<int64_t>());
        std::string text = fmt::format("{} = {}{}", text_of(axis, "name"), extent, extent == size ? "" : " = " + size);
        if (axis["ordered"].get<bool>())
            extended.push_back(text + " in order");
        else if (axis["reducer"].is_null())
            index.push_back(text);
        else
            extended.push_back(fmt::format("{} by {}", text, text_of(axis, "reducer")));
    }
    fmt::print("  index [{}]\n", fmt::join(index, ", "));
    if (!extended.empty()) fmt::print("  extended by [{}]\n", fmt::join(extended, ", "));
    print_tensors("input", operation["inputs"]);
    print_tensors("output", operation["outputs"]);
    if (!operation["axes"].empty()) fmt::print("  shards along\n{}", axes_text(operation["axes"]));
    if (operation["body"].is_null())
        fmt::print("  no body: a kernel elsewhere\n");
    else
        fmt::print("  body\n{}", indented(text_of(operation, "body"), 4));
}

void print_gradient(const Json& json) {
    fmt::print("\ngradient\n");
    for (const Json& input : json["inputs"])
        fmt::print("  from {}: {}\n", text_of(input, "name"), text_of(input, "type"));
    for (const Json& output : json["outputs"])
        fmt::print("  to {}: {}\n", text_of(output, "name"), text_of(output, "type"));
    for (const Json& operation : json["operations"]) print_operation(operation);
}

void print_equations(const Json& json) {
    fmt::print("\nequations as lowered\n{}", indented(text_of(json, "lowered"), 2));
    fmt::print("\nequations after substitution\n{}", indented(text_of(json, "optimised"), 2));
    fmt::print("\nkernels\n{}", indented(text_of(json, "kernels"), 2));
    if (!json["decisions"].empty()) fmt::print("\ndecisions\n");
    for (const Json& decision : json["decisions"]) {
        fmt::print("  {} -> {}: {}, gain {:.3g} us{}\n", text_of(decision, "producer"), text_of(decision, "reader"),
                   decision["joined"].get<bool>() ? "fused" : "not fused", decision["gain_microseconds"].get<double>(),
                   text_of(decision, "reason").empty() ? "" : ": " + text_of(decision, "reason"));
    }
}

void print_text(const Json& json) {
    if (!text_of(json, "doc").empty()) fmt::print("{}\n\n", text_of(json, "doc"));
    fmt::print("{}\n", text_of(json, "template"));
    for (const Json& output : json["outputs"]) {
        fmt::print("result {}: {}{}\n", text_of(output, "name"), text_of(output, "type"),
                   output["known"].get<bool>() ? ", computed already from what is known" : "");
    }
    for (const Json& operation : json["operations"]) print_operation(operation);
    if (json.contains("sharding")) {
        for (const Json& shards : json["sharding"]) fmt::print("{}", shards_text(shards));
    }
    if (json.contains("gradient")) print_gradient(json["gradient"]);
    if (json.contains("equations")) print_equations(json["equations"]);
    if (json.contains("schedule")) fmt::print("\n{}", text_of(json["schedule"], "plan"));
    if (json.contains("source")) {
        for (const Json& kernel : json["source"]) fmt::print("\n{}", text_of(kernel, "c"));
    }
}

Result<Json> explain(const ExplainOptions& options) {
    auto library = open_libraries(options.common);
    if (!library) return fail(std::move(library.error()));
    auto metakernel = find_operator(*library, options.operator_name);
    if (!metakernel) return fail(std::move(metakernel.error()));
    // Without arguments there is only the template to show.
    if (options.arguments.empty() && !(*metakernel)->inputs.empty()) {
        Json json = {{"operator", (*metakernel)->name}, {"doc", (*metakernel)->doc}, {"template", print(**metakernel)}};
        json["outputs"] = json["operations"] = Json::array();
        return json;
    }
    auto arguments = parse_operator_arguments(**metakernel, options.arguments);
    if (!arguments) return fail(std::move(arguments.error()));
    auto graph = apply(**metakernel, *library, *arguments);
    if (!graph) return fail(std::move(graph.error()));
    Json json = graph_json(**metakernel, *graph);
    if (options.gradient) {
        graph = gradient_of(*graph);
        if (!graph) return fail(std::move(graph.error()));
        json["gradient"] = gradient_json(*graph);
    }
    if (!options.shards.empty()) {
        auto sharded = add_shards(*graph, options, json);
        if (!sharded) return fail(std::move(sharded.error()));
        *graph = std::move(*sharded);  // what follows is of the shards
    }
    Target target = detect_host();
    if (options.equations) {
        auto equations = equations_json(*graph, target);
        if (!equations) return fail(std::move(equations.error()));
        json["equations"] = std::move(*equations);
    }
    if (options.schedule || options.source) {
        auto plan = plan::make_plan(*graph, target);
        if (!plan) return fail(std::move(plan.error()));
        add_plan_json(*plan, options, json);
    }
    return json;
}

Result<std::string> kernel_document(const ExplainOptions& options) {
    auto library = open_libraries(options.common);
    if (!library) return fail(std::move(library.error()));
    flavours::Registry registry;
    flavours::KernelMatrix matrix(*library, registry);
    std::vector<std::string> operators = {options.operator_name};
    if (options.operator_name.empty()) {
        operators = library->names();
        std::erase_if(operators, [&](const std::string& name) { return !library->find(name); });  // ambiguous ones
    }
    Diagnostics problems = matrix.check(operators);
    if (!problems.empty()) return fail(std::move(problems));
    return options.common.json ? matrix.json(operators) : matrix.markdown(operators);
}

}  // namespace

int explain_operator(const ExplainOptions& options) {
    if (options.kernels) {
        auto text = kernel_document(options);
        if (!text) return report(text.error(), options.common);
        fmt::print("{}", *text);
        return 0;
    }
    auto json = explain(options);
    if (!json) return report(json.error(), options.common);
    if (options.common.json) {
        fmt::print("{}\n", json->dump(2, ' ', false, Json::error_handler_t::replace));
    } else {
        print_text(*json);
    }
    return 0;
}

}  // namespace heddle::cli
