// Which targets lie within which, level by level.
#include <algorithm>

#include "placing/module.h"
#include "target/constraint.h"
#include "target/facts.h"

namespace heddle::placing {
namespace {

// Of targets of one device: all that `outer` asks for is true of `inner`.
bool asks_for_all(const Target& inner, const Target& outer) {
    const auto alone = [](Target target) {
        target.host = nullptr;
        return target;
    };
    return kind_of(inner) == kind_of(outer) && unsatisfied(alone(outer), alone(inner)).empty();
}

// An outside library says on which device it runs, as the host of its target, or runs on any.
bool is_library(const Target& target) { return target.kind == "library"; }

}  // namespace

bool lies_within(const Target& inner, const Target& outer) {
    if (is_library(inner) && !is_library(outer)) return !inner.host || lies_within(*inner.host, outer);
    const auto within = [&](const auto& part) { return part.target && lies_within(inner, *part.target); };
    switch (outer.level()) {
    case TargetLevel::cluster:
        if (inner.level() == TargetLevel::cluster) return unsatisfied(outer, inner).empty();
        return std::ranges::any_of(outer.machines, within);
    case TargetLevel::machine:
        if (inner.level() == TargetLevel::machine) return unsatisfied(outer, inner).empty();
        if (inner.host) {
            Target alone = inner;
            alone.host = nullptr;
            return lies_within(alone, outer) && lies_within(*inner.host, outer);
        }
        return std::ranges::any_of(outer.devices, within);
    case TargetLevel::device_with_host:
        if (inner.host) return asks_for_all(inner, outer) && lies_within(*inner.host, *outer.host);
        return asks_for_all(inner, outer) || lies_within(inner, *outer.host);
    case TargetLevel::device: return inner.level() == TargetLevel::device && asks_for_all(inner, outer);
    }
    return false;
}

}  // namespace heddle::placing
