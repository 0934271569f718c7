// A program as what a page needs to run it: modules, and for each plan buffers and dispatches, with numbers as expressions
// of the sizes that stay open (docs/webgpu.md). A value, checked by itself, which export.h writes as files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "artefact/plans.h"
#include "artefact/weight_pool.h"
#include "plan/plan.h"
#include "support/diagnostic.h"
#include "zspace/size_program.h"

namespace heddle::webgpu {

using artefact::SizeDomain;
using artefact::SizeNames;

// Memory of the device. Plan buffers that live at different times share one; two of one dispatch never do.
struct DeviceBuffer {
    int32_t bytes = -1;          // a place of the plan's steps
    int64_t weight = -1;         // where in the package's weights its contents begin; -1: it is written in each run
    std::vector<int32_t> holds;  // of the plan's buffers; none: what kernels report, or arrays of workgroups
};

struct Kernel {
    std::string text;           // WGSL; the entry is `main`
    std::vector<bool> written;  // by binding, from binding 1 on
    int workgroup_size = 0;
    int64_t workgroup_bytes = 0;
    int64_t launch_words = 0;
    bool has_scratch = false;
};

// A launch of the plan. Numbers are places of the plan's steps.
struct Dispatch {
    int32_t kernel = -1;
    std::vector<int32_t> buffers;          // of DeviceBuffer, by binding from 1 on
    int32_t tasks = -1, rounds = -1;       // of each round; a dispatch each
    int32_t scratch = -1;                  // words of a workgroup
    std::vector<int32_t> words;            // of the uniform range, behind its head
    int32_t batch = 0;                     // of the plan's run
    std::string name;                      // the tensors that it writes
    std::vector<std::string> indexed;      // names of the plan's buffers, by the tree's: whose index was out of range
};

// A plan, and for which sizes it holds.
struct PagePlan {
    SizeNames made_for;
    SizeDomain domain;
    SizeProgram steps;            // whose first places are the open dimensions
    std::vector<int32_t> facts;   // places, by the domain's facts
    std::vector<std::vector<int32_t>> shapes;  // of outputs
    std::vector<DeviceBuffer> buffers;
    std::vector<int32_t> inputs, outputs;  // of DeviceBuffer; -1: an input that nothing reads
    std::vector<Dispatch> dispatches;      // in order
    int32_t report = -1;                   // the buffer that kernels report to, with arrays behind; -1: there are none
    std::shared_ptr<const plan::Plan> plan;

    std::vector<int64_t> values() const;  // by place, at the sizes that it was made for
    int64_t workspace_bytes() const;      // there, of buffers that are neither inputs, outputs nor weights
};

struct Package {
    artefact::Interface interface;
    std::vector<Kernel> kernels;
    std::vector<PagePlan> plans;  // each for other sizes, and all for all
    artefact::WeightPool weights;
    std::map<size_t, int64_t> fixed;  // by input: where among the weights the value lies for which alone the plans hold
};

// Makes a package of plans, as they come.
class Packager {
public:
    // Codes of wgsl_shader, with the launch in params; webgpu.number (a launch number beyond 32 bits), webgpu.limit (a
    // buffer or a kernel that is beyond what the target has, whatever the sizes).
    Result<void> add(const std::vector<artefact::Dimension>& open, const SizeDomain& domain, artefact::MadePlan plan);
    Package made(artefact::Interface interface);

private:
    Package package_;
    std::map<std::string, int32_t> kernel_of_;  // by text
};

// An independent check: no dispatch binds one buffer twice where one of the two is written; what shares memory lives at
// different times, and fits; each launch has its words; and, where sizes are open, places say what the plan does at the
// sizes it was made for. A failure is our own mistake: code webgpu.broken.
Result<void> verify(const Package& package);

// What a device must have, whatever the sizes: by WebGPU's names of its limits.
struct Limit {
    std::string name;
    int64_t value = 0;
};
std::vector<Limit> limits_of(const Package& package);

// Bytes of a buffer of the device for so many that it holds.
int64_t device_bytes(int64_t bytes);

}  // namespace heddle::webgpu
