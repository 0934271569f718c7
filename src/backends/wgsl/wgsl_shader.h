// Scheduled trees as WGSL, a module a tree: a task is a workgroup, a lane an invocation (docs/webgpu.md).
#pragma once

#include <string>
#include <vector>

#include "schedules/tree.h"
#include "support/diagnostic.h"
#include "target/target.h"

namespace heddle::backends {

// "webgpu/default": a WebGPU device with the limits that every one has, workgroups of 64 lanes, figures of a small GPU.
Target webgpu_target();

// A module and what a dispatch of it binds: group 0, binding 0 is the launch (a uniform buffer), then buffers in order.
struct WgslShader {
    struct Binding {
        enum class What : uint8_t { buffer, report };
        What what = What::buffer;
        int32_t buffer = -1;  // of the tree's
        bool written = false;
    };
    std::string text;               // the entry is `main`
    std::vector<Binding> bindings;  // from binding 1 on
    int64_t launch_words = 0;       // of 32 bits, a multiple of 4: see launch_head_words
    int64_t workgroup_bytes = 0;    // that a workgroup shares
    // Arrays lie in the report buffer, behind what kernels report: the launch says how many words a workgroup has.
    bool has_scratch = false;
    static constexpr int64_t status_words = 8;  // of a report: how many there are, and of the first which, and its numbers
    int workgroup_size = 0;
};

// What a dispatch finds in its uniform buffer: first task, where its tasks end, the launch's number (for failures),
// groups along x, zero (WgslCode::pinned), words of scratch that each workgroup has; then of each of the tree's buffers the
// elements before coordinate zero; then the tree's numbers, floats of them as bits of a float32.
inline constexpr int64_t launch_head_words = 6;

// `scratch_bytes`: the most that a launch of the tree may have. Codes backends.wgsl_type (float64), backends.wgsl_function
// (no code without float64), backends.wgsl_integer (64 bits may be needed), backends.wgsl_construct (what only vectors
// do).
Result<WgslShader> wgsl_shader(const schedules::Tree& tree, const Target& target, int64_t scratch_bytes);

}  // namespace heddle::backends
