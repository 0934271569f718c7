// Comparisons that may be wanted at all sizes of the names' classes: where it is a matter of the size, the answer is no at
// all of them, and no fact. For what is right where the answer is no.
#pragma once

#include "zspace/interval.h"
#include "zspace/size.h"

namespace heddle {

bool is_never_above(const Size& a, const Size& b);
bool is_always_below(const Size& a, const Size& b);

// Whether all of the interval lies in first .. last.
inline bool is_always_within(const Interval& interval, const Size& first, const Size& last) {
    return is_never_above(first, interval.low) && is_never_above(interval.high, last);
}

}  // namespace heddle
