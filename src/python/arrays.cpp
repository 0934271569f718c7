// NumPy arrays, DLPack and Python's buffers as tensors, and back, in the same memory.
#include "python/python.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace heddle::python {
namespace {

// NumPy has no such type, ml_dtypes has. Its arrays have neither DLPack nor a format of Python's buffers; their bytes
// have.
bool is_foreign(const DTypeInfo& type) { return type.npy_name.empty(); }
DType type_of_bytes(const DTypeInfo& type) { return bytes(type.dtype) == 1 ? DType::uint8 : DType::uint16; }

// float8e5m2 is float8_e5m2 there; other names are ours.
std::string foreign_name(const DTypeInfo& type) {
    std::string name(type.name);
    if (name.starts_with("float8")) name.insert(6, "_");
    return name;
}

nb::dlpack::dtype_code code_of(const DTypeInfo& type) {
    if (type.dtype == DType::bfloat16) return nb::dlpack::dtype_code::Bfloat;
    switch (type.kind) {
    case DTypeClass::boolean: return nb::dlpack::dtype_code::Bool;
    case DTypeClass::signed_integer: return nb::dlpack::dtype_code::Int;
    case DTypeClass::unsigned_integer: return nb::dlpack::dtype_code::UInt;
    case DTypeClass::complex: return nb::dlpack::dtype_code::Complex;
    case DTypeClass::floating: break;
    }
    return nb::dlpack::dtype_code::Float;
}

// 8-bit floats have codes in its newest version only; its 4-bit integers are packed.
bool has_dlpack(const DTypeInfo& type) { return !is_foreign(type) || type.dtype == DType::bfloat16; }

nb::dlpack::dtype dlpack_type(DType dtype) {
    const DTypeInfo& type = info(dtype);
    return {static_cast<uint8_t>(code_of(type)), static_cast<uint8_t>(type.bits), 1};
}

std::optional<DType> dtype_of_dlpack(nb::dlpack::dtype type) {
    for (const DTypeInfo& candidate : all_dtypes()) {
        if (has_dlpack(candidate) && dlpack_type(candidate.dtype) == type) return candidate.dtype;
    }
    return std::nullopt;
}

std::string type_text(nb::handle object) { return nb::cast<std::string>(nb::type_name(object.type())); }

std::string dtype_text(nb::handle array) {
    nb::object dtype = array.attr("dtype");
    return nb::cast<std::string>(nb::str(nb::handle(dtype)));
}

// "list", "ndarray of object"
std::string described(nb::handle object) {
    std::string type = type_text(object);
    if (!nb::hasattr(object, "dtype")) return type;
    return fmt::format("{} of {}", type, dtype_text(object));
}

[[noreturn]] void no_array(nb::handle object, const std::string& name) {
    raise({{.code = "python.array",
            .summary = fmt::format("'{}' is no array that can be read", name),
            .expected = "numbers or bools in the CPU's memory: a NumPy array, or what has __dlpack__",
            .found = described(object),
            .params = {{"input", name}}}});
}

// NumPy numbers its own types from 0 and others' from 256 on. What they are called is a text that it makes in Python, which took
// half the time of a small program.
bool is_numpy_type(nb::handle dtype) {
    int number = 0;
    return nb::try_cast(nb::getattr(dtype, "num", nb::none()), number) && number < 256;
}

// The type of an array of ml_dtypes.
const DTypeInfo* foreign_type(nb::handle object) {
    const nb::object dtype = nb::getattr(object, "dtype", nb::none());
    if (dtype.is_none() || is_numpy_type(dtype) || !nb::hasattr(object, "view")) return nullptr;
    const std::string text = dtype_text(object);
    auto found = std::ranges::find_if(
        all_dtypes(), [&](const DTypeInfo& type) { return is_foreign(type) && foreign_name(type) == text; });
    return found != all_dtypes().end() ? &*found : nullptr;
}

nb::object ml_dtypes_type(const DTypeInfo& type) {
    try {
        return nb::module_::import_("ml_dtypes").attr(foreign_name(type).c_str());
    } catch (nb::python_error&) {
        return {};
    }
}

Diagnostics no_numpy_type(const DTypeInfo& type) {
    return {{.code = "python.ml_dtypes",
             .summary = fmt::format("NumPy has no type for {}", type.name),
             .remedy = "install ml_dtypes, or cast the result to another type"}};
}

// Row-major, of what has only __dlpack__ and is not contiguous.
void copy_strided(const nb::ndarray<nb::ro, nb::device::cpu>& from, size_t dimension, const std::byte* at,
                  std::byte*& to) {
    const size_t bytes = from.itemsize();
    if (dimension == from.ndim()) {
        std::memcpy(to, at, bytes);
        to += bytes;
        return;
    }
    const int64_t stride = from.stride(dimension) * static_cast<int64_t>(bytes);
    for (size_t i = 0; i < from.shape(dimension); i++, at += stride) copy_strided(from, dimension + 1, at, to);
}

std::optional<TensorData> copied(nb::handle object) {
    nb::ndarray<nb::ro, nb::device::cpu> strided;
    if (!nb::try_cast(object, strided)) return std::nullopt;
    const auto dtype = dtype_of_dlpack(strided.dtype());
    if (!dtype) return std::nullopt;
    TensorData tensor(*dtype, {strided.shape_ptr(), strided.shape_ptr() + strided.ndim()});
    std::byte* to = static_cast<std::byte*>(tensor.mutable_data());
    if (tensor.size() > 0) copy_strided(strided, 0, static_cast<const std::byte*>(strided.data()), to);
    return tensor;
}

}  // namespace

Array array_of(nb::handle given, const std::string& name) {
    Array array;
    nb::object object = nb::borrow(given);
    if (const auto spread = spread_of(given)) object = to_python(whole_here(*spread));
    const DTypeInfo* foreign = foreign_type(object);
    try {
        if (foreign)
            object = object.attr("view")(std::string(heddle::name(type_of_bytes(*foreign))));
        else if (!nb::ndarray_check(object))
            object = nb::module_::import_("numpy").attr("asarray")(object);  // lists, numbers, __array_interface__
    } catch (nb::python_error&) {
        no_array(given, name);
    }
    if (!nb::try_cast(object, array.kept)) {
        auto copy = copied(object);
        if (!copy) no_array(object, name);
        array.tensor = std::move(*copy);
        return array;
    }
    auto dtype = foreign ? foreign->dtype : dtype_of_dlpack(array.kept.dtype());
    if (!dtype) no_array(object, name);
    const auto& kept = array.kept;
    std::vector<int64_t> shape(kept.shape_ptr(), kept.shape_ptr() + kept.ndim());
    array.tensor = TensorData(*dtype, std::move(shape), nullptr, static_cast<const std::byte*>(kept.data()));
    // Kernels read elements at their own addresses only.
    if (reinterpret_cast<uintptr_t>(kept.data()) % static_cast<uintptr_t>(bytes(real_type(*dtype))) != 0)
        array.tensor = array.tensor.clone();
    return array;
}

std::optional<runtime::Growing> growing_of(nb::handle object) {
    nb::ndarray<nb::ro, nb::device::cpu> array;
    if (!nb::ndarray_check(object) || foreign_type(object) || !nb::try_cast(object, array)) return std::nullopt;
    const auto dtype = dtype_of_dlpack(array.dtype());
    if (!dtype) return std::nullopt;
    return runtime::find_growing(array.data(), *dtype, {array.shape_ptr(), array.ndim()}, {array.stride_ptr(), array.ndim()});
}

void check_writable(nb::handle object, const TensorData& tensor, const std::string& name) {
    const bool is_array = nb::isinstance(object, nb::module_::import_("numpy").attr("ndarray"));
    const auto is = [&](const char* flag) { return nb::cast<bool>(object.attr("flags").attr(flag)); };
    std::string found;
    if (!is_array)
        found = described(object);
    else if (!is("writeable"))
        found = "an array that is read-only";
    else if (!is("c_contiguous"))
        found = "an array that is not contiguous";
    else if (tensor.owned())
        found = "an array that is not aligned";
    if (found.empty()) return;
    raise({{.code = "python.donation",
            .summary = fmt::format("'{}' is donated, and cannot be overwritten", name),
            .expected = "a NumPy array that is contiguous, aligned and not read-only",
            .found = found,
            .reason = "a result is written to its memory",
            .remedy = fmt::format("give a copy, such as numpy.array({})", name),
            .params = {{"input", name}}}});
}

namespace {

// Elements `strides` apart, or row-major where there are none. The array keeps `kept`.
template <typename Kept>
nb::object array_in(Kept kept_there, const TensorData& tensor, void* data, const std::vector<int64_t>& strides) {
    auto* kept = new Kept(std::move(kept_there));
    nb::capsule owner(kept, [](void* pointer) noexcept { delete static_cast<Kept*>(pointer); });
    std::vector<size_t> shape(tensor.shape().begin(), tensor.shape().end());
    const int64_t* apart = strides.empty() ? nullptr : strides.data();
    const DTypeInfo& type = info(tensor.dtype());
    const bool foreign = is_foreign(type);
    nb::object own_type = foreign ? ml_dtypes_type(type) : nb::object();
    if (foreign && !own_type.is_valid() && has_dlpack(type)) {
        return nb::cast(nb::ndarray<nb::array_api>(data, shape.size(), shape.data(), owner, apart,
                                                   dlpack_type(tensor.dtype()), nb::device::cpu::value));
    }
    if (foreign && !own_type.is_valid()) raise(no_numpy_type(type));
    const DType stored = foreign ? type_of_bytes(type) : tensor.dtype();
    nb::object array = nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, apart,
                                                       dlpack_type(stored), nb::device::cpu::value));
    return foreign ? nb::object(array.attr("view")(own_type)) : array;
}

}  // namespace

nb::object to_python(const TensorData& tensor) {
    TensorData kept = tensor;
    void* const data = kept.mutable_data();
    return array_in(std::move(kept), tensor, data, {});
}

nb::object to_python(const runtime::Growing& growing) {
    return array_in(growing, growing.as_it_lies(), growing.memory->data(), growing.memory->strides());
}

DType dtype_of(nb::handle object) {
    std::string text = nb::isinstance<nb::str>(object) ? nb::cast<std::string>(object) : std::string();
    if (text.empty()) {
        try {
            text = nb::cast<std::string>(nb::module_::import_("numpy").attr("dtype")(object).attr("name"));
        } catch (nb::python_error&) {
            text = type_text(object);
        }
    }
    std::vector<std::string> known;
    for (const DTypeInfo& type : all_dtypes()) {
        if (text == type.name || text == foreign_name(type)) return type.dtype;
        known.emplace_back(type.name);
    }
    raise(
        {{.code = "python.dtype",
          .summary = fmt::format("'{}' is no element type", text),
          .expected = "a name such as 'float32', or a NumPy dtype of numbers or bools",
          .remedy =
              nearest_name(text, known).empty() ? "" : fmt::format("did you mean '{}'?", nearest_name(text, known))}});
}

nb::object numpy_type_of(DType dtype) {
    const DTypeInfo& type = info(dtype);
    if (!is_foreign(type)) return nb::module_::import_("numpy").attr("dtype")(std::string(type.name));
    nb::object own = ml_dtypes_type(type);
    if (!own.is_valid()) raise(no_numpy_type(type));
    return nb::module_::import_("numpy").attr("dtype")(own);
}

StaticValue parameter_of(nb::handle object, const std::string& name) {
    if (object.is_none()) return StaticValue::none();
    if (nb::isinstance<nb::bool_>(object)) return StaticValue::of(nb::cast<bool>(object));
    if (nb::isinstance<nb::str>(object)) return StaticValue::of(nb::cast<std::string>(object));
    if (nb::isinstance<nb::float_>(object)) return StaticValue::of(nb::cast<double>(object));
    if (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object)) {
        StaticValue::List list;
        for (nb::handle element : object) list.push_back(parameter_of(element, name));
        return StaticValue::of(std::move(list));
    }
    if (nb::hasattr(object, "tolist"))
        return parameter_of(object.attr("tolist")(), name);  // NumPy's arrays and numbers
    int64_t integer = 0;
    if (nb::isinstance<nb::int_>(object) && nb::try_cast(object, integer)) return StaticValue::of(integer);
    if (nb::isinstance<nb::type_object>(object) || nb::hasattr(object, "itemsize"))
        return StaticValue::of(dtype_of(object));
    raise({{.code = "python.parameter",
            .summary = fmt::format("the value of '{}' is nothing that an operator takes", name),
            .expected = "a tensor for an input; a number, a bool, a text, a dtype or a list of these for a parameter",
            .found = described(object),
            .params = {{"parameter", name}}}});
}

}  // namespace heddle::python
