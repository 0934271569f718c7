#include "rewrite/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "evaluate/evaluate.h"

namespace heddle::rewrite {
namespace {

constexpr int64_t tries_per_trial = 50;
constexpr int64_t largest_tensor = 1 << 16;  // elements; instances with larger ones are left out
constexpr int64_t listed_elements = 32;      // of a counterexample's input

struct Comparison {
    bool ran = false;  // matched, and evaluated without an error such as an index out of range
    int64_t elements = 0, undecided = 0;
    std::optional<Counterexample> difference;
};

std::string element_text(const TensorData& data, int64_t i) {
    if (is_bool(data.dtype())) return data.integer_at(i) ? "true" : "false";
    if (is_complex(data.dtype()))
        return fmt::format("{:.9g}{:+.9g}i", data.reals().real_at(2 * i), data.reals().real_at(2 * i + 1));
    return is_float(data.dtype()) ? fmt::format("{:.9g}", data.real_at(i)) : std::to_string(data.integer_at(i));
}

std::string values_text(const TensorData& data) {
    std::vector<std::string> elements;
    for (int64_t i = 0; i < std::min(data.size(), listed_elements); ++i) elements.push_back(element_text(data, i));
    return fmt::format("[{}{}]", fmt::join(elements, ", "), data.size() > listed_elements ? ", ..." : "");
}

std::string place_text(const std::vector<int64_t>& shape, int64_t element) {
    std::vector<int64_t> at(shape.size());
    for (size_t d = shape.size(); d-- > 0;) {
        at[d] = element % shape[d];
        element /= shape[d];
    }
    return fmt::format("[{}]", fmt::join(at, ", "));
}

double bound_at(const BoundedTensor& tensor, int64_t i) { return tensor.bound.data() ? tensor.bound.real_at(i) : 0; }

bool same(const TensorData& a, const TensorData& b, int64_t i) {
    if (!is_float(a.dtype())) return a.integer_at(i) == b.integer_at(i);
    double x = a.real_at(i), y = b.real_at(i);
    return x == y || (std::isnan(x) && std::isnan(y));
}

// The element at which the sides are too far apart, or -1.
int64_t first_difference(const TensorData& left, const TensorData& right, const BoundedTensor& left_bound,
                         const BoundedTensor& right_bound, Comparison& comparison) {
    for (int64_t i = 0; i < left.size(); ++i) {
        double bound = 4 * (bound_at(left_bound, i) + bound_at(right_bound, i));
        if (std::isinf(bound) || std::isnan(bound)) {
            ++comparison.undecided;
            continue;
        }
        ++comparison.elements;
        if (same(left, right, i)) continue;
        bool near = is_float(left.dtype()) && std::fabs(left.real_at(i) - right.real_at(i)) <= bound;
        if (!near) return i;
    }
    return -1;
}

// Both sides as a counterexample's programs, and the values that they had.
Counterexample counterexample(Sides& sides, const Instance& instance, const Graph& graph,
                              const std::vector<TensorData>& feeds) {
    Counterexample found;
    found.instance = instance;
    std::vector<std::string> names;
    for (size_t i = 0; i < sides.left.size(); ++i)
        names.push_back(sides.left.size() == 1 ? "result" : fmt::format("result{}", i));
    sides.graph.set_outputs(sides.left, names);
    found.before = sides.graph.text();
    sides.graph.set_outputs(sides.right, names);
    found.after = sides.graph.text();
    for (size_t i = 0; i < feeds.size(); ++i) {
        const Tensor& tensor = graph.tensor(graph.inputs[i]);
        found.inputs.emplace_back(fmt::format("{}: {}", tensor.name, tensor.type.text()), values_text(feeds[i]));
    }
    return found;
}

bool small(const Graph& graph) {
    return std::ranges::all_of(graph.tensors,
                               [](const Tensor& tensor) { return tensor.type.elements() <= largest_tensor; });
}

Comparison compare(const std::shared_ptr<const Rule>& rule, const Library& library, const Instance& instance,
                   uint64_t seed, bool whole_numbers) {
    Comparison comparison;
    auto sides = sides_of(rule, library, instance);
    if (!sides || !*sides) return comparison;
    std::vector<TensorId> both = (*sides)->left;
    both.insert(both.end(), (*sides)->right.begin(), (*sides)->right.end());
    auto graph = (*sides)->graph.expand(both), alone = (*sides)->graph.expand((*sides)->left);
    if (!graph || !alone || !small(*graph)) return comparison;
    std::mt19937_64 random(seed);
    auto feeds = random_feeds(*graph, random, whole_numbers);
    // Inputs that the match itself refuses (an index out of range) say nothing.
    if (!evaluate_graph(*alone, feeds, Precision::body)) return comparison;
    auto values = evaluate_graph(*graph, feeds, Precision::body);
    auto bounds = values ? evaluate_graph_bounded(*graph, feeds)
                         : Result<std::vector<BoundedTensor>>(std::unexpected(values.error()));
    comparison.ran = true;
    if (!bounds) {
        comparison.difference = counterexample(**sides, instance, *graph, feeds);
        comparison.difference->element = "the result";
        comparison.difference->expected = "computed";
        comparison.difference->found = bounds.error().front().summary;
        return comparison;
    }
    size_t count = both.size() / 2;
    for (size_t i = 0; i < count && !comparison.difference; ++i) {
        auto l = static_cast<size_t>(graph->outputs[i]), r = static_cast<size_t>(graph->outputs[count + i]);
        const TensorData &left = (*values)[l], &right = (*values)[r];
        int64_t element = first_difference(left.reals(), right.reals(), (*bounds)[l], (*bounds)[r], comparison);
        if (element < 0) continue;
        if (is_complex(left.dtype())) element /= 2;
        auto& found = comparison.difference.emplace(counterexample(**sides, instance, *graph, feeds));
        found.element =
            fmt::format("result{}{}", count == 1 ? "" : std::to_string(i), place_text(left.shape(), element));
        found.expected = element_text(left, element);
        found.found = element_text(right, element);
    }
    return comparison;
}

// The same difference on less.
Counterexample smallest(const std::shared_ptr<const Rule>& rule, const Library& library, Counterexample found,
                        uint64_t seed) {
    auto difference = [&](const Instance& instance) -> std::optional<Counterexample> {
        for (uint64_t i = 0; i < 3; ++i) {
            auto again = compare(rule, library, instance, seed + i, i < 2).difference;
            if (again) return again;
        }
        return std::nullopt;
    };
    Instance instance =
        shrink(found.instance, [&](const Instance& smaller) { return difference(smaller).has_value(); });
    auto again = difference(instance);
    return again ? std::move(*again) : std::move(found);
}

}  // namespace

std::vector<TensorData> random_feeds(const Graph& graph, std::mt19937_64& random, bool whole_numbers) {
    std::vector<TensorData> feeds;
    std::normal_distribution<double> normal;
    for (TensorId input : graph.inputs) {
        const TensorType& type = graph.tensor(input).type;
        TensorData made(type.dtype, type.extents()), data = made.reals();
        const DType dtype = data.dtype();
        bool has_sign = info(dtype).kind == DTypeClass::signed_integer || is_float(dtype);
        for (int64_t i = 0; i < data.size(); ++i) {
            if (is_float(dtype) && !whole_numbers)
                data.set_real(i, normal(random));
            else if (is_bool(dtype))
                data.set_integer(i, static_cast<int64_t>(random() % 2));
            else if (is_float(dtype))
                data.set_real(i, static_cast<double>(random() % 7) - 3);
            else
                data.set_integer(i, static_cast<int64_t>(random() % 7) - (has_sign ? 3 : 0));
        }
        feeds.push_back(std::move(made));
    }
    return feeds;
}

Result<Verdict> verify_rule(const std::shared_ptr<const Rule>& rule, const Library& library,
                            const VerifyOptions& options) {
    InstanceMaker maker(*rule, library, options.seed, false);
    Verdict verdict;
    for (int64_t i = 0; i < options.trials * tries_per_trial && verdict.trials < options.trials; ++i) {
        Instance instance = maker.next();
        if (auto sides = sides_of(rule, library, instance); !sides) {
            sides.error().front().contexts.push_back({"for " + instance.text(), {}});
            return std::unexpected(sides.error());
        }
        uint64_t seed = options.seed * 1'000'003 + static_cast<uint64_t>(i);
        Comparison comparison = compare(rule, library, instance, seed, i % 2 == 0);
        if (!comparison.ran) continue;
        ++verdict.trials;
        verdict.elements += comparison.elements;
        verdict.undecided += comparison.undecided;
        if (options.progress) options.progress(verdict.trials);
        if (!comparison.difference) continue;
        verdict.counterexample = smallest(rule, library, std::move(*comparison.difference), seed);
        return verdict;
    }
    if (verdict.trials > 0 && verdict.elements > 0) return verdict;
    bool none = verdict.trials == 0;
    return fail({.code = none ? "rewrite.no_instance" : "rewrite.undecided",
                 .summary = none ? fmt::format("nothing was found that the rule {} matches", rule->name)
                                 : fmt::format("nothing of the rule {} could be compared", rule->name),
                 .place = rule->source->match->place,
                 .reason = none ? "its operators or conditions refuse all random instances"
                                : "its results are empty, or depend on how values are rounded"});
}

}  // namespace heddle::rewrite
