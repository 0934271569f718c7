#include "interchange/dialect.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interchange/document_names.h"
#include "interchange/json_tree.h"
#include "support/file.h"

namespace heddle::interchange {
namespace {

using Kind = JsonValue::Kind;

class DialectReader {
public:
    explicit DialectReader(std::shared_ptr<const SourceText> source) : source_(std::move(source)) {}

    Diagnostics errors;

    Dialect read(const JsonValue& value) {
        Dialect dialect;
        if (value.kind != Kind::object) {
            error(value, "an environment is a JSON object", "an object", kind_name(value.kind));
            return dialect;
        }
        const std::vector<std::string> node_types(document_names::nodes.begin(), document_names::nodes.end());
        const std::vector<std::string> tag_types = {document_names::signature, document_names::index,
                                                    document_names::sequence_point};
        for (const JsonValue& member : value.items) {
            if (member.name == "doc" && member.kind == Kind::string)
                dialect.doc = member.text;
            else if (member.name == "node_types")
                dialect.node_types = names(member, node_types);
            else if (member.name == "tag_types")
                dialect.tag_types = names(member, tag_types);
            else if (member.name == "dtypes")
                dialect.dtypes = names(member, {});
            else if (member.name == "kernels")
                dialect.kernels = names(member, {});
            else if (member.name == "library" && member.kind == Kind::boolean)
                dialect.library = member.text == "true";
            else
                unknown(member);
        }
        return dialect;
    }

private:
    void error(const JsonValue& value, std::string summary, std::string expected, std::string found,
               std::string remedy = "") {
        errors.push_back({.code = "interchange.environment",
                          .summary = std::move(summary),
                          .place = {source_, value.offset, value.length},
                          .expected = std::move(expected),
                          .found = std::move(found),
                          .remedy = std::move(remedy)});
    }

    void unknown(const JsonValue& member) {
        const std::vector<std::string> known = {"doc", "node_types", "tag_types", "dtypes", "kernels", "library"};
        bool right = std::ranges::find(known, member.name) != known.end();
        std::string near = right ? "" : nearest_name(member.name, known);
        error(member, right ? "a value of the wrong type" : fmt::format("an environment has no key '{}'", member.name),
              !right                     ? fmt::format("{}", fmt::join(known, ", "))
              : member.name == "library" ? "a boolean"
                                         : "a string",
              kind_name(member.kind), near.empty() ? "" : fmt::format("did you mean '{}'?", near));
    }

    std::vector<std::string> names(const JsonValue& value, const std::vector<std::string>& known) {
        std::vector<std::string> result;
        if (value.kind != Kind::array) {
            error(value, fmt::format("{} is a list of names", value.name), "an array", kind_name(value.kind));
            return result;
        }
        each_element(value, [&](const JsonValue& item) {
            bool right =
                item.kind == Kind::string && (known.empty() || std::ranges::find(known, item.text) != known.end());
            if (right) return result.push_back(item.text);
            std::string near = item.kind == Kind::string ? nearest_name(item.text, known) : "";
            error(item, fmt::format("no name of {}", value.name),
                  known.empty() ? "a string" : fmt::format("{}", fmt::join(known, ", ")),
                  item.kind == Kind::string ? item.text : kind_name(item.kind),
                  near.empty() ? "" : fmt::format("did you mean '{}'?", near));
        });
        return result;
    }

    std::shared_ptr<const SourceText> source_;
};

}  // namespace

Result<Dialect> parse_dialect(const std::string& name, const std::shared_ptr<const SourceText>& source) {
    auto tree = read_json_tree(source);
    if (!tree) return fail(std::move(tree.error()));
    DialectReader reader(source);
    Dialect dialect = reader.read(*tree);
    dialect.name = name;
    if (!reader.errors.empty()) return fail(std::move(reader.errors));
    return dialect;
}

Result<Dialect> load_dialect(const std::filesystem::path& file) {
    auto text = read_file(file.string(), int64_t{1} << 20);
    if (!text) return fail(std::move(text.error()));
    return parse_dialect(file.stem().string(), std::make_shared<const SourceText>(file.string(), std::move(*text)));
}

Result<Dialect> open_dialect(const std::string& name, const std::filesystem::path& folder) {
    if (name.ends_with(".json")) return load_dialect(name);
    std::error_code problem;
    std::vector<std::string> known;
    for (const auto& entry : std::filesystem::directory_iterator(folder, problem)) {
        if (entry.path().extension() != ".json") continue;
        if (entry.path().stem() == name) return load_dialect(entry.path());
        known.push_back(entry.path().stem());
    }
    std::sort(known.begin(), known.end());
    std::string near = nearest_name(name, known);
    return fail({.code = "interchange.unknown_environment",
                 .summary = fmt::format("there is no environment '{}'", name),
                 .expected = fmt::format("{}, or a file NAME.json", fmt::join(known, ", ")),
                 .remedy = near.empty() ? "" : fmt::format("did you mean '{}'?", near)});
}

bool allows(const std::vector<std::string>& list, const std::string& name) {
    return std::ranges::any_of(list, [&](const std::string& entry) {
        return entry.ends_with('*') ? name.starts_with(entry.substr(0, entry.size() - 1)) : name == entry;
    });
}

}  // namespace heddle::interchange
