// What made-up uses are made of: sizes, dtypes and values, the likely ones first.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "language/template.h"
#include "support/tensor_data.h"
#include "symbolic/environment.h"

namespace heddle::rewrite {

// Sizes in the order in which names ask for them. The first ten have none below 3.
inline constexpr std::array<std::array<int64_t, 7>, 14> schemes = {{{7, 6, 5, 4, 3, 8, 9},
                                                             {4, 4, 4, 4, 4, 4, 4},
                                                             {6, 6, 6, 6, 6, 6, 6},
                                                             {3, 4, 5, 6, 7, 8, 9},
                                                             {12, 12, 12, 12, 12, 12, 12},
                                                             {16, 8, 4, 16, 8, 4, 16},
                                                             {4, 8, 16, 4, 8, 16, 4},
                                                             {24, 12, 6, 3, 24, 12, 6},
                                                             {3, 6, 12, 24, 3, 6, 12},
                                                             {6, 12, 8, 4, 3, 5, 7},
                                                             {2, 2, 2, 2, 2, 2, 2},
                                                             {1, 1, 1, 1, 1, 1, 1},
                                                             {1, 3, 2, 1, 3, 2, 1},
                                                             {0, 0, 0, 0, 0, 0, 0}}};
inline constexpr size_t plain_schemes = 10;
inline constexpr std::array<uint8_t, 7> different_schemes = {0, 3, 5, 6, 7, 8, 9};

inline constexpr std::array usual_dtypes = {DType::float32,  DType::int32,  DType::int64, DType::complex64,  DType::boolean,
                                     DType::float64,  DType::uint8,  DType::float16, DType::complex128, DType::int8,
                                     DType::bfloat16, DType::uint32, DType::int16, DType::uint16,     DType::uint64};

// 0 .. count - 1.
std::vector<int64_t> counted(size_t count);
// Values of a parameter that is one number, bool, text or choice.
std::vector<StaticValue> scalars_of(const Template& metakernel, const ParameterType& type);
// Of lists, too. `shape`: of the first tensor.
std::vector<StaticValue> values_of(const Template& metakernel, const ParameterType& type,
                                   const std::vector<int64_t>& shape);
inline constexpr size_t most_candidates = 10;  // of a list of integers, whatever its tensor
// What an input holds whose value must be known; nothing where that is much.
std::optional<TensorData> value_for(const TensorType& type, size_t candidate, const std::vector<int64_t>& shape);
inline constexpr size_t value_candidates = 8, length_candidates = 4;

}  // namespace heddle::rewrite
