// Boxes of shards: made, and checked.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "sharding/boxes.h"
#include "zspace/checked.h"

namespace heddle::sharding {
namespace {

Diagnostic wrong(const Operation& operation, const char* code, std::string summary) {
    return {.code = code, .summary = std::move(summary), .params = {{"operation", operation.name}}};
}

std::vector<std::string> names_of(const std::vector<Axis>& axes) {
    std::vector<std::string> names;
    for (const Axis& axis : axes) names.push_back(axis.name);
    return names;
}

}  // namespace

Result<std::vector<Box>> boxes_by(const Operation& operation, const std::vector<Axis>& axes,
                                  const std::vector<std::pair<std::string, int64_t>>& parts) {
    std::vector<int64_t> counts(axes.size(), 1);
    std::set<std::string> given;
    Diagnostics problems;
    size_t total = 1;
    for (const auto& [name, count] : parts) {
        auto axis = std::ranges::find(axes, name, &Axis::name);
        if (axis == axes.end() || !given.insert(name).second) {
            problems.push_back(wrong(operation, "sharding.axis",
                                     axis == axes.end() ? fmt::format("'{}' has no axis '{}'", operation.name, name)
                                                        : fmt::format("axis '{}' is given twice", name)));
            problems.back().expected = fmt::format("one of {}", fmt::join(names_of(axes), ", "));
            if (std::string near = nearest_name(name, names_of(axes)); !near.empty() && axis == axes.end())
                problems.back().remedy = fmt::format("did you mean {}?", near);
        } else if (count < 1) {
            problems.push_back(
                wrong(operation, "sharding.parts", fmt::format("axis '{}' cannot be cut into {} parts", name, count)));
            problems.back().expected = "at least 1";
        } else if (axis->refusal && count > 1) {
            problems.push_back(*axis->refusal);
        } else if (static_cast<uint64_t>(count) > most_shards / total) {
            problems.push_back(wrong(operation, "sharding.limit", "there are too many shards"));
            problems.back().expected = fmt::format("at most {}", most_shards);
        } else {
            counts[static_cast<size_t>(axis - axes.begin())] = count;
            total *= static_cast<size_t>(count);
        }
    }
    if (!problems.empty()) return fail(std::move(problems));
    std::vector<Box> boxes(1);
    for (size_t axis = 0; axis < axes.size(); ++axis) {
        int64_t extent = axes[axis].extent.value(), length = ceil_divide(extent, counts[axis]);
        std::vector<Box> longer;
        for (const Box& box : boxes) {
            for (int64_t part = 0; part < counts[axis]; ++part) {
                Box own = box;
                own.start.push_back(std::min(extent, part * length));
                own.end.push_back(std::min(extent, (part + 1) * length));
                longer.push_back(std::move(own));
            }
        }
        boxes = std::move(longer);
    }
    return boxes;
}

std::vector<std::vector<Range>> parts_of(const std::vector<Box>& boxes, size_t axes) {
    std::vector<std::vector<Range>> parts(axes);
    for (size_t axis = 0; axis < axes; ++axis) {
        std::set<Range> seen;
        for (const Box& box : boxes) seen.insert({box.start[axis], box.end[axis]});
        parts[axis].assign(seen.begin(), seen.end());
    }
    return parts;
}

bool is_grid(const std::vector<Box>& boxes, const std::vector<Axis>& axes) {
    size_t combinations = 1;
    std::vector<std::vector<Range>> parts = parts_of(boxes, axes.size());
    for (size_t axis = 0; axis < axes.size(); ++axis) {
        int64_t reached = 0;
        for (const Range& part : parts[axis]) {
            if (part.begin != reached) return false;
            reached = part.end;
        }
        if (reached != axes[axis].extent.value()) return false;
        combinations *= parts[axis].size();  // each at most the number of boxes, which is limited
        if (combinations > boxes.size()) return false;
    }
    return combinations == boxes.size() && std::set(boxes.begin(), boxes.end()).size() == boxes.size();
}

std::vector<Box> without_empty(const std::vector<Box>& boxes) {
    std::vector<Box> full;
    for (const Box& box : boxes)
        if (!box.is_empty()) full.push_back(box);
    return full;
}

Result<void> check_boxes(const Operation& operation, const std::vector<Axis>& axes, const std::vector<Box>& boxes) {
    if (boxes.size() > most_shards) {
        Diagnostic problem = wrong(operation, "sharding.limit", "there are too many shards");
        problem.expected = fmt::format("at most {}", most_shards);
        problem.found = std::to_string(boxes.size());
        return fail(std::move(problem));
    }
    std::vector<int64_t> extents;
    for (const Axis& axis : axes) extents.push_back(axis.extent.value());
    auto cover = [&](std::string summary) {
        Diagnostic problem = wrong(operation, "sharding.cover", std::move(summary));
        problem.expected = fmt::format("each point of the extended index [{}] in one box", fmt::join(extents, ", "));
        return fail(std::move(problem));
    };
    for (size_t i = 0; i < boxes.size(); ++i) {
        const Box& box = boxes[i];
        bool inside = box.start.size() == axes.size() && box.end.size() == axes.size();
        for (size_t d = 0; inside && d < axes.size(); ++d)
            inside = box.start[d] >= 0 && box.start[d] <= box.end[d] && box.end[d] <= extents[d];
        if (!inside) return cover(fmt::format("box {} is not inside the extended index", i));
    }
    std::vector<Box> full = without_empty(boxes);
    bool nothing = std::ranges::count(extents, 0) > 0;
    if (full.empty() ? nothing && !boxes.empty() : is_grid(full, axes)) return {};
    // What no box cuts is in all of them: only the others' volumes need to be added up.
    std::vector<std::vector<Range>> parts = parts_of(full, axes.size());
    using Wide = __int128;
    auto volume_of = [&](const Box& box) {
        Wide volume = 1;
        for (size_t d = 0; d < axes.size(); ++d)
            if (parts[d].size() > 1) volume = std::min(volume * (box.end[d] - box.start[d]), Wide(1) << 62);
        return volume;
    };
    Wide volume = 0, all = volume_of(Box::whole(extents));
    if (auto pair = overlapping(full)) {
        const Box &first = full[pair->first], &second = full[pair->second];
        return cover(fmt::format("the boxes from [{}] to [{}] and from [{}] to [{}] overlap",
                                 fmt::join(first.start, ", "), fmt::join(first.end, ", "),
                                 fmt::join(second.start, ", "), fmt::join(second.end, ", ")));
    }
    for (const Box& box : full) volume += volume_of(box);
    bool uncut = std::ranges::all_of(std::views::iota(size_t{0}, axes.size()), [&](size_t d) {
        return parts[d].size() > 1 || (parts[d].size() == 1 && parts[d][0] == Range{0, extents[d]});
    });
    if (volume != all || !uncut) return cover("the boxes leave a gap");
    return {};
}

Cut uncut(const std::vector<Axis>& axes) {
    Box all;
    for (const Axis& axis : axes) {
        all.start.push_back(0);
        all.end.push_back(axis.extent.value());
    }
    return {.boxes = {std::move(all)}, .places = {}};
}

}  // namespace heddle::sharding
