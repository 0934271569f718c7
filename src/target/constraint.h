// Targets as constraints: what is known of one is what it asks for, and what nobody says is open. They are joined,
// filled up, asked, and compared by what they ask for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "target/target.h"

namespace heddle {

// What both ask for. Associative and commutative (up to is_same), and `a` joined with itself is `a`; what follows from
// other fields follows anew. Code target.conflict: a field of both differs, or what they say cannot be true of one
// target, as a CPU's name that is not of the architecture; each names the JSON path and both values.
Result<Target> join(const Target& a, const Target& b);

// `a`, with what `b` says where `a` says nothing. Associative; equal to the join where there is one. Code
// target.conflict: what `b` says cannot be true beside what `a` says.
Result<Target> with_defaults(const Target& a, const Target& b);

// What of `general` is not true of `special`, as sentences with JSON paths: it has another name, too little of what is
// counted (cores, caches, memory, limits), or lacks features or devices. None: whatever is made for `general` can be
// used for `special`. Speeds are no matter. A CPU's name that is a level ("x86-64-v3") asks for its features only.
std::vector<std::string> unsatisfied(const Target& general, const Target& special);

// A field's value as JSON, and where it is from. Codes: target.unknown_key; target.unknown_fact, where nobody says it
// and nothing follows, with the JSON to add.
struct TargetFact {
    std::string value;
    TargetOrigin origin;
};
Result<TargetFact> ask(const Target& target, const std::string& field);

}  // namespace heddle
