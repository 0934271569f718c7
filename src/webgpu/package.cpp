#include "webgpu/package.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "backends/wgsl/wgsl_checks.h"
#include "backends/wgsl/wgsl_shader.h"

namespace heddle::webgpu {
namespace {

using backends::WgslShader;
using plan::Buffer;
using plan::Launch;

constexpr int64_t uniform_alignment = 64;  // words: 256 bytes, which every device takes
constexpr int64_t status_words = 8;
constexpr int64_t least_bytes = 16;

int64_t round_up(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

Diagnostic beyond(std::string summary, const std::string& launch, int64_t most, int64_t found) {
    return {.code = "webgpu.limit",
            .summary = std::move(summary),
            .expected = fmt::format("at most {}", most),
            .found = std::to_string(found),
            .reason = "that is what every WebGPU device has",
            .remedy = "a smaller size, or a target with larger limits",
            .params = {{"launch", launch}}};
}

class Packager {
public:
    Packager(std::shared_ptr<const plan::Plan> plan, Prepared prepared)
        : plan_(*plan), device_of_(plan_.buffers.size(), -1) {
        package_.plan = std::move(plan);
        package_.prepared = std::move(prepared);
    }

    Result<Package> made() {
        place_buffers();
        if (auto done = add_kernels(); !done) return fail(std::move(done.error()));
        int32_t batch = 0;
        for (const plan::Batch& launches : plan_.run) {
            for (const Launch& launch : launches) {
                if (auto done = add_launch(launch, batch); !done) return fail(std::move(done.error()));
            }
            batch++;
        }
        if (scratch_ >= 0)
            package_.buffers[static_cast<size_t>(scratch_)].bytes = std::max(least_bytes, scratch_bytes_);
        if (auto done = check_sizes(); !done) return fail(std::move(done.error()));
        for (const DeviceBuffer& buffer : package_.buffers) {
            const bool shared = std::ranges::all_of(buffer.holds, [&](int32_t b) {
                return plan_.buffers[static_cast<size_t>(b)].kind == Buffer::Kind::workspace;
            });
            if (shared) package_.workspace_bytes += buffer.bytes;
        }
        return std::move(package_);
    }

private:
    int32_t add_buffer(int64_t bytes) {
        package_.buffers.push_back({.bytes = round_up(std::max(bytes, least_bytes), 4)});
        return static_cast<int32_t>(package_.buffers.size()) - 1;
    }

    void place_buffers() {
        for (size_t b = 0; b < plan_.buffers.size(); b++) {
            const Buffer& buffer = plan_.buffers[b];
            if (buffer.kind == Buffer::Kind::workspace) continue;
            const bool weight = buffer.kind == Buffer::Kind::constant || buffer.kind == Buffer::Kind::prepared;
            if (weight && buffer.first < 0) continue;  // only prepare reads it
            device_of_[b] = add_buffer(buffer.bytes);
            DeviceBuffer& made = package_.buffers.back();
            made.holds = {static_cast<int32_t>(b)};
            const auto bytes = static_cast<size_t>(buffer.bytes);
            if (buffer.kind == Buffer::Kind::constant) made.content = {buffer.constant->data(), bytes};
            if (buffer.kind == Buffer::Kind::prepared) made.content = {package_.prepared[b].get(), bytes};
        }
        share_workspace();
        add_ports();
    }

    // Largest first, each into memory where nothing lives at its time: never two of one dispatch.
    void share_workspace() {
        std::vector<size_t> order;
        for (size_t b = 0; b < plan_.buffers.size(); b++) {
            if (plan_.buffers[b].kind == Buffer::Kind::workspace && plan_.buffers[b].first >= 0) order.push_back(b);
        }
        std::ranges::stable_sort(order, std::greater(), [&](size_t b) { return plan_.buffers[b].bytes; });
        std::vector<int32_t> shared;
        for (size_t b : order) {
            const Buffer& buffer = plan_.buffers[b];
            const auto is_free = [&](int32_t candidate) {
                return std::ranges::all_of(package_.buffers[static_cast<size_t>(candidate)].holds, [&](int32_t other) {
                    const Buffer& o = plan_.buffers[static_cast<size_t>(other)];
                    return o.last < buffer.first || buffer.last < o.first;
                });
            };
            const auto found = std::ranges::find_if(shared, is_free);
            const int32_t chosen = found == shared.end() ? add_buffer(buffer.bytes) : *found;
            if (found == shared.end()) shared.push_back(chosen);
            package_.buffers[static_cast<size_t>(chosen)].holds.push_back(static_cast<int32_t>(b));
            device_of_[b] = chosen;
        }
    }

    // An input that nothing reads has no buffer.
    void add_ports() {
        const auto ports = [](const std::vector<std::string>& names, const std::vector<TensorType>& types) {
            std::vector<Port> made;
            for (size_t i = 0; i < names.size(); i++)
                made.push_back({names[i], types[i].dtype, types[i].extents(), -1});
            return made;
        };
        package_.inputs = ports(plan_.input_names, plan_.input_types);
        package_.outputs = ports(plan_.output_names, plan_.output_types);
        for (const auto& [input, value] : plan_.decided) package_.inputs[static_cast<size_t>(input)].fixed = value;
        for (size_t b = 0; b < plan_.buffers.size(); b++) {
            const Buffer& buffer = plan_.buffers[b];
            const auto index = static_cast<size_t>(buffer.index);
            if (buffer.kind == Buffer::Kind::input) package_.inputs[index].buffer = device_of_[b];
            if (buffer.kind == Buffer::Kind::output) package_.outputs[index].buffer = device_of_[b];
        }
    }

    // A tree's module has room for the largest of its launches.
    Result<void> add_kernels() {
        std::map<int32_t, int64_t> scratch;
        for (const plan::Batch& launches : plan_.run) {
            for (const Launch& launch : launches) {
                int64_t& most = scratch[launch.tree];
                most = std::max(most, launch.scratch_bytes.number());
                names_.try_emplace(launch.tree, launch.name);
            }
        }
        for (const auto& [tree, bytes] : scratch) {
            auto shader = backends::wgsl_shader(*plan_.trees[static_cast<size_t>(tree)], plan_.target, bytes);
            if (!shader) {
                for (Diagnostic& problem : shader.error())
                    problem.summary = fmt::format("computing '{}': {}", names_[tree], problem.summary);
                return fail(std::move(shader.error()));
            }
            Kernel kernel{shader->text, {}, shader->workgroup_size, shader->workgroup_bytes};
            for (const WgslShader::Binding& binding : shader->bindings) kernel.written.push_back(binding.written);
            kernel_of_[tree] = static_cast<int32_t>(package_.kernels.size());
            shaders_.push_back(std::move(*shader));
            package_.kernels.push_back(std::move(kernel));
        }
        return {};
    }

    int32_t bound(const WgslShader::Binding& binding, const Launch& launch) {
        switch (binding.what) {
        case WgslShader::Binding::What::buffer:
            return device_of_[static_cast<size_t>(launch.buffers[static_cast<size_t>(binding.buffer)])];
        case WgslShader::Binding::What::status:
            if (package_.status < 0) package_.status = add_buffer(status_words * 4);
            return package_.status;
        case WgslShader::Binding::What::scratch:
            if (scratch_ < 0) scratch_ = add_buffer(0);
            return scratch_;
        }
        return -1;
    }

    Result<void> add_launch(const Launch& launch, int32_t batch) {
        if (launch.tasks == 0) return {};
        const int32_t kernel = kernel_of_[launch.tree];
        const WgslShader& shader = shaders_[static_cast<size_t>(kernel)];
        const int64_t parts = launch.tasks / launch.rounds, most = plan_.target.maximum_workgroups_axis;
        if (parts > most * most) return fail(beyond("a launch has too many tasks", launch.name, most * most, parts));
        scratch_bytes_ = std::max(scratch_bytes_, parts * shader.scratch_words * 4);
        Dispatch made{
            .kernel = kernel, .buffers = {}, .launch_words = shader.launch_words, .batch = batch, .name = launch.name};
        made.groups_y = (parts + most - 1) / most;
        made.groups_x = (parts + made.groups_y - 1) / made.groups_y;
        for (const WgslShader::Binding& binding : shader.bindings) made.buffers.push_back(bound(binding, launch));
        for (int32_t b : launch.buffers) made.indexed.push_back(plan_.buffers[static_cast<size_t>(b)].name);
        for (int64_t round = 0; round < launch.rounds; round++) {
            made.launch = static_cast<int64_t>(package_.launches.size());
            if (auto done = add_words(launch, made, round * parts, (round + 1) * parts); !done) return done;
            package_.dispatches.push_back(made);
        }
        return {};
    }

    Result<void> add_words(const Launch& launch, const Dispatch& dispatch, int64_t first, int64_t end) {
        const schedules::Tree& tree = *plan_.trees[static_cast<size_t>(launch.tree)];
        std::vector<int64_t> values = {first, end, static_cast<int64_t>(package_.dispatches.size()), dispatch.groups_x,
                                       0};
        for (int32_t b : launch.buffers) {
            const Buffer& buffer = plan_.buffers[static_cast<size_t>(b)];
            values.push_back(buffer.base / heddle::bytes(buffer.dtype));
        }
        for (size_t i = 0; i < launch.numbers.size(); i++) {
            int64_t value = launch.numbers[i];
            if (tree.numbers[i].dtype == DType::float64)
                value = std::bit_cast<int32_t>(static_cast<float>(std::bit_cast<double>(value)));
            values.push_back(value);
        }
        for (size_t i = 0; i < values.size(); i++) {
            if (values[i] == static_cast<int32_t>(values[i])) continue;
            return fail(
                {.code = "webgpu.number",
                 .summary = fmt::format("computing '{}', a number of the launch needs more than 32 bits", launch.name),
                 .found = std::to_string(values[i]),
                 .reason = "WGSL has integers of 32 bits",
                 .remedy = "smaller sizes",
                 .params = {{"launch", launch.name}}});
        }
        if (auto fine = backends::check_wgsl_integers(tree, numbers_of(launch.numbers)); !fine) return fine;
        for (int64_t value : values) package_.launches.push_back(static_cast<uint32_t>(static_cast<int32_t>(value)));
        package_.launches.resize(
            static_cast<size_t>(round_up(static_cast<int64_t>(package_.launches.size()), uniform_alignment)));
        return {};
    }

    Result<void> check_sizes() const {
        const auto bindings = static_cast<int64_t>(plan_.target.maximum_buffers) + 1;
        for (const DeviceBuffer& buffer : package_.buffers) {
            const std::string name =
                buffer.holds.empty() ? "" : plan_.buffers[static_cast<size_t>(buffer.holds[0])].name;
            if (buffer.bytes > plan_.target.maximum_binding_bytes)
                return fail(beyond(fmt::format("buffer '{}' is too large", name), name,
                                   plan_.target.maximum_binding_bytes, buffer.bytes));
        }
        for (const Dispatch& dispatch : package_.dispatches) {
            const auto found = static_cast<int64_t>(dispatch.buffers.size());
            if (found > bindings) return fail(beyond("a kernel has too many buffers", dispatch.name, bindings, found));
        }
        return {};
    }

    const plan::Plan& plan_;
    Package package_;
    std::vector<int32_t> device_of_;  // by the plan's buffer
    std::vector<WgslShader> shaders_;
    std::map<int32_t, int32_t> kernel_of_;  // by tree
    std::map<int32_t, std::string> names_;  // of a launch of it
    int32_t scratch_ = -1;
    int64_t scratch_bytes_ = 0;
};

Result<void> broken(std::string what, const std::string& name) {
    return fail({.code = "webgpu.broken", .summary = std::move(what), .params = {{"launch", name}}});
}

}  // namespace

Result<Package> make_package(std::shared_ptr<const plan::Plan> plan, Prepared prepared) {
    return Packager(std::move(plan), std::move(prepared)).made();
}

Result<void> verify(const Package& package) {
    const Target& target = package.plan->target;
    for (const Dispatch& dispatch : package.dispatches) {
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
        if (dispatch.launch % uniform_alignment != 0 || dispatch.launch < 0 ||
            dispatch.launch + dispatch.launch_words > static_cast<int64_t>(package.launches.size()))
            return broken("the words of a launch are not there", dispatch.name);
        const int64_t tasks = static_cast<int32_t>(package.launches[static_cast<size_t>(dispatch.launch) + 1]) -
                              static_cast<int32_t>(package.launches[static_cast<size_t>(dispatch.launch)]);
        const int64_t most = target.maximum_workgroups_axis;
        if (dispatch.groups_x < 1 || dispatch.groups_x > most || dispatch.groups_y < 1 || dispatch.groups_y > most ||
            dispatch.groups_x * dispatch.groups_y < tasks)
            return broken("workgroups do not cover the tasks", dispatch.name);
        if (kernel.workgroup_bytes > target.workgroup_bytes)
            return broken("a workgroup's memory is too large", dispatch.name);
    }
    for (const DeviceBuffer& buffer : package.buffers) {
        for (size_t a = 0; a < buffer.holds.size(); a++) {
            for (size_t b = 0; b < a; b++) {
                const Buffer& x = package.plan->buffers[static_cast<size_t>(buffer.holds[a])];
                const Buffer& y = package.plan->buffers[static_cast<size_t>(buffer.holds[b])];
                if (x.first <= y.last && y.first <= x.last)
                    return broken("two that live at one time share memory", x.name);
            }
        }
        for (int32_t held : buffer.holds) {
            if (package.plan->buffers[static_cast<size_t>(held)].bytes > buffer.bytes)
                return broken("a buffer is too small", package.plan->buffers[static_cast<size_t>(held)].name);
        }
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
    for (const DeviceBuffer& buffer : package.buffers) binding = std::max(binding, buffer.bytes);
    return {{"maxStorageBuffersPerShaderStage", storage},
            {"maxStorageBufferBindingSize", binding},
            {"maxBufferSize", std::max<int64_t>(binding, static_cast<int64_t>(package.launches.size()) * 4)},
            {"maxComputeWorkgroupStorageSize", shared},
            {"maxComputeInvocationsPerWorkgroup", invocations}};
}

}  // namespace heddle::webgpu
