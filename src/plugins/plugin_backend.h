// A plugin's backend, device and code as those of codegen.
#pragma once

#include <memory>

#include "codegen/backend.h"
#include "codegen/device.h"
#include "plugins/plugin.h"

namespace heddle::plugins {

class PluginDevice : public codegen::Device {
public:
    explicit PluginDevice(std::shared_ptr<Plugin> plugin) : plugin_(std::move(plugin)) {}
    std::shared_ptr<std::byte> allocate(size_t bytes) override;
    Result<void> copy_to(std::byte* device, std::span<const std::byte> host) override;
    Result<void> copy_from(std::span<std::byte> host, const std::byte* device) override;
    Result<std::optional<codegen::IndexFailure>> launch(const codegen::DeviceLaunch& launch) override;

private:
    std::shared_ptr<Plugin> plugin_;
};

// `objects` are the plugin's own bytes, one kernel each; it compiles several at once.
class PluginBackend : public codegen::Backend {
public:
    explicit PluginBackend(std::shared_ptr<Plugin> plugin)
        : plugin_(std::move(plugin)), device_(std::make_shared<PluginDevice>(plugin_)) {}
    std::string name() const override { return plugin_->name(); }
    Result<CompileConfig> compile_config(const CompileRequest& request) const override;
    Result<std::vector<std::string>> objects(const std::vector<const codegen::Tree*>& trees, const Target& target,
                                             int threads, Progress* progress,
                                             std::shared_ptr<const void> owner) override;
    Result<std::shared_ptr<codegen::CompiledKernels>> link(const std::vector<std::string_view>& objects) override;
    Target target(const Target& machine) const override { return plugin_->target().value_or(machine); }
    std::shared_ptr<codegen::Device> device() override { return device_; }
    // The C that the plugin is given.
    Result<std::string> source(const codegen::Tree& tree, const Target& target) override;

private:
    std::shared_ptr<Plugin> plugin_;
    std::shared_ptr<PluginDevice> device_;
};

}  // namespace heddle::plugins
