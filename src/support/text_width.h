// Texts that fit a terminal.
#pragma once

#include <string>

namespace heddle {

// Words in lines of at most `width` columns; those behind the first begin `indent` columns in. A longer word has a line
// of its own.
std::string filled(const std::string& text, size_t width, size_t indent);

// Lines of the compiler's text forms that are longer than `width` go on in the next ones, four columns further in, with
// a backslash at the end of each but the last: the forms' readers join them again (lexer.h). Nothing is cut inside of
// single quotes.
std::string continued(const std::string& text, size_t width);

}  // namespace heddle
