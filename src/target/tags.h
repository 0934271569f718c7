// Names for targets that are written once: of real devices and machines, in the data files targets/*.json, which are
// part of the library, and in a user's own folders. A file is
//
//     {"schema": 1, "tags": {"aws/c5": {"means": "...", "source": "...", "target": {...}}, ...}}
//
// where `source` says who publishes the figures. A tag's target may begin with another tag.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "support/json_tree.h"
#include "target/target.h"

namespace heddle {

struct TargetTag {
    std::string name, means, source;
    JsonValue target;                        // as it is written
    std::shared_ptr<const SourceText> text;  // of its file
};

class TargetTags {
public:
    // Those of the library, which all have. They are read when a tag is looked for that is none of the user's.
    static const TargetTags& built_in();

    // Each *.json of the folder, in the order of their names; what is wrong in any file comes at once. Codes:
    // target.unreadable, target.tags (the form above), target.tag_twice (the name is known), those of parse_target.
    Result<void> add_folder(const std::string& folder);
    Result<void> add_file(std::shared_ptr<const SourceText> text);

    // Null: there is none.
    const TargetTag* find(std::string_view name) const;
    std::map<std::string, TargetTag, std::less<>> all() const;

    // "NAME", or "NAME:PART" for one device of a machine, with its host, or one machine of a cluster. Codes:
    // target.unknown_tag (with the nearest), target.unknown_part, those of parse_target.
    Result<Target> target(const std::string& tag) const;
    // As parse_target, with these tags.
    Result<Target> read(std::shared_ptr<const SourceText> text) const;
    // What a user writes in place of a target: JSON, which begins with a brace; a file, whose name ends in .json or has
    // a folder that exists; a tag.
    Result<Target> open(const std::string& text) const;

private:
    std::map<std::string, TargetTag, std::less<>> tags_;  // of the user
};

}  // namespace heddle
