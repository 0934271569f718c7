#include "target/processes.h"

#include <algorithm>

#include <fmt/format.h>

#include "target/facts.h"
#include "target/hosts.h"

namespace heddle {
namespace {

// A part of a field, whether it is known or assumed, at least so much.
template <typename Value>
void take_share(Target& target, const char* name, Value Target::* member, double part, Value least) {
    if (target.*member == 0) return;  // not known
    target.*member = std::max(least, static_cast<Value>(static_cast<double>(target.*member) * part));
    target.origins[name] = {TargetOrigin::Kind::program, {}};
}

Target share_of(const Target& cpu, int count) {
    Target share = cpu;
    share.tag.clear();
    share.overrides.clear();
    const double part = 1.0 / count;
    if (count > cpu.cores) take_share(share, "operations", &Target::operations, cpu.cores * part, 1.0);
    take_share(share, "bandwidth", &Target::bandwidth, part, 1.0);
    take_share(share, "l3_bytes", &Target::l3_bytes, part, std::min(cpu.l2_bytes, cpu.l3_bytes));
    take_share<int64_t>(share, "memory_bytes", &Target::memory_bytes, part, 1);
    take_share(share, "cores", &Target::cores, part, 1);
    if (share.bandwidth_one_core > share.bandwidth) {
        share.bandwidth_one_core = share.bandwidth;
        share.origins["bandwidth_one_core"] = {TargetOrigin::Kind::program, {}};
    }
    return share;
}

}  // namespace

Target with_cores(const Target& cpu, int cores) {
    if (cores >= cpu.cores) return cpu;
    Target part = cpu;
    part.cores = std::max(1, cores);
    part.bandwidth = std::min(cpu.bandwidth, part.cores * cpu.bandwidth_one_core);
    for (const char* field : {"cores", "bandwidth"}) part.origins[field] = {TargetOrigin::Kind::program, {}};
    return part;
}

Result<Target> as_processes(const Target& cpu, int count) {
    const KindFacts* kind = find_kind(kind_of(cpu));
    if (cpu.level() != TargetLevel::device || !kind || !kind->launches) {
        return fail({.code = "target.value",
                     .summary = fmt::format("processes run on a processor, and '{}' is of kind '{}'", short_text(cpu),
                                            kind_of(cpu)),
                     .remedy = "name a target of kind 'cpu', or one device of the machine: TAG:DEVICE"});
    }
    if (count < 1 || count > most_machines) {
        return fail({.code = "target.limit",
                     .summary = fmt::format("{} processes cannot share a machine", count),
                     .expected = fmt::format("1 to {}", most_machines)});
    }
    Target cluster;
    cluster.kind = "cluster";
    cluster.name = fmt::format("{} processes", count);
    cluster.machines = {{"process", std::make_shared<const Target>(share_of(cpu, count)), count}};
    const double latency = count > cpu.cores ? crowded_latency : process_latency;
    if (count > 1) cluster.links = {{"process", "process", cpu.bandwidth_one_core / 2, latency}};
    for (const char* field : {"name", "kind", "machines", "links"})
        cluster.origins[field] = {TargetOrigin::Kind::program, {}};
    if (count == 1) cluster.origins.erase("links");
    return cluster;
}

}  // namespace heddle
