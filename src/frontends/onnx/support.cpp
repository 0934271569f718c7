// What of a model is not supported, all at once.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "frontends/onnx/import.h"

namespace heddle::onnx {
namespace {

struct Occurrences {
    int64_t count = 0;
    std::string first_node;
    Diagnostic cause;
    bool holds_graph = false;  // the node does: it is control flow
};

int64_t opset_of(const OnnxModel& model, const std::string& domain) {
    auto found = model.opsets.find(domain);
    return found == model.opsets.end() ? 0 : found->second;
}

// The graph and those within its nodes. A model's nesting is limited when it is read.
template <typename Visit>
void for_each_graph(const OnnxGraph& graph, const Visit& visit) {
    visit(graph);
    for (const OnnxNode& node : graph.nodes) {
        for (const OnnxAttribute& attribute : node.attributes) {
            if (attribute.graph) for_each_graph(*attribute.graph, visit);
        }
    }
}

using Missing = std::map<std::pair<std::string, std::string>, Occurrences>;

void find_missing(const OnnxGraph& graph, const OnnxModel& model, const Library& library, Missing& missing) {
    for (const OnnxNode& node : graph.nodes) {
        if (is_branch(node)) continue;
        auto key = std::make_pair(node.domain, node.operator_type);
        if (auto known = missing.find(key); known != missing.end()) {
            known->second.count++;
            continue;
        }
        auto found = library.find_onnx(node.domain, node.operator_type, opset_of(model, node.domain));
        const bool holds_graph = std::ranges::any_of(node.attributes, [](const auto& a) { return a.graph != nullptr; });
        if (!found) missing[key] = {1, node.label(), found.error().front(), holds_graph};
    }
}

void check_nodes(const OnnxModel& model, const Library& library, Diagnostics& problems) {
    Missing missing;
    for_each_graph(model.graph, [&](const OnnxGraph& graph) { find_missing(graph, model, library, missing); });
    for (auto& [key, occurrences] : missing) {
        const auto& [domain, name] = key;
        std::string full = domain.empty() ? name : domain + "." + name;
        // A template that is there but broken says itself what is wrong.
        bool broken = occurrences.cause.place.source != nullptr;
        Diagnostic problem = broken ? occurrences.cause : Diagnostic{};
        if (!broken) {
            problem.code = "onnx.unsupported_operator";
            problem.summary =
                fmt::format("the operator '{}' of opset {} is not supported", full, opset_of(model, domain));
            problem.reason = occurrences.holds_graph ? "its nodes hold graphs, and no template stands for control flow"
                                                     : occurrences.cause.summary;
            problem.remedy = occurrences.holds_graph ? "" : occurrences.cause.remedy;
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
    for_each_graph(model.graph, [&](const OnnxGraph& graph) {
        for (const OnnxTensor& tensor : graph.initializers) visit(tensor, tensor.name);
        for (const OnnxNode& node : graph.nodes) {
            for (const OnnxAttribute& attribute : node.attributes) {
                if (attribute.tensor) visit(*attribute.tensor, node.label());
            }
        }
    });
}

void check_files(const OnnxModel& model, Diagnostics& problems) {
    std::string first;
    int64_t count = 0;
    for_each_tensor(model, [&](const OnnxTensor& tensor, const std::string& name) {
        if (tensor.is_external && count++ == 0) first = name;
    });
    if (count > 0) problems.push_back(external_data(model.path, first, count));
}

void check_types(const OnnxModel& model, Diagnostics& problems) {
    std::map<std::string, Occurrences> missing;
    auto note = [&](const std::string& type, const std::string& tensor) {
        auto [entry, added] = missing.try_emplace(type);
        if (added) entry->second.first_node = tensor;
        entry->second.count++;
    };
    for (const OnnxValue* input : caller_inputs(model)) {
        if (!input->dtype) note(input->type_text, input->name);
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

void check_opsets(const OnnxModel& model, Diagnostics& problems) {
    constexpr int64_t newest = 27;
    auto own = model.opsets.find("");
    bool used = false;
    for (const OnnxNode& node : model.graph.nodes) used |= node.domain.empty();
    if (own == model.opsets.end() && used) {
        problems.push_back({.code = "onnx.opset",
                            .summary = "the model does not say which opset it uses",
                            .params = {{"file", model.path}}});
    } else if (own != model.opsets.end() && (own->second < 1 || own->second > newest)) {
        problems.push_back({.code = "onnx.opset",
                            .summary = "the model uses an opset that is not known",
                            .expected = fmt::format("1 to {}", newest),
                            .found = std::to_string(own->second),
                            .params = {{"file", model.path}}});
    }
}

}  // namespace

Coverage coverage_of(const OnnxModel& model, const Library& library) {
    std::map<std::pair<std::string, std::string>, bool> known;
    Coverage coverage;
    for_each_graph(model.graph, [&](const OnnxGraph& graph) {
        for (const OnnxNode& node : graph.nodes) {
            auto [entry, added] = known.try_emplace({node.domain, node.operator_type}, is_branch(node));
            if (added && !entry->second)
                entry->second =
                    library.find_onnx(node.domain, node.operator_type, opset_of(model, node.domain)).has_value();
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
