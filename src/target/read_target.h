// Targets from trees of JSON, by the table of schema.h.
#pragma once

#include <memory>
#include <string>

#include "support/json_tree.h"
#include "target/schema.h"
#include "target/tags.h"

namespace heddle {

// How tags are used within one text: few in turn, and so few targets at all that nobody's tags fill the memory.
struct TagUse {
    int depth = 0;
    std::shared_ptr<int> targets_left = std::make_shared<int>(4096);
};

// `text` is where the tree's places are; it may be null.
Result<Target> read_target_tree(const JsonValue& tree, const std::shared_ptr<const SourceText>& text,
                                const TargetTags& tags, const TagUse& use = {});
// What the tag's own text says, and the part of it. Codes: those of TargetTags::target.
Result<Target> target_of_tag(const TargetTags& tags, const std::string& name, const TagUse& use);

// A text of a target or of tags, within the limits of both.
Result<JsonValue> read_target_json(const std::shared_ptr<const SourceText>& text);

// What does not fit together in a machine or a cluster; `path` is its own. It chooses hosts that are not named.
Diagnostics check_system(Target& target, const std::string& path);

}  // namespace heddle
