// Sums of small integers are accumulated in a small type: a count of a window's elements needs 8 bits, not the 64 of its
// result, and a vector holds eight times as many.
#include <algorithm>
#include <array>
#include <optional>

#include "equations/fusion.h"
#include "equations/integer_ranges.h"
#include "equations/pass_support.h"
#include "equations/scatter.h"
#include "expr/scalar_interval.h"

namespace heddle::equations {
namespace {

class Narrower {
public:
    explicit Narrower(System& system) : system_(system), arena_(*system.arena), ranges_(system) {}

    void run() {
        for (int32_t index : system_.order()) narrow(index);
    }

private:
    // Terms of one element, at most: a named axis is shorter than twice its class's representative.
    std::optional<int64_t> most_terms(const Equation& equation) const {
        int64_t terms = 1;
        for (AxisId axis : equation.reduced) {
            const Axis& a = arena_.axis(axis);
            if (a.named && a.hint == 0) return std::nullopt;
            if (__builtin_mul_overflow(terms, a.named ? 2 * a.hint : a.extent, &terms)) return std::nullopt;
        }
        return terms;
    }

    void narrow(int32_t index) {
        constexpr std::array types = {DType::int8, DType::uint8, DType::int16, DType::uint16, DType::int32};
        const Equation& equation = system_.equation(index);
        const DType wide = equation.right->dtype;
        const SystemTensor& tensor = system_.tensor(equation.tensor);
        const bool alone = equation.scan < 0 && tensor.equations.size() == 1 && tensor.dtype == wide;
        if (equation.reducer != Reducer::sum || !is_integer(wide) || !alone || scatter_of(system_, equation)) return;
        const Interval term = ranges_.of(equation.right);
        const std::optional<int64_t> terms = most_terms(equation);
        Interval sum;
        if (!terms || !term.known() || __builtin_mul_overflow(std::min<int64_t>(term.low, 0), *terms, &sum.low) ||
            __builtin_mul_overflow(std::max<int64_t>(term.high, 0), *terms, &sum.high))
            return;
        for (DType dtype : types) {
            if (bytes(dtype) >= bytes(wide)) return;
            const Expr right = holds(dtype, sum) ? ranges_.narrowed(arena_, equation.right, dtype) : nullptr;
            if (right == nullptr) continue;
            Arena::Substitution renaming;
            const Expr total = name_reduction(system_, index, "_narrow", right, renaming);
            system_.equation(index).right = arena_.cast(wide, total);
            return;
        }
    }

    System& system_;
    Arena& arena_;
    IntegerRanges ranges_;
};

}  // namespace

void narrow_sums(System& system) { Narrower(system).run(); }

}  // namespace heddle::equations
