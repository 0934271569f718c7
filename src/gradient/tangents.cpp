#include "gradient/tangents.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "gradient/cancelled_shift.h"
#include "gradient/derived_graph.h"
#include "gradient/forward_body.h"
#include "gradient/gradient.h"

namespace heddle::gradient {
namespace {

class Propagation {
public:
    explicit Propagation(const Graph& graph)
        : from_(graph), derived_(graph), to_(derived_.graph()), tangents_(graph.tensors.size(), no_id) {}

    Result<Graph> run(const std::vector<TensorId>& wanted, const std::vector<TensorId>& values) {
        active_ = reached(from_, wanted);
        for (TensorId id : wanted) to_.inputs.push_back(tangent_of(id));
        for (const Operation& operation : from_.operations)
            if (auto done = propagate(operation); !done) return fail(std::move(done.error()));
        to_.outputs = values;
        for (TensorId id : outputs_with_derivatives(from_)) to_.outputs.push_back(result(id));
        Graph result = prune(to_);
        result.dimension_names = from_.dimension_names;
        return result;
    }

private:
    bool is_active(TensorId id) const { return active_[static_cast<size_t>(id)]; }

    TensorId tangent_of(TensorId id) {
        TensorId& tangent = tangents_[static_cast<size_t>(id)];
        if (tangent < 0) tangent = to_.add_tensor("t_" + from_.tensor(id).name, from_.tensor(id).type);
        return tangent;
    }

    // What is no operation's own result is copied.
    TensorId result(TensorId id) {
        std::vector<TensorId> parts;
        if (is_active(id)) parts.push_back(tangent_of(id));
        if (!parts.empty() && from_.tensor(id).producer >= 0) return parts[0];
        return derived_.add_sum(parts, "result.", "t_" + from_.tensor(id).name, from_.tensor(id).type);
    }

    Result<void> propagate(const Operation& operation) {
        if (std::ranges::none_of(operation.outputs, [&](TensorId id) { return is_active(id); })) return {};
        if (operation.gradient) return follow(operation);
        if (!operation.body) return fail(opaque(operation));
        ForwardRequest request{.body = operation.body.get(), .cut = cancelled_shifts(*operation.body)};
        std::vector<TensorId> tensors = operation.inputs;
        for (TensorId id : operation.inputs) {
            request.inputs.push_back(from_.tensor(id).type);
            request.given.push_back(is_active(id));
            if (is_active(id)) tensors.push_back(tangent_of(id));
        }
        std::vector<TensorId> outputs;
        for (TensorId id : operation.outputs) {
            request.outputs.push_back(from_.tensor(id).type);
            request.needed.push_back(is_active(id));
            if (is_active(id)) outputs.push_back(tangent_of(id));
        }
        auto body = forward(request);
        if (!body) return fail(in_operation(std::move(body.error()), operation));
        derived_.add(std::move(*body), tensors, operation.name + ".tangent", operation.operator_name + " tangent",
                     outputs);
        return {};
    }

    // A rule says what adjoints of the inputs follow from those of the outputs, which they are linear in. The adjoints
    // of these, with tangents of the inputs for adjoints of the results, are tangents of the outputs.
    Result<void> follow(const Operation& operation) {
        const Graph& rule = operation.gradient->graph;
        std::vector<TensorId> given = operation.inputs, smooth;
        given.insert(given.end(), operation.outputs.begin(), operation.outputs.end());
        for (TensorId id : operation.outputs)
            if (is_float(from_.tensor(id).type.dtype)) smooth.push_back(id);
        for (TensorId id : smooth)  // the adjoints, whatever they are
            given.push_back(derived_.add_sum({}, "zeros.", "d_" + from_.tensor(id).name, from_.tensor(id).type));
        std::map<TensorId, std::vector<TensorId>> parts;  // by result of the rule
        for (size_t i = 0; i < rule.outputs.size(); ++i) {
            const TensorId input = operation.inputs[static_cast<size_t>(operation.gradient->inputs[i])];
            std::vector<TensorId>& of = parts[rule.outputs[i]];
            if (is_active(input)) of.push_back(tangent_of(input));
        }
        std::set<TensorId> seeded;
        for (TensorId id : rule.outputs) {
            if (!seeded.insert(id).second) continue;
            const Tensor& of = rule.tensor(id);
            given.push_back(parts[id].size() == 1 ? parts[id][0]
                                                  : derived_.add_sum(parts[id], "sum.", "t_" + of.name, of.type));
        }
        auto transposed = gradient(rule, {rule.inputs.end() - static_cast<int64_t>(smooth.size()), rule.inputs.end()});
        if (!transposed) return fail(std::move(transposed.error()));
        const std::vector<TensorId> made = splice(to_, *transposed, given, operation.name + ".");
        for (size_t i = 0; i < smooth.size(); ++i)
            if (is_active(smooth[i])) tangents_[static_cast<size_t>(smooth[i])] = made[i];
        return {};
    }

    const Graph& from_;
    DerivedGraph derived_;
    Graph& to_;
    std::vector<TensorId> tangents_;  // by tensor of `from_`
    std::vector<bool> active_;
};

}  // namespace

Result<Graph> tangents(const Graph& graph, const std::vector<TensorId>& wanted) {
    return value_and_tangents(graph, wanted, {});
}

Result<Graph> value_and_tangents(const Graph& graph, const std::vector<TensorId>& wanted,
                                 const std::vector<TensorId>& values) {
    std::vector<TensorId> results = values;
    const std::vector<TensorId> outputs = outputs_with_derivatives(graph);
    results.insert(results.end(), outputs.begin(), outputs.end());
    return derive(graph, wanted, wanted, results,
                  [&](const Graph& real) { return Propagation(real).run(wanted, values); });
}

}  // namespace heddle::gradient
