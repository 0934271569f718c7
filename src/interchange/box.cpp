#include "interchange/box.h"

#include <algorithm>

#include <fmt/format.h>

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

// ---- cover

namespace {

constexpr size_t most_found = 16;

struct Part {
    DocumentRange region;
    std::vector<size_t> boxes;  // that share cells with the region
};

bool overlap_at(const DocumentRange& a, const DocumentRange& b, size_t dimension) {
    return a.start[dimension] < b.end[dimension] && b.start[dimension] < a.end[dimension];
}

// The dimension with the most borders inside the region, and the middle one of these; nothing: no border is inside.
std::optional<std::pair<size_t, int64_t>> best_split(const Part& part, const std::vector<DocumentRange>& boxes) {
    std::vector<int64_t> best;
    size_t best_dimension = 0;
    for (size_t dimension = 0; dimension < part.region.start.size(); dimension++) {
        int64_t start = part.region.start[dimension], end = part.region.end[dimension];
        std::vector<int64_t> borders;
        for (size_t number : part.boxes) {
            for (int64_t border : {boxes[number].start[dimension], boxes[number].end[dimension]}) {
                if (border > start && border < end) borders.push_back(border);
            }
        }
        if (borders.size() <= best.size()) continue;
        best = std::move(borders);
        best_dimension = dimension;
    }
    if (best.empty()) return std::nullopt;
    auto middle = best.begin() + static_cast<std::ptrdiff_t>(best.size() / 2);
    std::nth_element(best.begin(), middle, best.end());
    return std::pair(best_dimension, *middle);
}

void add_overlaps(const Part& part, Cover& result) {
    for (size_t i = 1; i < part.boxes.size(); i++) {
        Cover::Overlap found{part.boxes[0], part.boxes[i], part.region};
        auto same = [&](const Cover::Overlap& other) {
            return other.first == found.first && other.second == found.second;
        };
        if (std::any_of(result.overlaps.begin(), result.overlaps.end(), same)) continue;
        if (result.overlaps.size() < most_found) result.overlaps.push_back(std::move(found));
    }
}

}  // namespace

Cover cover(const DocumentRange& region, const std::vector<DocumentRange>& boxes, int64_t& budget) {
    Cover result;
    if (region.is_empty()) return result;
    Part all{region, {}};
    for (size_t i = 0; i < boxes.size(); i++) {
        if (!boxes[i].is_empty() && !intersection(region, boxes[i]).is_empty()) all.boxes.push_back(i);
    }
    std::vector<Part> parts = {std::move(all)};
    while (!parts.empty()) {
        Part part = std::move(parts.back());
        parts.pop_back();
        budget -= static_cast<int64_t>((1 + part.boxes.size()) * (1 + part.region.start.size()));
        if (budget < 0 || result.gaps.size() == most_found || result.overlaps.size() == most_found) {
            result.complete = false;
            break;
        }
        if (part.boxes.empty()) {
            result.gaps.push_back(std::move(part.region));
            continue;
        }
        auto split = best_split(part, boxes);
        if (!split) {
            add_overlaps(part, result);
            continue;
        }
        Part lower{part.region, {}}, upper{std::move(part.region), {}};
        lower.region.end[split->first] = upper.region.start[split->first] = split->second;
        for (size_t number : part.boxes) {
            if (overlap_at(boxes[number], lower.region, split->first)) lower.boxes.push_back(number);
            if (overlap_at(boxes[number], upper.region, split->first)) upper.boxes.push_back(number);
        }
        parts.push_back(std::move(upper));  // the lower part is looked at first
        parts.push_back(std::move(lower));
    }
    return result;
}

}  // namespace heddle::interchange
