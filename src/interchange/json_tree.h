// JSON texts of graph documents as trees (support/json_tree.h), and back.
#pragma once

#include "support/json_tree.h"

namespace heddle::interchange {

inline constexpr size_t largest_json = size_t{256} << 20;     // bytes of text
inline constexpr size_t largest_json_tree = size_t{1} << 30;  // bytes of memory
inline constexpr size_t deepest_json = 32;                    // levels

// Within these limits. Errors: graph.json_syntax, graph.json_limit, graph.json_key (a key that occurs twice).
Result<JsonValue> read_json_tree(const std::shared_ptr<const SourceText>& source,
                                 size_t most_memory = largest_json_tree);

// In the layout of interchange/json_text.h.
std::string print_json_tree(const JsonValue& value);

}  // namespace heddle::interchange
