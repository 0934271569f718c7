#include "runtime/arena.h"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/device.h"
#include "support/tensor_data.h"

namespace heddle::runtime {

std::unexpected<Diagnostics> out_of_memory(int64_t bytes) {
    return fail({.code = "runtime.out_of_memory",
                 .summary = "the system has not the memory that the plan needs",
                 .expected = fmt::format("{} bytes", bytes)});
}

std::unexpected<Diagnostics> out_of_memory(const plan::Plan& plan) {
    using Kind = plan::Buffer::Kind;
    const plan::Buffer* largest = nullptr;
    for (const plan::Buffer& buffer : plan.buffers) {
        if (buffer.kind == Kind::input || buffer.kind == Kind::constant) continue;
        if (!largest || buffer.bytes > largest->bytes) largest = &buffer;
    }
    auto problem = out_of_memory(run_bytes(plan));
    if (largest)
        problem.error().front().found = fmt::format(
            "the largest tensor is '{}', {} of {} bytes", largest->name,
            TensorType{largest->dtype, largest->sizes}.text(), largest->bytes);
    problem.error().front().remedy = "use smaller inputs, or a machine with more memory";
    return problem;
}

int64_t run_bytes(const plan::Plan& plan) {
    int64_t bytes = plan.workspace_bytes;
    for (size_t i = 0; i < plan.output_types.size(); i++)
        if (plan.input_below(static_cast<int32_t>(i)) < 0) bytes += plan.output_types[i].byte_size();
    return bytes;
}

static TensorType with_all_places(const plan::Plan& plan, const plan::Growth& growth) {
    TensorType type = plan.output_types[static_cast<size_t>(growth.output)];
    type.shape[static_cast<size_t>(growth.dimension)] = plan.capacity_of(growth);
    return type;
}

std::vector<TensorData> Arena::results(const plan::Plan& plan) {
    const auto has_memory = [&](size_t i) {
        const auto output = static_cast<int32_t>(i);
        return plan.input_below(output) >= 0 || plan.growth_of(output);
    };
    int64_t bytes = 0;
    for (const plan::Growth& growth : plan.growths) bytes += with_all_places(plan, growth).byte_size().number();
    for (size_t i = 0; i < plan.output_types.size(); i++) bytes += has_memory(i) ? 0 : plan.output_types[i].byte_size().number();
    results_.keep(bytes);
    std::vector<TensorData> results;
    for (size_t i = 0; i < plan.output_types.size(); i++) {
        const TensorType& type = plan.output_types[i];
        results.push_back(has_memory(i) ? TensorData(type.dtype, type.extents(), nullptr, nullptr)
                                        : results_.make(type));
    }
    return results;
}

TensorData Arena::growing_result(const plan::Plan& plan, const plan::Growth& growth) {
    return results_.make(with_all_places(plan, growth));
}

Result<void> Arena::take(const plan::Plan& plan) {
    // A failing kernel writes the point into the first bytes, whatever scratch it asked for.
    const int64_t scratch = std::max<int64_t>(plan.scratch_bytes, 64);
    if (!workspace_ || plan.workspace_bytes > workspace_bytes_) {
        workspace_.reset();  // before there is more
        workspace_bytes_ = plan.workspace_bytes;
        workspace_ = allocate_on(device_.get(), workspace_bytes_);
        if (!workspace_) return out_of_memory(plan);
    }
    for (auto& memory : scratch_) {
        if (memory && scratch <= scratch_bytes_) continue;
        memory.reset();
        memory = allocate_buffer(static_cast<size_t>(scratch));
        if (!memory) {
            scratch_bytes_ = 0;
            return out_of_memory(scratch);
        }
    }
    scratch_bytes_ = std::max(scratch_bytes_, scratch);
    return {};
}

int64_t Arena::bytes() const { return workspace_bytes_ + scratch_bytes_ * static_cast<int64_t>(scratch_.size()); }

std::shared_ptr<std::byte> allocate_on(codegen::Device* device, int64_t bytes) {
    const auto size = static_cast<size_t>(bytes);
    return device ? device->allocate(std::max<size_t>(size, 1)) : allocate_buffer(size);
}

}  // namespace heddle::runtime
