// JSON text in the layout of graph documents: two spaces, vectors of numbers on one line. Every piece is text without
// an indentation of its own; what encloses it moves its lines to the right.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace heddle::interchange {

std::string json_string(const std::string& text);  // quoted; bytes that are not UTF-8 become U+FFFD
std::string json_object(
    const std::vector<std::pair<std::string, std::string>>& members);  // name (unquoted) and value's text
std::string json_array(const std::vector<std::string>& items);
std::string json_number_vector(const std::vector<std::string>& numbers);
std::string json_number_vector(std::span<const int64_t> numbers);

}  // namespace heddle::interchange
