// Words that scripts of shells ask for when a key is pressed: what a file, a folder or a model decides.
#include <filesystem>

#include <fmt/format.h>

#include "cli/bindings.h"
#include "cli/command_table.h"
#include "cli/support.h"

namespace heddle::cli {
namespace {

std::vector<std::string> operator_words() {
    const auto library = open_libraries({});
    if (!library) return {};
    auto words = library->names();
    for (const std::string& name : library->onnx_names()) words.push_back("onnx:" + name);
    return words;
}

std::vector<std::string> target_words() {
    std::vector<std::string> words;
    if (const auto tags = open_tags()) {
        for (const auto& [name, tag] : tags->all()) words.push_back(name);
    }
    return words;
}

std::vector<std::string> environment_words() {
    std::vector<std::string> words;
    std::error_code problem;
    for (const auto& file : std::filesystem::directory_iterator(environments_folder(), problem))
        words.push_back(file.path().stem().string());
    return words;
}

// With the sign that a size follows.
std::vector<std::string> dimension_words(const std::string& path) {
    std::vector<std::string> words;
    const auto model = onnx::read_model(path);
    if (!model) return words;
    for (const std::string& name : dimensions_of(*model).open) words.push_back(name + "=");
    return words;
}

}  // namespace

std::vector<std::string> completion_words(const std::string& kind, const std::string& file) {
    if (kind == "operators") return operator_words();
    if (kind == "targets") return target_words();
    if (kind == "environments") return environment_words();
    return dimension_words(file);
}

}  // namespace heddle::cli
