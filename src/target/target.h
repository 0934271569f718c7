// What code is made for, and what cost models and schedules know of it: one structure from a device that runs kernels
// to a cluster (docs/targets.md). Its text is JSON; which fields there are, at which level and in which unit is said
// once, by the table of schema.h. Building a target never touches a device, the environment or the clock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "target/system.h"

namespace heddle {

// How many devices a target speaks of.
enum class TargetLevel : uint8_t {
    device,            // one that runs kernels
    device_with_host,  // and the one that launches them
    machine,           // `devices` and `links`
    cluster,           // `machines` and `links`
};

// Who says what a field is.
struct TargetOrigin {
    enum class Kind : uint8_t {
        assumed,   // nobody: the default below; the only one that is not a fact
        text,      // it was written
        override,  // it was written beside a tag
        tag,       // the tag says it; `detail` is the tag
        derived,   // it follows from another field; `detail` is that field and its value: "cpu skylake-avx512"
        detected,  // the system says it; `detail`: "CPU flags", "system"
        measured,  // measure_host.h
        chosen,    // a host that was not given; `detail` is the kind that chose it
        program,   // code set it
    };
    Kind kind = Kind::assumed;
    std::string detail;
    bool operator==(const TargetOrigin&) const = default;
};

// Figures are rough on purpose: they steer choices between plans whose times differ by tens of percent. All are plain:
// what nobody says has its default, that of a CPU with AVX-512.
struct Target {
    std::string name = "generic-avx512";  // for people; not part of what a target is

    // ---- what it is
    std::string kind = "cpu";  // of targets/kinds.json: cpu, cuda, webgpu, library ...
    std::string arch;          // of its kind's: "x86_64", "aarch64", "sm_90"; empty: not known
    std::string os;            // "linux", "none" ...; empty: not known
    std::string abi;           // "gnu", "gnueabihf", "lp64d" ...; empty: not known
    std::string cpu;           // LLVM's name, e.g. "znver4"; empty: by features alone
    std::string features;      // LLVM's, "+avx512f,..."; of other kinds their own names

    // ---- figures of a device
    int vector_bytes = 64;
    int vector_registers = 32;
    double fma_per_cycle = 2;
    double loads_per_cycle = 2;
    int fma_latency = 4;
    int maximum_rows = 14;  // of a register tile
    int64_t l1_bytes = 32 << 10;
    int64_t l2_bytes = 1 << 20;
    int64_t l3_bytes = 32 << 20;
    double l2_bytes_per_cycle = 32;
    double l3_bytes_per_cycle = 10;
    int cores = 2;            // that run kernels at once: of a GPU its multiprocessors
    double bandwidth = 30e9;  // of memory: bytes a second, all cores
    double bandwidth_one_core = 18e9;
    double operations = 100e9;     // of 32 bits, a second and core, all cores busy; a multiply-add is two
    double launch_seconds = 3e-7;  // that short tasks on all cores take longer than their work
    int maximum_equations = 64;    // of a kernel
    int maximum_buffers = 64;
    double clock_hertz = 0;    // of a core; 0: not known
    int64_t memory_bytes = 0;  // that tensors may lie in; 0: not known
    int64_t flash_bytes = 0;   // of a board: code and constants; 0: none, or not known
    // Of kinds whose cores run workgroups; 0: not known.
    int64_t workgroup_bytes = 0;          // memory that a workgroup shares
    int maximum_workgroup = 0;            // invocations of a workgroup
    int subgroup_lanes = 0;               // invocations that run together: a warp
    int64_t registers_per_core = 0;       // of 32 bits
    int64_t maximum_binding_bytes = 0;    // of one buffer of a kernel
    int64_t maximum_workgroups_axis = 0;  // workgroups of a launch along one axis

    // ---- an outside compiler or library (kind "library")
    std::string library, version;
    std::map<std::string, std::string> options;

    // ---- levels above a device
    std::shared_ptr<const Target> host;  // launches this device's kernels; it has no host itself
    std::vector<SystemDevice> devices;   // of a machine, in the order of the text
    std::vector<SystemLink> links;       // of a machine or a cluster
    std::vector<ClusterMachine> machines;

    // ---- how it came to be; not part of what it is
    std::string tag;        // "aws/c5", "nvidia/jetson-nano:cuda"; empty: none
    std::string overrides;  // JSON object that was merged over the tag's, in canonical order; empty: none
    std::map<std::string, TargetOrigin> origins;  // by field; one that is not here is assumed, or set by code

    TargetLevel level() const {
        if (!machines.empty()) return TargetLevel::cluster;
        if (!devices.empty()) return TargetLevel::machine;
        return host ? TargetLevel::device_with_host : TargetLevel::device;
    }
    // Tasks are workgroups, with an invocation a lane.
    bool has_workgroups() const { return workgroup_bytes > 0; }
    // AVX-512: a masked access costs what a plain one does. So it is where every lane has its own.
    bool has_mask_registers() const { return vector_bytes >= 64; }
    // Registers of invocations have 32 bits, whatever the element.
    int lanes(int64_t element_bytes) const {
        return static_cast<int>(vector_bytes / (has_workgroups() ? 4 : element_bytes));
    }
};

// Of JSON text: schema.h's fields, "tag" for one of the built-in tags (tags.h), which the other keys are merged over.
// What follows from the names of the CPU and the architecture is filled in. All that is wrong comes at once; each
// summary has the JSON path, which is `params["path"]` too, and the nearest known name. Codes: target.syntax,
// target.limit (too long, nested too deep), target.key (twice), target.value, target.unknown_key, target.unknown_kind,
// target.unknown_tag, target.unknown_value, target.level (a field that this kind has not), target.missing,
// target.schema, target.host_conflict, target.system (devices, links and machines that do not fit together).
Result<Target> parse_target(std::shared_ptr<const SourceText> text);
// A file with such a text. Code target.unreadable.
Result<Target> load_target(const std::string& path);

enum class TargetText : uint8_t {
    written,   // its tag and what was merged over it; without a tag what is a fact and does not follow from others
    expanded,  // all facts, without a tag
    complete,  // and what is assumed: what schedules see
};
// JSON of several lines; parses back equal.
std::string print(const Target& target, TargetText form = TargetText::complete);

// The machine we run on, as a target: features, caches, cores; speeds are those assumed above. A separate step:
// compiling never calls it.
Target detect_host();
// What tells this kind of machine from others: the CPU's names and numbers, its flags, caches, cores.
std::string host_identity();

}  // namespace heddle
