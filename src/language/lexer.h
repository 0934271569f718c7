// Text of the language to tokens. Bare line ends are kept as line numbers and indentation: blocks need them.
#pragma once

#include <string_view>
#include <vector>

#include "language/fragment.h"
#include "support/lexer.h"

namespace heddle {

// Ends with one `end` token. A character or number that is no token is reported and becomes a `bad` token, at which a
// parser stops without a second complaint.
std::vector<Token> tokenize(const Fragment& fragment, DiagnosticSink& sink);

// Words of the grammar, which name nothing: let for scan from if in true false none inf nan pi.
bool is_reserved(std::string_view word);

}  // namespace heddle
