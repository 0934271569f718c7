#include "sharding/regions.h"

#include <algorithm>
#include <set>

#include "zspace/checked.h"

namespace heddle::sharding {
namespace {

constexpr int64_t most_cells = int64_t{1} << 22;   // of a region that is marked cell by cell
constexpr int64_t most_points = int64_t{1} << 16;  // where coordinates share variables

using Marks = std::vector<bool>;

// Marks, and what lies up to `times` steps of `by` behind one.
Marks shifted(const Marks& marks, int64_t by, int64_t times) {
    auto length = static_cast<int64_t>(marks.size());
    Marks result(marks.size());
    std::vector<int64_t> steps(marks.size(), times + 1);  // back to the last mark
    for (int64_t n = 0; n < length; ++n) {
        int64_t at = by > 0 ? n : length - 1 - n, before = at - by;
        auto& own = steps[static_cast<size_t>(at)];
        if (marks[static_cast<size_t>(at)])
            own = 0;
        else if (before >= 0 && before < length)
            own = std::min(times + 1, steps[static_cast<size_t>(before)] + 1);
        result[static_cast<size_t>(at)] = own <= times;
    }
    return result;
}

// Which values of its interval an affine coordinate takes, from the low end; nothing if there are too many.
std::optional<Marks> values_taken(const ValueRange& value, const VariableRanges& ranges) {
    const Interval& interval = value.interval;
    auto span = checked_subtract(interval.high, interval.low);
    if (!span || *span < 0 || *span >= most_cells) return std::nullopt;
    Marks taken(static_cast<size_t>(*span + 1));
    int64_t start = value.affine->constant - interval.low;  // where every variable is at its low end
    for (const auto& [variable, coefficient] : value.affine->terms)
        start += coefficient * ranges[static_cast<size_t>(variable)].low;
    if (start < 0 || start > *span) return std::nullopt;  // what stands around it narrows more than its variables
    taken[static_cast<size_t>(start)] = true;
    for (const auto& [variable, coefficient] : value.affine->terms) {
        const Interval& range = ranges[static_cast<size_t>(variable)];
        taken = shifted(taken, coefficient, range.high - range.low);
    }
    return taken;
}

class Counter {
public:
    Counter(const BodyAccesses& accesses, int32_t input, const Box& region)
        : accesses_(accesses), input_(input), region_(region), shape_(region.shape()) {}

    std::optional<int64_t> unread() {
        int64_t cells = region_.volume();
        if (cells == 0) return 0;
        for (const Access& access : accesses_.accesses()) {
            if (access.tensor != input_ || access.dead) continue;
            if (!add(access)) return std::nullopt;
        }
        if (products_.size() == 1 && points_.empty()) {
            int64_t read = 1;
            for (const Marks& marks : *products_.begin()) read *= std::count(marks.begin(), marks.end(), true);
            return cells - read;
        }
        if (cells > most_cells) return std::nullopt;
        Marks read(static_cast<size_t>(cells));
        for (int64_t point : points_) read[static_cast<size_t>(point)] = true;
        for (const auto& product : products_) mark(product, 0, 0, read);
        return cells - std::count(read.begin(), read.end(), true);
    }

private:
    bool add(const Access& access) {
        std::set<VariableId> seen;
        bool apart = accesses_.conditions(access).empty();
        for (size_t d = 0; d < access.coordinates.size(); ++d) {
            const ValueRange& value = accesses_.range(access, d);
            if (value.data) return false;
            apart = apart && value.affine.has_value();
            if (!value.affine) continue;
            for (const auto& [variable, coefficient] : value.affine->terms)
                apart = apart && seen.insert(variable).second;
        }
        return apart ? add_product(access) : add_points(access);
    }

    // Coordinates that share no variable: the product of what each of them takes.
    bool add_product(const Access& access) {
        std::vector<Marks> product;
        const VariableRanges& ranges = accesses_.variable_ranges(access);
        for (size_t d = 0; d < shape_.size(); ++d) {
            const ValueRange& value = accesses_.range(access, d);
            auto taken = values_taken(value, ranges);
            if (!taken) return false;
            Marks& inside = product.emplace_back(static_cast<size_t>(shape_[d]));
            for (size_t i = 0; i < taken->size(); ++i) {
                int64_t cell = value.interval.low + static_cast<int64_t>(i) - region_.start[d];
                if ((*taken)[i] && cell >= 0 && cell < shape_[d]) inside[static_cast<size_t>(cell)] = true;
            }
        }
        products_.insert(std::move(product));
        return true;
    }

    // Every point, where there are few: coordinates that share variables, are not affine, or stand under a condition.
    bool add_points(const Access& access) {
        const Body& body = accesses_.body();
        std::set<VariableId> used;
        auto use = [&](NodeId id) {
            std::vector<VariableId> list = variables_of(body, id);
            used.insert(list.begin(), list.end());
        };
        for (NodeId id : access.coordinates) use(id);
        for (const auto& [condition, holds] : accesses_.conditions(access)) use(condition);
        const VariableRanges& ranges = accesses_.variable_ranges(access);
        int64_t count = 1;
        std::vector<int64_t> point(body.variables.size());
        for (VariableId id : used) {
            const Interval& range = ranges[static_cast<size_t>(id)];
            int64_t length = range.high - range.low + 1;
            if (length <= 0) return true;
            if (length > most_points || count > most_points / length) return false;
            count *= length;
            point[static_cast<size_t>(id)] = range.low;
        }
        for (int64_t n = 0; n < count; ++n) {
            if (!add_point(access, point)) return false;
            for (VariableId id : used) {
                int64_t& digit = point[static_cast<size_t>(id)];
                if (++digit <= ranges[static_cast<size_t>(id)].high) break;
                digit = ranges[static_cast<size_t>(id)].low;
            }
        }
        return true;
    }

    // False if it cannot be known what is read there.
    bool add_point(const Access& access, const std::vector<int64_t>& point) {
        const Body& body = accesses_.body();
        for (const auto& [condition, holds] : accesses_.conditions(access)) {
            auto value = value_at(body, condition, point);
            if (!value) return false;
            if ((*value != 0) != holds) return true;
        }
        int64_t flat = 0;
        for (size_t d = 0; d < shape_.size(); ++d) {
            auto value = value_at(body, access.coordinates[d], point);
            if (!value) return false;
            if (*value < region_.start[d] || *value >= region_.end[d]) return true;
            flat = flat * shape_[d] + *value - region_.start[d];
        }
        points_.insert(flat);
        return true;
    }

    void mark(const std::vector<Marks>& product, size_t dimension, int64_t base, Marks& read) const {
        if (dimension == shape_.size()) {
            read[static_cast<size_t>(base)] = true;
            return;
        }
        for (int64_t i = 0; i < shape_[dimension]; ++i)
            if (product[dimension][static_cast<size_t>(i)])
                mark(product, dimension + 1, base * shape_[dimension] + i, read);
    }

    const BodyAccesses& accesses_;
    int32_t input_;
    const Box& region_;
    Corner shape_;
    std::set<std::vector<Marks>> products_;
    std::set<int64_t> points_;
};

}  // namespace

namespace {

// The values of a coordinate within its dimension; where a margin cuts steps off, from the first step inside to the
// last.
Interval inside(const BodyAccesses& accesses, const Access& access, size_t dimension, int64_t extent) {
    const ValueRange& value = accesses.range(access, dimension);
    Interval result = value.interval;
    if ((result.low >= 0 && result.high < extent) || !value.affine || value.data) return result;
    auto taken = values_taken(value, accesses.variable_ranges(access));
    if (!taken) return result;
    auto is_taken = [&](int64_t at) { return (*taken)[static_cast<size_t>(at - value.interval.low)]; };
    result.low = std::max<int64_t>(result.low, 0);
    result.high = lesser(result.high, extent - 1);
    while (result.low <= result.high && !is_taken(result.low)) ++result.low;
    while (result.low <= result.high && !is_taken(result.high)) --result.high;
    return result;
}

}  // namespace

Box read_region(const BodyAccesses& accesses, int32_t input, const std::vector<int64_t>& extents) {
    if (accesses.exhausted()) return Box::whole({extents.begin(), extents.end()});
    std::optional<Box> hull;
    for (const Access& access : accesses.accesses()) {
        if (access.tensor != input || access.dead) continue;
        Box box;
        for (size_t d = 0; d < extents.size(); ++d) {
            Interval values = inside(accesses, access, d, extents[d]);
            box.start.push_back(std::max<int64_t>(values.low, 0));
            box.end.push_back(lesser(values.high, extents[d] - 1) + 1);
        }
        if (box.is_empty()) continue;
        hull = hull ? heddle::hull(*hull, box) : box;
    }
    std::vector<int64_t> nowhere(extents.size());
    return hull.value_or(Box{nowhere, nowhere});
}

Box read_region(const Graph& graph, const Operation& operation, size_t input) {
    const std::vector<int64_t> extents = graph.tensor(operation.inputs[input]).type.extents();
    if (!operation.body) return Box::whole({extents.begin(), extents.end()});
    return read_region(BodyAccesses(*operation.body), static_cast<int32_t>(input), extents);
}

std::optional<int64_t> unread_elements(const BodyAccesses& accesses, int32_t input, const Box& region) {
    return accesses.exhausted() ? std::nullopt : Counter(accesses, input, region).unread();
}

}  // namespace heddle::sharding
