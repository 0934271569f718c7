#include "interchange/json_text.h"

#include <nlohmann/json.hpp>

namespace heddle::interchange {
namespace {

void append_indented(std::string& result, const std::string& text) {
    size_t at = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', at)) {
        result.append(text, at, end + 1 - at).append("  ");
        at = end + 1;
    }
    result.append(text, at);
}

}  // namespace

std::string json_string(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_object(const std::vector<std::pair<std::string, std::string>>& members) {
    if (members.empty()) return "{}";
    std::string result = "{";
    for (size_t i = 0; i < members.size(); i++) {
        result += (i ? ",\n  " : "\n  ") + json_string(members[i].first) + ": ";
        append_indented(result, members[i].second);
    }
    return result + "\n}";
}

std::string json_array(const std::vector<std::string>& items) {
    if (items.empty()) return "[]";
    std::string result = "[";
    for (size_t i = 0; i < items.size(); i++) {
        result += i ? ",\n  " : "\n  ";
        append_indented(result, items[i]);
    }
    return result + "\n]";
}

std::string json_number_vector(const std::vector<std::string>& numbers) {
    std::string result = "[";
    for (size_t i = 0; i < numbers.size(); i++) result += (i ? ", " : "") + numbers[i];
    return result + "]";
}

std::string json_number_vector(std::span<const int64_t> numbers) {
    std::vector<std::string> texts;
    for (int64_t number : numbers) texts.push_back(std::to_string(number));
    return json_number_vector(texts);
}

}  // namespace heddle::interchange
