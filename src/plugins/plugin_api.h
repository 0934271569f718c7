/* A backend as a shared library: C, so that it may be written in any language and by any compiler (docs/backends.md).
   The library exports the two functions at the end. Nothing is thrown across this interface, in either direction.
   All texts are UTF-8 and counted; what is passed to a function is lent for that call. */
#ifndef HEDDLE_PLUGIN_API_H
#define HEDDLE_PLUGIN_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with every change of this file that is seen by a plugin. */
#define HEDDLE_PLUGIN_VERSION 1u

/* 0: done. Else it is not, and what was appended to `problem` says why, in a sentence. */
typedef int32_t heddle_status;

typedef struct heddle_bytes {
    const char* data;
    size_t size;
} heddle_bytes;

/* Takes bytes, in as many parts as one likes, during the call. */
typedef struct heddle_sink {
    void* owner;
    void (*append)(void* owner, const char* data, size_t size);
} heddle_sink;

enum heddle_mode { HEDDLE_PRIMAL = 0, HEDDLE_FORWARD = 1, HEDDLE_AUGMENTED = 2, HEDDLE_REVERSE = 3, HEDDLE_COMBINED = 4 };

/* What a config is asked for. It must not depend on the program or its derivation; by these a request may be refused. */
typedef struct heddle_request {
    heddle_bytes target;  /* JSON, with all fields */
    heddle_bytes program; /* its identity; empty: of all */
    int32_t mode;         /* heddle_mode */
    int32_t width;
    heddle_bytes activities; /* a digit an argument: constant, active, duplicated, duplicated without need, batched,
                                overwritten */
    heddle_bytes tape_policy;
} heddle_request;

/* What decides a backend's code beside the program, each as text: equal texts, equal code. */
typedef struct heddle_config {
    heddle_sink target;  /* what of the target its code depends on */
    heddle_sink options; /* its own */
    heddle_sink version; /* of its compiler; builds of Heddle and of the plugin are added */
} heddle_config;

/* One kernel, twice: as C, and as a scheduled tree (docs/schedules.md). The C is a file of its own with the function
       int32_t heddle_kernel(void* const* buffers, const int64_t* numbers, int64_t begin, int64_t end)
   which runs the tasks from begin to end. It needs the vector extensions of gcc and clang, -ffp-contract=off and the C
   library's mathematical functions. `buffers` are those of heddle_launch, then scratch. It returns 0; or another number
   where an index is out of range: then three int64_t stand at the begin of scratch, as in heddle_index_failure. */
typedef struct heddle_kernel {
    heddle_bytes name; /* for people */
    heddle_bytes c_source;
    heddle_bytes tree;
    heddle_bytes target; /* JSON */
} heddle_kernel;

/* All tasks of a kernel. Tasks of one round may run in any order, or at once; a round begins when all of the one before
   are done, and each has tasks / rounds of them. */
typedef struct heddle_launch {
    void* kernels;           /* from `load` */
    size_t kernel;           /* its place in what was loaded */
    const uint64_t* buffers; /* addresses of the device: of allocations, or inside of one */
    size_t buffer_count;
    const int64_t* numbers;
    size_t number_count;
    int64_t tasks, rounds;
    int64_t scratch_bytes; /* that each thread of the device needs, at a multiple of 64 bytes */
} heddle_launch;

/* Of several tasks of a round that fail, the first. */
typedef struct heddle_index_failure {
    int32_t failed; /* 0 before the call */
    int64_t buffer, index, extent;
} heddle_index_failure;

/* All functions but compile_config must be there. Several threads may be in `compile` at once; otherwise one thread calls
   at a time. When a call returns, what it was asked for is done. */
typedef struct heddle_backend {
    size_t size;      /* sizeof(heddle_backend): set by the plugin */
    const char* name; /* a word; as long as the backend is open */
    /* What kernels are scheduled for, as JSON as in a file for heddle explain --target: fields that are left out keep
       their defaults. Null: the machine that the process runs on. Needed until heddle_plugin_open returns. */
    const char* target;
    void* state; /* passed to all functions */

    /* A backend without it can be loaded; what needs its config then says that it has none. */
    heddle_status (*compile_config)(void* state, const heddle_request* request, const heddle_config* config,
                                    heddle_sink problem);
    /* Equal kernels and configs give equal bytes, which may be kept and loaded by another process. */
    heddle_status (*compile)(void* state, const heddle_kernel* kernel, heddle_sink code, heddle_sink problem);
    /* Code of some kernels made ready to be launched; the bytes are not needed afterwards. */
    heddle_status (*load)(void* state, const heddle_bytes* codes, size_t count, void** kernels, heddle_sink problem);
    void (*unload)(void* state, void* kernels);

    /* At least one byte, at a multiple of 64, with 64 readable ones behind. Not 0: there is not that much. */
    heddle_status (*allocate)(void* state, uint64_t bytes, uint64_t* address);
    void (*release)(void* state, uint64_t address);
    heddle_status (*copy_to)(void* state, uint64_t address, const void* host, uint64_t bytes, heddle_sink problem);
    heddle_status (*copy_from)(void* state, void* host, uint64_t address, uint64_t bytes, heddle_sink problem);
    heddle_status (*launch)(void* state, const heddle_launch* launch, heddle_index_failure* failure,
                            heddle_sink problem);

    void (*close)(void* state); /* the last call */
} heddle_backend;

#if defined(__GNUC__)
#define HEDDLE_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define HEDDLE_PLUGIN_EXPORT
#endif

/* What a plugin exports. The version is asked for first: HEDDLE_PLUGIN_VERSION of the header that it was compiled with. */
HEDDLE_PLUGIN_EXPORT uint32_t heddle_plugin_version(void);
/* Fills in the backend. */
HEDDLE_PLUGIN_EXPORT heddle_status heddle_plugin_open(heddle_backend* backend, heddle_sink problem);

#ifdef __cplusplus
}
#endif

#endif
