// What a machine of several devices and a cluster of several machines are made of (target.h): data, checked where a
// target is read (target.h) or put together (decompose.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heddle {

struct Target;

// A memory of a device that tensors may lie in. A target without scopes has one, `global`, of its `memory_bytes`.
struct MemoryScope {
    std::string name;      // "global", "workgroup", "texture" ...; unique on its device
    int64_t bytes = 0;     // 0: not known
    double bandwidth = 0;  // bytes a second between it and the device's cores; 0: not known
    bool operator==(const MemoryScope&) const = default;
};

// One entry of a machine's devices. What is bound at load is the virtual device, the pair of the target's kind and
// `id`: two entries with equal pairs are one device under two targets, two entries with one target and different ids
// are one target on two devices.
struct SystemDevice {
    std::string name;  // unique in its machine
    std::shared_ptr<const Target> target;
    int id = 0;                       // virtual, counted within a kind
    std::string host;                 // name of the device that launches its kernels; empty: none is needed
    std::vector<MemoryScope> scopes;  // empty: as the target says
};

// A way for bytes between two ends, each "DEVICE" or "DEVICE:SCOPE" in a machine, "MACHINE" or "MACHINE/DEVICE" in a
// cluster. There an end that stands for several machines is each of them: a link from such an entry to itself joins each
// two of its machines.
struct SystemLink {
    std::string from, to;
    double bandwidth = 0;   // bytes a second; above zero
    double latency = 0;     // seconds that the first byte takes
    bool both_ways = true;  // `to` to `from` at the same figures
    bool operator==(const SystemLink&) const = default;
};

// One entry of a cluster: a target of any level below, and how many machines are like it.
struct ClusterMachine {
    std::string name;  // unique in its cluster
    std::shared_ptr<const Target> target;
    int count = 1;
    // Of its machines: the entry's name, and their number behind it where there are several.
    std::string machine_name(int number) const { return count == 1 ? name : name + std::to_string(number); }
};

// More machines than these in a cluster are refused.
inline constexpr int64_t most_machines = 1 << 16;

}  // namespace heddle
