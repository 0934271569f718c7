#include "plugins/plugin_backend.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "backends/c/c_source.h"
#include "cache/identity.h"
#include "schedules/tree.h"
#include "support/progress.h"

namespace heddle::plugins {
namespace {

constexpr const char* kernel_name = "heddle_kernel";

uint64_t number_of(const std::byte* address) { return reinterpret_cast<uint64_t>(address); }

std::string digits_of(const std::vector<Activity>& activities) {
    std::string digits;
    for (Activity activity : activities) digits += static_cast<char>('0' + static_cast<int>(activity));
    return digits;
}

class PluginKernels : public codegen::CompiledKernels {
public:
    PluginKernels(std::shared_ptr<Plugin> plugin, void* handle) : plugin_(std::move(plugin)), handle_(handle) {}
    ~PluginKernels() override {
        plugin_->call_quietly([&] { plugin_->backend().unload(plugin_->backend().state, handle_); });
    }
    codegen::KernelFunction function(size_t) const override { return nullptr; }
    void* handle() const { return handle_; }

private:
    std::shared_ptr<Plugin> plugin_;
    void* handle_;
};

}  // namespace

// ---- memory and launches

std::shared_ptr<std::byte> PluginDevice::allocate(size_t bytes) {
    const heddle_backend& backend = plugin_->backend();
    uint64_t address = 0;
    const auto done =
        plugin_->call("allocate", [&](heddle_sink) { return backend.allocate(backend.state, bytes, &address); });
    if (!done) return nullptr;
    return {reinterpret_cast<std::byte*>(address), [plugin = plugin_, address](std::byte*) {
                plugin->call_quietly([&] { plugin->backend().release(plugin->backend().state, address); });
            }};
}

Result<void> PluginDevice::copy_to(std::byte* device, std::span<const std::byte> host) {
    const heddle_backend& backend = plugin_->backend();
    return plugin_->call("copy_to", [&](heddle_sink problem) {
        return backend.copy_to(backend.state, number_of(device), host.data(), host.size(), problem);
    });
}

Result<void> PluginDevice::copy_from(std::span<std::byte> host, const std::byte* device) {
    const heddle_backend& backend = plugin_->backend();
    return plugin_->call("copy_from", [&](heddle_sink problem) {
        return backend.copy_from(backend.state, host.data(), number_of(device), host.size(), problem);
    });
}

Result<std::optional<codegen::IndexFailure>> PluginDevice::launch(const codegen::DeviceLaunch& launch) {
    const heddle_backend& backend = plugin_->backend();
    std::vector<uint64_t> buffers;
    for (const std::byte* buffer : launch.buffers) buffers.push_back(number_of(buffer));
    const heddle_launch passed{.kernels = static_cast<const PluginKernels*>(launch.code)->handle(),
                               .kernel = launch.kernel,
                               .buffers = buffers.data(),
                               .buffer_count = buffers.size(),
                               .numbers = launch.numbers.data(),
                               .number_count = launch.numbers.size(),
                               .tasks = launch.tasks,
                               .rounds = launch.rounds,
                               .scratch_bytes = launch.scratch_bytes};
    heddle_index_failure failure = {};
    auto done = plugin_->call(
        "launch", [&](heddle_sink problem) { return backend.launch(backend.state, &passed, &failure, problem); });
    if (!done) return fail(std::move(done.error()));
    if (!failure.failed) return std::nullopt;
    return codegen::IndexFailure{failure.buffer, failure.index, failure.extent};
}

// ---- code

Result<CompileConfig> PluginBackend::compile_config(const CompileRequest& request) const {
    const heddle_backend& backend = plugin_->backend();
    if (!backend.compile_config) return ConfigSource::compile_config(request);
    const std::string target = print(request.target), activities = digits_of(request.derivation.activities);
    const heddle_request passed{.target = lend(target),
                                .program = lend(request.program),
                                .mode = static_cast<int32_t>(request.derivation.mode),
                                .width = request.derivation.width,
                                .activities = lend(activities),
                                .tape_policy = lend(request.derivation.tape_policy)};
    Sink target_sink, options, version;
    const heddle_config sinks{target_sink.lent(), options.lent(), version.lent()};
    auto done = plugin_->call("compile_config", [&](heddle_sink problem) {
        return backend.compile_config(backend.state, &passed, &sinks, problem);
    });
    if (done) done = plugin_->check("compile_config", {&target_sink, &options, &version});
    if (!done) return fail(std::move(done.error()));
    CompileConfig config{.backend = name(), .target = target_sink.take(), .options = options.take(), .version = {}};
    // We write the C that it compiles.
    config.version = fmt::format("{}, {}, {}", version.take(),
                                 cache::identity_of(reinterpret_cast<const void*>(backend.launch)), cache::identity());
    return config;
}

namespace {

// Threads take kernels in turn, until one fails or nothing more is wanted.
class Compilation {
public:
    Compilation(const Plugin& plugin, const std::vector<const codegen::Tree*>& trees, const Target& target)
        : plugin_(plugin), trees_(trees), target_(print(target)), made_(trees.size()) {}

    Result<std::vector<std::string>> run(int threads, Progress* progress) {
        std::vector<std::thread> workers;
        const size_t most = std::min(trees_.size(), static_cast<size_t>(std::max(threads, 1)));
        for (size_t t = 1; t < most; t++) workers.emplace_back([this] { work(nullptr); });
        work(progress);
        for (std::thread& worker : workers) worker.join();
        if (thrown_) std::rethrow_exception(thrown_);
        if (is_cancelled(progress)) return cancelled();
        if (progress) progress->step(static_cast<int64_t>(trees_.size()) - told_);
        std::vector<std::string> objects;
        for (Result<std::string>& object : made_) {
            if (!object) return fail(std::move(object.error()));
            objects.push_back(std::move(*object));
        }
        return objects;
    }

private:
    void work(Progress* progress) {
        for (size_t i = next_++; i < trees_.size() && wanted_; i = next_++) {
            made_[i] = compile_here(*trees_[i]);
            if (!made_[i] || is_cancelled(progress)) wanted_ = false;
            if (progress && wanted_) {
                progress->step(1);
                told_++;
            }
        }
    }

    // What is thrown is for who takes the code, not for a thread of ours.
    Result<std::string> compile_here(const codegen::Tree& tree) {
        try {
            return compile(tree);
        } catch (...) {
            std::lock_guard lock(mutex_);
            if (!thrown_) thrown_ = std::current_exception();
        }
        return cancelled();
    }

    Result<std::string> compile(const codegen::Tree& tree) const {
        const heddle_backend& backend = plugin_.backend();
        const std::string c = backends::c_source(tree, kernel_name), text = schedules::print(tree);
        const heddle_kernel kernel{lend(tree.name), lend(c), lend(text), lend(target_)};
        Sink code;
        auto done = plugin_.call_at_once("compile", [&](heddle_sink problem) {
            return backend.compile(backend.state, &kernel, code.lent(), problem);
        });
        if (done) done = plugin_.check("compile", {&code});
        if (!done) return fail(std::move(done.error()));
        return code.take();
    }

    const Plugin& plugin_;
    const std::vector<const codegen::Tree*>& trees_;
    const std::string target_;
    std::vector<Result<std::string>> made_;
    std::atomic<size_t> next_ = 0;
    std::atomic<bool> wanted_ = true;
    int64_t told_ = 0;
    std::mutex mutex_;
    std::exception_ptr thrown_;
};

}  // namespace

Result<std::vector<std::string>> PluginBackend::objects(const std::vector<const codegen::Tree*>& trees,
                                                        const Target& target, int threads, Progress* progress,
                                                        std::shared_ptr<const void>) {
    return Compilation(*plugin_, trees, target).run(threads, progress);
}

Result<std::shared_ptr<codegen::CompiledKernels>> PluginBackend::link(const std::vector<std::string_view>& objects) {
    const heddle_backend& backend = plugin_->backend();
    std::vector<heddle_bytes> codes;
    for (std::string_view object : objects) codes.push_back(lend(object));
    void* handle = nullptr;
    auto done = plugin_->call("load", [&](heddle_sink problem) {
        return backend.load(backend.state, codes.data(), codes.size(), &handle, problem);
    });
    if (!done) return fail(std::move(done.error()));
    return std::make_shared<PluginKernels>(plugin_, handle);
}

Result<std::string> PluginBackend::source(const codegen::Tree& tree, const Target&) {
    return backends::c_source(tree, kernel_name);
}

}  // namespace heddle::plugins
