#include "plan/validity.h"

#include <algorithm>

#include <fmt/format.h>

#include "zspace/interval.h"
#include "zspace/size_class.h"

namespace heddle::plan {
namespace {

SizeFacts class_facts(const std::map<std::string, int64_t>& names) {
    SizeFacts facts;
    const RecordingFacts recording(facts);
    for (const auto& [name, value] : names) {
        const Size size = named_size(name, value);
        const SizeClass sizes = size_class(value);
        (void)(size >= sizes.least && size <= sizes.most);
    }
    return facts;
}

bool holds_in_class(const SizeFact& fact, const std::map<std::string, int64_t>& names) {
    const Interval ends = fact.size->within_class(names);
    const bool above = ends.known_low() && ends.low.number() > 0, below = ends.known_high() && ends.high.number() < 0;
    switch (fact.relation) {
    case SizeFact::Relation::zero: return false;
    case SizeFact::Relation::not_zero: return above || below;
    case SizeFact::Relation::not_negative: return ends.known_low() && ends.low.number() >= 0;
    }
    return false;
}

}  // namespace

SizeFacts without_class_facts(const SizeFacts& facts, const std::map<std::string, int64_t>& names) {
    SizeFacts result = class_facts(names);
    for (const SizeFact& fact : facts.list()) {
        if (!holds_in_class(fact, names)) result.add(fact);
    }
    return result;
}

std::string validity_text(const Plan& plan) {
    if (!plan.facts) return "";
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    for (const auto& [name, value] : plan.names) {
        if (name == plan.capacity) continue;  // any that is enough
        const SizeClass sizes = size_class(value);
        add(sizes.least == sizes.most ? fmt::format("{} == {}", name, value)
                                      : fmt::format("{} <= {} <= {}", sizes.least, name, sizes.most));
    }
    constexpr size_t most_shown = 8;
    size_t others = 0;
    const auto of_classes = class_facts(plan.names).list();
    for (const SizeFact& fact : plan.facts->list()) {
        if (std::ranges::find(of_classes, fact) != of_classes.end()) continue;
        if (others++ < most_shown) add(fact.text());
    }
    return others > most_shown ? fmt::format("{} and {} more", text, others - most_shown) : text;
}

}  // namespace heddle::plan
