#include "transport/memory.h"

#include <algorithm>
#include <cstring>

#include "transport/base.h"

namespace heddle::transport {

Memory::Memory(Parts parts) : bytes_(bytes_of(parts)) {
    std::ranges::copy_if(parts, std::back_inserter(parts_), [](std::span<std::byte> each) { return !each.empty(); });
}

size_t Memory::next(size_t most, std::vector<std::span<std::byte>>& list, size_t most_parts) const {
    size_t taken = 0;
    for (size_t i = part_; i < parts_.size() && taken < most && list.size() < most_parts; i++) {
        const std::span<std::byte> rest = parts_[i].subspan(i == part_ ? in_part_ : 0);
        list.push_back(rest.first(std::min(rest.size(), most - taken)));
        taken += list.back().size();
    }
    return taken;
}

void Memory::advance(size_t count) {
    done_ += static_cast<int64_t>(count);
    in_part_ += count;
    while (part_ < parts_.size() && in_part_ >= parts_[part_].size()) in_part_ -= parts_[part_++].size();
}

void Memory::take(std::span<const std::byte> from) {
    while (!from.empty()) {
        std::vector<std::span<std::byte>> list;
        const size_t count = next(from.size(), list);
        for (std::span<std::byte> part : list) {
            std::memcpy(part.data(), from.data(), part.size());
            from = from.subspan(part.size());
        }
        advance(count);
    }
}

}  // namespace heddle::transport
