// Kernels that move and convert: casts, literals, loads and stores.
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "evaluate/lanes.h"
#include "support/narrow_float.h"

namespace heddle::evaluation {

namespace {

// An integer type of Heddle's: its greatest value is 2^digits - 1.
template <typename T>
struct Integer {
    using Stored = T;
    static constexpr bool is_signed = std::is_signed_v<T>;
    static constexpr int digits = std::numeric_limits<T>::digits;
    static T wrapped(int64_t value) { return static_cast<T>(value); }
};
template <DType dtype>
struct FourBits {
    static constexpr bool is_signed = dtype == DType::int4;
    using Stored = std::conditional_t<is_signed, int8_t, uint8_t>;
    static constexpr int digits = is_signed ? 3 : 4;
    static Stored wrapped(int64_t value) { return static_cast<Stored>(wrapped_to(dtype, value)); }
    static uint8_t code(int64_t value) { return static_cast<uint8_t>(value & 0xF); }
};

// Truncates, saturates, NaN gives zero. Bounds are powers of two, exact in either float type.
template <typename I, typename From>
int64_t saturate(From value) {
    if (!(value == value)) return 0;
    const From high = std::ldexp(From(1), I::digits);
    constexpr auto highest = static_cast<int64_t>(~uint64_t{0} >> (64 - I::digits));
    if (value >= high) return highest;
    if constexpr (I::is_signed) {
        if (value <= -high) return -highest - 1;
    } else {
        if (value <= 0) return 0;
    }
    return static_cast<int64_t>(static_cast<typename I::Stored>(value));
}

struct ToFloat {
    template <typename R, typename T>
    static R apply(T value) {
        return static_cast<R>(value);
    }
};
template <DType narrow>
struct ToNarrow {
    template <typename R, typename T>
    static R apply(T value) {
        if constexpr (std::is_floating_point_v<T>)
            return stored_as(narrow, static_cast<double>(value));
        else
            return stored_as(narrow, odd_double(value));
    }
};
template <typename I>
struct ToInteger {
    template <typename R, typename T>
    static R apply(T value) {
        if constexpr (std::is_floating_point_v<T>) {
            return saturate<I>(value);
        } else {
            return static_cast<int64_t>(I::wrapped(static_cast<int64_t>(value)));
        }
    }
};
struct ToBool {
    template <typename R, typename T>
    static R apply(T value) {
        return value != 0;
    }
};

template <typename C, typename R, typename T>
void convert(void* result, const void* const* operands, int64_t count) {
    auto* r = static_cast<R*>(result);
    auto* a = static_cast<const T*>(operands[0]);
    for (int64_t i = 0; i < count; i++) r[i] = C::template apply<R>(a[i]);
}

template <typename T>
Kernel cast_from(DType to, LaneType lanes) {
    switch (to) {
    case DType::boolean: return &convert<ToBool, int64_t, T>;
    case DType::int8: return &convert<ToInteger<Integer<int8_t>>, int64_t, T>;
    case DType::int16: return &convert<ToInteger<Integer<int16_t>>, int64_t, T>;
    case DType::int32: return &convert<ToInteger<Integer<int32_t>>, int64_t, T>;
    case DType::int64: return &convert<ToInteger<Integer<int64_t>>, int64_t, T>;
    case DType::uint8: return &convert<ToInteger<Integer<uint8_t>>, int64_t, T>;
    case DType::uint16: return &convert<ToInteger<Integer<uint16_t>>, int64_t, T>;
    case DType::uint32: return &convert<ToInteger<Integer<uint32_t>>, int64_t, T>;
    case DType::uint64: return &convert<ToInteger<Integer<uint64_t>>, int64_t, T>;
    case DType::int4: return &convert<ToInteger<FourBits<DType::int4>>, int64_t, T>;
    case DType::uint4: return &convert<ToInteger<FourBits<DType::uint4>>, int64_t, T>;
    default: break;
    }
    if (lanes == LaneType::real) return &convert<ToFloat, double, T>;  // float64, or any float in exact arithmetic
    switch (to) {
    case DType::float16: return &convert<ToNarrow<DType::float16>, float, T>;
    case DType::bfloat16: return &convert<ToNarrow<DType::bfloat16>, float, T>;
    case DType::float8e4m3fn: return &convert<ToNarrow<DType::float8e4m3fn>, float, T>;
    case DType::float8e4m3fnuz: return &convert<ToNarrow<DType::float8e4m3fnuz>, float, T>;
    case DType::float8e5m2: return &convert<ToNarrow<DType::float8e5m2>, float, T>;
    case DType::float8e5m2fnuz: return &convert<ToNarrow<DType::float8e5m2fnuz>, float, T>;
    default: return &convert<ToFloat, float, T>;
    }
}

}  // namespace

Kernel cast_kernel(DType from, LaneType from_lanes, DType to, LaneType to_lanes) {
    switch (from_lanes) {
    case LaneType::single: return cast_from<float>(to, to_lanes);
    case LaneType::real: return cast_from<double>(to, to_lanes);
    case LaneType::integer: break;
    }
    return from == DType::uint64 ? cast_from<uint64_t>(to, to_lanes) : cast_from<int64_t>(to, to_lanes);
}

namespace {

template <typename T>
void fill(void* result, const void* value, int64_t count) {
    auto* r = static_cast<T*>(result);
    T v = *static_cast<const T*>(value);
    for (int64_t i = 0; i < count; i++) r[i] = v;
}

// How an element is stored, and what it is worth.
template <typename T>
struct Plain {
    using Stored = T;
    template <typename Lane>
    static Lane load(T value) {
        return static_cast<Lane>(value);
    }
    template <typename Lane>
    static T store(Lane value) {
        if constexpr (std::is_integral_v<T> && std::is_floating_point_v<Lane>) {
            return static_cast<T>(saturate<Integer<T>>(value));
        } else {
            return static_cast<T>(value);
        }
    }
};
template <DType dtype, typename Code>
struct NarrowFloat {
    using Stored = Code;
    template <typename Lane>
    static Lane load(Code code) {
        return static_cast<Lane>(float_from_code(dtype, code));
    }
    template <typename Lane>
    static Code store(Lane value) {
        return static_cast<Code>(code_from_real(dtype, static_cast<double>(value)));
    }
};
template <typename I>
struct NarrowInteger {
    using Stored = uint8_t;
    template <typename Lane>
    static Lane load(uint8_t code) {
        return static_cast<Lane>(I::wrapped(code));
    }
    template <typename Lane>
    static uint8_t store(Lane value) {
        if constexpr (std::is_floating_point_v<Lane>) {
            return I::code(saturate<I>(value));
        } else {
            return I::code(static_cast<int64_t>(value));
        }
    }
};

// Borrowed memory may be unaligned.
template <typename E>
typename E::Stored element(const std::byte* data, int64_t address) {
    typename E::Stored value;
    std::memcpy(&value, data + address * static_cast<int64_t>(sizeof(value)), sizeof(value));
    return value;
}

template <typename E, typename Lane>
void load_contiguous(void* result, const std::byte* data, int64_t first, int64_t count) {
    auto* r = static_cast<Lane*>(result);
    for (int64_t i = 0; i < count; i++) r[i] = E::template load<Lane>(element<E>(data, first + i));
}
template <typename E, typename Lane>
void load_uniform(void* result, const std::byte* data, int64_t address, int64_t count) {
    Lane value = E::template load<Lane>(element<E>(data, address));
    fill<Lane>(result, &value, count);
}
template <typename E, typename Lane>
void load_gather(void* result, const std::byte* data, const int64_t* addresses, int64_t shift, int64_t count) {
    auto* r = static_cast<Lane*>(result);
    for (int64_t i = 0; i < count; i++) r[i] = E::template load<Lane>(element<E>(data, addresses[i] + shift));
}
template <typename E, typename Lane>
void load_masked(void* result, const std::byte* data, const int64_t* addresses, int64_t shift, const uint8_t* mask,
                 const void* otherwise, int64_t count) {
    auto* r = static_cast<Lane*>(result);
    auto* o = static_cast<const Lane*>(otherwise);
    auto offset = static_cast<uint64_t>(shift);  // addresses under a zero mask may be anything
    for (int64_t i = 0; i < count; i++) {
        auto address = static_cast<int64_t>(static_cast<uint64_t>(addresses[i]) + offset);
        r[i] = mask[i] ? E::template load<Lane>(element<E>(data, address)) : o ? o[i] : Lane(0);
    }
}
template <typename E, typename Lane>
void scatter(std::byte* data, const int64_t* addresses, int64_t shift, const void* lanes, int64_t count) {
    auto* a = static_cast<const Lane*>(lanes);
    for (int64_t i = 0; i < count; i++) {
        auto value = E::template store<Lane>(a[i]);
        std::memcpy(data + (addresses[i] + shift) * static_cast<int64_t>(sizeof(value)), &value, sizeof(value));
    }
}
template <typename E, typename Lane>
void store_contiguous(std::byte* data, int64_t first, const void* lanes, int64_t count) {
    auto* a = static_cast<const Lane*>(lanes);
    for (int64_t i = 0; i < count; i++) {
        auto value = E::template store<Lane>(a[i]);
        std::memcpy(data + (first + i) * static_cast<int64_t>(sizeof(value)), &value, sizeof(value));
    }
}

// Calls `use` with the element and the lane type. Integers are loaded to int64 lanes, floats to either float lane.
template <typename Use>
auto with_types(DType stored, LaneType lanes, Use use) {
    auto of_float = [&](auto element) {
        return lanes == LaneType::real ? use(element, double{}) : use(element, float{});
    };
    switch (stored) {
    case DType::boolean:
    case DType::uint8: return use(Plain<uint8_t>{}, int64_t{});
    case DType::int8: return use(Plain<int8_t>{}, int64_t{});
    case DType::int16: return use(Plain<int16_t>{}, int64_t{});
    case DType::int32: return use(Plain<int32_t>{}, int64_t{});
    case DType::int64: return use(Plain<int64_t>{}, int64_t{});
    case DType::uint16: return use(Plain<uint16_t>{}, int64_t{});
    case DType::uint32: return use(Plain<uint32_t>{}, int64_t{});
    case DType::uint64: return use(Plain<uint64_t>{}, int64_t{});
    case DType::int4: return use(NarrowInteger<FourBits<DType::int4>>{}, int64_t{});
    case DType::uint4: return use(NarrowInteger<FourBits<DType::uint4>>{}, int64_t{});
    case DType::float16: return of_float(NarrowFloat<DType::float16, uint16_t>{});
    case DType::bfloat16: return of_float(NarrowFloat<DType::bfloat16, uint16_t>{});
    case DType::float8e4m3fn: return of_float(NarrowFloat<DType::float8e4m3fn, uint8_t>{});
    case DType::float8e4m3fnuz: return of_float(NarrowFloat<DType::float8e4m3fnuz, uint8_t>{});
    case DType::float8e5m2: return of_float(NarrowFloat<DType::float8e5m2, uint8_t>{});
    case DType::float8e5m2fnuz: return of_float(NarrowFloat<DType::float8e5m2fnuz, uint8_t>{});
    case DType::float32: return of_float(Plain<float>{});
    case DType::float64:
    case DType::complex64:
    case DType::complex128: break;  // bodies of complex numbers are taken apart before
    }
    return of_float(Plain<double>{});
}

}  // namespace

LoadKernels load_kernels(DType stored, LaneType lanes) {
    return with_types(stored, lanes, [](auto element, auto lane) {
        using E = decltype(element);
        using L = decltype(lane);
        return LoadKernels{&load_contiguous<E, L>, &load_uniform<E, L>, &load_gather<E, L>, &load_masked<E, L>,
                           std::is_same_v<E, Plain<L>>};
    });
}

StoreKernels store_kernels(DType stored, LaneType lanes) {
    return with_types(stored, lanes, [](auto element, auto lane) {
        using E = decltype(element);
        using L = decltype(lane);
        return StoreKernels{&scatter<E, L>, &store_contiguous<E, L>};
    });
}

void fill_lanes(void* result, LaneType lanes, const void* value, int64_t count) {
    if (lanes == LaneType::single) return fill<float>(result, value, count);
    if (lanes == LaneType::real) return fill<double>(result, value, count);
    fill<int64_t>(result, value, count);
}

void literal_value(DType dtype, LaneType lanes, int64_t integer, double real, void* value) {
    if (lanes == LaneType::integer) {
        std::memcpy(value, &integer, sizeof(integer));
        return;
    }
    // A literal is data: rounded to its type in exact arithmetic too.
    const double rounded = rounded_to(dtype, real);
    auto narrow = static_cast<float>(rounded);
    if (lanes == LaneType::real) {
        std::memcpy(value, &rounded, sizeof(rounded));
    } else {
        std::memcpy(value, &narrow, sizeof(narrow));
    }
}

}  // namespace heddle::evaluation
