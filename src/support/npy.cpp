#include "support/npy.h"

#include <cctype>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/file.h"

namespace heddle {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr size_t maximum_header = size_t{1} << 20;
constexpr size_t maximum_rank = 64;

Diagnostic malformed(const char* code, std::string summary, const std::string& name, std::string expected = {},
                     std::string found = {}) {
    Diagnostic diagnostic;
    diagnostic.code = code;
    diagnostic.summary = fmt::format("'{}': {}", name, summary);
    diagnostic.expected = std::move(expected);
    diagnostic.found = std::move(found);
    diagnostic.params.emplace_back("path", name);
    return diagnostic;
}

struct Header {
    std::string descriptor;
    bool fortran_order = false;
    std::vector<int64_t> shape;
};

// The header is a Python dictionary of three literal entries, in any order:
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
public:
    explicit HeaderParser(std::string_view text) : text_(text) {}

    std::optional<Header> run() {
        Header header;
        int seen = 0;
        if (!take('{')) return std::nullopt;
        while (!take('}')) {
            auto key = quoted();
            if (!key || !take(':') || !entry(*key, header, seen)) return std::nullopt;
            if (!take(',') && peek() != '}') return std::nullopt;
        }
        skip();
        return seen == 7 && position_ == text_.size() ? std::optional(header) : std::nullopt;
    }

private:
    void skip() {
        while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_]))) position_++;
    }
    char peek() {
        skip();
        return position_ < text_.size() ? text_[position_] : '\0';
    }
    bool take(char c) {
        if (peek() != c) return false;
        position_++;
        return true;
    }
    std::optional<std::string> quoted() {
        char quote = peek();
        if (quote != '\'' && quote != '"') return std::nullopt;
        size_t end = text_.find(quote, position_ + 1);
        if (end == std::string_view::npos) return std::nullopt;
        std::string value(text_.substr(position_ + 1, end - position_ - 1));
        position_ = end + 1;
        return value;
    }
    bool word(std::string_view expected) {
        skip();
        if (!text_.substr(position_).starts_with(expected)) return false;
        position_ += expected.size();
        return true;
    }
    std::optional<int64_t> number() {
        if (!std::isdigit(static_cast<unsigned char>(peek()))) return std::nullopt;
        int64_t value = 0;
        for (; position_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[position_])); position_++) {
            if (value > (INT64_MAX - 9) / 10) return std::nullopt;
            value = value * 10 + (text_[position_] - '0');
        }
        return value;
    }
    bool shape(std::vector<int64_t>& shape) {
        if (!take('(')) return false;
        while (!take(')')) {
            auto extent = number();
            if (!extent || shape.size() == maximum_rank) return false;
            shape.push_back(*extent);
            if (!take(',') && peek() != ')') return false;
        }
        return true;
    }
    // Each key once; `seen` has a bit for each.
    bool entry(const std::string& key, Header& header, int& seen) {
        int bit = key == "descr" ? 1 : key == "fortran_order" ? 2 : key == "shape" ? 4 : 0;
        if (bit == 0 || (seen & bit) != 0) return false;
        seen |= bit;
        if (bit == 4) return shape(header.shape);
        if (bit == 1) {
            auto value = quoted();
            if (value) header.descriptor = *value;
            return value.has_value();
        }
        header.fortran_order = word("True");
        return header.fortran_order || word("False");
    }

    std::string_view text_;
    size_t position_ = 0;
};

std::optional<DType> dtype_of(std::string descriptor) {
    if (descriptor.empty()) return std::nullopt;
    if (descriptor[0] == '=') descriptor[0] = '<';  // "native", which is little-endian wherever we run
    for (const DTypeInfo& row : all_dtypes()) {
        if (row.npy_name.empty()) continue;
        bool one_byte = row.bits == 8 && (descriptor[0] == '<' || descriptor[0] == '>') &&
                        descriptor.substr(1) == row.npy_name.substr(1);
        if (descriptor == row.npy_name || one_byte) return row.dtype;
    }
    return std::nullopt;
}

// Bytes of the elements, if their number and size are representable.
std::optional<size_t> payload(const Header& header, DType dtype) {
    int64_t size = bytes(dtype);
    bool empty = false;
    for (int64_t extent : header.shape) {
        empty = empty || extent == 0;
        if (extent != 0 && __builtin_mul_overflow(size, extent, &size)) return std::nullopt;
    }
    return empty ? 0 : static_cast<size_t>(size);
}

}  // namespace

Result<TensorData> parse_npy(std::span<const std::byte> bytes, const std::string& name) {
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.size() < 10 || !text.starts_with(magic))
        return fail(malformed("support.npy_format", "this is not a .npy file", name));
    auto byte = [&](size_t index) { return static_cast<size_t>(static_cast<unsigned char>(text[index])); };
    size_t version = byte(6), length = byte(8) | byte(9) << 8, begin = 10;
    if (version != 1 && version != 2) {
        return fail(
            malformed("support.npy_format", "unknown version of the format", name, "1 or 2", std::to_string(version)));
    }
    if (version == 2) {
        if (text.size() < 12) return fail(malformed("support.npy_format", "the header is cut short", name));
        length |= byte(10) << 16 | byte(11) << 24;
        begin = 12;
    }
    if (length > maximum_header || length > text.size() - begin)
        return fail(malformed("support.npy_format", "the header is cut short or too long", name));
    auto header = HeaderParser(text.substr(begin, length)).run();
    if (!header)
        return fail(malformed("support.npy_format", "the header is malformed", name,
                              "{'descr': ..., 'fortran_order': ..., 'shape': (...)}"));
    auto dtype = dtype_of(header->descriptor);
    if (!dtype) {
        Diagnostic diagnostic = malformed("support.npy_dtype", "elements of this type are not supported", name,
                                          "little-endian numbers or bool", header->descriptor);
        if (header->descriptor.find('V') != std::string::npos)
            diagnostic.remedy = "save it as a number's type, or as ONNX's TensorProto, which says what the bytes are";
        return fail(std::move(diagnostic));
    }
    if (header->fortran_order && header->shape.size() > 1) {
        Diagnostic diagnostic = malformed("support.npy_order", "the array is in Fortran order", name);
        diagnostic.remedy = "save numpy.ascontiguousarray(array)";
        return fail(std::move(diagnostic));
    }
    auto size = payload(*header, *dtype);
    size_t available = text.size() - begin - length;
    if (!size || *size > available) {
        return fail(malformed("support.npy_size", "the file ends before its elements do", name,
                              size ? fmt::format("{} bytes", *size)
                                   : fmt::format("an array of shape ({})", fmt::join(header->shape, ", ")),
                              fmt::format("{} bytes", available)));
    }
    TensorData data(*dtype, header->shape);
    if (*size > 0) std::memcpy(data.mutable_data(), bytes.data() + begin + length, *size);
    return data;
}

Result<TensorData> read_npy(const std::string& path) {
    auto file = map_file(path);
    if (!file) return fail(std::move(file.error()));
    return parse_npy(file->bytes, path);
}

std::string npy_bytes(const TensorData& data) {
    std::string descriptor(info(data.dtype()).npy_name);
    if (descriptor.empty()) descriptor = fmt::format("<V{}", heddle::bytes(data.dtype()));
    std::string shape = fmt::format("{}{}", fmt::join(data.shape(), ", "), data.shape().size() == 1 ? "," : "");
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descriptor, shape);
    // Padded so that the elements start at a multiple of 64.
    size_t length = (10 + header.size() + 1 + 63) / 64 * 64 - 10;
    header.resize(length - 1, ' ');
    header += '\n';
    std::string text(magic);
    text += {'\1', '\0', static_cast<char>(length & 0xFF), static_cast<char>(length >> 8)};
    text += header;
    text.append(reinterpret_cast<const char*>(data.data()), static_cast<size_t>(data.byte_size()));
    return text;
}

Result<void> write_npy(const std::string& path, const TensorData& data) { return write_file(path, npy_bytes(data)); }

}  // namespace heddle
