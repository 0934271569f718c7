// Whether the boxes of an affine map are disjoint. Two points p and q share a cell if in each row r the difference
// d = p - q has |row . d| < shape. A row settles a column whose coefficient outweighs all others of the row that are
// not settled yet: d must be 0 there. What no row settles is searched, smallest differences first.
#include <algorithm>
#include <cstdlib>

#include "interchange/box.h"

namespace heddle::interchange {
namespace {

using Wide = __int128;  // products of coefficients and extents fit into 65 bits where `projected` gives a box

constexpr size_t most_columns = 64;  // searched

Wide magnitude(int64_t value) { return value < 0 ? -static_cast<Wide>(value) : static_cast<Wide>(value); }

class Search {
public:
    Search(const DocumentProjection& projection, std::vector<int64_t> extents, int64_t& budget)
        : rows_(projection.projection), shape_(projection.shape), extents_(std::move(extents)), budget_(budget) {}

    Collision run(const DocumentRange& index) {
        Collision result;
        for (size_t column = 0; column < extents_.size(); column++) {
            if (extents_[column] > 1) open_.push_back(column);
        }
        while (settle()) {
        }
        if (open_.empty()) return result;
        difference_.assign(extents_.size(), 0);
        partial_.assign(rows_.size(), 0);
        if (open_.size() > most_columns) {
            result.complete = false;
            return result;
        }
        if (!find(0, false)) {
            result.complete = budget_ >= 0;
            return result;
        }
        Corner first = index.start, second = index.start;
        for (size_t column = 0; column < extents_.size(); column++) {
            (difference_[column] > 0 ? first : second)[column] += std::abs(difference_[column]);
        }
        result.points.emplace(std::move(second), std::move(first));
        return result;
    }

private:
    // Settles a column by a row, if there is one that can.
    bool settle() {
        for (size_t row = 0; row < rows_.size(); row++) {
            size_t heaviest = open_.size();
            Wide others = 0, weight = 0;
            for (size_t i = 0; i < open_.size(); i++) {
                Wide coefficient = magnitude(rows_[row][open_[i]]);
                others += coefficient * (extents_[open_[i]] - 1);
                if (coefficient <= weight) continue;
                weight = coefficient;
                heaviest = i;
            }
            if (heaviest == open_.size()) continue;
            others -= weight * (extents_[open_[heaviest]] - 1);
            if (weight - others < shape_[row]) continue;
            open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(heaviest));
            return true;
        }
        return false;
    }

    // Whether the columns from open_[depth] on can still bring every row below its shape.
    bool hopeless(size_t depth) const {
        for (size_t row = 0; row < rows_.size(); row++) {
            Wide reach = 0;
            for (size_t i = depth; i < open_.size(); i++)
                reach += magnitude(rows_[row][open_[i]]) * (extents_[open_[i]] - 1);
            Wide value = partial_[row] < 0 ? -partial_[row] : partial_[row];
            if (value - reach >= shape_[row]) return true;
        }
        return false;
    }

    // The first difference that is not zero may be taken positive.
    bool find(size_t depth, bool any) {
        budget_ -= static_cast<int64_t>(1 + rows_.size() * (open_.size() - depth));
        if (budget_ < 0 || hopeless(depth)) return false;
        if (depth == open_.size()) return any;
        size_t column = open_[depth];
        for (int64_t value = 0; value < extents_[column] && budget_ >= 0; value++) {
            for (int64_t sign : {1, -1}) {
                if (sign < 0 && (value == 0 || !any)) continue;
                step(column, sign * value);
                if (find(depth + 1, any || value != 0)) return true;
                step(column, 0);
            }
        }
        return false;
    }

    void step(size_t column, int64_t value) {
        for (size_t row = 0; row < rows_.size(); row++)
            partial_[row] += static_cast<Wide>(rows_[row][column]) * (value - difference_[column]);
        difference_[column] = value;
    }

    const std::vector<std::vector<int64_t>>& rows_;
    const std::vector<int64_t>& shape_;
    std::vector<int64_t> extents_;
    int64_t& budget_;
    std::vector<size_t> open_;  // columns of extent above 1 that no row has settled
    std::vector<int64_t> difference_;
    std::vector<Wide> partial_;  // row . difference
};

}  // namespace

Collision collision(const DocumentProjection& projection, const DocumentRange& index, int64_t& budget) {
    if (index.is_empty() || std::ranges::find(projection.shape, 0) != projection.shape.end()) return {};
    auto sizes = extents(index);
    if (!sizes) return {std::nullopt, false};
    return Search(projection, std::move(*sizes), budget).run(index);
}

std::optional<bool> fills(const DocumentProjection& projection, const DocumentRange& index, const DocumentRange& hull) {
    auto sizes = extents(index), wanted = extents(hull);
    if (!sizes || !wanted) return std::nullopt;
    auto product = [](const std::vector<int64_t>& numbers, Wide value) -> std::optional<Wide> {
        for (int64_t number : numbers) {
            if (__builtin_mul_overflow(value, static_cast<Wide>(number), &value)) return std::nullopt;
        }
        return value;
    };
    auto points = product(*sizes, 1);
    auto written = points ? product(projection.shape, *points) : std::nullopt;
    auto cells = product(*wanted, 1);
    if (!written || !cells) return std::nullopt;
    return *written == *cells;
}

}  // namespace heddle::interchange
