// How texts and numbers are written in every text form (bodies, systems, kernels, trees, plans). What is written so,
// support/text_reader.h reads back to the same value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "support/dtype.h"

namespace heddle {

class TensorData;

// Between single quotes, the quote itself twice: as templates have it.
std::string in_quotes(std::string_view text);
// Any bytes so, backslashes and control bytes as \xHH.
std::string quoted_text(std::string_view text);
// What stands between the quotes of such a text, its quotes already single, to the bytes; nothing if it has a backslash
// of another kind.
std::optional<std::string> without_escapes(std::string_view text);

// The shortest digits that read back as the same `dtype`, with a point or an exponent; inf, -inf, nan.
std::string real_text(double value, DType dtype);

// A number of any type but complex ones.
struct Literal {
    DType dtype = DType::int64;
    int64_t integer = 0;  // of all types but floats; of uint64 the bits, of bool 0 or 1
    double real = 0;      // of floats
};
// Without its type: 3, 0.5, -inf, true.
std::string digits_text(const Literal& literal);
// An int64, a float32 and a bool as their digits, any other type as uint8(3), float16(0.5).
std::string literal_text(const Literal& literal);
// The digits of one element.
std::string element_text(const TensorData& data, int64_t index);

}  // namespace heddle
