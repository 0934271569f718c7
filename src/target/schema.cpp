#include "target/schema.h"

#include <algorithm>

#include "target/write_target.h"

namespace heddle {
namespace {

constexpr auto at_least = Demand::at_least;
constexpr auto nothing = Demand::nothing;

// The machine's own description of itself.
std::vector<SchemaField<Target>> fields_of_devices() {
    return {
        {"name", &Target::name, "", "", "for people; not part of what the target is", "user", nothing},
        {"kind", &Target::kind, "", "", "which kind of device, or a machine or cluster", "user", Demand::equal,
         Vocabulary::kinds},
        {"arch", &Target::arch, "device", "", "instruction set, or the generation of a GPU", "CPU", Demand::equal,
         Vocabulary::architectures},
        {"os", &Target::os, "code", "", "operating system that code runs under; none: without one", "system",
         Demand::equal, Vocabulary::systems},
        {"abi", &Target::abi, "code", "", "how functions are called, as the end of LLVM's triple or RISC-V's name",
         "system", Demand::equal, Vocabulary::abis},
        {"cpu", &Target::cpu, "code", "", "LLVM's name of the CPU; without one features alone decide", "CPU",
         Demand::equal, Vocabulary::cpus},
        {"features", &Target::features, "device", "",
         "what there is beside what the CPU's name says, and with - what there is not, by LLVM's names", "CPU",
         at_least, Vocabulary::features},
    };
}

std::vector<SchemaField<Target>> figures() {
    return {
        {"vector_bytes", &Target::vector_bytes, "scheduled", "bytes",
         "a vector register; of workgroups one of all lanes", "CPU"},
        {"vector_registers", &Target::vector_registers, "scheduled", "", "vector registers", "CPU", at_least},
        {"fma_per_cycle",
         &Target::fma_per_cycle,
         "scheduled",
         "1/cycle",
         "multiply-adds of whole vectors a cycle",
         "measurement",
         nothing,
         {},
         0,
         true},
        {"loads_per_cycle",
         &Target::loads_per_cycle,
         "scheduled",
         "1/cycle",
         "loads of whole vectors from L1 a cycle",
         "measurement",
         nothing,
         {},
         0,
         true},
        {"fma_latency", &Target::fma_latency, "scheduled", "cycles", "from a multiply-add to one that needs its result",
         "measurement", nothing},
        {"maximum_rows", &Target::maximum_rows, "scheduled", "", "rows of a register tile, at most", "design", nothing},
        {"l1_bytes", &Target::l1_bytes, "scheduled", "bytes",
         "a core's nearest memory: L1 for data, or SRAM without caches", "system", at_least},
        {"l2_bytes", &Target::l2_bytes, "device", "bytes", "the next level, of a core: L2; where there is none, L1's",
         "system", at_least},
        {"l3_bytes", &Target::l3_bytes, "scheduled", "bytes",
         "the last level that cores share; where there is none, L2's", "system", at_least},
        {"l2_bytes_per_cycle",
         &Target::l2_bytes_per_cycle,
         "scheduled",
         "bytes/cycle",
         "that a core reads from L2",
         "measurement",
         nothing,
         {},
         0,
         true},
        {"l3_bytes_per_cycle",
         &Target::l3_bytes_per_cycle,
         "scheduled",
         "bytes/cycle",
         "that a core reads from L3",
         "measurement",
         nothing,
         {},
         0,
         true},
        {"cores", &Target::cores, "device", "", "that run kernels at once: of a GPU its multiprocessors", "system",
         at_least},
        {"bandwidth",
         &Target::bandwidth,
         "device",
         "bytes/second",
         "that all cores read from memory",
         "measurement",
         nothing,
         {},
         0,
         true},
        {"bandwidth_one_core",
         &Target::bandwidth_one_core,
         "scheduled",
         "bytes/second",
         "that one core reads from memory",
         "measurement",
         nothing,
         {},
         0,
         true},
        {"operations",
         &Target::operations,
         "device",
         "1/second",
         "operations of 32 bits of a core, all cores busy (a multiply-add is two)",
         "measurement",
         nothing,
         {},
         0,
         true},
        {"launch_seconds",
         &Target::launch_seconds,
         "device",
         "seconds",
         "that short tasks on all cores take longer than their work",
         "measurement",
         nothing,
         {},
         0,
         true},
        {"maximum_equations", &Target::maximum_equations, "device", "", "equations of a kernel, at most", "design",
         nothing},
        {"maximum_buffers", &Target::maximum_buffers, "device", "", "buffers of a kernel, at most", "design", at_least},
        {"clock_hertz", &Target::clock_hertz, "device", "hertz", "cycles of a core", "system", nothing, {}, 0, true},
        {"memory_bytes", &Target::memory_bytes, "device", "bytes", "memory that tensors may lie in", "system",
         at_least},
        {"flash_bytes", &Target::flash_bytes, "code", "bytes", "of a board: where code and constants lie", "system",
         at_least},
        {"workgroup_bytes", &Target::workgroup_bytes, "workgroups", "bytes", "memory that a workgroup shares", "CPU",
         at_least},
        {"maximum_workgroup", &Target::maximum_workgroup, "workgroups", "", "invocations of a workgroup, at most",
         "CPU", at_least},
        {"subgroup_lanes", &Target::subgroup_lanes, "workgroups", "", "invocations that run together: a warp", "CPU"},
        {"registers_per_core", &Target::registers_per_core, "workgroups", "", "registers of 32 bits", "CPU", at_least},
        {"maximum_binding_bytes", &Target::maximum_binding_bytes, "workgroups", "bytes",
         "one buffer of a kernel, at most", "CPU", at_least},
        {"maximum_workgroups_axis", &Target::maximum_workgroups_axis, "workgroups", "",
         "workgroups of a launch along one axis, at most", "CPU", at_least},
    };
}

std::vector<SchemaField<Target>> levels_above() {
    return {
        {"library", &Target::library, "library", "", "an outside compiler or library that makes this device's code",
         "user"},
        {"version", &Target::version, "library", "", "of the library", "user"},
        {"options", &Target::options, "library", "", "of the library: names and texts", "user"},
        {"host", &Target::host, "device", "", "the device that launches this one's kernels", "user"},
        {"devices", &Target::devices, "machine", "", "devices by their names", "user"},
        {"machines", &Target::machines, "cluster", "", "machines by their names", "user"},
        {"links", &Target::links, "links", "", "ways for bytes between devices, scopes or machines", "user"},
    };
}

}  // namespace

const std::vector<SchemaField<Target>>& target_fields() {
    static const auto fields = [] {
        auto all = fields_of_devices();
        for (const auto& part : {figures(), levels_above()}) all.insert(all.end(), part.begin(), part.end());
        return all;
    }();
    return fields;
}

const std::vector<SchemaField<SystemDevice>>& device_fields() {
    static const std::vector<SchemaField<SystemDevice>> fields = {
        {.name = "target", .member = &SystemDevice::target, .meaning = "what the device is", .required = true},
        {.name = "id",
         .member = &SystemDevice::id,
         .meaning = "virtual number among the devices of a kind",
         .least = 0},
        {.name = "host", .member = &SystemDevice::host, .meaning = "name of the device that launches its kernels"},
        {.name = "scopes",
         .member = &SystemDevice::scopes,
         .meaning = "memories that tensors may lie in, by their names"},
    };
    return fields;
}

const std::vector<SchemaField<MemoryScope>>& scope_fields() {
    static const std::vector<SchemaField<MemoryScope>> fields = {
        {.name = "bytes", .member = &MemoryScope::bytes, .unit = "bytes", .meaning = "its size"},
        {.name = "bandwidth",
         .member = &MemoryScope::bandwidth,
         .unit = "bytes/second",
         .meaning = "between it and the device's cores",
         .demand = nothing,
         .least = 0,
         .above_least = true},
    };
    return fields;
}

const std::vector<SchemaField<SystemLink>>& link_fields() {
    static const std::vector<SchemaField<SystemLink>> fields = {
        {.name = "from",
         .member = &SystemLink::from,
         .meaning = "an end: DEVICE or DEVICE:SCOPE, in a cluster MACHINE or MACHINE/DEVICE",
         .required = true},
        {.name = "to", .member = &SystemLink::to, .meaning = "the other end", .required = true},
        {.name = "bandwidth",
         .member = &SystemLink::bandwidth,
         .unit = "bytes/second",
         .meaning = "of many bytes",
         .demand = nothing,
         .least = 0,
         .above_least = true,
         .required = true},
        {.name = "latency",
         .member = &SystemLink::latency,
         .unit = "seconds",
         .meaning = "until the first byte is there",
         .demand = nothing,
         .least = 0},
        {.name = "both_ways", .member = &SystemLink::both_ways, .meaning = "whether bytes go back in the same way"},
    };
    return fields;
}

const std::vector<SchemaField<ClusterMachine>>& machine_fields() {
    static const std::vector<SchemaField<ClusterMachine>> fields = {
        {.name = "target", .member = &ClusterMachine::target, .meaning = "what the machine is", .required = true},
        {.name = "count", .member = &ClusterMachine::count, .meaning = "how many machines are like it"},
    };
    return fields;
}

const SchemaField<Target>* find_target_field(std::string_view name) {
    const auto& fields = target_fields();
    const auto found = std::ranges::find(fields, name, [](const auto& field) { return std::string_view(field.name); });
    return found == fields.end() ? nullptr : &*found;
}

const std::vector<OtherName>& other_target_names() {
    static const std::vector<OtherName> names = {
        {"mcpu", "cpu"},
        {"mattr", "features"},
        {"num-cores", "cores"},
        {"l2_cache_size_bytes", "l2_bytes"},
        {"thread_warp_size", "subgroup_lanes"},
        {"max_num_threads", "maximum_workgroup"},
        {"max_threads_per_block", "maximum_workgroup"},
        {"max_shared_memory_per_block", "workgroup_bytes"},
    };
    return names;
}

bool has_unknown(const SchemaField<Target>& field) {
    static const Target fresh;
    const auto empty = [](const auto Target::* member) {
        using Value = std::decay_t<decltype(fresh.*member)>;
        return fresh.*member == Value{};
    };
    if (const auto* text = std::get_if<std::string Target::*>(&field.member)) return empty(*text);
    if (const auto* number = std::get_if<int Target::*>(&field.member)) return empty(*number);
    if (const auto* number = std::get_if<int64_t Target::*>(&field.member)) return empty(*number);
    if (const auto* number = std::get_if<double Target::*>(&field.member)) return empty(*number);
    return true;
}

std::string value_text(const Target& target, const SchemaField<Target>& field) {
    return field_json(target, field).dump();
}

bool is_known(const Target& target, const SchemaField<Target>& field) {
    return origin_of(target, field).kind != TargetOrigin::Kind::assumed;
}

TargetOrigin origin_of(const Target& target, const SchemaField<Target>& field) {
    const auto found = target.origins.find(field.name);
    if (found != target.origins.end()) return found->second;
    static const Target fresh;
    const bool set = field_json(target, field) != field_json(fresh, field);
    return {set ? TargetOrigin::Kind::program : TargetOrigin::Kind::assumed, {}};
}

}  // namespace heddle
