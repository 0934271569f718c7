#include "interchange/json_tree.h"

#include "interchange/json_text.h"

namespace heddle::interchange {

Result<JsonValue> read_json_tree(const std::shared_ptr<const SourceText>& source, size_t most_memory) {
    return heddle::read_json_tree(
        source, {largest_json, most_memory, deepest_json, "graph.json_syntax", "graph.json_limit", "graph.json_key"});
}

std::string print_json_tree(const JsonValue& value) {
    if (value.kind == JsonValue::Kind::string) return json_string(value.text);
    if (value.kind == JsonValue::Kind::object) {
        std::vector<std::pair<std::string, std::string>> members;
        for (const JsonValue& member : value.items) members.emplace_back(member.name, print_json_tree(member));
        return json_object(members);
    }
    if (value.kind == JsonValue::Kind::integer) return std::to_string(value.integer);
    if (value.kind != JsonValue::Kind::array) return value.text;
    if (!value.numbers.empty()) return json_number_vector(value.numbers);
    bool numbers = true;
    std::vector<std::string> items;
    for (const JsonValue& item : value.items) {
        numbers = numbers && (item.kind == JsonValue::Kind::integer || item.kind == JsonValue::Kind::number);
        items.push_back(print_json_tree(item));
    }
    return numbers ? json_number_vector(items) : json_array(items);
}

}  // namespace heddle::interchange
