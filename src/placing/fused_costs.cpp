#include "placing/fused_costs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "equations/cost.h"
#include "equations/operation_finder.h"
#include "equations/passes.h"
#include "placing/cut_costs.h"
#include "target/choice_numbers.h"

namespace heddle::placing {

std::string InProgram::text() const {
    std::string text = fmt::format("{:.2g} {:.2g} {:.2g} ", launches, operations, times);
    for (const Lies lies : tensors) text += static_cast<char>('0' + static_cast<int>(lies));
    return text;
}

double seconds(const OperationWork& work, const Target& target, const InProgram& in, double kernels) {
    return (in.launches + kernels) * choice_numbers::seconds_of_a_kernel(target) +
           roofline({.streamed = work.streamed}, target) +
           in.times * roofline({in.operations * work.operations, work.bytes}, target);
}

double assembling_seconds(double bytes, double pieces, const Target& target) {
    const double bandwidth = std::max(target.bandwidth, choice_numbers::l3_bandwidth_of_a_core(target) * target.cores);
    return pieces * choice_numbers::seconds_of_a_kernel(target) + 2 * bytes / bandwidth;
}

namespace {

// A kernel of the run.
struct FusedKernel {
    double seconds = 0, launches = 1;  // without its launch; its share of a batch's
    double operations = 0;
    std::set<OperationId> of;
};

struct FusedProgram {
    std::vector<FusedKernel> kernels;
    std::vector<bool> in_memory;                                // by TensorId
    std::map<std::pair<OperationId, TensorId>, Lies> streamed;  // of what an operation streams
    std::set<TensorId> copied;                                  // by the first that does

    Lies lies(OperationId operation, TensorId tensor) const {
        if (const auto own = streamed.find({operation, tensor}); own != streamed.end()) return own->second;
        return in_memory[tensor] ? Lies::in_memory : Lies::in_kernels;
    }
};

void add_streamed(const Graph& graph, TensorId tensor, bool copied, const std::set<OperationId>& of,
                  FusedProgram& program) {
    if (tensor == no_id) return;
    const auto touches = [&](OperationId o) { return std::ranges::count(tensors_of(graph.operation(o)), tensor) > 0; };
    const auto found = std::ranges::find_if(of, touches);
    if (found == of.end()) return;
    const bool copies = copied && program.copied.insert(tensor).second;
    program.streamed.emplace(std::pair(*found, tensor), copies ? Lies::copied : Lies::streamed);
}

std::optional<FusedProgram> fused(const Graph& graph, const Target& target) {
    auto system = equations::lower(graph);
    if (!system) return std::nullopt;
    equations::estimate_by(*system, graph.dimension_names);
    equations::optimise(*system);
    const auto partition = equations::fuse(*system, target, {});
    const auto costs = equations::streaming_costs_of(*system, partition, target);
    const equations::OperationFinder finder(graph, *system);
    FusedProgram made{.kernels = {}, .in_memory = std::vector<bool>(graph.tensors.size())};
    for (const auto& batch : partition.batches) {
        for (const int32_t k : batch) {
            const auto& [cost, streamed] = costs[static_cast<size_t>(k)];
            FusedKernel& kernel = made.kernels.emplace_back();
            kernel.seconds = cost.seconds - choice_numbers::seconds_of_a_kernel(target);
            kernel.launches = 1.0 / static_cast<double>(batch.size());
            kernel.operations = cost.main.operations + cost.reductions.operations;
            for (const int32_t e : partition.kernels[static_cast<size_t>(k)].equations)
                finder.add(system->equation(e), kernel.of);
            for (const equations::Streamed& each : streamed)
                add_streamed(graph, system->tensor(each.tensor).graph_tensor, each.copied, kernel.of, made);
        }
    }
    for (const equations::Kernel& kernel : partition.kernels) {
        for (const auto* tensors : {&kernel.inputs, &kernel.outputs})
            for (const equations::TensorIndex t : *tensors)
                if (const TensorId of = system->tensor(t).graph_tensor; of != no_id) made.in_memory[of] = true;
    }
    return made;
}

// Without what is streamed, which is no part of a kernel's seconds here.
std::vector<OperationWork> works_in_memory(const Graph& graph, const FusedProgram& program) {
    std::vector<OperationWork> works = work_of(graph);
    for (size_t o = 0; o < works.size(); o++) {
        works[o].bytes = 0;
        for (const TensorId t : tensors_of(graph.operations[o]))
            if (program.lies(OperationId(o), t) == Lies::in_memory)
                works[o].bytes += static_cast<double>(graph.tensor(t).type.byte_size());
    }
    return works;
}

}  // namespace

std::vector<InProgram> in_program(const Graph& graph, const Target& target) {
    std::vector<InProgram> made(graph.operations.size());
    const auto program = fused(graph, target);
    if (!program) return made;
    const std::vector<OperationWork> works = works_in_memory(graph, *program);
    std::vector<double> kernels(made.size()), operations(made.size()), seconds(made.size());
    for (const FusedKernel& kernel : program->kernels)
        for (const OperationId o : kernel.of) kernels[o]++;
    for (size_t o = 0; o < made.size(); o++) {
        if (kernels[o] > 0) made[o].operations = made[o].launches = 0;
        for (const TensorId t : tensors_of(graph.operations[o]))
            made[o].tensors.push_back(program->lies(OperationId(o), t));
    }
    // An operation that is in several kernels counts for its share in each of them.
    for (const FusedKernel& kernel : program->kernels) {
        double scalar = 0;
        for (const OperationId o : kernel.of) scalar += works[o].operations / kernels[o];
        for (const OperationId o : kernel.of) {
            made[o].operations += (scalar > 0 ? kernel.operations / scalar : 1) / kernels[o];
            made[o].launches += kernel.launches / static_cast<double>(kernel.of.size());
        }
    }
    const auto alone = [&](OperationId o) {
        return roofline({made[o].operations * works[o].operations, works[o].bytes}, target);
    };
    for (const FusedKernel& kernel : program->kernels) {
        double all = 0;
        for (const OperationId o : kernel.of) all += alone(o) / kernels[o];
        for (const OperationId o : kernel.of)
            if (all > 0) seconds[o] += kernel.seconds * alone(o) / kernels[o] / all;
    }
    for (size_t o = 0; o < made.size(); o++) {
        const double own = alone(OperationId(o));
        // What no kernel of the run has is prepared, or a view.
        made[o].times = own > 0 ? seconds[o] / own : 0;
        if (kernels[o] == 0) made[o].launches = 0;
    }
    return made;
}

}  // namespace heddle::placing
