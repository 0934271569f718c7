#include "zspace/cover.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace heddle {
namespace {

constexpr size_t most_found = 16;

struct Part {
    Box region;
    std::vector<size_t> boxes;  // that share cells with the region
};

bool overlap_at(const Box& a, const Box& b, size_t dimension) {
    return a.start[dimension] < b.end[dimension] && b.start[dimension] < a.end[dimension];
}

// The dimension with the most borders inside the region, and the middle one of these; nothing: no border is inside.
std::optional<std::pair<size_t, Size>> best_split(const Part& part, std::span<const Box> boxes) {
    std::vector<Size> best;
    size_t best_dimension = 0;
    for (size_t dimension = 0; dimension < part.region.start.size(); dimension++) {
        const Size start = part.region.start[dimension], end = part.region.end[dimension];
        std::vector<Size> borders;
        for (size_t number : part.boxes) {
            for (const Size& border : {boxes[number].start[dimension], boxes[number].end[dimension]}) {
                if (border > start && border < end) borders.push_back(border);
            }
        }
        if (borders.size() <= best.size()) continue;
        best = std::move(borders);
        best_dimension = dimension;
    }
    if (best.empty()) return std::nullopt;
    auto middle = best.begin() + static_cast<std::ptrdiff_t>(best.size() / 2);
    std::ranges::nth_element(best, middle, {}, &Size::number);
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

Cover cover(const Box& region, std::span<const Box> boxes, int64_t& budget) {
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

}  // namespace heddle
