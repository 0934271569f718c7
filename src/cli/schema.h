// heddle schema: the JSON Schema (draft 7) of template files, and of targets, for editors.
#pragma once

#include <string>

namespace heddle::cli {

// Made of the reader's own table of keys (language/keys.h), so that an editor and the reader know the same ones. It
// says what is a mapping, a list or text; what expressions mean is checked by `heddle check`.
std::string template_schema();

int print_schema(bool targets);

}  // namespace heddle::cli
