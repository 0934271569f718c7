// What a device can do: the facts that cost models and schedules use. Building a target never touches a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace heddle {

// One CPU device. Figures are rough on purpose: they steer choices between plans whose times differ by tens of percent.
struct Target {
    std::string name = "generic-avx512";
    std::string cpu;       // LLVM's name, e.g. "znver4"; empty: by features alone
    std::string features;  // LLVM's, "+avx512f,..."
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
    int cores = 2;
    double bandwidth = 30e9;  // of memory: bytes a second, all cores
    double bandwidth_one_core = 18e9;
    double operations = 100e9;     // of 32 bits, a second and core, all cores busy; a multiply-add is two
    double launch_seconds = 3e-7;  // that short tasks on all cores take longer than their work
    int maximum_equations = 64;    // of a kernel
    int maximum_buffers = 64;

    // AVX-512: a masked access costs what a plain one does.
    bool has_mask_registers() const { return vector_bytes >= 64; }
    int lanes(int64_t element_bytes) const { return static_cast<int>(vector_bytes / element_bytes); }
};

// Who says what a target's field is.
enum class FieldSource : uint8_t {
    flags,   // the CPU's: which instructions there are
    system,  // its tables of caches and cores
    speed,   // a measurement (measure_host.h); without one the default is assumed
    design,  // we do
};
struct TargetField {
    std::string name, value;  // JSON
    FieldSource source;
    std::string meaning;  // with its unit
};
std::vector<TargetField> fields_of(const Target& target);

// From JSON text; a field left out keeps its default above. Codes target.syntax, target.value, target.unknown_key.
Result<Target> parse_target(std::shared_ptr<const SourceText> text);
// Reads targets/NAME.json (the data directory's); an unknown key is an error with the nearest known one.
Result<Target> load_target(const std::string& path);
// The machine we run on, as a target: features, caches, cores; speeds are those assumed above. A separate step:
// compiling never calls it.
Target detect_host();
// What tells this kind of machine from others: the CPU's names and numbers, its flags, caches, cores.
std::string host_identity();
std::string print(const Target& target);  // JSON; parses back equal

}  // namespace heddle
