#include "rewrite/trial.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rewrite/instance.h"
#include "symbolic/environment.h"
#include "symbolic/session.h"

namespace heddle::rewrite {
namespace {

constexpr int most_trials = 400;
constexpr int enough_failures = 8;  // of what no dtype makes right
constexpr int many_failures = 60;   // of anything else
constexpr int most_applications = 100;

// What no other dtypes or parameters make right.
constexpr std::array<std::string_view, 8> of_bodies = {
    "symbolic.footprint",        "symbolic.cover", "symbolic.guard",     "symbolic.scan", "symbolic.state_step",
    "symbolic.unknown_function", "symbolic.table", "symbolic.no_element"};

// What says nothing of the template: values that are known in a graph only, what its author refuses, limits, sizes
// that leave no room, and shapes that do not fit the parts of a composition.
constexpr std::array<std::string_view, 14> of_the_instance = {
    "symbolic.not_concrete", "symbolic.requirement",     "symbolic.user_error", "symbolic.limit",
    "symbolic.dtype_set",    "symbolic.shape_mismatch",  "symbolic.input_rank", "symbolic.shape_conflict",
    "symbolic.broadcast",    "symbolic.extent",          "symbolic.range",      "symbolic.length",
    "symbolic.overflow",     "symbolic.division_by_zero"};

template <size_t N>
bool are_of(const Diagnostics& problems, const std::array<std::string_view, N>& codes) {
    return std::ranges::all_of(
        problems, [&](const Diagnostic& problem) { return std::ranges::find(codes, problem.code) != codes.end(); });
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
// `whole`: with the optional inputs as well.
Rule rule_of(const Template& metakernel, const RewriteRule& source, bool whole) {
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
        if (input.optional && !whole) continue;
        const auto kind = input.variadic ? OperandPattern::Kind::list : OperandPattern::Kind::variable;
        operands.push_back({kind, input.name, nullptr, nullptr});
    }
    rule.match = std::move(pattern);
    return rule;
}

// One use of an operator in a graph of its own.
class Use {
public:
    Use(const Template& metakernel, const Library& library, const Instance& instance)
        : metakernel_(metakernel), values_(instance.values), session_(library) {
        for (const TensorSpec& input : metakernel.inputs) {
            auto made = instance.tensors.find(input.name);
            std::vector<TensorId> tensors;
            if (made != instance.tensors.end())
                for (const TensorType& type : made->second) tensors.push_back(session_.add_input(input.name, type));
            if (tensors.empty())
                arguments_.emplace_back();
            else if (input.variadic)
                arguments_.emplace_back(std::move(tensors));
            else
                arguments_.emplace_back(tensors[0]);
        }
        while (!arguments_.empty() && !arguments_.back().given) arguments_.pop_back();
    }
    // Whether inputs and parameters fit, and what is applied with them is right.
    Diagnostics misfit() const {
        auto bound = session_.bind(metakernel_, arguments_, values_);
        return bound ? Diagnostics{} : std::move(bound.error());
    }
    Diagnostics failure() {
        auto applied = session_.apply(metakernel_, arguments_, values_);
        return applied ? Diagnostics{} : std::move(applied.error());
    }
    std::optional<Graph> graph() {
        auto applied = session_.apply(metakernel_, arguments_, values_);
        if (!applied) return std::nullopt;
        return session_.finish(*applied);
    }

private:
    const Template& metakernel_;
    const std::map<std::string, StaticValue>& values_;
    Session session_;
    std::vector<Argument> arguments_;
};

// The failures of one class of instances.
struct Failures {
    Diagnostics first;  // of those that count
    int count = 0, of_bodies = 0;

    void add(Diagnostics problems, const Instance& instance) {
        of_bodies += are_of(problems, rewrite::of_bodies);
        if (count++ > 0) return;
        first = std::move(problems);
        for (Diagnostic& problem : first)
            problem.contexts.push_back(
                {fmt::format("applied to {}; every use that was tried fails", instance.text()), {}});
    }
    bool suffice() const { return of_bodies >= enough_failures || count >= many_failures; }
};

}  // namespace

Trial try_operator(const Template& metakernel, const Library& library) {
    if (metakernel.body.empty() && metakernel.graph.empty()) return {{}, "it has no body"};
    const RewriteRule source;
    const Rule least = rule_of(metakernel, source, false), whole = rule_of(metakernel, source, true);
    InstanceMaker makers[] = {{least, library, 1, false, true}, {whole, library, 2, false, true}};
    Failures usual, degenerate;
    bool small_succeeds = false;
    std::string refused;
    int applications = 0;
    for (int trial = 0; trial < most_trials && applications < most_applications && !usual.suffice(); ++trial) {
        const Instance instance = makers[trial % 2].next();
        Use use(metakernel, library, instance);
        if (Diagnostics misfit = use.misfit(); !misfit.empty()) {
            refused = misfit[0].summary;
            continue;
        }
        ++applications;
        Diagnostics problems = use.failure();
        const bool is_small = is_degenerate(instance);
        if (problems.empty() && !is_small) return {};
        if (problems.empty())
            small_succeeds = true;
        else if (are_of(problems, of_the_instance))
            refused = problems[0].summary;
        else
            (is_small ? degenerate : usual).add(std::move(problems), instance);
    }
    if (usual.suffice()) return {std::move(usual.first), {}};
    if (usual.count == 0 && !small_succeeds && degenerate.suffice()) return {std::move(degenerate.first), {}};
    if (small_succeeds && usual.count == 0) return {};
    if (usual.count + degenerate.count > 0)
        return {
            {},
            "few made-up tensors and parameters fit it: " + (usual.count > 0 ? usual : degenerate).first[0].summary};
    return {{}, fmt::format("no made-up tensors and parameters fit it{}{}", refused.empty() ? "" : ": ", refused)};
}

std::optional<Graph> made_up_use(const Template& metakernel, const Library& library) {
    const RewriteRule source;
    const Rule rule = rule_of(metakernel, source, true);
    InstanceMaker maker(rule, library, 2, false);
    for (int trial = 0; trial < most_trials; ++trial) {
        const Instance instance = maker.next();
        if (is_degenerate(instance)) continue;
        Use use(metakernel, library, instance);
        if (!use.misfit().empty()) continue;
        if (auto graph = use.graph()) return graph;
    }
    return std::nullopt;
}

}  // namespace heddle::rewrite
