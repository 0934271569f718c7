#include "artefact/coverage.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <random>
#include <unordered_map>

#include <fmt/format.h>

#include "zspace/checked.h"
#include "zspace/origin_bounds.h"
#include "zspace/size_class.h"
#include "zspace/substituted_origin.h"

namespace heddle::artefact {
namespace {

using Relation = SizeFact::Relation;
using Ranges = std::vector<SizeRange>;

constexpr size_t most_plans = 4096;
constexpr int most_failed = 256;
constexpr int64_t most_tried = 4096;  // sizes of a part: all of them if there are no more, else as many at random

constexpr int64_t beyond_all = int64_t{1} << 60;  // any size of a dimension

OriginPointer combined(Origin::Kind kind, OriginPointer a, OriginPointer b) { return Origin::of(kind, a, b); }
OriginPointer constant(int64_t value) { return Origin::of_constant(value); }

// factor * name + offset.
struct Line {
    std::string name;
    int64_t factor = 1, offset = 0;
};

std::optional<Line> line_of(OriginPointer origin) {
    if (origin->kind() == Origin::Kind::name) return Line{origin->text(), 1, 0};
    if (origin->kind() != Origin::Kind::sum || origin->terms().size() != 1) return std::nullopt;
    const Origin::Term& term = origin->terms()[0];
    if (term.atoms.size() != 1 || term.atoms[0]->kind() != Origin::Kind::name) return std::nullopt;
    return Line{term.atoms[0]->text(), term.coefficient, origin->constant_value()};
}

// What holds where the fact does not.
SizeFact opposite(const SizeFact& fact) {
    if (fact.relation == Relation::not_negative)
        return {combined(Origin::Kind::subtract, constant(-1), fact.size), Relation::not_negative};
    return {fact.size, fact.relation == Relation::zero ? Relation::not_zero : Relation::zero};
}

// Whether `fact` holds wherever `known` does.
bool follows(const SizeFact& fact, const SizeFact& known) {
    if (fact.relation == Relation::not_negative && known.relation == Relation::not_negative)
        return combined(Origin::Kind::subtract, fact.size, known.size)->is_never_negative();
    if (fact.relation != known.relation) return false;
    return fact.size == known.size || combined(Origin::Kind::add, fact.size, known.size) == constant(0);
}

class Space {
public:
    Space(const std::vector<Dimension>& dimensions, const SizeNames& fixed) : dimensions_(dimensions), fixed_(fixed) {
        for (const Dimension& dimension : dimensions) {
            if (dimension.step == 1) continue;
            const OriginPointer number = Origin::of_name(number_of(dimension));
            const OriginPointer above = combined(Origin::Kind::multiply, number, constant(dimension.step));
            by_numbers_[dimension.name] = combined(Origin::Kind::add, above, constant(dimension.from));
        }
    }

    const std::vector<Dimension>& dimensions() const { return dimensions_; }
    const SizeNames& fixed() const { return fixed_; }

    Ranges all() const {
        Ranges ranges;
        for (const Dimension& dimension : dimensions_) ranges.push_back({dimension.from, dimension.to});
        return ranges;
    }

    std::map<std::string, Interval> intervals(const Ranges& ranges) const {
        std::map<std::string, Interval> names;
        for (const auto& [name, size] : fixed_) names[name] = Interval::point(size);
        for (size_t d = 0; d < ranges.size(); d++) {
            const Dimension& dimension = dimensions_[d];
            const auto number = [&](int64_t size) { return (size - dimension.from) / dimension.step; };
            names[dimension.name] = {ranges[d].least, ranges[d].most};
            names[number_of(dimension)] = {number(ranges[d].least), number(ranges[d].most)};
        }
        return names;
    }

    // Whether the fact holds for all of these; of a dimension with steps as an expression of which size it is.
    std::optional<bool> known(const SizeFact& fact, const std::map<std::string, Interval>& names) const {
        OriginPointer size = fact.size;
        if (!by_numbers_.empty()) {
            OriginPointer& known = substituted_[size];
            if (!known) known = substituted(size, by_numbers_);
            size = known;
        }
        return known_within(fact.relation, bounds_within(size, names));
    }

    // The part of the ranges in which a fact of one dimension holds; nothing where it is of no such form, or no range.
    std::optional<Ranges> narrowed(Ranges ranges, const SizeFact& fact) const {
        const auto line = line_of(fact.size);
        const auto found = line ? std::ranges::find(dimensions_, line->name, &Dimension::name) : dimensions_.end();
        if (found == dimensions_.end()) return std::nullopt;
        SizeRange& range = ranges[static_cast<size_t>(found - dimensions_.begin())];
        const auto least = [&](int64_t size) {
            if (size > range.least) range.least = found->above(std::min(size, beyond_all));
        };
        const auto most = [&](int64_t size) {
            if (size < range.most) range.most = found->below(std::max(size, -beyond_all));
        };
        const auto negated = checked_subtract(0, line->offset);
        if (!negated || line->factor == INT64_MIN) return std::nullopt;
        switch (fact.relation) {
        case Relation::not_negative:
            if (line->factor > 0)
                least(ceil_divide(*negated, line->factor));
            else
                most(floor_divide(line->offset, -line->factor));
            return ranges;
        case Relation::zero: {
            const int64_t size = *negated / line->factor;
            const bool is_one = *negated % line->factor == 0 && found->has(size);
            is_one ? (least(size), most(size)) : void(range = {0, -1});
            return ranges;
        }
        case Relation::not_zero: break;
        }
        return std::nullopt;
    }

    SizeNames named(const std::vector<int64_t>& sizes) const {
        SizeNames names = fixed_;
        for (size_t d = 0; d < sizes.size(); d++) names[dimensions_[d].name] = sizes[d];
        return names;
    }

private:
    static std::string number_of(const Dimension& dimension) { return "number of " + dimension.name; }

    const std::vector<Dimension>& dimensions_;
    const SizeNames& fixed_;
    std::map<std::string, OriginPointer> by_numbers_;  // of dimensions with steps
    mutable std::unordered_map<OriginPointer, OriginPointer> substituted_;
};

bool is_empty(const Ranges& ranges) { return std::ranges::any_of(ranges, &SizeRange::is_empty); }

Ranges shared(const Ranges& a, const Ranges& b) {
    Ranges result;
    for (size_t d = 0; d < a.size(); d++)
        result.push_back({std::max(a[d].least, b[d].least), std::min(a[d].most, b[d].most)});
    return result;
}

// Sizes within ranges for which these facts hold.
struct Part {
    Ranges ranges;
    std::vector<SizeFact> facts;
};

// Parts that are still to be looked at: the last one first; where dimensions are open, for which there may be no end,
// the one with the smallest sizes, which are those that are met most.
class OpenParts {
public:
    explicit OpenParts(const std::vector<Dimension>& dimensions) : dimensions_(dimensions) {}

    bool empty() const { return parts_.empty(); }

    void push_back(Part part) {
        int64_t sum = 0, most = 0;  // of digits: one large size is met less than several small ones
        for (size_t d = 0; d < dimensions_.size(); d++) {
            constexpr int64_t small = 2;  // 0 and 1 are classes of their own, and not met more
            const auto least = static_cast<uint64_t>(std::max(small, part.ranges[d].least));
            if (!dimensions_[d].is_open) continue;
            sum += std::bit_width(least);
            most = std::max<int64_t>(most, std::bit_width(least));
        }
        parts_.emplace(std::tuple(most, sum, --next_), std::move(part));
    }

    Part take() { return std::move(parts_.extract(parts_.begin()).mapped()); }

private:
    const std::vector<Dimension>& dimensions_;
    int64_t next_ = 0;
    std::map<std::tuple<int64_t, int64_t, int64_t>, Part> parts_;
};

// Looks for sizes of a part.
class Search {
public:
    Search(const Space& space, const Part& part) : space_(space), part_(part) {}

    std::optional<SizeNames> found() {
        if (auto first = tried(representatives())) return first;
        if (count() <= most_tried) return one_of_all();
        if (auto corner = one_of_corners()) return corner;
        std::mt19937_64 random(1);
        for (int64_t i = 0; i < most_random(); i++) {
            std::vector<int64_t> sizes;
            for (size_t d = 0; d < part_.ranges.size(); d++) sizes.push_back(random_size(random, d));
            if (auto one = tried(sizes)) return one;
            if (auto one = solved(sizes)) return one;
        }
        return std::nullopt;
    }

    std::optional<SizeNames> least() const {
        std::vector<int64_t> sizes;
        for (const SizeRange& range : part_.ranges) sizes.push_back(range.least);
        return tried(sizes);
    }

private:
    const Dimension& dimension(size_t d) const { return space_.dimensions()[d]; }

    // What is open may end before: less is looked for there.
    int64_t most_random() const {
        return std::ranges::any_of(space_.dimensions(), &Dimension::is_open) ? most_tried / 4 : most_tried;
    }

    std::optional<SizeNames> tried(const std::vector<int64_t>& sizes) const {
        SizeNames names = space_.named(sizes);
        const bool holds = std::ranges::all_of(part_.facts, [&](const SizeFact& fact) { return fact.holds(names); });
        return holds ? std::optional(std::move(names)) : std::nullopt;
    }

    // Of the least sizes' classes.
    std::vector<int64_t> representatives() const {
        std::vector<int64_t> sizes;
        for (size_t d = 0; d < part_.ranges.size(); d++) {
            const SizeRange& range = part_.ranges[d];
            const int64_t size = std::clamp(class_representative(range.least), range.least, range.most);
            sizes.push_back(dimension(d).below(size));
        }
        return sizes;
    }

    int64_t count(size_t d) const { return (part_.ranges[d].most - part_.ranges[d].least) / dimension(d).step + 1; }

    int64_t count() const {
        int64_t all = 1;
        for (size_t d = 0; d < part_.ranges.size(); d++) {
            if (count(d) > most_tried / all) return most_tried + 1;
            all *= count(d);
        }
        return all;
    }

    std::optional<SizeNames> one_of_all() const {
        for (int64_t all = 0; all < count(); all++) {
            std::vector<int64_t> sizes;
            int64_t rest = all;
            for (size_t d = 0; d < part_.ranges.size(); d++) {
                sizes.push_back(part_.ranges[d].least + rest % count(d) * dimension(d).step);
                rest /= count(d);
            }
            if (auto one = tried(sizes)) return one;
        }
        return std::nullopt;
    }

    std::optional<SizeNames> one_of_corners() const {
        constexpr size_t most = 10;  // dimensions
        const size_t rank = std::min(part_.ranges.size(), most);
        for (size_t corner = 0; corner < size_t{1} << rank; corner++) {
            std::vector<int64_t> sizes;
            for (size_t d = 0; d < part_.ranges.size(); d++) {
                const bool high = d < rank && (corner >> d & 1) != 0;
                sizes.push_back(high ? part_.ranges[d].most : part_.ranges[d].least);
            }
            if (auto one = tried(sizes)) return one;
        }
        return std::nullopt;
    }

    // Small ones as often as large ones.
    int64_t random_size(std::mt19937_64& random, size_t d) const {
        const auto most = static_cast<uint64_t>(count(d) - 1);
        const int digits = most == 0 ? 0 : 64 - __builtin_clzll(most);
        const uint64_t within = digits == 0 ? 0 : random() >> (64 - (1 + random() % static_cast<uint64_t>(digits)));
        return part_.ranges[d].least + static_cast<int64_t>(std::min(within, most)) * dimension(d).step;
    }

    // With one size such that an equation holds, which is of the first degree in it here.
    std::optional<SizeNames> solved(const std::vector<int64_t>& sizes) const {
        for (const SizeFact& fact : part_.facts) {
            if (fact.relation != Relation::zero) continue;
            for (size_t d = 0; d < sizes.size(); d++) {
                std::vector<int64_t> changed = sizes;
                const auto here = fact.size->evaluated(space_.named(changed));
                changed[d]++;
                const auto next = fact.size->evaluated(space_.named(changed));
                const auto rise = here && next ? checked_subtract(*next, *here) : std::nullopt;
                if (!rise || *rise == 0 || *here == INT64_MIN) continue;
                const auto size = checked_subtract(sizes[d], floor_divide(*here, *rise));
                const SizeRange& range = part_.ranges[d];
                if (!size || *size < range.least || *size > range.most || !dimension(d).has(*size)) continue;
                changed[d] = *size;
                if (auto one = tried(changed)) return one;
            }
        }
        return std::nullopt;
    }

    const Space& space_;
    const Part& part_;
};

class Coverage {
public:
    Coverage(const Space& space, const MakeAt& make) : space_(space), make_(make) {}

    Result<void> cover() {
        OpenParts parts(space_.dimensions());
        parts.push_back({space_.all(), {}});
        while (!parts.empty()) {
            Part part = parts.take();
            if (is_empty(part.ranges) || is_covered(part, parts)) continue;
            const auto sizes = Search(space_, part).found();
            if (!sizes) continue;
            auto made = add(*sizes);
            // Where there is an end, the least sizes are before it if any are.
            if (!made && may_end(made.error())) {
                const auto least = Search(space_, part).least();
                if (least && *least != *sizes) made = add(*least);
            }
            if (!made && (domains_.empty() || !may_end(made.error()))) return made;
            // Of open dimensions what is looked for without an end is left out.
            if (!made && is_open() && (is_last(made.error()) || ++failed_ == most_failed)) return {};
            if (made) parts.push_back(std::move(part));
        }
        return {};
    }

private:
    bool is_open() const { return std::ranges::any_of(space_.dimensions(), &Dimension::is_open); }

    bool may_end(const Diagnostics& problems) const {
        return is_open() || problems.front().code == "graph.limit";
    }

    // Nothing more will be made.
    static bool is_last(const Diagnostics& problems) { return problems.front().code == "artefact.too_many_sizes"; }

    Result<void> add(const SizeNames& sizes) {
        if (domains_.size() == most_plans) {
            return fail({.code = "artefact.too_many_sizes",
                         .summary = "the program is to hold for too many sizes",
                         .expected = fmt::format("at most {} kinds of sizes", most_plans),
                         .found = fmt::format("more, the last one at {}", text_of(sizes)),
                         .reason = "what is computed, or how, follows from sizes themselves",
                         .remedy = "a narrower range, or a step"});
        }
        auto domain = make_(sizes);
        if (!domain) {
            if (!space_.dimensions().empty()) {
                std::string& reason = domain.error().front().reason;
                reason += fmt::format("{}at {}", reason.empty() ? "" : "; ", text_of(sizes));
            }
            return fail(std::move(domain.error()));
        }
        // What holds nowhere would be asked for without an end.
        if (!domain->has(space_.dimensions(), sizes)) {
            domain->ranges.clear();
            domain->facts.clear();
            for (const Dimension& dimension : space_.dimensions())
                domain->ranges.push_back({sizes.at(dimension.name), sizes.at(dimension.name)});
        }
        domains_.push_back(std::move(*domain));
        return {};
    }

    // Whether something holds for all of it, or for a part: then all parts of it are put back.
    bool is_covered(const Part& part, OpenParts& parts) const {
        const auto names = space_.intervals(part.ranges);
        for (const SizeDomain& domain : domains_) {
            const Ranges common = shared(part.ranges, domain.ranges);
            if (is_empty(common)) continue;
            std::optional<SizeFact> open;
            bool holds = true;
            for (const SizeFact& fact : domain.facts) {
                const auto known = known_in(part, fact, names);
                holds = holds && known != false;
                if (!known && !open) open = fact;
            }
            if (!holds) continue;
            if (common == part.ranges && !open) return true;
            common == part.ranges ? split(part, *open, parts) : split(part, common, parts);
            return true;
        }
        return false;
    }

    std::optional<bool> known_in(const Part& part, const SizeFact& fact,
                                 const std::map<std::string, Interval>& names) const {
        if (const auto known = space_.known(fact, names)) return known;
        const SizeFact other = opposite(fact);
        for (const SizeFact& known : part.facts) {
            if (follows(fact, known)) return true;
            if (follows(other, known)) return false;
        }
        return std::nullopt;
    }

    // The common part, and what lies around it, one dimension after another.
    void split(Part part, const Ranges& common, OpenParts& parts) const {
        for (size_t d = 0; d < common.size(); d++) {
            const Dimension& dimension = space_.dimensions()[d];
            const SizeRange whole = part.ranges[d];
            const SizeRange above{common[d].most + dimension.step, whole.most};
            const SizeRange below{whole.least, common[d].least - dimension.step};
            for (const SizeRange& beside : {above, below}) {
                if (beside.is_empty()) continue;
                part.ranges[d] = beside;
                parts.push_back(part);
            }
            part.ranges[d] = common[d];
        }
        parts.push_back(std::move(part));
    }

    void split(const Part& part, const SizeFact& fact, OpenParts& parts) const {
        for (const SizeFact& side : {opposite(fact), fact}) {
            if (auto ranges = space_.narrowed(part.ranges, side)) {
                parts.push_back({std::move(*ranges), part.facts});
                continue;
            }
            Part other = part;
            other.facts.push_back(side);
            parts.push_back(std::move(other));
        }
    }

    const Space& space_;
    const MakeAt& make_;
    std::vector<SizeDomain> domains_;
    int failed_ = 0;  // parts for which nothing could be made
};

}  // namespace

bool SizeDomain::has(const std::vector<Dimension>& dimensions, const SizeNames& sizes) const {
    for (size_t d = 0; d < dimensions.size(); d++) {
        const int64_t size = sizes.at(dimensions[d].name);
        if (size < ranges[d].least || size > ranges[d].most) return false;
    }
    return std::ranges::all_of(facts, [&](const SizeFact& fact) { return fact.holds(sizes); });
}

SizeDomain domain_of(const std::vector<SizeFact>& facts, const std::vector<Dimension>& dimensions,
                     const SizeNames& fixed) {
    const Space space(dimensions, fixed);
    SizeDomain domain{space.all(), {}};
    std::vector<SizeFact> others;
    for (const SizeFact& fact : facts) {
        if (auto narrowed = space.narrowed(domain.ranges, fact))
            domain.ranges = std::move(*narrowed);
        else
            others.push_back(fact);
    }
    if (is_empty(domain.ranges)) return domain;
    const auto names = space.intervals(domain.ranges);
    std::ranges::copy_if(others, std::back_inserter(domain.facts),
                         [&](const SizeFact& fact) { return space.known(fact, names) != true; });
    return domain;
}

Result<void> cover(const std::vector<Dimension>& dimensions, const SizeNames& fixed, const MakeAt& make) {
    const Space space(dimensions, fixed);
    return Coverage(space, make).cover();
}

}  // namespace heddle::artefact
