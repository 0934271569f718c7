#include "sharding/pieces.h"

#include <algorithm>
#include <iterator>

namespace heddle::sharding {

const std::vector<Piece>& Pieces::all(TensorId tensor) const {
    static const std::vector<Piece> none;
    const auto known = pieces_.find(tensor);
    return known == pieces_.end() ? none : known->second;
}

const Piece* Pieces::holding(TensorId tensor, const Box& box, PlaceId place) const {
    const auto known = pieces_.find(tensor);
    if (known == pieces_.end()) return nullptr;
    const auto piece = std::ranges::find_if(
        known->second, [&](const Piece& own) { return own.place == place && contains(own.box, box); });
    return piece == known->second.end() ? nullptr : &*piece;
}

const Piece* Pieces::exactly(TensorId tensor, const Box& box, PlaceId place) const {
    const auto known = pieces_.find(tensor);
    if (known == pieces_.end()) return nullptr;
    const auto piece = std::ranges::find_if(known->second, [&](const Piece& own) {
        return own.place == place && own.box == box && own.origin == box.start;
    });
    return piece == known->second.end() ? nullptr : &*piece;
}

std::vector<std::pair<Piece, Box>> Pieces::sources(TensorId tensor, const Box& box, PlaceId place) const {
    const auto known = pieces_.find(tensor);
    if (known == pieces_.end()) return {};
    std::vector<const Piece*> near;
    for (const Piece& piece : known->second) near.push_back(&piece);
    std::ranges::stable_sort(near, {}, [&](const Piece* piece) { return piece->place.number() ^ place.number(); });
    if (box.is_empty()) return {{*near.front(), box}};
    std::vector<std::pair<Piece, Box>> parts;
    std::vector<Box> missing = {box};
    for (const Piece* piece : near) {
        if (std::ranges::none_of(missing, [&](const Box& wanted) { return overlap(piece->box, wanted); })) continue;
        std::vector<Box> left;
        for (const Box& wanted : missing) {
            const Box common = intersection(piece->box, wanted);
            if (common.is_empty()) {
                left.push_back(wanted);
                continue;
            }
            parts.emplace_back(*piece, common);
            std::ranges::move(difference(wanted, common), std::back_inserter(left));
        }
        missing = std::move(left);
        if (missing.empty()) break;
    }
    return parts;
}

}  // namespace heddle::sharding
