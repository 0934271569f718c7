// Values that are kept once each: which number a value has, by hash. The values themselves stand elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "support/inline_vector.h"

namespace heddle {

// A hash of what `hash` is of, and `value` behind it.
inline size_t mixed_hash(size_t hash, size_t value) { return (hash ^ value) * 0x9e3779b97f4a7c15ull + (hash >> 29); }

// Numbers 0, 1, ... in the order in which values come.
class InternTable {
public:
    InternTable() : places_(64, -1) {}

    // The number of a value with this hash of which same(number) holds. If there is none, the next number and true: the
    // caller puts the value where `same` finds it.
    template <typename Same>
    std::pair<int32_t, bool> intern(size_t hash, const Same& same) {
        const auto own = static_cast<uint32_t>(hash >> 32);
        if (2 * (hashes_.size() + 1) > places_.size()) grow();
        size_t at = own & (places_.size() - 1);
        for (; places_[at] >= 0; at = (at + 1) & (places_.size() - 1)) {
            const int32_t number = places_[at];
            if (hashes_[static_cast<size_t>(number)] == own && same(number)) return {number, false};
        }
        places_[at] = static_cast<int32_t>(hashes_.size());
        hashes_.push_back(own);
        return {places_[at], true};
    }

private:
    void grow() {
        places_.assign(2 * places_.size(), -1);
        for (size_t number = 0; number < hashes_.size(); ++number) {
            size_t at = hashes_[number] & (places_.size() - 1);
            while (places_[at] >= 0) at = (at + 1) & (places_.size() - 1);
            places_[at] = static_cast<int32_t>(number);
        }
    }

    InlineVector<int32_t, 64> places_;   // numbers by hash, -1 for none: a power of two of places, at most half in use
    InlineVector<uint32_t, 32> hashes_;  // by number: the upper halves
};

}  // namespace heddle
