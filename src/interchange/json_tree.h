// A JSON text as a tree with places, so that errors can point into the text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace heddle::interchange {

struct JsonValue {
    enum class Kind : uint8_t { null, boolean, integer, number, string, array, object };
    Kind kind = Kind::null;
    std::string name;  // of a member
    std::string text;  // a string's content; the text of a boolean, null or a number that is no integer, as written
    int64_t integer = 0;
    std::vector<JsonValue> items;  // an object's members in the order of the text
    std::vector<int64_t> numbers;  // an array of integers alone, which most of a document are, has no `items`
    uint32_t offset = 0, length = 0;
};

// Each element of an array, whichever way it is kept. Numbers have the place of the array.
template <typename Function>
void each_element(const JsonValue& array, const Function& function) {
    for (const JsonValue& item : array.items) function(item);
    for (int64_t number : array.numbers) {
        JsonValue item{.kind = JsonValue::Kind::integer, .integer = number};
        item.offset = array.offset;
        item.length = array.length;
        function(item);
    }
}

const char* kind_name(JsonValue::Kind kind);

inline constexpr size_t largest_json = size_t{256} << 20;     // bytes of text
inline constexpr size_t largest_json_tree = size_t{1} << 30;  // bytes of memory
inline constexpr size_t deepest_json = 32;                    // levels

// Within these limits. Errors: graph.json_syntax, graph.json_limit, graph.json_key (a key that occurs twice).
Result<JsonValue> read_json_tree(const std::shared_ptr<const SourceText>& source,
                                 size_t most_memory = largest_json_tree);

// In the layout of interchange/json_text.h.
std::string print_json_tree(const JsonValue& value);

}  // namespace heddle::interchange
