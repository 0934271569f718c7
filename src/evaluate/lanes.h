// Lanes: the values of one node for a block of points, and the kernels that work on them.
//
// All integers and bools are int64 lanes (uint64 as its bits), a float is a float or a double. A kernel computes
// `count` lanes; its loops hold no decision, so that the compiler turns them into vector code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "expr/scalar_op.h"
#include "support/dtype.h"

namespace heddle::evaluation {

inline constexpr int64_t lane_count = 256;
inline constexpr size_t slot_bytes = lane_count * 8;

enum class LaneType : uint8_t { integer, single, real };

// With `exact`, every float is a double.
inline LaneType lane_type(DType dtype, bool exact) {
    if (!is_float(dtype)) return LaneType::integer;
    return exact || dtype == DType::float64 ? LaneType::real : LaneType::single;
}

using Kernel = void (*)(void* result, const void* const* operands, int64_t count);

// ScalarOp on operands of `dtype`. Never null for operations and types that the verifier accepts. Results of narrow
// integers are not wrapped yet.
Kernel scalar_kernel(ScalarOp op, DType dtype, LaneType lanes);
// Wraps int64 lanes to a narrower integer type; null where nothing is to be done.
Kernel wrap_kernel(DType dtype);
Kernel cast_kernel(DType from, LaneType from_lanes, DType to, LaneType to_lanes);
Kernel select_kernel(LaneType lanes);  // condition, then, else

// Fills lanes from one value of the lane type.
void fill_lanes(void* result, LaneType lanes, const void* value, int64_t count);
// The value of a literal in lanes of its type.
void literal_value(DType dtype, LaneType lanes, int64_t integer, double real, void* value);

// Reductions: accumulate[i] = combine(accumulate[i], term[i]) where filter[i] (null: everywhere).
using Accumulate = void (*)(void* accumulator, const void* term, const int64_t* filter, int64_t count);
Accumulate accumulate_kernel(Reducer reducer, DType term, LaneType lanes);
void neutral_value(Reducer reducer, DType term, LaneType lanes, void* value);

// argmin and argmax: best[i] and index[i] (-1: no term yet); the position of lane i is position + step * i.
using AccumulateArgument = void (*)(void* best, int64_t* index, const void* term, const int64_t* filter,
                                    int64_t position, int64_t step, int64_t count);
AccumulateArgument argument_kernel(Reducer reducer, DType term, LaneType lanes);

// Elements of tensors to lanes. `shift` is added to each address, which counts elements.
struct LoadKernels {
    void (*contiguous)(void* result, const std::byte* data, int64_t first, int64_t count);
    void (*uniform)(void* result, const std::byte* data, int64_t address, int64_t count);
    void (*gather)(void* result, const std::byte* data, const int64_t* addresses, int64_t shift, int64_t count);
    // Where mask is zero: `otherwise`, or zero if that is null; nothing is read there.
    void (*masked)(void* result, const std::byte* data, const int64_t* addresses, int64_t shift, const uint8_t* mask,
                   const void* otherwise, int64_t count);
    bool direct = false;  // stored as in lanes: contiguous elements may be used where they are, if aligned
};
LoadKernels load_kernels(DType stored, LaneType lanes);
// Lanes to elements, rounding or wrapping as a cast to the stored type does.
struct StoreKernels {
    void (*scatter)(std::byte* data, const int64_t* addresses, int64_t shift, const void* lanes, int64_t count);
    void (*contiguous)(std::byte* data, int64_t first, const void* lanes, int64_t count);
};
StoreKernels store_kernels(DType stored, LaneType lanes);

}  // namespace heddle::evaluation
