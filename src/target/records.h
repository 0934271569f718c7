// What was found out for a workload on a target, looked up by both: tuning records, as far as this version has them
// (they are filled by hand).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "target/target.h"

namespace heddle {

struct TargetRecord {
    Target target;         // that it was made for: what it does not say is open
    std::string contents;  // whatever the workload's own readers know
};

struct FoundRecord {
    const TargetRecord* record = nullptr;  // of the store
    bool exact = false;
    // Where it is not exact: what the target says and the record's does not, or says with less, as JSON paths.
    std::vector<std::string> beyond;
    std::string reason;  // one sentence
};

class TargetRecords {
public:
    // In place of one with the same workload and target.
    void add(const std::string& workload, TargetRecord record);

    // The record of this very target; else of those whose target this one satisfies (constraint.h) the nearest: the one
    // that leaves least of the target open. Nothing: no record of the workload is usable here.
    std::optional<FoundRecord> find(const std::string& workload, const Target& target) const;

    size_t size() const;

private:
    std::map<std::string, std::map<std::string, TargetRecord>> records_;  // by workload, by canonical bytes
};

}  // namespace heddle
