// Tokens of a system's text.
#pragma once

#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace heddle::equations {

struct Token {
    enum class Kind : uint8_t { name, quoted_name, number, local, symbol, end };
    Kind kind = Kind::end;
    std::string text;  // of a quoted name: without quotes and escapes; of a local: with its $
    size_t offset = 0;
    size_t length = 0;
    bool is(std::string_view symbol) const { return (kind == Kind::symbol || kind == Kind::name) && text == symbol; }
};

// Ends with an `end` token. Error: equations.syntax.
Result<std::vector<Token>> tokenise(const std::shared_ptr<const SourceText>& source);

}  // namespace heddle::equations
