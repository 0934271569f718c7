// What the environment allows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interchange/document_names.h"
#include "interchange/issues.h"

namespace heddle::interchange {
namespace {

class EnvironmentCheck {
public:
    explicit EnvironmentCheck(Checked& checked) : checked_(checked), dialect_(checked.options.dialect) {}

    void node(size_t number) {
        const DocumentNode& node = checked_.node(number);
        const std::string& type = document_names::nodes[node.body.index()];
        if (!allows(dialect_.node_types, type)) {
            refuse("interchange.node_type", {number, {"type"}},
                   fmt::format("{} is a node of type {}", checked_.title(number), type), "node types",
                   dialect_.node_types, type);
        }
        if (const auto* tensor = std::get_if<TensorBody>(&node.body);
            tensor && !allows(dialect_.dtypes, tensor->dtype)) {
            refuse("interchange.unknown_dtype", {number, {"body", "dtype"}},
                   fmt::format("{} is of dtype '{}'", checked_.title(number), tensor->dtype), "dtypes", dialect_.dtypes,
                   tensor->dtype);
        }
        if (const auto* operation = std::get_if<OperationBody>(&node.body)) kernel(number, operation->kernel);
        if (!node.tags) return;
        tag(number, document_names::signature, node.tags->signature.has_value());
        tag(number, document_names::index, node.tags->index.has_value());
        tag(number, document_names::sequence_point, node.tags->sequence_point.has_value());
    }

private:
    void kernel(size_t number, const std::string& kernel) {
        if (allows(dialect_.kernels, kernel) || checked_.operator_of(kernel)) return;
        std::vector<std::string> known = dialect_.kernels;
        if (dialect_.library) known.push_back("an operator of the library");
        Issue issue =
            refused("interchange.unknown_kernel", {number, {"body", "kernel"}},
                    fmt::format("{} has the kernel '{}'", checked_.title(number), kernel), "kernels", known, kernel);
        if (dialect_.library && checked_.options.library) {
            for (std::string& name : checked_.options.library->names()) known.push_back(std::move(name));
        }
        if (std::string near = nearest_name(kernel, known); !near.empty())
            issue.remedy = fmt::format("did you mean '{}'?", near);
        checked_.add(std::move(issue));
    }

    void tag(size_t number, const std::string& name, bool there) {
        if (!there || allows(dialect_.tag_types, name)) return;
        refuse("interchange.tag_type", {number, {"tags", name}},
               fmt::format("{} has the tag {}", checked_.title(number), name), "tag types", dialect_.tag_types, name);
    }

    Issue refused(const char* code, PartOfNode part, std::string summary, const std::string& kind,
                  const std::vector<std::string>& allowed, const std::string& found) const {
        Issue issue{.code = code, .summary = std::move(summary), .part = std::move(part)};
        issue.expected = allowed.empty() ? "none" : fmt::format("{}", fmt::join(allowed, ", "));
        issue.found = found;
        issue.reason = fmt::format("the environment '{}' names its {}", dialect_.name, kind);
        issue.params = {{"environment", dialect_.name}};
        return issue;
    }

    void refuse(const char* code, PartOfNode part, std::string summary, const std::string& kind,
                const std::vector<std::string>& allowed, const std::string& found) {
        checked_.add(refused(code, std::move(part), std::move(summary), kind, allowed, found));
    }

    Checked& checked_;
    const Dialect& dialect_;
};

}  // namespace

void check_environment(Checked& checked) {
    EnvironmentCheck check(checked);
    for (size_t i = 0; i < checked.document.nodes.size(); i++) check.node(i);
}

}  // namespace heddle::interchange
