// Where a rule fits in a program.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rewrite/rule.h"

namespace heddle::rewrite {

struct Match {
    std::vector<TensorId> results;    // what is replaced: one an output of the replacement, -1 if not asked for
    std::vector<bool> requested;      // the same, for applying the replacement
    std::vector<Argument> arguments;  // for the rule's variables
    std::map<std::string, StaticValue> values;  // for the parameters of the replacement
};

// Whether the outermost call of the match may be `call`. `given` has the values of the rule's free parameters.
// Parameters that the pattern does not name must have their default. Errors are those of the rule's own expressions.
Result<std::optional<Match>> match_at(const CallGraph& graph, const Rule& rule, int32_t call,
                                      const std::map<std::string, StaticValue>& given);

}  // namespace heddle::rewrite
