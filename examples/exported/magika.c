/* Which kind of file is this? The model magika, exported by
 *     heddle compile magika.onnx -o out --bind unk__214=1:16
 * and linked to this: cc magika.c -Iout -Lout -lmagika. It needs neither Heddle nor a compiler to run.
 */
#include <stdio.h>
#include <stdlib.h>

#include "magika.h"

enum { SAMPLE = 2048, KINDS = 214 };

/* The model wants the first and the last bytes of a file; 256 stands for none. */
static void sample(FILE* file, int32_t* bytes) {
    const int half = SAMPLE / 2;
    static unsigned char begin[SAMPLE / 2], end[SAMPLE / 2];
    const size_t read = fread(begin, 1, half, file);
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    fseek(file, size > half ? size - half : 0, SEEK_SET);
    const size_t tail = fread(end, 1, half, file);
    for (int i = 0; i < half; i++) {
        bytes[i] = i < (int)read ? begin[i] : 256;
        bytes[SAMPLE - 1 - i] = i < (int)tail ? end[tail - 1 - i] : 256;
    }
}

int main(int count, char** names) {
    static int32_t bytes[SAMPLE];
    static float scores[KINDS];
    int64_t in_shape[] = {1, SAMPLE}, out_shape[] = {1, KINDS};
    const DLTensor input = {bytes, {kDLCPU, 0}, 2, {kDLInt, 32, 1}, in_shape, NULL, 0};
    DLTensor output = {scores, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, out_shape, NULL, 0};
    char message[200] = "";
    heddle_call call = {.inputs = (const DLTensor*[]){&input}, .outputs = (DLTensor*[]){&output},
                        .message = message, .message_bytes = sizeof message};
    const int64_t needed = magika_workspace_bytes(&call);
    if (needed > 0) call.workspace = aligned_alloc(64, call.workspace_bytes = (size_t)needed);
    for (int i = 1; i < count; i++) {
        FILE* file = fopen(names[i], "rb");
        if (!file) continue;
        sample(file, bytes);
        fclose(file);
        if (magika_run(&call) != 0) {
            fprintf(stderr, "%s\n", message);
            return 1;
        }
        int best = 0;
        for (int k = 1; k < KINDS; k++) best = scores[k] > scores[best] ? k : best;
        printf("%s: kind %d, %.3f\n", names[i], best, scores[best]);
    }
    free(call.workspace);
    return 0;
}
