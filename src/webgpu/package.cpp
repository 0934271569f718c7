#include "webgpu/package.h"

#include <algorithm>

#include "backends/wgsl/wgsl_shader.h"

namespace heddle::webgpu {
namespace {

using plan::Buffer;

Result<void> broken(std::string what, const std::string& name) {
    return fail({.code = "webgpu.broken", .summary = std::move(what), .params = {{"launch", name}}});
}

Result<void> verify(const Package& package, const PagePlan& plan, const std::vector<int64_t>& values) {
    const Target& target = plan.plan->target;
    for (const Dispatch& dispatch : plan.dispatches) {
        const Kernel& kernel = package.kernels[static_cast<size_t>(dispatch.kernel)];
        if (dispatch.buffers.size() != kernel.written.size())
            return broken("a dispatch has other buffers than its kernel", dispatch.name);
        for (size_t a = 0; a < dispatch.buffers.size(); a++) {
            if (dispatch.buffers[a] < 0) return broken("a dispatch binds what has no memory", dispatch.name);
            for (size_t b = 0; b < a; b++) {
                if (dispatch.buffers[a] == dispatch.buffers[b] && (kernel.written[a] || kernel.written[b]))
                    return broken("a dispatch binds a buffer twice that it writes", dispatch.name);
            }
        }
        const auto words = static_cast<int64_t>(dispatch.words.size()) + backends::launch_head_words;
        if (words > kernel.launch_words || words + 4 <= kernel.launch_words)
            return broken("the words of a launch are not there", dispatch.name);
        if (kernel.workgroup_bytes > target.workgroup_bytes)
            return broken("a workgroup's memory is too large", dispatch.name);
    }
    for (const DeviceBuffer& buffer : plan.buffers) {
        for (size_t a = 0; a < buffer.holds.size(); a++) {
            const Buffer& x = plan.plan->buffers[static_cast<size_t>(buffer.holds[a])];
            if (x.bytes.number() > values[static_cast<size_t>(buffer.bytes)])
                return broken("a buffer is too small", x.name);
            for (size_t b = 0; b < a; b++) {
                const Buffer& y = plan.plan->buffers[static_cast<size_t>(buffer.holds[b])];
                if (x.first <= y.last && y.first <= x.last)
                    return broken("two that live at one time share memory", x.name);
            }
        }
    }
    return {};
}

// In the order of the plan, each launch that has tasks is a dispatch with as many.
Result<void> verify_launches(const PagePlan& plan, const std::vector<int64_t>& values) {
    const auto at = [&](int32_t place) { return values[static_cast<size_t>(place)]; };
    size_t next = 0;
    for (const plan::Batch& batch : plan.plan->run) {
        for (const plan::Launch& launch : batch) {
            if (!launch.tasks.named() && launch.tasks.number() == 0) continue;
            if (next == plan.dispatches.size() || plan.dispatches[next].name != launch.name)
                return broken("a launch is no dispatch", launch.name);
            const Dispatch& dispatch = plan.dispatches[next++];
            if (at(dispatch.tasks) * at(dispatch.rounds) != launch.tasks.number())
                return broken("a dispatch has other tasks than its launch", launch.name);
            const size_t bases = dispatch.words.size() - launch.numbers.size();
            for (size_t i = 0; i < launch.numbers.size(); i++) {
                if (launch.numbers[i].named() && at(dispatch.words[bases + i]) != launch.numbers[i].number())
                    return broken("a dispatch has other numbers than its launch", launch.name);
            }
        }
    }
    return {};
}

}  // namespace

std::vector<int64_t> PagePlan::values() const {
    std::vector<int64_t> values = steps.begin();
    for (const auto& [name, place] : steps.names()) values[static_cast<size_t>(place)] = made_for.at(name);
    steps.run(values, 0, steps.steps().size());
    return values;
}

int64_t PagePlan::workspace_bytes() const {
    const std::vector<int64_t> at = values();
    int64_t all = 0;
    for (const DeviceBuffer& buffer : buffers) {
        const bool is_shared = std::ranges::all_of(buffer.holds, [&](int32_t b) {
            return plan->buffers[static_cast<size_t>(b)].kind == Buffer::Kind::workspace;
        });
        if (is_shared) all += device_bytes(at[static_cast<size_t>(buffer.bytes)]);
    }
    return all;
}

int64_t device_bytes(int64_t bytes) {
    constexpr int64_t least = 16, word = 4;
    return (std::max(bytes, least) + word - 1) / word * word;
}

Result<void> verify(const Package& package) {
    for (const PagePlan& plan : package.plans) {
        const std::vector<int64_t> values = plan.values();
        if (auto sound = verify(package, plan, values); !sound) return sound;
        if (auto sound = verify_launches(plan, values); !sound) return sound;
    }
    return {};
}

std::vector<Limit> limits_of(const Package& package) {
    int64_t storage = 0, binding = 0, shared = 0, invocations = 0;
    for (const Kernel& kernel : package.kernels) {
        storage = std::max(storage, static_cast<int64_t>(kernel.written.size()));
        shared = std::max(shared, kernel.workgroup_bytes);
        invocations = std::max<int64_t>(invocations, kernel.workgroup_size);
    }
    for (const PagePlan& plan : package.plans) {
        for (const DeviceBuffer& buffer : plan.buffers) {
            const auto bytes = plan.steps.constant_at(buffer.bytes);
            if (bytes) binding = std::max(binding, device_bytes(*bytes));
        }
    }
    return {{"maxStorageBuffersPerShaderStage", storage},
            {"maxStorageBufferBindingSize", binding},
            {"maxBufferSize", binding},
            {"maxComputeWorkgroupStorageSize", shared},
            {"maxComputeInvocationsPerWorkgroup", invocations}};
}

}  // namespace heddle::webgpu
