// Where an element lies, from the order of dimensions and their margins.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "plan/storage.h"

namespace heddle::plan {

StorageMap StorageMap::row_major(std::vector<Size> shape) {
    StorageMap map;
    map.order.resize(shape.size());
    std::iota(map.order.begin(), map.order.end(), 0);
    map.margin_before.assign(shape.size(), 0);
    map.margin_after.assign(shape.size(), 0);
    map.room.assign(shape.size(), 0);
    map.extent = std::move(shape);
    return map;
}

bool StorageMap::has_margins() const {
    auto some = [](const Size& margin) { return !margin.same_as(0); };  // at other sizes, if not here
    return std::ranges::any_of(margin_before, some) || std::ranges::any_of(margin_after, some);
}

bool StorageMap::has_room() const {
    return std::ranges::any_of(room, [](const Size& behind) { return !behind.same_as(0); });
}

bool StorageMap::is_row_major() const {
    // Dimensions of extent one may stand anywhere.
    int32_t last = -1;
    for (int32_t d : order) {
        if (extent[static_cast<size_t>(d)].same_as(1)) continue;
        if (d < last) return false;
        last = d;
    }
    return !has_margins() && !has_room();
}

std::vector<Size> StorageMap::strides() const {
    std::vector<Size> result(extent.size());
    Size stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
        size_t d = static_cast<size_t>(order[i]);
        result[d] = stride;
        stride *= extent[d] + margin_before[d] + margin_after[d] + room[d];
    }
    return result;
}

StorageMap StorageMap::at_class(const std::vector<int64_t>& shape, const std::map<std::string, int64_t>& representatives) const {
    StorageMap result = *this;
    result.extent.assign(shape.begin(), shape.end());
    for (auto* margins : {&result.margin_before, &result.margin_after})
        for (Size& margin : *margins) margin = margin.at(representatives);
    return result;
}

Size StorageMap::offset() const {
    auto stride = strides();
    Size sum = 0;
    for (size_t d = 0; d < stride.size(); d++) sum += margin_before[d] * stride[d];
    return sum;
}

Size StorageMap::elements() const {
    Size n = 1;
    for (size_t d = 0; d < extent.size(); d++) n *= extent[d] + margin_before[d] + margin_after[d] + room[d];
    return n;
}

std::string StorageMap::text() const {
    if (is_row_major()) return "row-major";
    std::string text = "order";
    for (int32_t d : order) text += fmt::format(" {}", d);
    for (size_t d = 0; d < extent.size(); d++) {
        if (!room[d].same_as(0)) text += fmt::format(" room {}: {}", d, room[d].number());
    }
    if (!has_margins()) return text;
    const char* separator = " margins ";
    for (size_t d = 0; d < extent.size(); d++) {
        if (margin_before[d].same_as(0) && margin_after[d].same_as(0)) continue;
        text += fmt::format("{}{}: {} {}", separator, d, margin_before[d].number(), margin_after[d].number());
        separator = ", ";
    }
    return text + fmt::format(" filling {}", filling);
}

}  // namespace heddle::plan
