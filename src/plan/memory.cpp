#include "plan/memory.h"

#include <algorithm>

#include "plan/stack.h"

namespace heddle::plan {

void find_lifetimes(Plan& plan) {
    for (size_t b = 0; b < plan.run.size(); b++) {
        for (const Launch& launch : plan.run[b]) {
            for (int32_t index : launch.buffers) {
                Buffer& buffer = plan.buffers[static_cast<size_t>(index)];
                int32_t batch = static_cast<int32_t>(b);
                if (buffer.first < 0) buffer.first = batch;
                buffer.last = batch;
            }
        }
    }
}

void place_memory(Plan& plan, bool keep_all) {
    for (Buffer& buffer : plan.buffers) {
        const bool kept =
            buffer.kind == Buffer::Kind::prepared || (buffer.kind == Buffer::Kind::workspace && buffer.first >= 0);
        if (!keep_all || !kept) continue;
        buffer.first = 0;
        buffer.last = static_cast<int32_t>(plan.run.size());
    }
    choose_stack(plan);
    place_again(plan);
}

void place_again(Plan& plan) {
    const Places found = places(plan);
    for (size_t i = 0; i < plan.stack.size(); i++)
        plan.buffers[static_cast<size_t>(plan.stack[i].buffer)].offset = found.begin[i];
    plan.workspace_bytes = found.height;
    plan.scratch_bytes = 0;
    for (const auto* phase : {&plan.prepare, &plan.run}) {
        for (const Batch& batch : *phase) {
            for (const Launch& launch : batch) plan.scratch_bytes = std::max(plan.scratch_bytes, launch.scratch_bytes.number());
        }
    }
}

}  // namespace heddle::plan
