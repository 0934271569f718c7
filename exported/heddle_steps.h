/* What callers of a program in steps use beside the above: a program whose sizes, branches or trip counts follow from
 * data (docs/compile.md). How large its results are is not known before it runs, so it asks for memory as it goes. It
 * has one function:
 *
 *   int32_t NAME_run(heddle_call* call, const heddle_memory* memory);
 *
 * The call's workspace and `ready` are not looked at. Of each output the caller gives `shape`, with room for
 * HEDDLE_RANKS numbers; the run fills in the rest, and the caller releases the data. A run that fails leaves none, and
 * holds none of the memory that it was given.
 *
 * A list of tensors is a DLTensor of one dimension whose elements are pointers to DLTensors (kDLOpaqueHandle). Of one
 * that is an output the caller releases the data of each element, then the list's own, in which the elements'
 * descriptions lie. An optional input that is absent is a null pointer; an optional output that is absent has no data.
 */
#ifndef HEDDLE_STEPS_H
#define HEDDLE_STEPS_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HEDDLE_NO_MEMORY = -5, /* `allocate` gave none */
    HEDDLE_STOPPED = -6    /* `stops` said so */
};

/* The greatest rank. */
#define HEDDLE_RANKS 16

typedef struct heddle_memory {
    void* (*allocate)(void* context, size_t bytes); /* at a multiple of 64; null: there is no more */
    void (*release)(void* context, void* memory);
    int (*stops)(void* context); /* if given, it is asked before each iteration of a loop: not zero ends the run */
    void* context;
} heddle_memory;

#ifdef __cplusplus
}
#endif
#endif
