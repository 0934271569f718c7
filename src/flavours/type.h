// Types of values on placements, as one word writes them: placement, element and form (docs/flavours.md).
//
//     HostRing64Tensor   ReplicatedBitArray64   Host   Tensor   ReplicatedPlacement
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "support/dtype.h"

namespace heddle::flavours {

// As a pattern, what is left out stands for anything. The type of a value has all three.
struct Type {
    std::string placement;  // a kind of placement: "Host"
    std::string element;    // "ring64"
    std::string form;       // "Tensor", "Key", "Array64"

    std::string text() const;  // "HostRing64Tensor"
    bool operator==(const Type& other) const = default;
};

bool matches(const Type& pattern, const Type& type);

// A place where values are: one host, or several that hold one value together.
struct Placement {
    std::string kind;  // "Host", "Replicated"
    std::string name;  // "alice"
    std::vector<std::string> hosts;

    std::string text() const;  // "alice", "rep(alice, bob, carole)"
};
Placement host(std::string name);

// The words that types are made of. Elements say what stores them: a ring64 is a uint64, a bit a bool.
struct Vocabulary {
    std::vector<std::string> placements = {"Host", "Replicated"};
    std::map<std::string, DType> elements;  // by name in small letters

    Vocabulary();  // the dtypes, ring64 and bit

    // Code flavours.type_word. "Host" and "HostPlacement" are one word.
    Result<Type> parse(const std::string& word, const Place& place) const;
};

}  // namespace heddle::flavours
