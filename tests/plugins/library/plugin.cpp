// A plugin that is wrong in the way that WRONG_... says; without any it opens, and has no config. Tests only.
#include "plugins/plugin_api.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

// Of some variants nothing is used but the version.
#pragma GCC diagnostic ignored "-Wunused-function"

namespace {

heddle_status compile_config(void*, const heddle_request* request, const heddle_config* config, heddle_sink problem) {
#ifdef WRONG_CONFIG_THROWS
    throw std::runtime_error("thrown");
#endif
    if (request->mode == HEDDLE_FORWARD) {
        problem.append(problem.owner, "no forward mode", 15);
        return 3;
    }
    config->target.append(config->target.owner, request->target.data, request->target.size);
    config->version.append(config->version.owner, request->activities.data, request->activities.size);
    return 0;
}

heddle_status compile(void*, const heddle_kernel*, heddle_sink code, heddle_sink problem) {
#ifdef WRONG_CODE_SIZE
    code.append(code.owner, "", SIZE_MAX / 2);
    return 0;
#endif
    (void)code;
#ifdef WRONG_COMPILE_THROWS
    throw 7;
#endif
    problem.append(problem.owner, "no compiler", 11);
    return 1;
}

heddle_status load(void*, const heddle_bytes*, size_t, void** kernels, heddle_sink) {
    *kernels = nullptr;
    return 2;
}

void unload(void*, void*) {}

heddle_status allocate(void*, uint64_t bytes, uint64_t* address) {
    if (bytes > 1000) return 1;
    *address = reinterpret_cast<uint64_t>(std::malloc(bytes));
    return 0;
}

void release(void*, uint64_t address) { std::free(reinterpret_cast<void*>(address)); }

heddle_status copy_to(void*, uint64_t address, const void* host, uint64_t bytes, heddle_sink) {
    std::memcpy(reinterpret_cast<void*>(address), host, bytes);
    return 0;
}

heddle_status copy_from(void*, void*, uint64_t, uint64_t, heddle_sink problem) {
    problem.append(problem.owner, "it is ", 6);
    problem.append(problem.owner, "lost", 4);
    return 1;
}

heddle_status launch(void*, const heddle_launch*, heddle_index_failure* failure, heddle_sink) {
    *failure = {1, 0, 9, 8};
    return 0;
}

// What a test looks at behind the last call.
void close(void* state) { ++*static_cast<int*>(state); }

}  // namespace

extern "C" HEDDLE_PLUGIN_EXPORT int heddle_test_closed;
int heddle_test_closed = 0;

#ifndef WRONG_NO_VERSION
uint32_t heddle_plugin_version(void) {
#ifdef WRONG_VERSION
    return HEDDLE_PLUGIN_VERSION + 1;
#else
    return HEDDLE_PLUGIN_VERSION;
#endif
}
#endif

#ifndef WRONG_NO_OPEN
heddle_status heddle_plugin_open(heddle_backend* backend, heddle_sink problem) {
#ifdef WRONG_OPEN_THROWS
    throw std::runtime_error("thrown");
#endif
#ifdef WRONG_REFUSES
    problem.append(problem.owner, "there is no device", 18);
    return 1;
#endif
    (void)problem;
    *backend = {sizeof(heddle_backend),
                "wrong",
                nullptr,
                &heddle_test_closed,
                nullptr,
                compile,
                load,
                unload,
                allocate,
                release,
                copy_to,
                copy_from,
                launch,
                close};
#if defined(WRONG_CONFIG_THROWS) || defined(WRONG_COMPILE_THROWS) || defined(WITH_CONFIG)
    backend->compile_config = compile_config;
#else
    (void)compile_config;
#endif
#ifdef WRONG_TARGET
    backend->target = "{\"vector_byte\": 16}";
#endif
#ifdef WITH_CONFIG
    backend->target = "{\"name\": \"narrow\", \"vector_bytes\": 16}";
#endif
#ifdef WRONG_INCOMPLETE
    backend->launch = nullptr;
#endif
#ifdef WRONG_SIZE
    backend->size -= 8;
#endif
    return 0;
}
#endif
