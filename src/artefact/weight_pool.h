// The bytes that a program's runs read beside its inputs: equal contents lie there once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heddle::artefact {

class WeightPool {
public:
    // Where they begin in the pool: a multiple of 64. `owner` keeps the bytes.
    int64_t add(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

    bool empty() const { return pieces_.empty(); }
    // Of all, with 64 readable bytes behind the last; a multiple of 64.
    int64_t bytes() const { return end_ + 64; }
    // Tells the bytes in order, with zeros between.
    template <typename Write>
    void write(Write&& write) const {
        int64_t at = 0;
        static constexpr std::byte zeros[64] = {};
        for (const Piece& piece : pieces_) {
            if (piece.begin > at) write(std::span(zeros, static_cast<size_t>(piece.begin - at)));
            write(piece.bytes);
            at = piece.begin + static_cast<int64_t>(piece.bytes.size());
        }
        if (end_ > at) write(std::span(zeros, static_cast<size_t>(end_ - at)));
        write(std::span<const std::byte>(zeros));
    }

private:
    struct Piece {
        int64_t begin = 0;
        std::span<const std::byte> bytes;
        std::shared_ptr<const void> owner;
    };
    std::vector<Piece> pieces_;
    std::map<std::pair<const std::byte*, size_t>, int64_t> by_address_;
    std::map<std::string, int64_t> by_contents_;  // by digest
    int64_t end_ = 0;
};

}  // namespace heddle::artefact
