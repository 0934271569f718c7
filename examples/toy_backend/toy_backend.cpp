#include "toy_backend.h"

#include <heddle/backends/c/c_source.h>
#include <heddle/cache/identity.h>
#include <heddle/support/progress.h>

namespace toy {
namespace {

constexpr const char* kernel_name = "heddle_kernel";

class LoadedKernels : public heddle::codegen::CompiledKernels {
public:
    explicit LoadedKernels(const std::vector<std::string_view>& objects) : kernels(objects) {}
    heddle::codegen::KernelFunction function(size_t) const override { return nullptr; }
    const Kernels kernels;
};

uint64_t number_of(const std::byte* address) { return reinterpret_cast<uint64_t>(address); }

// The machine's exceptions as diagnostics.
template <typename Work>
auto guarded(Work work) -> heddle::Result<decltype(work())> {
    try {
        if constexpr (std::is_void_v<decltype(work())>) {
            work();
            return {};
        } else {
            return work();
        }
    } catch (const Problem& problem) {
        return heddle::fail(
            heddle::Diagnostic{.code = "toy.failed", .summary = "the toy machine failed", .found = problem.what()});
    }
}

}  // namespace

std::shared_ptr<std::byte> Device::allocate(size_t bytes) {
    const uint64_t address = machine_->allocate(bytes);
    if (address == 0) return nullptr;
    return {reinterpret_cast<std::byte*>(address),
            [machine = machine_, address](std::byte*) { machine->release(address); }};
}

heddle::Result<void> Device::copy_to(std::byte* device, std::span<const std::byte> host) {
    return guarded([&] { machine_->copy_to(number_of(device), host.data(), host.size()); });
}

heddle::Result<void> Device::copy_from(std::span<std::byte> host, const std::byte* device) {
    return guarded([&] { machine_->copy_from(host.data(), number_of(device), host.size()); });
}

heddle::Result<std::optional<heddle::codegen::IndexFailure>> Device::launch(
    const heddle::codegen::DeviceLaunch& launch) {
    std::vector<uint64_t> buffers;
    for (const std::byte* buffer : launch.buffers) buffers.push_back(number_of(buffer));
    return guarded([&]() -> std::optional<heddle::codegen::IndexFailure> {
        const Failure failure = machine_->launch(
            static_cast<const LoadedKernels*>(launch.code)->kernels, launch.kernel,
            {buffers.data(), buffers.size(), launch.numbers.data(), launch.tasks, launch.rounds, launch.scratch_bytes});
        if (!failure.failed) return std::nullopt;
        return heddle::codegen::IndexFailure{failure.buffer, failure.index, failure.extent};
    });
}

// The compiler makes the same of a kernel for any target. Heddle writes the C.
heddle::Result<heddle::CompileConfig> Backend::compile_config(const heddle::CompileRequest&) const {
    return guarded([&] {
        return heddle::CompileConfig{.backend = name(),
                                     .target = "",
                                     .options = compiler_options(),
                                     .version = compiler_version() + ", " + heddle::cache::identity()};
    });
}

heddle::Target Backend::target(const heddle::Target& machine) const {
    return heddle::parse_target(std::make_shared<heddle::SourceText>("toy", target_of_machine)).value_or(machine);
}

heddle::Result<std::vector<std::string>> Backend::objects(const std::vector<const heddle::codegen::Tree*>& trees,
                                                          const heddle::Target&, int, heddle::Progress* progress,
                                                          std::shared_ptr<const void>) {
    std::vector<std::string> objects;
    for (const heddle::codegen::Tree* tree : trees) {
        auto object = guarded([&] { return toy::compile(heddle::backends::c_source(*tree, kernel_name)); });
        if (!object) return heddle::fail(std::move(object.error()));
        objects.push_back(std::move(*object));
        if (auto wanted = heddle::step_done(progress); !wanted) return heddle::fail(wanted.error());
    }
    return objects;
}

heddle::Result<std::shared_ptr<heddle::codegen::CompiledKernels>> Backend::link(
    const std::vector<std::string_view>& objects) {
    return guarded([&]() -> std::shared_ptr<heddle::codegen::CompiledKernels> {
        return std::make_shared<LoadedKernels>(objects);
    });
}

heddle::Result<std::string> Backend::source(const heddle::codegen::Tree& tree, const heddle::Target&) {
    return heddle::backends::c_source(tree, kernel_name);
}

}  // namespace toy
