// From the lanes of accumulators to one value a row.
#include "codegen/arithmetic.h"
#include "codegen/walker.h"

namespace heddle::codegen {
namespace {

// A vector of accumulators and, of an argument reduction, that of their indices.
struct Part {
    CodeValue value, index;
};

class Fold {
public:
    Fold(Code& code, Reducer reducer) : code_(code), reducer_(reducer) {}

    Part merged(const Part& a, const Part& b) const {
        if (!is_argument(reducer_)) return {combine(code_, reducer_, a.value, b.value), {}};
        const CodeValue taken = is_better_or_first(code_, reducer_, a.value, a.index, b.value, b.index);
        return {code_.select(taken, b.value, a.value), code_.select(taken, b.index, a.index)};
    }

    Part vectors(std::vector<Part> parts) const {
        while (parts.size() > 1) {
            const size_t half = (parts.size() + 1) / 2;
            for (size_t q = 0; q + half < parts.size(); q++) parts[q] = merged(parts[q], parts[q + half]);
            parts.resize(half);
        }
        return parts[0];
    }

    CodeValue lanes(Part part) const {
        for (int width = part.value.width; width > 1; width /= 2) {
            std::vector<int> low, high;
            for (int l = 0; l < width / 2; l++) low.push_back(l), high.push_back(l + width / 2);
            part = merged(taken(part, part, low), taken(part, part, high));
        }
        return result(part, 0);
    }

    // Of each row, its lanes in one part. Two rows' halves share a vector, then four rows' quarters.
    std::vector<CodeValue> lanes(std::vector<Part> parts) const {
        const size_t rows = parts.size();
        if (rows == 1) return {lanes(parts[0])};
        int room = parts[0].value.width;  // lanes from a row's to the next one's
        for (int left = room; left > 1; left /= 2) {
            const bool shares = parts.size() > 1;
            std::vector<Part> next;
            for (size_t k = 0; k < parts.size(); k += shares ? 2 : 1) {
                const Part &a = parts[k], &b = parts[std::min(k + 1, parts.size() - 1)];
                std::vector<int> low, high;
                for (int from = 0; from < (shares ? 2 : 1) * a.value.width; from += room) {
                    for (int l = 0; l < (shares ? left / 2 : room); l++) {
                        low.push_back(from + l);
                        high.push_back(from + (l + left / 2) % room);
                    }
                }
                next.push_back(merged(shares ? taken(a, b, low) : a, taken(a, b, high)));
            }
            if (shares) room /= 2;
            parts = std::move(next);
        }
        const size_t held = static_cast<size_t>(parts[0].value.width / room);
        std::vector<CodeValue> results;
        for (size_t i = 0; i < rows; i++) results.push_back(result(parts[i / held], static_cast<int>(i % held) * room));
        return results;
    }

private:
    CodeValue taken(CodeValue a, CodeValue b, const std::vector<int>& lanes) const {
        return lanes.size() == 1 ? code_.lane(a, lanes[0]) : code_.shuffle(a, b, lanes);
    }
    Part taken(const Part& a, const Part& b, const std::vector<int>& lanes) const {
        return {taken(a.value, b.value, lanes), is_argument(reducer_) ? taken(a.index, b.index, lanes) : CodeValue{}};
    }
    CodeValue result(const Part& part, int lane) const {
        const CodeValue value = is_argument(reducer_) ? part.index : part.value;
        return value.width == 1 ? value : code_.lane(value, lane);
    }

    Code& code_;
    Reducer reducer_;
};

}  // namespace

// Vectors, then lanes, by halves: the order that Finish states.
void Walker::fold_lanes(const Accumulator& accumulator, AccumulatorTile& tile) {
    const Fold fold(code_, accumulator.reducer);
    const bool argument = is_argument(accumulator.reducer);
    std::vector<Part> rows;
    for (int i = 0; i < rows_; i++) {
        std::vector<Part> vectors;
        for (int j = 0; j < accumulator.vectors; j++) {
            const size_t k = static_cast<size_t>(i * accumulator.vectors + j);
            vectors.push_back({code_.get(tile.cells[k]), argument ? code_.get(tile.indices[k]) : CodeValue{}});
        }
        rows.push_back(fold.vectors(std::move(vectors)));
    }
    tile.results = fold.lanes(std::move(rows));
}

}  // namespace heddle::codegen
