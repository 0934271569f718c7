// Which targets lie within which, level by level.
#include <algorithm>

#include "modules/module.h"

namespace heddle::modules {
namespace {

// All that `outer` asks for is asked for by `inner` too.
bool asks_for_all(const Target& inner, const Target& outer) {
    const auto part = [](const std::string& in, const std::string& out) { return out.empty() || in == out; };
    const bool options = std::ranges::all_of(outer.options, [&](const auto& option) {
        const auto found = inner.options.find(option.first);
        return found != inner.options.end() && found->second == option.second;
    });
    return inner.kind == outer.kind && part(inner.arch, outer.arch) && part(inner.os, outer.os) &&
           part(inner.abi, outer.abi) && part(inner.cpu, outer.cpu) && part(inner.features, outer.features) &&
           part(inner.library, outer.library) && part(inner.version, outer.version) && options;
}

// An outside library says on which device it runs, as the host of its target, or runs on any.
bool is_library(const Target& target) { return target.kind == "library"; }

}  // namespace

bool lies_within(const Target& inner, const Target& outer) {
    if (is_library(inner) && !is_library(outer)) return !inner.host || lies_within(*inner.host, outer);
    const auto within = [&](const auto& part) { return part.target && lies_within(inner, *part.target); };
    switch (outer.level()) {
    case TargetLevel::cluster:
        if (inner.level() == TargetLevel::cluster)
            return print(inner, TargetText::expanded) == print(outer, TargetText::expanded);
        return std::ranges::any_of(outer.machines, within);
    case TargetLevel::machine:
        if (inner.level() == TargetLevel::machine)
            return print(inner, TargetText::expanded) == print(outer, TargetText::expanded);
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

}  // namespace heddle::modules
