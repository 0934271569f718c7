#include "frontends/onnx/tensor_proto.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "zspace/checked.h"

namespace heddle::onnx {
namespace {

struct TypeRow {
    int64_t number;
    const char* name;
    std::optional<DType> dtype;
};

constexpr std::array types = {
    TypeRow{1, "float32", DType::float32},
    TypeRow{2, "uint8", DType::uint8},
    TypeRow{3, "int8", DType::int8},
    TypeRow{4, "uint16", DType::uint16},
    TypeRow{5, "int16", DType::int16},
    TypeRow{6, "int32", DType::int32},
    TypeRow{7, "int64", DType::int64},
    TypeRow{8, "string", std::nullopt},
    TypeRow{9, "bool", DType::boolean},
    TypeRow{10, "float16", DType::float16},
    TypeRow{11, "float64", DType::float64},
    TypeRow{12, "uint32", DType::uint32},
    TypeRow{13, "uint64", DType::uint64},
    TypeRow{14, "complex64", DType::complex64},
    TypeRow{15, "complex128", DType::complex128},
    TypeRow{16, "bfloat16", DType::bfloat16},
    TypeRow{17, "float8e4m3fn", DType::float8e4m3fn},
    TypeRow{18, "float8e4m3fnuz", DType::float8e4m3fnuz},
    TypeRow{19, "float8e5m2", DType::float8e5m2},
    TypeRow{20, "float8e5m2fnuz", DType::float8e5m2fnuz},
    TypeRow{21, "uint4", DType::uint4},
    TypeRow{22, "int4", DType::int4},
    TypeRow{23, "float4e2m1", std::nullopt},
    TypeRow{24, "float8e8m0", std::nullopt},
    TypeRow{25, "uint2", std::nullopt},
    TypeRow{26, "int2", std::nullopt},
};

// What the message says, before it is understood.
struct RawTensor {
    std::vector<int64_t> dims;
    int64_t type = 0;
    std::string name;
    std::optional<Bytes> raw;
    std::vector<Bytes> floats, doubles;  // runs, as elements lie in memory
    std::vector<int64_t> integers;       // int32_data, int64_data, uint64_data
    DataPlace place;
    bool external = false;
    bool complete = true;
};

// Of a map from text to text.
void read_place(Bytes message, DataPlace& place) {
    std::string key, value;
    Reader reader(message);
    while (auto field = reader.next()) {
        if (field->number == 1) key = field->as_text();
        if (field->number == 2) value.assign(reinterpret_cast<const char*>(field->bytes.data()), field->bytes.size());
    }
    if (key == "location") place.location = value;
    if (key == "offset") place.offset = value;
    if (key == "length") place.length = value;
}

RawTensor read_fields(Bytes message) {
    RawTensor tensor;
    Reader reader(message);
    while (auto field = reader.next()) {
        switch (field->number) {
        case 1: tensor.complete &= append_integers(*field, tensor.dims); break;
        case 2: tensor.type = field->as_signed(); break;
        case 4: tensor.floats.push_back(field->bytes); break;
        case 5:
        case 7:
        case 11: tensor.complete &= append_integers(*field, tensor.integers); break;
        case 8: tensor.name = field->as_text(); break;
        case 9: tensor.raw = field->bytes; break;
        case 10: tensor.doubles.push_back(field->bytes); break;
        case 13:
            tensor.external = true;
            read_place(field->bytes, tensor.place);
            break;
        case 14: tensor.external |= field->integer == 1; break;
        default: break;
        }
    }
    auto whole = [](const std::vector<Bytes>& runs, size_t width) {
        return std::ranges::all_of(runs, [&](Bytes run) { return run.size() % width == 0; });
    };
    tensor.complete &= !reader.failed() && whole(tensor.floats, sizeof(float)) && whole(tensor.doubles, sizeof(double));
    return tensor;
}

std::unexpected<Diagnostics> wrong(const FileContext& file, const RawTensor& tensor, std::string summary,
                                   std::string expected, std::string found) {
    return fail({.code = "onnx.tensor",
                 .summary = std::move(summary),
                 .expected = std::move(expected),
                 .found = std::move(found),
                 .params = {{"file", file.path}, {"tensor", tensor.name}}});
}

// The number of elements, or nothing if a dimension is negative or the product is beyond any memory.
std::optional<int64_t> element_count(const std::vector<int64_t>& dims) {
    std::optional<int64_t> count = 1;
    for (int64_t d : dims) {
        if (d < 0) return std::nullopt;
        count = checked_multiply(*count, d);
        if (!count || *count > (int64_t{1} << 40)) return std::nullopt;
    }
    return count;
}

// Files have two elements of four bits in a byte, the first one in its low bits.
int64_t packed_count(DType dtype, int64_t elements) { return (elements * info(dtype).bits + 7) / 8 / bytes(dtype); }
bool is_packed(DType dtype) { return info(dtype).bits < 8; }
void unpack(int64_t place, int64_t pair, TensorData& data) {
    data.set_integer(2 * place, pair);
    if (2 * place + 1 < data.size()) data.set_integer(2 * place + 1, pair >> 4);
}

// Integers that the typed fields hold; numbers of other types that come as integers come as their codes.
void store_integers(const std::vector<int64_t>& integers, TensorData& data) {
    const auto width = static_cast<size_t>(bytes(data.dtype()));  // little-endian, as this machine is
    const bool as_codes = is_narrow(data.dtype());
    for (size_t i = 0; i < integers.size(); i++) {
        if (is_packed(data.dtype()))
            unpack(static_cast<int64_t>(i), integers[i], data);
        else if (as_codes)
            std::memcpy(data.mutable_data() + i * width, &integers[i], width);
        else
            data.set_integer(static_cast<int64_t>(i), integers[i]);
    }
}

// The runs of a floating type, or of the parts of a complex one; null: its elements come as integers.
const std::vector<Bytes>* runs_of(const RawTensor& tensor, DType dtype) {
    if (real_type(dtype) == DType::float32) return &tensor.floats;
    return real_type(dtype) == DType::float64 ? &tensor.doubles : nullptr;
}

// Of elements that lie one behind the other: a view, but for those that share their bytes.
TensorData tensor_of(DType dtype, const std::vector<int64_t>& shape, const std::shared_ptr<const void>& owner,
                     Bytes data) {
    if (!is_packed(dtype) && !data.empty()) return TensorData(dtype, shape, owner, data.data());
    TensorData tensor(dtype, shape);
    for (size_t i = 0; i < data.size(); i++) unpack(static_cast<int64_t>(i), static_cast<int64_t>(data[i]), tensor);
    return tensor;
}

TensorData tensor_of_runs(DType dtype, const RawTensor& tensor, const std::shared_ptr<const void>& owner,
                          const std::vector<Bytes>& runs) {
    if (runs.size() == 1) return tensor_of(dtype, tensor.dims, owner, runs[0]);
    TensorData data(dtype, tensor.dims);
    std::byte* next = data.mutable_data();
    for (Bytes run : runs) next = std::ranges::copy(run, next).out;
    return data;
}

size_t typed_count(const RawTensor& tensor, DType dtype) {
    const std::vector<Bytes>* runs = runs_of(tensor, dtype);
    if (!runs) return tensor.integers.size();
    size_t size = 0;
    for (Bytes run : *runs) size += run.size();
    return size / static_cast<size_t>(bytes(real_type(dtype)));
}

}  // namespace

std::unexpected<Diagnostics> truncated(const FileContext& file, const std::string& where) {
    return fail({.code = "onnx.truncated",
                 .summary = fmt::format("'{}' ends in the middle of {}", file.path, where),
                 .remedy = "fetch the file again",
                 .params = {{"file", file.path}}});
}

Result<OnnxTensor> read_tensor(const FileContext& file, ExternalData& external, Bytes message) {
    RawTensor raw = read_fields(message);
    if (!raw.complete) return truncated(file, fmt::format("the tensor '{}'", raw.name));
    OnnxTensor tensor{.name = raw.name, .data = std::nullopt, .type_text = type_name(raw.type)};
    auto dtype = dtype_of(raw.type);
    if (!dtype) return tensor;
    tensor.is_external = raw.external;
    auto count = element_count(raw.dims);
    if (!count)
        return wrong(file, raw, "a tensor has an impossible shape", "", fmt::format("{} dimensions", raw.dims.size()));
    const int64_t needed = packed_count(*dtype, *count) * bytes(*dtype);
    if (raw.external) {
        if (auto found = external.find(raw.name, raw.place, needed))
            tensor.data = tensor_of(*dtype, raw.dims, found->owner, found->bytes);
        return tensor;
    }
    if (raw.raw) {
        if (static_cast<int64_t>(raw.raw->size()) != needed) {
            return wrong(file, raw, "a tensor's data do not fit its shape", fmt::format("{} bytes", needed),
                         fmt::format("{} bytes", raw.raw->size()));
        }
        tensor.data = tensor_of(*dtype, raw.dims, file.owner, *raw.raw);
        return tensor;
    }
    const int64_t numbers = is_complex(*dtype) ? 2 * *count : packed_count(*dtype, *count);
    if (typed_count(raw, *dtype) != static_cast<size_t>(numbers)) {
        return wrong(file, raw, "a tensor's data do not fit its shape", fmt::format("{} numbers", numbers),
                     fmt::format("{} numbers", typed_count(raw, *dtype)));
    }
    if (const std::vector<Bytes>* runs = runs_of(raw, *dtype)) {
        tensor.data = tensor_of_runs(*dtype, raw, file.owner, *runs);
        return tensor;
    }
    tensor.data = TensorData(*dtype, raw.dims);
    store_integers(raw.integers, *tensor.data);
    return tensor;
}

std::optional<DType> dtype_of(int64_t onnx_type) {
    for (const TypeRow& row : types) {
        if (row.number == onnx_type) return row.dtype;
    }
    return std::nullopt;
}

std::string type_name(int64_t onnx_type) {
    for (const TypeRow& row : types) {
        if (row.number == onnx_type) return row.name;
    }
    return fmt::format("type {}", onnx_type);
}

}  // namespace heddle::onnx
