// A plan as what a page needs to run it: modules, buffers, dispatches (docs/webgpu.md). A value, checked by itself,
// which export.h writes as files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "support/diagnostic.h"

namespace heddle::webgpu {

// Memory of the device. Plan buffers that live at different times share one; two of one dispatch never do.
struct DeviceBuffer {
    int64_t bytes = 0;                   // a multiple of 4
    std::span<const std::byte> content;  // what it holds at first: a weight; may be shorter
    std::vector<int32_t> holds;          // of the plan's buffers; none: what kernels report, or arrays of workgroups
};

struct Kernel {
    std::string text;           // WGSL; the entry is `main`
    std::vector<bool> written;  // by binding, from binding 1 on
    int workgroup_size = 0;
    int64_t workgroup_bytes = 0;
};

struct Dispatch {
    int32_t kernel = -1;
    std::vector<int32_t> buffers;  // of DeviceBuffer, by binding from 1 on
    int64_t launch = 0;            // where in `launches` its words begin, a multiple of 64
    int64_t launch_words = 0;
    int64_t groups_x = 0, groups_y = 1;
    int32_t batch = 0;                 // of the plan's run
    std::string name;                  // the tensors that it writes
    std::vector<std::string> indexed;  // names of the plan's buffers, by the tree's: whose index was out of range
};

struct Port {
    std::string name;
    DType dtype = DType::float32;
    std::vector<int64_t> shape;
    int32_t buffer = -1;              // -1: an input that nothing reads
    std::optional<TensorData> fixed;  // of an input: the value for which alone the plan holds
};

struct Package {
    std::vector<Port> inputs, outputs;
    std::vector<DeviceBuffer> buffers;
    std::vector<Kernel> kernels;
    std::vector<Dispatch> dispatches;  // in order
    std::vector<uint32_t> launches;    // words of all uniform ranges
    int32_t status = -1;               // the buffer that kernels report to; -1: none does
    int64_t workspace_bytes = 0;       // of buffers that are neither inputs, outputs nor weights
    // What keeps `content` alive.
    std::shared_ptr<const plan::Plan> plan;
    std::vector<std::shared_ptr<std::byte>> prepared;
};

// Memory of prepared buffers, by the plan's buffer, null of others (prepare.h).
using Prepared = std::vector<std::shared_ptr<std::byte>>;

// Codes of wgsl_shader, with the launch in params; webgpu.number (a launch number beyond 32 bits), webgpu.limit (a
// buffer, a launch or a kernel beyond what the target has).
Result<Package> make_package(std::shared_ptr<const plan::Plan> plan, Prepared prepared);

// An independent check: no dispatch binds one buffer twice where one of the two is written; what shares memory lives at
// different times; every range of launches, group count and size is within the limits of the target. A failure is our
// own mistake: code webgpu.broken.
Result<void> verify(const Package& package);

// What a device must have: by WebGPU's names of its limits.
struct Limit {
    std::string name;
    int64_t value = 0;
};
std::vector<Limit> limits_of(const Package& package);

}  // namespace heddle::webgpu
