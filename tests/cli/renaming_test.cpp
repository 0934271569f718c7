// Nothing depends on an operator's name: with every operator of the library and of the model renamed, the plan is the
// same, byte for byte.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "cli/onnx_writer.h"
#include "frontends/onnx/import.h"
#include "helpers/files.h"
#include "helpers/shipped.h"
#include "helpers/source_folder.h"
#include "language/library.h"
#include "plan/plan.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

std::string renamed(const std::string& name) { return "op_" + name; }

// Every template of the library: core, of every opset and of other domains, and those that these call.
std::vector<const Template*> all_templates(const Library& library) {
    std::vector<const Template*> templates;
    for (const std::string& name : library.names()) {
        if (auto found = library.find(name)) templates.push_back(*found);
    }
    std::set<const Template*> seen;
    for (const std::string& name : library.onnx_names()) {
        for (int64_t opset = 1; opset < 30; opset++) {
            auto found = find_onnx(library, name, opset);
            if (found && seen.insert(*found).second) templates.push_back(*found);
        }
    }
    seen.insert(templates.begin(), templates.end());
    for (size_t i = 0; i < templates.size(); i++) {  // those of one file alone
        for (const Syntax* call : operator_calls(*templates[i])) {
            auto found = library.find_from(*templates[i], call->text);
            if (found && seen.insert(*found).second) templates.push_back(*found);
        }
    }
    return templates;
}

// The library's files with every operator renamed, as key and where a composition calls it.
class RenamedLibrary {
public:
    RenamedLibrary(const Library& library, fs::path folder) : folder_(std::move(folder)) {
        for (const Template* made : all_templates(library)) {
            note(made->place, made->name);
            for (const Syntax* call : operator_calls(*made)) note(call->place, call->text);
        }
        fs::remove_all(folder_);
        fs::create_directories(folder_ / "onnx");
        fs::path from = in_source("operators");
        for (const auto& entry : fs::recursive_directory_iterator(from)) {
            if (entry.path().extension() == ".yaml") write(entry.path(), fs::relative(entry.path(), from));
        }
    }
    ~RenamedLibrary() {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }

    size_t edits() const { return edits_; }
    const fs::path& folder() const { return folder_; }

private:
    void note(const Place& place, const std::string& name) {
        ASSERT_NE(place.source, nullptr) << name;
        ASSERT_EQ(place.source->text().substr(place.offset, name.size()), name) << place.source->name();
        places_[fs::weakly_canonical(place.source->name()).string()].insert(place.offset);
    }

    void write(const fs::path& from, const fs::path& to) {
        std::string text = file_text(from);
        const auto& offsets = places_[fs::weakly_canonical(from).string()];
        for (auto offset = offsets.rbegin(); offset != offsets.rend(); ++offset) text.insert(*offset, renamed(""));
        edits_ += offsets.size();
        std::ofstream(folder_ / to) << std::regex_replace(text, std::regex("(onnx: \\{(domain: \\S+, )?name: )"),
                                                          "$1" + renamed(""));
    }

    fs::path folder_;
    std::map<std::string, std::set<size_t>> places_;
    size_t edits_ = 0;
};

// A model of a little of everything: a convolutional half and a transformer's.
std::string model_bytes(bool rename) {
    ModelWriter model;
    model.inputs = {
        {"image", {"batch", "3", "18", "18"}}, {"x", {"batch", "length", "32"}}, {"ids", {"batch", "length"}, 7}};
    int seed = 0;
    auto weight = [&](const std::string& name, const std::vector<int64_t>& shape) {
        int64_t size = 1;
        for (int64_t extent : shape) size *= extent;
        std::vector<float> values;
        for (int64_t i = 0; i < size; i++)
            values.push_back(static_cast<float>((i * 37 + 11 * ++seed) % 101) / 101.0f - 0.5f);
        model.weight(name, shape, values);
    };
    auto node = [&](const std::string& name, const std::vector<std::string>& from, const std::vector<std::string>& to,
                    const std::vector<std::pair<std::string, std::vector<int64_t>>>& lists = {}) {
        Message message;
        for (const auto& value : from) message.text(1, value);
        for (const auto& value : to) message.text(2, value);
        message.text(3, "node " + to.front()).text(4, rename ? renamed(name) : name);
        for (const auto& [key, values] : lists) {
            Message attribute;
            attribute.text(1, key).number(20, 7);
            for (int64_t value : values) attribute.number(8, value);
            message.part(5, attribute);
        }
        model.graph.part(1, message);
    };
    weight("kernel", {16, 3, 3, 3});
    weight("kernel bias", {16});
    node("Conv", {"image", "kernel", "kernel bias"}, {"c"}, {{"pads", {1, 1, 1, 1}}});
    node("Relu", {"c"}, {"r"});
    node("MaxPool", {"r"}, {"p"}, {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}});
    node("GlobalAveragePool", {"p"}, {"g"});
    node("Flatten", {"g"}, {"features"});

    weight("table", {50, 32});
    weight("scale", {32});
    weight("bias", {32});
    node("Gather", {"table", "ids"}, {"e"});
    node("Add", {"x", "e"}, {"s"});
    node("LayerNormalization", {"s", "scale", "bias"}, {"n"});
    for (const char* name : {"q", "k", "v"}) {
        weight(std::string("w") + name, {32, 32});
        node("MatMul", {"n", std::string("w") + name}, {name});
    }
    node("Transpose", {"k"}, {"kt"}, {{"perm", {0, 2, 1}}});
    node("MatMul", {"q", "kt"}, {"scores"});
    node("Softmax", {"scores"}, {"weights"});
    node("MatMul", {"weights", "v"}, {"a"});
    node("Erf", {"a"}, {"erf"});
    node("Mul", {"a", "erf"}, {"y"});
    model.outputs = {{"features", {"batch", "16"}}, {"y", {"batch", "length", "32"}}};
    return model.bytes();
}

// The plan of the model by the library, and its text without the names that are there for people.
std::string plan_text(const std::string& bytes, const Library& library) {
    auto owner = std::make_shared<std::string>(bytes);
    auto model = onnx::parse_model("model.onnx", std::as_bytes(std::span(owner->data(), owner->size())), owner);
    if (!model) return render(model.error());
    auto graph = onnx::import_model(*model, library, {{{"batch", 3}, {"length", 20}}, {}});
    if (!graph) return render(graph.error());
    auto plan = plan::make_plan(graph->graph, detect_host());
    if (!plan) return render(plan.error());
    auto fine = plan::verify(*plan);
    if (!fine) return render(fine.error());
    for (auto& buffer : plan->buffers) buffer.name = "";
    for (auto* phase : {&plan->prepare, &plan->run}) {
        for (auto& batch : *phase) {
            for (auto& launch : batch) launch.name = "";
        }
    }
    std::string text = print(*plan);
    for (const std::string& key : plan->keys) text += key + "\n";
    return text;
}

TEST(Renaming, the_plan_is_the_same) {
    auto original = open_library(in_source("operators"));
    ASSERT_TRUE(original);
    RenamedLibrary made(*original, fs::path(testing::TempDir()) / "heddle_renamed_operators");
    EXPECT_GT(made.edits(), 200u);
    auto library = open_library(made.folder());
    ASSERT_TRUE(library) << render(library.error());
    auto fine = library->check_all();
    ASSERT_TRUE(fine) << render(fine.error());
    // Every name is new.
    for (const std::string& name : library->names()) EXPECT_TRUE(name.starts_with(renamed(""))) << name;
    for (const std::string& name : library->onnx_names())
        EXPECT_TRUE(without_domain(name).starts_with(renamed(""))) << name;
    EXPECT_EQ(library->names().size(), original->names().size());
    EXPECT_EQ(library->onnx_names().size(), original->onnx_names().size());

    std::string expected = plan_text(model_bytes(false), *original);
    ASSERT_TRUE(expected.starts_with("plan: ")) << expected;
    EXPECT_EQ(plan_text(model_bytes(true), *library), expected);
    // The two do not know each other's names.
    EXPECT_FALSE(plan_text(model_bytes(true), *original).starts_with("plan: "));
}

TEST(Determinism, the_same_plan_twice) {
    auto first = open_library(in_source("operators")), second = open_library(in_source("operators"));
    ASSERT_TRUE(first && second);
    // Other questions come first: the order in which files are opened does not matter.
    (void)second->onnx_names();
    std::string expected = plan_text(model_bytes(false), *first);
    ASSERT_TRUE(expected.starts_with("plan: ")) << expected;
    EXPECT_EQ(plan_text(model_bytes(false), *first), expected);
    EXPECT_EQ(plan_text(model_bytes(false), *second), expected);
}

}  // namespace
}  // namespace heddle
