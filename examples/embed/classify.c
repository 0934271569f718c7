/* Runs an ONNX model with one input and one output of float32 on zeros, with memory of its own for all tensors: C11 and libheddle.
     cc -std=c11 classify.c -lheddle && ./a.out model.onnx */
#include <heddle/c_api.h>
#include <stdio.h>
#include <stdlib.h>

static void check(heddle_status status, heddle_error** error) {
    if (status == HEDDLE_OK) return;
    fputs(heddle_error_text(*error), stderr);
    exit(1);
}

/* A tensor of a port's type and shape; open dimensions become 1. */
static heddle_tensor tensor_for(const heddle_port* port) {
    int64_t* shape = malloc((size_t)(port->ndim + 1) * sizeof *shape);
    size_t bytes = port->dtype.bits / 8;
    for (int32_t d = 0; d < port->ndim; d++) {
        shape[d] = port->shape[d] < 0 ? 1 : port->shape[d];
        bytes *= (size_t)shape[d];
    }
    return (heddle_tensor){
        .data = calloc(bytes + 1, 1), .device = {1, 0}, .ndim = port->ndim, .dtype = port->dtype, .shape = shape};
}

int main(int count, char** arguments) {
    if (count != 2 || !heddle_api_serves(HEDDLE_API_VERSION)) return 2;
    heddle_runtime_options options = {.size = sizeof options, .threads = 2};
    heddle_error* error = NULL;
    heddle_runtime* runtime;
    heddle_model* model;
    heddle_executable* executable;
    check(heddle_runtime_create(&options, &runtime, &error), &error);
    check(heddle_model_load(runtime, arguments[1], NULL, 0, &model, &error), &error);
    if (heddle_model_input_count(model) != 1 || heddle_model_input(model, 0)->ndim < 0) return 2;
    heddle_tensor input = tensor_for(heddle_model_input(model, 0));
    check(heddle_model_compile(model, &input, 1, NULL, &executable, &error), &error);
    heddle_tensor output = tensor_for(heddle_executable_output(executable, 0));
    check(heddle_executable_run(executable, &input, 1, &output, 1, &error), &error);

    const float* scores = output.data;
    int64_t classes = 1, best = 0;
    for (int32_t d = 0; d < output.ndim; d++) classes *= output.shape[d];
    for (int64_t i = 1; i < classes; i++)
        if (scores[i] > scores[best]) best = i;
    printf("class %lld of %lld: %.4f\n", (long long)best, (long long)classes, scores[best]);
    heddle_executable_release(executable);
    heddle_model_release(model);
    heddle_runtime_release(runtime);
    free(input.data), free(input.shape), free(output.data), free(output.shape);
    return 0;
}
