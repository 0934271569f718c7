// Both sides of a rule have the same types.
#include <fmt/format.h>

#include "rewrite/verify.h"

namespace heddle::rewrite {
namespace {

constexpr int64_t instances_checked = 24, instances_tried = 1'200;

bool same_expressions(const Sides& sides) {
    for (size_t i = 0; i < sides.left.size(); ++i) {
        if (sides.graph.type(sides.left[i]).shape != sides.graph.type(sides.right[i]).shape) return false;
    }
    return true;
}

}  // namespace

Result<TypeCheck> check_types(const std::shared_ptr<const Rule>& rule, const Library& library, uint64_t seed) {
    InstanceMaker maker(*rule, library, seed, true);
    TypeCheck check{0, true};
    for (int64_t i = 0; i < instances_tried && check.instances < instances_checked; ++i) {
        Instance instance = maker.next();
        auto sides = sides_of(rule, library, instance);
        if (!sides) {
            std::string code = sides.error().front().code;
            Instance smallest = shrink(std::move(instance), [&](const Instance& smaller) {
                auto again = sides_of(rule, library, smaller);
                return !again && again.error().front().code == code;
            });
            auto problems = sides_of(rule, library, smallest).error();
            problems.front().contexts.push_back({"for " + smallest.text(), {}});
            return fail(std::move(problems));
        }
        if (!*sides) continue;
        ++check.instances;
        check.symbolic = check.symbolic && same_expressions(**sides);
    }
    if (check.instances > 0) return check;
    return fail(
        {.code = "rewrite.no_instance",
         .summary = fmt::format("nothing was found that the rule {} matches", rule->name),
         .place = rule->source->match->place,
         .reason = fmt::format("{} random instances were refused by its operators or conditions", instances_tried),
         .remedy = "bind parameters by name (axis: $axis) and make the conditions weaker"});
}

Result<std::vector<std::shared_ptr<const Rule>>> load_rules(const Library& library,
                                                            const std::optional<std::string>& space) {
    std::vector<std::shared_ptr<const Rule>> rules;
    Diagnostics problems;
    for (const RewriteRule* source : library.rewrites()) {
        if (space && source->library != *space) continue;
        auto rule = compile_rule(*source, library);
        if (!rule) {
            problems.insert(problems.end(), rule.error().begin(), rule.error().end());
            continue;
        }
        auto checked = check_types(*rule, library);
        if (!checked) problems.insert(problems.end(), checked.error().begin(), checked.error().end());
        rules.push_back(std::move(*rule));
    }
    if (!problems.empty()) return fail(std::move(problems));
    return rules;
}

}  // namespace heddle::rewrite
