// Applying rules to a program, step by step or to a fixed point.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rewrite/match.h"

namespace heddle::rewrite {

// Steps to a fixed point, and replacements built on the way that change nothing.
inline constexpr int64_t most_steps = 1'000, most_replacements = 10'000;

struct RuleUse {
    std::shared_ptr<const Rule> rule;
    std::map<std::string, StaticValue> parameters;  // of its free parameters
};

// What is replaced and what replaces it, pair by pair, both in the graph, whose uses have not changed.
struct Replacement {
    std::vector<TensorId> before, after;
};

// One step: the rule's name, and the first of the tensors that it replaced.
struct Step {
    std::string rule;
    std::string at;
};

// The replacement at a call, if the rule matches there.
// Codes: rewrite.replacement (it cannot be applied, with why), rewrite.types (it has other types).
Result<std::optional<Replacement>> replacement_at(CallGraph& graph, const RuleUse& use, int32_t call);
// The same, and its uses: true if the program is another one now.
Result<bool> apply_at(CallGraph& graph, const RuleUse& use, int32_t call);

// Applies rules, the first that fits at the first call that it fits at, producers before users, until none fits or
// `limit` steps are done.
// Code rewrite.not_terminating: a program occurs again (without a limit), or a bound is reached.
Result<std::vector<Step>> apply_rules(CallGraph& graph, const std::vector<RuleUse>& uses,
                                      std::optional<int64_t> limit = {});

// "split_inner(chunk: 4)" or "split_inner": rules with values for their free parameters.
// Codes: rewrite.unknown_rule, rewrite.parameters (one that is missing or unknown), those of parsing and of
// compile_rule.
Result<RuleUse> read_rule_use(const std::string& text, const Library& library);
// All rules of the user's libraries whose free parameters have defaults; with `space`, of that library.
Result<std::vector<RuleUse>> user_rules(const Library& library, const std::optional<std::string>& space = {});
// Several texts for read_rule_use, or "NAME::*": user_rules of the library NAME. Codes as theirs; rewrite.unknown_rule
// (it has none).
Result<std::vector<RuleUse>> read_rule_uses(const std::vector<std::string>& texts, const Library& library);

}  // namespace heddle::rewrite
