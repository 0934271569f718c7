#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "backends/wgsl/wgsl_checks.h"
#include "backends/wgsl/wgsl_shader.h"
#include "webgpu/package.h"
#include "zspace/origin_bounds.h"

namespace heddle::webgpu {
namespace {

using backends::WgslShader;
using plan::Buffer;
using plan::Launch;
using OriginKind = Origin::Kind;

constexpr int64_t report_bytes = 4 * (WgslShader::status_words + 1);  // with a word of arrays, which there must be

Diagnostic beyond(std::string summary, const std::string& launch, int64_t most, int64_t found) {
    return {.code = "webgpu.limit",
            .summary = std::move(summary),
            .expected = fmt::format("at most {}", most),
            .found = std::to_string(found),
            .reason = "that is what every WebGPU device has",
            .remedy = "a smaller size, or a target with larger limits",
            .params = {{"launch", launch}}};
}

bool is_weight(const Buffer& buffer) {
    return buffer.kind == Buffer::Kind::constant || buffer.kind == Buffer::Kind::prepared;
}

class PlanPackager {
public:
    PlanPackager(artefact::MadePlan made, Package& package, std::map<std::string, int32_t>& kernel_of)
        : prepared_(std::move(made.prepared)),
          package_(package),
          kernel_of_(kernel_of),
          made_{.plan = std::make_shared<const plan::Plan>(std::move(made.plan))},
          plan_(*made_.plan),
          device_of_(plan_.buffers.size(), -1) {}

    Result<PagePlan> made(const std::vector<artefact::Dimension>& open, const SizeDomain& domain) {
        made_.made_for = plan_.names;
        made_.domain = domain;
        take_names(open);
        for (const SizeFact& fact : domain.facts) made_.facts.push_back(steps().place_of(fact.size));
        for (const TensorType& type : plan_.output_types) {
            std::vector<int32_t>& shape = made_.shapes.emplace_back();
            for (const Size& size : type.shape) shape.push_back(place(size));
        }
        place_buffers();
        if (auto done = add_kernels(); !done) return fail(std::move(done.error()));
        int32_t batch = 0;
        for (const plan::Batch& launches : plan_.run) {
            for (const Launch& launch : launches) {
                if (auto done = add_launch(launch, batch); !done) return fail(std::move(done.error()));
            }
            batch++;
        }
        if (auto done = check_sizes(); !done) return fail(std::move(done.error()));
        return std::move(made_);
    }

private:
    SizeProgram& steps() { return made_.steps; }
    int32_t place(const Size& size) { return steps().place_of(size); }
    int32_t of(OriginKind operation, int32_t a, int32_t b) {
        const bool is_same = operation == OriginKind::floor_divide && steps().constant_at(b) == 1;
        return is_same ? a : steps().place_of(operation, a, b);
    }
    int32_t greater(int32_t a, int32_t b) { return a == b ? a : of(OriginKind::maximum, a, b); }

    // Open dimensions come first, in their order; what else is named has one size.
    void take_names(const std::vector<artefact::Dimension>& open) {
        for (size_t d = 0; d < open.size(); d++) {
            steps().place_of_name(open[d].name);
            within_[open[d].name] = {made_.domain.ranges[d].least, made_.domain.ranges[d].most};
        }
        for (const auto& [name, size] : plan_.names) {
            if (within_.contains(name)) continue;
            steps().fix(name, size);
            within_[name] = Interval::point(size);
        }
    }

    // The greatest magnitude that a size may have here.
    int64_t most(const Size& size) const {
        if (!size.named()) return size.number() == INT64_MIN ? INT64_MAX : std::abs(size.number());
        const Interval bounds = bounds_within(size.origin(), within_);
        if (!bounds.known()) return INT64_MAX;
        return std::max(std::abs(bounds.low.number()), std::abs(bounds.high.number()));
    }

    int32_t add_buffer(int32_t bytes) {
        made_.buffers.push_back({.bytes = bytes});
        return static_cast<int32_t>(made_.buffers.size()) - 1;
    }

    void place_buffers() {
        made_.inputs.resize(plan_.input_types.size(), -1);
        made_.outputs.resize(plan_.output_types.size(), -1);
        for (size_t b = 0; b < plan_.buffers.size(); b++) {
            const Buffer& buffer = plan_.buffers[b];
            if (buffer.kind == Buffer::Kind::workspace) continue;
            if (is_weight(buffer) && buffer.first < 0) continue;  // only prepare reads it
            device_of_[b] = add_buffer(place(is_weight(buffer) ? Size(buffer.bytes.number()) : buffer.bytes));
            made_.buffers.back().holds = {static_cast<int32_t>(b)};
            if (is_weight(buffer)) made_.buffers.back().weight = weight_of(b);
            const auto index = static_cast<size_t>(buffer.index);
            if (buffer.kind == Buffer::Kind::input) made_.inputs[index] = device_of_[b];
            if (buffer.kind == Buffer::Kind::output) made_.outputs[index] = device_of_[b];
        }
        share_workspace();
    }

    int64_t weight_of(size_t b) {
        const Buffer& buffer = plan_.buffers[b];
        if (buffer.kind == Buffer::Kind::prepared)
            return package_.weights.add({prepared_[b].get(), static_cast<size_t>(buffer.bytes)}, prepared_[b]);
        return package_.weights.add({buffer.constant->data(), static_cast<size_t>(buffer.bytes)}, made_.plan);
    }

    // Largest first, each into memory where nothing lives at its time: never two of one dispatch.
    void share_workspace() {
        std::vector<size_t> order;
        for (size_t b = 0; b < plan_.buffers.size(); b++) {
            if (plan_.buffers[b].kind == Buffer::Kind::workspace && plan_.buffers[b].first >= 0) order.push_back(b);
        }
        std::ranges::stable_sort(order, std::greater(), [&](size_t b) { return plan_.buffers[b].bytes.number(); });
        std::vector<int32_t> shared;
        for (size_t b : order) {
            const Buffer& buffer = plan_.buffers[b];
            const auto is_free = [&](int32_t candidate) {
                return std::ranges::all_of(made_.buffers[static_cast<size_t>(candidate)].holds, [&](int32_t other) {
                    const Buffer& o = plan_.buffers[static_cast<size_t>(other)];
                    return o.last < buffer.first || buffer.last < o.first;
                });
            };
            const auto found = std::ranges::find_if(shared, is_free);
            const int32_t bytes = place(buffer.bytes);
            device_of_[b] = found == shared.end() ? shared.emplace_back(add_buffer(bytes)) : *found;
            DeviceBuffer& chosen = made_.buffers[static_cast<size_t>(device_of_[b])];
            chosen.bytes = greater(chosen.bytes, bytes);
            chosen.holds.push_back(static_cast<int32_t>(b));
        }
    }

    // A tree's module has room for the largest of its launches, at any sizes.
    Result<void> add_kernels() {
        std::map<int32_t, int64_t> scratch;
        std::map<int32_t, std::string> names;
        for (const plan::Batch& launches : plan_.run) {
            for (const Launch& launch : launches) {
                int64_t& bytes = scratch[launch.tree];
                bytes = std::max(bytes, most(launch.scratch_bytes));
                names.try_emplace(launch.tree, launch.name);
            }
        }
        for (const auto& [tree, bytes] : scratch) {
            auto shader = backends::wgsl_shader(*plan_.trees[static_cast<size_t>(tree)], plan_.target, bytes);
            if (!shader) {
                for (Diagnostic& problem : shader.error())
                    problem.summary = fmt::format("computing '{}': {}", names[tree], problem.summary);
                return fail(std::move(shader.error()));
            }
            const auto [known, is_new] =
                kernel_of_.try_emplace(shader->text, static_cast<int32_t>(package_.kernels.size()));
            if (is_new) package_.kernels.push_back(kernel_of(*shader));
            kernel_[tree] = known->second;
            shaders_.emplace(tree, std::move(*shader));
        }
        return {};
    }

    static Kernel kernel_of(const WgslShader& shader) {
        Kernel kernel{.text = shader.text,
                      .written = {},
                      .workgroup_size = shader.workgroup_size,
                      .workgroup_bytes = shader.workgroup_bytes,
                      .launch_words = shader.launch_words,
                      .has_scratch = shader.has_scratch};
        for (const WgslShader::Binding& binding : shader.bindings) kernel.written.push_back(binding.written);
        return kernel;
    }

    int32_t bound(const WgslShader::Binding& binding, const Launch& launch) {
        switch (binding.what) {
        case WgslShader::Binding::What::buffer:
            return device_of_[static_cast<size_t>(launch.buffers[static_cast<size_t>(binding.buffer)])];
        case WgslShader::Binding::What::report:
            if (made_.report < 0) made_.report = add_buffer(place(report_bytes));
            return made_.report;
        }
        return -1;
    }

    Result<void> add_launch(const Launch& launch, int32_t batch) {
        if (!launch.tasks.named() && launch.tasks.number() == 0) return {};
        const WgslShader& shader = shaders_.at(launch.tree);
        Dispatch made{.kernel = kernel_[launch.tree], .buffers = {}, .batch = batch, .name = launch.name};
        for (const WgslShader::Binding& binding : shader.bindings) made.buffers.push_back(bound(binding, launch));
        for (int32_t b : launch.buffers) made.indexed.push_back(plan_.buffers[static_cast<size_t>(b)].name);
        made.rounds = place(launch.rounds);
        made.tasks = of(OriginKind::floor_divide, place(launch.tasks), of(OriginKind::maximum, made.rounds, place(1)));
        made.scratch = shader.has_scratch ? words_of(launch.scratch_bytes, 4) : place(0);
        if (shader.has_scratch) {
            int32_t& bytes = made_.buffers[static_cast<size_t>(made_.report)].bytes;
            const int32_t words = of(OriginKind::multiply, made.tasks, made.scratch);
            const int32_t arrays = of(OriginKind::multiply, words, place(4));
            bytes = greater(bytes, of(OriginKind::add, arrays, place(report_bytes)));
        }
        if (auto done = add_words(launch, made); !done) return done;
        made_.dispatches.push_back(std::move(made));
        return {};
    }

    int32_t words_of(const Size& bytes, int64_t each) {
        return of(OriginKind::floor_divide, place(bytes + (each - 1)), place(each));
    }

    Result<void> add_words(const Launch& launch, Dispatch& made) {
        const schedules::Tree& tree = *plan_.trees[static_cast<size_t>(launch.tree)];
        for (int32_t b : launch.buffers) {
            const Buffer& buffer = plan_.buffers[static_cast<size_t>(b)];
            made.words.push_back(of(OriginKind::floor_divide, place(buffer.base), place(heddle::bytes(buffer.dtype))));
        }
        std::vector<int64_t> greatest;
        for (size_t i = 0; i < launch.numbers.size(); i++) {
            const Size& number = launch.numbers[i];
            greatest.push_back(most(number));
            const bool is_real = tree.numbers[i].dtype == DType::float64;  // which no size is
            made.words.push_back(place(is_real ? Size(single_bits(number.number())) : number));
        }
        for (int32_t word : made.words) {
            const auto value = steps().constant_at(word);
            if (!value || *value == static_cast<int32_t>(*value)) continue;
            return fail(
                {.code = "webgpu.number",
                 .summary = fmt::format("computing '{}', a number of the launch needs more than 32 bits", launch.name),
                 .found = std::to_string(*value),
                 .reason = "WGSL has integers of 32 bits",
                 .remedy = "smaller sizes",
                 .params = {{"launch", launch.name}}});
        }
        return check_integers(launch, tree, greatest);
    }

    // What is computed follows from what memories hold: weights are known, and what launches have written.
    Result<void> check_integers(const Launch& launch, const schedules::Tree& tree, std::span<const int64_t> numbers) {
        std::vector<double> held;
        size_t given = 0;
        for (const schedules::Memory& memory : tree.memories)
            held.push_back(memory.kind == schedules::Memory::Kind::array ? 0 : greatest_in(launch.buffers[given++]));
        auto behind = backends::check_wgsl_integers(tree, numbers, std::move(held));
        if (!behind) {
            for (Diagnostic& problem : behind.error())
                problem.summary = fmt::format("computing '{}': {}", launch.name, problem.summary);
            return fail(std::move(behind.error()));
        }
        given = 0;
        for (size_t m = 0; m < tree.memories.size(); m++) {
            if (tree.memories[m].kind != schedules::Memory::Kind::array) held_[launch.buffers[given++]] = (*behind)[m];
        }
        return {};
    }

    // The greatest magnitude of integers of 64 bits in the buffer, as far as it is known.
    double greatest_in(int32_t b) {
        const Buffer& buffer = plan_.buffers[static_cast<size_t>(b)];
        const auto known = held_.find(b);
        if (known != held_.end()) return known->second;
        if (buffer.kind == Buffer::Kind::workspace || buffer.kind == Buffer::Kind::output) return 0;
        if (!is_weight(buffer) || buffer.dtype != DType::int64) return backends::most_read;
        const auto* data = reinterpret_cast<const int64_t*>(buffer.kind == Buffer::Kind::prepared
                                                                ? prepared_[static_cast<size_t>(b)].get()
                                                                : buffer.constant->data());
        double most = 0;
        for (int64_t i = 0; i < buffer.bytes / 8; i++) most = std::max(most, std::abs(static_cast<double>(data[i])));
        return held_[b] = most;
    }

    static int64_t single_bits(int64_t bits) {
        return std::bit_cast<int32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    }

    // What sizes decide is checked when they are known.
    Result<void> check_sizes() const {
        const auto bindings = static_cast<int64_t>(plan_.target.maximum_buffers) + 1;
        for (const DeviceBuffer& buffer : made_.buffers) {
            const auto bytes = made_.steps.constant_at(buffer.bytes);
            const std::string name =
                buffer.holds.empty() ? "" : plan_.buffers[static_cast<size_t>(buffer.holds[0])].name;
            if (bytes && device_bytes(*bytes) > plan_.target.maximum_binding_bytes)
                return fail(beyond(fmt::format("buffer '{}' is too large", name), name,
                                   plan_.target.maximum_binding_bytes, device_bytes(*bytes)));
        }
        for (const Dispatch& dispatch : made_.dispatches) {
            const auto found = static_cast<int64_t>(dispatch.buffers.size());
            if (found > bindings) return fail(beyond("a kernel has too many buffers", dispatch.name, bindings, found));
        }
        return {};
    }

    const std::vector<runtime::Block> prepared_;
    std::map<int32_t, double> held_;  // by buffer: the greatest magnitude of integers of 64 bits that it holds
    Package& package_;
    std::map<std::string, int32_t>& kernel_of_;  // by text
    PagePlan made_;
    const plan::Plan& plan_;
    std::map<std::string, Interval> within_;  // the names' sizes
    std::vector<int32_t> device_of_;          // by the plan's buffer
    std::map<int32_t, WgslShader> shaders_;   // by tree
    std::map<int32_t, int32_t> kernel_;       // by tree
};

}  // namespace

Result<void> Packager::add(const std::vector<artefact::Dimension>& open, const SizeDomain& domain,
                           artefact::MadePlan plan) {
    auto made = PlanPackager(std::move(plan), package_, kernel_of_).made(open, domain);
    if (!made) return fail(std::move(made.error()));
    package_.plans.push_back(std::move(*made));
    return {};
}

Package Packager::made(artefact::Interface interface) {
    package_.interface = std::move(interface);
    for (size_t i = 0; i < package_.interface.inputs.size(); i++) {
        const auto& value = package_.interface.inputs[i].value;
        if (!value) continue;
        const auto kept = std::make_shared<TensorData>(*value);
        package_.fixed[i] = package_.weights.add({kept->data(), static_cast<size_t>(kept->byte_size())}, kept);
    }
    return std::move(package_);
}

}  // namespace heddle::webgpu
