#include "plan/memory.h"

#include <algorithm>

#include "schedules/tree.h"
#include "support/tensor_data.h"

namespace heddle::plan {
namespace {

int64_t rounded(int64_t bytes) {
    // Slack behind each, so that a kernel may read a whole vector past the end.
    constexpr int64_t line = static_cast<int64_t>(buffer_alignment);
    return (bytes + line + line - 1) / line * line;
}

// A place in the session's memory, taken during some batches.
struct Taken {
    int64_t begin, end;
    int32_t first, last;
};

int64_t lowest_place(std::vector<Taken>& taken, const Buffer& buffer) {
    int64_t size = rounded(buffer.bytes), place = 0;
    std::vector<Taken> clashes;
    for (const Taken& t : taken) {
        if (t.first <= buffer.last && buffer.first <= t.last) clashes.push_back(t);
    }
    std::sort(clashes.begin(), clashes.end(), [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
    for (const Taken& t : clashes) {
        if (place + size <= t.begin) break;
        place = std::max(place, t.end);
    }
    taken.push_back({place, place + size, buffer.first, buffer.last});
    return place;
}

std::vector<int32_t> by_size(const Plan& plan) {
    std::vector<int32_t> list;
    for (size_t i = 0; i < plan.buffers.size(); i++) {
        const Buffer& buffer = plan.buffers[i];
        if (buffer.kind == Buffer::Kind::workspace && buffer.first >= 0) list.push_back(static_cast<int32_t>(i));
    }
    std::stable_sort(list.begin(), list.end(), [&](int32_t a, int32_t b) {
        return plan.buffers[static_cast<size_t>(a)].bytes > plan.buffers[static_cast<size_t>(b)].bytes;
    });
    return list;
}

}  // namespace

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
    const PausedFacts paused;  // another size is placed anew
    plan.scratch_bytes = 0;
    for (Buffer& buffer : plan.buffers) {
        const bool kept =
            buffer.kind == Buffer::Kind::prepared || (buffer.kind == Buffer::Kind::workspace && buffer.first >= 0);
        if (!keep_all || !kept) continue;
        buffer.first = 0;
        buffer.last = static_cast<int32_t>(plan.run.size());
    }
    std::vector<Taken> taken;
    plan.workspace_bytes = 0;
    for (int32_t i : by_size(plan)) {
        Buffer& buffer = plan.buffers[static_cast<size_t>(i)];
        buffer.offset = lowest_place(taken, buffer);
        plan.workspace_bytes = std::max(plan.workspace_bytes, buffer.offset + rounded(buffer.bytes));
    }
    for (const auto* phase : {&plan.prepare, &plan.run}) {
        for (const Batch& batch : *phase) {
            for (const Launch& launch : batch) plan.scratch_bytes = greater(plan.scratch_bytes, launch.scratch_bytes);
        }
    }
}

}  // namespace heddle::plan
