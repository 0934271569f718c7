#include "symbolic/projection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace heddle {
namespace {

std::vector<VariableId> index_variables(const Body& body) {
    std::vector<VariableId> result;
    for (size_t i = 0; i < body.variables.size(); ++i)
        if (body.variables[i].kind == Variable::Kind::index) result.push_back(static_cast<VariableId>(i));
    return result;
}

// Start and extent of one coordinate over an index point, all other variables ranged over.
struct CoordinateHull {
    std::vector<int64_t> coefficients;  // of the index variables
    ValueInterval rest;
};

std::optional<CoordinateHull> hull_of(const Body& body, const std::vector<VariableId>& index, NodeId node,
                                      const ValueRange& value, const VariableRanges& ranges) {
    CoordinateHull hull;
    hull.coefficients.assign(index.size(), 0);
    if (value.affine) {
        int64_t low = value.affine->constant, high = low;
        for (const auto& [variable, coefficient] : value.affine->terms) {
            auto axis = std::find(index.begin(), index.end(), variable);
            if (axis != index.end()) {
                hull.coefficients[static_cast<size_t>(axis - index.begin())] = coefficient;
                continue;
            }
            const ValueInterval& range = ranges[static_cast<size_t>(variable)];
            low += coefficient * (coefficient > 0 ? range.low : range.high);
            high += coefficient * (coefficient > 0 ? range.high : range.low);
        }
        hull.rest = {low, high};
        return hull;
    }
    if (value.data || !value.interval.bounded()) return std::nullopt;
    for (VariableId variable : variables_of(body, node))
        if (std::find(index.begin(), index.end(), variable) != index.end()) return std::nullopt;
    hull.rest = value.interval;
    return hull;
}

// One dimension of a projection, from the hulls of all accesses; whole if they have no common coefficients.
void put_dimension(IndexProjection& projection, const std::vector<std::optional<CoordinateHull>>& hulls, size_t axes,
                   int64_t extent) {
    bool whole = hulls.empty();
    for (const auto& hull : hulls) whole = whole || !hull || hull->coefficients != hulls[0]->coefficients;
    projection.whole.push_back(whole);
    if (whole) {
        projection.projection.emplace_back(axes, 0);
        projection.offset.push_back(0);
        projection.shape.push_back(extent);
        return;
    }
    ValueInterval hull = hulls[0]->rest;
    for (const auto& other : hulls) {
        if (other->rest.is_empty()) continue;
        if (hull.is_empty()) hull = other->rest;
        hull = {std::min(hull.low, other->rest.low), std::max(hull.high, other->rest.high)};
    }
    projection.projection.push_back(hulls[0]->coefficients);
    projection.offset.push_back(hull.low);
    projection.shape.push_back(std::max<int64_t>(0, hull.high - hull.low + 1));
}

Diagnostic footprint_error(const Environment& environment, const ProjectedBody& projected,
                           const FootprintFailure& failure) {
    const Body& body = *projected.body;
    bool is_local = failure.access.tensor < 0;
    const std::string& tensor = is_local ? body.locals[static_cast<size_t>(failure.access.local)].name
                                         : projected.inputs[static_cast<size_t>(failure.access.tensor)].name;
    std::vector<std::string> point;
    for (const auto& [variable, value] : failure.point) {
        const Variable& named = body.variable(variable);
        point.push_back(fmt::format("{}{} = {}", named.kind == Variable::Kind::index ? "@" : "", named.name, value));
    }
    // A state's steps are counted from -1.
    bool steps = is_local && failure.access.before == 0 && failure.dimension == 0 &&
                 body.locals[static_cast<size_t>(failure.access.local)].is_state();
    int64_t shift = steps ? 1 : 0;
    Place place = projected.places[static_cast<size_t>(failure.access.equation)];
    auto node = static_cast<size_t>(failure.access.node);
    if (node < projected.read_places.size() && projected.read_places[node].source) place = projected.read_places[node];
    Diagnostic diagnostic = environment.diagnostic(
        "symbolic.footprint", place,
        failure.outside ? fmt::format("'{}' is read outside{}: coordinate {} is {}", tensor,
                                      point.empty() ? "" : fmt::format(" at {}", fmt::join(point, ", ")),
                                      failure.dimension, failure.coordinate - shift)
                        : fmt::format("coordinate {} of '{}' cannot be proved inside", failure.dimension, tensor));
    diagnostic.expected = failure.extent == 0 ? "no read of an empty dimension"
                                              : fmt::format("a coordinate in {} .. {}", -shift, failure.extent - 1 - shift);
    diagnostic.found = fmt::format("values in {} .. {}", failure.values.low - shift, failure.values.high - shift);
    diagnostic.remedy =
        is_local ? "read the local array inside its extent"
                 : fmt::format("write {}[...] ?? v for a value outside, a condition around it, or clamp the coordinate",
                               tensor);
    diagnostic.params.emplace_back("tensor", tensor);
    diagnostic.params.emplace_back("dimension", std::to_string(failure.dimension));
    return diagnostic;
}

}  // namespace

IndexProjection derived_projection(const BodyAccesses& accesses, int32_t input, const std::vector<int64_t>& extents) {
    const Body& body = accesses.body();
    std::vector<VariableId> index = index_variables(body);
    bool all_dead = true;
    for (const Access& access : accesses.accesses())
        if (access.tensor == input) all_dead = all_dead && access.dead;
    IndexProjection result;
    for (size_t dimension = 0; dimension < extents.size(); ++dimension) {
        std::vector<std::optional<CoordinateHull>> hulls;
        for (const Access& access : accesses.accesses()) {
            if (access.tensor != input || (access.dead && !all_dead)) continue;
            hulls.push_back(hull_of(body, index, access.coordinates[dimension], accesses.range(access, dimension),
                                    accesses.variable_ranges(access)));
        }
        put_dimension(result, hulls, index.size(), extents[dimension]);
    }
    return result;
}

IndexProjection written_projection(const Body& body, int32_t output, const std::vector<int64_t>& extents) {
    std::vector<VariableId> index = index_variables(body);
    int64_t budget = 100'000;
    RangeEvaluator ranges(body, full_ranges(body), &budget);
    IndexProjection result;
    for (size_t dimension = 0; dimension < extents.size(); ++dimension) {
        std::vector<std::optional<CoordinateHull>> hulls;
        for (const BodyEquation& equation : body.equations)
            if (equation.output == output)
                hulls.push_back(hull_of(body, index, equation.left[dimension], ranges.of(equation.left[dimension]),
                                        ranges.ranges()));
        put_dimension(result, hulls, index.size(), extents[dimension]);
    }
    return result;
}

std::vector<IndexAxis> extended_index(const BodyAccesses& accesses) {
    const Body& body = accesses.body();
    std::vector<IndexAxis> result;
    std::set<std::string> taken;
    auto add = [&](const Variable& variable, std::optional<Reducer> reducer) {
        std::string name = variable.name;
        for (int copy = 2; !taken.insert(name).second; ++copy) name = fmt::format("{}_{}", variable.name, copy);
        result.push_back({std::move(name), variable.extent, reducer});
    };
    for (VariableId id : index_variables(body)) add(body.variable(id), std::nullopt);
    // What a variable reads: (tensor, dimension, coefficient).
    std::map<VariableId, std::set<std::tuple<int32_t, size_t, int64_t>>> reads;
    for (const Access& access : accesses.accesses())
        for (size_t dimension = 0; access.tensor >= 0 && dimension < access.coordinates.size(); ++dimension)
            if (const ValueRange& value = accesses.range(access, dimension); value.affine)
                for (const auto& [variable, coefficient] : value.affine->terms)
                    reads[variable].insert({access.tensor, dimension, coefficient});
    std::set<std::tuple<Reducer, int64_t, std::set<std::tuple<int32_t, size_t, int64_t>>>> known;
    for (const Node& node : body.nodes) {
        if (node.kind != Node::Kind::reduce) continue;
        for (VariableId id : node.variables) {
            const Variable& variable = body.variable(id);
            bool alike = !reads[id].empty() && !known.insert({node.reducer, variable.extent.value, reads[id]}).second;
            if (!alike) add(variable, node.reducer);
        }
    }
    for (const Variable& variable : body.variables) {
        if (variable.kind != Variable::Kind::ordered) continue;
        add(variable, std::nullopt);
        result.back().ordered = true;
    }
    return result;
}

Result<OperationProjections> project(Environment& environment, const ProjectedBody& projected,
                                     std::vector<EquationBox>& written) {
    const Body& body = *projected.body;
    Diagnostics diagnostics;
    for (size_t i = 0; i < body.equations.size(); ++i) {
        auto box = equation_box(environment, projected, i);
        if (!box)
            diagnostics.insert(diagnostics.end(), box.error().begin(), box.error().end());
        else if (*box)
            written.push_back(std::move(**box));
    }
    BodyAccesses accesses(body);
    std::vector<std::vector<int64_t>> extents;
    for (const ProjectedTensor& input : projected.inputs) extents.push_back(input.extents);
    for (const FootprintFailure& failure : accesses.failures(extents)) {
        constexpr size_t most_errors = 16;
        if (diagnostics.size() < most_errors) diagnostics.push_back(footprint_error(environment, projected, failure));
    }
    if (accesses.exhausted()) {
        Diagnostic diagnostic = environment.diagnostic("symbolic.limit", environment.metakernel().place,
                                                       "the body is too large for its reads to be proved");
        diagnostic.remedy = "use fewer conditions around reads";
        diagnostics = {std::move(diagnostic)};
    }
    if (!diagnostics.empty()) return fail(std::move(diagnostics));

    OperationProjections result;
    result.index = extended_index(accesses);
    std::vector<int64_t> index;
    for (VariableId id : index_variables(body)) index.push_back(body.variable(id).extent.value);
    auto compare = [&](const ProjectedTensor& tensor, const IndexProjection& derived, bool clipped) {
        if (!tensor.spec->ipf) return;
        auto declared = declared_projection(environment, tensor);
        auto notes = declared ? check_declared(environment, tensor, *declared, derived, index, clipped)
                              : Result<Diagnostics>(fail(std::move(declared.error())));
        Diagnostics& to = notes ? result.notes : diagnostics;
        const Diagnostics& from = notes ? *notes : notes.error();
        to.insert(to.end(), from.begin(), from.end());
    };
    for (size_t i = 0; i < projected.inputs.size(); ++i) {
        auto input = static_cast<int32_t>(i);
        result.inputs.push_back(derived_projection(accesses, input, projected.inputs[i].extents));
        // A read under a condition is inside its tensor, as a guarded one is; elsewhere its box may leave it.
        bool clipped = std::any_of(accesses.accesses().begin(), accesses.accesses().end(), [&](const Access& access) {
            return access.tensor == input && (access.guarded || access.context != 0);
        });
        compare(projected.inputs[i], result.inputs.back(), clipped);
    }
    for (size_t i = 0; i < projected.outputs.size(); ++i) {
        result.outputs.push_back(written_projection(body, static_cast<int32_t>(i), projected.outputs[i].extents));
        compare(projected.outputs[i], result.outputs.back(), false);
    }
    if (!diagnostics.empty()) return fail(std::move(diagnostics));
    return result;
}

}  // namespace heddle
