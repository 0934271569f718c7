#include "symbolic/body_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/body_rebuild.h"
#include "symbolic/body_statements.h"
#include "symbolic/interleaving.h"
#include "symbolic/projection.h"

namespace heddle {

void BodyBuilder::block(const std::vector<SyntaxPointer>& statements, Scope& scope, const VariableList& variables) {
    const Part part = part_;
    for (const SyntaxPointer& each : statements) {
        guarded([&] { statement(*each, scope, variables); });
        part_ = part;  // whatever a statement that failed has left
    }
}

void BodyBuilder::statement(const Syntax& statement, Scope& scope, const VariableList& variables) {
    const bool is_state = statement.kind == Syntax::Kind::equation && statement.initial;
    const bool is_of_both = statement.kind == Syntax::Kind::let || statement.kind == Syntax::Kind::scan_block;
    if (!is_of_both && part_ != Part::all && is_state != (part_ == Part::states)) return;
    switch (statement.kind) {
    case Syntax::Kind::let: let(statement, scope, variables); break;
    case Syntax::Kind::parallel_block: parallel_block(statement, scope, variables); break;
    case Syntax::Kind::scan_block:
        if (in_scan_)
            nested_scan(statement, scope, variables);
        else
            scan(statement, scope, variables);
        break;
    default:
        if (is_state)
            state_equation(statement, scope);
        else
            equation(statement, scope, variables);
    }
}

void BodyBuilder::let(const Syntax& statement, Scope& scope, const VariableList& variables) {
    expressions_.need_new_name(statement.text, scope, statement.place);
    scope.names.set(statement.text, Value::failed());  // until its value is known
    scope.names.set(statement.text, is_order(*statement.value) ? order(statement, scope, variables)
                                                               : expressions_.let(statement, scope));
}

void BodyBuilder::parallel_block(const Syntax& statement, const Scope& scope, VariableList variables) {
    Scope inner{&scope, {}};
    for (const Generator& generator : statement.generators)
        expressions_.bind(generator, Variable::Kind::parallel, inner, variables);
    block(statement.children, inner, variables);
}

TensorReference BodyBuilder::written_tensor(const Syntax& statement, int32_t position, const Scope& scope,
                                            bool& picked_by_left) {
    const BoundOutput& output = environment_.outputs()[static_cast<size_t>(position)];
    if (!output.spec->variadic) return {position, 0};
    SyntaxPointer pick = statement.pick;
    if (!pick && statement.has_left && statement.children.size() == 1) {
        pick = statement.children[0];  // parts[$i] = ...
        picked_by_left = true;
    }
    auto element = pick ? expressions_.operations().integer(expressions_.evaluate(*pick, scope),
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

namespace {

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

}  // namespace

// Without left coordinates: the element that the index point names.
std::vector<Value> BodyBuilder::default_left(const Syntax& statement, const BoundOutput& output,
                                             const TensorType& type) {
    if (output.spec->ipf && output.spec->ipf->kind == Syntax::Kind::rows) {
        bool elements = true;
        for (const SyntaxPointer& row : output.spec->ipf->children)
            elements = elements && row->kind != Syntax::Kind::whole && row->kind != Syntax::Kind::ranged;
        if (elements)
            return expressions_.expanded(output.spec->ipf->children, static_cast<int64_t>(type.shape.size()), {});
    }
    const std::vector<Value>& all = expressions_.all_coordinates().list();
    if (all.size() == type.shape.size()) return all;
    Diagnostic diagnostic =
        expressions_.elements().error("symbolic.no_element", statement.place,
                                      fmt::format("'{}' has no element of its own at an index point", statement.text));
    diagnostic.expected = fmt::format("an output of as many dimensions as the index, {}", all.size());
    diagnostic.found = fmt::format("{} dimensions", type.shape.size());
    std::string end = short_slice(environment_.metakernel());
    diagnostic.remedy = end.empty() ? fmt::format("give its coordinates: {}[...] = ...", statement.text)
                                    : fmt::format("slices end before their end: did you mean [:{}]?", end);
    expressions_.elements().refuse(std::move(diagnostic));
}

NodeList BodyBuilder::coordinates_of(const std::vector<Value>& values, const Place& place) {
    NodeList result;
    for (const Value& value : values) result.push_back(expressions_.coordinate(value, place));
    return result;
}

NodeList BodyBuilder::left(const Syntax& statement, const BoundOutput& output, const TensorType& type, Scope& scope,
                           VariableList& variables) {
    // A name alone that means nothing yet is a new variable over the whole dimension; `j...` over all that are left.
    struct Part {
        std::string_view name;  // of a new variable
        bool spread = false;
        size_t first = 0, count = 0;  // its values, of coordinates that are not new
        const Place& place;
    };
    std::vector<Value> values;
    values.reserve(type.shape.size());
    InlineVector<Part, 6> parts;
    size_t fixed = 0;
    const Part* open = nullptr;
    for (const SyntaxPointer& child : statement.children) {
        bool spread = child->kind == Syntax::Kind::spread && child->children.size() == 1;
        const Syntax& element = spread ? *child->children[0] : *child;
        Part part{{}, spread, values.size(), 0, child->place};
        bool is_new = element.kind == Syntax::Kind::name && !scope.find(element.text) &&
                      environment_.input_position(element.text) < 0;
        if (is_new) {
            expressions_.need_new_name(element.text, scope, element.place);
            part.name = element.text;
            fixed += spread ? 0 : 1;
        } else {
            if (child->kind == Syntax::Kind::spread) {
                for (Value& value : expressions_.expanded({&child, 1}, std::nullopt, scope))
                    values.push_back(std::move(value));
            } else {
                values.push_back(expressions_.one(*child, scope));
            }
            part.count = values.size() - part.first;
            fixed += part.count;
        }
        parts.push_back(std::move(part));
    }
    size_t rank = type.shape.size();
    for (const Part& part : parts)
        if (!part.name.empty() && part.spread) {
            if (open)
                expressions_.operations().refuse_type(part.place, "two open lists of coordinates", "one j...", "");
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
    if (std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.name.empty(); }))
        return coordinates_of(values, statement.place);
    std::vector<Value> coordinates;
    coordinates.reserve(rank);
    for (const Part& part : parts) {
        if (part.name.empty()) {
            for (size_t i = part.first; i < part.first + part.count; ++i) coordinates.push_back(std::move(values[i]));
            continue;
        }
        if (scope.names.contains(part.name)) expressions_.need_new_name(part.name, scope, part.place);
        std::vector<Value> own;
        for (size_t i = 0; i < (part.spread ? rank - fixed : 1); ++i) {
            VariableId id =
                expressions_.nodes().add_variable(std::string(part.name) + (part.spread ? std::to_string(i) : ""),
                                                  Variable::Kind::parallel, type.shape[coordinates.size()]);
            variables.push_back(id);
            own.push_back(expressions_.variable_value(id));
            coordinates.push_back(own.back());
        }
        scope.names.set(part.name, part.spread ? Value::of(std::move(own)) : own[0]);
    }
    return coordinates_of(coordinates, statement.place);
}

void BodyBuilder::equation(const Syntax& statement, const Scope& scope, const VariableList& variables) {
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
    Scope inner{&scope, {}};
    bool picked_by_left = false;
    TensorReference reference = written_tensor(statement, position, inner, picked_by_left);
    const TensorType& type = output.types[static_cast<size_t>(reference.element)];
    BodyEquation result;
    result.variables = expressions_.index_variables();
    result.variables.insert(result.variables.end(), variables.begin(), variables.end());
    if (statement.has_left && !picked_by_left) {
        result.left = left(statement, output, type, inner, result.variables);
    } else {
        result.left = coordinates_of(default_left(statement, output, type), statement.place);
    }
    Element stored = expressions_.element(*statement.value, inner);
    result.value = elements.stored(stored, type.dtype, output.spec->name, statement.value->place);
    auto known = std::find(outputs_.begin(), outputs_.end(), reference);
    result.output = static_cast<int32_t>(known - outputs_.begin());
    if (known == outputs_.end()) outputs_.push_back(reference);
    body_.equations.push_back(std::move(result));
    equation_places_.push_back(&statement.place);
}

// Where there are no points there is no value: nothing is read there, and nothing has to be proved.
void BodyBuilder::drop_without_points() {
    BodyNodes& nodes = expressions_.nodes();
    const auto empty = [&](std::span<const VariableId> variables) {
        return std::ranges::any_of(variables, [&](VariableId id) { return body_.variable(id).extent <= 0; });
    };
    const auto none = [&](NodeId value) {
        const DType dtype = body_.node(value).dtype;
        return is_float(dtype) || is_complex(dtype) ? nodes.real(0, dtype, true) : nodes.integer(0, dtype, true);
    };
    for (BodyEquation& equation : body_.equations)
        if (empty(equation.variables)) equation.value = none(equation.value);
    for (Local& local : body_.locals) {
        const std::span<const VariableId> own(local.variables.begin(), local.variables.end());
        if (local.is_state() && empty(own.subspan(1))) local.initial = none(local.initial);
        if (empty(own) || (!local.is_state() && empty(variables_of(body_, local.value)))) local.value = none(local.value);
    }
}

// Left sides of an output that are no boxes: proved to write each element once, and made one equation.
Result<void> BodyBuilder::join_sides(size_t output) {
    const TensorReference& reference = outputs_[output];
    const BoundOutput& bound = environment_.outputs()[static_cast<size_t>(reference.position)];
    const Corner extents = extents_of(bound.types[static_cast<size_t>(reference.element)]);
    constexpr int64_t steps = 1'000'000;
    int64_t budget = steps;
    RangeEvaluator ranges(body_, full_region(body_), &budget);
    std::vector<LeftSide> sides;
    for (size_t i = 0; i < body_.equations.size(); ++i) {
        const BodyEquation& equation = body_.equations[i];
        if (equation.output != static_cast<int32_t>(output)) continue;
        if (std::ranges::any_of(equation.variables, [&](VariableId id) { return body_.variable(id).extent <= 0; }))
            continue;
        auto side = left_side(body_, i, ranges, extents);
        if (!side) return {};
        sides.push_back(std::move(*side));
    }
    if (std::ranges::all_of(sides, [](const LeftSide& side) { return side.is_box(); })) return {};
    const auto fault = cover_fault(sides, extents);
    if (const LeftFault* found = std::get_if<LeftFault>(&fault))
        return fail(left_fault(environment_, sides, *found, bound.spec->name, equation_places_));
    const bool small = std::holds_alternative<std::monostate>(fault) &&
                       join_by_elements(body_, expressions_.nodes(), sides, extents, bound.spec->name);
    if (!small) {
        Diagnostic diagnostic =
            environment_.diagnostic("symbolic.limit", *equation_places_[sides[0].equation],
                                    fmt::format("the left sides of '{}' are too many and irregular", bound.spec->name));
        diagnostic.remedy = "give parts that lie between one another one form, with another number added to each";
        return fail(std::move(diagnostic));
    }
    for (size_t s = sides.size(); s-- > 1;) {
        const auto at = static_cast<std::ptrdiff_t>(sides[s].equation);
        body_.equations.erase(body_.equations.begin() + at);
        equation_places_.erase(equation_places_.begin() + at);
    }
    return {};
}

Result<BodyResult> BodyBuilder::finished() {
    BodyResult result;
    drop_without_points();
    join_interleaved(body_, expressions_.nodes(), equation_places_);
    for (size_t output = 0; output < outputs_.size(); ++output)
        if (auto joined = join_sides(output); !joined) return fail(std::move(joined.error()));
    // Outputs and inputs in the template's order, whatever the order in which equations name them.
    InlineVector<size_t, 8> order(outputs_.size());
    result.inputs.reserve(expressions_.tensors().size());
    result.outputs.reserve(order.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::pair(outputs_[a].position, outputs_[a].element) <
               std::pair(outputs_[b].position, outputs_[b].element);
    });
    InlineVector<int32_t, 8> renumbered(outputs_.size());
    for (size_t i = 0; i < order.size(); ++i) {
        renumbered[order[i]] = static_cast<int32_t>(i);
        result.outputs.push_back(outputs_[order[i]]);
    }
    for (BodyEquation& equation : body_.equations) equation.output = renumbered[static_cast<size_t>(equation.output)];

    std::span<const BodyTensor> tensors = expressions_.tensors();
    InlineVector<bool, 8> read = tensors_read(body_, static_cast<int32_t>(tensors.size()));
    InlineVector<int32_t, 8> kept;
    ProjectedBody projected;
    projected.inputs.reserve(tensors.size());
    projected.outputs.reserve(result.outputs.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (!read[i]) continue;
        kept.push_back(static_cast<int32_t>(i));
        result.inputs.push_back(tensors[i].reference);
        projected.inputs.push_back({tensors[i].bound->name, extents_of(tensors[i].bound->type), tensors[i].spec});
    }
    for (const TensorReference& reference : result.outputs) {
        const BoundOutput& output = environment_.outputs()[static_cast<size_t>(reference.position)];
        projected.outputs.push_back(
            {output.spec->name, extents_of(output.types[static_cast<size_t>(reference.element)]), output.spec});
    }
    for (const auto& [node, place] : expressions_.elements().read_places())
        if (expressions_.nodes().is_led(node)) body_.places.push_back({node, *place});
    InlineVector<NodeId, 64> renumbered_nodes;
    auto body = std::make_shared<const Body>(compacted(std::move(body_), kept, &renumbered_nodes));
    projected.read_places.resize(body->nodes.size());
    for (const auto& [node, place] : expressions_.elements().read_places()) {
        NodeId now = renumbered_nodes[static_cast<size_t>(node)];
        if (now < 0) continue;
        const Place*& first = projected.read_places[static_cast<size_t>(now)];
        if (!first) first = place;
    }
    for (const auto& [node, syntax] : expressions_.empty_arguments()) {
        if (renumbered_nodes[static_cast<size_t>(node)] < 0) continue;  // nothing asks for it
        Diagnostic diagnostic =
            environment_.diagnostic("symbolic.extent", syntax->place, fmt::format("{} over no elements", syntax->text));
        diagnostic.expected = "an extent of 1 or more";
        diagnostic.reason = "no element has a place";
        diagnostic.remedy = fmt::format("say what it is then: $n > 0 ? {}(...) : -1", syntax->text);
        return fail(std::move(diagnostic));
    }
    projected.body = body.get();
    projected.places = std::move(equation_places_);
    projected.references = result.outputs;
    auto projections = project(environment_, projected, written_);
    if (!projections) return fail(std::move(projections.error()));
    result.projections = std::move(*projections);
    result.body = std::move(body);
    return result;
}

// What does not depend on what the types of states were assumed to be, where there is such a mistake: the others follow
// from it. Else what was found behind the other's first one, which is none then.
Diagnostics found_by_both(Diagnostics of_integers, Diagnostics of_reals) {
    auto is_found = [&](const Diagnostic& problem) {
        return std::ranges::any_of(of_reals, [&](const Diagnostic& other) {
            return other.code == problem.code && other.place.source == problem.place.source &&
                   other.place.offset == problem.place.offset;
        });
    };
    if (std::ranges::none_of(of_integers, is_found))
        return of_reals[0].place.offset > of_integers[0].place.offset ? std::move(of_reals) : std::move(of_integers);
    std::erase_if(of_integers, [&](const Diagnostic& problem) { return !is_found(problem); });
    return of_integers;
}

Result<BodyResult> build_body(Environment& environment, std::vector<EquationBox>& written) {
    // A state's equation reads the state: its type is found by building with the types that are known so far.
    // What its reads reach is found in the same way.
    StateTypes types;
    WaveReaches reaches;
    std::optional<Result<BodyResult>> of_integers;
    for (;;) {
        BodyBuilder builder(environment, types, reaches, of_integers.has_value(), written);
        auto result = builder.run();
        if (!builder.found().empty()) {
            types.insert(builder.found().begin(), builder.found().end());
        } else if (!builder.wider().empty()) {
            for (const auto& [scan, reach] : builder.wider()) reaches.insert_or_assign(scan, reach);
        } else if (!builder.taken().empty()) {
            for (const auto& [statement, type] : builder.taken()) types.insert_or_assign(statement, type);
        } else if (result || !builder.assumed()) {
            return result;
        } else if (of_integers) {
            return fail(found_by_both(std::move(of_integers->error()), std::move(result.error())));
        } else {
            of_integers = std::move(result);  // a mean, say, is of reals alone
        }
    }
}

}  // namespace heddle
