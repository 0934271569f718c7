// UTF-8 in texts that may come from anybody.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle {

// The length of the valid UTF-8 character at `at` (shortest forms, no surrogates), or 0.
size_t utf8_length(std::string_view text, size_t at);

// The same text; bytes that are no UTF-8 are written as \xNN, so that different texts stay different.
std::string readable_text(std::string_view text);

}  // namespace heddle
