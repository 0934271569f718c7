#include "interchange/document.h"

#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interchange/json_tree.h"

namespace heddle::interchange {
namespace {

const std::string schema = "http://tensortapestry.org/schemas/loom/2024-01/";

std::string uuid(int number) { return fmt::format("00000000-0000-4000-8000-{:012x}", number); }

Result<GraphDocument> parse(const std::string& text) {
    return parse_graph_json(std::make_shared<const SourceText>("graph.json", text));
}

std::string indented(const std::string& text, size_t spaces) {
    std::string result;
    for (char c : text) result += c == '\n' ? "\n" + std::string(spaces, ' ') : std::string(1, c);
    return result;
}

std::string range(const std::string& start, const std::string& end) {
    return fmt::format("{{\n  \"start\": [{}],\n  \"end\": [{}]\n}}", start, end);
}

std::string tensor(int id, const std::string& label, const std::string& dtype, const std::string& box) {
    return fmt::format(R"({{
  "id": "{}",
  "type": "{}node_types.jsd#/nodes/Tensor",
  "label": "{}",
  "body": {{
    "dtype": "{}",
    "range": {}
  }}
}})",
                       uuid(id), schema, label, dtype, indented(box, 4));
}

std::string selection(int id, const std::string& box) {
    return fmt::format("{{\n  \"tensorId\": \"{}\",\n  \"range\": {}\n}}", uuid(id), indented(box, 2));
}

std::string selections(const std::string& t0, const std::string& t1) {
    return fmt::format("\"tensors\": [\n  {},\n  {}\n]", indented(selection(1, t0), 2), indented(selection(2, t1), 2));
}

std::string one(const std::string& name, const std::string& item) {
    return fmt::format("\"{}\": [\n  {}\n]", name, indented(item, 2));
}

std::string members(const std::string& text) { return "{\n  " + indented(text, 2) + "\n}"; }

std::string document(const std::vector<std::string>& nodes) {
    std::string list;
    for (const std::string& node : nodes) list += (list.empty() ? "" : ",\n") + node;
    return members(fmt::format("\"id\": \"{}\",\n\"nodes\": [\n  {}\n]", uuid(99), indented(list, 2))) + "\n";
}

std::string node(int id, const std::string& type, const std::string& body, const std::string& tags = "") {
    std::string text = fmt::format("\"id\": \"{}\",\n\"type\": \"{}node_types.jsd#/nodes/{}\",\n\"body\": {}", uuid(id),
                                   schema, type, body);
    return members(tags.empty() ? text : text + ",\n\"tags\": " + tags);
}

const std::string box0 = range("0, 0", "10, 5"), box1 = range("200, 50", "210, 55");

std::string first_example() {
    std::string inputs = one("mask", selection(3, box0)) + ",\n" + selections(box0, box1);
    std::string body = members("\"kernel\": \"builtins:add\",\n\"params\": {\n  \"mask_value\": 12\n},\n\"inputs\": " +
                               members(inputs) + ",\n\"outputs\": " + members(one("result", selection(4, box0))));
    return document({tensor(1, "t0", "int32", box0), tensor(2, "t1", "int32", box1), tensor(3, "mask", "boolean", box0),
                     tensor(4, "z0", "int32", box0), node(5, "Operation", body)});
}

std::string identity(const std::string& offset) {
    return fmt::format(R"({{
  "affineMap": {{
    "projection": [
      [1, 0],
      [0, 1]
    ],
    "offset": [{}]
  }},
  "shape": [1, 1]
}})",
                       offset);
}

std::string index_tag(const std::string& box) {
    return fmt::format("\"{}tag_types.jsd#/tags/IPFIndex\": {}", schema, box);
}

std::string second_example() {
    std::string signature = members("\"inputs\": " +
                                    members(fmt::format("\"tensors\": [\n  {},\n  {}\n]", indented(identity("0, 0"), 2),
                                                        indented(identity("200, 50"), 2))) +
                                    ",\n\"outputs\": " + members(one("result", identity("0, 0"))));
    std::string tags =
        members(fmt::format("\"{}tag_types.jsd#/tags/IPFSignature\": {},\n{}", schema, signature, index_tag(box0)));
    auto body = [&](const std::string& head, const std::string& t0, const std::string& t1) {
        return members(head + ",\n\"inputs\": " + members(selections(t0, t1)) +
                       ",\n\"outputs\": " + members(one("result", selection(4, t0))));
    };
    std::string upper = range("0, 0", "5, 5"), lower = range("5, 0", "10, 5");
    std::string operation_id = fmt::format("\"operationId\": \"{}\"", uuid(5));
    return document(
        {tensor(1, "t0", "int32", box0), tensor(2, "t1", "int32", box1), tensor(4, "z0", "int32", box0),
         node(5, "Operation", body("\"kernel\": \"op:add\"", box0, box1), tags),
         node(6, "Application", body(operation_id, upper, range("200, 50", "205, 55")), members(index_tag(upper))),
         node(7, "Application", body(operation_id, lower, range("205, 50", "210, 55")), members(index_tag(lower)))});
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(GraphJson, ExamplesComeBackByteForByte) {
    for (const std::string& text : {first_example(), second_example()}) {
        auto parsed = parse(text);
        ASSERT_TRUE(parsed) << render(parsed.error()) << text;
        EXPECT_EQ(print_graph_json(*parsed), text);
    }
}

TEST(GraphJson, ExamplesMeanWhatTheySay) {
    GraphDocument first = *parse(first_example()), second = *parse(second_example());
    const auto& masked = std::get<OperationBody>(first.nodes[4].body);
    EXPECT_EQ(masked.kernel, "builtins:add");
    EXPECT_EQ(masked.params->at(0), (std::pair<std::string, std::string>("mask_value", "12")));
    EXPECT_EQ(masked.inputs->at(1).second[1].range, (DocumentRange{{200, 50}, {210, 55}}));
    EXPECT_EQ(second.nodes[3].tags->signature->inputs[0].second[1].offset, (std::vector<int64_t>{200, 50}));
    EXPECT_EQ(second.nodes[5].tags->index, (DocumentRange{{5, 0}, {10, 5}}));
}

TEST(GraphJson, ReadsTheOldFormAndAnyOrder) {
    std::string old = second_example();
    for (size_t at; (at = old.find("tag_types.jsd#/tags/")) != std::string::npos;) {
        old.replace(at, 20, "annotation_types.jsd#/annotations/");
    }
    for (size_t at; (at = old.find("\"tags\"")) != std::string::npos;) old.replace(at, 6, "\"annotations\"");
    EXPECT_EQ(print_graph_json(*parse(old)), second_example());
    std::string t0 = tensor(1, "t0", "int32", box0), note = node(2, "Note", "{\n  \"message\": \"\\u00e9 \\\"\\n\"\n}");
    EXPECT_EQ(print_graph_json(*parse(document({note, t0}))), print_graph_json(*parse(document({t0, note}))));
}

// Published graphs have their tags in another order, and come back byte for byte.
TEST(GraphJson, KeepsTheOrderOfTags) {
    const std::string text = second_example();
    const size_t node = text.find("\"tags\""), signature = text.find("IPFSignature", node);
    const size_t begin = text.rfind('"', signature), index = text.find("IPFIndex", signature);
    const size_t second = text.rfind('"', index), end = text.find("\n      }", index);
    ASSERT_NE(end, std::string::npos);
    std::string first_tag = text.substr(begin, second - begin), second_tag = text.substr(second, end - second);
    const size_t comma = first_tag.rfind(',');
    const std::string between = first_tag.substr(comma);
    first_tag.resize(comma);
    std::string turned = text;
    turned.replace(begin, end - begin, second_tag + between + first_tag);
    ASSERT_NE(turned, text);
    auto parsed = parse(turned);
    ASSERT_TRUE(parsed) << render(parsed.error()) << turned;
    EXPECT_EQ(print_graph_json(*parsed), turned);
    EXPECT_FALSE(*parsed == *parse(text));
}

TEST(GraphJson, KeepsAnyParameter) {
    std::string params = R"("params": {
  "a": [1, 2.50, 1e300],
  "b": [
    true,
    null,
    {}
  ],
  "c": 18446744073709551616,
  "d": []
})";
    std::string text = document({node(1, "Operation", members("\"kernel\": \"k\",\n" + params))});
    auto parsed = parse(text);
    ASSERT_TRUE(parsed) << render(parsed.error());
    EXPECT_EQ(print_graph_json(*parsed), text);
}

TEST(GraphJson, EveryCodeHasACase) {
    const std::string first = first_example(), second = second_example();
    const std::string note = node(1, "Note", "{\"message\": 1}");
    const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
        {"graph.json_syntax", "", ""},
        {"graph.json_syntax", first + "x", ""},
        {"graph.json_syntax", replaced(first, "\"t0\"", "\"t\xff\""), ""},
        {"graph.json_syntax", replaced(first, "12", "1e400"), ""},  // beyond float64
        {"graph.json_syntax", "1" + std::string(100000, '0'), ""},
        {"graph.json_limit", std::string(100000, '['), ""},
        {"graph.json_key", replaced(first, "\"dtype\"", "\"dtyp\""), "$.nodes[0].body.dtyp"},
        {"graph.json_key", replaced(first, "\"dtype\": \"int32\",", ""), "$.nodes[0].body"},
        {"graph.json_key", replaced(first, "\"label\": \"t0\"", "\"label\": \"t0\", \"label\": \"t0\""), ""},
        {"graph.json_key", replaced(second, "\"tags\":", "\"annotations\": {}, \"tags\":"), "$.nodes[3].annotations"},
        {"graph.json_type", document({note}), "$.nodes[0].body.message"},
        {"graph.json_type", replaced(first, "[0, 0]", "[0, 0.5]"), "$.nodes[0].body.range.start[1]"},
        {"graph.json_type", "[]", "$"},
        {"graph.json_uuid", replaced(first, uuid(1), "00000000-0000"), "$.nodes[0].id"},
        {"graph.json_uuid", replaced(first, uuid(1), uuid(2)), "$.nodes[1].id"},
        {"graph.json_name", replaced(first, "\"mask\": [", "\"1mask\": ["), "$.nodes[4].body.inputs.1mask"},
        {"graph.json_node_type", replaced(first, "nodes/Tensor", "nodes/Tensors"), "$.nodes[0].type"},
        {"graph.json_tag", replaced(second, "tags/IPFIndex", "tags/IPFIndices"), ""},
        {"graph.json_range", replaced(first, "[10, 5]", "[10, -1]"), "$.nodes[0].body.range"},
        {"graph.json_range", replaced(first, "[10, 5]", "[10]"), "$.nodes[0].body.range"},
        {"graph.json_range", replaced(second, "[1, 0],", "[1],"), ""},
    };
    for (const auto& [code, text, path] : cases) {
        auto parsed = parse(text);
        ASSERT_FALSE(parsed) << code << "\n" << text;
        const Diagnostic& error = parsed.error()[0];
        EXPECT_EQ(error.code, code) << render(parsed.error());
        EXPECT_LT(render(error).size(), 2'000u) << "what is quoted is not longer than can be read";
        if (path.empty()) continue;
        ASSERT_FALSE(error.params.empty());
        EXPECT_EQ(error.params[0].second, path) << render(error);
    }
}

TEST(GraphJson, ErrorsPointIntoTheTextAndSuggest) {
    std::string text = replaced(first_example(), "\"dtype\"", "\"dtyp\"");
    auto parsed = parse(text);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error()[0].remedy, "did you mean 'dtype'?");
    EXPECT_EQ(parsed.error()[0].place.source->locate(parsed.error()[0].place.offset).line, 9);
}

// What a text takes of memory is bounded, whatever it holds, and counted as it grows.
TEST(GraphJson, LargeTextsAreRefused) {
    const size_t most = size_t{1} << 20;
    auto read = [&](const std::string& item, size_t count) {
        std::string text = "[" + item;
        for (size_t i = 1; i < count; i++) text += "," + item;
        return read_json_tree(std::make_shared<const SourceText>("graph.json", text + "]"), most);
    };
    const size_t many = most / sizeof(JsonValue);
    for (const char* item : {"0", "[]", "{}", "[0]", "\"a\"", "{\"a\": null}"}) {
        EXPECT_TRUE(read(item, many / 4)) << item;
        auto refused = read(item, many);
        ASSERT_FALSE(refused) << item;
        EXPECT_EQ(refused.error()[0].code, "graph.json_limit");
        EXPECT_EQ(refused.error()[0].summary, "the document takes more than 1 MiB of memory");
    }
    EXPECT_TRUE(read("[0,0,0,0,0,0,0,0]", many / 4));
    EXPECT_FALSE(read("\"" + std::string(most / 8, 'a') + "\"", 8));
    EXPECT_FALSE(read("{\"" + std::string(most / 8, 'a') + "\": 0}", 8));
    std::string text = first_example();
    text.resize(largest_json + 1, ' ');
    auto parsed = parse(text);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error()[0].code, "graph.json_limit");
    EXPECT_EQ(parsed.error()[0].summary, "the document is larger than 256 MiB");
}

TEST(GraphJson, DamagedBytesNeverCrash) {
    std::mt19937 random(7);
    const std::string text = second_example();
    int refused = 0;
    for (int round = 0; round < 3000; round++) {
        std::string damaged = text;
        for (unsigned n = 1 + random() % 3; n > 0; n--) {
            size_t at = random() % damaged.size();
            switch (random() % 3) {
            case 0: damaged[at] = static_cast<char>(random()); break;
            case 1: damaged.erase(at, 1 + random() % 20); break;
            default: damaged.insert(at, text.substr(random() % text.size(), random() % 20));
            }
        }
        auto parsed = parse(damaged);
        if (!parsed) {
            refused++;
            EXPECT_FALSE(render(parsed.error()).empty());
            continue;
        }
        std::string printed = print_graph_json(*parsed);
        auto again = parse(printed);
        ASSERT_TRUE(again) << render(again.error()) << printed;
        EXPECT_EQ(*again, *parsed);
    }
    EXPECT_GT(refused, 1000);
}

TEST(GraphJson, ClipIsKept) {
    std::string shape = "\"shape\": [1, 1]";
    std::string text = replaced(second_example(), shape, shape + ", \"clip\": [1]");
    auto parsed = parse(text);
    ASSERT_TRUE(parsed) << render(parsed.error());
    const DocumentProjection& projection = parsed->nodes[3].tags->signature->inputs[0].second[0];
    EXPECT_EQ(projection.clip, (std::vector<int64_t>{1}));
    std::string printed = print_graph_json(*parsed);
    EXPECT_NE(printed.find("\"clip\": [1]\n"), std::string::npos) << printed;
    EXPECT_EQ(print_graph_json(*parse(printed)), printed);
    auto wrong = parse(replaced(text, "\"clip\": [1]", "\"clip\": [2]"));
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error()[0].code, "graph.json_range");
}

}  // namespace
}  // namespace heddle::interchange
