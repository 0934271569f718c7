// Numbers, texts and bytes one behind another, as files of the cache hold them.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::inference {

class ByteWriter {
public:
    void number(uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
    void text(std::string_view text) {
        number(text.size());
        bytes_.append(text);
    }
    void bytes(std::span<const std::byte> bytes) { text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}); }
    void numbers(const std::vector<int64_t>& values) {
        number(values.size());
        for (int64_t value : values) number(static_cast<uint64_t>(value));
    }
    void texts(const std::vector<std::string>& values) {
        number(values.size());
        for (const std::string& value : values) text(value);
    }
    std::string take() { return std::move(bytes_); }

private:
    std::string bytes_;
};

// Behind the end all is 0 or empty, and nothing is `fine` any more.
class ByteReader {
public:
    explicit ByteReader(std::span<const std::byte> bytes) : left_(bytes) {}

    uint64_t number() {
        uint64_t value = 0;
        const auto bytes = take(sizeof value);
        if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }
    std::span<const std::byte> bytes() { return take(number()); }
    std::string text() {
        const auto read = bytes();
        return {reinterpret_cast<const char*>(read.data()), read.size()};
    }
    std::vector<int64_t> numbers() {
        std::vector<int64_t> values;
        for (uint64_t count = number(); count > 0 && fine_; count--) values.push_back(static_cast<int64_t>(number()));
        return values;
    }
    std::vector<std::string> texts() {
        std::vector<std::string> values;
        for (uint64_t count = number(); count > 0 && fine_; count--) values.push_back(text());
        return values;
    }
    bool fine() const { return fine_; }
    bool at_end() const { return left_.empty(); }

private:
    std::span<const std::byte> take(uint64_t count) {
        fine_ = fine_ && count <= left_.size();
        if (!fine_) return {};
        const auto taken = left_.first(count);
        left_ = left_.subspan(count);
        return taken;
    }

    std::span<const std::byte> left_;
    bool fine_ = true;
};

}  // namespace heddle::inference
