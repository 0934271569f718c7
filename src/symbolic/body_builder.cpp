#include "symbolic/body_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "symbolic/body_expression.h"
#include "symbolic/projection.h"

namespace heddle {
namespace {

using Kind = BodyValue::Kind;

class BodyBuilder {
public:
    explicit BodyBuilder(Environment& environment) : environment_(environment), expressions_(environment, body_) {}

    Result<BodyResult> run() {
        BodyScope scope;
        block(environment_.metakernel().body, scope, {});
        if (!diagnostics_.empty()) return fail(std::move(diagnostics_));
        return finished();
    }

private:
    // A statement that fails does not hide the errors of those after it; users of its name are silent.
    template <typename F>
    void guarded(const F& statement) {
        try {
            statement();
        } catch (BodyFailure& failure) {
            failed_ = true;
            for (Diagnostic& diagnostic : failure.diagnostics) diagnostics_.push_back(std::move(diagnostic));
        }
    }

    void block(const std::vector<SyntaxPointer>& statements, BodyScope& scope,
               const std::vector<VariableId>& variables);
    void let(const Syntax& statement, BodyScope& scope);
    void parallel_block(const Syntax& statement, const BodyScope& scope, std::vector<VariableId> variables);
    void equation(const Syntax& statement, const BodyScope& scope, const std::vector<VariableId>& variables);
    std::vector<NodeId> left(const Syntax& statement, const BoundOutput& output, const TensorType& type,
                             BodyScope& scope, std::vector<VariableId>& variables);
    std::vector<BodyValue> default_left(const Syntax& statement, const BoundOutput& output, const TensorType& type);
    TensorReference written_tensor(const Syntax& statement, int32_t position, const BodyScope& scope,
                                   bool& picked_by_left);
    Result<BodyResult> finished();

    Environment& environment_;
    Body body_;
    BodyExpressions expressions_;
    Diagnostics diagnostics_;
    bool failed_ = false;
    std::vector<TensorReference> outputs_;
    std::vector<Place> equation_places_;
};

void BodyBuilder::block(const std::vector<SyntaxPointer>& statements, BodyScope& scope,
                        const std::vector<VariableId>& variables) {
    for (const SyntaxPointer& statement : statements) {
        guarded([&] {
            switch (statement->kind) {
            case Syntax::Kind::let: let(*statement, scope); break;
            case Syntax::Kind::parallel_block: parallel_block(*statement, scope, variables); break;
            case Syntax::Kind::equation: equation(*statement, scope, variables); break;
            default: {
                Diagnostic diagnostic = expressions_.elements().error("symbolic.ordered_axis", statement->place,
                                                                      "ordered axes are not supported yet");
                diagnostic.expected = "equations, let and for";
                diagnostic.found = "scan";
                diagnostic.remedy = "bind a kernel to the operator, or write the recurrence as a reduction";
                expressions_.elements().refuse(std::move(diagnostic));
            }
            }
        });
    }
}

void BodyBuilder::let(const Syntax& statement, BodyScope& scope) {
    expressions_.need_new_name(statement.text, scope, statement.place);
    BodyValue& named = scope.names[statement.text];
    named.kind = Kind::failed;  // until its value is known
    if (statement.generators.empty()) {
        BodyScope inner{&scope, {}};
        named = expressions_.evaluate(*statement.value, inner);
        return;
    }
    BodyScope inner{&scope, {}};
    std::vector<VariableId> variables;
    for (const Generator& generator : statement.generators)
        expressions_.bind(generator, Variable::Kind::parallel, inner, variables);
    BodyValue value = expressions_.evaluate(*statement.value, inner);
    Element element = expressions_.values().element(value, statement.value->place);
    named.kind = Kind::local;
    named.index = expressions_.add_local(statement.text, std::move(variables), element);
}

void BodyBuilder::parallel_block(const Syntax& statement, const BodyScope& scope, std::vector<VariableId> variables) {
    BodyScope inner{&scope, {}};
    for (const Generator& generator : statement.generators)
        expressions_.bind(generator, Variable::Kind::parallel, inner, variables);
    block(statement.children, inner, variables);
}

TensorReference BodyBuilder::written_tensor(const Syntax& statement, int32_t position, const BodyScope& scope,
                                            bool& picked_by_left) {
    const BoundOutput& output = environment_.outputs()[static_cast<size_t>(position)];
    if (!output.spec->variadic) return {position, 0};
    SyntaxPointer pick = statement.pick;
    if (!pick && statement.has_left && statement.children.size() == 1) {
        pick = statement.children[0];  // parts[$i] = ...
        picked_by_left = true;
    }
    auto element = pick ? expressions_.values().static_integer(expressions_.evaluate(*pick, scope),
                                                               "the number of an output", pick->place)
                        : environment_.each_value();
    if (element >= 0 && element < static_cast<int64_t>(output.types.size()))
        return {position, static_cast<int32_t>(element)};
    Diagnostic diagnostic = expressions_.elements().error(
        "symbolic.range", statement.place,
        fmt::format("output {} of {} in '{}'", element, output.types.size(), output.spec->name));
    diagnostic.expected = fmt::format("0 .. {}", static_cast<int64_t>(output.types.size()) - 1);
    expressions_.elements().refuse(std::move(diagnostic));
}

// A slice `[:a - 1]` in what gives the index or an output its dimensions: often meant with its end, and one too short.
std::string short_slice(const Template& made) {
    std::string found;
    auto look = [&](const Syntax& node) {
        const Syntax* end = node.kind == Syntax::Kind::slice ? node.children[2].get() : nullptr;
        bool less = end && end->kind == Syntax::Kind::binary && end->text == "-" &&
                    end->children[1]->kind == Syntax::Kind::integer && end->children[1]->integer == 1;
        if (less && found.empty()) found = print(*end->children[0]);
    };
    visit_all(made.index, look);
    for (const TensorSpec& output : made.outputs) visit_all(output.shape, look);
    return found;
}

// Without left coordinates: the element that the index point names.
std::vector<BodyValue> BodyBuilder::default_left(const Syntax& statement, const BoundOutput& output,
                                                 const TensorType& type) {
    if (output.spec->ipf && output.spec->ipf->kind == Syntax::Kind::rows) {
        bool elements = true;
        for (const SyntaxPointer& row : output.spec->ipf->children)
            elements = elements && row->kind != Syntax::Kind::whole && row->kind != Syntax::Kind::ranged;
        if (elements) return expressions_.expanded(output.spec->ipf->children, 0, type.shape.size(), {});
    }
    if (expressions_.all_coordinates().size() == type.shape.size()) return expressions_.all_coordinates();
    Diagnostic diagnostic =
        expressions_.elements().error("symbolic.no_element", statement.place,
                                      fmt::format("'{}' has no element of its own at an index point", statement.text));
    diagnostic.expected =
        fmt::format("an output of as many dimensions as the index, {}", expressions_.all_coordinates().size());
    diagnostic.found = fmt::format("{} dimensions", type.shape.size());
    std::string end = short_slice(environment_.metakernel());
    diagnostic.remedy = end.empty() ? fmt::format("give its coordinates: {}[...] = ...", statement.text)
                                    : fmt::format("slices end before their end: did you mean [:{}]?", end);
    expressions_.elements().refuse(std::move(diagnostic));
}

std::vector<NodeId> BodyBuilder::left(const Syntax& statement, const BoundOutput& output, const TensorType& type,
                                      BodyScope& scope, std::vector<VariableId>& variables) {
    // A name alone that means nothing yet is a new variable over the whole dimension; `j...` over all that are left.
    struct Part {
        std::string name;  // of a new variable
        bool spread = false;
        std::vector<BodyValue> values;
        Place place;
    };
    std::vector<Part> parts;
    size_t fixed = 0;
    const Part* open = nullptr;
    for (const SyntaxPointer& child : statement.children) {
        bool spread = child->kind == Syntax::Kind::spread && child->children.size() == 1;
        const Syntax& element = spread ? *child->children[0] : *child;
        Part part;
        part.place = child->place;
        part.spread = spread;
        bool is_new = element.kind == Syntax::Kind::name && !scope.find(element.text) &&
                      environment_.input_position(element.text) < 0;
        if (is_new) {
            expressions_.need_new_name(element.text, scope, element.place);
            part.name = element.text;
            fixed += spread ? 0 : 1;
        } else {
            part.values = expressions_.expanded({child}, 0, std::nullopt, scope);
            fixed += part.values.size();
        }
        parts.push_back(std::move(part));
    }
    size_t rank = type.shape.size();
    for (const Part& part : parts)
        if (!part.name.empty() && part.spread) {
            if (open) expressions_.values().refuse_type(part.place, "two open lists of coordinates", "one j...", "");
            open = &part;
        }
    if (fixed > rank || (!open && fixed < rank)) {
        Diagnostic diagnostic =
            expressions_.elements().error("symbolic.rank", statement.place,
                                          fmt::format("'{}' is written with {} coordinates", output.spec->name, fixed));
        diagnostic.expected = fmt::format("{}, as many as it has dimensions", rank);
        diagnostic.found = std::to_string(fixed);
        expressions_.elements().refuse(std::move(diagnostic));
    }
    std::vector<BodyValue> coordinates;
    for (const Part& part : parts) {
        if (part.name.empty()) {
            coordinates.insert(coordinates.end(), part.values.begin(), part.values.end());
            continue;
        }
        if (scope.names.contains(part.name)) expressions_.need_new_name(part.name, scope, part.place);
        std::vector<BodyValue> own;
        for (size_t i = 0; i < (part.spread ? rank - fixed : 1); ++i) {
            VariableId id =
                expressions_.nodes().add_variable(part.spread ? fmt::format("{}{}", part.name, i) : part.name,
                                                  Variable::Kind::parallel, type.shape[coordinates.size()]);
            variables.push_back(id);
            own.push_back(expressions_.variable_value(id));
            coordinates.push_back(own.back());
        }
        scope.names.insert_or_assign(part.name, part.spread ? BodyValue::of(std::move(own)) : own[0]);
    }
    std::vector<NodeId> result;
    for (const BodyValue& coordinate : coordinates)
        result.push_back(expressions_.elements().coordinate(expressions_.values().element(coordinate, statement.place),
                                                            statement.place));
    return result;
}

void BodyBuilder::equation(const Syntax& statement, const BodyScope& scope, const std::vector<VariableId>& variables) {
    int32_t position = environment_.output_position(statement.text);
    BodyElements& elements = expressions_.elements();
    if (position < 0) {
        Diagnostic diagnostic = elements.error("symbolic.unknown_name", statement.place,
                                               fmt::format("'{}' is not an output", statement.text));
        std::vector<std::string> known;
        for (const BoundOutput& output : environment_.outputs()) known.push_back(output.spec->name);
        std::string nearest = nearest_name(statement.text, known);
        diagnostic.remedy = !nearest.empty() ? fmt::format("did you mean {}?", nearest)
                                             : fmt::format("name a value with let {} = ...", statement.text);
        elements.refuse(std::move(diagnostic));
    }
    const BoundOutput& output = environment_.outputs()[static_cast<size_t>(position)];
    if (!output.requested) return;
    BodyScope inner{&scope, {}};
    bool picked_by_left = false;
    TensorReference reference = written_tensor(statement, position, inner, picked_by_left);
    const TensorType& type = output.types[static_cast<size_t>(reference.element)];
    BodyEquation result;
    result.variables = expressions_.index_variables();
    result.variables.insert(result.variables.end(), variables.begin(), variables.end());
    if (statement.has_left && !picked_by_left) {
        result.left = left(statement, output, type, inner, result.variables);
    } else {
        for (const BodyValue& coordinate : default_left(statement, output, type))
            result.left.push_back(
                elements.coordinate(expressions_.values().element(coordinate, statement.place), statement.place));
    }
    BodyValue value = expressions_.evaluate(*statement.value, inner);
    Element stored = expressions_.values().element(value, statement.value->place);
    result.value = elements.stored(stored, type.dtype, output.spec->name, statement.value->place);
    auto known = std::find(outputs_.begin(), outputs_.end(), reference);
    result.output = static_cast<int32_t>(known - outputs_.begin());
    if (known == outputs_.end()) outputs_.push_back(reference);
    body_.equations.push_back(std::move(result));
    equation_places_.push_back(statement.place);
}

Result<BodyResult> BodyBuilder::finished() {
    BodyResult result;
    // Outputs and inputs in the template's order, whatever the order in which equations name them.
    std::vector<size_t> order(outputs_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::pair(outputs_[a].position, outputs_[a].element) <
               std::pair(outputs_[b].position, outputs_[b].element);
    });
    std::vector<int32_t> renumbered(outputs_.size());
    for (size_t i = 0; i < order.size(); ++i) {
        renumbered[order[i]] = static_cast<int32_t>(i);
        result.outputs.push_back(outputs_[order[i]]);
    }
    for (BodyEquation& equation : body_.equations) equation.output = renumbered[static_cast<size_t>(equation.output)];

    const std::vector<BodyTensor>& tensors = expressions_.tensors();
    std::vector<bool> read = tensors_read(body_, static_cast<int32_t>(tensors.size()));
    std::vector<int32_t> kept;
    ProjectedBody projected;
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (!read[i]) continue;
        kept.push_back(static_cast<int32_t>(i));
        result.inputs.push_back(tensors[i].reference);
        projected.inputs.push_back({tensors[i].bound->name, tensors[i].bound->type.extents(), tensors[i].spec});
    }
    for (const TensorReference& reference : result.outputs) {
        const BoundOutput& output = environment_.outputs()[static_cast<size_t>(reference.position)];
        projected.outputs.push_back(
            {output.spec->name, output.types[static_cast<size_t>(reference.element)].extents(), output.spec});
    }
    std::vector<NodeId> renumbered_nodes;
    auto body = std::make_shared<const Body>(compacted(body_, kept, &renumbered_nodes));
    projected.read_places.resize(body->nodes.size());
    for (const auto& [node, place] : expressions_.read_places())
        if (NodeId now = renumbered_nodes[static_cast<size_t>(node)]; now >= 0)
            projected.read_places[static_cast<size_t>(now)] = place;
    projected.body = body.get();
    projected.places = equation_places_;
    projected.references = result.outputs;
    auto projections = project(environment_, projected, result.written);
    if (!projections) return fail(std::move(projections.error()));
    result.projections = std::move(*projections);
    result.body = std::move(body);
    return result;
}

}  // namespace

Result<BodyResult> build_body(Environment& environment) {
    BodyBuilder builder(environment);
    return builder.run();
}

}  // namespace heddle
