#include "equations/cost.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "target/choice_numbers.h"

namespace heddle::equations {
namespace {

using choice_numbers::kept_in_l2;
using choice_numbers::largest_tile;

double product(const FusionGraph& graph, const std::vector<int32_t>& slots) {
    double result = 1;
    for (int32_t slot : slots) result *= graph.slots[static_cast<size_t>(slot)].hint;
    return result;
}

}  // namespace

KernelCost CostModel::opaque_cost() const {
    KernelCost cost;
    cost.seconds = choice_numbers::seconds_of_a_kernel(target_);
    return cost;
}

double CostModel::common_points(const FusionNode& node) const {
    double points = 1;
    for (int32_t k = 0; k < node.slot_count; k++) {
        const int32_t slot = node.first_slot + k;
        if (finder_.is_common(slot)) points *= graph_.slots[static_cast<size_t>(slot)].hint;
    }
    return points;
}

void CostModel::add_equation(const FusionNode& node, bool output, KernelCost& cost) {
    Work& work = node.reduction && !node.contraction ? cost.reductions : cost.main;
    for (const NodeRead& read : node.reads) {
        const bool local = !read.makers.empty() && std::all_of(read.makers.begin(), read.makers.end(),
                                                               [&](int32_t maker) { return finder_.is_member(maker); });
        if (local) continue;
        const auto t = static_cast<size_t>(read.tensor);
        if (read_stamp_[t] != generation_) read_stamp_[t] = generation_, read_[t] = 0;
        if (read.bytes > read_[t]) {
            work.bytes += read.bytes - read_[t];
            read_[t] = read.bytes;
        }
    }
    const double own = std::max(common_points(node), 1.0);
    if (output) {
        work.bytes += node.bytes;
    } else if (node.elements > own && !(node.into >= 0 && finder_.is_member(node.into))) {
        cost.local_bytes += node.bytes / own;
    }
    // What lacks a common axis is computed again, once a tile of tasks.
    work.operations += node.work() * std::max(1.0, cost.tasks / own / largest_tile);
    cost.contractions += node.contraction;
}

// Operands that lack a common axis are read by every tile of tasks; from memory again when they do not stay in L2
// together.
void CostModel::add_repeated_reads(const std::vector<int32_t>& members, KernelCost& cost) {
    if (members.size() < 2) return;
    struct Repeated {
        double whole, of_task, times;
        bool constant;
    };
    std::map<TensorIndex, Repeated> again;
    for (int32_t member : members) {
        const FusionNode& node = graph_.node(member);
        if (!node.contraction) continue;
        for (const NodeRead& read : node.reads) {
            const auto t = static_cast<size_t>(read.tensor);
            if (read_stamp_[t] != generation_) continue;
            double missing = 1, held = 1;
            for (int32_t k = 0; k < node.slot_count; k++) {
                const int32_t slot = node.first_slot + k;
                if (!finder_.is_common(slot)) continue;
                const bool used = std::find(read.slots.begin(), read.slots.end(), slot) != read.slots.end();
                (used ? held : missing) *= graph_.slots[static_cast<size_t>(slot)].hint;
            }
            if (missing > 1) again[read.tensor] = {read_[t], read_[t] / held, missing, read.constant};
        }
    }
    double footprint = 0;
    for (const auto& [tensor, repeated] : again) {
        footprint += repeated.of_task;
        cost.packed_bytes = std::max(cost.packed_bytes, repeated.of_task);
    }
    if (footprint <= static_cast<double>(kept_in_l2(target_))) return;
    for (const auto& [tensor, repeated] : again) {
        double& bytes = repeated.constant ? cost.weights_again : cost.main.bytes;
        bytes += repeated.whole * (std::max(1.0, std::ceil(repeated.times / cost.tile)) - 1);
    }
}

void CostModel::add_short_register_tiles(const std::vector<int32_t>& members, KernelCost& cost) {
    for (int32_t member : members) {
        const FusionNode& node = graph_.node(member);
        if (!node.contraction) continue;
        const double rows = product(graph_, node.rows), columns = product(graph_, node.columns);
        double inner = 1, shared = 1;
        for (int32_t slot : node.rows) {
            (finder_.is_common(slot) ? shared : inner) *= graph_.slots[static_cast<size_t>(slot)].hint;
        }
        const double have = std::max(1.0, std::min(rows, inner * std::min(cost.tile, shared)));
        const double best = std::min(choice_numbers::register_rows, rows);
        if (have < best && std::min(rows, columns) >= 1) cost.main.operations += node.points * 2 * (best / have - 1);
    }
}

// On a device with workgroups, points of the common axes that share one: the columns of a contraction, where tasks cut
// them; all, where tasks have nothing else for their lanes.
double CostModel::lanes_in_tasks(const std::vector<int32_t>& members) const {
    if (!target_.has_workgroups()) return 1;
    const double most = target_.lanes(choice_numbers::least_element);
    double lanes = 1;
    bool has_others = false;
    for (int32_t member : members) {
        const FusionNode& node = graph_.node(member);
        has_others = has_others || node.reduction || node.elements > common_points(node);
        if (!node.contraction) continue;
        double columns = 1;
        for (int32_t slot : node.columns) {
            if (finder_.is_common(slot)) columns *= graph_.slots[static_cast<size_t>(slot)].hint;
        }
        lanes = std::max(lanes, columns);
    }
    return std::min(most, has_others ? lanes : most);
}

double CostModel::seconds_of(const KernelCost& cost) const {
    const double tasks = std::max(1.0, std::ceil(cost.tasks / cost.lanes));
    const double cores = std::min<double>(target_.cores, tasks);
    const double busy = tasks >= target_.cores ? tasks / (std::ceil(tasks / target_.cores) * target_.cores) : 1.0;
    const double bandwidth = std::min(target_.bandwidth, target_.bandwidth_one_core * cores);
    const double arithmetic = target_.operations * cores * busy;
    const double again = std::max(bandwidth, choice_numbers::l3_bandwidth_of_a_core(target_) * cores);
    double seconds = choice_numbers::seconds_of_a_kernel(target_) + cost.weights_again / again;
    for (const Work& work : {cost.main, cost.reductions})
        seconds += std::max(work.bytes / bandwidth, work.operations / arithmetic);
    return seconds;
}

KernelCost CostModel::cost(const std::vector<int32_t>& members) {
    evaluations_++;
    generation_++;
    finder_.find(members);
    KernelCost cost;
    cost.tasks = std::max(finder_.tasks(), 1.0);
    cost.least_tasks = std::max(finder_.least_tasks(), 1.0);
    for (int32_t member : members) add_equation(graph_.node(member), finder_.is_output(member), cost);
    cost.tile = std::min(largest_tile, std::ceil(cost.tasks / (choice_numbers::rounds_shared * target_.cores)));
    if (cost.local_bytes > 0) {
        cost.tile = std::min(cost.tile, std::floor(static_cast<double>(kept_in_l2(target_)) / cost.local_bytes));
    }
    cost.tile = std::max(cost.tile, 1.0);
    add_repeated_reads(members, cost);
    add_short_register_tiles(members, cost);
    cost.lanes = lanes_in_tasks(members);
    cost.seconds = seconds_of(cost);
    return cost;
}

StreamingCost CostModel::streaming_cost(const std::vector<int32_t>& members) {
    StreamingCost made{.rest = cost(members), .streamed = {}};
    if (made.rest.contractions == 0) return made;
    const auto add = [&](TensorIndex tensor, double bytes, bool copied) {
        if (std::ranges::count(made.streamed, tensor, &Streamed::tensor) > 0) return;
        made.streamed.push_back({tensor, bytes, copied});
        made.rest.main.bytes -= std::min(made.rest.main.bytes, bytes);
    };
    const auto is_large = [&](double bytes) { return bytes > static_cast<double>(target_.l2_bytes); };
    for (int32_t member : members) {
        const FusionNode& node = graph_.node(member);
        // A constant operand is the one that vectors move along.
        const bool any_constant = std::ranges::any_of(node.reads, &NodeRead::constant);
        const bool packs = product(graph_, node.rows) >= choice_numbers::register_rows;
        for (const NodeRead& read : node.reads) {
            const auto has = [&](const std::vector<int32_t>& slots) {
                return std::ranges::any_of(slots, [&](int32_t s) { return std::ranges::count(read.slots, s) > 0; });
            };
            if (std::ranges::any_of(read.makers, [&](int32_t m) { return finder_.is_member(m); })) continue;
            if (node.contraction ? has(node.columns) && !has(node.rows) : !node.reduction && is_large(read.bytes))
                add(read.tensor, read.bytes, node.contraction && packs && !any_constant);
        }
        if (finder_.is_output(member) && is_large(node.bytes)) add(node.tensor, node.bytes, false);
    }
    made.rest.seconds = seconds_of(made.rest);
    return made;
}

namespace {

// What `of` says of each kernel's nodes.
template <typename Cost, typename Of>
std::vector<Cost> of_kernels(const System& system, const Partition& partition, const Target& target, const Of& of) {
    const FusionGraph graph(system);
    std::map<int32_t, int32_t> node_of;  // by equation
    for (size_t n = 0; n < graph.nodes.size(); n++) node_of[graph.nodes[n].equation] = static_cast<int32_t>(n);
    CostModel model(graph, target);
    std::vector<Cost> costs;
    for (const Kernel& kernel : partition.kernels) {
        std::vector<int32_t> members;
        for (int32_t equation : kernel.equations) members.push_back(node_of.at(equation));
        costs.push_back(of(model, members));
    }
    return costs;
}

}  // namespace

std::vector<KernelCost> costs_of(const System& system, const Partition& partition, const Target& target) {
    return of_kernels<KernelCost>(system, partition, target,
                                  [](CostModel& model, const auto& members) { return model.cost(members); });
}

std::vector<StreamingCost> streaming_costs_of(const System& system, const Partition& partition, const Target& target) {
    return of_kernels<StreamingCost>(
        system, partition, target, [](CostModel& model, const auto& members) { return model.streaming_cost(members); });
}

RunCost run_cost(const System& system, const Partition& partition, const Target& target) {
    const std::vector<KernelCost> costs = costs_of(system, partition, target);
    const double launch = choice_numbers::seconds_of_a_kernel(target);
    RunCost sum;
    for (const auto& batch : partition.batches) {
        sum.seconds += launch;
        for (int32_t kernel : batch) {
            const KernelCost& cost = costs[static_cast<size_t>(kernel)];
            sum.seconds += cost.seconds - launch;
            sum.bytes += cost.main.bytes + cost.reductions.bytes + cost.weights_again;
            sum.operations += cost.main.operations + cost.reductions.operations;
        }
    }
    return sum;
}

}  // namespace heddle::equations
