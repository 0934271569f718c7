#include "target/records.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "target/canonical.h"
#include "target/constraint.h"
#include "target/explain_target.h"
#include "target/facts.h"
#include "target/hosts.h"
#include "target/schema.h"

namespace heddle {
namespace {

// Whether a value, by its path, is a speed: of a device, of a memory, of a link.
bool is_speed(const std::string& path) {
    const std::string name = path.substr(path.rfind('.') + 1);
    const auto is_one = [&](const auto& field) { return field.name == name && field.demand == Demand::nothing; };
    return std::ranges::any_of(target_fields(), is_one) || std::ranges::any_of(scope_fields(), is_one) ||
           std::ranges::any_of(link_fields(), is_one);
}

// What of `special` a record for `general` did not know, speeds left out: they are measured, and differ each time.
std::vector<std::string> paths_beyond(const Target& general, const Target& special) {
    std::vector<std::string> paths;
    for (const TargetDifference& each : difference(general, special)) {
        if (!is_speed(each.path)) paths.push_back(each.path);
    }
    return paths;
}

// How much of `special` a record for `general` leaves open: facts, and features.
size_t distance(const Target& general, const Target& special, const std::vector<std::string>& beyond) {
    const auto used = features_of(general);
    const auto unused = [&](const std::string& feature) { return !used.contains(feature); };
    const auto features = features_of(special);
    return beyond.size() + static_cast<size_t>(std::ranges::count_if(features, unused));
}

}  // namespace

void TargetRecords::add(const std::string& workload, TargetRecord record) {
    std::string key = canonical_bytes(record.target);
    records_[workload].insert_or_assign(std::move(key), std::move(record));
}

std::optional<FoundRecord> TargetRecords::find(const std::string& workload, const Target& target) const {
    const auto known = records_.find(workload);
    if (known == records_.end()) return std::nullopt;
    const auto exact = known->second.find(canonical_bytes(target));
    if (exact != known->second.end()) {
        return FoundRecord{.record = &exact->second,
                           .exact = true,
                           .reason = fmt::format("a record of '{}' itself", short_text(target))};
    }
    std::optional<FoundRecord> nearest;
    size_t least = 0;
    for (const auto& [key, record] : known->second) {
        if (!unsatisfied(record.target, target).empty()) continue;
        auto beyond = paths_beyond(record.target, target);
        const size_t far = distance(record.target, target, beyond);
        if (nearest && far >= least) continue;
        nearest = FoundRecord{&record, false, std::move(beyond), {}};
        least = far;
    }
    if (nearest) {
        const std::string beyond = fmt::format("{}", fmt::join(nearest->beyond, ", "));
        nearest->reason =
            fmt::format("a record of '{}', which '{}' satisfies{}", short_text(nearest->record->target),
                        short_text(target), beyond.empty() ? ", at other speeds" : "; beyond it: " + beyond);
    }
    return nearest;
}

size_t TargetRecords::size() const {
    size_t number = 0;
    for (const auto& [workload, records] : records_) number += records.size();
    return number;
}

}  // namespace heddle
