// A cheap index of a template file: the words that may name an operator of it, found without parsing.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace heddle {

// Every word before a `:`, and every word after `name:`. An operator's name (of a family's member, of ONNX) is among
// them; others are harmless: the file is opened once in vain.
std::set<std::string> index_words(std::string_view text);

}  // namespace heddle
