#include "plan/validity.h"

#include <algorithm>

#include <fmt/format.h>

#include "zspace/origin_bounds.h"
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

}  // namespace

SizeFacts without_class_facts(const SizeFacts& facts, const std::map<std::string, int64_t>& names) {
    SizeFacts result = class_facts(names);
    for (const SizeFact& fact : facts.list()) {
        if (known_within(fact.relation, fact.size->within_class(names)) != true) result.add(fact);
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
