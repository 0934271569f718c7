// What of a model is not supported, all at once.
#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "frontends/onnx/functions.h"
#include "frontends/onnx/import.h"

namespace heddle::onnx {
namespace {

struct Occurrences {
    int64_t count = 0;
    std::string first_node;
    Diagnostic cause;
    bool holds_graph = false;  // the node does: it is control flow
};

// The model's graph, those of functions that are called, and those within their nodes; and the function, null for none.
template <typename Visit>
void for_each_graph(const OnnxModel& model, const Visit& visit) {
    auto visit_all = [&](const OnnxGraph& graph, const OnnxFunction* function) {
        for_each_graph(graph, [&](const OnnxGraph& inner) { visit(inner, function); });
    };
    visit_all(model.graph, nullptr);
    for (const OnnxFunction& function : model.functions) {
        if (function.is_called) visit_all(function.graph, &function);
    }
}

// A call of a function, or an `If`: made of other nodes. A step: between graphs.
bool needs_no_template(const OnnxNode& node) { return node.function >= 0 || is_branch(node) || is_step(node); }

using Missing = std::map<std::tuple<std::string, std::string, int64_t>, Occurrences>;  // domain, name, opset

void find_missing(const OnnxGraph& graph, const OnnxFunction* function, const OnnxModel& model, const Library& library,
                  Missing& missing) {
    for (const OnnxNode& node : graph.nodes) {
        if (needs_no_template(node)) continue;
        const int64_t opset = model.opset_of(function, node.domain);
        auto key = std::make_tuple(node.domain, node.operator_type, opset);
        if (auto known = missing.find(key); known != missing.end()) {
            known->second.count++;
            continue;
        }
        auto found = library.find_onnx(node.domain, node.operator_type, opset);
        const bool holds_graph = std::ranges::any_of(node.attributes, [](const auto& a) { return a.graph != nullptr; });
        if (!found) missing[key] = {1, node.label(), found.error().front(), holds_graph};
    }
}

void check_nodes(const OnnxModel& model, const Library& library, Diagnostics& problems) {
    Missing missing;
    for_each_graph(model, [&](const OnnxGraph& graph, const OnnxFunction* function) {
        find_missing(graph, function, model, library, missing);
    });
    for (auto& [key, occurrences] : missing) {
        const auto& [domain, name, opset] = key;
        std::string full = domain.empty() ? name : domain + "." + name;
        // A template that is there but broken says itself what is wrong.
        bool broken = occurrences.cause.place.source != nullptr;
        Diagnostic problem = broken ? occurrences.cause : Diagnostic{};
        if (!broken) {
            problem.code = "onnx.unsupported_operator";
            problem.summary = fmt::format("the operator '{}' of opset {} is not supported", full, opset);
            const Diagnostic& cause = occurrences.cause;
            problem.reason = !cause.reason.empty() ? cause.reason
                             : occurrences.holds_graph
                                 ? "its nodes hold graphs, and no template stands for control flow"
                                 : cause.summary;
            problem.remedy = occurrences.holds_graph && cause.reason.empty() ? "" : cause.remedy;
        }
        problem.found = fmt::format("{} node{}, the first is '{}'", occurrences.count, occurrences.count > 1 ? "s" : "",
                                    occurrences.first_node);
        problem.params = {{"file", model.path},
                          {"operator", full},
                          {"count", std::to_string(occurrences.count)},
                          {"node", occurrences.first_node}};
        problems.push_back(std::move(problem));
    }
}

template <typename Visit>
void for_each_tensor(const OnnxModel& model, const Visit& visit) {
    auto visit_attribute = [&](const OnnxAttribute& attribute, const std::string& name) {
        if (attribute.tensor) visit(*attribute.tensor, name);
    };
    for (const OnnxFunction& function : model.functions) {
        for (const OnnxAttribute& attribute : function.defaults) visit_attribute(attribute, function.label());
    }
    for_each_graph(model, [&](const OnnxGraph& graph, const OnnxFunction*) {
        for (const OnnxTensor& tensor : graph.initializers) visit(tensor, tensor.name);
        for (const OnnxNode& node : graph.nodes) {
            for (const OnnxAttribute& attribute : node.attributes) visit_attribute(attribute, node.label());
        }
    });
}

void check_files(const OnnxModel& model, Diagnostics& problems) {
    for (Diagnostic problem : model.data_problems) {
        problem.params.push_back({"file", model.path});
        problems.push_back(std::move(problem));
    }
}

void check_types(const OnnxModel& model, Diagnostics& problems) {
    std::map<std::string, Occurrences> missing;
    auto note = [&](const std::string& type, const std::string& tensor) {
        auto [entry, added] = missing.try_emplace(type);
        if (added) entry->second.first_node = tensor;
        entry->second.count++;
    };
    for (const OnnxValue* input : caller_inputs(model)) {
        if (!input->dtype && !is_list(*input)) note(input->type_text, input->name);
    }
    for_each_tensor(model, [&](const OnnxTensor& tensor, const std::string& name) {
        if (!tensor.data && !tensor.is_external) note(tensor.type_text, name);
    });
    for (const auto& [type, occurrences] : missing) {
        problems.push_back({.code = "onnx.unsupported_dtype",
                            .summary = fmt::format("tensors of type '{}' are not supported", type),
                            .found = fmt::format("{} tensor{}, the first is '{}'", occurrences.count,
                                                 occurrences.count > 1 ? "s" : "", occurrences.first_node),
                            .params = {{"file", model.path}, {"type", type}}});
    }
}

// The opset of ONNX's own domain, of the model or of a function.
void check_opset(const OnnxModel& model, const OnnxFunction* function, bool is_used, Diagnostics& problems) {
    constexpr int64_t newest = 27;
    const std::string who = function ? fmt::format("the function '{}'", function->label()) : "the model";
    const Opsets& own = function ? function->opsets : model.opsets;
    const int64_t opset = model.opset_of(function, "");
    if (!own.contains("") && is_used && opset == 0) {
        problems.push_back({.code = "onnx.opset",
                            .summary = fmt::format("{} does not say which opset it uses", who),
                            .params = {{"file", model.path}}});
    } else if (own.contains("") && (opset < 1 || opset > newest)) {
        problems.push_back({.code = "onnx.opset",
                            .summary = fmt::format("{} uses an opset that is not known", who),
                            .expected = fmt::format("1 to {}", newest),
                            .found = std::to_string(opset),
                            .params = {{"file", model.path}}});
    }
}

void check_opsets(const OnnxModel& model, Diagnostics& problems) {
    std::map<const OnnxFunction*, bool> used{{nullptr, false}};
    std::vector<const OnnxFunction*> graphs{nullptr};
    for_each_graph(model, [&](const OnnxGraph& graph, const OnnxFunction* function) {
        if (used.try_emplace(function, false).second) graphs.push_back(function);
        for (const OnnxNode& node : graph.nodes) used[function] |= node.domain.empty() && node.function < 0;
    });
    for (const OnnxFunction* function : graphs) check_opset(model, function, used[function], problems);
}

}  // namespace

Coverage coverage_of(const OnnxModel& model, const Library& library) {
    std::map<std::tuple<std::string, std::string, int64_t>, bool> known;
    Coverage coverage;
    for_each_graph(model, [&](const OnnxGraph& graph, const OnnxFunction* function) {
        for (const OnnxNode& node : graph.nodes) {
            const int64_t opset = model.opset_of(function, node.domain);
            auto [entry, added] = known.try_emplace({node.domain, node.operator_type, opset}, needs_no_template(node));
            if (added && !entry->second)
                entry->second = library.find_onnx(node.domain, node.operator_type, opset).has_value();
            coverage.nodes++;
            coverage.covered += entry->second;
        }
    });
    coverage.operators = static_cast<int64_t>(known.size());
    return coverage;
}

Diagnostics check_support(const OnnxModel& model, const Library& library) {
    Diagnostics problems;
    check_opsets(model, problems);
    check_files(model, problems);
    check_types(model, problems);
    check_nodes(model, library, problems);
    return problems;
}

}  // namespace heddle::onnx
