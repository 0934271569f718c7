// heddle operators: all operators, by the kinds that their files are, and those that have a word.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/support.h"
#include "language/signature.h"

namespace heddle::cli {
namespace {

struct ListedOperator {
    std::string name;  // as explain and calls take it: "conv", "onnx:Conv"
    const Template* metakernel = nullptr;
    std::string kind;  // its file's name
};

std::vector<ListedOperator> all_operators(const Library& library) {
    std::vector<ListedOperator> listed;
    const auto add = [&](const std::string& name, const Template& metakernel) {
        const auto& source = metakernel.place.source;
        listed.push_back({name, &metakernel, source ? std::filesystem::path(source->name()).stem().string() : ""});
    };
    for (const std::string& name : library.names()) {
        if (const auto found = library.find(name)) add(name, **found);  // in two libraries of the user's: none
    }
    for (const std::string& name : library.onnx_names()) {
        const size_t colons = name.find("::");
        const std::string domain = colons == std::string::npos ? "" : name.substr(0, colons);
        const std::string bare = colons == std::string::npos ? name : name.substr(colons + 2);
        if (const auto found = library.find_onnx(domain, bare, std::numeric_limits<int64_t>::max()))
            add("onnx:" + name, **found);
    }
    return listed;
}

bool has_word(const std::string& text, const std::string& word) {
    const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
    return std::ranges::search(text, word, same).begin() != text.end();
}

// Those whose names have the word come first, then those whose descriptions have it.
std::vector<ListedOperator> with_word(std::vector<ListedOperator> all, const std::string& word) {
    std::erase_if(all, [&](const ListedOperator& one) {
        return !has_word(one.name, word) && !has_word(one.metakernel->doc, word);
    });
    std::ranges::stable_partition(all, [&](const ListedOperator& one) { return has_word(one.name, word); });
    return all;
}

nlohmann::ordered_json operators_json(const std::vector<ListedOperator>& listed) {
    auto json = nlohmann::ordered_json::array();
    for (const ListedOperator& one : listed) {
        json.push_back({{"name", one.name},
                        {"kind", one.kind},
                        {"signature", signature(*one.metakernel)},
                        {"doc", one.metakernel->doc}});
    }
    return json;
}

void print_operators(const std::vector<ListedOperator>& listed, bool with_signatures) {
    for (const ListedOperator& one : listed) {
        fmt::print("{:30} {}\n", one.name, summary(*one.metakernel));
        if (with_signatures) fmt::print("    {}\n", signature(*one.metakernel));
    }
}

std::string cell(const std::string& text) {
    std::string escaped;
    for (const char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
    return escaped;
}

// Its description, or its body as code.
std::string described(const Template& metakernel) {
    const std::string text = cell(summary(metakernel));
    return metakernel.doc.empty() && !text.empty() ? "`" + text + "`" : text;
}

// docs/operators.md: tables by kind.
std::string operators_page(const std::vector<ListedOperator>& all) {
    std::map<std::string, std::vector<const ListedOperator*>> kinds, onnx;
    for (const ListedOperator& one : all) (one.name.starts_with("onnx:") ? onnx : kinds)[one.kind].push_back(&one);
    std::string page =
        "# Operators\n\n"
        "All operators of the library, by the files under `operators/` that define them; made by `heddle operators "
        "--page`. "
        "What the patterns\nof shapes mean says [language.md](language.md); `heddle explain NAME` shows all of one, "
        "and "
        "`heddle operators WORD` looks for a word.\n";
    for (const auto& [kind, operators] : kinds) {
        page += fmt::format("\n## {}\n\n| operator | what it does |\n|---|---|\n", kind);
        for (const ListedOperator* one : operators)
            page += fmt::format("| `{}` | {} |\n", cell(signature(*one->metakernel)), described(*one->metakernel));
    }
    page +=
        "\n## Of ONNX alone\n\nONNX's operators that are no operator of the library under another name "
        "([onnx.md](onnx.md)):\n";
    for (const auto& [kind, operators] : onnx) {
        std::vector<std::string> names;
        for (const ListedOperator* one : operators) names.push_back("`" + one->name.substr(5) + "`");
        page += fmt::format("\n* {}: {}\n", kind, fmt::join(names, ", "));
    }
    return page;
}

Diagnostic no_operator(const std::string& word, const std::vector<ListedOperator>& all) {
    std::vector<std::string> names;
    for (const ListedOperator& one : all) names.push_back(one.name);
    const std::string near = nearest_name(word, names);
    return {.code = "cli.no_operator",
            .summary = fmt::format("no operator has the word '{}' in its name or description", word),
            .remedy = near.empty() ? "heddle operators lists all; --library adds your own"
                                   : fmt::format("did you mean {}? heddle operators lists all", near),
            .params = {{"word", word}}};
}

}  // namespace

int list_operators(const OperatorsOptions& options) {
    const auto library = open_libraries(options.common);
    if (!library) return report(library.error(), options.common);
    const auto all = all_operators(*library);
    const auto listed = options.word.empty() ? all : with_word(all, options.word);
    if (listed.empty()) return report({no_operator(options.word, all)}, options.common);
    if (options.page)
        fmt::print("{}", operators_page(all));
    else if (options.common.json)
        fmt::print("{}\n", operators_json(listed).dump(2));
    else
        print_operators(listed, !options.word.empty());
    return 0;
}

}  // namespace heddle::cli
