#include "support/spelling.h"

#include <cmath>

#include <fmt/format.h>

#include "support/tensor_data.h"

namespace heddle {
namespace {

int hexadecimal(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

}  // namespace

std::string in_quotes(std::string_view text) {
    std::string result = "'";
    for (char c : text) {
        result += c;
        if (c == '\'') result += c;
    }
    return result + "'";
}

std::string quoted_text(std::string_view text) {
    std::string plain;
    for (char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 32 || byte == 127 || c == '\\')
            plain += fmt::format("\\x{:02x}", byte);
        else
            plain += c;
    }
    return in_quotes(plain);
}

std::optional<std::string> without_escapes(std::string_view text) {
    std::string result;
    for (size_t at = 0; at < text.size(); at++) {
        if (text[at] != '\\') {
            result += text[at];
            continue;
        }
        const bool known = at + 3 < text.size() && text[at + 1] == 'x' && hexadecimal(text[at + 2]) >= 0 &&
                           hexadecimal(text[at + 3]) >= 0;
        if (!known) return std::nullopt;
        result += static_cast<char>(hexadecimal(text[at + 2]) * 16 + hexadecimal(text[at + 3]));
        at += 3;
    }
    return result;
}

std::string real_text(double value, DType dtype) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    const auto narrow = static_cast<float>(value);
    const bool short_digits = dtype == DType::float32 && static_cast<double>(narrow) == value;
    std::string text = short_digits ? fmt::format("{}", narrow) : fmt::format("{}", value);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

std::string digits_text(const Literal& literal) {
    if (is_float(literal.dtype)) return real_text(literal.real, literal.dtype);
    if (is_bool(literal.dtype)) return literal.integer != 0 ? "true" : "false";
    if (literal.dtype == DType::uint64) return fmt::format("{}", static_cast<uint64_t>(literal.integer));
    return fmt::format("{}", literal.integer);
}

std::string literal_text(const Literal& literal) {
    const bool plain =
        literal.dtype == DType::float32 || literal.dtype == DType::int64 || literal.dtype == DType::boolean;
    return plain ? digits_text(literal) : fmt::format("{}({})", name(literal.dtype), digits_text(literal));
}

std::string element_text(const TensorData& data, int64_t index) {
    const bool real = is_float(data.dtype());
    return digits_text(
        {.dtype = data.dtype(), .integer = real ? 0 : data.integer_at(index), .real = real ? data.real_at(index) : 0});
}

}  // namespace heddle
