#include "interchange/operator_use.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "interchange/json_text.h"
#include "interchange/json_tree.h"
#include "interchange/box.h"

namespace heddle::interchange {
namespace {

constexpr const char* each_parameter = "$each";
constexpr const char* elements_parameter = "$elements";

// The lists that are not 0, 1, 2 and on.
std::string elements_json(const OperandNames& names) {
    std::map<std::string, std::vector<int64_t>> lists;
    for (const OperandName& name : names) lists[name.name].push_back(name.element);
    DocumentParameters members;
    for (auto& [name, list] : lists) {
        std::ranges::sort(list);
        if (list.back() + 1 != static_cast<int64_t>(list.size())) members.emplace_back(name, json_number_vector(list));
    }
    return members.empty() ? "" : json_object(members);
}

// A tree whose members are those of `known`.
std::optional<JsonValue> object_of(const std::string& json, const std::set<std::string>& known) {
    auto tree = read_json_tree(std::make_shared<const SourceText>("parameter", json));
    if (!tree || tree->kind != JsonValue::Kind::object) return std::nullopt;
    for (const JsonValue& item : tree->items) {
        if (!known.contains(item.name)) return std::nullopt;
    }
    return std::move(*tree);
}

bool read_each(const std::string& json, OperatorUse::Part& part) {
    auto tree = object_of(json, {"of", "value"});
    if (!tree || tree->items.size() != 2) return false;
    part.each.emplace();
    for (const JsonValue& item : tree->items) {
        bool right = item.kind == (item.name == "of" ? JsonValue::Kind::string : JsonValue::Kind::integer);
        if (!right || item.integer < 0) return false;
        if (item.name == "of") part.each->of = item.text;
        if (item.name == "value") part.each->value = item.integer;
    }
    return true;
}

bool read_elements(const std::string& json, OperatorUse::Part& part) {
    auto tree = object_of(json, {"inputs", "outputs"});
    if (!tree) return false;
    for (const JsonValue& side : tree->items) {
        if (side.kind != JsonValue::Kind::object) return false;
        for (const JsonValue& list : side.items) {
            if (list.kind != JsonValue::Kind::array) return false;
            auto& elements = (side.name == "inputs" ? part.inputs : part.outputs)[list.name];
            if (list.numbers.empty() || std::ranges::min(list.numbers) < 0) return false;
            elements = list.numbers;
        }
    }
    return true;
}

// Parameters but the two.
DocumentParameters own_parameters(const OperationBody& body) {
    DocumentParameters own = body.params.value_or(DocumentParameters{});
    std::erase_if(own, [](const auto& parameter) { return is_part_parameter(parameter.first); });
    return own;
}

class Collector {
public:
    explicit Collector(Checked& checked) : checked_(checked) {}

    std::vector<OperatorUse> collect() {
        for (size_t i = 0; i < checked_.document.nodes.size(); i++) {
            const auto* body = std::get_if<OperationBody>(&checked_.node(i).body);
            const Template* metakernel = body ? checked_.operator_of(body->kernel) : nullptr;
            if (metakernel) add(i, *body, *metakernel);
        }
        return std::move(uses_);
    }

private:
    struct Known {
        size_t use = 0;
        std::set<int64_t> values;
    };

    void add(size_t number, const OperationBody& body, const Template& metakernel) {
        OperatorUse::Part part{.node = number, .each = std::nullopt, .inputs = {}, .outputs = {}};
        std::optional<OperatorUse::Problem> problem;
        for (const auto& [name, json] : body.params.value_or(DocumentParameters{})) {
            bool fine = (name != each_parameter || read_each(json, part)) &&
                        (name != elements_parameter || read_elements(json, part));
            if (!fine) problem = {number, {"params", name}, fmt::format("{} is not of its form", name)};
        }
        if (part.each && !metakernel.each) problem = {number, {"params", each_parameter}, "the operator has no `each`"};
        OperatorUse& use = use_of(metakernel, part, problem);
        if (use.metakernel && own_parameters(body) != own_parameters(first_body(use)))
            problem = {number, {"params"}, "operations of one use have other parameters"};
        use.metakernel = &metakernel;
        merge(use, part, "inputs", body.inputs, use.inputs, problem);
        merge(use, part, "outputs", body.outputs, use.outputs, problem);
        use.parts.push_back(std::move(part));
        if (!use.problem) use.problem = std::move(problem);
    }

    const OperationBody& first_body(const OperatorUse& use) const {
        return std::get<OperationBody>(checked_.node(use.parts[0].node).body);
    }

    // A new use unless the document has had another operation of it.
    OperatorUse& use_of(const Template& metakernel, const OperatorUse::Part& part,
                        std::optional<OperatorUse::Problem>& problem) {
        if (!part.each) return uses_.emplace_back();
        auto [found, added] = known_.try_emplace(std::pair(&metakernel, part.each->of), Known{uses_.size(), {}});
        if (added) uses_.emplace_back();
        if (!found->second.values.insert(part.each->value).second)
            problem = {part.node, {"params", each_parameter}, "another operation of the use has the same value"};
        return uses_[found->second.use];
    }

    void merge(OperatorUse& use, const OperatorUse::Part& part, const char* side,
               const std::optional<DocumentSelections>& selections, OperatorUse::Operands& operands,
               std::optional<OperatorUse::Problem>& problem) const {
        for (const auto& [name, list] : selections.value_or(DocumentSelections{})) {
            const auto& elements = &operands == &use.inputs ? part.inputs : part.outputs;
            if (auto found = elements.find(name); found != elements.end() && found->second.size() != list.size()) {
                problem = {part.node,
                           {"params", elements_parameter},
                           fmt::format("{} has {} tensors and {} elements", name, list.size(), found->second.size())};
                return;
            }
            for (size_t i = 0; i < list.size(); i++) {
                auto [known, added] = operands[name].try_emplace(part.element(side, name, i),
                                                                 UsedTensor{list[i].tensor_id, list[i].range});
                UsedTensor& tensor = known->second;
                if (added) continue;
                if (tensor.id != list[i].tensor_id || tensor.selected.start.size() != list[i].range.start.size()) {
                    problem = {part.node,
                               {side, name, std::to_string(i)},
                               "another operation of the use has another tensor there"};
                    return;
                }
                tensor.selected = hull(tensor.selected, list[i].range);
            }
        }
    }

    Checked& checked_;
    std::vector<OperatorUse> uses_;
    std::map<std::pair<const Template*, std::string>, Known> known_;
};

}  // namespace

bool is_part_parameter(const std::string& name) { return name == each_parameter || name == elements_parameter; }

void add_part_parameters(const Operation& operation, DocumentParameters& parameters) {
    if (operation.each) {
        parameters.emplace_back(each_parameter, json_object({{"of", json_string(operation.each->of)},
                                                             {"value", std::to_string(operation.each->value)}}));
    }
    DocumentParameters sides;
    if (std::string inputs = elements_json(operation.input_names); !inputs.empty())
        sides.emplace_back("inputs", std::move(inputs));
    if (std::string outputs = elements_json(operation.output_names); !outputs.empty())
        sides.emplace_back("outputs", std::move(outputs));
    if (!sides.empty()) parameters.emplace_back(elements_parameter, json_object(sides));
}

int64_t OperatorUse::Part::element(const char* side, const std::string& name, size_t position) const {
    const auto& elements = side == std::string("inputs") ? inputs : outputs;
    auto found = elements.find(name);
    return found == elements.end() ? static_cast<int64_t>(position) : found->second[position];
}

std::vector<OperatorUse> operator_uses(Checked& checked) { return Collector(checked).collect(); }

}  // namespace heddle::interchange
