// A system as placement sees it (docs/systems.md): devices that operations run on, memories that tensors lie in, ways
// between memories. Made of a target of any level; nothing here touches a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "support/strong_id.h"
#include "target/target.h"

namespace heddle::placing {

using DeviceId = StrongId<struct DeviceTag>;  // of System::devices
using MemoryId = StrongId<struct MemoryTag>;  // of System::memories

// More than these are refused: choosing compares all pairs of them.
inline constexpr size_t most_locations = 64, most_links = 4096;
// Of a device whose target has a host and no link to it: what a card in its slot has.
inline constexpr double assumed_link_bandwidth = 12e9;
inline constexpr double assumed_link_latency = 10e-6;

// A scope of a virtual device. Devices of one kind and virtual id are one device under several targets, and have these
// in common.
struct Memory {
    std::string machine;  // of a cluster, whose virtual ids are its own; else empty
    std::string device;   // the first device that has it
    std::string kind;
    int id = 0;  // the virtual device's, in its kind
    std::string scope;
    int64_t bytes = 0;    // that it holds; 0: not known
    int32_t process = 0;  // whose it is
    std::string text() const { return scope == "global" ? device : device + ":" + scope; }
};

struct Device {
    std::string name;  // unique; in a cluster MACHINE/DEVICE
    std::shared_ptr<const Target> target;
    int id = 0;
    DeviceId host = no_id;           // launches its kernels; none: it runs code itself
    std::vector<MemoryId> memories;  // the first where none is named; those of its host, of a library
    int32_t process = 0;             // of one program several processes may run their parts
};

// Where an operation runs, and where all that it reads and makes lies.
struct Location {
    DeviceId device = no_id;
    MemoryId memory = no_id;
    bool operator==(const Location&) const = default;
    auto operator<=>(const Location&) const = default;
};

struct Link {
    MemoryId from = no_id, to = no_id;
    double bandwidth = 0, latency = 0;  // bytes a second, seconds
};

// How bytes come from one memory to another: over which memories, both ends included, and in how many seconds, each
// way after the one before.
struct Route {
    std::vector<MemoryId> memories;  // empty: there is no way
    double seconds = 0;
    bool exists() const { return !memories.empty(); }
};

struct System {
    std::string name;
    std::vector<Device> devices;
    std::vector<Memory> memories;
    std::vector<Link> links;  // one way each
    DeviceId host = no_id;    // of the code that calls: there may be none

    const Device& device(DeviceId id) const { return devices[id]; }
    const Memory& memory(MemoryId id) const { return memories[id]; }
    Location default_location(DeviceId id) const { return {id, devices[id].memories.front()}; }
    std::vector<Location> locations() const;
    std::string text(const Location& location) const;  // "gpu0", "gpu0:texture"
    Route route(MemoryId from, MemoryId to, int64_t bytes) const;
    // To each memory.
    std::vector<Route> routes_from(MemoryId from, int64_t bytes) const;
    // Of all routes for so many bytes, from each memory to each, row by row; infinite where there is no way.
    std::vector<double> route_seconds(int64_t bytes) const;
};

// Whether code that launches kernels of other devices runs on this kind of device.
bool runs_host_code(const Target& target);

struct SystemLimits {
    size_t locations = most_locations, links = most_links;
};

// In the order of names, whatever that of the text is. Devices of the target: itself, with its host, all of a machine,
// all of a cluster's machines, each by itself. Codes: placing.system (an end of a link or a host that is no device;
// two devices of one name), placing.locations (too many, or too many links).
Result<System> system_of(const Target& target, const SystemLimits& limits = {});

}  // namespace heddle::placing
