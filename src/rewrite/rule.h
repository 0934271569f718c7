// A rewrite rule (docs/rewrites.md) made ready: operators looked up, names resolved, both sides as compositions.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "language/library.h"
#include "rewrite/call_graph.h"

namespace heddle::rewrite {

struct CallPattern;

// What may stand for one tensor of an operator's input, or for several of a variadic one.
struct OperandPattern {
    enum class Kind : uint8_t {
        variable,  // X: any tensor; the same one wherever X stands again
        list,      // Xs...: any number of tensors of a variadic input
        call,      // f(...) or f(...)[i]: one result of a call
        results,   // f(...) with a variadic result, in a variadic input: all of its results, in order
        value,     // 1.5, [0, 1]: a constant of rank 0 or 1 with these elements
    };
    Kind kind = Kind::variable;
    std::string variable;
    std::shared_ptr<const CallPattern> call;
    SyntaxPointer value;
};

struct CallPattern {
    const Template* metakernel = nullptr;
    SyntaxPointer syntax;                             // the call itself
    std::vector<std::vector<OperandPattern>> inputs;  // by position; none where the input is not given
    std::optional<int64_t> result;                    // [i] behind the call: one result, or element of a variadic one
    bool several = false;                             // no [i], and more results than one: a list
};

struct Rule {
    const RewriteRule* source = nullptr;
    std::string name;  // "library::name" of a user's library
    std::shared_ptr<const CallPattern> match;
    std::vector<const CallPattern*> patterns;  // all of them, outermost first, operands from left to right
    std::vector<std::string> variables;        // in the order of the match; a list variable is the last
    std::string list_variable;                 // empty: there is none
    // `$` names that the match binds by standing for a parameter: `perm: $p`, `starts: [$a]`.
    std::set<std::string> bound;
    // `$` names that an operator of the match binds by its own patterns, parameters and lets, with its place in
    // `patterns`.
    std::map<std::string, size_t> borrowed;
    // Inputs are the variables, parameters are `bound`, `borrowed` and the rule's own; outputs are what is replaced.
    // The first makes what the rule matches (without `borrowed`), for tests.
    Template pattern, replacement;

    // A parameter that is given when the rule is applied, not by the match.
    bool is_free(const Parameter& parameter) const { return !bound.contains(parameter.name); }
};

// Codes: rewrite.match (not a call, or a pattern that cannot be matched), rewrite.results (another number of results),
// rewrite.unknown_name (a variable or `$name` that the match does not bind; or one that two operators bind), those of
// Library::find_from, language.unknown_parameter, language.operator_arguments.
Result<std::shared_ptr<const Rule>> compile_rule(const RewriteRule& source, const Library& library);

// All rules of a library that hold the name: "mine::name" or "name". Code rewrite.unknown_rule (none, or several).
Result<const RewriteRule*> find_rule(const Library& library, const std::string& name);
std::string full_name(const RewriteRule& rule);

}  // namespace heddle::rewrite
