// The protobuf wire format, as far as ONNX files use it: bounds-checked, without copies, without a schema compiler.
// Format: https://protobuf.dev/programming-guides/encoding
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle::onnx {

using Bytes = std::span<const std::byte>;

// One field of a message. Exactly one of the values is meant, by `type`.
struct Field {
    enum class Type : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
    uint32_t number = 0;
    Type type = Type::varint;
    uint64_t integer = 0;  // varint, fixed32 and fixed64
    Bytes bytes;

    int64_t as_signed() const { return static_cast<int64_t>(integer); }
    float as_float() const { return std::bit_cast<float>(static_cast<uint32_t>(integer)); }
    double as_double() const { return std::bit_cast<double>(integer); }
    // Bytes that are no UTF-8 are written as \xNN: names come from anybody, and go to JSON, to Python and to people.
    std::string as_text() const;
};

// Walks the fields of one message. After the last field, or at the first byte that is no field, `next` gives nothing;
// `failed` tells the two apart.
class Reader {
public:
    explicit Reader(Bytes message) : rest_(message) {}
    std::optional<Field> next();
    bool failed() const { return failed_; }

private:
    std::optional<uint64_t> varint();

    Bytes rest_;
    bool failed_ = false;
};

// A repeated number field, packed or one by one: adds what `field` holds. False if a packed run is cut short. Floating
// numbers are `bytes` of the field either way, as they lie in memory.
bool append_integers(const Field& field, std::vector<int64_t>& to);
bool append_floats(const Field& field, std::vector<float>& to);

}  // namespace heddle::onnx
