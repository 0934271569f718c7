// Weights in files beside a model: read in place, and nothing outside of the model's folder.
#include <filesystem>
#include <fstream>
#include <functional>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evaluate/evaluate.h"
#include "helpers/test_folder.h"
#include "model_builder.h"
#include "support/descriptor.h"
#include "support/file.h"
#include "support/resident_memory.h"

namespace heddle::onnx {
namespace {

namespace fs = std::filesystem;

class ExternalDataTest : public testing::Test {
protected:
    ExternalDataTest() { fs::create_directories(root_ / "model/part"); }

    void write(const std::string& file, const std::string& bytes) const {
        std::ofstream(root_ / file, std::ios::binary) << bytes;
    }

    // The sum of x and the tensors, written to `file`.
    std::string model_of(const std::vector<Message>& tensors, const std::vector<std::string>& names,
                         const std::string& file = "model/model.onnx") const {
        ModelText model{.nodes = {}, .inputs = {{"x", {"4"}}}, .outputs = {{"sum", {"4"}}}, .initializers = tensors};
        NodeText sum{"Sum", {"x"}, {"sum"}};
        sum.inputs.insert(sum.inputs.end(), names.begin(), names.end());
        model.nodes.push_back(sum);
        write(file, model.bytes());
        return root_ / file;
    }
    // Of one tensor of four floats.
    std::string model_with(const Message& tensor) const { return model_of({tensor}, {"w"}); }

    static Result<Graph> graph_of(const std::string& path) {
        auto model = read_model(path);
        if (!model) return fail(std::move(model.error()));
        auto imported = import_model(*model, library(), {});
        if (!imported) return fail(std::move(imported.error()));
        return std::move(imported->graph);
    }

    // Of the model for x = 0.
    static std::vector<double> values(const std::string& path) {
        auto graph = graph_of(path);
        EXPECT_TRUE(graph) << render(graph.error());
        if (!graph) return {};
        auto evaluated = evaluate_graph(*graph, {TensorData(DType::float32, {4})}, Precision::body);
        EXPECT_TRUE(evaluated) << render(evaluated.error());
        if (!evaluated) return {};
        const TensorData& sum = (*evaluated)[static_cast<size_t>(graph->outputs[0])];
        std::vector<double> result;
        for (int64_t i = 0; i < sum.size(); i++) result.push_back(sum.real_at(i));
        return result;
    }

    // The one thing that is wrong with a model, as text.
    static void expect_refused(const std::string& path, const std::string& code,
                               const std::vector<std::string>& parts) {
        auto graph = graph_of(path);
        EXPECT_EQ(codes(graph), Codes{code});
        const std::string text = graph ? "" : render(graph.error());
        for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
    }

    const TestFolder folder_;
    const fs::path& root_ = folder_.path;
    const std::string floats_ = raw_floats({1, 2, 3, 4});
};

using Values = std::vector<double>;

TEST_F(ExternalDataTest, is_read_where_it_lies) {
    write("model/w.bin", "123" + floats_ + raw_floats({10, 20, 30, 40}));
    write("model/part/v.bin", floats_);
    const std::string path =
        model_of({external_tensor("w", 1, {4}, "w.bin", "3", "16"), external_tensor("v", 1, {4}, "w.bin", "19"),
                  external_tensor("u", 1, {4}, "./part/v.bin")},
                 {"w", "v", "u"});
    EXPECT_EQ(values(path), (Values{12, 24, 36, 48}));
    auto model = read_model(path);
    ASSERT_TRUE(model);
    const std::byte* w = model->graph.initializers[0].data->data();
    EXPECT_EQ(model->graph.initializers[1].data->data(), w + 16) << "one file is mapped once";
    EXPECT_EQ(model->data_files.size(), 2u);
    EXPECT_EQ(fs::path(model->data_files[1]), fs::canonical(root_ / "model/w.bin"));
    for (const OnnxTensor& tensor : model->graph.initializers) EXPECT_FALSE(tensor.data->owned()) << tensor.name;
}

TEST_F(ExternalDataTest, of_a_folder_without_a_name) {
    write("model/w.bin", floats_);
    model_with(external_tensor("w", 1, {4}, "w.bin"));
    const fs::path before = fs::current_path();
    fs::current_path(root_ / "model");
    EXPECT_EQ(values("model.onnx"), (Values{1, 2, 3, 4}));
    fs::current_path(before);
}

TEST_F(ExternalDataTest, elements_that_share_bytes_and_elements_that_are_none) {
    write("model/w.bin", "\x21\x43");
    ModelText model{
        .nodes = {{"Cast", {"w"}, {"c"}, {integer_attribute("to", 1)}}, {"Add", {"x", "c"}, {"y"}}},
        .inputs = {{"x", {"4"}}},
        .outputs = {{"y", {"4"}}},
        .initializers = {external_tensor("w", 21, {4}, "w.bin"), external_tensor("none", 1, {0}, "w.bin", "2")}};
    write("model/model.onnx", model.bytes());
    EXPECT_EQ(values(root_ / "model/model.onnx"), (Values{1, 2, 3, 4}));
}

TEST_F(ExternalDataTest, of_attributes_and_of_tensors_alone) {
    write("model/w.bin", floats_);
    ModelText model{
        .nodes = {{"Constant", {}, {"w"}, {tensor_attribute("value", external_tensor("", 1, {4}, "w.bin"))}},
                  {"Add", {"x", "w"}, {"y"}}},
        .inputs = {{"x", {"4"}}},
        .outputs = {{"y", {"4"}}}};
    write("model/model.onnx", model.bytes());
    EXPECT_EQ(values(root_ / "model/model.onnx"), (Values{1, 2, 3, 4}));
    write("model/input.pb", external_tensor("w", 1, {4}, "w.bin").bytes());
    auto tensor = read_tensor(root_ / "model/input.pb");
    ASSERT_TRUE(tensor) << render(tensor.error());
    EXPECT_EQ(tensor->data->real_at(3), 4);
    write("model/input.pb", external_tensor("w", 1, {4}, "../w.bin").bytes());
    EXPECT_EQ(codes(read_tensor(root_ / "model/input.pb")), Codes{"onnx.external_path"});
}

TEST_F(ExternalDataTest, of_a_model_that_is_given_as_bytes) {
    ModelText model{.nodes = {{"Add", {"x", "w"}, {"y"}}},
                    .inputs = {{"x", {"4"}}},
                    .outputs = {{"y", {"4"}}},
                    .initializers = {external_tensor("w", 1, {4}, "w.bin")}};
    auto graph = import(model.bytes());
    EXPECT_EQ(codes(graph), Codes{"onnx.external_data"});
    EXPECT_NE(render(graph.error()).find("give the path of the model"), std::string::npos) << render(graph.error());
}

TEST_F(ExternalDataTest, paths_that_lead_out) {
    write("secret", floats_);
    write("model/w.bin", floats_);
    fs::create_symlink("../secret", root_ / "model/link");
    fs::create_symlink("..", root_ / "model/up");
    fs::create_symlink(root_ / "model/link", root_ / "model/part/twice");
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"../secret", "'..'"},
        {"part/../w.bin", "'..'"},
        {(root_ / "model/w.bin").string(), "it is absolute"},
        {"/etc/passwd", "it is absolute"},
        {"", "it is empty"},
        {std::string("w.bin\0x", 7), "code 0"},
        {"link", "a link leads to '" + fs::canonical(root_ / "secret").string() + "'"},
        {"up/secret", "a link leads to"},
        {"part/twice", "a link leads to"},
    };
    for (const auto& [location, reason] : cases)
        expect_refused(model_with(external_tensor("w", 1, {4}, location)), "onnx.external_path", {reason, "beside it"});
}

// As caches of downloaded models have it: all names are links to a folder of contents.
TEST_F(ExternalDataTest, links_that_stay_inside) {
    fs::create_directory(root_ / "contents");
    fs::rename(model_with(external_tensor("w", 1, {4}, "w.bin")), root_ / "contents/6d6f");
    write("contents/7765", floats_);
    fs::create_symlink("../contents/6d6f", root_ / "model/model.onnx");
    fs::create_symlink("../contents/7765", root_ / "model/w.bin");
    EXPECT_EQ(values(root_ / "model/model.onnx"), (Values{1, 2, 3, 4}));
    // A link beside the model, and a folder that is one.
    write("model/part/v.bin", floats_);
    fs::create_symlink("part/v.bin", root_ / "model/v.bin");
    fs::create_symlink("model", root_ / "alias");
    model_of({external_tensor("w", 1, {4}, "v.bin")}, {"w"}, "model/other.onnx");
    EXPECT_EQ(values(root_ / "alias/other.onnx"), (Values{1, 2, 3, 4}));
    // Its neighbour's name only begins alike.
    fs::create_directory(root_ / "model_2");
    write("model_2/w.bin", floats_);
    fs::create_symlink("../model_2/w.bin", root_ / "model/near");
    model_of({external_tensor("w", 1, {4}, "near")}, {"w"}, "model/third.onnx");
    expect_refused(root_ / "model/third.onnx", "onnx.external_path", {"model_2"});
}

TEST_F(ExternalDataTest, files_that_cannot_be_opened) {
    expect_refused(model_with(external_tensor("w", 1, {4}, "part/w.bin")), "onnx.external_file",
                   {"'part/w.bin'", "No such file", (root_ / "model/part/w.bin").string()});
    expect_refused(model_with(external_tensor("w", 1, {4}, "part")), "onnx.external_file", {"not a regular file"});
    ASSERT_EQ(::mkfifo((root_ / "model/pipe").c_str(), 0600), 0);
    expect_refused(model_with(external_tensor("w", 1, {4}, "pipe")), "onnx.external_file", {"not a regular file"});
    fs::create_symlink("loop", root_ / "model/loop");
    expect_refused(model_with(external_tensor("w", 1, {4}, "loop")), "onnx.external_file", {});
}

TEST_F(ExternalDataTest, places_outside_of_the_file) {
    write("model/w.bin", floats_);
    write("model/empty.bin", "");
    expect_refused(model_with(external_tensor("w", 1, {4}, "w.bin", "4", "16")), "onnx.external_range",
                   {"tensor 'w'", "'w.bin'", "16 bytes from byte 4", "a file of 16 bytes"});
    for (const char* offset : {"1", "16", "17", "9223372036854775807"})
        expect_refused(model_with(external_tensor("w", 1, {4}, "w.bin", offset)), "onnx.external_range",
                       {"behind the end"});
    expect_refused(model_with(external_tensor("w", 1, {4}, "empty.bin")), "onnx.external_range", {"a file of 0 bytes"});
    expect_refused(model_with(external_tensor("w", 1, {1 << 20, 1 << 18}, "w.bin")), "onnx.external_range", {});
    for (const char* offset : {"-1", "x", "1x", " 1", "0x1", "18446744073709551616"})
        expect_refused(model_with(external_tensor("w", 1, {4}, "w.bin", offset)), "onnx.external_range", {offset});
    expect_refused(model_with(external_tensor("w", 1, {4}, "w.bin", "0", "-16")), "onnx.external_range", {"'-16'"});
    for (const char* length : {"8", "17", "9223372036854775807"})
        expect_refused(model_with(external_tensor("w", 1, {4}, "w.bin", "0", length)), "onnx.tensor",
                       {"16 bytes", std::string(length) + " bytes"});
    auto impossible = read_model(model_with(external_tensor("w", 1, {-4}, "w.bin")));
    EXPECT_EQ(codes(impossible), Codes{"onnx.tensor"});
}

TEST_F(ExternalDataTest, data_that_overlap) {
    write("model/w.bin", floats_ + floats_);
    auto at = [](const std::string& name, const char* offset) {
        return external_tensor(name, 1, {4}, "w.bin", offset, "16");
    };
    EXPECT_EQ(values(model_of({at("w", "0"), at("v", "16"), at("u", "0")}, {"w", "v", "u"})), (Values{3, 6, 9, 12}))
        << "the same bytes may be two tensors'";
    expect_refused(model_of({at("w", "0"), at("v", "12")}, {"w", "v"}), "onnx.external_overlap",
                   {"'w' and 'v'", "'w.bin'", "bytes 0 to 16, and 12 to 28"});
    expect_refused(model_of({at("v", "8"), at("w", "0"), at("u", "16")}, {"v", "w", "u"}), "onnx.external_overlap",
                   {"'w' and 'v'", "1 more tensor"});
}

TEST_F(ExternalDataTest, problems_of_every_kind_at_once) {
    write("model/w.bin", floats_);
    std::vector<Message> tensors;
    for (int i = 0; i < 5; i++) {
        tensors.push_back(external_tensor(fmt::format("missing{}", i), 1, {4}, fmt::format("file{}", i)));
        tensors.push_back(external_tensor(fmt::format("out{}", i), 1, {4}, "../w.bin"));
        tensors.push_back(external_tensor(fmt::format("short{}", i), 1, {4}, "w.bin", "8"));
    }
    const std::string path = model_of(tensors, {"wurlitzer"});
    auto graph = graph_of(path);
    EXPECT_EQ(codes(graph),
              (Codes{"onnx.external_file", "onnx.external_path", "onnx.external_range", "onnx.undefined_value"}));
    const std::string text = graph ? "" : render(graph.error());
    for (const char* part : {"4 more tensors: 'file0', 'file1'", "tensor 'short0'", "leads out"})
        EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

// ---- memory

// A chain of products with matrices of 256 MB each.
ModelText large_model(int64_t layers, const std::function<Message(int64_t layer, const std::string& name)>& weight) {
    ModelText model{.nodes = {}, .inputs = {{"x", {"n", "8192"}}}, .outputs = {{"y", {"n", "8192"}}}};
    for (int64_t i = 0; i < layers; i++) {
        const std::string name = fmt::format("w{}", i);
        model.nodes.push_back({"MatMul",
                               {i == 0 ? "x" : fmt::format("h{}", i), name},
                               {i == layers - 1 ? "y" : fmt::format("h{}", i + 1)}});
        model.initializers.push_back(weight(i, name));
    }
    return model;
}

constexpr int64_t layer_bytes = int64_t{1} << 28;

// Two gigabytes of weights are named, not touched.
void expect_views_of_two_gigabytes(const std::string& path) {
    const int64_t before = resident_bytes();
    auto model = read_model(path);
    ASSERT_TRUE(model) << render(model.error());
    auto imported = import_model(*model, library(), {.bindings = {{"n", 3}}, .values = {}});
    ASSERT_TRUE(imported) << render(imported.error());
    int64_t weights = 0;
    for (const Tensor& tensor : imported->graph.tensors) {
        if (!tensor.constant) continue;
        weights += tensor.constant->byte_size();
        EXPECT_FALSE(tensor.constant->owned()) << tensor.name;
    }
    EXPECT_GE(weights, 7 * layer_bytes);
    EXPECT_LT(resident_bytes() - before, 32 << 20);
}

TEST_F(ExternalDataTest, two_gigabytes_beside_the_model) {
    ModelText model = large_model(8, [](int64_t layer, const std::string& name) {
        return external_tensor(name, 1, {8192, 8192}, "w.bin", std::to_string(layer * layer_bytes),
                               std::to_string(layer_bytes));
    });
    write("model/model.onnx", model.bytes());
    write("model/w.bin", "");
    fs::resize_file(root_ / "model/w.bin", 8 * layer_bytes);  // nothing but a hole
    expect_views_of_two_gigabytes(root_ / "model/model.onnx");
}

// The largest that protobuf knows, in one file, at addresses that divide by nothing.
TEST_F(ExternalDataTest, two_gigabytes_in_the_model) {
    constexpr int64_t layers = 7;
    // A field whose data are left out: they are holes of the file.
    auto lengths = [](int64_t, const std::string& name) {
        return Message().number(1, 8192).number(1, 8192).number(2, 1).text(8, name);
    };
    ModelText model = large_model(layers, lengths);
    Message graph;
    for (const auto& node : model.nodes) graph.part(1, node.message());
    graph.part(11, model.inputs[0].message()).part(12, model.outputs[0].message());
    const Message opset = Message().part(8, opset_message({"", 17}));
    std::vector<std::string> heads;  // of each tensor, up to its data
    int64_t size = static_cast<int64_t>(graph.bytes().size());
    for (const Message& tensor : model.initializers) {
        const std::string fields = tensor.bytes() + Message::begin(9, layer_bytes);
        heads.push_back(Message::begin(5, static_cast<int64_t>(fields.size()) + layer_bytes) + fields);
        size += static_cast<int64_t>(heads.back().size()) + layer_bytes;
    }
    {
        std::ofstream file(root_ / "model/model.onnx", std::ios::binary);
        file << Message().number(1, 8).bytes() << opset.bytes() << Message::begin(7, size) << graph.bytes();
        for (const std::string& head : heads) {
            file << head;
            file.seekp(layer_bytes - 1, std::ios::cur);
            file.put(0);
        }
    }
    expect_views_of_two_gigabytes(root_ / "model/model.onnx");
}

TEST_F(ExternalDataTest, pages_of_mapped_files_are_given_back) {
    constexpr int64_t size = 64 << 20;
    write("w.bin", "");
    fs::resize_file(root_ / "w.bin", size);
    auto file = map_file(root_ / "w.bin");
    ASSERT_TRUE(file);
    auto touch = [&] {
        int64_t sum = 0;
        for (size_t i = 0; i < file->bytes.size(); i += 4096) sum += static_cast<int64_t>(file->bytes[i]);
        return sum;
    };
    EXPECT_EQ(touch(), 0);
    const int64_t full = resident_bytes();
    give_back_pages(file->owner, file->bytes.subspan(1));
    EXPECT_LT(resident_bytes(), full - size / 2);
    EXPECT_EQ(touch(), 0) << "they come back when they are looked at";
    // What is no mapped file stays as it is.
    auto own = std::make_shared<std::string>(3 << 20, 'x');
    give_back_pages(own, std::as_bytes(std::span(*own)));
    give_back_pages(nullptr, {});
    EXPECT_EQ(own->find_first_not_of('x'), std::string::npos);
}

}  // namespace
}  // namespace heddle::onnx
