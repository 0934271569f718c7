#include "gradient/gradient.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "gradient/reverse_body.h"
#include "graph/body_rebuild.h"
#include "graph/complex.h"
#include "symbolic/body_nodes.h"
#include "symbolic/projection.h"

namespace heddle::gradient {
namespace {

class Derivation {
public:
    explicit Derivation(const Graph& graph) : from_(graph), to_(graph), adjoints_(graph.tensors.size()) {
        for (const Operation& operation : graph.operations) names_.insert(operation.name);
    }

    Result<Graph> run(const std::vector<TensorId>& wanted, bool with_values) {
        if (auto checked = check(wanted); !checked) return fail(std::move(checked.error()));
        find_active(wanted);
        std::set<TensorId> seeded;
        for (TensorId id : from_.outputs) {
            if (!is_float(from_.tensor(id).type.dtype) || !seeded.insert(id).second) continue;
            to_.inputs.push_back(to_.add_tensor("d_" + from_.tensor(id).name, from_.tensor(id).type));
            adjoints_[static_cast<size_t>(id)].push_back(to_.inputs.back());
        }
        for (size_t i = from_.operations.size(); i-- > 0;)
            if (auto derived = derive(from_.operations[i]); !derived) return fail(std::move(derived.error()));
        if (!with_values) to_.outputs.clear();
        for (TensorId id : wanted) to_.outputs.push_back(adjoint_output(id));
        Graph result = prune(to_);
        result.dimension_names = from_.dimension_names;
        return result;
    }

private:
    Result<void> check(const std::vector<TensorId>& wanted) const {
        Diagnostics problems;
        for (TensorId id : wanted) {
            const bool exists = id >= 0 && static_cast<size_t>(id) < from_.tensors.size();
            const bool input = std::ranges::find(from_.inputs, id) != from_.inputs.end();
            if (exists && input && is_float(from_.tensor(id).type.dtype)) continue;
            const std::string name = exists ? from_.tensor(id).name : std::to_string(id);
            problems.push_back({.code = "gradient.input",
                                .summary = fmt::format("there is no gradient with respect to '{}'", name),
                                .expected = "an input of the graph, of a float type",
                                .found = !exists  ? "no tensor"
                                         : !input ? "another tensor"
                                                  : from_.tensor(id).type.text(),
                                .reason = input ? "results jump or stay where such an input changes" : "",
                                .remedy = "",
                                .params = {{"tensor", name}}});
        }
        auto has_adjoint = [&](TensorId id) { return is_float(from_.tensor(id).type.dtype); };
        if (std::ranges::none_of(from_.outputs, has_adjoint)) {
            problems.push_back(
                {.code = "gradient.output",
                 .summary = "no output has a gradient",
                 .expected = "an output of a float type",
                 .found = from_.outputs.empty() ? "no outputs" : from_.tensor(from_.outputs[0]).type.text(),
                 .reason = "results of integer types and bool do not change smoothly"});
        }
        if (!problems.empty()) return fail(std::move(problems));
        return {};
    }

    // Tensors that depend on what is wanted, by floats alone.
    void find_active(const std::vector<TensorId>& wanted) {
        active_.resize(from_.tensors.size());
        for (TensorId id : wanted) active_[static_cast<size_t>(id)] = true;
        for (const Operation& operation : from_.operations) {
            if (!std::ranges::any_of(operation.inputs, [&](TensorId id) { return active_[static_cast<size_t>(id)]; }))
                continue;
            for (TensorId id : operation.outputs)
                if (is_float(from_.tensor(id).type.dtype)) active_[static_cast<size_t>(id)] = true;
        }
    }

    Result<void> derive(const Operation& operation) {
        ReverseRequest request;
        request.body = operation.body.get();
        std::vector<TensorId> tensors = operation.inputs;
        for (TensorId id : operation.inputs) request.inputs.push_back(from_.tensor(id).type);
        for (TensorId id : operation.outputs) {
            request.outputs.push_back(from_.tensor(id).type);
            const bool needed = active_[static_cast<size_t>(id)];
            TensorId adjoint = needed ? whole_adjoint(id) : no_id;
            request.given.push_back(adjoint >= 0);
            if (adjoint >= 0) tensors.push_back(adjoint);
        }
        if (std::ranges::none_of(request.given, std::identity{})) return {};
        if (operation.gradient) {
            follow(operation);
            return {};
        }
        for (size_t i = 0; i < operation.inputs.size(); ++i) {
            if (!active_[static_cast<size_t>(operation.inputs[i])]) continue;
            if (!operation.body) return fail(opaque(operation));
            request.wanted = static_cast<int32_t>(i);
            auto body = reverse(request);
            if (!body) {
                for (Diagnostic& problem : body.error()) problem.params.emplace_back("operation", operation.name);
                return fail(std::move(body.error()));
            }
            if (body->equations.empty()) continue;
            const std::string of = from_.tensor(operation.inputs[i]).name;
            TensorId made = add(*body, tensors, fmt::format("{}.d_{}", operation.name, of), operation.operator_name,
                                "d_" + of, request.inputs[i]);
            adjoints_[static_cast<size_t>(operation.inputs[i])].push_back(made);
        }
        return {};
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

    static Diagnostic opaque(const Operation& operation) {
        return {.code = "gradient.opaque",
                .summary = fmt::format("operation '{}' has no gradient", operation.name),
                .expected = "an operation with a body",
                .found = fmt::format("a kernel elsewhere for '{}'", operation.operator_name),
                .reason = "gradients are derived from bodies",
                .remedy = "give the operator a body",
                .params = {{"operation", operation.name}}};
    }

    // The sum of what readers have given; -1 where that is nothing.
    TensorId whole_adjoint(TensorId id) {
        std::vector<TensorId>& parts = adjoints_[static_cast<size_t>(id)];
        if (parts.size() > 1) {
            TensorId sum = add(elementwise(id, parts.size()), parts, "sum.d_" + from_.tensor(id).name, "",
                               "d_" + from_.tensor(id).name, from_.tensor(id).type);
            parts = {sum};
        }
        return parts.empty() ? no_id : parts.front();
    }

    TensorId adjoint_or_zeros(TensorId id) {
        TensorId whole = whole_adjoint(id);
        if (whole >= 0) return whole;
        return add(elementwise(id, 0), {}, "zeros.d_" + from_.tensor(id).name, "", "d_" + from_.tensor(id).name,
                   from_.tensor(id).type);
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
        return add(elementwise(id, parts.size()), parts, "result.d_" + from_.tensor(id).name, "",
                   "d_" + from_.tensor(id).name, from_.tensor(id).type);
    }

    // output[p] = sum of input_i[p], for so many inputs like the tensor `id`.
    Body elementwise(TensorId id, size_t count) {
        const TensorType& type = from_.tensor(id).type;
        const DType dtype = info(type.dtype).arithmetic;
        Body body;
        BodyNodes nodes(body);
        std::vector<VariableId> variables;
        NodeList at;
        for (size_t d = 0; d < type.shape.size(); ++d) {
            variables.push_back(nodes.add_variable(fmt::format("p{}", d), Variable::Kind::index, type.shape[d]));
            at.push_back(nodes.variable(variables.back()));
        }
        NodeId sum = no_id;
        for (size_t i = 0; i < count; ++i) {
            NodeId read = nodes.cast(nodes.read(TensorIndex(i), type.dtype, at), dtype);
            sum = sum < 0 ? read : nodes.scalar(ScalarOp::add, {sum, read});
        }
        if (sum < 0) sum = nodes.real(0, dtype, true);
        body.equations.push_back({0, variables, at, nodes.cast(sum, type.dtype)});
        return body;
    }

    // An operation of what `body` needs of `tensors`, which makes a tensor of this name.
    TensorId add(const Body& body, const std::vector<TensorId>& tensors, const std::string& name, const std::string& of,
                 const std::string& output, const TensorType& type) {
        Operation operation;
        operation.name = name;
        for (int number = 2; !names_.insert(operation.name).second; ++number)
            operation.name = fmt::format("{}_{}", name, number);
        operation.operator_name = of.empty() ? "sum" : of + " gradient";
        auto read = tensors_read(body, static_cast<int32_t>(tensors.size()));
        std::vector<int32_t> used;
        for (size_t i = 0; i < tensors.size(); ++i) {
            if (!read[i]) continue;
            used.push_back(static_cast<int32_t>(i));
            operation.inputs.push_back(tensors[i]);
        }
        auto made = std::make_shared<Body>(compacted(Body(body), used));
        BodyAccesses accesses(*made);
        operation.index = extended_index(accesses);
        for (size_t i = 0; i < used.size(); ++i) {
            operation.input_projections.push_back(
                derived_projection(accesses, static_cast<int32_t>(i), to_.tensor(operation.inputs[i]).type.extents()));
        }
        operation.output_projections.push_back(written_projection(*made, 0, type.extents()));
        operation.body = std::move(made);
        operation.outputs.push_back(to_.add_tensor(output, type));
        const TensorId result = operation.outputs.back();
        to_.add_operation(std::move(operation));
        return result;
    }

    const Graph& from_;
    Graph to_;
    std::vector<std::vector<TensorId>> adjoints_;  // by tensor of `from_`: parts of its adjoint
    std::vector<bool> active_;
    std::set<TensorId> handed_;  // results already
    std::set<std::string> names_;
};

Result<Graph> derived(const Graph& graph, const std::vector<TensorId>& wanted, bool with_values) {
    if (!has_complex(graph)) return Derivation(graph).run(wanted, with_values);
    // Inside, complex numbers are pairs of reals. At the ends a pair would be of another type than the caller's.
    for (const auto* ends : {&graph.inputs, &graph.outputs}) {
        for (TensorId id : *ends) {
            const Tensor& tensor = graph.tensor(id);
            if (!is_complex(tensor.type.dtype)) continue;
            return fail({.code = "gradient.complex",
                         .summary = fmt::format("no gradient of a graph with '{}' at its ends", tensor.name),
                         .expected = "inputs and outputs of real types",
                         .found = tensor.type.text(),
                         .reason = "adjoints are of real numbers; inside of the graph complex numbers have them",
                         .remedy = "give the parts as reals, and complex(re, im) in a body; of results re(z) and im(z)",
                         .params = {{"tensor", tensor.name}}});
        }
    }
    return Derivation(lower_complex(graph)).run(wanted, with_values);
}

}  // namespace

Result<Graph> gradient(const Graph& graph, const std::vector<TensorId>& wanted) {
    return derived(graph, wanted, false);
}

Result<Graph> value_and_gradient(const Graph& graph, const std::vector<TensorId>& wanted) {
    return derived(graph, wanted, true);
}

}  // namespace heddle::gradient
