#include "support/npz.h"

#include <array>
#include <cstdint>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "support/file.h"
#include "support/npy.h"

namespace heddle {
namespace {

// ISO 3309's, reflected.
uint32_t checksum(std::string_view bytes) {
    static const std::array<uint32_t, 256> table = [] {
        std::array<uint32_t, 256> made{};
        for (uint32_t i = 0; i < made.size(); i++) {
            made[i] = i;
            for (int bit = 0; bit < 8; bit++) made[i] = made[i] >> 1 ^ (made[i] & 1 ? 0xEDB88320u : 0);
        }
        return made;
    }();
    uint32_t sum = 0xFFFFFFFFu;
    for (char byte : bytes) sum = sum >> 8 ^ table[(sum ^ static_cast<uint8_t>(byte)) & 0xFF];
    return ~sum;
}

// Little-endian numbers.
class Record {
public:
    Record& two(uint64_t number) { return bytes(number, 2); }
    Record& four(uint64_t number) { return bytes(number, 4); }
    Record& eight(uint64_t number) { return bytes(number, 8); }
    Record& text(std::string_view text) {
        text_ += text;
        return *this;
    }
    const std::string& str() const { return text_; }

private:
    Record& bytes(uint64_t number, int count) {
        for (int i = 0; i < count; i++) text_ += static_cast<char>(number >> 8 * i);
        return *this;
    }
    std::string text_;
};

constexpr uint64_t version = 45;  // of readers that know zip64
constexpr uint64_t names_in_utf8 = 1 << 11;
constexpr uint64_t oldest_day = 1 << 5 | 1;  // 1 January 1980
constexpr uint64_t elsewhere = 0xFFFFFFFF;   // in a field of zip64
constexpr uint64_t zip64_field = 1;

struct Member {
    std::string name;
    uint32_t sum = 0;
    uint64_t size = 0, offset = 0;
};

// What is alike in a member's header and in the directory.
void add_description(Record& record, const Member& member, uint64_t extra) {
    record.two(version).two(names_in_utf8).two(0).two(0).two(oldest_day).four(member.sum);
    record.four(elsewhere).four(elsewhere).two(member.name.size()).two(extra);
}

std::string header_of(const Member& member) {
    Record record;
    record.four(0x04034b50);
    add_description(record, member, 20);
    record.text(member.name).two(zip64_field).two(16).eight(member.size).eight(member.size);
    return record.str();
}

std::string entry_of(const Member& member) {
    Record record;
    record.four(0x02014b50).two(version);
    add_description(record, member, 28);
    record.two(0).two(0).two(0).four(0).four(elsewhere).text(member.name);
    record.two(zip64_field).two(24).eight(member.size).eight(member.size).eight(member.offset);
    return record.str();
}

std::string end_of(uint64_t members, uint64_t directory, uint64_t size) {
    Record record;
    record.four(0x06064b50).eight(44).two(version).two(version).four(0).four(0);
    record.eight(members).eight(members).eight(size).eight(directory);
    record.four(0x07064b50).four(0).eight(directory + size).four(1);
    record.four(0x06054b50).two(0).two(0).two(0xFFFF).two(0xFFFF).four(elsewhere).four(elsewhere).two(0);
    return record.str();
}

constexpr size_t longest_name = 60000;  // a length has 16 bits

// Parts between slashes; none of them is empty or leads upwards.
std::string harmless(std::string_view name) {
    std::string result;
    for (size_t begin = 0; begin <= name.size() && result.size() < longest_name;) {
        const size_t end = std::min(name.find('/', begin), name.size());
        const std::string_view part = name.substr(begin, end - begin);
        if (!result.empty()) result += '/';
        result += part.empty() ? "_" : part == "." || part == ".." ? "__" : part;
        begin = end + 1;
    }
    return result.substr(0, longest_name);
}

}  // namespace

std::string npz_bytes(const std::vector<std::pair<std::string, const TensorData*>>& tensors) {
    std::string text, directory;
    std::set<std::string> names;
    for (const auto& [name, tensor] : tensors) {
        const std::string data = npy_bytes(*tensor), base = harmless(name);
        std::string unique = base;
        for (int number = 2; !names.insert(unique).second; number++) unique = fmt::format("{}_{}", base, number);
        const Member member{unique + ".npy", checksum(data), data.size(), text.size()};
        text += header_of(member);
        text += data;
        directory += entry_of(member);
    }
    const uint64_t begin = text.size();
    text += directory;
    text += end_of(tensors.size(), begin, directory.size());
    return text;
}

Result<void> write_npz(const std::string& path, const std::vector<std::pair<std::string, const TensorData*>>& tensors) {
    return write_file(path, npz_bytes(tensors));
}

}  // namespace heddle
