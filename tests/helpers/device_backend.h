// LLVM's code behind a device with memory of its own: its addresses lead nowhere in this process, and it runs tasks in
// another order than the pool does. Tests only.
#pragma once

#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include <gtest/gtest.h>

#include "backends/llvm/llvm_backend.h"
#include "codegen/device.h"
#include "support/tensor_data.h"

namespace heddle {

class FarDevice : public codegen::Device, public std::enable_shared_from_this<FarDevice> {
public:
    std::shared_ptr<std::byte> allocate(size_t bytes) override {
        const std::lock_guard lock(mutex_);
        if (static_cast<int64_t>(bytes) > limit) return nullptr;
        const uintptr_t address = next_;
        next_ += (bytes + 2 * buffer_alignment) / buffer_alignment * buffer_alignment;
        auto memory = allocate_buffer(bytes);
        std::memset(memory.get(), 0x5a, bytes);  // nobody may rely on zeros
        blocks_.emplace(address, Block{std::move(memory), bytes});
        return {reinterpret_cast<std::byte*>(address), [self = shared_from_this(), address](std::byte*) {
                    const std::lock_guard lock(self->mutex_);
                    self->blocks_.erase(address);
                }};
    }
    Result<void> copy_to(std::byte* device, std::span<const std::byte> host) override {
        const std::lock_guard lock(mutex_);
        copied_to++;
        if (refuses_copies) return fail(Diagnostic{.code = "test.copy", .summary = "no copy"});
        if (!host.empty()) std::memcpy(real(device, host.size()), host.data(), host.size());
        return {};
    }
    Result<void> copy_from(std::span<std::byte> host, const std::byte* device) override {
        const std::lock_guard lock(mutex_);
        if (!host.empty()) std::memcpy(host.data(), real(device, host.size()), host.size());
        return {};
    }
    Result<std::optional<codegen::IndexFailure>> launch(const codegen::DeviceLaunch& launch) override;

    size_t blocks() const { return blocks_.size(); }
    int64_t limit = int64_t{1} << 40;
    bool refuses_copies = false, rounds_backwards = false;
    int64_t copied_to = 0, launches = 0, in_rounds = 0;

private:
    struct Block {
        std::shared_ptr<std::byte> memory;
        size_t bytes = 0;
    };
    std::byte* real(const std::byte* address, size_t bytes) const {
        const auto place = reinterpret_cast<uintptr_t>(address);
        auto block = blocks_.upper_bound(place);
        EXPECT_NE(block, blocks_.begin()) << "an address that is none of the device's";
        --block;
        EXPECT_LE(place + bytes, block->first + block->second.bytes) << "outside of its memory";
        return block->second.memory.get() + (place - block->first);
    }

    std::mutex mutex_;
    std::map<uintptr_t, Block> blocks_;
    uintptr_t next_ = uintptr_t{0x7f} << 56;  // no address of a process
};

class FarKernels : public codegen::CompiledKernels {
public:
    explicit FarKernels(std::shared_ptr<codegen::CompiledKernels> code) : code_(std::move(code)) {}
    codegen::KernelFunction function(size_t) const override { return nullptr; }
    codegen::KernelFunction real(size_t index) const { return code_->function(index); }

private:
    std::shared_ptr<codegen::CompiledKernels> code_;
};

inline Result<std::optional<codegen::IndexFailure>> FarDevice::launch(const codegen::DeviceLaunch& launch) {
    const std::lock_guard lock(mutex_);
    launches++;
    if (launch.rounds > 1) in_rounds++;
    std::vector<void*> buffers;
    // Buffers of no elements may begin anywhere.
    for (std::byte* buffer : launch.buffers) buffers.push_back(real(buffer, 0));
    const auto scratch = allocate_buffer(static_cast<size_t>(launch.scratch_bytes));
    buffers.push_back(scratch.get());
    const auto function = static_cast<const FarKernels*>(launch.code)->real(launch.kernel);
    const int64_t parts = launch.tasks / launch.rounds;
    for (int64_t i = 0; i < launch.rounds; i++) {
        const int64_t round = rounds_backwards ? launch.rounds - 1 - i : i;
        std::optional<codegen::IndexFailure> failure;
        for (int64_t part = parts; part-- > 0;) {
            const int64_t task = round * parts + part;
            if (function(buffers.data(), launch.numbers.data(), task, task + 1) == 0) continue;
            int64_t point[3];
            std::memcpy(point, scratch.get(), sizeof point);
            failure = codegen::IndexFailure{point[0], point[1], point[2]};
        }
        if (failure) return failure;
    }
    return std::nullopt;
}

class FarBackend : public backends::LlvmBackend {
public:
    std::string name() const override { return "far"; }
    Result<CompileConfig> compile_config(const CompileRequest& request) const override {
        auto config = LlvmBackend::compile_config(request);
        if (config) config->backend = name();
        return config;
    }
    Result<std::shared_ptr<codegen::CompiledKernels>> link(const std::vector<std::string_view>& objects) override {
        auto code = LlvmBackend::link(objects);
        if (!code) return code;
        return std::make_shared<FarKernels>(std::move(*code));
    }
    std::shared_ptr<codegen::Device> device() override { return far; }

    const std::shared_ptr<FarDevice> far = std::make_shared<FarDevice>();
};

}  // namespace heddle
