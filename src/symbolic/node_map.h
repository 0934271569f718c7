// What is known of some nodes of a body. Mostly a few of few: one block holds the first values, and the table of their
// places grows with them, never with the body.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "graph/body.h"
#include "support/inline_vector.h"

namespace heddle {

// References to values are valid as long as the map is.
template <typename Value>
class NodeMap {
public:
    const Value* find(NodeId id) const {
        if (places_.empty()) return nullptr;
        for (size_t at = start(id);; at = (at + 1) & (places_.size() - 1)) {
            if (places_[at].value < 0) return nullptr;
            if (places_[at].id == id) return &value(places_[at].value);
        }
    }
    // `id` is not there yet.
    const Value& insert(NodeId id, Value added) {
        if (2 * (size_ + 1) > places_.size()) grow();
        if (size_ == blocks_.size() * block_size) blocks_.push_back(std::make_unique<Block>());
        auto number = static_cast<int32_t>(size_++);
        put({id, number});
        return (*blocks_[static_cast<size_t>(number) / block_size])[static_cast<size_t>(number) % block_size] =
                   std::move(added);
    }

private:
    static constexpr size_t block_size = 4;  // so that blocks are small to the allocator
    using Block = std::array<Value, block_size>;
    struct Entry {
        NodeId id = no_id;
        int32_t value = -1;  // its number; -1: nothing here
    };

    size_t start(NodeId id) const { return (static_cast<uint32_t>(id) * 0x9e3779b1u >> 7) & (places_.size() - 1); }
    const Value& value(int32_t number) const {
        return (*blocks_[static_cast<size_t>(number) / block_size])[static_cast<size_t>(number) % block_size];
    }
    void put(Entry entry) {
        size_t at = start(entry.id);
        while (places_[at].value >= 0) at = (at + 1) & (places_.size() - 1);
        places_[at] = entry;
    }
    void grow() {
        InlineVector<Entry, 32> before = std::move(places_);
        places_.assign(before.empty() ? 32 : 2 * before.size(), {});
        for (const Entry& entry : before)
            if (entry.value >= 0) put(entry);
    }

    InlineVector<Entry, 32> places_;  // a power of two of them, at most half in use
    std::vector<std::unique_ptr<Block>> blocks_;
    size_t size_ = 0;
};

}  // namespace heddle
