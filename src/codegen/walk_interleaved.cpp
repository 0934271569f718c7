// Loads and stores of lanes that are a few elements apart: whole vectors of neighbours, permuted.
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "codegen/arithmetic.h"
#include "codegen/walker.h"

namespace heddle::codegen {

// Elements `first` .. `first + width - 1` of a block's, as one vector; behind `valid` there are none.
struct Walker::Piece {
    int first, width, valid;
};

struct Walker::Interleaved {
    CodeAddress first;  // of lane 0
    int step;
};

Walker::Interleaved Walker::interleaved(const Address& address, int i, int j) {
    const Lanewise lanes = lanewise(address.element, i, j, false);
    return {this->address(address.memory, lanes.first), static_cast<int>(lanes.strides[0].first)};
}

int Walker::lanes_of_widest(DType dtype) const {
    return code_.units() == Units::parts_of_floats ? std::max(width_, static_cast<int>(64 / bytes(dtype))) : width_;
}

// The lanes' elements in as few vectors as the machine has for them.
std::vector<Walker::Piece> Walker::pieces_of(DType dtype, int elements) const {
    const int width =
        std::min(lanes_of_widest(dtype), static_cast<int>(std::bit_ceil(static_cast<unsigned>(elements))));
    std::vector<Piece> pieces;
    for (int first = 0; first < elements; first += width)
        pieces.push_back({first, width, std::min(width, elements - first)});
    return pieces;
}

// Of the elements of a piece, those that lane_of(element) says an active lane for; nothing if all are.
template <typename LaneOf>
std::optional<CodeValue> Walker::mask_of(const Piece& piece, std::optional<CodeValue> active, LaneOf lane_of) {
    std::vector<int> lanes;
    bool all = !active && piece.valid == piece.width;
    for (int e = 0; e < piece.width; e++) {
        const int lane = e < piece.valid ? lane_of(piece.first + e) : -1;
        lanes.push_back(lane < 0 ? width_ : lane);
        all = all && lane >= 0;
    }
    if (all) return std::nullopt;
    const CodeValue yes = widened(code_, code_.integer(DType::boolean, 1), width_);
    const CodeValue no = widened(code_, code_.integer(DType::boolean, 0), width_);
    return code_.shuffle(active ? widened(code_, *active, width_) : yes, no, lanes);
}

// The first lanes of a vector; those that it does not have are of no value.
CodeValue Walker::first_of(CodeValue vector, int width) {
    if (vector.width == width) return vector;
    std::vector<int> lanes;
    for (int lane = 0; lane < width; lane++) lanes.push_back(std::min(lane, vector.width - 1));
    return code_.shuffle(vector, vector, lanes);
}

// Of the address, what is literal in it now.
int64_t Walker::literal_offset(const Affine& element) const {
    int64_t offset = element.constant.launch ? 0 : element.constant.value;
    for (const Term& term : element.terms) {
        const auto& constant = bindings_[static_cast<size_t>(term.variable)]->constant;
        if (constant && !term.number.launch) offset += *constant * term.scale * term.number.value;
    }
    return offset;
}

// The vectors begin where neighbours' do, which other loads want: then these are the same. Elements that no load is
// sure to read are not read.
CodeValue Walker::load_interleaved(ExpressionId id, int i, int j, std::optional<CodeValue> active) {
    const Address& address = tree_.expression(id).address;
    Interleaved place = interleaved(address, i, j);
    if (place.step < 0) return load_reversed(address, i, j, active);
    const int step = place.step;
    const Reach& reach = reaches_[static_cast<size_t>(id)];
    const bool whole = reach.last - reach.first >= step - 1;
    int own = 0;  // of a lane's neighbours, the one that is asked for
    if (whole) {
        const int64_t offset = literal_offset(address.element);
        const int64_t first = std::min(reach.first + (offset - reach.first) / step * step, reach.last - step + 1);
        own = static_cast<int>(offset - first);
    }
    place.first.offset -= own;
    place.first.may_be_far = !tree_.expression(id).operands.empty();
    const DType dtype = tree_.memory(address.memory).dtype;
    std::optional<CodeValue> result;
    for (const Piece& piece : pieces_of(dtype, step * width_)) {
        CodeAddress at = place.first;
        at.offset += piece.first;
        const auto lane_of = [&](int element) { return whole || element % step == 0 ? element / step : -1; };
        const CodeValue loaded = code_.load(at, piece.width, mask_of(piece, active, lane_of));
        // What lies in this piece; lanes of the pieces before keep what they have.
        std::vector<int> lanes;
        for (int lane = 0; lane < piece.width; lane++) {
            const int element = std::min(lane, width_ - 1) * step + own - piece.first;
            const bool here = element >= 0 && element < piece.width;
            lanes.push_back(here ? piece.width + element : lane);
        }
        result = code_.shuffle(result.value_or(loaded), loaded, lanes);
    }
    return first_of(*result, width_);
}

// One of four neighbours of each lane, which is a row of them: four rows' are transposed at a time, in each 128 bits.
// Neighbours share what comes before the last step. Nothing where no four neighbours are sure to be read.
std::optional<CodeValue> Walker::load_column(ExpressionId id, int i, int j) {
    constexpr int quad = 4;
    const Address& address = tree_.expression(id).address;
    const Reach reach = reaches_.empty() ? Reach{} : reaches_[static_cast<size_t>(id)];
    if (reach.last - reach.first < quad - 1 || width_ % quad != 0) return std::nullopt;
    if (bytes(tree_.memory(address.memory).dtype) != 4) return std::nullopt;
    const Interleaved place = interleaved(address, i, j);
    const int64_t offset = literal_offset(address.element);
    const int64_t first = std::min(reach.first + (offset - reach.first) / quad * quad, reach.last - quad + 1);
    // The neighbours of lanes k, 4 + k, 8 + k .. side by side.
    const auto rows = [&](int k) {
        std::vector<CodeValue> parts;
        for (int lane = k; lane < width_; lane += quad) {
            CodeAddress at = place.first;
            at.offset += lane * place.step + first - offset;
            parts.push_back(code_.load(at, quad, std::nullopt));
        }
        for (size_t count = parts.size(); count > 1; count /= 2) {
            std::vector<int> both(static_cast<size_t>(2 * parts[0].width));
            std::iota(both.begin(), both.end(), 0);
            for (size_t p = 0; p < count / 2; p++) parts[p] = code_.shuffle(parts[2 * p], parts[2 * p + 1], both);
        }
        return parts[0];
    };
    // In each 128 bits, the elements that `from` says of the two.
    const auto in_quads = [&](CodeValue a, CodeValue b, const std::array<int, quad>& from) {
        std::vector<int> lanes;
        for (int l = 0; l < width_; l++) {
            const int element = from[static_cast<size_t>(l % quad)];
            lanes.push_back(l / quad * quad + element % quad + (element < quad ? 0 : width_));
        }
        return code_.shuffle(a, b, lanes);
    };
    const int own = static_cast<int>(offset - first);
    const std::array<int, quad> halves = own < 2 ? std::array{0, 4, 1, 5} : std::array{2, 6, 3, 7};
    const std::array<int, quad> column = own % 2 == 0 ? std::array{0, 1, 4, 5} : std::array{2, 3, 6, 7};
    return in_quads(in_quads(rows(0), rows(1), halves), in_quads(rows(2), rows(3), halves), column);
}

CodeValue Walker::load_reversed(const Address& address, int i, int j, std::optional<CodeValue> active) {
    CodeAddress at = interleaved(address, i, j).first;
    at.offset -= width_ - 1;
    std::vector<int> lanes;
    for (int lane = 0; lane < width_; lane++) lanes.push_back(width_ - 1 - lane);
    const auto lane_of = [&](int element) { return width_ - 1 - element; };
    const CodeValue loaded = code_.load(at, width_, mask_of({0, width_, width_}, active, lane_of));
    return code_.shuffle(loaded, loaded, lanes);
}

// One value has each step-th element of as many as a step is long; as many values as that fill them.
void Walker::store_interleaved(const Address& address, const std::vector<CodeValue>& values, int i, int j,
                               std::optional<CodeValue> active) {
    const Interleaved place = interleaved(address, i, j);
    if (place.step < 0) return store_reversed(address, values[0], i, j, active);
    const int step = place.step, filled_by = static_cast<int>(values.size());
    for (const Piece& piece : pieces_of(tree_.memory(address.memory).dtype, step * width_)) {
        CodeAddress at = place.first;
        at.offset += piece.first;
        const auto lane_of = [&](int element) { return element % step < filled_by ? element / step : -1; };
        std::vector<int> lanes;
        for (int e = 0; e < piece.width; e++) lanes.push_back(std::min((piece.first + e) / step, width_ - 1));
        CodeValue filled = values[0];
        for (int k = 1; k < filled_by; k++) {
            const CodeValue next = values[static_cast<size_t>(k)];
            std::vector<int> taken;  // of what is filled, and of the next value
            for (int e = 0; e < piece.width; e++) {
                const int lane = lanes[static_cast<size_t>(e)];
                const bool is_next = (piece.first + e) % step == k;
                taken.push_back(is_next ? filled.width + lane : k == 1 ? lane : e);
            }
            filled = code_.shuffle(filled, k == 1 ? next : first_of(next, piece.width), taken);
        }
        if (filled_by == 1) filled = code_.shuffle(filled, filled, lanes);
        code_.store(at, filled, mask_of(piece, active, lane_of), false);
    }
}

void Walker::store_reversed(const Address& address, CodeValue value, int i, int j, std::optional<CodeValue> active) {
    CodeAddress at = interleaved(address, i, j).first;
    at.offset -= width_ - 1;
    std::vector<int> lanes;
    for (int lane = 0; lane < width_; lane++) lanes.push_back(width_ - 1 - lane);
    const auto lane_of = [&](int element) { return width_ - 1 - element; };
    code_.store(at, code_.shuffle(value, value, lanes), mask_of({0, width_, width_}, active, lane_of), false);
}

}  // namespace heddle::codegen
