#include "random/trial.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <random>

#include <fmt/format.h>

#include "backends/llvm/llvm_backend.h"
#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "evaluate/work.h"
#include "gradient/batched.h"
#include "gradient/gradient.h"
#include "gradient/tangents.h"
#include "graph/verify.h"
#include "helpers/narrow_host.h"
#include "plan/donation.h"
#include "plan/plan.h"
#include "helpers/duality.h"
#include "symbolic/program.h"

namespace heddle::random {
namespace {

// Scalar operations that the interpreter is asked for at most: some seconds.
constexpr double most_work = 2e8;

// The values of an input follow from its number, its type and its kind alone.
TensorData values_of(const Input& input, size_t number) {
    TensorData data(input.type.dtype, input.type.shape);
    std::mt19937_64 random(number + 1);
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < data.size(); i++) {
        switch (input.values) {
        case Input::Values::normal: data.set_real(i, normal(random)); break;
        case Input::Values::whole: data.set_real(i, static_cast<double>(random() % 7) - 3); break;
        case Input::Values::indices:
            data.set_integer(i, static_cast<int64_t>(random() % static_cast<uint64_t>(input.limit)));
        }
    }
    return data;
}

Verdict refusal(const char* stage, const Diagnostics& problems) {
    return {.kind = Verdict::Kind::refused, .stage = stage, .code = problems.front().code, .detail = render(problems)};
}

// The source replaces that of the program before.
Result<Graph> graph_of(const Program& program, Library& library) {
    auto added = library.add_source(std::make_shared<const SourceText>("random.yaml", templates_of(program)));
    if (!added) return fail(added.error());
    std::vector<ProgramInput> inputs;
    for (const Input& input : program.inputs) {
        inputs.push_back({input.name, {input.type.dtype, {input.type.shape.begin(), input.type.shape.end()}}});
    }
    return build_program(std::make_shared<const SourceText>("program", calls_of(program)), library, inputs);
}

std::vector<TensorId> float_inputs(const Graph& graph) {
    std::vector<TensorId> wanted;
    for (TensorId input : graph.inputs) {
        if (is_float(graph.tensor(input).type.dtype)) wanted.push_back(input);
    }
    return wanted;
}

// Every second input is batched.
Result<Graph> batched_of(const Graph& graph) {
    std::vector<TensorId> wanted;
    for (size_t i = 0; i < graph.inputs.size(); i += 2) wanted.push_back(graph.inputs[i]);
    return gradient::batched(graph, wanted, 3);
}

// In the order of the graph's inputs; those that a gradient adds come after the program's, and are like its first.
std::vector<TensorData> feeds_of(const Graph& graph, const Program& program) {
    std::vector<TensorData> feeds;
    for (TensorId id : graph.inputs) {
        const Tensor& tensor = graph.tensor(id);
        Input input{tensor.name, {tensor.type.dtype, tensor.type.extents()}, Input::Values::normal, 0};
        if (!program.inputs.empty() && program.inputs.front().values == Input::Values::whole)
            input.values = Input::Values::whole;
        size_t number = feeds.size();
        for (size_t i = 0; i < program.inputs.size(); i++) {
            if (program.inputs[i].name == tensor.name) input = program.inputs[i], number = i;
        }
        input.type = {tensor.type.dtype, tensor.type.extents()};  // a batch is longer
        feeds.push_back(values_of(input, number));
    }
    return feeds;
}

}  // namespace

Result<Prepared> prepare(const Program& program, Library& library, const std::function<void(const char*)>& at) {
    at("build");
    auto graph = graph_of(program, library);
    if (!graph) return fail(graph.error());
    at("verify");
    if (auto sound = verify(*graph); !sound) return fail(sound.error());
    auto derive = [&](const char* stage, auto&& derived) -> Result<void> {
        at(stage);
        graph = derived(*graph);
        if (!graph) return fail(graph.error());
        return verify(*graph);
    };
    Result<void> made;
    if (program.adjoint) {
        at("duality");
        const std::string wrong = gradient::duality(*graph, feeds_of(*graph, program));
        if (!wrong.empty()) return fail({.code = "random.duality", .summary = wrong});
    }
    if (program.adjoint)
        made = derive("gradient", [](const Graph& g) { return gradient::gradient(g, float_inputs(g)); });
    if (made && program.tangent)
        made = derive("tangents", [](const Graph& g) { return gradient::tangents(g, float_inputs(g)); });
    if (made && program.batched) made = derive("batch", batched_of);
    if (!made) return fail(made.error());
    return Prepared{*graph, feeds_of(*graph, program)};
}

namespace {

// Scans run in rounds wherever that is possible, and those of near neighbours by bands.
Target with_free_rounds(Target target) {
    target.cores = 3;
    target.launch_seconds = 0;
    target.l2_bytes = 4096;
    return target;
}

bool has_rounds(const plan::Plan& plan) {
    return std::ranges::any_of(plan.run, [](const plan::Batch& batch) {
        return std::ranges::any_of(batch, [](const plan::Launch& launch) { return launch.rounds > 1; });
    });
}

// For each output the first input of its type that is left, one that its operation reads if there is one.
std::vector<plan::Donation> all_donations(const Graph& graph) {
    std::vector<int32_t> inputs;
    std::vector<plan::Donation> donations;
    for (size_t i = 0; i < graph.inputs.size(); i++) {
        inputs.push_back(static_cast<int32_t>(i));
        if (auto found = plan::donations_of(graph, inputs))
            donations = std::move(*found);
        else
            inputs.pop_back();
    }
    return donations;
}

}  // namespace

// Outputs in the memory of inputs are bit for bit what they are elsewhere.
std::optional<Verdict> Trial::donated(const Graph& graph, const std::vector<TensorData>& feeds,
                                      const std::vector<TensorData>& expected,
                                      const std::function<void(const char*)>& enter) {
    const auto donations = all_donations(graph);
    if (donations.empty()) return std::nullopt;
    const auto refused = [](const char* stage, const Diagnostics& problems) { return refusal(stage, problems); };
    enter("plan donated");
    auto plan = plan::make_plan(graph, target_, {.donations = donations});
    if (!plan) return refused("plan donated", plan.error());
    if (!plan->notes.empty()) return refused("plan donated", plan->notes);
    if (!runs_) return std::nullopt;
    enter("compile donated");
    auto executable = runtime::Executable::make(std::move(*plan), kernels_, pool_);
    if (!executable) return refused("compile donated", executable.error());
    enter("run donated");
    std::vector<TensorData> given;
    for (const TensorData& feed : feeds) given.push_back(feed.clone());
    runtime::Session session(*executable, std::shared_ptr<ThreadPool>(&pool_, [](ThreadPool*) {}));
    const auto found = session.run(given);
    if (!found) return refused("run donated", found.error());
    for (size_t o = 0; o < found->size(); o++) {
        const TensorData &a = (*found)[o], &b = expected[o];
        if (a.byte_size() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.byte_size())) == 0) continue;
        return Verdict{.kind = Verdict::Kind::different,
                       .stage = "run donated",
                       .detail = fmt::format("output {} differs from that without donation", o)};
    }
    return std::nullopt;
}

namespace {

// An element of an input of indices.
struct ChosenIndex {
    size_t input = 0;
    int64_t element = 0, limit = 0;

    std::vector<TensorData> set_to(int64_t index, const std::vector<TensorData>& feeds) const {
        std::vector<TensorData> given;
        for (const TensorData& feed : feeds) given.push_back(feed.clone());
        given[input].set_integer(element, index);
        return given;
    }
};

std::optional<ChosenIndex> chosen_index(const Graph& graph, const Program& program,
                                        const std::vector<TensorData>& feeds) {
    for (size_t i = 0; i < feeds.size(); i++) {
        const auto input = std::ranges::find(program.inputs, graph.tensor(graph.inputs[i]).name, &Input::name);
        const bool indexes = input != program.inputs.end() && input->values == Input::Values::indices;
        if (indexes && feeds[i].size() > 0) return ChosenIndex{i, input->limit * 7 % feeds[i].size(), input->limit};
    }
    return std::nullopt;
}

// How often bodies read an input: at one place it is nothing but an index there.
int64_t times_read(const Graph& graph, TensorId input) {
    int64_t times = 0;
    for (const Operation& operation : graph.operations) {
        if (!operation.body) continue;
        for (const Node& node : operation.body->nodes)
            times += node.is_read() && operation.inputs[static_cast<size_t>(node.index)] == input;
    }
    return times;
}

// Nothing reads something that an operation makes.
bool has_unused(const Graph& graph) {
    std::vector<bool> used(graph.tensors.size());
    for (TensorId output : graph.outputs) used[static_cast<size_t>(output)] = true;
    for (const Operation& operation : graph.operations)
        for (TensorId input : operation.inputs) used[static_cast<size_t>(input)] = true;
    return std::ranges::any_of(graph.operations, [&](const Operation& operation) {
        return std::ranges::any_of(operation.outputs, [&](TensorId made) { return !used[static_cast<size_t>(made)]; });
    });
}

std::string difference(const Graph& graph, const std::vector<TensorData>& found,
                       const std::vector<BoundedTensor>& expected) {
    for (size_t o = 0; o < found.size(); o++) {
        const auto comparison = compare_bounded(found[o], expected[static_cast<size_t>(graph.outputs[o])]);
        if (!comparison.equal) return fmt::format("output {}: {}", o, comparison.text());
    }
    return "";
}

}  // namespace

// Where the interpreter finds an index outside so does the code, and nowhere else. But values that no output asks for are
// not computed: then any index gives the same. And local arrays and states are worked out whole, of which the interpreter
// works out what is asked for.
std::optional<Verdict> Trial::noticed(const Graph& graph, const Program& program, const std::vector<TensorData>& feeds,
                                      runtime::Session& session, const std::function<void(const char*)>& enter) {
    const auto chosen = chosen_index(graph, program, feeds);
    if (!chosen) return std::nullopt;
    const std::vector<TensorData> given = chosen->set_to(chosen->limit, feeds);
    enter("evaluate mistaken");
    const auto expected = evaluate_graph_bounded(graph, given);
    if (!expected && expected.error().front().code != "evaluate.out_of_range")
        return refusal("evaluate mistaken", expected.error());
    enter("run mistaken");
    const auto found = session.run(given);
    const bool has_arrays = std::ranges::any_of(
        graph.operations, [](const Operation& operation) { return operation.body && !operation.body->locals.empty(); });
    if (!found && expected && !has_arrays) return refusal("run mistaken", found.error());
    const auto unlike = [](std::string detail) {
        return Verdict{.kind = Verdict::Kind::different, .stage = "run mistaken", .detail = std::move(detail)};
    };
    if (!found && found.error().front().code != "runtime.index_out_of_range")
        return refusal("run mistaken", found.error());
    if (found && expected) {
        const std::string wrong = difference(graph, *found, *expected);
        if (!wrong.empty()) return unlike(wrong);
    }
    for (int64_t index : {int64_t{0}, chosen->limit - 1}) {
        if (!found || expected || has_unused(graph) || times_read(graph, graph.inputs[chosen->input]) > 1) break;
        const auto other = evaluate_graph_bounded(graph, chosen->set_to(index, feeds));
        if (!other) return refusal("evaluate mistaken", other.error());
        const std::string wrong = difference(graph, *found, *other);
        if (!wrong.empty()) return unlike(wrong + ", not noticed: " + render(expected.error()));
    }
    return std::nullopt;
}

Trial::Trial(Library& library, bool runs)
    : library_(library),
      runs_(runs),
      target_(detect_host()),
      narrow_target_(narrow_host()),
      rounds_target_(with_free_rounds(narrow_target_)),
      pool_(2),
      kernels_(std::make_shared<backends::LlvmBackend>()) {}

Verdict Trial::run(const Program& program, const std::function<void(const char*)>& at) {
    const char* stage = "build";
    auto enter = [&](const char* next) { at(stage = next); };
    try {
        const auto prepared = prepare(program, library_, enter);
        if (!prepared) return refusal(stage, prepared.error());
        const Graph& graph = prepared->graph;
        const std::vector<TensorData>& feeds = prepared->feeds;
        Result<std::vector<BoundedTensor>> expected;
        if (runs_) {
            enter("work");
            if (auto fine = check_work(graph, most_work, 1, ""); !fine) return refusal(stage, fine.error());
            enter("evaluate");
            expected = evaluate_graph_bounded(graph, feeds);
            if (!expected) return refusal(stage, expected.error());
        }
        Verdict verdict;
        struct Way {
            bool fuse, rounds;
            const char *plan, *compile, *run;
        };
        for (const Way& way : {Way{true, false, "plan fused", "compile fused", "run fused"},
                               Way{true, true, "plan in rounds", "compile in rounds", "run in rounds"},
                               Way{false, false, "plan unfused", "compile unfused", "run unfused"}}) {
            if (!way.fuse && !program.unfused) break;
            enter(way.plan);
            auto plan = plan::make_plan(graph,
                                        way.rounds ? rounds_target_
                                        : way.fuse ? target_
                                                   : narrow_target_,
                                        {.fuse = way.fuse});
            if (!plan) return refusal(stage, plan.error());
            if (auto sound = plan::verify(*plan); !sound) return refusal(stage, sound.error());
            // A simpler plan because of a mistake of ours is a finding all the same.
            if (!plan->notes.empty()) return refusal(stage, plan->notes);
            if (!runs_ && way.fuse && !way.rounds) {
                if (const auto wrong = donated(graph, feeds, {}, enter)) return *wrong;
            }
            if (!runs_ || (way.rounds && !has_rounds(*plan))) continue;
            enter(way.compile);
            auto executable = runtime::Executable::make(std::move(*plan), kernels_, pool_);
            if (!executable) return refusal(stage, executable.error());
            enter(way.run);
            runtime::Session session(*executable, std::shared_ptr<ThreadPool>(&pool_, [](ThreadPool*) {}));
            const auto found = session.run(feeds);
            if (!found) return refusal(stage, found.error());
            for (size_t o = 0; o < found->size(); o++) {
                const BoundedTensor& wanted = (*expected)[static_cast<size_t>(graph.outputs[o])];
                const BoundedComparison comparison = compare_bounded((*found)[o], wanted);
                verdict.elements += (*found)[o].size();
                verdict.undecided += comparison.undecided;
                if (comparison.equal) continue;
                verdict.kind = Verdict::Kind::different;
                verdict.stage = stage;
                const int64_t worst = comparison.worst;
                verdict.detail = fmt::format("output {} ({}): {}", o, (*found)[o].size(), comparison.text());
                if (worst >= 0) {
                    verdict.detail +=
                        fmt::format(", {} where {} is right", (*found)[o].real_at(worst), wanted.value.real_at(worst));
                }
                return verdict;
            }
            if (!way.fuse || way.rounds) continue;
            if (const auto wrong = donated(graph, feeds, *found, enter)) return *wrong;
            if (const auto wrong = noticed(graph, program, feeds, session, enter)) return *wrong;
        }
        return verdict;
    } catch (const std::exception& exception) {
        return {.kind = Verdict::Kind::exception, .stage = stage, .code = "", .detail = exception.what()};
    }
}

}  // namespace heddle::random
