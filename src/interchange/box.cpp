#include "interchange/box.h"

#include <algorithm>

#include "zspace/checked.h"

namespace heddle::interchange {

std::optional<std::vector<int64_t>> extents(const DocumentRange& box) {
    std::vector<int64_t> result;
    for (size_t i = 0; i < box.start.size(); i++) {
        auto extent = checked_subtract(box.end[i], box.start[i]);
        if (!extent) return std::nullopt;
        result.push_back(*extent);
    }
    return result;
}

namespace {

// The least and the greatest of row . point over a box that is not empty.
std::optional<std::pair<int64_t, int64_t>> row_bounds(const std::vector<int64_t>& row, const DocumentRange& index) {
    int64_t low = 0, high = 0;
    for (size_t column = 0; column < row.size(); column++) {
        auto first = checked_multiply(row[column], index.start[column]);
        auto last = checked_multiply(row[column], index.end[column] - 1);
        if (!first || !last) return std::nullopt;
        auto lower = checked_add(low, std::min(*first, *last)), upper = checked_add(high, std::max(*first, *last));
        if (!lower || !upper) return std::nullopt;
        low = *lower;
        high = *upper;
    }
    return std::pair(low, high);
}

}  // namespace

std::optional<DocumentRange> projected(const DocumentProjection& projection, const DocumentRange& index) {
    size_t rows = projection.shape.size();
    if (index.is_empty()) return DocumentRange{projection.offset, projection.offset};
    DocumentRange result;
    for (size_t row = 0; row < rows; row++) {
        auto bounds = row_bounds(projection.projection[row], index);
        if (!bounds) return std::nullopt;
        auto start = checked_add(bounds->first, projection.offset[row]);
        auto last = checked_add(bounds->second, projection.offset[row]);
        auto end = last ? checked_add(*last, projection.shape[row]) : std::nullopt;
        if (!start || !end) return std::nullopt;
        result.start.push_back(*start);
        result.end.push_back(*end);
    }
    return result;
}

}  // namespace heddle::interchange
