#include "schedules/written_digits.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "schedules/accesses.h"
#include "schedules/digit_writer.h"
#include "schedules/movements.h"
#include "target/choice_numbers.h"
#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

bool is_division(Expr e) { return e->kind == Kind::floor_divide || e->kind == Kind::modulo; }

// Where a coordinate that is known decides something.
bool is_decided_by_coordinate(Expr e) {
    return is_division(e) || e->kind == Kind::minimum || e->kind == Kind::maximum || e->kind == Kind::negative ||
           e->kind == Kind::inside;
}

class DigitFinder {
public:
    explicit DigitFinder(const Kernel& kernel) : kernel_(kernel) {}
    std::vector<Digit> find() const;  // that may be written out, the first at once

private:
    bool may_be_written(AxisId axis) const;
    bool fits(const Digit& digit) const;
    std::optional<int64_t> period(AxisId axis) const;
    bool decides(AxisId axis) const;
    bool contracts(const KernelEquation& e) const;
    bool lies_between(AxisId axis, TensorIndex tensor, const std::vector<Expr>& coordinates) const;
    bool reads_between(AxisId axis, const KernelEquation& e) const;
    bool reduces_beside(AxisId axis, const KernelEquation& e) const;
    bool fills(AxisId axis) const;
    std::optional<Digit> divided(AxisId axis) const;
    std::optional<Digit> whole(AxisId axis) const;

    const Kernel& kernel_;
};

// Steps of scans and updates have an order of their own.
bool DigitFinder::may_be_written(AxisId axis) const {
    return std::ranges::all_of(kernel_.equations, [&](const KernelEquation& e) {
        return e.ordered < 0 && !e.update && !contains(e.reduced, axis);
    });
}

// Short code, and an axis for vectors beside the digit, where there are more points than the digit's own.
bool DigitFinder::fits(const Digit& digit) const {
    int64_t terms = 0, equations = 0;
    for (const KernelEquation& e : kernel_.equations) {
        if (!contains(e.axes, digit.axis)) continue;
        int64_t longest = digit.divides ? kernel_.hint(digit.axis) / digit.count : 0;
        for (const auto* axes : {&e.axes, &e.reduced}) {
            for (AxisId axis : *axes) {
                if (axis != digit.axis) longest = std::max(longest, kernel_.hint(axis));
            }
        }
        const bool alone = !digit.divides && longest == 0;
        if (!alone && longest < choice_numbers::shortest_beside_digit) return false;
        equations++;
        for (AxisId axis : e.axes) terms += axis == digit.axis ? code_size(e.right, axis) : 0;
    }
    return equations > 0 && terms * digit.count <= choice_numbers::written_terms &&
           equations * digit.count + static_cast<int64_t>(kernel_.equations.size()) <=
               choice_numbers::written_equations;
}

// The least s so that s * q leaves every quotient and remainder of a sum that the axis is in.
std::optional<int64_t> DigitFinder::period(AxisId axis) const {
    int64_t common = 1;
    for (const KernelEquation& e : kernel_.equations) {
        if (!contains(e.axes, axis)) continue;
        for (Expr node : expr::walk(e.right)) {
            if (!is_division(node) || node->integer < 1) continue;
            const Size factor = coefficient(node->parts()[0], axis);
            if (factor.same_as(0)) continue;
            if (factor.named() || node->integer.named()) return std::nullopt;
            common = std::lcm(common, node->integer.number() / std::gcd(node->integer.number(), factor.number()));
            if (common > choice_numbers::longest_written_digit) return std::nullopt;
        }
    }
    return common > 1 ? std::optional(common) : std::nullopt;
}

std::optional<Digit> DigitFinder::divided(AxisId axis) const {
    const auto count = period(axis);
    // A coordinate that wraps has its axis's extent for divisor, and is no digit: in the classes of sizes that are
    // expected to be so long, no extent is so small.
    if (!count || kernel_.hint(axis) < 4 * *count || kernel_.axis(axis).extent.same_as(*count)) return std::nullopt;
    const Digit digit = {axis, *count, true};
    return fits(digit) ? std::optional(digit) : std::nullopt;
}

bool DigitFinder::decides(AxisId axis) const {
    return std::ranges::any_of(kernel_.equations, [&](const KernelEquation& e) {
        return contains(e.axes, axis) && std::ranges::any_of(expr::walk(e.right), [&](Expr node) {
                   return is_decided_by_coordinate(node) && depends_on(node, axis);
               });
    });
}

// A contraction has a use of its own for each of its axes.
bool DigitFinder::contracts(const KernelEquation& e) const {
    const auto reads = reads_of(e.right);
    return e.reducer &&
           std::ranges::any_of(reads, [&](const ReadAccess& read) { return read.tensor != reads[0].tensor; });
}

// The axis is a dimension of its own, right inside of one that another axis moves.
bool DigitFinder::lies_between(AxisId axis, TensorIndex tensor, const std::vector<Expr>& coordinates) const {
    const KernelTensor& of = kernel_.tensor(tensor);
    if (of.role == KernelTensor::Role::local || of.dimensions.size() < 2) return false;
    const size_t last = of.dimensions.size() - 1;
    return plain_axis(coordinates[last]) == axis && of.dimensions[last].stride.same_as(1) &&
           of.dimensions[last - 1].stride.same_as(kernel_.axis(axis).extent) && !coordinates[last - 1]->axes.empty();
}

bool DigitFinder::reads_between(AxisId axis, const KernelEquation& e) const {
    return std::ranges::any_of(reads_of(e.right), [&](const ReadAccess& read) {
        return lies_between(axis, read.tensor, coordinates_of(read.value));
    });
}

// Between points that are reduced: vectors go along these, not along few results.
bool DigitFinder::reduces_beside(AxisId axis, const KernelEquation& e) const {
    return std::ranges::any_of(reads_of(e.right), [&](const ReadAccess& read) {
        const std::vector<Expr> at = coordinates_of(read.value);
        if (!lies_between(axis, read.tensor, at)) return false;
        return std::ranges::any_of(at[at.size() - 2]->axes, [&](AxisId a) { return contains(e.reduced, a); });
    });
}

// Its points lie between those of another axis: written one by one, they fill the vectors that are stored, or are taken
// from vectors that are loaded.
bool DigitFinder::fills(AxisId axis) const {
    const Size& extent = kernel_.axis(axis).extent;
    bool any = false;
    for (const KernelEquation& e : kernel_.equations) {
        if (!contains(e.axes, axis)) continue;
        if (e.left.empty() || contracts(e)) return false;
        any = any || (e.reducer ? reduces_beside(axis, e) : reads_between(axis, e));
        if (e.reducer || kernel_.tensor(e.tensor).role == KernelTensor::Role::local) continue;
        any = any || lies_between(axis, e.tensor, e.left);
        any = any || (coefficient(e.left.back(), axis).same_as(1) && std::ranges::any_of(e.axes, [&](AxisId other) {
                          return coefficient(e.left.back(), other).same_as(extent);
                      }));
    }
    return any;
}

std::optional<Digit> DigitFinder::whole(AxisId axis) const {
    const Axis& a = kernel_.axis(axis);
    if (a.named || a.extent < 2 || a.extent > choice_numbers::longest_written_digit) return std::nullopt;
    if (!decides(axis) && !fills(axis)) return std::nullopt;
    const auto reduces = [&](const KernelEquation& e) { return contains(e.axes, axis) && reduces_beside(axis, e); };
    const bool are_tasks = contains(kernel_.common, axis) && kernel_.common.size() == 1;
    if (are_tasks && std::ranges::none_of(kernel_.equations, reduces)) return std::nullopt;
    const Digit digit = {axis, a.extent, false};
    return fits(digit) ? std::optional(digit) : std::nullopt;
}

// Innermost axes first: then the copies of one point stand side by side.
std::vector<Digit> DigitFinder::find() const {
    std::vector<Digit> found;
    std::set<AxisId> seen;
    for (const KernelEquation& e : kernel_.equations) {
        for (size_t i = e.axes.size(); i-- > 0;) {
            const AxisId axis = e.axes[i];
            if (!seen.insert(axis).second || !may_be_written(axis)) continue;
            if (const auto digit = divided(axis)) found.push_back(*digit);
            if (const auto digit = whole(axis)) found.push_back(*digit);
        }
    }
    return found;
}

// The kernel with the digit written out, if that leaves no quotient of its axis.
std::optional<Kernel> with(const Kernel& kernel, const Digit& digit) {
    DigitWriter writer(kernel, digit);
    Kernel made = writer.write();
    if (!digit.divides) return made;
    for (const KernelEquation& e : made.equations) {
        for (Expr node : expr::walk(e.right)) {
            if (is_division(node) && depends_on(node, writer.quotient())) return std::nullopt;
        }
    }
    return made;
}

}  // namespace

std::optional<Kernel> with_written_digits(const Kernel& kernel) {
    if (DigitFinder(kernel).find().empty()) return std::nullopt;
    Kernel made = copied(kernel);
    bool any = false;
    for (bool again = true; again;) {
        again = false;
        for (const Digit& digit : DigitFinder(made).find()) {
            auto more = with(made, digit);
            if (!more) continue;
            made = std::move(*more);
            any = again = true;
            break;
        }
    }
    return any ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace heddle::schedules
