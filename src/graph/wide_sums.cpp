#include "graph/wide_sums.h"

#include <algorithm>
#include <vector>

namespace heddle {
namespace {

constexpr int64_t fewer = 4;  // so many times fewer elements has a sum than what is summed

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

class Finder {
public:
    explicit Finder(const Graph& graph)
        : graph_(graph), barred_(graph.tensors.size()), writers_(graph.tensors.size()), readers_(graph.tensors.size()) {
        for (size_t o = 0; o < graph.operations.size(); ++o) {
            for (TensorId id : graph.operations[o].outputs) writers_[static_cast<size_t>(id)].push_back(o);
            for (TensorId id : graph.operations[o].inputs) readers_[static_cast<size_t>(id)].push_back(o);
        }
        for (const auto* ends : {&graph.inputs, &graph.outputs}) {
            for (TensorId id : *ends) barred_[static_cast<size_t>(id)] = true;
        }
        for (size_t t = 0; t < graph.tensors.size(); ++t) barred_[t] = barred_[t] || !may_be_wide(TensorId(t));
    }

    // By tensor. What moves to an output that is not wide is not wide either.
    std::vector<bool> run() {
        for (bool again = true; again;) {
            again = false;
            wide_.assign(graph_.tensors.size(), false);
            for (const Operation& operation : graph_.operations) find(operation);
            for (size_t t = 0; t < wide_.size(); ++t) {
                if (!wide_[t] || moves_on(TensorId(t))) continue;
                barred_[t] = again = true;
            }
        }
        return wide_;
    }

private:
    const TensorType& type(TensorId id) const { return graph_.tensor(id).type; }
    bool is_wide(TensorId id) const { return wide_[static_cast<size_t>(id)]; }

    bool may_be_wide(TensorId id) const {
        const Tensor& tensor = graph_.tensor(id);
        const auto& writers = writers_[static_cast<size_t>(id)];
        if (!is_half(tensor.type.dtype) || tensor.constant || writers.size() != 1) return false;
        if (!graph_.operations[writers[0]].body || !graph_.operations[writers[0]].body->locals.empty()) return false;
        return std::ranges::all_of(readers_[static_cast<size_t>(id)],
                                   [&](size_t reader) { return widens(graph_.operations[reader], id); });
    }

    // The operation reads it to compute with it, or moves it.
    static bool widens(const Operation& operation, TensorId id) {
        if (!operation.body) return false;
        const Body& body = *operation.body;
        const auto reads = [&](NodeId node) {
            return body.node(node).is_read() && operation.inputs[static_cast<size_t>(body.node(node).tensor())] == id;
        };
        for (const Node& node : body.nodes) {
            if (node.kind == Node::Kind::guarded_read && operation.inputs[static_cast<size_t>(node.tensor())] == id)
                return false;
            const bool widened = node.kind == Node::Kind::cast && is_float(node.dtype) && !is_half(node.dtype);
            if (!widened && std::ranges::any_of(node.operands, reads)) return false;
        }
        return std::ranges::none_of(body.locals, [&](const Local& local) {
            return reads(local.value) || (local.is_state() && reads(local.initial));
        });
    }

    bool moves_on(TensorId id) const {
        return std::ranges::all_of(readers_[static_cast<size_t>(id)], [&](size_t reader) {
            const Operation& operation = graph_.operations[reader];
            return std::ranges::all_of(operation.body->equations, [&](const BodyEquation& equation) {
                const Node& value = operation.body->node(equation.value);
                const bool moves = value.is_read() && operation.inputs[static_cast<size_t>(value.tensor())] == id;
                return !moves || is_wide(operation.outputs[static_cast<size_t>(equation.output)]);
            });
        });
    }

    void find(const Operation& operation) {
        if (!operation.body) return;
        for (size_t k = 0; k < operation.outputs.size(); ++k) {
            const TensorId id = operation.outputs[k];
            if (barred_[static_cast<size_t>(id)]) continue;
            wide_[static_cast<size_t>(id)] = std::ranges::all_of(operation.body->equations, [&](const BodyEquation& e) {
                return static_cast<size_t>(e.output) != k || makes_wide(operation, e, id);
            });
        }
    }

    // What stands outside of sums, and what is in them.
    struct Leaves {
        std::vector<TensorId> read, summed;
        bool sums = false, other = false;
        std::vector<bool> seen;  // by node, outside and inside of sums
    };
    static void collect(const Operation& operation, NodeId id, bool in_sum, Leaves& leaves) {
        const Node& node = operation.body->node(id);
        leaves.seen.resize(2 * operation.body->nodes.size());
        const size_t place = 2 * static_cast<size_t>(id) + (in_sum ? 1 : 0);
        if (leaves.seen[place]) return;
        leaves.seen[place] = true;
        if (node.is_read())
            (in_sum ? leaves.summed : leaves.read).push_back(operation.inputs[static_cast<size_t>(node.tensor())]);
        if (node.kind == Node::Kind::reduce) {
            leaves.sums = leaves.sums || node.reducer == Reducer::sum;
            leaves.other = leaves.other || node.reducer != Reducer::sum;
            in_sum = true;
        }
        leaves.other = leaves.other || node.kind == Node::Kind::guarded_read || node.kind == Node::Kind::local;
        if (node.is_read()) return;
        for (NodeId operand : node.operands) collect(operation, operand, in_sum, leaves);
    }

    bool makes_wide(const Operation& operation, const BodyEquation& equation, TensorId id) const {
        const Node& value = operation.body->node(equation.value);
        const bool rounds = value.kind == Node::Kind::cast && is_half(value.dtype) &&
                            operation.body->node(value.operands[0]).dtype == DType::float32;
        if (!rounds && !(value.kind == Node::Kind::read)) return false;
        Leaves leaves;
        collect(operation, equation.value, false, leaves);
        if (leaves.other) return false;
        const bool all_fine = std::ranges::all_of(
            leaves.read, [&](TensorId read) { return is_wide(read) || type(read).elements() == 1; });
        if (leaves.sums) return all_fine && sums_many(leaves, id);
        const bool of_wide = all_fine && std::ranges::any_of(leaves.read, [&](TensorId read) { return is_wide(read); });
        return of_wide || (rounds && is_only_summed(id));
    }

    bool sums_many(const Leaves& leaves, TensorId result) const {
        return std::ranges::any_of(
            leaves.summed, [&](TensorId summed) { return type(summed).elements() >= fewer * type(result).elements(); });
    }

    // By all of its readers, alone: no factor of a contraction.
    bool is_only_summed(TensorId id) const {
        const auto& readers = readers_[static_cast<size_t>(id)];
        return !readers.empty() && std::ranges::all_of(readers, [&](size_t reader) {
            const Operation& operation = graph_.operations[reader];
            if (!operation.body->locals.empty()) return false;
            return std::ranges::all_of(operation.body->equations, [&](const BodyEquation& equation) {
                Leaves leaves;
                collect(operation, equation.value, false, leaves);
                const TensorId result = operation.outputs[static_cast<size_t>(equation.output)];
                const auto is_other = [&](TensorId read) { return read != id && type(read).elements() != 1; };
                return !leaves.other && leaves.sums && std::ranges::find(leaves.read, id) == leaves.read.end() &&
                       std::ranges::none_of(leaves.summed, is_other) && sums_many(leaves, result);
            });
        });
    }

    const Graph& graph_;
    std::vector<bool> barred_, wide_;
    std::vector<std::vector<size_t>> writers_, readers_;
};

Body widened(const Operation& operation, const std::vector<bool>& wide) {
    Body body = *operation.body;
    for (Node& node : body.nodes) {
        if (node.is_read() && wide[static_cast<size_t>(operation.inputs[static_cast<size_t>(node.tensor())])])
            node.dtype = DType::float32;
    }
    for (BodyEquation& equation : body.equations) {
        const Node& value = body.node(equation.value);
        const bool to_wide = wide[static_cast<size_t>(operation.outputs[static_cast<size_t>(equation.output)])];
        if (to_wide && value.kind == Node::Kind::cast) equation.value = value.operands[0];
    }
    return body;
}

}  // namespace

bool has_wide_sums(const Graph& graph) {
    return std::ranges::any_of(graph.tensors, [](const Tensor& tensor) { return is_half(tensor.type.dtype); }) &&
           std::ranges::any_of(Finder(graph).run(), [](bool wide) { return wide; });
}

Graph keep_sums_wide(const Graph& graph) {
    const std::vector<bool> wide = Finder(graph).run();
    Graph result = graph;
    for (Operation& operation : result.operations) {
        const auto is_wide = [&](TensorId id) { return wide[static_cast<size_t>(id)]; };
        if (!std::ranges::any_of(operation.inputs, is_wide) && !std::ranges::any_of(operation.outputs, is_wide))
            continue;
        operation.body = std::make_shared<const Body>(widened(operation, wide));
        operation.gradient = nullptr;
    }
    for (size_t t = 0; t < wide.size(); ++t) {
        if (wide[t]) result.tensors[t].type.dtype = DType::float32;
    }
    return result;
}

}  // namespace heddle
