// Gradients in two programs against those in one, under several policies of what is kept.
#pragma once

#include <cmath>

#include <fmt/format.h>

#include "gradient/split.h"
#include "gradient_cases.h"
#include "graph/complex.h"
#include "graph/verify.h"

namespace heddle::gradient {

// Results of the reverse program behind the forward one; `all`: the feeds of gradient().
inline Result<std::vector<TensorData>> run_split(const Graph& graph, const Split& split,
                                                 const std::vector<TensorId>& overwritten,
                                                 const std::vector<TensorData>& all) {
    const std::vector<TensorData> feeds(all.begin(), all.begin() + static_cast<int64_t>(graph.inputs.size()));
    auto values = evaluate_graph(split.forward, feeds, Precision::body);
    if (!values) return fail(values.error());
    auto output = [&](size_t i) { return (*values)[static_cast<size_t>(split.forward.outputs[i])]; };
    auto is_gone = [&](TensorId id) { return std::ranges::find(overwritten, id) != overwritten.end(); };
    std::vector<TensorData> given;
    std::vector<TensorId> seen;
    auto is_new = [&](TensorId id) {
        if (std::ranges::find(seen, id) != seen.end()) return false;
        seen.push_back(id);
        return true;
    };
    for (size_t i = 0; i < graph.inputs.size(); ++i)
        if (!is_gone(graph.inputs[i]) && is_new(graph.inputs[i])) given.push_back(feeds[i]);
    for (size_t i = 0; i < graph.outputs.size(); ++i)
        if (!is_gone(graph.outputs[i]) && is_new(graph.outputs[i])) given.push_back(output(i));
    for (size_t i = graph.outputs.size(); i < split.forward.outputs.size(); ++i) given.push_back(output(i));
    given.insert(given.end(), all.begin() + static_cast<int64_t>(graph.inputs.size()), all.end());
    auto adjoints = evaluate_graph(split.reverse, given, Precision::body);
    if (!adjoints) return fail(adjoints.error());
    std::vector<TensorData> results;
    for (TensorId id : split.reverse.outputs) results.push_back((*adjoints)[static_cast<size_t>(id)]);
    return results;
}

// What is wrong with one split; empty if nothing is. `expected`: what gradient() gives for `all`.
inline std::string wrong_split(const Graph& graph, const SplitRequest& request, const std::vector<TensorData>& all,
                               const std::vector<TensorData>& expected) {
    auto made = split(graph, request);
    if (!made) return render(made.error());
    for (const Graph* part : {&made->forward, &made->reverse})
        if (auto sound = verify(*part); !sound) return render(sound.error()) + print(*part);
    int64_t end = 0;
    for (const TapeEntry& entry : made->tape.entries) {
        if (entry.offset != end || entry.offset % tape_alignment != 0) return "the tape has a gap, or is not aligned";
        end += (entry.bytes + tape_alignment - 1) / tape_alignment * tape_alignment;
    }
    if (end != made->tape.bytes) return "the tape has another size than its entries";
    if (made->tape.entries.size() + graph.outputs.size() != made->forward.outputs.size()) return "another tape is made";
    auto found = run_split(graph, *made, request.overwritten, all);
    if (!found) return render(found.error()) + print(made->forward) + print(made->reverse);
    for (size_t i = 0; i < expected.size(); ++i) {
        for (int64_t k = 0; k < expected[i].size(); ++k) {
            const double a = (*found)[i].real_at(k), b = expected[i].real_at(k);
            if (std::abs(a - b) > 1e-11 * (1 + std::abs(b)))
                return fmt::format("{} instead of {}\n{}{}", a, b, print(made->forward), print(made->reverse));
        }
    }
    return "";
}

// With all inputs and results there, and with none of them, under each policy.
inline std::string split_difference(const Graph& graph, const std::vector<TensorData>& all,
                                    const std::vector<TensorData>& expected) {
    std::vector<TensorId> ends = graph.inputs;
    ends.insert(ends.end(), graph.outputs.begin(), graph.outputs.end());
    using Kind = TapePolicy::Kind;
    for (const auto& overwritten : {std::vector<TensorId>(), ends}) {
        for (Kind kind :
             {Kind::balanced, Kind::save_all, Kind::recompute_all, Kind::fewest_bytes, Kind::budget, Kind::chosen}) {
            SplitRequest request{float_inputs(graph), overwritten, {.kind = kind, .bytes = 1 << 20}};
            request.policy.keeps = [](const TapeCandidate& value) { return value.operations > 40; };
            if (std::string wrong = wrong_split(graph, request, all, expected); !wrong.empty())
                return fmt::format("policy {}: {}", static_cast<int>(kind), wrong);
            request.policy.every = 2;
            const bool has_choice = kind == Kind::balanced || kind == Kind::save_all || kind == Kind::recompute_all;
            if (std::string wrong = has_choice ? wrong_split(graph, request, all, expected) : ""; !wrong.empty())
                return fmt::format("policy {}, every second state: {}", static_cast<int>(kind), wrong);
        }
    }
    return "";
}

}  // namespace heddle::gradient
