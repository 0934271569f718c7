// What a target is, for people: each value with who says it; two targets side by side.
#pragma once

#include <string>
#include <vector>

#include "target/target.h"

namespace heddle {

struct TargetRow {
    std::string path;   // "$.host.cores"
    std::string value;  // JSON on one line
    TargetOrigin origin;
    std::string unit, meaning;
};
// In the order of the table of fields, what is inside behind it. `assumed`: with the fields that nobody says.
std::vector<TargetRow> explain_target(const Target& target, bool assumed);

// "tag aws/c5", "cpu znver4", "assumed" ...
std::string origin_text(const TargetOrigin& origin);

struct TargetDifference {
    std::string path;
    std::string a, b;  // JSON on one line; empty: nobody says it
};
// Only facts are compared: what is assumed may be anything.
std::vector<TargetDifference> difference(const Target& a, const Target& b);

}  // namespace heddle
