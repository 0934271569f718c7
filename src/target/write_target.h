// Targets as JSON values, by the table of schema.h.
#pragma once

#include <nlohmann/json.hpp>

#include "support/json_tree.h"
#include "target/schema.h"

namespace heddle {

// What of a target is written.
enum class TargetFacts : uint8_t {
    stated,    // what somebody says and does not follow from other fields
    known,     // and what follows
    complete,  // and what is assumed
};

nlohmann::ordered_json field_json(const Target& target, const SchemaField<Target>& field,
                                  TargetFacts facts = TargetFacts::complete);
// Without tags. With `tags` a target inside that has one is written by it.
nlohmann::ordered_json target_json(const Target& target, TargetFacts facts, bool tags = false);

// A value that was read, as one that is written; its members in the order of their names.
nlohmann::json json_of(const JsonValue& value);

}  // namespace heddle
