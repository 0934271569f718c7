// A program of calls before and after rules: what `heddle rewrite` and Python's `Library.rewrite` give.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "language/library.h"
#include "support/source_text.h"

namespace heddle::explain {

struct Rewritten {
    std::string before, after;
    std::vector<std::string> steps;  // rules
};

// `arguments`: "x=float32[2, 3]" each, the inputs of the program in this order. `rules` as rewrite::read_rule_uses
// takes them; none: those of the user's libraries. So many steps at most; nothing: to a fixed point. Codes
// cli.no_rules, those of arguments.h, of programs and of rules.
Result<Rewritten> rewrite_program(std::shared_ptr<const SourceText> program, const Library& library,
                                  const std::vector<std::string>& arguments, const std::vector<std::string>& rules,
                                  std::optional<int64_t> limit);

}  // namespace heddle::explain
