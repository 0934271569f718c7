// Model files are untrusted: cut, mutated and contradictory ones give diagnostics, never a crash.
#include <random>
#include <set>

#include "model_builder.h"

namespace heddle::onnx {
namespace {

// Every kind of field that the reader knows occurs in it.
ModelText small_model() {
    return {.nodes = {{"MatMul", {"x", "w"}, {"p"}},
                      {"Constant",
                       {},
                       {"c"},
                       {tensor_attribute("value", tensor_message("", 1, {3}, raw_floats({1, 2, 3})))}},
                      {"Add", {"p", "c"}, {"s"}},
                      {"Transpose", {"s"}, {"y"}, {integers_attribute("perm", {1, 0})}}},
            .inputs = {{"x", {"batch", "2"}}},
            .outputs = {{"y", {"3", "batch"}}},
            .initializers = {tensor_message("w", 1, {2, 3}, raw_floats({1, 2, 3, 4, 5, 6}))}};
}

TEST(Reader, a_model_written_by_hand) {
    auto model = parse(small_model().bytes());
    ASSERT_TRUE(model) << render(model.error());
    EXPECT_EQ(model->opsets, (std::map<std::string, int64_t>{{"", 17}}));
    ASSERT_EQ(model->graph.nodes.size(), 4u);
    EXPECT_EQ(model->graph.nodes[0].inputs, (std::vector<std::string>{"x", "w"}));
    EXPECT_EQ(model->graph.nodes[3].attributes[0].integers, (std::vector<int64_t>{1, 0}));
    ASSERT_EQ(model->graph.initializers.size(), 1u);
    EXPECT_EQ(model->graph.initializers[0].data->real_at(5), 6);
    auto graph = import(small_model().bytes(), {{"batch", 5}});
    ASSERT_TRUE(graph) << render(graph.error());
    EXPECT_EQ(graph->tensor(graph->outputs[0]).type.text(), "float32[3, batch]");
}

TEST(Reader, cut_at_every_byte) {
    std::string whole = small_model().bytes();
    int truncated = 0;
    for (size_t length = 0; length < whole.size(); length++) {
        auto graph = import(whole.substr(0, length), {{"batch", 5}});
        if (graph) continue;
        std::string code = graph.error().front().code;
        // What is cut between two fields of the model may lack its opset only.
        EXPECT_TRUE(code == "onnx.truncated" || code == "onnx.not_a_model" || code == "onnx.opset")
            << length << ": " << code;
        truncated += code == "onnx.truncated";
    }
    EXPECT_GT(truncated, static_cast<int>(whole.size()) / 2);
}

TEST(Reader, mutated_bytes) {
    std::string whole = small_model().bytes();
    std::mt19937 random(11);
    int fine = 0;
    for (int round = 0; round < 4'000; round++) {
        const std::string bytes = damaged(whole, random);
        auto graph = import(bytes, {{"batch", 5}});
        if (graph)
            fine++;
        else
            EXPECT_FALSE(graph.error().empty() || graph.error().front().code.empty());
    }
    EXPECT_GT(fine, 100);
    EXPECT_LT(fine, 3'900);
}

TEST(Reader, what_is_no_model) {
    EXPECT_EQ(codes(parse("")), Codes{"onnx.not_a_model"});
    EXPECT_EQ(codes(parse("\x89PNG\r\n\x1a\n")), Codes{"onnx.not_a_model"});
    EXPECT_EQ(codes(parse(Message().number(1, 8).bytes())), Codes{"onnx.not_a_model"});
}

TEST(Reader, graphs_nested_without_end) {
    Message graph;
    graph.text(2, "innermost");
    for (int depth = 0; depth < 100; depth++) {
        Message attribute;
        attribute.text(1, "body").part(6, graph).number(20, 5);
        graph = Message().part(1, Message().text(2, "y").text(4, "If").part(5, attribute));
    }
    EXPECT_EQ(codes(parse(Message().number(1, 8).part(7, graph).bytes())), Codes{"onnx.not_a_model"});
}

std::string with_weight(const Message& tensor) {
    ModelText model = small_model();
    model.initializers = {tensor};
    return model.bytes();
}

TEST(Reader, tensors_that_do_not_fit) {
    std::string six = raw_floats({1, 2, 3, 4, 5, 6});
    EXPECT_EQ(codes(parse(with_weight(tensor_message("w", 1, {2, 3}, six + "x")))), Codes{"onnx.tensor"});
    EXPECT_EQ(codes(parse(with_weight(tensor_message("w", 1, {2, 4}, six)))), Codes{"onnx.tensor"});
    EXPECT_EQ(codes(parse(with_weight(tensor_message("w", 1, {-2, -3}, six)))), Codes{"onnx.tensor"});
    EXPECT_EQ(codes(parse(with_weight(tensor_message("w", 1, {int64_t{1} << 62, 8}, six)))), Codes{"onnx.tensor"});
    EXPECT_EQ(codes(parse(with_weight(tensor_message("w", 1, {int64_t{1} << 39, 3}, six)))), Codes{"onnx.tensor"});
    // No raw data at all, and too few typed elements: nothing is allocated for what the shape promises.
    Message empty;
    EXPECT_EQ(codes(parse(with_weight(empty.number(1, int64_t{1} << 39).number(2, 1).text(8, "w")))),
              Codes{"onnx.tensor"});
    Message few;
    EXPECT_EQ(codes(parse(with_weight(few.number(1, 3).number(2, 1).text(4, raw_floats({1, 2})).text(8, "w")))),
              Codes{"onnx.tensor"});
    // A packed run that ends within a number.
    Message cut;
    EXPECT_EQ(codes(parse(with_weight(cut.number(1, 3).number(2, 1).text(4, "12345").text(8, "w")))),
              Codes{"onnx.truncated"});
}

TEST(Reader, tensors_in_typed_fields) {
    auto packed = [](const std::vector<int>& values) {
        std::string bytes;
        for (int value : values) bytes += static_cast<char>(value);
        return bytes;
    };
    auto integers =
        parse_tensor_bytes(Message().number(1, 3).number(2, 7).text(7, packed({1, 2, 100})).text(8, "i").bytes());
    ASSERT_TRUE(integers) << render(integers.error());
    EXPECT_EQ(integers->name, "i");
    EXPECT_EQ(integers->data->integer_at(2), 100);
    auto unpacked = parse_tensor_bytes(Message().number(1, 2).number(2, 6).number(5, -4).number(5, 9).bytes());
    ASSERT_TRUE(unpacked) << render(unpacked.error());
    EXPECT_EQ(unpacked->data->integer_at(0), -4);
    // Halves come as their bits: 0x3C00 is 1.
    auto half = parse_tensor_bytes(Message().number(1, 1).number(2, 10).number(5, 0x3C00).bytes());
    ASSERT_TRUE(half) << render(half.error());
    EXPECT_EQ(half->data->real_at(0), 1);
    double two = 2;
    auto wide = parse_tensor_bytes(
        Message().number(1, 1).number(2, 11).text(10, std::string(reinterpret_cast<char*>(&two), 8)).bytes());
    ASSERT_TRUE(wide) << render(wide.error());
    EXPECT_EQ(wide->data->real_at(0), 2);
    const double parts[] = {3, -4};
    const std::string pair(reinterpret_cast<const char*>(parts), 16);
    auto complex = parse_tensor_bytes(Message().number(1, 1).number(2, 15).text(10, pair).bytes());
    ASSERT_TRUE(complex) << render(complex.error());
    EXPECT_EQ(complex->data->dtype(), DType::complex128);
    EXPECT_EQ(complex->data->reals().real_at(1), -4);
    auto odd = parse_tensor_bytes(Message().number(1, 1).number(2, 15).text(10, pair + pair.substr(8)).bytes());
    EXPECT_EQ(codes(odd), Codes{"onnx.tensor"});
    auto scalar = parse_tensor_bytes(tensor_message("s", 1, {}, raw_floats({7})).bytes());
    ASSERT_TRUE(scalar) << render(scalar.error());
    EXPECT_EQ(scalar->data->shape(), std::vector<int64_t>{});
}

TEST(Reader, eight_bit_floats_and_two_elements_in_a_byte) {
    auto read = [](const Message& message) {
        auto tensor = parse_tensor_bytes(message.bytes());
        EXPECT_TRUE(tensor) << render(tensor.error());
        std::vector<double> values;
        for (int64_t i = 0; tensor && i < tensor->data->size(); i++) values.push_back(tensor->data->real_at(i));
        return values;
    };
    using Values = std::vector<double>;
    // The codes of 1 and -2 in each of the formats.
    const std::vector<std::string> codes_of = {"\x38\xC0", "\x40\xC8", "\x3C\xC0", "\x40\xC4"};
    for (int64_t type = 17; type <= 20; type++) {
        const std::string& raw = codes_of[static_cast<size_t>(type - 17)];
        EXPECT_EQ(read(tensor_message("f", type, {2}, raw)), (Values{1, -2})) << type;
        Message typed = Message().number(1, 2).number(2, type);
        for (char code : raw) typed.number(5, static_cast<unsigned char>(code));
        EXPECT_EQ(read(typed), (Values{1, -2})) << type;
    }
    // The first element is in the low bits; the last byte may hold one.
    EXPECT_EQ(read(tensor_message("u", 21, {3}, "\x2F\xF9")), (Values{15, 2, 9}));
    EXPECT_EQ(read(tensor_message("i", 22, {3}, "\x2F\xF9")), (Values{-1, 2, -7}));
    EXPECT_EQ(read(Message().number(1, 3).number(2, 22).number(5, 0x2F).number(5, 0xF9)), (Values{-1, 2, -7}));
    EXPECT_EQ(read(tensor_message("n", 22, {0}, "")), Values{});
    for (const std::string raw : {"1", "123"})
        EXPECT_EQ(codes(parse(with_weight(tensor_message("w", 22, {3}, raw)))), Codes{"onnx.tensor"}) << raw;
    EXPECT_EQ(codes(parse(with_weight(Message().number(1, 3).number(2, 21).number(5, 1).text(8, "w")))),
              Codes{"onnx.tensor"});
}

TEST(Reader, data_in_another_file) {
    Message named;
    named.number(1, 2).number(2, 1).text(8, "w").part(13, Message().text(1, "location").text(2, "/etc/passwd"));
    Message flagged;
    flagged.number(1, 2).number(2, 1).text(8, "w").number(14, 1);
    for (const Message& tensor : {named, flagged}) {
        auto model = parse(with_weight(tensor));
        ASSERT_TRUE(model);
        EXPECT_TRUE(model->graph.initializers[0].is_external);
        EXPECT_FALSE(model->graph.initializers[0].data);
        const std::string& bytes = tensor.bytes();
        auto alone = parse_tensor("w.pb", std::as_bytes(std::span(bytes.data(), bytes.size())), nullptr);
        EXPECT_EQ(codes(alone), Codes{"onnx.external_data"});
    }
}

TEST(Reader, types_have_the_numbers_of_the_format) {
    std::set<DType> seen;
    for (int64_t number = 0; number < 40; number++) {
        auto dtype = dtype_of(number);
        EXPECT_TRUE(!dtype || seen.insert(*dtype).second) << number;
    }
    EXPECT_EQ(dtype_of(8), std::nullopt);
    EXPECT_EQ(type_name(8), "string");
}

}  // namespace
}  // namespace heddle::onnx
