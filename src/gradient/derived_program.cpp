#include "gradient/derived_program.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "gradient/batched.h"
#include "gradient/derived_graph.h"
#include "gradient/gradient.h"
#include "gradient/split.h"
#include "gradient/tangents.h"

namespace heddle::gradient {
namespace {

using Mode = heddle::Derivation::Mode;

constexpr int32_t largest_width = 1 << 16;

Diagnostic wrong_activity(std::string summary, std::string expected, std::string found) {
    return {.code = "gradient.activity",
            .summary = std::move(summary),
            .expected = std::move(expected),
            .found = std::move(found),
            .remedy = "see gradient/derived_program.h"};
}

class Program {
public:
    Program(const Graph& graph, const heddle::Derivation& derivation) : graph_(graph), derivation_(derivation) {}

    Result<void> check() {
        Diagnostics problems;
        if (derivation_.width < 1 || derivation_.width > largest_width)
            problems.push_back(wrong_activity("there is no such width", fmt::format("1 to {}", largest_width),
                                              std::to_string(derivation_.width)));
        const std::vector<Activity>& given = derivation_.activities;
        const size_t arguments = graph_.inputs.size() + graph_.outputs.size();
        if (!given.empty() && given.size() != arguments)
            problems.push_back(wrong_activity("activities are not one an argument",
                                              fmt::format("{}: the inputs', then the outputs'", arguments),
                                              std::to_string(given.size())));
        if (!problems.empty()) return fail(std::move(problems));
        batched_ = derivation_.width > 1 || std::ranges::find(given, Activity::batched) != given.end();
        const Activity usual = batched_ ? Activity::batched : Activity::duplicated;
        for (size_t i = 0; i < arguments; ++i) {
            const bool smooth = is_differentiable(type_of(i).dtype);
            activities_.push_back(!given.empty() ? given[i] : smooth ? usual : Activity::constant);
            if (auto problem = problem_of(i)) problems.push_back(std::move(*problem));
        }
        if (!problems.empty()) return fail(std::move(problems));
        return {};
    }

    Result<DerivedProgram> made() {
        switch (derivation_.mode) {
        case Mode::primal: break;
        case Mode::forward: return forward();
        case Mode::combined: return combined();
        case Mode::augmented:
        case Mode::reverse: return of_two();
        }
        return DerivedProgram{graph_, {}};
    }

private:
    TensorId argument(size_t i) const {
        return i < graph_.inputs.size() ? graph_.inputs[i] : graph_.outputs[i - graph_.inputs.size()];
    }
    const Tensor& tensor(size_t i) const { return graph_.tensor(argument(i)); }
    const TensorType& type_of(size_t i) const { return tensor(i).type; }

    std::optional<Diagnostic> problem_of(size_t i) const {
        const Activity activity = activities_[i];
        const std::string of = fmt::format("the activity of '{}' cannot be", tensor(i).name);
        if (activity == Activity::constant) return std::nullopt;
        if (!is_differentiable(type_of(i).dtype))
            return wrong_activity(of, "constant, where the type is neither float nor complex", type_of(i).text());
        if (activity == Activity::active && (i >= graph_.inputs.size() || !type_of(i).shape.empty()))
            return wrong_activity(of, "active only where it is an input that is a single number", type_of(i).text());
        if (activity == Activity::overwritten) {
            if (i >= graph_.inputs.size() && std::ranges::find(graph_.inputs, argument(i)) == graph_.inputs.end())
                return std::nullopt;
            return wrong_activity(of, "overwritten only where it is an output, and no input", "an input");
        }
        if (activity != Activity::active && (activity == Activity::batched) != batched_)
            return wrong_activity(of, "batched as all others with shadows are, or none, where the width is one",
                                  fmt::format("another, and a width of {}", derivation_.width));
        return std::nullopt;
    }

    std::vector<TensorId> with_shadows(bool outputs) const {
        std::vector<TensorId> list;
        const size_t inputs = graph_.inputs.size();
        for (size_t i = outputs ? inputs : 0; i < (outputs ? activities_.size() : inputs); ++i)
            if (activities_[i] != Activity::constant && std::ranges::find(list, argument(i)) == list.end())
                list.push_back(argument(i));
        return list;
    }

    std::vector<TensorId> needed_outputs() const {
        std::vector<TensorId> list;
        for (size_t i = graph_.inputs.size(); i < activities_.size(); ++i)
            if (activities_[i] != Activity::duplicated_no_need) list.push_back(argument(i));
        return list;
    }

    std::vector<TensorId> overwritten() const {
        std::vector<TensorId> list;
        for (size_t i = graph_.inputs.size(); i < activities_.size(); ++i)
            if (activities_[i] == Activity::overwritten) list.push_back(argument(i));
        return list;
    }

    // The graph with its other outputs' derivatives left out.
    Graph seeded() const {
        Graph graph = graph_;
        graph.outputs = with_shadows(true);
        return graph;
    }

    Result<DerivedProgram> forward() const {
        auto made = value_and_tangents(seeded(), with_shadows(false), needed_outputs());
        if (!made) return fail(std::move(made.error()));
        return with_width(std::move(*made), graph_.inputs.size(), needed_outputs().size());
    }

    Result<DerivedProgram> combined() const {
        auto made = value_and_gradient(seeded(), with_shadows(false), needed_outputs());
        if (!made) return fail(std::move(made.error()));
        auto whole = with_width(std::move(*made), graph_.inputs.size(), needed_outputs().size());
        if (!whole) return whole;
        add_shadows(whole->graph);
        clear_overwritten(whole->graph);
        return whole;
    }

    Result<DerivedProgram> of_two() const {
        auto policy = parse_tape_policy(derivation_.tape_policy);
        if (!policy) return fail(std::move(policy.error()));
        auto both = split(graph_, {with_shadows(false), overwritten(), *policy});
        if (!both) return fail(std::move(both.error()));
        if (derivation_.mode == Mode::augmented) return DerivedProgram{std::move(both->forward), std::move(both->tape)};
        Graph reverse = with_zeros(both->reverse);
        const size_t values = reverse.inputs.size() - with_shadows(true).size();
        auto whole = with_width(std::move(reverse), values, 0);
        if (!whole) return whole;
        add_shadows(whole->graph);
        clear_overwritten(whole->graph);
        whole->tape = std::move(both->tape);
        return whole;
    }

    // With a first axis for the shadows, which are the inputs from `first` on, and for results from `first_result` on. Of
    // these, what depends on no shadow is zero, since it is linear in them.
    Result<DerivedProgram> with_width(Graph graph, size_t first, size_t first_result) const {
        if (!batched_) return DerivedProgram{std::move(graph), {}};
        const Size width(derivation_.width);
        auto wide = batched(graph, {graph.inputs.begin() + static_cast<int64_t>(first), graph.inputs.end()}, width);
        if (!wide) return fail(std::move(wide.error()));
        DerivedGraph made(std::move(*wide));
        Graph& to = made.graph();
        for (size_t i = first_result; i < to.outputs.size(); ++i) {
            const Tensor& single = graph.tensor(graph.outputs[i]);
            if (to.tensor(to.outputs[i]).type == single.type)
                to.outputs[i] = made.add_sum({}, "zeros.", single.name, longer(single.type, width));
        }
        DerivedProgram whole{prune(to), {}};
        whole.graph.dimension_names = to.dimension_names;
        return whole;
    }

    // A reverse program whose last inputs are adjoints of all outputs that have derivatives: of those without a shadow
    // they are zeros, and no inputs.
    Graph with_zeros(const Graph& reverse) const {
        const std::vector<TensorId> adjoints = outputs_with_derivatives(graph_), shadows = with_shadows(true);
        DerivedGraph whole({});
        Graph& to = whole.graph();
        to.dimension_names = reverse.dimension_names;
        std::vector<TensorId> given;
        const size_t first = reverse.inputs.size() - adjoints.size();
        for (size_t i = 0; i < reverse.inputs.size(); ++i) {
            const Tensor& of = reverse.tensor(reverse.inputs[i]);
            if (i >= first && std::ranges::find(shadows, adjoints[i - first]) == shadows.end()) {
                given.push_back(whole.add_sum({}, "zeros.", of.name, of.type));
                continue;
            }
            to.inputs.push_back(to.add_tensor(of.name, of.type));
            given.push_back(to.inputs.back());
        }
        to.outputs = splice(to, reverse, given, "");
        return std::move(to);
    }

    // Its last outputs are the adjoints of inputs with shadows: they are added to these, which are further inputs.
    void add_shadows(Graph& graph) const {
        const std::vector<TensorId> inputs = with_shadows(false);
        DerivedGraph whole(std::move(graph));
        Graph& to = whole.graph();
        const size_t first = to.outputs.size() - inputs.size();
        for (size_t i = 0; i < inputs.size(); ++i) {
            const auto place = std::ranges::find(graph_.inputs, inputs[i]) - graph_.inputs.begin();
            if (activities_[static_cast<size_t>(place)] == Activity::active) continue;
            TensorId& adjoint = to.outputs[first + i];
            const TensorType type = to.tensor(adjoint).type;  // tensors are added below
            const TensorId shadow = to.add_tensor("shadow_" + graph_.tensor(inputs[i]).name, type);
            to.inputs.push_back(shadow);
            adjoint = whole.add_sum({shadow, adjoint}, "add.", to.tensor(shadow).name + ".after", type);
        }
        graph = std::move(to);
    }

    // What the memory held before has no part in the result.
    void clear_overwritten(Graph& graph) const {
        DerivedGraph whole(std::move(graph));
        Graph& to = whole.graph();
        for (TensorId output : overwritten()) {
            const Tensor& of = graph_.tensor(output);
            const TensorType type = batched_ ? longer(of.type, Size(derivation_.width)) : of.type;
            to.outputs.push_back(whole.add_sum({}, "clear.", "d_" + of.name + ".after", type));
        }
        graph = std::move(to);
    }

    const Graph& graph_;
    const heddle::Derivation& derivation_;
    std::vector<Activity> activities_;  // one an argument
    bool batched_ = false;              // all shadows
};

}  // namespace

Result<DerivedProgram> derived_program(const Graph& graph, const heddle::Derivation& derivation) {
    if (derivation.mode == Mode::primal) return DerivedProgram{graph, {}};
    Program program(graph, derivation);
    if (auto checked = program.check(); !checked) return fail(std::move(checked.error()));
    return program.made();
}

Result<TapePolicy> parse_tape_policy(std::string_view text) {
    using Kind = TapePolicy::Kind;
    constexpr std::pair<std::string_view, Kind> names[] = {{"", Kind::balanced},
                                                           {"balanced", Kind::balanced},
                                                           {"save_all", Kind::save_all},
                                                           {"recompute_all", Kind::recompute_all},
                                                           {"fewest_bytes", Kind::fewest_bytes}};
    for (const auto& [name, kind] : names)
        if (text == name) return TapePolicy{.kind = kind};
    const auto number_behind = [text](std::string_view word) -> std::optional<int64_t> {
        if (!text.starts_with(word)) return std::nullopt;
        const std::string_view digits = text.substr(word.size());
        int64_t number = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (error != std::errc() || end != digits.data() + digits.size() || number < 0) return std::nullopt;
        return number;
    };
    if (const auto bytes = number_behind("budget ")) return TapePolicy{.kind = Kind::budget, .bytes = *bytes};
    if (const auto steps = number_behind("checkpoints ")) return TapePolicy{.every = *steps};
    return fail(Diagnostic{.code = "gradient.tape_policy",
                           .summary = "this is no policy of what a tape keeps",
                           .expected =
                               "balanced, save_all, recompute_all, fewest_bytes, budget and a number of bytes, or "
                               "checkpoints and a number of steps",
                           .found = std::string(text.substr(0, 100)),
                           .remedy = "see docs/gradients.md, \"The tape\""});
}

}  // namespace heddle::gradient
