// Validation: published graphs are valid; every code has a graph that fails with it.
#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <set>

#include "document_test_support.h"

namespace heddle::interchange {
namespace {

TEST(Metakernels7, PublishedGraphsAreValidAndComeBackByteForByte) {
    for (const std::string& text : {masked_add(), sharded_add()}) {
        GraphDocument document = parsed(text);
        EXPECT_EQ(print_graph_json(document), text);
        Diagnostics issues = issues_of(document);
        EXPECT_TRUE(issues.empty()) << render(issues);
    }
}

struct Case {
    std::string codes;  // all, in order
    std::function<void(GraphDocument&)> change;
    std::string found = {};  // of the first
};

void expect(const std::vector<Case>& cases, const std::string& text) {
    for (size_t i = 0; i < cases.size(); i++) {
        GraphDocument document = parsed(text);
        cases[i].change(document);
        Diagnostics issues = issues_of(document);
        EXPECT_EQ(codes_text(issues), cases[i].codes) << "case " << i << "\n" << render(issues);
        // Each is structured alike, in JSON and in text.
        for (const Diagnostic& issue : issues) {
            std::string json = render_json({issue}), shown = render({issue});
            for (const std::string& part :
                 {"\"type\": \"" + issue.code + "\"", std::string("\"summary\": \""), std::string("\"message\": \""),
                  std::string("\"params\": {"), std::string("\"path\": \"$.nodes["), std::string("\"contexts\": [")})
                EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
            EXPECT_NE(shown.find("error[" + issue.code + "]: " + issue.summary), std::string::npos) << shown;
        }
        if (!cases[i].found.empty() && !issues.empty()) {
            EXPECT_EQ(issues[0].found, cases[i].found) << "case " << i;
        }
    }
}

DocumentSignature& signature(GraphDocument& document) { return *node(document, uuid(5)).tags->signature; }
DocumentRange& index(GraphDocument& document, int number) { return *node(document, uuid(number)).tags->index; }
DocumentSelection& input(GraphDocument& document, int number, size_t which) {
    return body<ApplicationBody>(document, number).inputs->at(0).second.at(which);
}

TEST(Metakernels8, OperationsAndTensors) {
    expect({{"interchange.unknown_dtype", [](auto& d) { body<TensorBody>(d, 1).dtype = "int33"; }, "int33"},
            {"interchange.unknown_tensor",
             [](auto& d) { body<OperationBody>(d, 5).inputs->at(0).second[0].tensor_id = uuid(77); }, uuid(77)},
            {"interchange.unknown_tensor",  // a node, and no tensor
             [](auto& d) { body<OperationBody>(d, 5).inputs->at(0).second[0].tensor_id = uuid(5); }, uuid(5)},
            {"interchange.tensor_mismatch", [](auto& d) { body<TensorBody>(d, 2).range.end = {210, 54}; },
             "[200:210, 50:55]"},
            {"interchange.tensor_mismatch", [](auto& d) { body<TensorBody>(d, 3).range = {{0}, {10}}; }, "[0:10, 0:5]"},
            {"interchange.gap",  // its outputs do not cover the tensor
             [](auto& d) { body<TensorBody>(d, 4).range.end = {10, 6}; }, "nothing writes [0:10, 5:6]"},
            {"interchange.overlap",
             [](auto& d) {
                 auto& list = body<OperationBody>(d, 5).outputs->at(0).second;
                 list.push_back(list[0]);
             },
             "both write [0:10, 0:5]"}},
           masked_add());
}

TEST(Metakernels8, Signatures) {
    expect({{"interchange.selection", [](auto& d) { signature(d).inputs[0].second[1].offset = {200, 49}; },
             "[200:210, 50:55]"},
            {"interchange.no_index interchange.no_index interchange.no_index",
             [](auto& d) { node(d, uuid(5)).tags->index.reset(); }},
            {"interchange.signature", [](auto& d) { signature(d).inputs[0].second.pop_back(); },
             "projections of the inputs tensors[1], and selections of tensors[2]"},
            {"interchange.signature", [](auto& d) { signature(d).inputs[0].first = "x"; }},
            {"interchange.signature",
             [](auto& d) { signature(d).outputs[0].second[0] = {{{1, 0, 0}, {0, 1, 0}}, {0, 0}, {1, 1}}; },
             "result[0] has 3 columns, and the index 2 dimensions"},
            {"interchange.signature", [](auto& d) { signature(d).inputs[0].second[0] = {{{1, 0}}, {0}, {1}}; },
             "tensors[0] has 1 rows, and the tensor 2 dimensions"},
            {"interchange.signature", [](auto& d) { signature(d).inputs[0].second[0].shape = {1, -1}; }},
            {"interchange.limit", [](auto& d) { signature(d).inputs[0].second[0].projection[0][0] = INT64_MAX; }}},
           sharded_add());
}

TEST(Metakernels8, Applications) {
    expect(
        {{"interchange.orphan_application interchange.gap",
          [](auto& d) { body<ApplicationBody>(d, 7).operation_id = uuid(1); }, uuid(1)},
         {"interchange.gap", [](auto& d) { std::erase_if(d.nodes, [](auto& n) { return n.id == uuid(7); }); },
          "[5:10, 0:5] belongs to none"},
         {"interchange.application_outside", [](auto& d) { index(d, 7).end = {11, 5}; }, "[5:11, 0:5]"},
         {"interchange.application_outside", [](auto& d) { input(d, 7, 1).range = {{204, 50}, {211, 55}}; },
          "[204:211, 50:55]"},
         {"interchange.selection", [](auto& d) { input(d, 7, 1).range = {{206, 50}, {210, 55}}; }, "[206:210, 50:55]"},
         {"interchange.application_mismatch",
          [](auto& d) { body<ApplicationBody>(d, 7).inputs->at(0).second.pop_back(); }, "tensors[1]"},
         {"interchange.application_mismatch", [](auto& d) { input(d, 7, 0).tensor_id = uuid(2); }},
         {"interchange.application_mismatch", [](auto& d) { index(d, 7) = {{5}, {10}}; }, "[5:10]"},
         {"interchange.no_index", [](auto& d) { node(d, uuid(7)).tags.reset(); }},
         {"interchange.overlap",
          [](auto& d) {
              DocumentNode again = node(d, uuid(7));
              again.id = uuid(8);
              d.nodes.push_back(again);
          },
          "[5:10, 0:5] is in both"}},
        sharded_add());
}

// Overlap and gap at once: both are found, with where.
TEST(Metakernels8, GapAndOverlapTogether) {
    GraphDocument document = parsed(sharded_add());
    auto move = [&](int number, DocumentRange box) {
        index(document, number) = box;
        input(document, number, 0).range = box;
        body<ApplicationBody>(document, number).outputs->at(0).second[0].range = box;
        for (auto* end : {&box.start, &box.end}) {
            (*end)[0] += 200;
            (*end)[1] += 50;
        }
        input(document, number, 1).range = box;
    };
    move(6, {{0, 0}, {6, 4}});
    move(7, {{5, 0}, {10, 5}});
    Diagnostics issues = issues_of(document);
    ASSERT_EQ(codes_text(issues), "interchange.gap interchange.overlap") << render(issues);
    EXPECT_EQ(param(issues[0], "gap"), "[0:5, 4:5]");
    EXPECT_EQ(param(issues[1], "shared"), "[5:6, 0:4]");
}

TEST(Metakernels8, ApplicationsWithoutIndexCoverTheOutputs) {
    GraphDocument document = parsed(sharded_add());
    for (DocumentNode& node : document.nodes) node.tags.reset();
    EXPECT_TRUE(issues_of(document).empty());
    body<ApplicationBody>(document, 7).outputs->at(0).second[0].range.start = {7, 0};
    Diagnostics issues = issues_of(document);
    ASSERT_EQ(codes_text(issues), "interchange.gap") << render(issues);
    EXPECT_EQ(param(issues[0], "gap"), "[5:7, 0:5]");
}

TEST(Metakernels8, OutputMapIsInjective) {
    GraphDocument document = parsed(sharded_add());
    std::erase_if(document.nodes, [](const DocumentNode& node) { return node.body.index() == 3; });
    DocumentProjection& map = signature(document).outputs[0].second[0];
    DocumentProjection identity = map;
    map.shape = {1, 5};
    map.projection = {{1, 0}, {0, 0}};
    Diagnostics issues = issues_of(document);
    ASSERT_EQ(codes_text(issues), "interchange.not_injective") << render(issues);
    EXPECT_EQ(issues[0].found, "the points [0:1, 0:1] and [0:1, 1:2] both write [0:1, 0:5]");
    // Holes: each cell once at most, and not all.
    map = identity;
    map.projection = {{2, 0}, {0, 1}};
    body<OperationBody>(document, 5).outputs->at(0).second[0].range.end = {19, 5};
    body<TensorBody>(document, 4).range.end = {19, 5};
    issues = issues_of(document);
    ASSERT_EQ(codes_text(issues), "interchange.gap") << render(issues);
    EXPECT_EQ(param(issues[0], "hull"), "[0:19, 0:5]");
}

// A chain of `count` operations; each reads the result of the one before.
GraphDocument chain(int count) {
    GraphDocument document{uuid(0xffffff), {}};
    DocumentRange box{{0}, {4}};
    for (int i = 0; i <= count; i++)
        document.nodes.push_back({uuid(i), fmt::format("t{}", i), TensorBody{"float32", box}, {}});
    for (int i = 0; i < count; i++) {
        DocumentSelections in = {{"x", {{uuid(i), box}}}}, out = {{"y", {{uuid(i + 1), box}}}};
        document.nodes.push_back({uuid(0x100000 + i), fmt::format("o{}", i), OperationBody{"k", {}, in, out}, {}});
    }
    return document;
}

void read_also(GraphDocument& document, int operation, int tensor) {
    body<OperationBody>(document, 0x100000 + operation).inputs->at(0).second.push_back({uuid(tensor), {{0}, {4}}});
}

TEST(Metakernels8, EverySimpleCycleIsListed) {
    GraphDocument document = chain(4);
    EXPECT_TRUE(issues_of(document).empty());
    read_also(document, 0, 2);  // o0 o1
    read_also(document, 0, 4);  // o0 o1 o2 o3
    read_also(document, 2, 3);  // o2 alone
    Diagnostics issues = issues_of(document);
    ASSERT_EQ(codes_text(issues), "interchange.cycle interchange.cycle interchange.cycle") << render(issues);
    std::vector<std::string> found;
    for (const Diagnostic& issue : issues) found.push_back(issue.found);
    std::ranges::sort(found);
    EXPECT_EQ(found, (std::vector<std::string>{"a cycle of 2 nodes", "a cycle of 4 nodes", "a cycle of 8 nodes"}));
    for (const Diagnostic& issue : issues)
        EXPECT_EQ(fmt::format("a cycle of {} nodes", issue.contexts.size()), issue.found);
}

// Against a search of all paths, on small random graphs.
TEST(Metakernels8, CyclesAreThoseOfASearch) {
    std::mt19937 random(3);
    for (int round = 0; round < 200; round++) {
        int count = 2 + static_cast<int>(random() % 4);
        GraphDocument document = chain(count);
        std::vector<std::set<int>> readers(static_cast<size_t>(count) + 1);
        for (int i = 0; i < count; i++) readers[static_cast<size_t>(i)].insert(i);
        for (int extra = 0; extra < 5; extra++) {
            int operation = static_cast<int>(random()) % count, tensor = static_cast<int>(random()) % (count + 1);
            operation = std::abs(operation);
            tensor = std::abs(tensor);
            read_also(document, operation, tensor);
            readers[static_cast<size_t>(tensor)].insert(operation);
        }
        // Operation i leads to the operations that read tensor i + 1; a cycle is counted at its least operation.
        size_t expected = 0;
        std::vector<int> path;
        std::function<void(int)> walk = [&](int operation) {
            path.push_back(operation);
            for (int next : readers[static_cast<size_t>(operation) + 1]) {
                if (next == path[0])
                    expected++;
                else if (next > path[0] && std::ranges::find(path, next) == path.end())
                    walk(next);
            }
            path.pop_back();
        };
        for (int i = 0; i < count; i++) walk(i);
        size_t found = 0;
        for (const Diagnostic& issue : issues_of(document)) found += issue.code == "interchange.cycle";
        EXPECT_EQ(found, std::min(expected, most_cycles)) << "round " << round;
    }
}

// Every operation reads every result: more cycles than anyone could list.
TEST(Metakernels8, HostileDocumentsEndSoon) {
    auto begin = std::chrono::steady_clock::now();
    GraphDocument document = chain(60);
    for (int i = 0; i < 60; i++) {
        for (int t = 1; t <= 60; t++) read_also(document, i, t);
    }
    Diagnostics issues = issues_of(document);
    EXPECT_EQ(issues.size(), most_cycles + 1);
    EXPECT_EQ(issues.back().code, "interchange.limit");
    // One cycle as long as the document.
    document = chain(20000);
    read_also(document, 0, 20000);
    issues = issues_of(document);
    ASSERT_EQ(codes_text(issues), "interchange.cycle");
    EXPECT_EQ(issues[0].found, "a cycle of 40000 nodes");
    EXPECT_LT(issues[0].contexts.size(), 100u);
    // Thousands of applications, all of the same points; and more orphans than are listed.
    document = parsed(sharded_add());
    for (int i = 0; i < 5000; i++) {
        DocumentNode copy = node(document, uuid(7));
        copy.id = uuid(100 + i);
        document.nodes.push_back(copy);
    }
    EXPECT_EQ(issues_of(document)[0].code, "interchange.overlap");
    for (DocumentNode& node : document.nodes) {
        if (auto* application = std::get_if<ApplicationBody>(&node.body)) application->operation_id = uuid(99);
    }
    issues = issues_of(document);
    EXPECT_EQ(issues.size(), most_issues + 1);
    EXPECT_EQ(issues.back().summary, "4902 further issues are not listed");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(Metakernels8, IssuesPointIntoTheText) {
    std::string text = sharded_add();
    size_t at = text.find("[205, 50]");
    text.replace(at, 9, "[206, 50]");
    at = text.find("\"int32\"");
    text.replace(at, 7, "\"int31\"");
    auto source = std::make_shared<const SourceText>("graph.json", text);
    Diagnostics issues = validate(parsed(text), {dialect("loom"), nullptr, source}).issues;
    ASSERT_EQ(codes_text(issues), "interchange.unknown_dtype interchange.selection");
    EXPECT_EQ(source->text().substr(issues[0].place.offset, issues[0].place.length), "\"int31\"");
    EXPECT_EQ(param(issues[0], "path"), "$.nodes[0].body.dtype");
    EXPECT_EQ(param(issues[1], "path"), "$.nodes[5].body.inputs.tensors[1].range");
    EXPECT_EQ(issues[1].found.empty(), false);
    ASSERT_EQ(issues[1].contexts.size(), 1u);
    EXPECT_NE(issues[1].contexts[0].message.find("the index"), std::string::npos);
    EXPECT_NE(issues[1].contexts[0].place.source, nullptr);
    std::string json = render_json(issues);
    for (const char* part : {"\"type\"", "\"summary\"", "\"message\"", "\"params\"", "\"contexts\"", "\"line\""})
        EXPECT_NE(json.find(part), std::string::npos) << part;
}

// Any change of numbers in the published graphs is judged without a crash.
TEST(Metakernels8, MutatedGraphsAreJudged) {
    std::mt19937_64 random(11);
    const std::vector<int64_t> numbers = {0, 1, -1, 5, 7, 200, INT64_MAX, INT64_MIN, INT64_MAX - 3, int64_t{1} << 40};
    int refused = 0;
    for (int round = 0; round < 600; round++) {
        std::string text = random() % 2 ? sharded_add() : masked_add();
        for (int change = 0; change < 3; change++) {
            std::vector<std::pair<size_t, size_t>> places;
            for (size_t at = 0; (at = text.find_first_of("[ ", at)) != std::string::npos; at++) {
                size_t end = text.find_first_not_of("-0123456789", at + 1);
                if (end > at + 1 && (text[end] == ']' || text[end] == ',')) places.emplace_back(at + 1, end - at - 1);
            }
            auto [at, length] = places[random() % places.size()];
            text.replace(at, length, std::to_string(numbers[random() % numbers.size()]));
        }
        auto source = std::make_shared<const SourceText>("graph.json", text);
        auto document = parse_graph_json(source);
        if (!document) continue;
        for (const char* environment : {"loom", "heddle"}) {
            Validation validation = validate(*document, {dialect(environment), &library(), source});
            refused += !validation.issues.empty();
            EXPECT_EQ(render(validation.issues).empty(), validation.issues.empty());
        }
    }
    EXPECT_GT(refused, 100);
}

TEST(Metakernels15, OneGraphTwoEnvironments) {
    GraphDocument document = parsed(sharded_add());
    EXPECT_TRUE(issues_of(document, "loom").empty());
    Diagnostics issues = issues_of(document, "operations");
    ASSERT_EQ(codes_text(issues), "interchange.node_type interchange.node_type");
    EXPECT_EQ(issues[0].reason, "the environment 'operations' names its node types");
    EXPECT_EQ(issues[0].expected, "Note, Tensor, Operation");
    issues = issues_of(document, "heddle");
    ASSERT_EQ(codes_text(issues), "interchange.unknown_kernel");
    EXPECT_EQ(issues[0].found, "op:add");
    EXPECT_EQ(param(issues[0], "environment"), "heddle");
    Dialect narrow = dialect("loom");
    narrow.tag_types = {"IPFIndex"};
    narrow.dtypes = {"float*"};
    issues = validate(document, {narrow, nullptr, nullptr}).issues;
    EXPECT_EQ(codes_text(issues),
              "interchange.unknown_dtype interchange.unknown_dtype interchange.unknown_dtype interchange.tag_type");
}

TEST(Metakernels15, EnvironmentsAreReadStrictly) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"[]", "an object"},
        {"{\"dtype\": []}", "doc, node_types, tag_types, dtypes, kernels, library"},
        {"{\"node_types\": [\"Tensors\"]}", "Note, Tensor, Operation, Application"},
        {"{\"kernels\": [1]}", "a string"},
        {"{\"kernels\": \"*\"}", "an array"},
        {"{\"library\": 1}", "a boolean"},
    };
    for (const auto& [text, expected] : cases) {
        auto parsed = parse_dialect("test", std::make_shared<const SourceText>("test.json", text));
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error()[0].code, "interchange.environment");
        EXPECT_EQ(parsed.error()[0].expected, expected);
    }
    EXPECT_FALSE(load_dialect("no/such/file.json"));
}

}  // namespace
}  // namespace heddle::interchange
