// The toy machine as a plugin: heddle run --plugin libtoy.so --backend toy. All that it needs of Heddle is one header.
#include <heddle/plugins/plugin_api.h>

#include <exception>
#include <string>

#include "machine.h"

namespace {

std::string text_of(heddle_bytes bytes) { return {bytes.data, bytes.size}; }

void append(heddle_sink sink, const std::string& text) { sink.append(sink.owner, text.data(), text.size()); }

// Nothing may be thrown across the interface.
template <typename Work>
heddle_status guarded(heddle_sink problem, Work work) noexcept {
    try {
        work();
        return 0;
    } catch (const std::exception& exception) {
        append(problem, exception.what());
    } catch (...) {
        append(problem, "an exception of no known kind");
    }
    return 1;
}

toy::Machine& machine(void* state) { return *static_cast<toy::Machine*>(state); }

// The toy machine has no derivative of its own to refuse, and its compiler makes the same of a kernel for any target.
heddle_status compile_config(void*, const heddle_request*, const heddle_config* config, heddle_sink problem) {
    return guarded(problem, [&] {
        append(config->options, toy::compiler_options());
        append(config->version, toy::compiler_version());
    });
}

heddle_status compile(void*, const heddle_kernel* kernel, heddle_sink code, heddle_sink problem) {
    return guarded(problem, [&] { append(code, toy::compile(text_of(kernel->c_source))); });
}

heddle_status load(void*, const heddle_bytes* codes, size_t count, void** kernels, heddle_sink problem) {
    return guarded(problem, [&] {
        std::vector<std::string_view> libraries;
        for (size_t i = 0; i < count; i++) libraries.emplace_back(codes[i].data, codes[i].size);
        *kernels = new toy::Kernels(libraries);
    });
}

void unload(void*, void* kernels) { delete static_cast<toy::Kernels*>(kernels); }

heddle_status allocate(void* state, uint64_t bytes, uint64_t* address) {
    *address = machine(state).allocate(bytes);
    return *address == 0;
}

void release(void* state, uint64_t address) { machine(state).release(address); }

heddle_status copy_to(void* state, uint64_t address, const void* host, uint64_t bytes, heddle_sink problem) {
    return guarded(problem, [&] { machine(state).copy_to(address, host, bytes); });
}

heddle_status copy_from(void* state, void* host, uint64_t address, uint64_t bytes, heddle_sink problem) {
    return guarded(problem, [&] { machine(state).copy_from(host, address, bytes); });
}

heddle_status launch(void* state, const heddle_launch* launch, heddle_index_failure* failure, heddle_sink problem) {
    return guarded(problem, [&] {
        const toy::Failure found = machine(state).launch(*static_cast<toy::Kernels*>(launch->kernels), launch->kernel,
                                                         {launch->buffers, launch->buffer_count, launch->numbers,
                                                          launch->tasks, launch->rounds, launch->scratch_bytes});
        *failure = {found.failed, found.buffer, found.index, found.extent};
    });
}

void close(void* state) { delete static_cast<toy::Machine*>(state); }

}  // namespace

uint32_t heddle_plugin_version(void) { return HEDDLE_PLUGIN_VERSION; }

heddle_status heddle_plugin_open(heddle_backend* backend, heddle_sink problem) {
    return guarded(problem, [&] {
        *backend = {sizeof(heddle_backend),
                    "toy",
                    toy::target_of_machine,
                    new toy::Machine,
                    compile_config,
                    compile,
                    load,
                    unload,
                    allocate,
                    release,
                    copy_to,
                    copy_from,
                    launch,
                    close};
    });
}
