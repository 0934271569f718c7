// Where DLPack's header, version 1, was included before, its structs are taken, under our names.
#include <cstdint>
#include <type_traits>

#define DLPACK_MAJOR_VERSION 1
typedef struct {
    uint32_t major, minor;
} DLPackVersion;
typedef enum : int32_t { kDLCPU = 1, kDLCUDA = 2 } DLDeviceType;
typedef struct {
    DLDeviceType device_type;
    int32_t device_id;
} DLDevice;
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
    int64_t* strides;
    uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void* manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned* self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

#include <gtest/gtest.h>

#include "heddle/heddle.h"

#include "api/tensor_layout.h"

namespace {

TEST(EmbeddingInC, DlpacksOwnTensorsAreTaken) {
    static_assert(std::is_same_v<heddle_tensor, DLTensor>);
    static_assert(std::is_same_v<heddle_managed_tensor, DLManagedTensorVersioned>);
    heddle_runtime* runtime = nullptr;
    heddle_model* model = nullptr;
    heddle_executable* executable = nullptr;
    const char* const input = "x";
    float x[2] = {-3, 4}, y[2] = {};
    int64_t shape = 2;
    const DLTensor in = {x, {kDLCPU, 0}, 1, {2, 32, 1}, &shape, nullptr, 0};
    const DLTensor out = {y, {kDLCPU, 0}, 1, {2, 32, 1}, &shape, nullptr, 0};
    ASSERT_EQ(heddle_runtime_create(nullptr, &runtime, nullptr), HEDDLE_OK);
    ASSERT_EQ(heddle_model_from_calls(runtime, "relu(x)", &input, 1, &model, nullptr), HEDDLE_OK);
    ASSERT_EQ(heddle_model_compile(model, &in, 1, nullptr, &executable, nullptr), HEDDLE_OK);
    EXPECT_EQ(heddle_executable_run(executable, &in, 1, &out, 1, nullptr), HEDDLE_OK);
    EXPECT_EQ(y[0], 0);
    EXPECT_EQ(y[1], 4);
    heddle_executable_release(executable);
    heddle_model_release(model);
    heddle_runtime_release(runtime);
}

}  // namespace
