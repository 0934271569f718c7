// Documents of graphs: names, ranges that begin anywhere, applications; and applying operators again.
#include "document_test_support.h"

#include <algorithm>
#include <functional>

#include "interchange/json_tree.h"
#include "interchange/box.h"
#include "symbolic/program.h"

namespace heddle::interchange {
namespace {

template <typename Body>
std::vector<const DocumentNode*> nodes(const GraphDocument& document) {
    std::vector<const DocumentNode*> result;
    for (const DocumentNode& node : document.nodes) {
        if (std::holds_alternative<Body>(node.body)) result.push_back(&node);
    }
    return result;
}

std::string problems(const GraphDocument& document) { return render(issues_of(document, "heddle")); }

Result<GraphDocument> called(const std::string& call, const std::vector<ProgramInput>& inputs) {
    auto graph = build_program(std::make_shared<SourceText>("call", call), library(), inputs);
    if (!graph) return fail(std::move(graph.error()));
    return to_document(*graph);
}

TEST(Metakernels6, TheExampleFromCpp) {
    GraphBuilder graph(library());
    TensorId a = graph.tensor("A", DType::int32, {{0, 0}, {10, 10}});
    TensorId b = graph.tensor("B", DType::int32, {{0, 0}, {10, 10}});
    auto sum = graph.apply("add", {std::vector{a, b}}, {}, "sum");
    ASSERT_TRUE(sum) << render(sum.error());
    GraphDocument document = graph.document();
    Validation validation = validate(document, {dialect("heddle"), &library(), nullptr});
    EXPECT_TRUE(validation.issues.empty()) << render(validation.issues);
    EXPECT_EQ(validation.applied_again, 1u);

    EXPECT_EQ(nodes<TensorBody>(document).size(), 3u);  // two inputs and the result
    auto operations = nodes<OperationBody>(document), applications = nodes<ApplicationBody>(document);
    ASSERT_EQ(operations.size(), 1u);
    ASSERT_EQ(applications.size(), 1u);
    DocumentRange index{{0, 0}, {10, 10}};
    EXPECT_EQ(operations[0]->tags->index, index);
    EXPECT_EQ(operations[0]->tags->signature->inputs[0].first, "tensors");
    EXPECT_EQ(operations[0]->tags->signature->inputs[0].second[1],
              (DocumentProjection{{{1, 0}, {0, 1}}, {0, 0}, {1, 1}}));
    EXPECT_EQ(operations[0]->tags->signature->outputs[0].first, "y");
    EXPECT_EQ(applications[0]->tags->index, index);
    EXPECT_EQ(std::get<ApplicationBody>(applications[0]->body).operation_id, operations[0]->id);
    std::string text = print_graph_json(document);
    EXPECT_EQ(print_graph_json(parsed(text)), text);
    EXPECT_EQ(print_graph_json(graph.document()), text);
    EXPECT_FALSE(graph.apply("no_such_operator", {a}));
}

TEST(Metakernels5, ProjectionsMoveWithTheStartOfATensor) {
    GraphBuilder graph(library());
    TensorId t0 = graph.tensor("t0", DType::int32, {{0, 0}, {10, 5}});
    TensorId t1 = graph.tensor("t1", DType::int32, {{200, 50}, {210, 55}});
    TensorId row = graph.tensor("row", DType::int32, {{-7, 3}, {-6, 8}});  // broadcasts
    TensorId z = graph.apply("add", {std::vector{t0, t1, row}}).value()[0];
    DocumentOptions cut;
    cut.shards[OperationId(0)] = {{{0, 0}, {5, 5}}, {{5, 0}, {10, 5}}};
    GraphDocument document = graph.document(cut);
    EXPECT_EQ(problems(document), "");
    EXPECT_EQ(graph.graph().tensor(z).type.text(), "int32[10, 5]");
    const auto& signature = *nodes<OperationBody>(document)[0]->tags->signature;
    const auto& tensors = signature.inputs[0].second;
    ASSERT_EQ(tensors.size(), 3u);
    EXPECT_EQ(tensors[0], (DocumentProjection{{{1, 0}, {0, 1}}, {0, 0}, {1, 1}}));
    EXPECT_EQ(tensors[1], (DocumentProjection{{{1, 0}, {0, 1}}, {200, 50}, {1, 1}}));
    EXPECT_EQ(tensors[2], (DocumentProjection{{{0, 0}, {0, 1}}, {-7, 3}, {1, 1}}));
    // The second application is the published one.
    auto applications = nodes<ApplicationBody>(document);
    ASSERT_EQ(applications.size(), 2u);
    size_t second = applications[0]->tags->index == DocumentRange{{5, 0}, {10, 5}} ? 0 : 1;
    const auto& inputs = *std::get<ApplicationBody>(applications[second]->body).inputs;
    EXPECT_EQ(inputs[0].second[1].range, (DocumentRange{{205, 50}, {210, 55}}));
    EXPECT_EQ(inputs[0].second[2].range, (DocumentRange{{-7, 3}, {-6, 8}}));
}

TEST(Documents, ManyOperatorsAreValid) {
    TensorType matrix{DType::float32, {6, 8}}, image{DType::float32, {1, 3, 9, 9}},
        weight{DType::float32, {4, 3, 3, 3}};
    const std::vector<std::pair<std::string, std::vector<ProgramInput>>> cases = {
        {"matmul(x, w)", {{"x", matrix, {100, -3}}, {"w", {DType::float32, {8, 5}}}}},
        {"softmax(x, axis: 1)", {{"x", matrix, {5, 6}}}},
        {"concat([x, y], axis: 0)", {{"x", matrix}, {"y", {DType::float32, {2, 8}}, {9, 9}}}},
        {"split(x, chunk: 3, axis: 1)[1]", {{"x", matrix}}},
        {"transpose(x, perm: [1, 0])", {{"x", matrix, {1, 2}}}},
        {"y = cast(x, to: bool); z = cast(y, to: float16)", {{"x", matrix}}},
        {"z = add([x, x]); y = add2(z, reduce_sum(x, axes: [0]))", {{"x", matrix, {4, 4}}}},
        {"conv(x, w, pads: [1, 1, 1, 1], strides: [2, 2])", {{"x", image, {0, 0, 50, 60}}, {"w", weight}}},
    };
    for (const auto& [call, inputs] : cases) {
        auto document = called(call, inputs);
        ASSERT_TRUE(document) << call << "\n" << render(document.error());
        EXPECT_EQ(problems(*document), "") << call;
        std::string text = print_graph_json(*document);
        EXPECT_EQ(print_graph_json(parsed(text)), text) << call;
    }
}

// What is guarded is clipped, and stays so in applications at the border.
TEST(Documents, GuardedReadsAreClipped) {
    auto document = called("conv(x, w, pads: [1, 1, 1, 1])", {{"x", {DType::float32, {1, 3, 9, 9}}, {0, 0, 50, 60}},
                                                              {"w", {DType::float32, {4, 3, 3, 3}}}});
    ASSERT_TRUE(document) << render(document.error());
    const DocumentNode* operation = nullptr;
    for (const DocumentNode* node : nodes<OperationBody>(*document)) {
        for (const auto& [name, list] : node->tags->signature->inputs) {
            if (list[0].clip) operation = node;
        }
    }
    ASSERT_TRUE(operation);
    EXPECT_EQ(problems(*document), "");
    // Without clip the same selections are wrong.
    GraphDocument broken = *document;
    for (auto& [name, list] : node(broken, operation->id).tags->signature->inputs) {
        for (auto& projection : list) projection.clip.reset();
    }
    EXPECT_NE(codes_text(issues_of(broken)).find("interchange.selection"), std::string::npos);
}

TEST(Documents, OperatorsAreAppliedAgain) {
    auto make = [] {
        return *called("matmul(X, W)", {{"X", {DType::float32, {4, 6}}, {10, 20}}, {"W", {DType::float32, {6, 5}}}});
    };
    GraphDocument right = make();
    ASSERT_EQ(problems(right), "");
    auto operation = [](GraphDocument& document) -> DocumentNode& {
        for (DocumentNode& node : document.nodes) {
            if (std::holds_alternative<OperationBody>(node.body)) return node;
        }
        return document.nodes[0];
    };
    auto without_applications = [](GraphDocument document) {
        std::erase_if(document.nodes,
                      [](const auto& node) { return std::holds_alternative<ApplicationBody>(node.body); });
        return document;
    };
    // Another kernel, with the same operands' names or not.
    GraphDocument other = make();
    std::get<OperationBody>(operation(other).body).kernel = "add";
    EXPECT_EQ(codes_text(issues_of(other, "heddle")), "interchange.operator_refuses");
    other = make();
    std::get<OperationBody>(operation(other).body).kernel = "no_such_kernel";
    EXPECT_EQ(codes_text(issues_of(other, "heddle")), "interchange.unknown_kernel");
    other = make();
    std::get<OperationBody>(operation(other).body).params = {{{"axis", "3"}}};
    Diagnostics issues = issues_of(other, "heddle");
    ASSERT_EQ(codes_text(issues), "interchange.operator_refuses");
    EXPECT_EQ(param(issues[0], "error"), "symbolic.unknown_parameter");
    // An output of another dtype.
    other = make();
    for (DocumentNode& node : other.nodes) {
        auto* tensor = std::get_if<TensorBody>(&node.body);
        if (tensor && tensor->range.end == std::vector<int64_t>{4, 5}) tensor->dtype = "float64";
    }
    issues = issues_of(other, "heddle");
    ASSERT_EQ(codes_text(issues), "interchange.operator_differs") << render(issues);
    EXPECT_EQ(issues[0].expected, "float32[4, 5]");
    // The whole signature turned round: it fits its selections, and is not what matmul does.
    other = without_applications(make());
    auto& tags = *operation(other).tags;
    tags.index = {{0}, {1}};
    for (auto* side : {&tags.signature->inputs, &tags.signature->outputs}) {
        for (auto& [name, list] : *side) {
            for (auto& projection : list) {
                projection.projection.assign(2, {0});
                projection.shape = name == "X"   ? std::vector<int64_t>{4, 6}
                                   : name == "W" ? std::vector<int64_t>{6, 5}
                                                 : std::vector<int64_t>{4, 5};
            }
        }
    }
    EXPECT_TRUE(issues_of(other).empty()) << render(issues_of(other));
    issues = issues_of(other, "heddle");
    ASSERT_EQ(codes_text(issues), "interchange.operator_differs") << render(issues);
    EXPECT_EQ(issues[0].expected, "[0:4, 0:5]");
    // The index may begin elsewhere, if its projections do too.
    other = without_applications(make());
    auto& moved = *operation(other).tags;
    for (auto* side : {&moved.signature->inputs, &moved.signature->outputs}) {
        for (auto& [name, list] : *side) {
            for (auto& projection : list) {
                for (size_t row = 0; row < 2; row++) projection.offset[row] -= projection.projection[row][0] * 7;
            }
        }
    }
    moved.index = {{7, 0}, {11, 5}};
    EXPECT_EQ(problems(other), "");
    // A looser projection of an input selects the same in all, and is another one.
    other = without_applications(make());
    auto& loose = operation(other).tags->signature->inputs[0].second[0];
    loose.projection.assign(2, {0, 0});
    loose.offset = {10, 20};
    loose.shape = {4, 6};
    EXPECT_TRUE(issues_of(other).empty());
    EXPECT_EQ(codes_text(issues_of(other, "heddle")), "interchange.operator_differs");
}

// Operators with `each`: their operations say which they are, and are applied again together.
std::vector<GraphDocument> documents_of_each() {
    TensorType matrix{DType::float32, {6, 8}};
    const std::vector<std::pair<std::string, std::vector<ProgramInput>>> cases = {
        {"concat([x, y, x], axis: -1)", {{"x", matrix, {3, 4}}, {"y", {DType::float32, {6, 2}}}}},
        {"concat([x], axis: 0)", {{"x", matrix}}},
        {"stack([x, y], axis: 1)", {{"x", matrix}, {"y", matrix, {-7, 7}}}},
        {"p = split(x, chunk: 3, axis: 1); y = concat([p[2], p[0], p[1]], axis: 1)", {{"x", matrix, {5, 6}}}},
        {"p = split_sizes(x, sizes: [1, 5, 2], axis: 1); y = concat([p[2], p[1]], axis: 1); q = split(y, chunk: 4);"
         "z = concat([q[1], q[0]], axis: 0)",
         {{"x", matrix}}},
    };
    std::vector<GraphDocument> result;
    for (const auto& [call, inputs] : cases) {
        auto document = called(call, inputs);
        EXPECT_TRUE(document) << call << "\n" << render(document.error());
        if (document) result.push_back(std::move(*document));
    }
    return result;
}

TEST(Metakernels7, OperatorsWithEachAreAppliedAgain) {
    std::vector<size_t> applied;
    for (const GraphDocument& document : documents_of_each()) {
        std::string text = print_graph_json(document);
        GraphDocument read = parsed(text);
        EXPECT_EQ(print_graph_json(read), text);
        Validation validation = validate(read, {dialect("heddle"), &library(), nullptr});
        EXPECT_TRUE(validation.issues.empty()) << render(validation.issues) << text;
        EXPECT_TRUE(validation.not_applied_again.empty());
        applied.push_back(validation.applied_again);
    }
    EXPECT_EQ(applied, (std::vector<size_t>{1, 1, 1, 2, 4}));
}

// Every operation of a document of concat, changed in one way.
std::string changed_each(const std::function<void(OperationBody&)>& change, size_t which = 0, size_t number = 1) {
    GraphDocument document = documents_of_each()[which];
    std::erase_if(document.nodes, [](const auto& node) { return std::holds_alternative<ApplicationBody>(node.body); });
    std::string each = fmt::format("\"value\": {}", number);
    for (DocumentNode& node : document.nodes) {
        auto* body = std::get_if<OperationBody>(&node.body);
        if (!body) continue;
        for (const auto& [name, json] : *body->params) {
            if (name != "$each" || json.find(each) == std::string::npos) continue;
            change(*body);
            return codes_text(validate(document, {dialect("heddle"), &library(), nullptr}).issues);
        }
    }
    return "no such operation";
}

std::function<void(OperationBody&)> set_parameter(const std::string& name, const std::string& json) {
    return [=](OperationBody& body) {
        for (auto& [known, value] : *body.params) {
            if (known == name) value = json;
        }
    };
}

TEST(Documents, WrongPartsOfAUseAreNoticed) {
    const std::string refuses = "interchange.operator_refuses";
    EXPECT_EQ(changed_each([](OperationBody&) {}), "");
    for (const char* wrong : {"3", "{\"of\": \"concat[0]\"}", "{\"of\": 1, \"value\": 1}",
                              "{\"of\": \"\", \"value\": -1}", "{\"of\": \"\", \"value\": 1, \"more\": 1}"})
        EXPECT_EQ(changed_each(set_parameter("$each", wrong)), refuses) << wrong;
    for (const char* wrong : {"[1]", "{\"inputs\": {\"tensors\": [1, 2]}}", "{\"inputs\": {\"tensors\": [-1]}}",
                              "{\"inputs\": [1]}", "{\"index\": {}}", "{\"inputs\": {\"tensors\": 1}}"})
        EXPECT_EQ(changed_each(set_parameter("$elements", wrong)), refuses) << wrong;
    // Other parameters than its siblings have; the value of a sibling; its tensor.
    EXPECT_EQ(changed_each(set_parameter("axis", "0")), refuses);
    EXPECT_EQ(changed_each([](OperationBody& body) {
                  for (auto& [name, json] : *body.params) {
                      if (name == "$each") json.replace(json.find(": 1"), 3, ": 2");
                  }
              }),
              refuses);
    EXPECT_EQ(changed_each(set_parameter("$elements", "{\"inputs\": {\"tensors\": [0]}}")), refuses);
}

TEST(Documents, WhatCannotBeAppliedAgainIsSaid) {
    auto told = [](const std::function<void(OperationBody&)>& change) {
        GraphDocument document = documents_of_each()[2];
        for (DocumentNode& node : document.nodes) {
            if (auto* body = std::get_if<OperationBody>(&node.body)) change(*body);
        }
        Validation validation = validate(document, {dialect("heddle"), &library(), nullptr});
        EXPECT_TRUE(validation.issues.empty()) << render(validation.issues);
        return validation.applied_again == 0 ? validation.not_applied_again : std::vector<std::string>{};
    };
    auto without = [](OperationBody& body) {
        std::erase_if(*body.params, [](const auto& parameter) { return parameter.first == "$each"; });
    };
    EXPECT_EQ(told(without).size(), 2u);
    // Each alone: the second tells that there is a tensor before its own.
    int uses = 0;
    auto alone = [&](OperationBody& body) {
        set_parameter("$each", fmt::format("{{\"of\": \"{}\", \"value\": {}}}", uses, uses))(body);
        uses++;
    };
    GraphDocument document = documents_of_each()[2];
    for (DocumentNode& node : document.nodes) {
        if (auto* body = std::get_if<OperationBody>(&node.body)) alone(*body);
    }
    Validation validation = validate(document, {dialect("heddle"), &library(), nullptr});
    ASSERT_EQ(validation.not_applied_again.size(), 1u);
    EXPECT_NE(validation.not_applied_again[0].find("another operation of its use reads"), std::string::npos);
    // An operation without points reads nothing, so the document does not say which tensor it was of.
    auto empty = called("concat([x, y, x], axis: 1)", {{"x", {DType::float32, {6, 8}}}, {"y", {DType::float32, {6, 0}}}});
    ASSERT_TRUE(empty) << render(empty.error());
    validation = validate(*empty, {dialect("heddle"), &library(), nullptr});
    EXPECT_TRUE(validation.issues.empty()) << render(validation.issues);
    EXPECT_EQ(validation.not_applied_again.size(), 1u);
}

// What reads a part of a tensor is applied to the whole tensor, as in graphs of ours, or to the part.
TEST(Documents, PartsOfTensorsAreApplied) {
    auto part = called("slice(x, starts: [2], ends: [5], axes: [0])", {{"x", {DType::float32, {10}}, {7}}});
    ASSERT_TRUE(part) << render(part.error());
    EXPECT_EQ(problems(*part), "");
    GraphDocument view = *called("add([x, x])", {{"x", {DType::float32, {4}}, {3}}});
    for (DocumentNode& node : view.nodes) {
        if (node.label == "x") std::get<TensorBody>(node.body).range = {{0}, {100}};
    }
    EXPECT_EQ(problems(view), "");
    for (DocumentNode& node : part->nodes) {
        if (auto* body = std::get_if<OperationBody>(&node.body)) set_parameter("ends", "[4]")(*body);
    }
    EXPECT_EQ(codes_text(issues_of(*part, "heddle")), "interchange.operator_differs interchange.operator_differs");
}

// A small document may ask for many operations.
TEST(Documents, WorkOfApplyingAgainIsBounded) {
    GraphDocument document = *called("split(x, chunk: 1)[0]", {{"x", {DType::float32, {4000}}}});
    std::vector<DocumentNode> more;
    for (const DocumentNode& node : document.nodes) {
        const auto* operation = std::get_if<OperationBody>(&node.body);
        if (!operation) continue;
        for (int i = 0; i < 100; i++) {
            DocumentNode tensor{uuid(2 * i), std::nullopt, TensorBody{"float32", {{0}, {1}}}, std::nullopt};
            DocumentNode copy{uuid(2 * i + 1), std::nullopt, *operation, std::nullopt};
            auto& body = std::get<OperationBody>(copy.body);
            set_parameter("$each", fmt::format("{{\"of\": \"{}\", \"value\": 0}}", i))(body);
            (*body.outputs)[0].second[0].tensor_id = tensor.id;
            more.push_back(std::move(tensor));
            more.push_back(std::move(copy));
        }
    }
    document.nodes.insert(document.nodes.end(), more.begin(), more.end());
    Validation validation = validate(document, {dialect("heddle"), &library(), nullptr});
    EXPECT_EQ(codes_text(validation.issues), "interchange.limit") << render(validation.issues);
    EXPECT_LT(validation.applied_again, 100u);
}

// A value that the operator opens stands among its parameters.
TEST(Documents, OpenedValuesAreParameters) {
    Session session(library());
    TensorId x = session.add_input("x", {DType::float32, {2, 6}});
    TensorData shape(DType::int64, {2});
    shape.set_integer(0, 3);
    shape.set_integer(1, 4);
    auto reshape = library().find("reshape");
    ASSERT_TRUE(reshape) << render(reshape.error());
    auto results = session.apply(**reshape, {x, session.add_constant("shape", shape)});
    ASSERT_TRUE(results) << render(results.error());
    GraphDocument document = to_document(session.finish({results->front()}));
    const DocumentNode& node = *nodes<OperationBody>(document)[0];
    const auto& params = *std::get<OperationBody>(node.body).params;
    auto found = std::ranges::find(params, "shape", &std::pair<std::string, std::string>::first);
    ASSERT_NE(found, params.end());
    EXPECT_EQ(found->second, "[3, 4]");
    EXPECT_EQ(parsed(print_graph_json(document)), document);
    Validation validation = validate(document, {dialect("heddle"), &library(), nullptr});
    EXPECT_TRUE(validation.issues.empty()) << render(validation.issues);
    EXPECT_EQ(validation.applied_again, 1u);
    EXPECT_TRUE(validation.not_applied_again.empty());
    auto with_shape = [&](const std::string& json) {
        GraphDocument other = document;
        for (DocumentNode& changed : other.nodes) {
            auto* body = std::get_if<OperationBody>(&changed.body);
            if (!body) continue;
            for (auto& [name, value] : *body->params) {
                if (name == "shape") value = json;
            }
        }
        return codes_text(validate(other, {dialect("heddle"), &library(), nullptr}).issues);
    };
    EXPECT_EQ(with_shape("[3, 5]"), "interchange.operator_refuses");
    EXPECT_EQ(with_shape("[[3], 4]"), "interchange.operator_refuses");
    EXPECT_EQ(with_shape("\"text\""), "interchange.operator_refuses");
    EXPECT_NE(with_shape("[4, 3]"), "");
}

// A chain of products, softmaxes and sums.
TEST(Metakernels21, LargeGraphsAreValidatedAndComeBack) {
    GraphBuilder graph(library());
    DocumentRange square{{0, 0}, {64, 64}};
    TensorId w = graph.tensor("w", DType::float32, square), x = graph.tensor("x", DType::float32, square);
    const int64_t operations = 10'000;
    for (int64_t i = 0; i < operations; i++) {
        auto made = i % 3 == 0   ? graph.apply("matmul", {x, w})
                    : i % 3 == 1 ? graph.apply("softmax", {x}, {{"axis", StaticValue::of(int64_t{1})}})
                                 : graph.apply("add2", {x, w});
        ASSERT_TRUE(made) << render(made.error());
        x = made->front();
    }
    GraphDocument document = graph.document();
    std::string text = print_graph_json(document);
    EXPECT_EQ(nodes<OperationBody>(document).size(), static_cast<size_t>(operations));
    EXPECT_EQ(parsed(text), document);
    Validation validation = validate(document, {dialect("heddle"), &library(), nullptr});
    EXPECT_TRUE(validation.issues.empty()) << render(validation.issues);
    EXPECT_EQ(validation.applied_again, static_cast<size_t>(operations));
    EXPECT_LT(5 * text.size(), largest_json);  // five times as many are within the limit of texts
}

TEST(Documents, AnyGraphIsADocument) {
    Graph graph;
    TensorId x = graph.add_tensor("x", {DType::boolean, {3, 4}});
    TensorId y = graph.add_tensor("y", {DType::float32, {3}});
    graph.inputs = {x};
    graph.outputs = {y};
    Operation operation;
    operation.name = "first";
    operation.operator_name = "any";
    operation.inputs = {x};
    operation.outputs = {y};
    operation.index = {{"i", 3, std::nullopt}, {"k", 4, Reducer::sum}};
    operation.input_projections = {{{{1}, {7}}, {0, 9}, {1, 1}, {false, true}}};
    operation.output_projections = {{{{1}}, {0}, {1}, {false}}};
    operation.params = {{"axis", "[1]"}, {"mode", "'text'"}, {"to", "float32"}, {"scale", "2.5"}, {"flag", "true"}};
    graph.add_operation(operation);
    GraphDocument document = to_document(graph);
    EXPECT_TRUE(issues_of(document).empty()) << render(issues_of(document));
    std::string printed = print_graph_json(document);
    EXPECT_EQ(parsed(printed), document);
    const DocumentNode& node = *nodes<OperationBody>(document)[0];
    EXPECT_EQ(node.tags->index, (DocumentRange{{0}, {3}}));
    EXPECT_EQ(node.tags->signature->inputs[0],
              (std::pair{std::string("inputs"), std::vector{DocumentProjection{{{1}, {0}}, {0, 0}, {1, 4}}}}));
    std::string params;
    for (const auto& [name, json] : *std::get<OperationBody>(node.body).params) params += name + "=" + json + " ";
    EXPECT_EQ(params, "axis=[1] flag=true mode=\"text\" scale=2.5 to=\"float32\" ");
    graph.tensors[1].name = "\xff";  // names may come from a model file
    EXPECT_TRUE(parse_graph_json(std::make_shared<const SourceText>("g", print_graph_json(to_document(graph)))));
}

}  // namespace
}  // namespace heddle::interchange
