/* What callers of an exported program use (heddle compile, docs/compile.md). Each program has, under its own NAME:
 *
 *   int32_t NAME_output_shape(heddle_call* call, int32_t output, int64_t* shape);
 *   int64_t NAME_workspace_bytes(heddle_call* call);
 *   int32_t NAME_run(heddle_call* call);
 *
 * Nothing else is needed to run it: no allocation, no library, no global state. Calls with workspaces of their own may
 * run at once on any threads; one heddle_call and its workspace belong to one run at a time.
 */
#ifndef HEDDLE_PROGRAM_H
#define HEDDLE_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are DLPack's (version 1.x, https://dmlc.github.io/dlpack). Where its own header is used too, it comes first. */
#ifndef DLPACK_DLPACK_H_
typedef enum { kDLCPU = 1 } DLDeviceType;
typedef struct {
    DLDeviceType device_type;
    int32_t device_id;
} DLDevice;
typedef enum {
    kDLInt = 0,
    kDLUInt = 1,
    kDLFloat = 2,
    kDLOpaqueHandle = 3,
    kDLBfloat = 4,
    kDLComplex = 5,
    kDLBool = 6
} DLDataTypeCode;
typedef struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} DLDataType;
typedef struct {
    void* data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t* shape;
    int64_t* strides; /* in elements; null: row-major */
    uint64_t byte_offset;
} DLTensor;
#endif

/* All functions give zero or more where they have done their work, else one of these. */
enum {
    HEDDLE_BAD_ARGUMENT = -1,  /* a tensor of another type, shape, device or layout; no workspace, no weights */
    HEDDLE_BAD_SIZE = -2,      /* the program was not exported for these sizes */
    HEDDLE_BAD_MACHINE = -3,   /* the processor has none of the instruction sets that the program was exported for */
    HEDDLE_BAD_INDEX = -4      /* an index among the data is outside of the tensor that it is for */
};

/* One part of a run's work, which any thread may do. `worker`, from 0 on, is none that another part has meanwhile. */
typedef void (*heddle_task)(void* work, int64_t part, int32_t worker);

/* Zero all of it (heddle_call call = {0}), then fill in what is wanted. */
typedef struct heddle_call {
    const DLTensor* const* inputs; /* the program's, in its order: row-major, on the CPU, read only */
    DLTensor* const* outputs;      /* the same, written; no two overlap, and no input does */

    /* Memory of NAME_workspace_bytes(call) bytes, at a multiple of 64; its contents do not matter. All that a run needs
     * beside the tensors and weights. */
    void* workspace;
    size_t workspace_bytes;

    /* Where weights lie in a file beside the program: that file's bytes, at a multiple of 64 (mapped, say); else null. */
    const void* weights;

    /* How many parts run at once; 0 is 1. `parallel` returns when task(work, i, worker) is done for all i from 0 to
     * parts - 1, in any order, with worker below `workers`. Null: one after another, by the thread that calls. */
    int32_t workers;
    void (*parallel)(void* pool, int64_t parts, heddle_task task, void* work);
    void* pool;

    /* What the workspace is ready for: zero where it is new, or was written to. Runs keep it. */
    int64_t ready;

    /* If given, where to write what is wrong, ended by a zero. */
    char* message;
    size_t message_bytes;
} heddle_call;

#ifdef __cplusplus
}
#endif
#endif
