#include "gradient/split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "gradient/derived_graph.h"
#include "gradient/gradient.h"
#include "gradient/outlined.h"
#include "gradient/save_cut.h"
#include "graph/complex.h"
#include "graph/verify.h"

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
        for (VariableId variable : free.list(over)) points *= static_cast<double>(body.variable(variable).extent.value);
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
    Splitting(const Graph& graph, const SplitRequest& request)
        : graph_(graph),
          request_(request),
          whole_(outlined(graph)),
          values_(whole_.tensors.size()),
          is_input_(whole_.tensors.size()),
          is_output_(whole_.tensors.size()),
          is_free_(whole_.tensors.size()) {
        for (TensorId id : whole_.inputs) is_input_[static_cast<size_t>(id)] = true;
        for (TensorId id : whole_.outputs) is_output_[static_cast<size_t>(id)] = true;
        for (size_t i = 0; i < is_free_.size(); ++i)
            is_free_[i] = whole_.tensors[i].constant || is_input_[i] || is_output_[i];
        for (TensorId id : request.overwritten)
            is_free_[static_cast<size_t>(id)] = whole_.tensor(id).constant.has_value();
    }

    Result<Split> run() {
        auto derived = gradient(whole_, request_.wanted, true);
        if (!derived) return fail(std::move(derived.error()));
        derived_ = std::move(*derived);
        find_values();
        auto kept = choose();
        if (!kept) return fail(std::move(kept.error()));
        for (TensorId id(0); id < next_id<TensorId>(whole_.tensors); ++id)
            if ((*kept)[static_cast<size_t>(id)] && !is_free(id)) kept_.push_back(id);
        Split result;
        result.forward = forward();
        result.reverse = reverse();
        result.tape = layout();
        return result;
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
    std::vector<bool> cheapest(Keep&& keep, Again&& again) const {
        std::vector<CutValue> values = values_;
        for (size_t i = 0; i < values.size(); ++i) {
            const bool free = is_free(TensorId(i));
            values[i].keep = free ? 0 : keep(i);
            values[i].again = free || is_input(i) ? never : again(i);
        }
        return cheapest_to_keep(values);
    }

    Result<std::vector<bool>> choose() const {
        const auto nothing = [](size_t) { return int64_t{0}; };
        const auto size = [&](size_t i) { return bytes(i); };
        const auto if_input = [&](size_t i) { return is_input(i) ? bytes(i) : never; };
        switch (request_.policy.kind) {
        case TapePolicy::Kind::balanced: return at_price(operations_per_byte);
        case TapePolicy::Kind::save_all: return cheapest(size, [](size_t) { return never; });
        case TapePolicy::Kind::recompute_all: return cheapest(if_input, nothing);
        case TapePolicy::Kind::fewest_bytes: return cheapest(size, nothing);
        case TapePolicy::Kind::chosen:
            return cheapest(
                [&](size_t i) {
                    const Tensor& tensor = whole_.tensors[i];
                    const TapeCandidate candidate{tensor.name, &tensor.type, values_[i].again};
                    return request_.policy.keeps && request_.policy.keeps(candidate) ? 0 : if_input(i);
                },
                [](size_t) { return int64_t{1}; });
        case TapePolicy::Kind::budget: return within_budget();
        }
        return cheapest(size, nothing);
    }

    int64_t bytes_of(const std::vector<bool>& kept) const {
        int64_t sum = 0;
        for (size_t i = 0; i < kept.size(); ++i)
            if (kept[i] && !is_free(TensorId(i))) sum += bytes(i);
        return sum;
    }

    // The least work and bytes, each of these at so many operations.
    std::vector<bool> at_price(double operations) const {
        constexpr double scale = 1024;
        const auto limited = [](double cost) {
            return static_cast<int64_t>(std::min(cost * scale, static_cast<double>(never) / 16));
        };
        return cheapest([&](size_t i) { return limited(static_cast<double>(bytes(i)) * operations); },
                        [&](size_t i) { return limited(static_cast<double>(values_[i].again)); });
    }

    // The lowest price is looked for at which the bytes are few enough.
    Result<std::vector<bool>> within_budget() const {
        const int64_t most = request_.policy.bytes;
        std::vector<bool> best = cheapest([&](size_t i) { return bytes(i); }, [](size_t) { return int64_t{0}; });
        if (bytes_of(best) > most) return fail(over_budget(most, bytes_of(best)));
        double low = 1e-6, high = 1e6;  // prices
        for (int step = 0; step < 24; ++step) {
            const double price = std::sqrt(low * high);
            auto kept = at_price(price);
            if (bytes_of(kept) > most) {
                low = price;
            } else {
                high = price;
                best = std::move(kept);
            }
        }
        return best;
    }

    static Diagnostic over_budget(int64_t most, int64_t least) {
        return {.code = "gradient.tape_budget",
                .summary = fmt::format("no tape of {} bytes is enough", most),
                .expected = fmt::format("at least {} bytes", least),
                .found = fmt::format("{} bytes", most),
                .reason = "of inputs that are overwritten something must be kept",
                .remedy = "allow more bytes, or keep these inputs"};
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
        return prune(graph);
    }

    Graph reverse() const {
        Graph graph = derived_;
        std::map<TensorId, TensorId> here;  // by tensor of the forward graph
        for (size_t i = 0; i < derived_.tensors.size(); ++i)
            if (const TensorId of = forward_of(TensorId(i)); of >= 0) here.emplace(of, TensorId(i));
        const std::vector<TensorId> adjoints(graph.inputs.begin() + static_cast<int64_t>(whole_.inputs.size()),
                                             graph.inputs.end());
        graph.inputs.clear();
        std::set<TensorId> given;
        for (const auto* list : {&whole_.inputs, &whole_.outputs}) {
            for (TensorId id : *list)
                if (is_free(id) && !whole_.tensor(id).constant && given.insert(id).second)
                    graph.inputs.push_back(stand_in(graph, here, id));
        }
        for (TensorId id : kept_) graph.inputs.push_back(stand_in(graph, here, id));
        graph.inputs.insert(graph.inputs.end(), adjoints.begin(), adjoints.end());
        return prune(graph);
    }

    // An input that stands for a tensor wherever operations read it; nobody needs what makes it then.
    TensorId stand_in(Graph& graph, const std::map<TensorId, TensorId>& here, TensorId id) const {
        const auto found = here.find(id);
        const TensorId made = graph.add_tensor(whole_.tensor(id).name, whole_.tensor(id).type);
        if (found == here.end()) return made;
        std::swap(graph.tensors[static_cast<size_t>(made)].name,
                  graph.tensors[static_cast<size_t>(found->second)].name);
        for (Operation& operation : graph.operations) std::ranges::replace(operation.inputs, found->second, made);
        return made;
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
        const std::string why = is_input(static_cast<size_t>(id)) ? "an input that is overwritten; " : "";
        return why + (asks == asks_.end() ? "others that are asked for are worked out of it"
                                          : fmt::format("'{}' asks for it", asks->second));
    }

    const Graph& graph_;
    const SplitRequest& request_;
    const Graph whole_;  // the graph in finer operations
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
                bytes *= size.value;
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

}  // namespace

Result<Split> split(const Graph& graph, const SplitRequest& request) {
    if (!has_complex(graph)) return Splitting(graph, request).run();
    const Graph pairs = lower_complex(graph);
    auto made = Splitting(pairs, request).run();
    if (!made) return made;
    return of_complex_types(graph, request, std::move(*made));
}

}  // namespace heddle::gradient
