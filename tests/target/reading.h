// Targets from texts, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "helpers/codes.h"
#include "target/canonical.h"
#include "target/constraint.h"
#include "target/decompose.h"
#include "target/explain_target.h"
#include "target/facts.h"
#include "target/hosts.h"
#include "target/records.h"
#include "target/schema.h"
#include "target/tags.h"
#include "target/target.h"

namespace heddle {

inline Result<Target> parse(const std::string& text) {
    return parse_target(std::make_shared<SourceText>("t.json", text));
}

// A text that is right.
inline Target read(const std::string& text) {
    auto target = parse(text);
    EXPECT_TRUE(target) << text << "\n" << render(target.error());
    return target ? *target : Target{};
}

// The summary of the first error.
inline std::string said(const Result<Target>& target) { return target ? "" : target.error().front().summary; }

// Two CPUs, two GPUs and an accelerator.
inline constexpr const char* large_machine = R"({
  "kind": "machine",
  "devices": {
    "big": {"target": {"cpu": "znver4", "cores": 8}, "id": 0, "scopes": {"global": {"bytes": 64000000000}}},
    "small": {"target": {"cpu": "znver4", "cores": 4}, "id": 1},
    "gpu0": {"target": {"kind": "cuda", "arch": "sm_90"}, "id": 0, "host": "big",
             "scopes": {"global": {"bytes": 80000000000, "bandwidth": 3.3e12}, "shared": {"bytes": 233472}}},
    "gpu1": {"target": {"kind": "cuda", "arch": "sm_90"}, "id": 1, "host": "big"},
    "npu": {"target": {"kind": "ethos-u", "arch": "ethos-u65-256"}, "host": "small"}
  },
  "links": [
    {"from": "big", "to": "gpu0:global", "bandwidth": 64e9, "latency": 1e-5},
    {"from": "gpu0", "to": "gpu1", "bandwidth": 450e9, "both_ways": false}
  ]
})";

}  // namespace heddle
