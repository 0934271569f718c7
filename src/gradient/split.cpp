#include "gradient/split.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "gradient/budget_cut.h"
#include "gradient/derived_graph.h"
#include "gradient/gradient.h"
#include "gradient/outlined.h"
#include "gradient/save_cut.h"
#include "graph/complex.h"
#include "graph/verify.h"
#include "zspace/checked.h"

namespace heddle::gradient {
namespace {

// About what an operation takes, in operations of one cycle's throughput.
int64_t operations_of(const Operation& operation) {
    if (!operation.body) return 0;
    const Body& body = *operation.body;
    const FreeVariables free(body);
    double sum = 0;
    for (NodeId id(0); id < next_id<NodeId>(body.nodes); ++id) {
        const Node& node = body.node(id);
        if (node.kind != Node::Kind::scalar && node.kind != Node::Kind::reduce) continue;
        const NodeId over = node.kind == Node::Kind::reduce ? node.operands[0] : id;
        double points = node.kind == Node::Kind::reduce ? 1 : info(node.op).cost;
        for (VariableId variable : free.list(over)) points *= static_cast<double>(body.variable(variable).extent.value());
        sum += points;
    }
    return static_cast<int64_t>(std::min(sum, 1e12));
}

// What a byte that is written and read again costs where it does not stay in a cache: at 12 GB/s a core, twice, as many
// operations as a core with vectors of 16 does in this time.
constexpr double operations_per_byte = 16;

int64_t aligned(int64_t bytes) { return (bytes + tape_alignment - 1) / tape_alignment * tape_alignment; }

class Splitting {
public:
    Splitting(const Graph& graph, const StepsBetween& between)
        : graph_(graph),
          checkpointed_(between ? checkpointed(outlined(graph), between) : CheckpointedGraph{outlined(graph), {}}),
          whole_(checkpointed_.graph),
          values_(whole_.tensors.size()),
          is_input_(whole_.tensors.size()),
          is_output_(whole_.tensors.size()) {
        for (TensorId id : whole_.inputs) is_input_[static_cast<size_t>(id)] = true;
        for (TensorId id : whole_.outputs) is_output_[static_cast<size_t>(id)] = true;
    }

    // First, and once.
    Result<void> derive(const std::vector<TensorId>& wanted) {
        auto derived = gradient_of_results(checkpointed_, wanted);
        if (!derived) return fail(std::move(derived.error()));
        derived_ = std::move(*derived);
        find_values();
        return {};
    }

    // What forward() and reverse() are then of.
    Result<TapeLayout> tape(const TapePolicy& policy, const std::vector<TensorId>& overwritten) {
        is_free_.assign(whole_.tensors.size(), false);
        for (size_t i = 0; i < is_free_.size(); ++i)
            is_free_[i] = whole_.tensors[i].constant || is_input_[i] || is_output_[i];
        for (TensorId id : overwritten) is_free_[static_cast<size_t>(id)] = whole_.tensor(id).constant.has_value();
        auto kept = choose(policy);
        if (!kept) return fail(std::move(kept.error()));
        kept_.clear();
        for (TensorId id(0); id < next_id<TensorId>(whole_.tensors); ++id)
            if ((*kept)[static_cast<size_t>(id)] && !is_free(id)) kept_.push_back(id);
        return layout();
    }

    Graph forward() const {
        if (kept_.empty()) return graph_;
        DerivedGraph made(whole_);
        Graph& graph = made.graph();
        for (TensorId id : kept_) {
            const Tensor& tensor = whole_.tensor(id);
            const bool copied = is_input(static_cast<size_t>(id)) || is_output_[static_cast<size_t>(id)];
            graph.outputs.push_back(copied ? made.add_sum({id}, "kept.", tensor.name + ".kept", tensor.type) : id);
        }
        return pruned(graph);
    }

    Graph reverse() const {
        Graph graph = derived_;
        std::map<TensorId, TensorId> here;  // by tensor of the forward graph
        for (size_t i = 0; i < derived_.tensors.size(); ++i)
            if (const TensorId of = forward_of(TensorId(i)); of >= 0) here.emplace(of, TensorId(i));
        const std::vector<TensorId> adjoints(graph.inputs.begin() + static_cast<int64_t>(whole_.inputs.size()),
                                             graph.inputs.end());
        graph.inputs.clear();
        std::vector<TensorId> instead(graph.tensors.size());  // of each tensor that operations read
        std::iota(instead.begin(), instead.end(), TensorId(0));
        // An input that stands for a tensor wherever operations read it; nobody needs what makes it then.
        auto stand_in = [&](TensorId id) {
            const TensorId made = graph.add_tensor(whole_.tensor(id).name, whole_.tensor(id).type);
            graph.inputs.push_back(made);
            const auto found = here.find(id);
            if (found == here.end()) return;
            instead[static_cast<size_t>(found->second)] = made;
            std::swap(graph.tensors[static_cast<size_t>(made)].name,
                      graph.tensors[static_cast<size_t>(found->second)].name);
        };
        std::set<TensorId> given;
        for (const auto* list : {&whole_.inputs, &whole_.outputs}) {
            for (TensorId id : *list)
                if (is_free(id) && !whole_.tensor(id).constant && given.insert(id).second) stand_in(id);
        }
        for (TensorId id : kept_) stand_in(id);
        for (Operation& operation : graph.operations)
            for (TensorId& id : operation.inputs) id = instead[static_cast<size_t>(id)];
        graph.inputs.insert(graph.inputs.end(), adjoints.begin(), adjoints.end());
        return pruned(graph);
    }

private:
    // The reverse program has it without a tape.
    bool is_free(TensorId id) const { return is_free_[static_cast<size_t>(id)]; }

    void find_values() {
        for (size_t i = 0; i < whole_.tensors.size(); ++i) number_[whole_.tensors[i].name] = TensorId(i);
        for (const Operation& operation : whole_.operations) {
            const int64_t again = operations_of(operation);
            for (TensorId id : operation.outputs) {
                CutValue& value = values_[static_cast<size_t>(id)];
                value.again += again;
                for (TensorId input : operation.inputs) value.inputs.push_back(static_cast<size_t>(input));
            }
        }
        for (const Operation& operation : derived_.operations) {
            const bool forward =
                std::ranges::all_of(operation.outputs, [&](TensorId id) { return forward_of(id) >= 0; });
            if (forward) continue;
            for (TensorId id : operation.inputs) {
                const TensorId of = forward_of(id);
                if (of < 0) continue;
                values_[static_cast<size_t>(of)].needed = true;
                asks_.try_emplace(of, operation.name);
            }
        }
    }

    // The forward graph's tensor that the gradient has, too; -1 if it is its own.
    TensorId forward_of(TensorId derived) const {
        const auto found = number_.find(derived_.tensor(derived).name);
        return found == number_.end() ? TensorId(no_id) : found->second;
    }

    bool is_input(size_t value) const { return is_input_[value]; }
    int64_t bytes(size_t value) const { return aligned(whole_.tensors[value].type.byte_size()); }

    // By costs of keeping a value, and of working it out again.
    template <typename Keep, typename Again>
    std::vector<CutValue> at_costs(Keep&& keep, Again&& again) const {
        std::vector<CutValue> values = values_;
        for (size_t i = 0; i < values.size(); ++i) {
            const bool free = is_free(TensorId(i));
            values[i].keep = free ? 0 : keep(i);
            values[i].again = free || is_input(i) ? never : again(i);
        }
        return values;
    }

    template <typename Keep, typename Again>
    std::vector<bool> cheapest(Keep&& keep, Again&& again) const {
        return cheapest_to_keep(at_costs(keep, again));
    }

    Result<std::vector<bool>> choose(const TapePolicy& policy) const {
        const auto nothing = [](size_t) { return int64_t{0}; };
        const auto size = [&](size_t i) { return bytes(i); };
        const auto if_input = [&](size_t i) { return is_input(i) ? bytes(i) : never; };
        switch (policy.kind) {
        case TapePolicy::Kind::balanced: return balanced();
        case TapePolicy::Kind::save_all: return cheapest(size, [](size_t) { return never; });
        case TapePolicy::Kind::recompute_all: return cheapest(if_input, nothing);
        case TapePolicy::Kind::fewest_bytes: return cheapest(size, nothing);
        case TapePolicy::Kind::chosen:
            return cheapest(
                [&](size_t i) {
                    const Tensor& tensor = whole_.tensors[i];
                    const TapeCandidate candidate{tensor.name, &tensor.type, values_[i].again};
                    return policy.keeps && policy.keeps(candidate) ? 0 : if_input(i);
                },
                [](size_t) { return int64_t{1}; });
        case TapePolicy::Kind::budget: return within_budget(policy.bytes);
        }
        return cheapest(size, nothing);
    }

    int64_t bytes_of(const std::vector<bool>& kept) const {
        int64_t sum = 0;
        for (size_t i = 0; i < kept.size(); ++i)
            if (kept[i] && !is_free(TensorId(i))) sum += bytes(i);
        return sum;
    }

    // The least work and bytes. Scans need not run again for their checkpoints.
    std::vector<bool> balanced() const {
        constexpr double scale = 1024;
        const auto limited = [](double cost) {
            return static_cast<int64_t>(std::min(cost * scale, static_cast<double>(never) / 16));
        };
        return cheapest([&](size_t i) { return limited(static_cast<double>(bytes(i)) * operations_per_byte); },
                        [&](size_t i) {
                            const bool stays = checkpointed_.is_checkpoint(TensorId(i));
                            return stays ? never : limited(static_cast<double>(values_[i].again));
                        });
    }

    Result<std::vector<bool>> within_budget(int64_t most) const {
        const auto size = [&](size_t i) { return bytes(i); };
        if (auto kept = cheapest_within(at_costs(size, [&](size_t i) { return values_[i].again; }), most)) return *kept;
        return fail(over_budget(most, bytes_of(cheapest(size, [](size_t) { return int64_t{0}; }))));
    }

    static Diagnostic over_budget(int64_t most, int64_t least) {
        return {.code = "gradient.tape_budget",
                .summary = fmt::format("no tape of {} bytes is enough", most),
                .expected = fmt::format("at least {} bytes", least),
                .found = fmt::format("{} bytes", most),
                .reason = "of inputs that are overwritten something must be kept",
                .remedy = "allow more bytes, or keep these inputs"};
    }

    Graph pruned(const Graph& graph) const {
        Graph result = prune(graph);
        result.dimension_names = graph_.dimension_names;
        return result;
    }

    TapeLayout layout() const {
        TapeLayout tape;
        for (TensorId id : kept_) {
            const Tensor& tensor = whole_.tensor(id);
            TapeEntry entry{tensor.name, tensor.type, tape.bytes, tensor.type.byte_size(), reason(id)};
            tape.bytes += aligned(entry.bytes);
            tape.entries.push_back(std::move(entry));
        }
        return tape;
    }

    std::string reason(TensorId id) const {
        const auto asks = asks_.find(id);
        std::string why = is_input(static_cast<size_t>(id)) ? "an input that is overwritten; " : "";
        why += checkpointed_.reason(id);
        return why + (asks == asks_.end() ? "others that are asked for are worked out of it"
                                          : fmt::format("'{}' asks for it", asks->second));
    }

    const Graph& graph_;
    const CheckpointedGraph checkpointed_;
    const Graph& whole_;  // the graph in finer operations
    Graph derived_;
    std::vector<CutValue> values_;  // by tensor of `whole_`
    std::vector<bool> is_input_, is_output_, is_free_;
    std::map<std::string, TensorId> number_;
    std::map<TensorId, std::string> asks_;  // an operation of the gradient that reads it
    std::vector<TensorId> kept_;
};

}  // namespace

std::string TapeLayout::bytes_text() const {
    std::vector<std::pair<Size, int64_t>> groups;  // products of named sizes, and the bytes for each of these
    for (const TapeEntry& entry : entries) {
        Size named = 1;
        int64_t bytes = heddle::bytes(entry.type.dtype);
        for (const Size& size : entry.type.shape) {
            if (!size.named())
                bytes *= size.value();
            else
                named = named.named() ? named * size : size;
        }
        auto group = std::ranges::find(groups, named, &std::pair<Size, int64_t>::first);
        if (group == groups.end()) group = groups.insert(group, {named, 0});
        group->second += bytes;
    }
    Size sum = 0;
    for (const auto& [named, bytes] : groups) {
        const Size part = named.named() ? Size(bytes) * named : Size(bytes);
        sum = sum == Size(0) ? part : sum + part;
    }
    return sum.text();
}

namespace {

// With the types that the graph has at its ends, of a split of the graph with pairs for complex numbers.
Split of_complex_types(const Graph& graph, const SplitRequest& request, Split pairs) {
    std::vector<TensorType> kept, live, wanted;
    for (const TapeEntry& entry : pairs.tape.entries) kept.push_back(entry.type);
    auto add = [&](std::vector<TensorType>& types, TensorId id) { types.push_back(graph.tensor(id).type); };
    std::vector<TensorType> inputs, outputs;
    for (TensorId id : graph.inputs) add(inputs, id);
    for (TensorId id : graph.outputs) add(outputs, id);
    std::set<TensorId> given(request.overwritten.begin(), request.overwritten.end());
    for (const auto* list : {&graph.inputs, &graph.outputs})
        for (TensorId id : *list)
            if (!graph.tensor(id).constant && given.insert(id).second) add(live, id);
    live.insert(live.end(), kept.begin(), kept.end());
    for (TensorId id : outputs_with_derivatives(graph)) add(live, id);
    for (TensorId id : request.wanted) add(wanted, id);
    outputs.insert(outputs.end(), kept.begin(), kept.end());
    pairs.forward = with_complex_ends(pairs.forward, inputs, outputs);
    pairs.reverse = with_complex_ends(pairs.reverse, live, wanted);
    return pairs;
}

// States that do not stay in a cache are written to memory and read again; working out one segment after another is
// faster, and takes one forward computation as well. Of few steps about as many states are kept either way.
constexpr int64_t bytes_of_long_scans = 1 << 20, steps_of_long_scans = 32;

// How scans are dealt with under a policy.
StepsBetween steps_between(const TapePolicy& policy) {
    if (policy.every) return every_steps(*policy.every);
    const bool balanced = policy.kind == TapePolicy::Kind::balanced;
    if (!balanced && policy.kind != TapePolicy::Kind::budget) return {};
    return [balanced, most = balanced ? bytes_of_long_scans : policy.bytes](const ScanSteps& scan) -> int64_t {
        const auto all = checked_multiply(scan.bytes, scan.steps.value());
        const bool fits = (all && *all <= most) || (balanced && scan.steps.value() < steps_of_long_scans);
        return fits ? 0 : every_steps(0)(scan);
    };
}

}  // namespace

Result<Split> split(const Graph& graph, const SplitRequest& request) {
    std::optional<Graph> pairs;
    if (has_complex(graph)) pairs = lower_complex(graph);
    Splitting splitting(pairs ? *pairs : graph, steps_between(request.policy));
    if (auto derived = splitting.derive(request.wanted); !derived) return fail(std::move(derived.error()));
    auto tape = splitting.tape(request.policy, request.overwritten);
    if (!tape) return fail(std::move(tape.error()));
    Split made{splitting.forward(), splitting.reverse(), std::move(*tape)};
    return pairs ? of_complex_types(graph, request, std::move(made)) : std::move(made);
}

Result<std::vector<TapeLayout>> tape_layouts(const Graph& graph, const std::vector<TensorId>& wanted,
                                             const std::vector<TapeQuestion>& questions) {
    std::optional<Graph> pairs;
    if (has_complex(graph)) pairs = lower_complex(graph);
    const Graph& real = pairs ? *pairs : graph;
    std::optional<Splitting> whole;  // for all questions that say nothing of scans
    std::vector<TapeLayout> tapes;
    for (const TapeQuestion& question : questions) {
        const StepsBetween between = has_scan(real) ? steps_between(question.policy) : StepsBetween();
        std::optional<Splitting> own;
        std::optional<Splitting>& splitting = between ? own : whole;
        if (!splitting) {
            splitting.emplace(real, between);
            if (auto derived = splitting->derive(wanted); !derived) return fail(std::move(derived.error()));
        }
        auto tape = splitting->tape(question.policy, question.overwritten);
        if (!tape) return fail(std::move(tape.error()));
        tapes.push_back(std::move(*tape));
    }
    return tapes;
}

}  // namespace heddle::gradient
