// Between which ends the integers of a system's equations lie.
#pragma once

#include <unordered_map>

#include "equations/system.h"
#include "zspace/interval.h"

namespace heddle::equations {

// Of an integer or boolean value, each worked out once: by its operations, and by what pointwise equations put into the
// tensors that it reads. Of floats nothing is known. Valid as long as the system's equations stay.
class IntegerRanges {
public:
    explicit IntegerRanges(const System& system) : system_(system) {}
    Interval of(Expr value);
    // The same number in a type that holds all of its values, worked out in it; nothing where it would not save.
    Expr narrowed(Arena& arena, Expr value, DType dtype);

private:
    Interval of_elements(TensorIndex tensor);
    static Interval of_numbers(const TensorData& table);

    const System& system_;
    std::unordered_map<Expr, Interval> known_;
    std::unordered_map<TensorIndex, Interval> elements_;
};

bool holds(DType dtype, Interval values);
// Of integers: the result of the operation on exact operands is theirs as numbers, but where it leaves its type.
bool is_exact_on_integers(Expr value);

}  // namespace heddle::equations
