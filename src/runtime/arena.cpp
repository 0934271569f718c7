#include "runtime/arena.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "codegen/device.h"
#include "support/tensor_data.h"

namespace heddle::runtime {

std::unexpected<Diagnostics> out_of_memory(int64_t bytes) {
    return fail({.code = "runtime.out_of_memory",
                 .summary = "the system has not the memory that the plan needs",
                 .expected = fmt::format("{} bytes", bytes)});
}

std::vector<TensorData> Arena::results(const plan::Plan& plan) {
    const auto has_memory = [&](size_t output) { return plan.input_below(static_cast<int32_t>(output)) >= 0; };
    int64_t bytes = 0;
    for (size_t i = 0; i < plan.output_types.size(); i++) bytes += has_memory(i) ? 0 : plan.output_types[i].byte_size();
    results_.keep(bytes);
    std::vector<TensorData> results;
    for (size_t i = 0; i < plan.output_types.size(); i++) {
        const TensorType& type = plan.output_types[i];
        results.push_back(has_memory(i) ? TensorData(type.dtype, type.extents(), nullptr, nullptr)
                                        : results_.make(type));
    }
    return results;
}

Result<bool> Arena::take(const plan::Plan& plan, User user) {
    // A failing kernel writes the point into the first bytes, whatever scratch it asked for.
    const int64_t scratch = std::max<int64_t>(plan.scratch_bytes, 64);
    if (!workspace_ || plan.workspace_bytes > workspace_bytes_) {
        workspace_.reset();  // before there is more
        workspace_bytes_ = plan.workspace_bytes;
        last_ = 0;
        workspace_ = allocate_on(device_.get(), workspace_bytes_);
        if (!workspace_) return out_of_memory(plan.workspace_bytes);
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
    return std::exchange(last_, user) == user;
}

int64_t Arena::bytes() const { return workspace_bytes_ + scratch_bytes_ * static_cast<int64_t>(scratch_.size()); }

namespace {

class MarginFiller {
public:
    MarginFiller(std::byte* memory, const plan::Buffer& buffer)
        : memory_(memory),
          map_(buffer.storage),
          strides_(map_.strides()),
          width_(static_cast<size_t>(bytes(buffer.dtype))),
          value_(buffer.dtype, {1}) {
        value_.set_real(0, buffer.filling);
        for (size_t i = map_.order.size(); i-- > 0;) {
            const auto d = static_cast<size_t>(map_.order[i]);
            if (innermost_ == 0 && (map_.margin_before[d] > 0 || map_.margin_after[d] > 0)) innermost_ = i + 1;
        }
    }

    // Dimensions from `place` in the order on; they begin at element `begin`.
    void fill(size_t place, int64_t begin) {
        if (place == innermost_) return;
        const auto d = static_cast<size_t>(map_.order[place]);
        const int64_t stride = strides_[d], inside = begin + map_.margin_before[d] * stride;
        fill_elements(begin, inside);
        for (int64_t i = 0; i < map_.extent[d] && place + 1 < innermost_; i++) fill(place + 1, inside + i * stride);
        const int64_t behind = inside + map_.extent[d] * stride;
        fill_elements(behind, behind + map_.margin_after[d] * stride);
    }

private:
    void fill_elements(int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            std::memcpy(memory_ + static_cast<size_t>(i) * width_, value_.data(), width_);
    }

    std::byte* memory_;
    const plan::StorageMap& map_;
    const std::vector<int64_t> strides_;
    const size_t width_;
    TensorData value_;
    size_t innermost_ = 0;  // dimensions in the order before which all margins are
};

}  // namespace

void fill_margins(std::byte* memory, const plan::Buffer& buffer) { MarginFiller(memory, buffer).fill(0, 0); }

Result<void> fill_margins(codegen::Device& device, std::byte* memory, const plan::Buffer& buffer) {
    const auto bytes = static_cast<size_t>(buffer.bytes);
    const auto host = allocate_buffer(bytes);
    if (!host) return out_of_memory(buffer.bytes);
    fill_margins(host.get(), buffer);
    return device.copy_to(memory, {host.get(), bytes});
}

std::shared_ptr<std::byte> allocate_on(codegen::Device* device, int64_t bytes) {
    const auto size = static_cast<size_t>(bytes);
    return device ? device->allocate(std::max<size_t>(size, 1)) : allocate_buffer(size);
}

}  // namespace heddle::runtime
