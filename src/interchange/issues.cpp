#include "interchange/issues.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "interchange/document_names.h"
#include "interchange/json_tree.h"

namespace heddle::interchange {
namespace {

constexpr size_t most_contexts = 24;  // of an issue

// The parts of a document's text, by id of the node and the steps from there.
class Places {
public:
    explicit Places(const std::shared_ptr<const SourceText>& source) : source_(source) {
        if (!source) return;
        auto tree = read_json_tree(source);
        if (!tree) return;
        tree_ = std::move(*tree);
        const JsonValue* nodes = member(tree_, "nodes");
        for (size_t i = 0; nodes && i < nodes->items.size(); i++) {
            const JsonValue* id = member(nodes->items[i], "id");
            if (!id) continue;
            std::string text = id->text;
            for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
            nodes_.emplace(std::move(text), std::pair(i, &nodes->items[i]));
        }
    }

    // `number`: of the node in a document without a text.
    std::pair<std::string, Place> of(const std::string& id, size_t number,
                                     const std::vector<std::string>& steps) const {
        auto found = nodes_.find(id);
        const JsonValue* value = found == nodes_.end() ? nullptr : found->second.second;
        std::string path = fmt::format("$.nodes[{}]", value ? found->second.first : number);
        for (const std::string& step : steps) {
            bool number_step = step.find_first_not_of("0123456789") == std::string::npos;
            path += number_step ? fmt::format("[{}]", step) : "." + step;
            if (!value) continue;
            const JsonValue* next = nullptr;
            if (number_step) {
                size_t item = 0;
                std::from_chars(step.data(), step.data() + step.size(), item);
                next = item < value->items.size() ? &value->items[item] : nullptr;
            } else {
                next = member(*value, step);
            }
            if (!next) break;  // a part that is not there is pointed at where it would be
            value = next;
        }
        if (!value) return {path, {}};
        return {path, {source_, value->offset, value->length}};
    }

private:
    static const JsonValue* member(const JsonValue& value, const std::string& name) {
        for (const JsonValue& item : value.items) {
            bool old = name == "tags" && item.name == "annotations";
            bool tag = item.name.ends_with("/" + name) && item.name.starts_with(document_names::schema);
            if (item.name == name || old || tag) return &item;
        }
        return nullptr;
    }

    std::shared_ptr<const SourceText> source_;
    JsonValue tree_;
    std::unordered_map<std::string, std::pair<size_t, const JsonValue*>> nodes_;
};

}  // namespace

Checked::Checked(const GraphDocument& document, const ValidationOptions& options)
    : document(document), options(options) {
    for (size_t i = 0; i < document.nodes.size(); i++) numbers_.emplace(document.nodes[i].id, i);
}

const Template* Checked::operator_of(const std::string& kernel) {
    if (!options.library || !options.dialect.library) return nullptr;
    auto [found, added] = operators_.try_emplace(kernel, nullptr);
    if (added) {
        Template anybody;  // who may use operators of both namespaces
        anybody.space = Namespace::onnx;
        anybody.is_program = true;
        if (auto metakernel = options.library->find_from(anybody, kernel)) found->second = *metakernel;
    }
    return found->second;
}

std::string Checked::title(size_t number) const {
    const DocumentNode& n = node(number);
    std::string type = document_names::nodes[n.body.index()];
    type[0] = static_cast<char>(type[0] - 'A' + 'a');
    return n.label && !n.label->empty() ? fmt::format("{} '{}'", type, *n.label) : fmt::format("{} {}", type, n.id);
}

void Checked::add(Issue issue) {
    if (full())
        left_out_++;
    else
        issues_.push_back(std::move(issue));
}

Diagnostics Checked::finish() const {
    Diagnostics result;
    if (issues_.empty()) return result;
    Places places(options.source);
    for (const Issue& issue : issues_) {
        auto [path, place] = places.of(node(issue.part.node).id, issue.part.node, issue.part.steps);
        Diagnostic diagnostic{.code = issue.code,
                              .summary = issue.summary,
                              .place = std::move(place),
                              .expected = issue.expected,
                              .found = issue.found,
                              .reason = issue.reason,
                              .remedy = issue.remedy};
        diagnostic.params = {{"path", path}, {"node", node(issue.part.node).id}};
        diagnostic.params.insert(diagnostic.params.end(), issue.params.begin(), issue.params.end());
        for (size_t i = 0; i < issue.contexts.size(); i++) {
            const auto& [message, part] = issue.contexts[i];
            if (i == most_contexts) {
                diagnostic.contexts.push_back({fmt::format("and {} more", issue.contexts.size() - i), {}});
                break;
            }
            auto [context_path, context_place] = places.of(node(part.node).id, part.node, part.steps);
            diagnostic.contexts.push_back({fmt::format("{}: {}", context_path, message), std::move(context_place)});
        }
        result.push_back(std::move(diagnostic));
    }
    if (left_out_ > 0) {
        result.push_back({.code = "interchange.limit",
                          .summary = fmt::format("{} further issues are not listed", left_out_),
                          .expected = fmt::format("at most {} issues", most_issues)});
    }
    return result;
}

Validation validate(const GraphDocument& document, const ValidationOptions& options) {
    Validation validation;
    Checked checked(document, options);
    check_environment(checked);
    check_cycles(checked);
    check_operations(checked);
    check_applications(checked);
    check_operators(checked, validation);
    validation.issues = checked.finish();
    return validation;
}

}  // namespace heddle::interchange
