// Between which ends the integers of a system's equations lie.
#pragma once

#include <functional>
#include <unordered_map>

#include "equations/system.h"
#include "expr/scalar_interval.h"
#include "zspace/interval.h"

namespace heddle::equations {

// Of an integer or boolean value, each worked out once: by its operations, and by what equations put into the tensors
// that it reads: pointwise ones, sums of so many terms, and states that each of so many steps changes by so much. Of
// floats nothing is known. Valid as long as the tensors keep their numbers.
class IntegerRanges {
public:
    explicit IntegerRanges(const System& system);
    Interval of(Expr value);
    Interval of_elements(TensorIndex tensor);
    // The same number in a type that holds all of its values, worked out in it; nothing where it would not save.
    Expr narrowed(Arena& arena, Expr value, DType dtype);

private:
    // What a state may be after a step: these values, and what it was with these added; empty where there are none.
    struct Step {
        Interval values, changes;
    };
    static constexpr Interval nothing = {INT64_MAX, INT64_MIN};
    Interval in_class(const Interval& range) const;
    Interval of_operation(Expr value);
    Interval of_sum(const Equation& equation);
    Interval of_state(TensorIndex tensor);
    Step step_of(TensorIndex state, Expr value);
    static Step step_of_operation(Expr value, const std::function<Step(Expr)>& of_part);
    static Interval of_numbers(const TensorData& table);

    const System& system_;
    std::unordered_map<Expr, Interval> known_;
    std::unordered_map<TensorIndex, Interval> elements_;
};

// Of integers: the result of the operation on exact operands is theirs as numbers, but where it leaves its type.
bool is_exact_on_integers(Expr value);
bool is_remainder(Expr value);  // of integers, by a literal above 0: rounded down, so none is below 0

}  // namespace heddle::equations
