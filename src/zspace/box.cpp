#include "zspace/box.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "zspace/checked.h"

namespace heddle {

Box Box::whole(Corner extents) { return {Corner(extents.size()), std::move(extents)}; }

bool Box::is_empty() const {
    for (size_t d = 0; d < rank(); d++) {
        if (start[d] >= end[d]) return true;
    }
    return false;
}

Size Box::extent(size_t dimension) const {
    return checked_subtract(end[dimension], start[dimension]).value_or(INT64_MAX);
}

Corner Box::shape() const {
    Corner extents;
    for (size_t d = 0; d < rank(); d++) extents.push_back(extent(d));
    return extents;
}

Size Box::volume() const {
    if (is_empty()) return 0;
    Size volume = 1;
    for (size_t d = 0; d < rank(); d++) volume = checked_multiply(volume, extent(d)).value_or(INT64_MAX);
    return volume;
}

bool Box::operator<(const Box& other) const {
    const auto numbers = [](const Box& box) { return std::pair(numbers_of(box.start), numbers_of(box.end)); };
    return numbers(*this) < numbers(other);
}

bool contains(const Box& outer, const Box& inner) {
    if (inner.is_empty()) return true;
    for (size_t d = 0; d < outer.rank(); d++) {
        if (inner.start[d] < outer.start[d] || inner.end[d] > outer.end[d]) return false;
    }
    return true;
}

bool overlap(const Box& a, const Box& b) {
    for (size_t d = 0; d < a.rank(); d++) {
        if (a.start[d] >= b.end[d] || b.start[d] >= a.end[d]) return false;
    }
    return true;
}

Box intersection(const Box& a, const Box& b) {
    Box result;
    for (size_t d = 0; d < a.rank(); d++) {
        result.start.push_back(maximum(a.start[d], b.start[d]));
        result.end.push_back(maximum(result.start[d], minimum(a.end[d], b.end[d])));
    }
    return result;
}

Box hull(const Box& a, const Box& b) {
    if (a.is_empty() || b.is_empty()) return a.is_empty() ? b : a;
    Box result;
    for (size_t d = 0; d < a.rank(); d++) {
        result.start.push_back(minimum(a.start[d], b.start[d]));
        result.end.push_back(maximum(a.end[d], b.end[d]));
    }
    return result;
}

std::vector<Box> difference(const Box& a, const Box& b) {
    std::vector<Box> parts;
    Box rest = a;
    for (size_t d = 0; d < a.rank() && !rest.is_empty(); d++) {
        if (rest.start[d] < b.start[d]) {
            parts.push_back(rest);
            parts.back().end[d] = b.start[d];
        }
        if (b.end[d] < rest.end[d]) {
            parts.push_back(rest);
            parts.back().start[d] = b.end[d];
        }
        rest.start[d] = b.start[d];
        rest.end[d] = b.end[d];
    }
    return parts;
}

std::string text(const Box& box) {
    std::string dimensions;
    for (size_t d = 0; d < box.rank(); d++)
        dimensions += fmt::format("{}{}:{}", d ? ", " : "", box.start[d].number(), box.end[d].number());
    return "[" + dimensions + "]";
}

std::optional<std::pair<size_t, size_t>> overlapping(std::span<const Box> boxes) {
    if (boxes.size() < 2) return std::nullopt;
    if (boxes[0].rank() == 0) return std::pair<size_t, size_t>(0, 1);
    size_t axis = 0, most = 0;
    for (size_t d = 0; d < boxes[0].rank(); d++) {
        std::vector<int64_t> starts;
        for (const Box& box : boxes) starts.push_back(box.start[d].number());
        std::ranges::sort(starts);
        const auto distinct = static_cast<size_t>(std::unique(starts.begin(), starts.end()) - starts.begin());
        if (distinct > most) most = distinct, axis = d;
    }
    std::vector<size_t> order(boxes.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](size_t box) { return boxes[box].start[axis]; });
    for (size_t i = 0; i < order.size(); i++) {
        const Box& first = boxes[order[i]];
        for (size_t j = i + 1; j < order.size() && boxes[order[j]].start[axis] < first.end[axis]; j++) {
            if (overlap(first, boxes[order[j]])) return std::pair(order[i], order[j]);
        }
    }
    return std::nullopt;
}

Size total_volume(std::span<const Box> boxes) {
    Size total = 0;
    for (const Box& box : boxes) total = checked_add(total, box.volume()).value_or(INT64_MAX);
    return total;
}

}  // namespace heddle
