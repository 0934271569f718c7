// How evaluation says what is wrong. Inside of an evaluation a failure is thrown: expressions are deep, and an error
// ends its statement. It is caught within this room, where `Environment::evaluate` and the builders give results.
#pragma once

#include <string>

#include "support/diagnostic.h"
#include "symbolic/value.h"

namespace heddle {

// Without diagnostics it stands for a name that failed before: its users are silent.
struct EvaluationFailure {
    Diagnostics diagnostics;
};

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
                                               const Value& found, std::string remedy = {}) {
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

[[noreturn]] inline void refuse(std::unexpected<Diagnostics> problem) {
    throw EvaluationFailure{std::move(problem.error())};
}

template <typename T>
T unwrapped(Result<T> result) {
    if (!result) throw EvaluationFailure{std::move(result.error())};
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace heddle
