// What a target is, as bytes: the same for the same facts, in whichever order and by whichever route they came (JSON,
// tag, overrides, detection, code), in every process and build of this form. What is for people, and what nobody says,
// is not part of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "target/target.h"

namespace heddle {

// A line with the form's version, then JSON: members in the order of their names, no blanks, features that the CPU's
// name says left out.
std::string canonical_bytes(const Target& target);

// Of the canonical bytes (FNV-1a, 128 bits), as 32 hexadecimal digits. Targets of one hash may differ if somebody wants
// them to: who looks up by it compares the bytes too.
std::string hash_text(const Target& target);

// Whether they are the same target.
bool is_same(const Target& a, const Target& b);

}  // namespace heddle
