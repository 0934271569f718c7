// Dtypes and parameters of operators as documents write them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "support/dtype.h"
#include "symbolic/value.h"

namespace heddle::interchange {

std::string dtype_text(DType dtype);                     // "boolean", "int32"
std::optional<DType> dtype_of(const std::string& text);  // "bool" is read too; nothing: none of ours

// JSON text of a parameter as an operation prints it ("[1, batch]", "'text'", "float32"): texts and dtypes are strings,
// none is null, named dimensions are their numbers, and a number that JSON lacks is a string.
std::string parameter_json(const std::string& printed, const std::map<std::string, int64_t>& dimensions);
// The value of JSON text; nothing for objects, and numbers beyond 64 bits.
std::optional<StaticValue> parameter_value_of(const std::string& json);

}  // namespace heddle::interchange
