// The toy machine as a backend of Heddle, for programs that link it.
#pragma once

#include <heddle/codegen/backend.h>
#include <heddle/codegen/device.h>

#include "machine.h"

namespace toy {

class Device : public heddle::codegen::Device {
public:
    std::shared_ptr<std::byte> allocate(size_t bytes) override;
    heddle::Result<void> copy_to(std::byte* device, std::span<const std::byte> host) override;
    heddle::Result<void> copy_from(std::span<std::byte> host, const std::byte* device) override;
    heddle::Result<std::optional<heddle::codegen::IndexFailure>> launch(
        const heddle::codegen::DeviceLaunch& launch) override;

private:
    std::shared_ptr<Machine> machine_ = std::make_shared<Machine>();
};

class Backend : public heddle::codegen::Backend {
public:
    std::string name() const override { return "toy"; }
    heddle::Result<heddle::CompileConfig> compile_config(const heddle::CompileRequest& request) const override;
    heddle::Result<std::vector<std::string>> objects(const std::vector<const heddle::codegen::Tree*>& trees,
                                                     const heddle::Target& target, int threads,
                                                     heddle::Progress* progress,
                                                     std::shared_ptr<const void> owner) override;
    heddle::Result<std::shared_ptr<heddle::codegen::CompiledKernels>> link(
        const std::vector<std::string_view>& objects) override;
    heddle::Target target(const heddle::Target& machine) const override;
    std::shared_ptr<heddle::codegen::Device> device() override { return device_; }
    heddle::Result<std::string> source(const heddle::codegen::Tree& tree, const heddle::Target& target) override;

private:
    std::shared_ptr<Device> device_ = std::make_shared<Device>();
};

}  // namespace toy
