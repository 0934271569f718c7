// The table of what a target's text may hold, at every level. Reading, printing, canonical bytes, JSON Schema, joins,
// `heddle targets --explain` and `--diff` all walk it, so that a field is described once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "target/target.h"

namespace heddle {

// The form of the texts. A text says it in "schema"; without that it is of this one.
inline constexpr int64_t target_schema_version = 1;

// Where a field's names come from; those of `none` are any text.
enum class Vocabulary : uint8_t { none, kinds, architectures, systems, abis, cpus, features };

// What a field of a constraint asks of a target that is to satisfy it (constraint.h).
enum class Demand : uint8_t {
    equal,     // the same value
    at_least,  // that much or more: what fits there fits here
    nothing,   // speeds: they choose between plans that all work
};

// A pointer to a member of one of these types.
template <typename Owner, typename... Values>
using MemberOf = std::variant<Values Owner::*...>;
template <typename Owner>
struct SchemaMember {
    using Type = MemberOf<Owner, std::string, int, int64_t, double, bool, std::shared_ptr<const Target>,
                          std::vector<MemoryScope>>;
};
template <>
struct SchemaMember<Target> {
    using Type = MemberOf<Target, std::string, int, int64_t, double, std::map<std::string, std::string>,
                          std::shared_ptr<const Target>, std::vector<SystemDevice>, std::vector<SystemLink>,
                          std::vector<ClusterMachine>>;
};

// One field of `Owner`, which is Target or a part of a machine.
template <typename Owner>
struct SchemaField {
    const char* name;
    typename SchemaMember<Owner>::Type member;
    // Of a kind's in targets/facts/kinds.json: which kinds have it. Empty: all, and what is no target.
    const char* group = "";
    const char* unit = "";     // "bytes", "bytes/second" ...; empty: a count or a name
    const char* meaning = "";  // for people
    const char* from = "";     // who knows it, where no text says it: "CPU", "system", "measurement", "user"
    Demand demand = Demand::equal;
    Vocabulary vocabulary = Vocabulary::none;
    int64_t least = 1;         // of a number; zero is "not known" where a field's own default is zero
    bool above_least = false;  // `least` itself is too little
    bool required = false;     // of a device, link ... that is written
};

const std::vector<SchemaField<Target>>& target_fields();
const std::vector<SchemaField<SystemDevice>>& device_fields();
const std::vector<SchemaField<MemoryScope>>& scope_fields();
const std::vector<SchemaField<SystemLink>>& link_fields();
const std::vector<SchemaField<ClusterMachine>>& machine_fields();

const SchemaField<Target>* find_target_field(std::string_view name);

// Names that other tools write for a field of a target; they are read as ours, and never printed.
struct OtherName {
    const char *other, *ours;
};
const std::vector<OtherName>& other_target_names();

// Whether the field's own default is a value that says "not known".
bool has_unknown(const SchemaField<Target>& field);

// What a field is, as JSON on one line.
std::string value_text(const Target& target, const SchemaField<Target>& field);

// Whether somebody says what the field is: it has an origin other than `assumed`, or code has given it another value
// than its default.
bool is_known(const Target& target, const SchemaField<Target>& field);
// Who; `program` where code has set it. Code that changes a field which has an origin sets that too, and clears the tag:
// what prints a tag, or what follows, would not show the change.
TargetOrigin origin_of(const Target& target, const SchemaField<Target>& field);

// JSON Schema (draft 7) of a target's text, for editors and other programs.
std::string target_json_schema();

}  // namespace heddle
