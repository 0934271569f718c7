// YAML read strictly, with positions. Scalars stay text; whatever YAML would turn into something else is an error that
// says what to write instead: tags, anchors, aliases, merge keys, repeated keys, further documents (docs/language.md).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "language/fragment.h"

namespace heddle {

struct YamlEntry;

struct YamlNode {
    enum class Kind : uint8_t { empty, scalar, sequence, mapping };
    Kind kind = Kind::empty;
    Fragment scalar;
    bool folded = false;             // a scalar over several lines that YAML joins (plain, quoted or `>`)
    bool quoted = false;             // a quoted or block scalar
    bool refused = false;            // reported already: whoever reads it stays silent
    std::vector<YamlNode> items;     // of a sequence
    std::vector<YamlEntry> entries;  // of a mapping, in order, keys distinct
    Place place;                     // of a scalar's text; else where it begins

    bool is_scalar() const { return kind == Kind::scalar; }
    bool is_mapping() const { return kind == Kind::mapping; }
    bool is_sequence() const { return kind == Kind::sequence; }
    const YamlEntry* entry(const std::string& key) const;
    std::string_view kind_name() const;
};

struct YamlEntry {
    YamlNode key;  // a scalar
    YamlNode value;
    const std::string& name() const { return key.scalar.text; }
};

// Limits of one file. Larger is an error before memory is spent.
inline constexpr size_t yaml_text_limit = size_t{4} << 20;
inline constexpr size_t yaml_node_limit = 100'000;
inline constexpr int yaml_depth_limit = 32;

// The document's root. Problems go to `sink`; an empty node is returned where nothing could be read.
YamlNode read_yaml(const std::shared_ptr<const SourceText>& source, DiagnosticSink& sink);

}  // namespace heddle
