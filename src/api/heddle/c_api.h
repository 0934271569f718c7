/* Heddle in a program of yours: ONNX models and programs of operators, compiled for this machine, run on memory that you
   own. C11, nothing else; heddle.h is the same for C++17 (docs/embedding.md).

   Errors. A function that can fail returns a status. If that is not HEDDLE_OK and `error` is not NULL, *error becomes an
   error that the caller frees; nothing is kept elsewhere, so threads never see each other's errors. What a failed call
   was to give is not touched. Tensors that a run was to write hold anything then.

   Threads. Different threads may call every function at once, on the same handle too, but for these: a handle is released
   when nobody uses it any more, and an error, or a tensor's own memory, belongs to one thread at a time. Runs of one
   executable go on at once, as many as `runs` of its runtime; a further one waits. Compiles of one runtime wait for each
   other, and runs do not wait for them.

   Memory. Inputs and outputs are yours and are read and written in place. All else that holds elements of tensors (weights
   in the layouts that kernels read, workspace, scratch, constants, results of heddle_executable_make_output) comes from
   the runtime's allocator, if it has one, and from nowhere else; a file that the library opens is mapped. Handles count
   their uses: a runtime lives as long as its models and executables do, in whichever order they are released.

   Texts are UTF-8 and end with a zero byte. What a function returns as a pointer to const lives as long as its handle. */
#ifndef HEDDLE_C_API_H
#define HEDDLE_C_API_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) || !defined(__GNUC__)
#define HEDDLE_API
#else
#define HEDDLE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version

   The major number changes where programs that were compiled before would not work; then the shared library has another
   name, too. The minor number grows with what is added: functions, and members at the end of structs that begin with
   `size`. A library serves programs that were compiled with its major number, and its minor number or an older one. */
#define HEDDLE_API_MAJOR 1u
#define HEDDLE_API_MINOR 2u
#define HEDDLE_API_VERSION (HEDDLE_API_MAJOR << 16 | HEDDLE_API_MINOR)

HEDDLE_API uint32_t heddle_api_version(void); /* the library's */
/* 1: the library serves programs that were compiled with this version, which is HEDDLE_API_VERSION; else 0. */
HEDDLE_API int32_t heddle_api_serves(uint32_t version);
HEDDLE_API const char* heddle_version(void); /* "0.1.0", for people */

/* ---- errors */

typedef int32_t heddle_status;
enum {
    HEDDLE_OK = 0,
    HEDDLE_FAILED = 1,        /* what was asked for, or given, is wrong: the error says what */
    HEDDLE_CANCELLED = 2,     /* by the call's progress */
    HEDDLE_OUT_OF_MEMORY = 3, /* of the system, or of the caller's allocator */
    HEDDLE_INTERNAL = 4       /* a mistake of the library's */
};

typedef struct heddle_error heddle_error;

HEDDLE_API const char* heddle_error_code(const heddle_error* error); /* "api.device": stable, docs/diagnostics.yaml */
HEDDLE_API const char* heddle_error_message(const heddle_error* error); /* a sentence */
HEDDLE_API const char* heddle_error_text(
    const heddle_error* error); /* all of it, for people: places, expected, found */
HEDDLE_API const char* heddle_error_json(
    const heddle_error* error);                         /* the same as JSON: an array, one element an error */
HEDDLE_API void heddle_error_free(heddle_error* error); /* NULL: nothing */

/* ---- tensors

   DLPack's structs (github.com/dmlc/dlpack, version 1), under its names where its header was included before. */
#ifdef DLPACK_MAJOR_VERSION
typedef DLDevice heddle_device;
typedef DLDataType heddle_dtype;
typedef DLTensor heddle_tensor;
typedef DLManagedTensorVersioned heddle_managed_tensor;
#else
typedef struct heddle_device {
    int32_t device_type; /* kDLCPU = 1, kDLCUDA = 2 ... */
    int32_t device_id;
} heddle_device;

typedef struct heddle_dtype {
    uint8_t code; /* kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLComplex = 5, kDLBool = 6 ... */
    uint8_t bits;
    uint16_t lanes; /* 1 */
} heddle_dtype;

typedef struct heddle_tensor {
    void* data;
    heddle_device device;
    int32_t ndim;
    heddle_dtype dtype;
    int64_t* shape;
    int64_t* strides; /* in elements; NULL: row-major */
    uint64_t byte_offset;
} heddle_tensor;

typedef struct heddle_managed_tensor {
    struct {
        uint32_t major, minor;
    } version;
    void* manager_ctx;
    void (*deleter)(struct heddle_managed_tensor* self); /* whoever has it last calls it, from any thread */
    uint64_t flags;
    heddle_tensor dl_tensor;
} heddle_managed_tensor;
#endif

/* An input or output of a model or an executable. */
typedef struct heddle_port {
    const char* name;
    heddle_dtype dtype;                 /* bits 0: not known before it is compiled */
    int32_t ndim;                       /* -1: not known before it is compiled */
    const int64_t* shape;               /* -1: the dimension is open */
    const char* const* dimension_names; /* "" without a name */
    int32_t is_read;                    /* 0: nothing depends on this input, and its tensor may be anything */
} heddle_port;

/* ---- runtime: threads, memory, the cache, operators */

/* Both functions are called from any thread that calls the library or frees a managed tensor, at once, too; they must not
   call the library. They are valid until nothing of the runtime is left. */
typedef struct heddle_allocator {
    void* owner;
    void* (*allocate)(void* owner, size_t bytes, size_t alignment); /* NULL: there is not so much */
    void (*release)(void* owner, void* memory, size_t bytes);
} heddle_allocator;

typedef struct heddle_runtime_options {
    size_t size;              /* sizeof(heddle_runtime_options) */
    int32_t threads;          /* of one run, the caller's included; 0: one a core */
    int32_t runs;             /* that may go on at once, each on threads and workspace of its own; 0: one */
    const char* cache_folder; /* programs and kernels are kept here for later processes (docs/cache.md); NULL: nowhere;
                                  "": in the user's folder */
    const char* operators;    /* the folder of the operator library; NULL: the one that lies beside the library */
    const heddle_allocator* allocator; /* NULL: the system's; it is copied */
    double work;              /* scalar operations that a run may take, more are refused; 0: 1e13 */
} heddle_runtime_options;

typedef struct heddle_runtime heddle_runtime;

/* `options` may be NULL: one thread a core, one run at a time, no cache. */
HEDDLE_API heddle_status heddle_runtime_create(const heddle_runtime_options* options, heddle_runtime** runtime,
                                               heddle_error** error);
HEDDLE_API void heddle_runtime_release(heddle_runtime* runtime);

/* Operators of your own (docs/language.md), for models that are made from now on: a template file, or a folder of such.
   Their namespace is `name`; NULL: the file's or folder's name. */
HEDDLE_API heddle_status heddle_runtime_add_operators(heddle_runtime* runtime, const char* path, const char* name,
                                                      heddle_error** error);
/* The same from a text. Another text of this name takes its place. */
HEDDLE_API heddle_status heddle_runtime_add_operators_text(heddle_runtime* runtime, const char* name, const char* text,
                                                           heddle_error** error);
/* What is no error, but worth a warning, since the last call: a damaged cache, a program that could not be fused. NULL:
   nothing. The caller frees it. */
HEDDLE_API heddle_error* heddle_runtime_take_notes(heddle_runtime* runtime);

/* ---- several places that run models together (docs/machines.md). Since 1.2 */

/* The processes that run a program together. Each makes the same models, and runs them with the same inputs, in the same order;
   each gets all outputs. */
typedef struct heddle_machines heddle_machines;

typedef struct heddle_machines_options {
    size_t size;         /* sizeof(heddle_machines_options) */
    const char* hosts;   /* a file with an address a line, by rank; NULL: the processes that mpirun or srun has started,
                            or, without these, this process alone */
    int32_t rank;        /* this process's line of it */
    const char* library; /* a plug-in's file of MPI; NULL: the launcher's own */
    double timeout;      /* seconds without a word of another process; 0: 60 */
} heddle_machines_options;

/* Waits for all to connect. `options` may be NULL. MPI starts once in a process. */
HEDDLE_API heddle_status heddle_machines_connect(const heddle_machines_options* options, heddle_machines** machines,
                                                 heddle_error** error);
HEDDLE_API int32_t heddle_machines_rank(const heddle_machines* machines);
HEDDLE_API int32_t heddle_machines_size(const heddle_machines* machines);
/* Tells the others that this process cannot go on, and why: their calls fail with its rank and message. */
HEDDLE_API void heddle_machines_fail(heddle_machines* machines, const char* why);
HEDDLE_API void heddle_machines_release(heddle_machines* machines);

/* From now on heddle_model_run cuts models over places: threads of this process, or `machines` where that is not NULL. `cuts`
   say how, as heddle run --shard does: "batch=2", "4"; what they do not say is chosen by cost. No cuts: a place for each
   process. heddle_model_compile is refused then (api.places). */
HEDDLE_API heddle_status heddle_runtime_shard(heddle_runtime* runtime, const char* const* cuts, size_t cut_count,
                                              heddle_machines* machines, heddle_error** error);

/* ---- models */

typedef struct heddle_model heddle_model;

/* A number for a dimension that the model leaves open. */
typedef struct heddle_dimension {
    const char* name;
    int64_t size;
} heddle_dimension;

/* An ONNX file, and the files of weights that it names. The files must not change while the model lives. */
HEDDLE_API heddle_status heddle_model_load(heddle_runtime* runtime, const char* path,
                                           const heddle_dimension* dimensions, size_t dimension_count,
                                           heddle_model** model, heddle_error** error);
/* ONNX in memory. With `release` the bytes are read where they lie, until it is called with `owner`, once, from any
   thread; also where the call fails. Without it they are copied. */
HEDDLE_API heddle_status heddle_model_parse(heddle_runtime* runtime, const void* bytes, size_t size,
                                            void (*release)(void* owner), void* owner,
                                            const heddle_dimension* dimensions, size_t dimension_count,
                                            heddle_model** model, heddle_error** error);
/* A program of operators: "h = matmul(x, w); y = softmax(h, axis: 1)". Its inputs are the names that it does not define,
   in the order given here; their types are those of the tensors that it is compiled for. */
HEDDLE_API heddle_status heddle_model_from_calls(heddle_runtime* runtime, const char* program,
                                                 const char* const* inputs, size_t input_count, heddle_model** model,
                                                 heddle_error** error);
HEDDLE_API void heddle_model_release(heddle_model* model);

/* Inputs that have a value already (ONNX: with initializers). They are no inputs of the model; one that takes those of
   these names as inputs, in the place where the file has them, is a model of its own. */
HEDDLE_API size_t heddle_model_initializer_count(const heddle_model* model);
HEDDLE_API const heddle_port* heddle_model_initializer(const heddle_model* model, size_t index);
HEDDLE_API heddle_status heddle_model_with_initializers(const heddle_model* model, const char* const* names,
                                                        size_t name_count, heddle_model** with, heddle_error** error);

HEDDLE_API size_t heddle_model_input_count(const heddle_model* model);
HEDDLE_API size_t heddle_model_output_count(const heddle_model* model); /* of calls 0: executables know them */
HEDDLE_API const heddle_port* heddle_model_input(const heddle_model* model,
                                                 size_t index); /* NULL: there are not so many */
HEDDLE_API const heddle_port* heddle_model_output(const heddle_model* model, size_t index);

/* Told how far a compile is: stage is "load", "symbolic", "fusion", "plan", "code", "link" or "prepare"; `done` of `total`
   units of it; seconds since it began. Called by the thread that compiles, fifty times a second at most and where something
   changes. It returns 0 to go on; else the call ends with HEDDLE_CANCELLED. */
typedef struct heddle_progress {
    void* owner;
    int32_t (*told)(void* owner, const char* stage, int64_t done, int64_t total, double seconds);
} heddle_progress;

/* ---- executables */

typedef struct heddle_executable heddle_executable;

/* For inputs of these types and shapes, one an input of the model, in order. Values decide nothing in most models; where a
   shape or a branch follows from one, the executable holds for this value alone. `data` may be NULL: then the value is not
   known. The same call again gives what was compiled before, for as long as the model keeps it. `progress` may be NULL. */
HEDDLE_API heddle_status heddle_model_compile(heddle_model* model, const heddle_tensor* inputs, size_t input_count,
                                              const heddle_progress* progress, heddle_executable** executable,
                                              heddle_error** error);
/* Runs the model for inputs of any sizes, in order, with memory: what is compiled for it is kept, and holds for other sizes, too.
   A model whose sizes, branches or loops follow from data runs only so; it has no executable (onnx.step, onnx.open_branch).
   `outputs` has room for output_count pointers, one an output of the model (of a program of calls, one a result); each
   becomes a tensor of the caller. Calls for one model run one after another. Since 1.1. */
HEDDLE_API heddle_status heddle_model_run(heddle_model* model, const heddle_tensor* inputs, size_t input_count,
                                          const heddle_progress* progress, heddle_managed_tensor** outputs,
                                          size_t output_count, heddle_error** error);
/* From now on a result of heddle_model_run that is an input with more behind it, as a decoder's cache is, may lie in memory with
   room behind: read it by its strides. Handed back as that input, it grows there: nothing is copied, and the tensor handed back
   keeps its elements, which the longer one shares. Write to neither. A result handed back twice is copied the second time. Since
   1.1. */
HEDDLE_API heddle_status heddle_model_let_results_grow(heddle_model* model, heddle_error** error);
HEDDLE_API void heddle_executable_release(heddle_executable* executable);

HEDDLE_API size_t heddle_executable_input_count(const heddle_executable* executable);
HEDDLE_API size_t heddle_executable_output_count(const heddle_executable* executable);
HEDDLE_API const heddle_port* heddle_executable_input(const heddle_executable* executable, size_t index);
HEDDLE_API const heddle_port* heddle_executable_output(const heddle_executable* executable, size_t index);
HEDDLE_API int64_t heddle_executable_workspace_bytes(const heddle_executable* executable); /* of one run */
HEDDLE_API int64_t heddle_executable_weight_bytes(const heddle_executable* executable); /* that it keeps for all runs */

/* Reads the inputs and writes the outputs where they lie: on the CPU, row-major, at addresses of whole elements, no output
   in the memory of another tensor of the call. Each output is a tensor of the type and shape of its port. */
HEDDLE_API heddle_status heddle_executable_run(heddle_executable* executable, const heddle_tensor* inputs,
                                               size_t input_count, const heddle_tensor* outputs, size_t output_count,
                                               heddle_error** error);
/* Memory for an output, from the runtime's allocator: all zeros, for as long as its deleter is not called. */
HEDDLE_API heddle_status heddle_executable_make_output(heddle_executable* executable, size_t index,
                                                       heddle_managed_tensor** tensor, heddle_error** error);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_API_H */
