// What happens where a plan cannot be made, or is not sound: that is our mistake, and a simpler plan may still do.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "plan/build.h"
#include "plan/donation.h"
#include "plan/validity.h"
#include "support/guarded.h"
#include "support/progress.h"

namespace heddle::plan {

using namespace equations;

namespace {

constexpr int most_kernels_apart = 8;  // each asks for another plan; with more mistakes nothing is fused
constexpr int64_t fusion_steps = 3;    // lowering, the passes, fusing
constexpr const char* nothing_fused = "the program runs as it was written, nothing is fused";

// These equations as a system of their own: what they read is given, what they make is asked for.
std::string program_of(const System& system, const std::vector<int32_t>& equations) {
    System part = system;
    std::set<TensorIndex> made, read;
    for (int32_t e : equations) {
        made.insert(part.equation(e).tensor);
        for (Expr access : reads(part.equation(e))) read.insert(access->tensor());
    }
    for (size_t e = 0; e < part.equations.size(); e++)
        part.equations[e].dead = std::ranges::find(equations, static_cast<int32_t>(e)) == equations.end();
    part.inputs.clear();
    part.outputs.assign(made.begin(), made.end());
    for (size_t t = 0; t < part.tensors.size(); t++) {
        SystemTensor& tensor = part.tensors[t];
        const auto index = TensorIndex(t);
        tensor.dead = !made.contains(index) && !read.contains(index);
        tensor.is_output = made.contains(index);
        if (made.contains(index) || tensor.dead) continue;
        tensor.kind = SystemTensor::Kind::input;
        tensor.opaque_inputs.clear();
        tensor.constant.reset();
        tensor.prepared = false;
        part.inputs.push_back(index);
    }
    return print(part);
}

std::string text_of(const Diagnostic& problem) {
    return fmt::format("{}: {}{}{}", problem.code, problem.summary, problem.found.empty() ? "" : ": ", problem.found);
}

Diagnostic unfused(std::string summary, const Diagnostic& problem, std::string program) {
    return {.code = "plan.unfused",
            .summary = std::move(summary),
            .found = text_of(problem),
            .reason = "this is a mistake of the compiler, not of the model: its check found it, and results are right",
            .remedy = "report it with the program that --format json shows",
            .params = {{"program", std::move(program)}}};
}

Diagnostic no_way_left(const Diagnostic& problem, std::string program) {
    return {
        .code = "plan.broken",
        .summary = "the program cannot be planned",
        .found = text_of(problem),
        .reason = "this is a mistake of the compiler, not of the model",
        .remedy = "--backend reference computes it without a plan; report it with the program that --format json shows",
        .params = {{"program", std::move(program)}}};
}

std::vector<int32_t> live_equations(const System& system) {
    std::vector<int32_t> live;
    for (size_t e = 0; e < system.equations.size(); e++) {
        if (!system.equations[e].dead) live.push_back(static_cast<int32_t>(e));
    }
    return live;
}

// Each equation of a kernel gets one of its own. False if they have them already: what they are is what fails.
bool take_apart(const Kernel& kernel, std::set<int32_t>& apart) {
    const size_t before = apart.size();
    apart.insert(kernel.equations.begin(), kernel.equations.end());
    return apart.size() > before && kernel.equations.size() > 1;
}

Result<Plan> sound_plan(const Graph& graph, const Target& target, const PlanOptions& options, Attempt& attempt) {
    auto plan = build_plan(graph, target, options, attempt);
    if (!plan) return plan;
    const PausedFacts paused;  // of numbers; that they are right for others follows from the facts
    if (auto fine = verify(*plan); !fine) return fail(std::move(fine.error()));
    return plan;
}

}  // namespace

Diagnostic not_fused(const Diagnostic& problem) { return unfused(nothing_fused, problem, ""); }

Result<void> check_bodies(const Graph& graph) {
    const auto found = std::ranges::find_if(graph.operations, [](const Operation& operation) { return !operation.body; });
    if (found == graph.operations.end()) return {};
    const std::string elsewhere = "apply it in a session on placements, which calls kernels (docs/flavours.md)";
    const bool none = found->kernels.empty();
    return fail({.code = "plan.opaque",
                 .summary = fmt::format("nothing here computes operation '{}': operator '{}' has no body", found->name,
                                        found->operator_name),
                 .expected = "a body or a graph",
                 .found = none ? "neither these nor kernels" : fmt::format("{}", fmt::join(found->kernels, "; ")),
                 .reason = "a program for one host is made of bodies; kernels are functions in C++ beside it",
                 .remedy = none ? "give the template a body: or a graph:, or a row of kernels:, and " + elsewhere
                                : "register the kernel and " + elsewhere + "; or give the template a body: or a graph:",
                 .params = {{"operation", found->name}, {"operator", found->operator_name}}});
}

Result<void> check_placements(const Graph& graph) {
    const auto found =
        std::ranges::find_if(graph.operations, [](const Operation& operation) { return !operation.placement.empty(); });
    if (found == graph.operations.end()) return {};
    return fail({.code = "plan.placement",
                 .summary = fmt::format("operator '{}' is for a value that is held on a placement '{}', and here is one host",
                                        found->operator_name, found->placement),
                 .expected = "a session on placements",
                 .found = "a program for one host",
                 .reason = "its body says what it means; computed by it, nothing would be shared or hidden",
                 .remedy = "share and reveal values in a session on placements, in C++ (docs/flavours.md); without it, "
                           "leave out the operators that share and reveal",
                 .params = {{"operation", found->name}, {"operator", found->operator_name}, {"placement", found->placement}}});
}

namespace {

// What `prepare` makes is made once.
void tell_prepared(const Plan& plan) {
    for (const Buffer& buffer : plan.buffers) {
        if (buffer.kind == Buffer::Kind::prepared) (void)buffer.bytes.value();
    }
    for (const Batch& batch : plan.prepare) {
        for (const Launch& launch : batch) {
            std::ranges::for_each(launch.numbers, &Size::value);
            (void)launch.tasks.value();
        }
    }
}

Result<Plan> plan_of(const Graph& graph, const Target& target, const PlanOptions& wanted);

}  // namespace

Result<Plan> make_plan(const Graph& graph, const Target& target, const PlanOptions& options) {
    if (!graph.facts) return plan_of(graph, target, options);
    SizeFacts facts = *graph.facts;
    const RecordingFacts recording(facts);
    auto plan = plan_of(graph, target, options);
    if (!plan) return plan;
    tell_prepared(*plan);
    plan->tag = graph.tag;
    plan->facts = without_class_facts(facts, graph.dimension_names);
    return plan;
}

namespace {

Result<Plan> plan_of(const Graph& graph, const Target& target, const PlanOptions& wanted) {
    if (auto fine = check_bodies(graph); !fine) return fail(std::move(fine.error()));
    if (auto fine = check_donations(graph, wanted.donations); !fine) return fail(std::move(fine.error()));
    PlanOptions options = wanted;
    std::set<int32_t> apart;
    Diagnostics notes;
    for (int kernels = 0;;) {
        if (auto wanted = begin_stage(options.progress, Stage::fusion, fusion_steps); !wanted)
            return fail(wanted.error());
        auto system = guarded("plan.broken", [&] { return lower(graph); });
        if (!system) return fail(std::move(system.error()));
        if (auto wanted = step_done(options.progress); !wanted) return fail(wanted.error());
        if (auto known = choose_storing(*system, options.storing); !known) return fail(std::move(known.error()));
        Attempt attempt{.system = std::move(*system), .apart = apart};
        auto plan = guarded("plan.broken", [&] { return sound_plan(graph, target, options, attempt); });
        if (plan) {
            if (auto done = check_storing(attempt.system); !done) return fail(std::move(done.error()));
            plan->notes = std::move(notes);
            return plan;
        }
        if (is_cancelled_error(plan.error())) return plan;
        const Diagnostic problem = plan.error().front();
        const bool in_kernel = attempt.kernel >= 0;
        const auto& at_fault = in_kernel ? attempt.partition.kernels[static_cast<size_t>(attempt.kernel)].equations
                                         : live_equations(attempt.system);
        // What a pass has left half done may not even print.
        std::string program = guarded("plan.broken", [&] {
                                  return Result<std::string>(program_of(attempt.system, at_fault));
                              }).value_or("");
        if (in_kernel && options.fuse && kernels++ < most_kernels_apart &&
            take_apart(attempt.partition.kernels[static_cast<size_t>(attempt.kernel)], apart)) {
            notes.push_back(unfused(fmt::format("{} equations are kernels of their own, not one", at_fault.size()),
                                    problem, std::move(program)));
        } else if (options.fuse || options.passes) {
            notes = {unfused(nothing_fused, problem, std::move(program))};
            options.fuse = false;
            options.passes = nullptr;
            apart.clear();
        } else {
            return fail(no_way_left(problem, std::move(program)));
        }
    }
}

}  // namespace

}  // namespace heddle::plan
