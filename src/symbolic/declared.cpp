// What templates declare beside bodies: how results for parts of an axis are joined (`reduces`), and gradients
// (`grad`). The operators that are named are applied apart from the graph, to tensors of the types at hand. What a body
// and `reduces` say is compared on a few random values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "evaluate/evaluate.h"
#include "symbolic/environment_state.h"
#include "symbolic/session_state.h"

namespace heddle {
namespace {

Diagnostic problem(const Environment& environment, const char* code, const Place& place, std::string summary,
                   std::string expected = {}, std::string found = {}) {
    Diagnostic diagnostic = environment.diagnostic(code, place, std::move(summary));
    bool reduces = std::string_view(code) == "symbolic.reduces";
    diagnostic.remedy = reduces ? "remove the line: parts of what a body reduces are joined without it"
                                : "remove the rule: gradients are derived from bodies";
    diagnostic.expected = std::move(expected);
    diagnostic.found = std::move(found);
    return diagnostic;
}

const BoundTensor& bound_input(const Environment& environment, const TensorReference& reference) {
    return environment.inputs()[static_cast<size_t>(reference.position)]
        .tensors[static_cast<size_t>(reference.element)];
}

const TensorType& output_type(const Environment& environment, const TensorReference& reference) {
    return environment.outputs()[static_cast<size_t>(reference.position)].types[static_cast<size_t>(reference.element)];
}

class FoldFinder {
public:
    FoldFinder(const Session::State& session, const Environment& environment, AppliedOperation& operation)
        : session_(session), environment_(environment), operation_(operation) {}

    Result<void> run() {
        for (const Reduces& reduces : environment_.metakernel().reduces) {
            Fold fold{.axis = reduces.axis,
                      .extent = 0,
                      .dimensions = {},
                      .combiner = reduces.combiner,
                      .reducer = {},
                      .graphs = {}};
            find_dimensions(fold);
            if (fold.dimensions.empty()) continue;  // of inputs that are not given
            if (auto checked = check_whole(fold, reduces); !checked) return checked;
            if (auto checked = check_reads(fold, reduces); !checked) return checked;
            if (auto checked = find_combiner(fold, reduces); !checked) return checked;
            if (auto checked = check_values(fold, reduces); !checked) return checked;
            operation_.folds.push_back(std::move(fold));
        }
        return {};
    }

private:
    void find_dimensions(Fold& fold) const {
        for (size_t i = 0; i < operation_.inputs.size(); ++i) {
            const BoundTensor& tensor = bound_input(environment_, operation_.inputs[i]);
            for (const PatternCoordinate& coordinate : tensor.coordinates) {
                if (coordinate.name != fold.axis || coordinate.spread || coordinate.dimension < 0 || coordinate.zero)
                    continue;
                fold.dimensions.emplace_back(static_cast<int32_t>(i), coordinate.dimension);
                fold.extent = tensor.type.shape[static_cast<size_t>(coordinate.dimension)];
            }
        }
    }

    // Every point of the index reads all of each dimension.
    Result<void> check_whole(const Fold& fold, const Reduces& reduces) const {
        for (auto [input, dimension] : fold.dimensions) {
            const IndexProjection& projection = operation_.projections.inputs[static_cast<size_t>(input)];
            auto d = static_cast<size_t>(dimension);
            bool fixed = std::ranges::all_of(projection.projection[d], [](int64_t step) { return step == 0; });
            bool whole = (d < projection.whole.size() && projection.whole[d]) ||
                         (fixed && projection.offset[d] == 0 && projection.shape[d] == fold.extent.value());
            if (whole) continue;
            return fail(problem(environment_, "symbolic.reduces", reduces.place,
                                fmt::format("an index point does not read all of ${}", fold.axis),
                                fmt::format("* for dimension {} of {}", d, name_of(input)), "a part of it"));
        }
        return {};
    }

    // A body reduces over the dimensions, and knows nothing else of where it stands in them.
    Result<void> check_reads(const Fold& fold, const Reduces& reduces) const {
        if (!operation_.body) return {};
        const Body& body = *operation_.body;
        auto along = [&](const Node& node, size_t operand) {
            bool reads = node.kind == Node::Kind::read ||
                         (node.kind == Node::Kind::guarded_read && operand + 1 < node.operands.size());
            return reads &&
                   std::ranges::count(fold.dimensions, std::pair(node.index, static_cast<int32_t>(operand))) > 0;
        };
        auto refuse = [&](int32_t input) {
            Diagnostic diagnostic =
                problem(environment_, "symbolic.reduces", reduces.place,
                        fmt::format("the body does not reduce {} over ${}", name_of(input), fold.axis),
                        fmt::format("reads at a reduction variable below ${} alone", fold.axis));
            diagnostic.reason = "on a part of the dimension it would compute something else";
            return fail(std::move(diagnostic));
        };
        std::set<VariableId> over;
        for (const Node& node : body.nodes) {
            for (size_t i = 0; i < node.operands.size(); ++i) {
                if (!along(node, i)) continue;
                const Node& at = body.node(node.operands[i]);
                bool reduced = at.kind == Node::Kind::variable &&
                               body.variable(at.variable()).kind == Variable::Kind::reduction &&
                               body.variable(at.variable()).extent == fold.extent.value();
                if (!reduced) return refuse(node.index);
                over.insert(at.variable());
            }
        }
        for (const Node& node : body.nodes) {
            for (size_t i = 0; i < node.operands.size(); ++i) {
                const Node& operand = body.node(node.operands[i]);
                if (operand.kind == Node::Kind::variable && over.contains(operand.variable()) && !along(node, i))
                    return refuse(fold.dimensions[0].first);
            }
        }
        return {};
    }

    Result<void> find_combiner(Fold& fold, const Reduces& reduces) const {
        if (is_combiner(reduces.combiner)) fold.reducer = reducer_named(reduces.combiner);
        for (const TensorReference& output : operation_.outputs) {
            const TensorType& type = output_type(environment_, output);
            bool logical = fold.reducer == Reducer::any || fold.reducer == Reducer::all;
            if (fold.reducer && logical != is_bool(type.dtype))
                return fail(
                    problem(environment_, "symbolic.reduces", reduces.combiner_place,
                            fmt::format("{} does not join results of {}", reduces.combiner, name(type.dtype)),
                            is_bool(type.dtype) ? "any, all, or an operator" : "sum, prod, min, max, or an operator"));
            if (fold.reducer) continue;
            auto graph = combining_graph(reduces, type);
            if (!graph) return std::unexpected(graph.error());
            fold.graphs.push_back(std::make_shared<const Graph>(std::move(*graph)));
        }
        return {};
    }

    Result<Graph> combining_graph(const Reduces& reduces, const TensorType& type) const {
        auto combiner = session_.library->find_from(environment_.metakernel(), reduces.combiner);
        if (!combiner) return std::unexpected(combiner.error());
        Session::State apart;
        apart.library = session_.library;
        apart.declares = false;
        for (const char* name : {"a", "b"}) apart.graph.inputs.push_back(apart.add_tensor(name, type));
        auto joined = apart.apply(**combiner, {apart.graph.inputs[0], apart.graph.inputs[1]}, {}, {});
        if (!joined) return std::unexpected(joined.error());
        const TensorType& found = apart.graph.tensor((*joined)[0]).type;
        if (found != type)
            return fail(problem(environment_, "symbolic.reduces", reduces.combiner_place,
                                fmt::format("{} does not join two results to one like them", reduces.combiner),
                                type.text(), found.text()));
        apart.graph.outputs = {(*joined)[0]};
        return prune(apart.graph);
    }

    // ---- the operator on random values: on a few elements of the dimension, and on two parts of them

    static constexpr int64_t few = 5, left = 2;
    static constexpr int64_t most_compared = 1 << 14;  // elements of one input

    // Nothing is compared where it would take long, or where the template does not apply to so few elements.
    Result<void> check_values(const Fold& fold, const Reduces& reduces) const {
        if (!operation_.body || environment_.metakernel().each || fold.extent < few) return {};
        std::vector<std::vector<TensorData>> feeds(3);  // of the whole, and of its parts
        for (const BoundInput& input : environment_.inputs())
            for (const BoundTensor& tensor : input.tensors)
                if (!add_feeds(fold, tensor, feeds)) return {};
        std::vector<std::vector<TensorData>> results;
        for (const auto& list : feeds) {
            auto values = applied(list);
            if (!values) return {};
            results.push_back(std::move(*values));
        }
        for (size_t output = 0; output < results[0].size(); ++output) {
            const TensorData &whole = results[0][output], &a = results[1][output], &b = results[2][output];
            if (a.shape() != whole.shape())
                return fail(problem(environment_, "symbolic.reduces", reduces.place,
                                    fmt::format("results for parts of ${} have another shape", fold.axis)));
            auto joined = joined_values(fold, output, a, b);
            for (int64_t i = 0; joined && i < whole.size(); ++i) {
                double expected = whole.real_at(i), found = joined->real_at(i);
                if (!std::isfinite(expected) || std::abs(found - expected) <= 1e-6 * (1 + std::abs(expected))) continue;
                Diagnostic diagnostic =
                    problem(environment_, "symbolic.reduces", reduces.combiner_place,
                            fmt::format("parts of ${} joined by {} are not the whole", fold.axis, reduces.combiner),
                            fmt::format("{}", expected), fmt::format("{}", found));
                diagnostic.reason = fmt::format("the body on {} random elements, and on {} and {} of them, differ", few,
                                                left, few - left);
                return fail(std::move(diagnostic));
            }
        }
        return {};
    }

    // Random values of one tensor, of a few elements along the dimension, and its two parts.
    static bool add_feeds(const Fold& fold, const BoundTensor& tensor, std::vector<std::vector<TensorData>>& feeds) {
        std::vector<int64_t> shape = tensor.type.extents();
        std::vector<size_t> cut;
        for (const PatternCoordinate& coordinate : tensor.coordinates) {
            if (coordinate.name != fold.axis || coordinate.spread || coordinate.dimension < 0 || coordinate.zero)
                continue;
            cut.push_back(static_cast<size_t>(coordinate.dimension));
            shape[cut.back()] = few;
        }
        int64_t elements = 1;
        for (int64_t extent : shape)
            if ((elements = elements > most_compared ? elements : elements * extent) > most_compared) return false;
        TensorData whole(tensor.type.dtype, shape), values = whole.reals();
        std::mt19937 random(static_cast<uint32_t>(feeds[0].size() + 1));
        for (int64_t i = 0; i < values.size(); ++i) {
            if (is_float(values.dtype()))
                values.set_real(i, static_cast<double>(random() % 4096) / 1024 - 2);
            else
                values.set_integer(i, static_cast<int64_t>(random() % 2));
        }
        for (auto [number, begin, length] : {std::tuple(1, int64_t{0}, left), std::tuple(2, left, few - left)})
            feeds[static_cast<size_t>(number)].push_back(cut.empty() ? whole.clone()
                                                                     : part_of(whole, cut, begin, length));
        feeds[0].push_back(std::move(whole));
        return true;
    }

    static TensorData part_of(const TensorData& whole, const std::vector<size_t>& cut, int64_t begin, int64_t length) {
        std::vector<int64_t> shape = whole.shape();
        for (size_t d : cut) shape[d] = length;
        TensorData part(whole.dtype(), shape);
        const int64_t width = bytes(whole.dtype());
        for (int64_t i = 0; i < part.size(); ++i) {
            int64_t from = 0, stride = 1;
            for (int64_t d = static_cast<int64_t>(shape.size()) - 1, rest = i; d >= 0; --d) {
                auto dimension = static_cast<size_t>(d);
                int64_t digit = rest % shape[dimension] + (std::ranges::count(cut, dimension) > 0 ? begin : 0);
                rest /= shape[dimension];
                from += digit * stride;
                stride *= whole.shape()[dimension];
            }
            std::memcpy(part.mutable_data() + i * width, whole.data() + from * width, static_cast<size_t>(width));
        }
        return part;
    }

    // The template's results, in the arithmetic of doubles.
    std::optional<std::vector<TensorData>> applied(const std::vector<TensorData>& feeds) const {
        Session::State apart;
        apart.library = session_.library;
        apart.declares = false;
        std::vector<Argument> given;
        size_t next = 0;
        for (const BoundInput& input : environment_.inputs()) {
            std::vector<TensorId> tensors;
            for (size_t i = 0; i < input.tensors.size(); ++i) {
                const TensorData& feed = feeds[next++];
                tensors.push_back(apart.add_tensor("x", {feed.dtype(), {feed.shape().begin(), feed.shape().end()}}));
                apart.graph.inputs.push_back(tensors.back());
            }
            given.push_back(!input.given           ? Argument()
                            : input.spec->variadic ? Argument(tensors)
                                                   : Argument(tensors[0]));
        }
        ApplyOptions options;
        for (const BoundOutput& output : environment_.outputs()) options.requested.push_back(output.requested);
        const auto* parameters = environment_.state().given_parameters;
        auto made = apart.apply(environment_.metakernel(), given,
                                parameters ? *parameters : std::map<std::string, StaticValue>{}, options);
        if (!made) return std::nullopt;
        std::erase(*made, -1);
        for (const Operation& operation : apart.graph.operations)
            if (!operation.body || !cheap_work(*operation.body)) return std::nullopt;
        apart.graph.outputs = *made;
        return evaluated(apart.graph, feeds);
    }

    static std::optional<std::vector<TensorData>> evaluated(const Graph& graph, const std::vector<TensorData>& feeds) {
        auto values = evaluate_graph(graph, feeds, Precision::exact);
        if (!values) return std::nullopt;
        std::vector<TensorData> results;
        for (TensorId id : graph.outputs) results.push_back(std::move((*values)[static_cast<size_t>(id)]));
        return results;
    }

    static std::optional<TensorData> joined_values(const Fold& fold, size_t output, const TensorData& a,
                                                   const TensorData& b) {
        if (!fold.reducer) {
            auto values = evaluated(*fold.graphs[output], {a.clone(), b.clone()});
            return values ? std::optional(std::move((*values)[0])) : std::nullopt;
        }
        TensorData joined(DType::float64, a.shape());
        for (int64_t i = 0; i < joined.size(); ++i) {
            double x = a.real_at(i), y = b.real_at(i);
            bool lesser = fold.reducer == Reducer::minimum || fold.reducer == Reducer::all;
            bool greater = fold.reducer == Reducer::maximum || fold.reducer == Reducer::any;
            joined.set_real(i, lesser                             ? std::min(x, y)
                               : greater                          ? std::max(x, y)
                               : fold.reducer == Reducer::product ? x * y
                                                                  : x + y);
        }
        return joined;
    }

    const std::string& name_of(int32_t input) const {
        return bound_input(environment_, operation_.inputs[static_cast<size_t>(input)]).name;
    }

    const Session::State& session_;
    const Environment& environment_;
    AppliedOperation& operation_;
};

// A template's own gradient rule, applied to what the operation reads and makes.
class RuleBuilder {
public:
    RuleBuilder(const Session::State& session, const Environment& environment, const BoundArguments& arguments,
                const AppliedOperation& operation)
        : session_(session),
          environment_(environment),
          arguments_(arguments),
          operation_(operation),
          rule_(gradient_rule(environment.metakernel())) {
        apart_.library = session.library;
        apart_.declares = false;
    }

    Result<GradientRule> run() {
        std::vector<Argument> given = add_tensors();
        std::map<std::string, StaticValue> none;
        const auto* parameters = environment_.state().given_parameters;
        ApplyOptions options{"rule", {}, {}};
        for (const TensorSpec& output : rule_.outputs) options.names.push_back(output.name);
        auto made = apart_.apply(rule_, given, parameters ? *parameters : none, options);
        if (!made) return std::unexpected(made.error());
        return finished(*made);
    }

private:
    // The rule's inputs: those of the template, its outputs, and adjoints of those of a float type.
    std::vector<Argument> add_tensors() {
        std::vector<Argument> given;
        const auto& inputs = environment_.inputs();
        inputs_.resize(inputs.size(), no_id);
        for (size_t position = 0; position < inputs.size(); ++position) {
            if (!inputs[position].given) {
                given.emplace_back();
                continue;
            }
            const BoundTensor& tensor = inputs[position].tensors[0];
            inputs_[position] = apart_.add_tensor(tensor.name, tensor.type);
            if (const TensorData* known = session_.known_value(arguments_.tensors[position][0]))
                apart_.offered.emplace(inputs_[position], *known);
            given.emplace_back(inputs_[position]);
        }
        for (const TensorReference& input : operation_.inputs)
            apart_.graph.inputs.push_back(inputs_[static_cast<size_t>(input.position)]);
        for (bool adjoints : {false, true}) {
            size_t next = given.size();
            given.resize(next + environment_.outputs().size());
            for (const TensorReference& output : operation_.outputs) {
                auto position = static_cast<size_t>(output.position);
                const TensorType& type = output_type(environment_, output);
                if (adjoints && !is_float(type.dtype)) continue;
                TensorId tensor = apart_.add_tensor(rule_.inputs[next + position].name, type);
                apart_.graph.inputs.push_back(tensor);
                given[next + position] = Argument(tensor);
            }
        }
        return given;
    }

    Result<GradientRule> finished(const std::vector<TensorId>& made) {
        GradientRule rule;
        for (size_t i = 0; i < operation_.inputs.size(); ++i) {
            auto position = static_cast<size_t>(operation_.inputs[i].position);
            const TensorType& type = apart_.graph.tensor(inputs_[position]).type;
            if (!is_float(type.dtype)) continue;
            const std::string& name = rule_.outputs[position].name;
            const Place& place = environment_.metakernel().grad[0]->place;
            if (made[position] < 0)
                return fail(problem(environment_, "symbolic.grad", place,
                                    fmt::format("the gradient rule gives no {}", name), type.text()));
            const TensorType& found = apart_.graph.tensor(made[position]).type;
            if (found != type)
                return fail(problem(
                    environment_, "symbolic.grad", place,
                    fmt::format("{} has another type than {}", name, environment_.inputs()[position].spec->name),
                    type.text(), found.text()));
            rule.inputs.push_back(static_cast<int32_t>(i));
            apart_.graph.outputs.push_back(made[position]);
        }
        rule.graph = prune(apart_.graph);
        for (const Operation& operation : rule.graph.operations) {
            for (TensorId id : operation.inputs) {
                const Tensor& tensor = rule.graph.tensor(id);
                if (tensor.producer >= 0 || tensor.constant || std::ranges::count(rule.graph.inputs, id) > 0) continue;
                return fail(
                    problem(environment_, "symbolic.grad", environment_.metakernel().grad[0]->place,
                            fmt::format("the gradient rule reads {}, which the operation does not", tensor.name)));
            }
        }
        return rule;
    }

    const Session::State& session_;
    const Environment& environment_;
    const BoundArguments& arguments_;
    const AppliedOperation& operation_;
    Template rule_;
    Session::State apart_;
    std::vector<TensorId> inputs_;  // one an input of the template, or -1
};

// It makes a float of a float.
bool has_gradient(const Environment& environment, const AppliedOperation& operation) {
    return std::ranges::any_of(
               operation.inputs,
               [&](const TensorReference& input) { return is_float(bound_input(environment, input).type.dtype); }) &&
           std::ranges::any_of(operation.outputs, [&](const TensorReference& output) {
               return is_float(output_type(environment, output).dtype);
           });
}

}  // namespace

Result<void> add_declared(const Session::State& session, const Environment& environment,
                          const BoundArguments& arguments, Application& application) {
    for (AppliedOperation& operation : application.operations) {
        if (auto found = FoldFinder(session, environment, operation).run(); !found) return found;
        if (environment.metakernel().grad.empty() || !has_gradient(environment, operation)) continue;
        auto rule = RuleBuilder(session, environment, arguments, operation).run();
        if (!rule) return std::unexpected(rule.error());
        operation.gradient = std::make_shared<const GradientRule>(std::move(*rule));
    }
    return {};
}

}  // namespace heddle
