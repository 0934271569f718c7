// Errors as values. What a user can cause is a Diagnostic, never an exception, an abort or silence.
#pragma once

#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "support/source_text.h"

namespace heddle {

// A second place that matters to an error ("the name was first bound here").
struct DiagnosticContext {
    std::string message;
    Place place;
};

struct Diagnostic {
    // Stable, "room.what", e.g. "language.unknown_name". Every code has a test that must fail with it.
    std::string code;
    // One sentence without a full stop, in the user's words.
    std::string summary;
    Place place;
    std::string expected;
    std::string found;
    std::string reason;
    std::string remedy;
    // Named values for programs: operator, tensor, parameter, dimension ...
    std::vector<std::pair<std::string, std::string>> params;
    std::vector<DiagnosticContext> contexts;
};

// All independent errors of one request, in the order in which they were found; never empty as an error.
using Diagnostics = std::vector<Diagnostic>;

template <typename T>
using Result = std::expected<T, Diagnostics>;

inline std::unexpected<Diagnostics> fail(Diagnostic diagnostic) {
    Diagnostics list;
    list.push_back(std::move(diagnostic));
    return std::unexpected<Diagnostics>(std::move(list));
}
inline std::unexpected<Diagnostics> fail(Diagnostics diagnostics) {
    return std::unexpected<Diagnostics>(std::move(diagnostics));
}

// For people: "file:line:column: error[code]: summary", the source line with a caret, then expected, found, reason,
// remedy.
std::string render(const Diagnostic& diagnostic);
std::string render(const Diagnostics& diagnostics);
// For programs: a JSON array of {type, summary, message, file, line, column, params, contexts}.
std::string render_json(const Diagnostics& diagnostics);

// The candidate nearest to `name` by edit distance, or an empty string if none is near enough to be worth suggesting.
std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace heddle
