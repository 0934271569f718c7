/* Runs an exported program of one input of floats, anywhere: cc -DPROGRAM=name -DHEADER='"name.h"' runner.c ...
 * Reads the input's rank, its sizes and its elements as text, and prints the elements of all outputs as bits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include HEADER

#define JOINED(a, b) a##b
#define NAME_OF(program, function) JOINED(program, function)
enum { OUTPUTS = 2, MOST = 8 };

static int64_t elements(const DLTensor* tensor) {
    int64_t count = 1;
    for (int d = 0; d < tensor->ndim; d++) count *= tensor->shape[d];
    return count;
}

int main(void) {
    char message[200] = "";
    int64_t shape[MOST], shapes[OUTPUTS][MOST];
    DLTensor input = {NULL, {kDLCPU, 0}, 0, {kDLFloat, 32, 1}, shape, NULL, 0}, output[OUTPUTS];
    const DLTensor* inputs[] = {&input};
    DLTensor* outputs[OUTPUTS];
    heddle_call call = {0};
    int rank;
    if (scanf("%d", &rank) != 1 || rank > MOST) return 2;
    for (int d = 0; d < rank; d++) {
        int size;
        if (scanf("%d", &size) != 1) return 2;
        shape[d] = size;
    }
    input.ndim = rank;
    input.data = malloc(sizeof(float) * (size_t)elements(&input));
    for (int64_t i = 0; i < elements(&input); i++)
        if (scanf("%f", (float*)input.data + i) != 1) return 2;
    call.inputs = inputs;
    call.outputs = outputs;
    call.message = message;
    call.message_bytes = sizeof message;
    for (int o = 0; o < OUTPUTS; o++) {
        output[o] = input;
        output[o].shape = shapes[o];
        output[o].ndim = NAME_OF(PROGRAM, _output_shape)(&call, o, shapes[o]);
        if (output[o].ndim < 0) break;
        output[o].data = malloc(sizeof(float) * (size_t)elements(&output[o]));
        outputs[o] = &output[o];
    }
    call.workspace_bytes = (size_t)NAME_OF(PROGRAM, _workspace_bytes)(&call);
    call.workspace = aligned_alloc(64, call.workspace_bytes);
    if (NAME_OF(PROGRAM, _run)(&call) != 0) {
        puts(message);
        return 1;
    }
    for (int o = 0; o < OUTPUTS && output[o].ndim >= 0; o++) {
        for (int64_t i = 0; i < elements(&output[o]); i++) {
            uint32_t bits;
            memcpy(&bits, (float*)output[o].data + i, sizeof bits);
            printf("%08x\n", (unsigned)bits);
        }
    }
    return 0;
}
