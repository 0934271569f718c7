// Names in quotes, for the text forms: any bytes go in and come back.
#pragma once

#include <string>
#include <string_view>

namespace heddle {

// `text` between quotes; the quote itself and backslashes with a backslash before, control bytes as \xHH.
std::string quoted_text(std::string_view text, char quote);

// Reads such a text from `at`, its opening quote, to the end of the line at most: the offset behind it, or 0 if it does
// not end well.
size_t read_quoted_text(std::string_view text, size_t at, std::string& result);

}  // namespace heddle
