// Which boxes of a program's tensors are at which places, and from where what a place reads comes.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "support/strong_id.h"
#include "zspace/box.h"

namespace heddle::sharding {

using PlaceId = StrongId<struct PlaceTag>;  // of those that run a program together, counted from zero

// A box of a tensor of the program. Its element x is element x - origin of `own`, a tensor of the place.
struct Piece {
    Box box;
    PlaceId place;
    TensorId own;
    Corner origin;
};

// How a tensor lies over places: boxes of it, each at one.
using Spread = std::vector<std::pair<PlaceId, Box>>;

class Pieces {
public:
    void add(TensorId tensor, Piece piece) { pieces_[tensor].push_back(std::move(piece)); }

    // In the order in which they were added.
    const std::vector<Piece>& all(TensorId tensor) const;
    // What the place has that holds the box; null: nothing does.
    const Piece* holding(TensorId tensor, const Box& box, PlaceId place) const;
    // That holds nothing but the box.
    const Piece* exactly(TensorId tensor, const Box& box, PlaceId place) const;

    // Pieces, and which part of each, that make the box up: of what the place has first, then of those whose numbers differ in
    // the lowest binary digits: of copies along a dimension of a mesh each serves its own coordinate, none serves all. In
    // which order pieces were added makes no difference. An empty box is a part of one piece.
    std::vector<std::pair<Piece, Box>> sources(TensorId tensor, const Box& box, PlaceId place) const;

private:
    std::map<TensorId, std::vector<Piece>> pieces_;
};

}  // namespace heddle::sharding
