#include "zspace/size_facts.h"

#include <algorithm>

namespace heddle {
namespace {

thread_local RecordingFacts* innermost = nullptr;

}  // namespace

bool SizeFact::holds(Relation relation, int64_t value) {
    switch (relation) {
    case Relation::zero: return value == 0;
    case Relation::not_zero: return value != 0;
    case Relation::not_negative: return value >= 0;
    }
    return false;
}

bool SizeFact::holds(const std::map<std::string, int64_t>& names) const {
    return holds(relation, size->evaluate(names, INT64_MIN));
}

std::string SizeFact::text() const {
    static constexpr const char* marks[] = {" == 0", " != 0", " >= 0"};
    return size->text() + marks[static_cast<size_t>(relation)];
}

bool SizeFacts::has(const SizeFact& fact) const {
    const auto [first, last] = known_.equal_range(fact.size);
    return std::any_of(first, last, [&](const auto& known) { return known.second == fact.relation; });
}

void SizeFacts::add(SizeFact fact) {
    if (has(fact)) return;
    known_.emplace(fact.size, fact.relation);
    list_.push_back(fact);
}

const SizeFact* SizeFacts::broken_by(const std::map<std::string, int64_t>& names) const {
    const auto broken = std::ranges::find_if(list_, [&](const SizeFact& fact) { return !fact.holds(names); });
    return broken == list_.end() ? nullptr : &*broken;
}

RecordingFacts::RecordingFacts(SizeFacts& facts) : facts_(facts), around_(innermost) { innermost = this; }
RecordingFacts::~RecordingFacts() { innermost = around_; }
bool RecordingFacts::is_on() { return innermost != nullptr; }
bool RecordingFacts::is_known(const SizeFact& fact) { return innermost && innermost->facts_.has(fact); }
PausedFacts::PausedFacts() : around_(innermost) { innermost = nullptr; }
PausedFacts::~PausedFacts() { innermost = around_; }

void RecordingFacts::tell(SizeFact fact) {
    if (fact.relation == SizeFact::Relation::not_negative && fact.size->is_never_negative()) return;
    for (RecordingFacts* recording = innermost; recording; recording = recording->around_) recording->facts_.add(fact);
}

}  // namespace heddle
