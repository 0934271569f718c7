#include "gradient/gradient.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "gradient/cancelled_shift.h"
#include "gradient/derived_graph.h"
#include "gradient/reverse_body.h"

namespace heddle::gradient {
namespace {

class Derivation {
public:
    Derivation(const CheckpointedGraph& graph, bool reads_results)
        : from_(graph.graph),
          checkpoints_(graph.of),
          reads_results_(reads_results),
          derived_(graph.graph),
          to_(derived_.graph()),
          adjoints_(graph.graph.tensors.size()) {}

    Result<Graph> run(const std::vector<TensorId>& wanted, const std::vector<TensorId>& values) {
        active_ = reached(from_, wanted);
        for (TensorId id : outputs_with_derivatives(from_)) {
            to_.inputs.push_back(to_.add_tensor("d_" + from_.tensor(id).name, from_.tensor(id).type));
            adjoints_[static_cast<size_t>(id)].push_back(to_.inputs.back());
        }
        for (size_t i = from_.operations.size(); i-- > 0;)
            if (auto derived = derive(OperationId(i)); !derived) return fail(std::move(derived.error()));
        to_.outputs = values;
        for (TensorId id : wanted) to_.outputs.push_back(adjoint_output(id));
        Graph result = prune(to_);
        result.dimension_names = from_.dimension_names;
        return result;
    }

private:
    Result<void> derive(OperationId id) {
        const Operation& operation = from_.operation(id);
        const auto kept = checkpoints_.find(id);
        ReverseRequest request;
        std::vector<TensorId> tensors = operation.inputs;
        for (TensorId input : operation.inputs) request.inputs.push_back(from_.tensor(input).type);
        for (TensorId output : operation.outputs) {
            request.outputs.push_back(from_.tensor(output).type);
            const bool needed = active_[static_cast<size_t>(output)];
            TensorId adjoint = needed ? whole_adjoint(output) : no_id;
            request.given.push_back(adjoint >= 0);
            if (adjoint >= 0) tensors.push_back(adjoint);
        }
        if (std::ranges::none_of(request.given, std::identity{})) return {};
        if (operation.gradient) {
            follow(operation);
            return {};
        }
        for (size_t i = 0; i < operation.inputs.size(); ++i)
            if (active_[static_cast<size_t>(operation.inputs[i])]) request.wanted.push_back(static_cast<int32_t>(i));
        if (request.wanted.empty()) return {};
        if (!operation.body) return fail(opaque(operation));
        request.body = kept == checkpoints_.end() ? operation.body.get() : kept->second.body.get();
        request.cut = cancelled_shifts(*request.body);
        request.reads_results = reads_results_;
        if (reads_results_ || kept != checkpoints_.end())
            tensors.insert(tensors.end(), operation.outputs.begin(), operation.outputs.end());
        if (kept != checkpoints_.end()) {
            request.checkpoints = &kept->second;
            auto body = reverse_by_segments(request);
            if (!body) return fail(in_operation(std::move(body.error()), operation));
            if (*body) return add(operation, std::move(**body), request.wanted, tensors), Result<void>{};
        }
        const std::vector<int32_t> wanted = request.wanted;
        for (int32_t input : wanted) {
            request.wanted = {input};
            auto body = reverse(request);
            if (!body) return fail(in_operation(std::move(body.error()), operation));
            add(operation, std::move(*body), request.wanted, tensors);
        }
        return {};
    }

    // The body of the adjoints of these inputs, but those that it does not write: they are zero.
    void add(const Operation& operation, Body body, const std::vector<int32_t>& wanted,
             const std::vector<TensorId>& tensors) {
        std::vector<TensorId> made;
        std::string names;
        for (BodyEquation& equation : body.equations) {
            const TensorId input = operation.inputs[static_cast<size_t>(wanted[static_cast<size_t>(equation.output)])];
            const Tensor& of = from_.tensor(input);
            equation.output = static_cast<int32_t>(made.size());
            names += fmt::format("{}d_{}", names.empty() ? "" : "_", of.name);
            made.push_back(to_.add_tensor("d_" + of.name, of.type));
            adjoints_[static_cast<size_t>(input)].push_back(made.back());
        }
        if (made.empty()) return;
        derived_.add(std::move(body), tensors, fmt::format("{}.{}", operation.name, names),
                     operation.operator_name + " gradient", made);
    }

    // By the template's own rule; an output whose adjoint nobody gives has zeros.
    void follow(const Operation& operation) {
        std::vector<TensorId> given = operation.inputs;
        given.insert(given.end(), operation.outputs.begin(), operation.outputs.end());
        for (TensorId id : operation.outputs)
            if (is_float(from_.tensor(id).type.dtype)) given.push_back(adjoint_or_zeros(id));
        std::vector<TensorId> made = splice(to_, operation.gradient->graph, given, operation.name + ".");
        for (size_t i = 0; i < made.size(); ++i) {
            auto input = static_cast<size_t>(operation.inputs[static_cast<size_t>(operation.gradient->inputs[i])]);
            if (active_[input]) adjoints_[input].push_back(made[i]);
        }
    }

    // The sum of what readers have given; -1 where that is nothing.
    TensorId whole_adjoint(TensorId id) {
        std::vector<TensorId>& parts = adjoints_[static_cast<size_t>(id)];
        if (parts.size() > 1)
            parts = {derived_.add_sum(parts, "sum.", "d_" + from_.tensor(id).name, from_.tensor(id).type)};
        return parts.empty() ? no_id : parts.front();
    }

    TensorId adjoint_or_zeros(TensorId id) {
        TensorId whole = whole_adjoint(id);
        if (whole >= 0) return whole;
        return derived_.add_sum({}, "zeros.", "d_" + from_.tensor(id).name, from_.tensor(id).type);
    }

    TensorId adjoint_output(TensorId id) {
        TensorId whole = whole_adjoint(id);
        // What is no operation's own result is copied: an input that is an output too hands on what it was given, and a
        // rule may hand on anything; one that reaches nothing gets zeros.
        const bool given = whole >= 0 && (to_.tensor(whole).producer < 0 || whole < next_id<TensorId>(from_.tensors) ||
                                          !handed_.insert(whole).second);
        if (whole >= 0 && !given) return whole;
        std::vector<TensorId> parts;
        if (given) parts.push_back(whole);
        return derived_.add_sum(parts, "result.", "d_" + from_.tensor(id).name, from_.tensor(id).type);
    }

    const Graph& from_;
    const std::map<OperationId, Checkpoints>& checkpoints_;
    const bool reads_results_;
    DerivedGraph derived_;
    Graph& to_;
    std::vector<std::vector<TensorId>> adjoints_;  // by tensor of `from_`: parts of its adjoint
    std::vector<bool> active_;
    std::set<TensorId> handed_;  // results already
};

CheckpointedGraph with(const Graph& graph, const StepsBetween& between) {
    return between ? checkpointed(graph, between) : CheckpointedGraph{graph, {}};
}

}  // namespace

Result<Graph> gradient(const Graph& graph, const std::vector<TensorId>& wanted, const StepsBetween& between) {
    return derive(graph, wanted, outputs_with_derivatives(graph), wanted,
                  [&](const Graph& real) { return Derivation(with(real, between), false).run(wanted, {}); });
}

Result<Graph> value_and_gradient(const Graph& graph, const std::vector<TensorId>& wanted,
                                 const std::vector<TensorId>& values, const StepsBetween& between) {
    std::vector<TensorId> results = values;
    results.insert(results.end(), wanted.begin(), wanted.end());
    return derive(graph, wanted, outputs_with_derivatives(graph), results,
                  [&](const Graph& real) { return Derivation(with(real, between), false).run(wanted, values); });
}

Result<Graph> gradient_of_results(const CheckpointedGraph& graph, const std::vector<TensorId>& wanted) {
    return derive(graph.graph, wanted, outputs_with_derivatives(graph.graph), wanted,
                  [&](const Graph&) { return Derivation(graph, true).run(wanted, {}); });
}

}  // namespace heddle::gradient
