// Where things stand in a list, found by their hashes: the list holds the things, the table eight bytes for each, so
// that a search reads one line of memory beside the thing that it finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {

class PlaceTable {
public:
    size_t size() const { return size_; }
    void clear() {
        entries_.clear();
        size_ = 0;
    }

    // The place of the thing with this hash for which `is_it(place)` holds, or -1.
    template <typename IsIt>
    int32_t find(size_t hash, const IsIt& is_it) const {
        if (entries_.empty()) return -1;
        for (size_t at = start(folded(hash));; at = next(at)) {
            const Entry& entry = entries_[at];
            if (entry.place < 0 || (entry.hash == folded(hash) && is_it(entry.place))) return entry.place;
        }
    }

    // `place` is not there yet.
    void insert(size_t hash, int32_t place) {
        if (2 * (size_ + 1) > entries_.size()) grow();
        put({folded(hash), place});
        ++size_;
    }

    // `place` is there, with this hash. What was put behind it moves up, so that searches need no marks of the dead
    // (Knuth, The Art of Computer Programming, volume 3, section 6.4, algorithm R).
    void erase(size_t hash, int32_t place) {
        size_t hole = start(folded(hash));
        while (entries_[hole].place != place) hole = next(hole);
        for (size_t at = next(hole); entries_[at].place >= 0; at = next(at)) {
            const size_t mask = entries_.size() - 1;
            // Not if its search begins behind the hole.
            if (((at - start(entries_[at].hash)) & mask) < ((at - hole) & mask)) continue;
            entries_[hole] = entries_[at];
            hole = at;
        }
        entries_[hole] = {};
        --size_;
    }

private:
    struct Entry {
        uint32_t hash = 0;
        int32_t place = -1;  // -1: nothing here
    };

    static uint32_t folded(size_t hash) { return static_cast<uint32_t>(hash ^ hash >> 32); }
    size_t start(uint32_t hash) const { return hash & (entries_.size() - 1); }
    size_t next(size_t at) const { return (at + 1) & (entries_.size() - 1); }
    void put(Entry entry) {
        size_t at = start(entry.hash);
        while (entries_[at].place >= 0) at = next(at);
        entries_[at] = entry;
    }
    void grow() {
        std::vector<Entry> before = std::move(entries_);
        entries_.assign(before.empty() ? 16 : 2 * before.size(), {});
        for (const Entry& entry : before)
            if (entry.place >= 0) put(entry);
    }

    std::vector<Entry> entries_;  // a power of two, at most half in use
    size_t size_ = 0;
};

}  // namespace heddle
