#include "plan/donation.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/in_place.h"

namespace heddle::plan {

using namespace equations;

namespace {

std::unexpected<Diagnostics> no_output_left(const Graph& graph, TensorId input) {
    const auto& tensor = graph.tensor(input);
    std::vector<std::string> outputs;
    for (TensorId output : graph.outputs)
        outputs.push_back(fmt::format("{}: {}", graph.tensor(output).name, graph.tensor(output).type.text()));
    return fail({.code = "plan.donation",
                 .summary = fmt::format("no output can take over the memory of input '{}'", tensor.name),
                 .expected = "an output of " + tensor.type.text() + " for each donated input of this type",
                 .found = fmt::format("{}", fmt::join(outputs, ", ")),
                 .reason = "what is donated is overwritten by a result of the same shape and dtype",
                 .remedy = "donate only what a result replaces",
                 .params = {{"input", tensor.name}}});
}

std::unexpected<Diagnostics> wrong_donation(const char* expected, const Donation& found) {
    return fail({.code = "plan.donation",
                 .summary = "an output cannot take over the memory of an input",
                 .expected = expected,
                 .found = fmt::format("output {}, input {}", found.output, found.input)});
}

bool same_type(const TensorType& a, const TensorType& b) { return a.dtype == b.dtype && a.extents() == b.extents(); }

bool reads(const Graph& graph, TensorId output, TensorId input) {
    const auto producer = graph.tensor(output).producer;
    if (producer < 0) return output == input;
    const auto& inputs = graph.operations[static_cast<size_t>(producer)].inputs;
    return std::ranges::find(inputs, input) != inputs.end();
}

// The kernels of `run`, and which must come behind which.
class KernelOrder {
public:
    explicit KernelOrder(const Partition& partition) : behind_(partition.kernels.size()) {
        std::map<TensorIndex, std::vector<size_t>> makers;
        for (size_t k = 0; k < behind_.size(); k++) {
            for (TensorIndex t : partition.kernels[k].outputs) makers[t].push_back(k);
        }
        for (size_t k = 0; k < behind_.size(); k++) {
            for (TensorIndex t : partition.kernels[k].inputs) {
                for (size_t maker : makers[t])
                    if (maker != k) behind_[maker].insert(k);
            }
        }
    }

    // False, and nothing has changed, where one of the readers comes behind one of the writers.
    bool put_behind(const std::vector<size_t>& readers, const std::vector<size_t>& writers) {
        const std::set<size_t> reached = reached_from(writers);
        const auto is_writer = [&](size_t k) { return std::ranges::find(writers, k) != writers.end(); };
        if (std::ranges::any_of(readers, [&](size_t reader) { return reached.contains(reader); })) return false;
        if (std::ranges::count_if(readers, is_writer) > 1) return false;
        for (size_t reader : readers) {
            for (size_t writer : writers)
                if (writer != reader) behind_[reader].insert(writer);
        }
        return true;
    }

    // Each kernel in its batch, or in the first one behind all that it must come behind.
    void apply(Partition& partition) const {
        std::vector<int> level(behind_.size(), 0);
        std::vector<size_t> order;
        for (size_t b = 0; b < partition.batches.size(); b++) {
            for (int32_t k : partition.batches[b]) {
                level[static_cast<size_t>(k)] = static_cast<int>(b);
                order.push_back(static_cast<size_t>(k));
            }
        }
        std::vector<int> waits(behind_.size(), 0);
        for (size_t k : order) {
            for (size_t next : behind_[k]) waits[next]++;
        }
        std::vector<size_t> ready;
        for (size_t k : order) {
            if (waits[k] == 0) ready.push_back(k);
        }
        for (size_t i = 0; i < ready.size(); i++) {
            for (size_t next : behind_[ready[i]]) {
                level[next] = std::max(level[next], level[ready[i]] + 1);
                if (--waits[next] == 0) ready.push_back(next);
            }
        }
        std::map<int, std::vector<int32_t>> batches;
        for (size_t k : order) batches[level[k]].push_back(static_cast<int32_t>(k));
        partition.batches.clear();
        for (auto& [number, kernels] : batches) partition.batches.push_back(std::move(kernels));
    }

private:
    // What must come behind these.
    std::set<size_t> reached_from(std::vector<size_t> next) const {
        std::set<size_t> reached;
        while (!next.empty()) {
            const size_t k = next.back();
            next.pop_back();
            for (size_t follower : behind_[k])
                if (reached.insert(follower).second) next.push_back(follower);
        }
        return reached;
    }

    std::vector<std::set<size_t>> behind_;  // by kernel
};

}  // namespace

Result<void> check_donations(const Graph& graph, const std::vector<Donation>& donations) {
    std::set<int32_t> outputs, inputs;
    for (const Donation& donation : donations) {
        const auto [output, input] = donation;
        if (output < 0 || static_cast<size_t>(output) >= graph.outputs.size() || input < 0 ||
            static_cast<size_t>(input) >= graph.inputs.size())
            return wrong_donation("places of outputs and inputs that are there", donation);
        if (!same_type(graph.tensor(graph.outputs[static_cast<size_t>(output)]).type,
                       graph.tensor(graph.inputs[static_cast<size_t>(input)]).type))
            return wrong_donation("an output and an input of the same type", donation);
        if (!outputs.insert(output).second || !inputs.insert(input).second)
            return wrong_donation("each output and each input once", donation);
    }
    return {};
}

Result<std::vector<Donation>> donations_of(const Graph& graph, const std::vector<int32_t>& inputs) {
    std::vector<Donation> result;
    std::set<int32_t> taken;
    const auto take = [&](int32_t input, bool direct) {
        const TensorId from = graph.inputs[static_cast<size_t>(input)];
        for (size_t o = 0; o < graph.outputs.size(); o++) {
            const auto output = static_cast<int32_t>(o);
            const bool fits = same_type(graph.tensor(graph.outputs[o]).type, graph.tensor(from).type);
            if (!fits || taken.contains(output) || (direct && !reads(graph, graph.outputs[o], from))) continue;
            taken.insert(output);
            result.push_back({output, input});
            return true;
        }
        return false;
    };
    std::vector<int32_t> left;
    for (int32_t input : inputs) {
        if (!take(input, true)) left.push_back(input);
    }
    for (int32_t input : left) {
        if (!take(input, false)) return no_output_left(graph, graph.inputs[static_cast<size_t>(input)]);
    }
    return result;
}

namespace {

bool overwrites_early(const schedules::Scheduled& scheduled, const InPlacePair& pair) {
    const auto memory = [&](schedules::TensorIndex tensor) {
        const auto found = std::ranges::find_if(scheduled.buffers, [&](const schedules::BufferSource& source) {
            return source.tensor == tensor && source.packing < 0 && source.elements < 0;
        });
        return found == scheduled.buffers.end() ? schedules::MemoryId(no_id)
                                                : schedules::MemoryId(found - scheduled.buffers.begin());
    };
    const auto from = memory(pair.input), to = memory(pair.output);
    return from >= 0 && to >= 0 && scheduled.launch.tasks > 0 &&
           schedules::overwrites_early(scheduled.tree, scheduled.launch.numbers, from, to);
}

}  // namespace

Result<ScheduledInPlace> schedule_in_place(schedules::Kernel& kernel, const std::vector<InPlacePair>& pairs,
                                           const Target& target, decltype(PlanOptions::schedule) schedule) {
    for (auto& tensor : kernel.tensors) tensor.shares = no_id;
    for (const auto& [input, output] : pairs) {
        kernel.tensors[static_cast<size_t>(input)].shares = output;
        kernel.tensors[static_cast<size_t>(output)].shares = input;
    }
    auto scheduled = schedule(kernel, target);
    if (!scheduled) return fail(std::move(scheduled.error()));
    std::vector<InPlacePair> early;
    for (const InPlacePair& pair : pairs)
        if (overwrites_early(*scheduled, pair)) early.push_back(pair);
    if (early.empty()) return ScheduledInPlace{std::move(*scheduled), std::nullopt};
    for (const InPlacePair& pair : early) {
        if (pairs.size() == 1) break;
        auto alone = schedule_in_place(kernel, {pair}, target, schedule);
        if (!alone || alone->wrong) return alone;
    }
    return ScheduledInPlace{std::move(*scheduled), early.front()};
}

std::vector<Takeover> put_behind_readers(const System& system, Partition& partition,
                                         const std::vector<Takeover>& wanted) {
    // What operations without equations read is not known here.
    const bool opaque = std::ranges::any_of(system.tensors, [](const auto& t) { return !t.opaque_inputs.empty(); });
    if (opaque || wanted.empty()) return {};
    KernelOrder order(partition);
    std::vector<Takeover> result;
    for (const Takeover& takeover : wanted) {
        std::vector<size_t> readers, writers;
        for (size_t k = 0; k < partition.kernels.size(); k++) {
            const Kernel& kernel = partition.kernels[k];
            if (std::ranges::find(kernel.inputs, takeover.input) != kernel.inputs.end()) readers.push_back(k);
            if (std::ranges::find(kernel.outputs, takeover.output) != kernel.outputs.end()) writers.push_back(k);
        }
        if (order.put_behind(readers, writers)) result.push_back(takeover);
    }
    order.apply(partition);
    return result;
}

}  // namespace heddle::plan
