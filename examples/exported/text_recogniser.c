/* Reads a line of text: a grey picture (PGM, 48 rows) through the recogniser of PP-OCR, exported by
 *     heddle compile text-recogniser.onnx -o out \
 *         --bind p2o.DynamicDimension.0=1,x.2=48,p2o.DynamicDimension.1=64:640:32
 * Prints the numbers of the characters in the model's alphabet.
 */
#include <stdio.h>
#include <stdlib.h>

#include "text_recogniser.h"

enum { ROWS = 48, COLOURS = 3 };

static int fail(const char* text) {
    fprintf(stderr, "%s\n", text);
    return 1;
}

int main(int count, char** names) {
    int width = 0, rows = 0;
    FILE* file = count > 1 ? fopen(names[1], "rb") : NULL;
    if (!file || fscanf(file, "P5 %d %d 255", &width, &rows) != 2 || rows != ROWS || width < 1 || width > 640 ||
        fgetc(file) == EOF)
        return fail("a PGM file of 48 rows is to be named");
    float* pixels = malloc(sizeof(float) * COLOURS * ROWS * width);
    for (int i = 0; i < ROWS * width; i++) {
        const float grey = (float)fgetc(file) / 127.5f - 1;
        for (int c = 0; c < COLOURS; c++) pixels[c * ROWS * width + i] = grey;
    }
    fclose(file);

    char message[200] = "";
    int64_t in_shape[] = {1, COLOURS, ROWS, width}, out_shape[3];
    const DLTensor input = {pixels, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, in_shape, NULL, 0};
    DLTensor output = {NULL, {kDLCPU, 0}, 3, {kDLFloat, 32, 1}, out_shape, NULL, 0};
    heddle_call call = {.inputs = (const DLTensor*[]){&input}, .outputs = (DLTensor*[]){&output},
                        .message = message, .message_bytes = sizeof message};
    if (text_recogniser_output_shape(&call, 0, out_shape) != 3) return fail(message);
    const int64_t steps = out_shape[1], characters = out_shape[2];
    float* scores = output.data = malloc(sizeof(float) * (size_t)(steps * characters));
    call.workspace_bytes = (size_t)text_recogniser_workspace_bytes(&call);
    call.workspace = aligned_alloc(64, call.workspace_bytes);
    if (text_recogniser_run(&call) != 0) return fail(message);
    for (int64_t t = 0, before = 0; t < steps; t++) {
        int64_t best = 0;
        for (int64_t c = 1; c < characters; c++)
            if (scores[t * characters + c] > scores[t * characters + best]) best = c;
        if (best != 0 && best != before) printf("%d ", (int)best); /* 0 is no character */
        before = best;
    }
    printf("\n");
    return 0;
}
