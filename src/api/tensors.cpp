#include "api/tensors.h"

#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::api {
namespace {

constexpr int32_t cpu = 1;  // kDLCPU

// DLPack's codes of types.
enum Code : uint8_t {
    integer = 0,
    unsigned_integer = 1,
    floating = 2,
    bfloat = 4,
    complex = 5,
    boolean = 6,
    e4m3fn = 10,
    e4m3fnuz = 11,
    e5m2 = 12,
    e5m2fnuz = 13,
};

Code code_of(const DTypeInfo& type) {
    static constexpr std::array<std::pair<DType, Code>, 5> own_codes = {{{DType::bfloat16, bfloat},
                                                                         {DType::float8e4m3fn, e4m3fn},
                                                                         {DType::float8e4m3fnuz, e4m3fnuz},
                                                                         {DType::float8e5m2, e5m2},
                                                                         {DType::float8e5m2fnuz, e5m2fnuz}}};
    const auto own = std::ranges::find(own_codes, type.dtype, &std::pair<DType, Code>::first);
    if (own != own_codes.end()) return own->second;
    switch (type.kind) {
    case DTypeClass::boolean: return boolean;
    case DTypeClass::signed_integer: return integer;
    case DTypeClass::unsigned_integer: return unsigned_integer;
    case DTypeClass::complex: return complex;
    case DTypeClass::floating: break;
    }
    return floating;
}

bool is_packed(DType dtype) { return info(dtype).bits == 4; }

// DLPack's names of devices, by their numbers.
std::string device_text(heddle_device device) {
    static constexpr std::array names = {"no device", "cpu",
                                         "cuda",      "pinned cuda memory",
                                         "opencl",    "",
                                         "",          "vulkan",
                                         "metal",     "vpi",
                                         "rocm",      "rocm host",
                                         "",          "cuda managed memory",
                                         "oneapi",    "webgpu",
                                         "hexagon",   "maia"};
    const auto type = static_cast<int64_t>(device.device_type);
    std::string name = type >= 0 && type < std::ssize(names) ? names[static_cast<size_t>(type)] : "";
    if (name.empty()) name = fmt::format("device type {}", type);
    return fmt::format("{}:{}", name, static_cast<int32_t>(device.device_id));
}

class Borrowing {
public:
    Borrowing(const heddle_tensor& tensor, Role role, const std::string& name)
        : tensor_(tensor), role_(role == Role::input ? "input" : "output"), name_(name) {}

    Result<TensorData> run(bool needs_data) {
        if (auto fine = check_device(); !fine) return fail(std::move(fine.error()));
        const auto dtype = dtype_of(tensor_.dtype);
        if (!dtype || is_packed(*dtype)) return problem(wrong_type(dtype));
        if (auto fine = check_shape(bytes(*dtype)); !fine) return fail(std::move(fine.error()));
        std::vector<int64_t> shape(tensor_.shape, tensor_.shape + tensor_.ndim);
        const bool empty = std::ranges::find(shape, 0) != shape.end();
        if (!tensor_.data && !empty && needs_data)
            return problem({.code = "api.no_data",
                            .summary = fmt::format("{} '{}' has no memory", role_, name_),
                            .expected = "an address of its elements"});
        if (!tensor_.data && !empty) return TensorData(*dtype, std::move(shape), nullptr, nullptr);
        if (auto fine = check_strides(shape, empty); !fine) return fail(std::move(fine.error()));
        static constexpr std::byte nothing{};
        const auto* data = empty ? &nothing : static_cast<const std::byte*>(tensor_.data) + tensor_.byte_offset;
        const auto alignment = static_cast<uintptr_t>(bytes(real_type(*dtype)));
        if (!empty && reinterpret_cast<uintptr_t>(data) % alignment != 0)
            return problem({.code = "api.alignment",
                            .summary = fmt::format("{} '{}' lies between the addresses of its elements", role_, name_),
                            .expected = fmt::format("an address that is a multiple of {}", alignment),
                            .remedy = "copy it to memory of its own"});
        return TensorData(*dtype, std::move(shape), nullptr, data);
    }

private:
    std::unexpected<Diagnostics> problem(Diagnostic found) const {
        found.params.emplace_back(role_, name_);
        return fail(std::move(found));
    }

    Result<void> check_device() const {
        const heddle_device device = tensor_.device;
        if (static_cast<int32_t>(device.device_type) == cpu && device.device_id == 0) return {};
        return problem({.code = "api.device",
                        .summary = fmt::format("{} '{}' lies on another device than the program", role_, name_),
                        .expected = "cpu:0",
                        .found = device_text(device),
                        .remedy = "copy it to the CPU's memory first"});
    }

    Diagnostic wrong_type(std::optional<DType> dtype) const {
        const heddle_dtype type = tensor_.dtype;
        return {.code = "api.dtype",
                .summary = fmt::format("the element type of {} '{}' is none that can be passed", role_, name_),
                .expected = "bool, integers of 8 to 64 bits, floats of 8 to 64 bits, bfloat16 or complex, one lane",
                .found = fmt::format("DLPack's type code {} of {} bits, {} lanes", type.code, type.bits, type.lanes),
                .reason = dtype ? "two such elements share a byte there, and none here" : ""};
    }

    Result<void> check_shape(int64_t width) const {
        constexpr int32_t most_dimensions = 64;
        const bool is_counted =
            tensor_.ndim >= 0 && tensor_.ndim <= most_dimensions && (tensor_.ndim == 0 || tensor_.shape);
        std::span<const int64_t> shape;
        if (is_counted) shape = {tensor_.shape, static_cast<size_t>(tensor_.ndim)};
        bool fine = is_counted;
        for (int64_t size = width; int64_t extent : shape)  // as if none were empty
            fine = fine && extent >= 0 && !__builtin_mul_overflow(size, std::max<int64_t>(extent, 1), &size);
        if (fine) return {};
        return problem(
            {.code = "api.shape",
             .summary = fmt::format("the shape of {} '{}' is none", role_, name_),
             .expected = fmt::format("at most {} sizes of at least 0, for bytes that 64 bits count", most_dimensions),
             .found = is_counted ? fmt::format("[{}]", fmt::join(shape, ", "))
                                 : fmt::format("{} dimensions", tensor_.ndim)});
    }

    Result<void> check_strides(const std::vector<int64_t>& shape, bool empty) const {
        if (!tensor_.strides || empty) return {};
        int64_t expected = 1;
        bool row_major = true;
        for (size_t d = shape.size(); d-- > 0;) {
            row_major = row_major && (shape[d] == 1 || tensor_.strides[d] == expected);
            expected *= shape[d];
        }
        if (row_major) return {};
        std::vector<int64_t> wanted(shape.size(), 1);
        for (size_t d = shape.size(); d-- > 1;) wanted[d - 1] = wanted[d] * shape[d];
        return problem({.code = "api.strides",
                        .summary = fmt::format("{} '{}' is not row-major", role_, name_),
                        .expected = fmt::format("strides [{}], in elements, or none", fmt::join(wanted, ", ")),
                        .found = fmt::format("[{}]", fmt::join(std::span(tensor_.strides, shape.size()), ", ")),
                        .remedy = "copy it to row-major memory first"});
    }

    const heddle_tensor& tensor_;
    const char* const role_;
    const std::string& name_;
};

bool overlap(const TensorData& a, const TensorData& b) {
    return a.byte_size() > 0 && b.byte_size() > 0 && a.data() < b.data() + b.byte_size() &&
           b.data() < a.data() + a.byte_size();
}

Diagnostic shared_memory(const std::string& output, const char* role, const std::string& other) {
    return {.code = "api.overlap",
            .summary = fmt::format("output '{}' lies in the memory of {} '{}'", output, role, other),
            .reason = "it would be written while the other is still needed",
            .remedy = "give the output memory of its own",
            .params = {{"output", output}, {role, other}}};
}

// What a managed tensor keeps.
struct Lent {
    TensorData data;
    std::vector<int64_t> shape, strides;
    heddle_managed_tensor managed = {};
};

}  // namespace

heddle_dtype dlpack_type(DType dtype) {
    const DTypeInfo& type = info(dtype);
    return {code_of(type), static_cast<uint8_t>(type.bits), 1};
}

std::optional<DType> dtype_of(heddle_dtype dtype) {
    for (const DTypeInfo& type : all_dtypes()) {
        const heddle_dtype known = dlpack_type(type.dtype);
        if (known.code == dtype.code && known.bits == dtype.bits && known.lanes == dtype.lanes) return type.dtype;
    }
    return std::nullopt;
}

Result<TensorData> borrow(const heddle_tensor& tensor, Role role, const std::string& name, bool needs_data) {
    return Borrowing(tensor, role, name).run(needs_data);
}

namespace {

heddle_managed_tensor* lend(TensorData data, void* begin, std::vector<int64_t> strides) {
    auto lent = std::make_unique<Lent>();
    lent->shape = data.shape();
    lent->strides = std::move(strides);
    lent->managed.version = {1, 0};
    lent->managed.manager_ctx = lent.get();
    lent->managed.deleter = [](heddle_managed_tensor* self) { delete static_cast<Lent*>(self->manager_ctx); };
    heddle_tensor& tensor = lent->managed.dl_tensor;
    tensor.data = begin;
    tensor.device = {decltype(heddle_device::device_type){cpu}, 0};
    tensor.ndim = static_cast<int32_t>(lent->shape.size());
    tensor.dtype = dlpack_type(data.dtype());
    tensor.shape = lent->shape.data();
    tensor.strides = lent->strides.data();
    lent->data = std::move(data);
    return &lent.release()->managed;
}

}  // namespace

heddle_managed_tensor* lend(TensorData data) {
    void* const begin = data.mutable_data();
    std::vector<int64_t> strides = runtime::row_major_strides(data.shape());
    return lend(std::move(data), begin, std::move(strides));
}

heddle_managed_tensor* lend(runtime::Growing growing) {
    return lend(growing.as_it_lies(), growing.memory->data(), growing.memory->strides());
}

std::optional<runtime::Growing> growing_of(const heddle_tensor& tensor) {
    const auto dtype = dtype_of(tensor.dtype);
    if (!dtype || !tensor.data || !tensor.shape || !tensor.strides || static_cast<int32_t>(tensor.device.device_type) != cpu)
        return std::nullopt;
    return runtime::find_growing(static_cast<const std::byte*>(tensor.data) + tensor.byte_offset, *dtype,
                                 {tensor.shape, static_cast<size_t>(std::max(tensor.ndim, 0))},
                                 {tensor.strides, static_cast<size_t>(std::max(tensor.ndim, 0))});
}

Result<void> check_apart(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs) {
    Diagnostics problems;
    for (size_t i = 0; i < outputs.size(); i++) {
        for (const NamedTensor& input : inputs) {
            if (overlap(outputs[i].data, input.data))
                problems.push_back(shared_memory(outputs[i].name, "input", input.name));
        }
        for (size_t k = 0; k < i; k++) {
            if (overlap(outputs[i].data, outputs[k].data))
                problems.push_back(shared_memory(outputs[i].name, "output", outputs[k].name));
        }
    }
    if (!problems.empty()) return fail(std::move(problems));
    return {};
}

}  // namespace heddle::api
