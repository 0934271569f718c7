// What there is to run on, and which of it the virtual devices of a system stand for.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "running/driver.h"
#include "placing/devices.h"

namespace heddle::running {

// Something that runs functions. All virtual devices of its kind may stand for it, as far as its memory goes.
struct PhysicalDevice {
    std::string kind;
    std::string name;                             // for people
    std::string arch;                             // empty: of any, or not known
    std::set<std::string, std::less<>> features;  // of its kind's names; what a virtual device asks for is among them
    int64_t memory_bytes = 0;                     // 0: not known
    int carries = 0;                              // so many virtual devices, at most; 0: any number
    std::shared_ptr<Driver> driver;
};

// An outside library or compiler, which is asked for by a target's `library`, and runs on this process's memory.
struct PhysicalLibrary {
    std::string library, version;  // an empty version in a target fits any
    std::shared_ptr<Driver> driver;
};

struct Inventory {
    std::vector<PhysicalDevice> devices;
    std::vector<PhysicalLibrary> libraries;
};

// This machine: "cpu" by LLVM, with what is in `folder` (null: nothing); "reference"; and, where there is a C compiler,
// "c" and the library "cc".
Inventory inventory_of_this_machine(int threads, std::shared_ptr<cache::Folder> folder = nullptr);
// With kernels that others have, too.
Inventory inventory_of_this_machine(int threads, std::shared_ptr<runtime::KernelCache> kernels);

// By DeviceId: which of the inventory's devices it is, by index; of a library, which of its libraries.
struct Binding {
    std::vector<size_t> devices;
};

// Devices of one kind and virtual id are bound to one physical device. `needed`: by MemoryId, the bytes that a program
// has there at once; it may be empty. All that is missing is said at once, by device. Codes: running.missing_kind,
// running.missing_feature, running.missing_memory (a scope's bytes, or what is needed, are more than there is),
// running.missing_device (there are too few of a kind), devices.missing_library.
Result<Binding> bind_devices(const placing::System& system, const Inventory& inventory,
                             const std::vector<int64_t>& needed = {});

// Which of the inventory's libraries a function of this target is for. Code devices.missing_library.
Result<size_t> find_library(const Target& target, const Inventory& inventory);

}  // namespace heddle::running
