#include "frontends/onnx/wire.h"

#include "support/utf8.h"

namespace heddle::onnx {

std::string Field::as_text() const {
    return readable_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::optional<uint64_t> Reader::varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (rest_.empty()) break;
        uint64_t byte = static_cast<uint64_t>(rest_.front());
        rest_ = rest_.subspan(1);
        value |= (byte & 0x7F) << shift;
        if (byte < 0x80) return value;
    }
    failed_ = true;
    return std::nullopt;
}

std::optional<Field> Reader::next() {
    if (failed_ || rest_.empty()) return std::nullopt;
    auto key = varint();
    if (!key || (*key >> 3) == 0 || (*key >> 3) > 0x1FFFFFFF) {
        failed_ = true;
        return std::nullopt;
    }
    Field field;
    field.number = static_cast<uint32_t>(*key >> 3);
    field.type = static_cast<Field::Type>(*key & 7);
    size_t length = 0;
    switch (field.type) {
    case Field::Type::varint: {
        auto value = varint();
        if (!value) return std::nullopt;
        field.integer = *value;
        return field;
    }
    case Field::Type::fixed64: length = 8; break;
    case Field::Type::fixed32: length = 4; break;
    case Field::Type::bytes: {
        auto size = varint();
        if (!size) return std::nullopt;
        if (*size > rest_.size()) {
            failed_ = true;
            return std::nullopt;
        }
        length = static_cast<size_t>(*size);
        break;
    }
    default: failed_ = true; return std::nullopt;
    }
    if (length > rest_.size()) {
        failed_ = true;
        return std::nullopt;
    }
    field.bytes = rest_.first(length);
    rest_ = rest_.subspan(length);
    if (field.type != Field::Type::bytes) std::memcpy(&field.integer, field.bytes.data(), length);
    return field;
}

bool append_integers(const Field& field, std::vector<int64_t>& to) {
    if (field.type != Field::Type::bytes) {
        to.push_back(field.as_signed());
        return true;
    }
    // A packed run is a sequence of varints without keys.
    uint64_t value = 0;
    int shift = 0;
    for (std::byte b : field.bytes) {
        if (shift >= 64) return false;
        value |= (static_cast<uint64_t>(b) & 0x7F) << shift;
        shift += 7;
        if (static_cast<uint8_t>(b) < 0x80) {
            to.push_back(static_cast<int64_t>(value));
            value = 0;
            shift = 0;
        }
    }
    return shift == 0;
}

bool append_floats(const Field& field, std::vector<float>& to) {
    if (field.type == Field::Type::varint || field.bytes.size() % sizeof(float) != 0) return false;
    const size_t old = to.size();
    to.resize(old + field.bytes.size() / sizeof(float));
    if (!field.bytes.empty()) std::memcpy(to.data() + old, field.bytes.data(), field.bytes.size());
    return true;
}

}  // namespace heddle::onnx
