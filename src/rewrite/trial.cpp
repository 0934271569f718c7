#include "rewrite/trial.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rewrite/instance.h"
#include "symbolic/session.h"

namespace heddle::rewrite {
namespace {

constexpr int most_trials = 200;
constexpr int enough_failures = 8;  // in the body

constexpr std::array<std::string_view, 8> of_bodies = {
    "symbolic.footprint",        "symbolic.cover", "symbolic.guard",     "symbolic.scan", "symbolic.state_step",
    "symbolic.unknown_function", "symbolic.table", "symbolic.no_element"};

bool is_of_body(const Diagnostics& problems) {
    return std::ranges::all_of(problems, [](const Diagnostic& problem) {
        return std::ranges::find(of_bodies, problem.code) != of_bodies.end();
    });
}

// Of no elements, or of one along a dimension, much is right that is wrong otherwise.
bool is_degenerate(const Instance& instance) {
    auto is_small = [](const TensorType& type) {
        return std::ranges::any_of(type.shape, [](const Size& size) { return size.value < 2; });
    };
    return std::ranges::any_of(instance.tensors,
                               [&](const auto& made) { return std::ranges::any_of(made.second, is_small); });
}

// A rule that matches the operator alone, applied to variables of its inputs' names: what instances are made of.
Rule rule_of(const Template& metakernel, const RewriteRule& source) {
    Rule rule;
    rule.source = &source;
    auto call = std::make_shared<Syntax>();
    call->kind = Syntax::Kind::call;
    call->text = metakernel.name;
    auto pattern = std::make_shared<CallPattern>();
    pattern->metakernel = &metakernel;
    for (const Parameter& parameter : metakernel.params) {
        if (parameter.default_value) continue;
        auto value = std::make_shared<Syntax>();
        value->kind = Syntax::Kind::static_name;
        value->text = parameter.name;
        call->named.push_back({parameter.name, value, {}});
        rule.bound.insert(parameter.name);
    }
    pattern->syntax = call;
    for (const TensorSpec& input : metakernel.inputs) {
        auto& operands = pattern->inputs.emplace_back();
        if (input.optional) continue;
        const auto kind = input.variadic ? OperandPattern::Kind::list : OperandPattern::Kind::variable;
        operands.push_back({kind, input.name, nullptr, nullptr});
    }
    rule.match = std::move(pattern);
    return rule;
}

Result<void> apply(const Template& metakernel, const Library& library, const Instance& instance) {
    Session session(library);
    std::vector<Argument> arguments;
    for (const TensorSpec& input : metakernel.inputs) {
        auto made = instance.tensors.find(input.name);
        std::vector<TensorId> tensors;
        if (made != instance.tensors.end())
            for (const TensorType& type : made->second) tensors.push_back(session.add_input(input.name, type));
        if (tensors.empty())
            arguments.emplace_back();
        else if (input.variadic)
            arguments.emplace_back(std::move(tensors));
        else
            arguments.emplace_back(tensors[0]);
    }
    while (!arguments.empty() && !arguments.back().given) arguments.pop_back();
    auto applied = session.apply(metakernel, arguments, instance.values);
    if (!applied) return std::unexpected(std::move(applied.error()));
    return {};
}

}  // namespace

Diagnostics mistakes_of_every_use(const Template& metakernel, const Library& library) {
    if (metakernel.body.empty()) return {};
    const RewriteRule source;
    const Rule rule = rule_of(metakernel, source);
    InstanceMaker maker(rule, library, 1, false);
    Diagnostics first;
    int failures = 0;
    for (int trial = 0; trial < most_trials && failures < enough_failures; ++trial) {
        const Instance instance = maker.next();
        if (is_degenerate(instance)) continue;
        auto applied = apply(metakernel, library, instance);
        if (applied) return {};
        if (!is_of_body(applied.error())) continue;
        if (failures++ > 0) continue;
        first = std::move(applied.error());
        for (Diagnostic& problem : first)
            problem.contexts.push_back(
                {fmt::format("applied to {}; every size that was tried fails", instance.text()), {}});
    }
    return failures == enough_failures ? first : Diagnostics{};
}

}  // namespace heddle::rewrite
