// Where an element lies, from the order of dimensions and their margins.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "plan/storage.h"

namespace heddle::plan {

StorageMap StorageMap::row_major(std::vector<int64_t> shape) {
    StorageMap map;
    map.order.resize(shape.size());
    std::iota(map.order.begin(), map.order.end(), 0);
    map.margin_before.assign(shape.size(), 0);
    map.margin_after.assign(shape.size(), 0);
    map.extent = std::move(shape);
    return map;
}

bool StorageMap::has_margins() const {
    auto positive = [](int64_t m) { return m > 0; };
    return std::any_of(margin_before.begin(), margin_before.end(), positive) ||
           std::any_of(margin_after.begin(), margin_after.end(), positive);
}

bool StorageMap::is_row_major() const {
    // Dimensions of extent one may stand anywhere.
    int32_t last = -1;
    for (int32_t d : order) {
        if (extent[static_cast<size_t>(d)] == 1) continue;
        if (d < last) return false;
        last = d;
    }
    return !has_margins();
}

std::vector<int64_t> StorageMap::strides() const {
    std::vector<int64_t> result(extent.size());
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
        size_t d = static_cast<size_t>(order[i]);
        result[d] = stride;
        stride *= extent[d] + margin_before[d] + margin_after[d];
    }
    return result;
}

int64_t StorageMap::offset() const {
    auto stride = strides();
    int64_t sum = 0;
    for (size_t d = 0; d < stride.size(); d++) sum += margin_before[d] * stride[d];
    return sum;
}

int64_t StorageMap::elements() const {
    int64_t n = 1;
    for (size_t d = 0; d < extent.size(); d++) n *= extent[d] + margin_before[d] + margin_after[d];
    return n;
}

std::string StorageMap::text() const {
    if (is_row_major()) return "row-major";
    std::string text = "order";
    for (int32_t d : order) text += fmt::format(" {}", d);
    if (!has_margins()) return text;
    const char* separator = " margins ";
    for (size_t d = 0; d < extent.size(); d++) {
        if (margin_before[d] == 0 && margin_after[d] == 0) continue;
        text += fmt::format("{}{}: {} {}", separator, d, margin_before[d], margin_after[d]);
        separator = ", ";
    }
    return text + fmt::format(" filling {}", filling);
}

}  // namespace heddle::plan
