// A JSON text as a tree with places, so that errors can point into the text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace heddle {

struct JsonValue {
    enum class Kind { null, boolean, integer, number, string, array, object };
    Kind kind = Kind::null;
    std::string name;  // of a member
    std::string text;  // a string's content; the text of a number, a boolean or null as written
    int64_t integer = 0;
    std::vector<JsonValue> items;  // an object's members in the order of the text
    size_t offset = 0, length = 0;
};

const char* kind_name(JsonValue::Kind kind);

// Limits: 64 MiB of text, 32 levels, a million values. Errors: graph.json_syntax, graph.json_limit, graph.json_key (a
// key that occurs twice).
Result<JsonValue> read_json_tree(const std::shared_ptr<const SourceText>& source);

// In the layout of graph/json_text.h.
std::string print_json_tree(const JsonValue& value);

}  // namespace heddle
