// Reading .npz files: the directory of a zip, whose members are .npy files that are not compressed.
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "support/file.h"
#include "support/npy.h"
#include "support/npz.h"

namespace heddle {
namespace {

constexpr uint64_t elsewhere_16 = 0xFFFF, elsewhere_32 = 0xFFFFFFFF;  // the number is in a field of zip64

struct DirectoryEntry {
    std::string name;
    uint64_t method = 0, size = 0, offset = 0, next = 0;
};

class NpzReader {
public:
    NpzReader(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), path_(path) {}

    Result<std::map<std::string, TensorData>> read() const {
        const auto end = end_of_directory();
        if (!end) return wrong("this is not a .npz file", "save it by numpy.savez");
        const auto [count, begin] = *end;
        std::map<std::string, TensorData> arrays;
        uint64_t at = begin;
        for (uint64_t i = 0; i < count; i++) {
            const auto entry = entry_at(at);
            if (!entry) return wrong("the file's directory is broken", "save or fetch the file again");
            at = entry->next;
            auto array = array_of(*entry);
            if (!array) return fail(std::move(array.error()));
            arrays.insert_or_assign(stem_of(entry->name), std::move(*array));
        }
        return arrays;
    }

private:
    struct Directory {
        uint64_t count, begin;
    };

    static std::string stem_of(const std::string& name) {
        return name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name;
    }

    std::unexpected<Diagnostics> wrong(std::string summary, std::string remedy, const std::string& member = {}) const {
        return fail({.code = "support.npz_format",
                     .summary = fmt::format("'{}': {}", path_, summary),
                     .found = member,
                     .remedy = std::move(remedy),
                     .params = {{"path", path_}}});
    }

    // Little-endian; nothing beyond the end.
    std::optional<uint64_t> number(uint64_t at, int count) const {
        if (at > bytes_.size() || bytes_.size() - at < static_cast<uint64_t>(count)) return std::nullopt;
        uint64_t value = 0;
        for (int i = count; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes_[at + i]);
        return value;
    }
    bool is_signed(uint64_t at, uint64_t signature) const { return number(at, 4) == signature; }

    // Its record is the last one; behind it a comment of up to 64 KB may stand.
    std::optional<Directory> end_of_directory() const {
        constexpr uint64_t record = 22, longest_comment = 0xFFFF;
        if (bytes_.size() < record) return std::nullopt;
        const uint64_t last = bytes_.size() - record;
        for (uint64_t back = 0; back <= std::min(last, longest_comment); back++) {
            const uint64_t at = last - back;
            if (!is_signed(at, 0x06054b50)) continue;
            const uint64_t count = *number(at + 10, 2), begin = *number(at + 16, 4);
            if (count != elsewhere_16 && begin != elsewhere_32) return Directory{count, begin};
            const auto far = at >= 20 && is_signed(at - 20, 0x07064b50) ? number(at - 12, 8) : std::nullopt;
            if (!far || !is_signed(*far, 0x06064b50)) return std::nullopt;
            const auto far_count = number(*far + 32, 8), far_begin = number(*far + 48, 8);
            if (!far_count || !far_begin) return std::nullopt;
            return Directory{*far_count, *far_begin};
        }
        return std::nullopt;
    }

    std::optional<DirectoryEntry> entry_at(uint64_t at) const {
        constexpr uint64_t fixed = 46;
        if (!is_signed(at, 0x02014b50) || !number(at, fixed - 8) || bytes_.size() - at < fixed) return std::nullopt;
        const uint64_t name = *number(at + 28, 2), extra = *number(at + 30, 2), comment = *number(at + 32, 2);
        DirectoryEntry entry{.method = *number(at + 10, 2), .size = *number(at + 24, 4), .offset = *number(at + 42, 4)};
        entry.next = at + fixed + name + extra + comment;
        if (entry.next > bytes_.size()) return std::nullopt;
        entry.name.assign(reinterpret_cast<const char*>(bytes_.data()) + at + fixed, name);
        uint64_t packed = *number(at + 20, 4);
        for (uint64_t field = at + fixed + name, end = field + extra; field + 4 <= end;) {
            const uint64_t id = *number(field, 2), length = *number(field + 2, 2);
            uint64_t part = field + 4;
            for (uint64_t* value : {&entry.size, &packed, &entry.offset}) {
                if (id != 1 || *value != elsewhere_32) continue;
                const auto far = number(part, 8);
                if (!far) return std::nullopt;
                *value = *far;
                part += 8;
            }
            field += 4 + length;
        }
        return entry;
    }

    Result<TensorData> array_of(const DirectoryEntry& entry) const {
        if (entry.method != 0) return wrong("its arrays are compressed", "save it by numpy.savez", entry.name);
        const auto name = number(entry.offset + 26, 2), extra = number(entry.offset + 28, 2);
        const uint64_t begin = entry.offset + 30 + name.value_or(0) + extra.value_or(0);
        if (!extra || !is_signed(entry.offset, 0x04034b50) || begin > bytes_.size() ||
            bytes_.size() - begin < entry.size)
            return wrong("the file ends before its arrays do", "save or fetch the file again", entry.name);
        return parse_npy(bytes_.subspan(begin, entry.size), fmt::format("{}:{}", path_, stem_of(entry.name)));
    }

    std::span<const std::byte> bytes_;
    const std::string& path_;
};

}  // namespace

Result<std::map<std::string, TensorData>> parse_npz(std::span<const std::byte> bytes, const std::string& path) {
    return NpzReader(bytes, path).read();
}

Result<std::map<std::string, TensorData>> read_npz(const std::string& path) {
    const auto file = map_file(path);
    if (!file) return fail(file.error());
    return parse_npz(file->bytes, path);
}

}  // namespace heddle
