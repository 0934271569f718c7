#include "symbolic/left_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace heddle {
namespace {

constexpr int64_t longest_dimension = int64_t{1} << 22;  // whose values are looked at one by one
constexpr int64_t most_elements = int64_t{1} << 20;      // of an output that is
constexpr int64_t most_parts = int64_t{1} << 20;         // of an output that equations cut it into
constexpr size_t most_sides = 64;

using Sides = uint64_t;  // a bit a left side

LeftCoordinate coordinate_of(const Body& body, const LinearForm<VariableId>& form, const Interval& values) {
    RadixDigits<VariableId> digits;
    for (const auto& [variable, factor] : form.terms) {
        const Size& extent = body.variable(variable).extent;
        if (extent > 1) digits.push_back({variable, factor, extent});
    }
    MixedRadix<VariableId> radix = mixed_radix(std::move(digits));
    LeftCoordinate result{std::move(radix.digits), values.low, values.high, false, true};
    result.is_run = radix.fitting == result.digits.size();
    Size below = 0;  // the greatest sum of the digits so far
    for (const auto& digit : result.digits) {
        result.is_unique = result.is_unique && digit.factor > below;
        below += digit.factor * (digit.extent - 1);  // at most high - low
    }
    return result;
}

// Calls `see(value)` for each value of a coordinate until that is false.
template <typename F>
bool each_value(const LeftCoordinate& coordinate, const F& see) {
    std::vector<int64_t> at(coordinate.digits.size());
    int64_t value = coordinate.low;
    for (;;) {
        if (!see(value)) return false;
        size_t d = 0;
        for (; d < at.size(); ++d) {
            const auto& digit = coordinate.digits[d];
            value += digit.factor;
            if (++at[d] < digit.extent) break;
            value -= digit.factor * digit.extent;
            at[d] = 0;
        }
        if (d == at.size()) return true;
    }
}

// The values of a dimension, apart by which sides have them: one value for each set of sides.
using Parts = std::map<Sides, int64_t>;

// A value that a side has twice.
struct Twice {
    size_t side = 0;
    int64_t value = 0;
};

std::variant<Parts, Twice, LeftLimit> parts_by_values(std::span<const LeftSide> sides, size_t d, int64_t extent) {
    if (extent > longest_dimension) return LeftLimit{};
    std::vector<Sides> having(static_cast<size_t>(extent));
    for (size_t s = 0; s < sides.size(); ++s) {
        std::optional<Twice> twice;
        each_value(sides[s].coordinates[d], [&](int64_t value) {
            Sides& had = having[static_cast<size_t>(value)];
            if (had >> s & 1) twice = Twice{s, value};
            had |= Sides{1} << s;
            return !twice;
        });
        if (twice) return *twice;
    }
    Parts parts;
    for (size_t value = 0; value < having.size(); ++value) parts.try_emplace(having[value], value);
    return parts;
}

Parts parts_by_borders(std::span<const LeftSide> sides, size_t d, const Size& extent) {
    std::set<Size> begins = {0};
    for (const LeftSide& side : sides) {
        begins.insert(side.coordinates[d].low);
        begins.insert(side.coordinates[d].high + 1);
    }
    Parts parts;
    for (const Size& begin : begins) {
        if (begin >= extent) break;
        Sides having = 0;
        for (size_t s = 0; s < sides.size(); ++s)
            if (sides[s].coordinates[d].low <= begin && begin <= sides[s].coordinates[d].high) having |= Sides{1} << s;
        parts.try_emplace(having, begin.number());
    }
    return parts;
}

class PartsCover {
public:
    PartsCover(std::span<const LeftSide> sides, std::span<const Size> extents)
        : sides_(sides), extents_(extents) {}

    std::variant<std::monostate, LeftFault, LeftLimit> run() {
        for (size_t d = 0; d < extents_.size(); ++d) {
            const bool runs = std::ranges::all_of(sides_, [&](const LeftSide& s) { return s.coordinates[d].is_run; });
            if (runs) {
                parts_.push_back(parts_by_borders(sides_, d, extents_[d]));
                continue;
            }
            auto parts = parts_by_values(sides_, d, extents_[d]);
            if (std::holds_alternative<LeftLimit>(parts)) return LeftLimit{};
            if (const Twice* twice = std::get_if<Twice>(&parts)) return element_of(*twice, d);
            parts_.push_back(std::move(std::get<Parts>(parts)));
        }
        const Sides all = sides_.size() == most_sides ? ~Sides{0} : (Sides{1} << sides_.size()) - 1;
        const bool whole = find(all);
        if (fault_) return std::move(*fault_);
        if (!whole) return LeftLimit{};
        return {};
    }

private:
    LeftFault element_of(const Twice& twice, size_t dimension) const {
        LeftFault fault{{}, {twice.side}};
        for (size_t d = 0; d < extents_.size(); ++d)
            fault.element.push_back(d == dimension ? twice.value : sides_[twice.side].coordinates[d].low.number());
        return fault;
    }

    // False once something is found, or too much has been looked at.
    bool find(Sides having) {
        if (--budget_ < 0) return false;
        if (element_.size() == parts_.size()) {
            if (std::popcount(having) == 1) return true;
            fault_ = LeftFault{element_, {}};
            for (size_t s = 0; s < sides_.size(); ++s)
                if (having >> s & 1) fault_->equations.push_back(s);
            return false;
        }
        for (const auto& [sides, value] : parts_[element_.size()]) {
            element_.push_back(value);
            if (!find(having & sides)) return false;
            element_.pop_back();
        }
        return true;
    }

    std::span<const LeftSide> sides_;
    std::span<const Size> extents_;
    std::vector<Parts> parts_;
    std::vector<int64_t> element_;
    std::optional<LeftFault> fault_;
    int64_t budget_ = most_parts;
};

std::vector<int64_t> element_at(int64_t number, std::span<const Size> extents) {
    std::vector<int64_t> element(extents.size());
    for (size_t d = extents.size(); d-- > 0; number /= extents[d]) element[d] = number % extents[d];
    return element;
}

// The addresses of a side's elements, one a point: a sum of digits again.
LeftCoordinate address_of(const LeftSide& side, std::span<const Size> extents) {
    std::map<VariableId, RadixDigit<VariableId>> digits;
    LeftCoordinate result;
    int64_t stride = 1;
    for (size_t d = extents.size(); d-- > 0; stride *= extents[d]) {
        const LeftCoordinate& coordinate = side.coordinates[d];
        result.low += stride * coordinate.low;
        for (const auto& digit : coordinate.digits) {
            auto& sum = digits.try_emplace(digit.atom, RadixDigit<VariableId>{digit.atom, 0, digit.extent}).first->second;
            if (digit.reversed) result.low += stride * digit.factor * (digit.extent - 1);
            sum.factor += digit.reversed ? -stride * digit.factor : stride * digit.factor;
        }
    }
    for (const auto& [variable, digit] : digits) result.digits.push_back(digit);
    return result;
}

std::variant<std::monostate, LeftFault, LeftLimit> fault_by_elements(std::span<const LeftSide> sides,
                                                                     std::span<const Size> extents) {
    const int64_t elements = Box::whole({extents.begin(), extents.end()}).volume();
    if (elements > most_elements) return LeftLimit{};
    std::vector<int32_t> writers(static_cast<size_t>(elements), -1);
    std::optional<LeftFault> fault;
    for (size_t s = 0; s < sides.size() && !fault; ++s) {
        each_value(address_of(sides[s], extents), [&](int64_t address) {
            int32_t& writer = writers[static_cast<size_t>(address)];
            if (writer >= 0) {
                fault = LeftFault{element_at(address, extents), {static_cast<size_t>(writer)}};
                if (static_cast<size_t>(writer) != s) fault->equations.push_back(s);
            }
            writer = static_cast<int32_t>(s);
            return !fault;
        });
    }
    if (fault) return std::move(*fault);
    const auto gap = std::ranges::find(writers, -1);
    if (gap != writers.end()) return LeftFault{element_at(gap - writers.begin(), extents), {}};
    return {};
}

}  // namespace

bool LeftSide::is_box() const {
    return apart && std::ranges::all_of(coordinates, [](const LeftCoordinate& c) { return c.is_run; });
}

int64_t LeftSide::points() const {
    std::map<VariableId, int64_t> extents;
    for (const LeftCoordinate& coordinate : coordinates)
        for (const auto& digit : coordinate.digits) extents[digit.atom] = digit.extent;
    int64_t count = 1;
    for (const auto& [variable, extent] : extents) count = checked_multiply(count, extent).value_or(highest);
    return count;
}

std::optional<LeftSide> left_side(const Body& body, size_t number, RangeEvaluator& ranges,
                                  std::span<const Size> extents) {
    const BodyEquation& equation = body.equations[number];
    LeftSide side{number, {}, true};
    InlineVector<int, 16> used(body.variables.size(), 0);
    for (size_t d = 0; d < equation.left.size(); ++d) {
        const ValueRange& value = ranges.of(equation.left[d]);
        if (!value.affine || value.interval.low < 0 || value.interval.high >= extents[d]) return std::nullopt;
        side.coordinates.push_back(coordinate_of(body, *value.affine, value.interval));
        for (const auto& digit : side.coordinates.back().digits)
            if (++used[static_cast<size_t>(digit.atom)] > 1) side.apart = false;
    }
    for (VariableId id : equation.variables)
        if (body.variable(id).extent > 1 && used[static_cast<size_t>(id)] == 0) return std::nullopt;
    return side;
}

std::variant<std::monostate, LeftFault, LeftLimit> cover_fault(std::span<const LeftSide> sides,
                                                               std::span<const Size> extents) {
    if (std::ranges::any_of(extents, [](const Size& extent) { return extent == 0; })) return {};  // no side has points
    if (sides.size() > most_sides) return LeftLimit{};
    const bool apart = std::ranges::all_of(sides, [](const LeftSide& side) { return side.apart; });
    return apart ? PartsCover(sides, extents).run() : fault_by_elements(sides, extents);
}

std::string gap_remedy(const LeftSide& side) {
    if (!side.apart) return "use a variable in one coordinate, and one of its own in the other";
    for (const LeftCoordinate& coordinate : side.coordinates) {
        int64_t below = 1;  // values that the digits so far take
        for (const auto& digit : coordinate.digits) {
            if (digit.factor > below && digit.factor % below == 0) {
                return fmt::format("add an axis that fills the gap: for c < {}:, with {}c in the sum{}",
                                   digit.factor / below, below == 1 ? "" : fmt::format("{} * ", below),
                                   below == 1 ? "; or write each of the elements between in an equation of its own"
                                              : "");
            }
            below *= digit.extent;
        }
    }
    return {};
}

}  // namespace heddle
