#include "artefact/weight_pool.h"

#include "cache/hash.h"

namespace heddle::artefact {

int64_t WeightPool::add(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
    const auto address = std::make_pair(bytes.data(), bytes.size());
    if (const auto found = by_address_.find(address); found != by_address_.end()) return found->second;
    const auto [known, added] = by_contents_.try_emplace(cache::digest(bytes), end_);
    if (added) {
        pieces_.push_back({end_, bytes, std::move(owner)});
        by_address_.emplace(address, end_);
        end_ += (static_cast<int64_t>(bytes.size()) + 63) / 64 * 64;
    }
    return known->second;
}

}  // namespace heddle::artefact
