// What the numbers of named sizes have decided on the way to a result, so that it is known for which other numbers the
// result is the same: those for which all of this holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "zspace/origin.h"

namespace heddle {

struct SizeFact {
    enum class Relation : uint8_t { zero, not_zero, not_negative };
    OriginPointer size = nullptr;  // named
    Relation relation = Relation::zero;
    bool operator==(const SizeFact&) const = default;
    static bool holds(Relation relation, int64_t value);
    bool holds(const std::map<std::string, int64_t>& names) const;
    std::string text() const;  // "rows - 4 >= 0"
};

class SizeFacts {
public:
    void add(SizeFact fact);
    const std::vector<SizeFact>& list() const { return list_; }  // each once, as they came
    bool has(const SizeFact& fact) const;
    // The first one that does not hold; null: all hold.
    const SizeFact* broken_by(const std::map<std::string, int64_t>& names) const;

private:
    std::vector<SizeFact> list_;
    std::unordered_multimap<OriginPointer, SizeFact::Relation> known_;
};

// While it lives, what this thread's sizes decide is added to `facts`, and to those of the recordings around it.
class RecordingFacts {
public:
    explicit RecordingFacts(SizeFacts& facts);
    ~RecordingFacts();
    RecordingFacts(const RecordingFacts&) = delete;
    RecordingFacts& operator=(const RecordingFacts&) = delete;

    static bool is_on();
    static bool is_known(const SizeFact& fact);  // to the innermost one: it is told already
    static void tell(SizeFact fact);

private:
    SizeFacts& facts_;
    RecordingFacts* around_;
};

// While it lives, this thread's sizes tell nothing: what follows from their numbers is found in another way, or is an
// estimate.
class PausedFacts {
public:
    PausedFacts();
    ~PausedFacts();
    PausedFacts(const PausedFacts&) = delete;
    PausedFacts& operator=(const PausedFacts&) = delete;

private:
    RecordingFacts* around_;
};

}  // namespace heddle
