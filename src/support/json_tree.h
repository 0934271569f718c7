// A JSON text as a tree with places, so that errors can point into the text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"

namespace heddle {

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

// The member of this name, or null.
const JsonValue* member(const JsonValue& object, std::string_view name);

const char* kind_name(JsonValue::Kind kind);

// What a text may be, and the codes of its errors: `key` is of one that occurs twice.
struct JsonLimits {
    size_t text, memory, depth;  // bytes, bytes, levels
    const char *syntax, *limit, *key;
};
Result<JsonValue> read_json_tree(const std::shared_ptr<const SourceText>& source, const JsonLimits& limits);

}  // namespace heddle
