// The table of the functions of static expressions.
#pragma once

#include <span>
#include <string_view>

#include "symbolic/static_operations.h"

namespace heddle {

struct StaticFunction {
    std::string_view name;
    size_t fewest, most;  // arguments
    Result<StaticValue> (*evaluate)(std::span<const StaticValue> arguments, const Place& place,
                                    EvaluationBudget& budget);
};

// The functions of lists and text; those of numbers, conditions and dtypes are beside `static_function`.
std::span<const StaticFunction> static_list_functions();

}  // namespace heddle
