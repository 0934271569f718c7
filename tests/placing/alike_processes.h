// Processes that have a device each, and links that are all alike. Tests only.
#pragma once

#include <memory>
#include <string>

#include "placing/devices.h"

namespace heddle::placing {

inline System alike_processes(const Target& device, int32_t count, double bandwidth, double latency) {
    System system{.name = "processes"};
    const auto target = std::make_shared<const Target>(device);
    for (int32_t p = 0; p < count; p++) {
        const std::string name = "place" + std::to_string(p);
        system.devices.push_back({.name = name, .target = target, .memories = {MemoryId(p)}, .process = p});
        system.memories.push_back(
            {.machine = name, .device = name, .kind = device.kind, .scope = "global", .process = p});
        for (int32_t q = 0; q < count; q++)
            if (q != p) system.links.push_back({MemoryId(p), MemoryId(q), bandwidth, latency});
    }
    system.host = DeviceId(0);
    return system;
}

}  // namespace heddle::placing
