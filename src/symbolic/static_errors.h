// How static evaluation words its errors.
#pragma once

#include <string>

#include "support/diagnostic.h"
#include "symbolic/static_operations.h"
#include "symbolic/static_value.h"

namespace heddle {

inline std::unexpected<Diagnostics> static_error(std::string code, const Place& place, std::string summary,
                                                 std::string remedy = {}) {
    Diagnostic diagnostic;
    diagnostic.code = std::move(code);
    diagnostic.place = place;
    diagnostic.summary = std::move(summary);
    diagnostic.remedy = std::move(remedy);
    return fail(std::move(diagnostic));
}

inline std::unexpected<Diagnostics> type_error(const Place& place, std::string summary, std::string expected,
                                               const StaticValue& found, std::string remedy = {}) {
    Diagnostic diagnostic;
    diagnostic.code = found.is_none() ? "symbolic.not_given" : "symbolic.type";
    diagnostic.place = place;
    diagnostic.summary = std::move(summary);
    diagnostic.expected = std::move(expected);
    diagnostic.found = found.describe();
    diagnostic.remedy = found.is_none() ? "test it with has() first" : std::move(remedy);
    return fail(std::move(diagnostic));
}

inline std::unexpected<Diagnostics> limit_error(const Place& place, std::string summary) {
    return static_error("symbolic.limit", place, std::move(summary));
}

// Spends the steps of making or walking `elements` elements, and checks that a list may have so many.
Result<void> spend_list(int64_t elements, const Place& place, EvaluationBudget& budget);

}  // namespace heddle
