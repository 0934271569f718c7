// From a kernel's equations to its scheduled tree (docs/schedules.md): one pure function without any operator's name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/kernel.h"
#include "schedules/tree.h"
#include "support/diagnostic.h"
#include "target/target.h"

namespace heddle::schedules {

// What the kernel is launched with: `numbers` in the order of Tree::numbers.
struct LaunchNumbers {
    std::vector<Size> numbers;
    Size tasks = 0;             // 0: nothing is to be done, and no launch is needed
    Size rounds = 1;            // of as many tasks each, which are independent; a round needs those before it
    Size scratch_bytes = 0;     // of each thread, 64-byte aligned
};

// A map that the schedule wants of an operand: a buffer of its own, filled by `copy`, a kernel of two tensors (the
// source, as in the scheduled kernel; then the packed buffer, dense, of `elements` elements), which is itself to be
// scheduled and launched: in `prepare` where the source is constant, else before the kernel.
struct Packing {
    TensorIndex tensor = no_id;  // of the scheduled kernel
    bool constant = false;
    DType dtype = DType::float32;
    Size elements = 0;     // allocate at 64 bytes, with 64 readable bytes behind
    Kernel copy;
    std::string map;  // equal (source buffer, map): equal contents. Numbers included
};

// Where buffer i of the tree comes from: a tensor of the kernel, or its packed form, or neither. That is to be allocated,
// aligned and with slack, as Tree::memories[i] says: all tasks share it, and it may be no tensor of the kernel given.
struct BufferSource {
    TensorIndex tensor = no_id;
    int packing = -1;       // of Scheduled::packings
    Size elements = -1;     // where it is neither
};

struct Scheduled {
    Tree tree;
    LaunchNumbers launch;               // of this kernel's own extents and strides
    std::vector<BufferSource> buffers;  // one for each of the tree's buffers
    std::vector<Packing> packings;
};

// The structure of the tree follows from the kernel's structure and its `hint` extents only; concrete extents, strides,
// offsets and data literals reach nothing but the launch numbers. So for another size of the same class: schedule that
// kernel; its tree has the same text and `key`, hence the same code, and `launch` is its own.
// The kernel must pass `verify`. Errors: those of verify only, every correct kernel has a schedule.
Result<Scheduled> schedule(const Kernel& kernel, const Target& target);

}  // namespace heddle::schedules
