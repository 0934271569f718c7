#include "runtime/arena.h"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "codegen/device.h"
#include "runtime/result_bytes.h"
#include "support/resident_memory.h"
#include "support/tensor_data.h"

namespace heddle::runtime {

std::unexpected<Diagnostics> out_of_memory(int64_t bytes) {
    return fail({.code = "runtime.out_of_memory",
                 .summary = "the system has not the memory that the plan needs",
                 .expected = fmt::format("{} bytes", bytes)});
}

std::unexpected<Diagnostics> out_of_memory(const plan::Plan& plan, const plan::Numbers& numbers) {
    using Kind = plan::Buffer::Kind;
    std::optional<size_t> largest;
    for (size_t b = 0; b < plan.buffers.size(); b++) {
        const Kind kind = plan.buffers[b].kind;
        if (kind == Kind::input || kind == Kind::constant) continue;
        if (!largest || numbers.bytes[b] > numbers.bytes[*largest]) largest = b;
    }
    auto problem = out_of_memory(run_bytes(plan, numbers));
    if (largest) {
        const plan::Buffer& buffer = plan.buffers[*largest];
        TensorType type{buffer.dtype, {}};
        for (const Size& size : buffer.sizes) type.shape.push_back(size.at(numbers.names));
        problem.error().front().found = fmt::format("the largest tensor is '{}', {} of {} bytes", buffer.name, type.text(),
                                                    numbers.bytes[*largest]);
    }
    problem.error().front().remedy = "use smaller inputs, or a machine with more memory";
    return problem;
}

namespace {

// Whether an input gives the memory.
bool is_given(const plan::Plan& plan, size_t output) { return plan.input_below(static_cast<int32_t>(output)) >= 0; }

// Of an output; of one that grows, of the memory in which it does.
TensorType with_all_places(const plan::Plan& plan, const plan::Numbers& numbers, size_t output) {
    TensorType type = numbers.output_types[output];
    if (const plan::Growth* growth = plan.growth_of(static_cast<int32_t>(output)))
        type.shape[static_cast<size_t>(growth->dimension)] = numbers.capacity;
    return type;
}

int64_t bytes_of_result(const plan::Plan& plan, const plan::Numbers& numbers, size_t output) {
    if (is_given(plan, output)) return 0;
    return bytes_now(plan.growths.empty() ? numbers.output_types[output] : with_all_places(plan, numbers, output));
}

int64_t result_bytes(const plan::Plan& plan, const plan::Numbers& numbers) {
    int64_t bytes = 0;
    for (size_t i = 0; i < numbers.output_types.size(); i++)
        bytes += bytes_of_result(plan, numbers, i);
    return bytes;
}

}  // namespace

int64_t run_bytes(const plan::Plan& plan, const plan::Numbers& numbers) {
    return numbers.workspace_bytes + result_bytes(plan, numbers);
}

std::vector<TensorData> Arena::results(const plan::Plan& plan, const plan::Numbers& numbers) {
    int64_t capacity = 0;
    for (size_t i = 0; i < numbers.output_types.size(); i++)
        capacity += ResultMemory::capacity(bytes_of_result(plan, numbers, i));
    results_.keep(capacity);
    std::vector<TensorData> results;
    results.reserve(numbers.output_types.size());
    for (size_t i = 0; i < numbers.output_types.size(); i++) {
        const TensorType& type = numbers.output_types[i];
        const bool given = is_given(plan, i) || plan.growth_of(static_cast<int32_t>(i));
        results.push_back(given ? TensorData(type.dtype, numbers_of(type.shape), nullptr, nullptr)
                                            : results_.make(type));
    }
    return results;
}

TensorData Arena::growing_result(const plan::Plan& plan, const plan::Numbers& numbers, const plan::Growth& growth) {
    return results_.make(with_all_places(plan, numbers, static_cast<size_t>(growth.output)));
}

namespace {

// Makes all pieces that large at least, with anything in them, where they are `had` bytes. Sizes that grow, grow on: what
// follows finds memory that the system has given already. False: there is not so much, and none is left.
bool grow(std::span<std::shared_ptr<std::byte>> pieces, int64_t& had, int64_t needed, codegen::Device* device) {
    const bool again = had > 0;
    for (const int64_t bytes : {std::max(needed, had + had / 4), needed}) {
        for (auto& piece : pieces) piece.reset();  // before there is more
        if (again) give_back_freed();              // or it stays as a hole, too small for what comes
        had = bytes;
        for (auto& piece : pieces) piece = allocate_on(device, bytes);
        if (std::ranges::all_of(pieces, [](const auto& piece) { return piece != nullptr; })) return true;
        if (bytes == needed) break;
    }
    for (auto& piece : pieces) piece.reset();
    had = 0;
    return false;
}

}  // namespace

Result<void> Arena::take(const plan::Plan& plan, const plan::Numbers& numbers) {
    // A failing kernel writes the point into the first bytes, whatever scratch it asked for.
    const int64_t scratch = std::max<int64_t>(numbers.scratch_bytes, 64);
    if ((!workspace_ || numbers.workspace_bytes > workspace_bytes_) &&
        !grow({&workspace_, 1}, workspace_bytes_, numbers.workspace_bytes, device_.get()))
        return out_of_memory(plan, numbers);
    if (scratch > scratch_bytes_ && !grow(scratch_, scratch_bytes_, scratch, nullptr)) return out_of_memory(scratch);
    return {};
}

int64_t Arena::bytes() const { return workspace_bytes_ + scratch_bytes_ * static_cast<int64_t>(scratch_.size()); }

std::shared_ptr<std::byte> allocate_on(codegen::Device* device, int64_t bytes) {
    const auto size = static_cast<size_t>(bytes);
    return device ? device->allocate(std::max<size_t>(size, 1)) : allocate_buffer(size);
}

}  // namespace heddle::runtime
