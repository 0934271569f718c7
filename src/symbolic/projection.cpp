#include "symbolic/projection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace heddle {
namespace {

using IndexVariables = InlineVector<VariableId, 8>;

IndexVariables index_variables(const Body& body) {
    IndexVariables result;
    for (size_t i = 0; i < body.variables.size(); ++i)
        if (body.variables[i].kind == Variable::Kind::index) result.push_back(VariableId(i));
    return result;
}

// One dimension of a projection: start and extent over an index point, all other variables ranged over, of all
// accesses.
class DimensionHull {
public:
    DimensionHull(const Body& body, const IndexVariables& index) : body_(body), index_(index) {}

    void add(NodeId node, const ValueRange& value, const VariableRanges& ranges) {
        if (whole_) return;
        Coefficients coefficients(index_.size(), 0);
        Interval rest = value.interval;
        if (value.affine) {
            IntervalSum others(value.affine->constant);
            for (const auto& [variable, factor] : value.affine->terms) {
                auto axis = std::find(index_.begin(), index_.end(), variable);
                if (axis == index_.end())
                    others.add(factor, ranges[static_cast<size_t>(variable)]);
                else
                    coefficients[static_cast<size_t>(axis - index_.begin())] = factor.number();
            }
            rest = others.interval();
        } else if (value.data || !value.interval.known() || depends_on_index(node)) {
            whole_ = true;
            return;
        }
        join(coefficients, rest);
    }

    void add_anything() { whole_ = true; }

    // Whole if there are no accesses, or if they have no common coefficients.
    void put(IndexProjection& projection, const Size& extent) const {
        bool whole = whole_ || !any_;
        projection.whole.push_back(whole);
        if (whole)
            projection.projection.push_zeros(index_.size());
        else
            projection.projection.push_back(coefficients_);
        projection.offset.push_back(whole ? 0 : rest_.low.number());
        projection.shape.push_back(whole ? extent.number() : std::max<int64_t>(0, (rest_.high - rest_.low + 1).number()));
    }

private:
    using Coefficients = InlineVector<int64_t, 8>;  // of the index variables

    bool depends_on_index(NodeId node) const {
        std::vector<VariableId> used = variables_of(body_, node);
        return std::any_of(used.begin(), used.end(), [&](VariableId variable) {
            return std::find(index_.begin(), index_.end(), variable) != index_.end();
        });
    }

    void join(const Coefficients& coefficients, const Interval& rest) {
        whole_ = any_ && !(coefficients == coefficients_);
        if (!any_ || rest_.is_empty())
            rest_ = rest;
        else if (!rest.is_empty())
            rest_ = hull(rest_, rest);
        coefficients_ = coefficients;
        any_ = true;
    }

    const Body& body_;
    const IndexVariables& index_;
    Coefficients coefficients_;
    Interval rest_;
    bool any_ = false, whole_ = false;
};

IndexProjection written_by(const Body& body, const IndexVariables& index, RangeEvaluator& ranges, int32_t output,
                           std::span<const Size> extents) {
    IndexProjection result;
    for (size_t dimension = 0; dimension < extents.size(); ++dimension) {
        DimensionHull hull(body, index);
        for (const BodyEquation& equation : body.equations)
            if (equation.output == output)
                hull.add(equation.left[dimension], ranges.of(equation.left[dimension]), ranges.region().ranges);
        hull.put(result, extents[dimension]);
    }
    return result;
}

IndexProjection read_by(const BodyAccesses& accesses, const IndexVariables& index, int32_t input,
                        std::span<const Size> extents) {
    bool all_dead = true;
    for (const Access& access : accesses.accesses())
        if (access.tensor == input) all_dead = all_dead && access.dead;
    IndexProjection result;
    for (size_t dimension = 0; dimension < extents.size(); ++dimension) {
        DimensionHull hull(accesses.body(), index);
        if (accesses.exhausted()) hull.add_anything();  // there may be more accesses
        for (const Access& access : accesses.accesses()) {
            if (access.tensor != input || (access.dead && !all_dead)) continue;
            hull.add(access.coordinates[dimension], accesses.range(access, dimension),
                     accesses.variable_ranges(access));
        }
        hull.put(result, extents[dimension]);
    }
    return result;
}

// x[$n] for x[@n]: the coordinate is one number, and that the extent of an axis of the index.
std::optional<std::string> named_by_its_size(const Body& body, const FootprintFailure& failure) {
    if (failure.values.low != failure.values.high || failure.values.low != failure.extent) return std::nullopt;
    auto fits = [&](const Variable& variable) {
        return variable.kind == Variable::Kind::index && variable.extent == failure.extent;
    };
    auto found = std::ranges::find_if(body.variables, fits);
    return found == body.variables.end() ? std::nullopt : std::optional(found->name);
}

Diagnostic footprint_error(const Environment& environment, const ProjectedBody& projected,
                           const FootprintFailure& failure) {
    const Body& body = *projected.body;
    bool is_local = failure.access.tensor < 0;
    const std::string& tensor = is_local ? body.local(failure.access.local).name
                                         : projected.inputs[static_cast<size_t>(failure.access.tensor)].name;
    std::vector<std::string> point;
    for (const auto& [variable, value] : failure.point) {
        const Variable& named = body.variable(variable);
        point.push_back(fmt::format("{}{} = {}", named.kind == Variable::Kind::index ? "@" : "", named.name, value));
    }
    // A state's steps are counted from -1.
    bool steps =
        is_local && failure.access.before == 0 && failure.dimension == 0 && body.local(failure.access.local).is_state();
    int64_t shift = steps ? 1 : 0;
    Place place = *projected.places[static_cast<size_t>(failure.access.equation)];
    auto node = static_cast<size_t>(failure.access.node);
    if (node < projected.read_places.size() && projected.read_places[node]) place = *projected.read_places[node];
    Diagnostic diagnostic = environment.diagnostic(
        "symbolic.footprint", place,
        failure.outside ? fmt::format("'{}' is read outside{}: coordinate {} is {}", tensor,
                                      point.empty() ? "" : fmt::format(" at {}", fmt::join(point, ", ")),
                                      failure.dimension, failure.coordinate - shift)
                        : fmt::format("coordinate {} of '{}' cannot be proved inside", failure.dimension, tensor));
    diagnostic.expected = failure.extent == 0
                              ? "no read of an empty dimension"
                              : fmt::format("a coordinate in {} .. {}", -shift, failure.extent - 1 - shift);
    diagnostic.found = fmt::format("values in {} .. {}", failure.values.low - shift, failure.values.high - shift);
    diagnostic.remedy =
        is_local ? "read the local array inside its extent"
        : failure.extent == 0
            ? fmt::format("write {}[...] ?? v for the value where there is none, or a condition around it", tensor)
            : fmt::format("write {}[...] ?? v for a value outside, a condition around it, or clamp the coordinate",
                          tensor);
    if (auto axis = named_by_its_size(body, failure); !is_local && axis)
        diagnostic.remedy = fmt::format("did you mean the coordinate @{} for the size ${}?", *axis, *axis);
    diagnostic.params.emplace_back("tensor", tensor);
    diagnostic.params.emplace_back("dimension", std::to_string(failure.dimension));
    return diagnostic;
}

}  // namespace

Corner extents_of(const TensorType& type) {
    Corner extents;
    for (const Size& size : type.shape) extents.push_back(size);
    return extents;
}

IndexProjection derived_projection(const BodyAccesses& accesses, int32_t input, std::span<const Size> extents) {
    return read_by(accesses, index_variables(accesses.body()), input, extents);
}

IndexProjection written_projection(const Body& body, int32_t output, std::span<const Size> extents) {
    int64_t budget = 100'000;
    RangeEvaluator ranges(body, full_region(body), &budget);
    return written_by(body, index_variables(body), ranges, output, extents);
}

namespace {

// What reduction variables read: (tensor, dimension, coefficient), each once.
using Reads = std::vector<std::tuple<int32_t, size_t, int64_t>>;

std::map<VariableId, Reads> reduction_reads(const BodyAccesses& accesses) {
    const Body& body = accesses.body();
    std::map<VariableId, Reads> reads;
    for (const Access& access : accesses.accesses())
        for (size_t dimension = 0; access.tensor >= 0 && dimension < access.coordinates.size(); ++dimension)
            if (const ValueRange& value = accesses.range(access, dimension); value.affine)
                for (const auto& [variable, coefficient] : value.affine->terms)
                    if (body.variable(variable).kind == Variable::Kind::reduction)
                        reads[variable].emplace_back(access.tensor, dimension, coefficient);
    for (auto& [variable, own] : reads) {
        std::sort(own.begin(), own.end());
        own.erase(std::unique(own.begin(), own.end()), own.end());
    }
    return reads;
}

}  // namespace

std::vector<IndexAxis> extended_index(const BodyAccesses& accesses) {
    const Body& body = accesses.body();
    std::vector<IndexAxis> result;
    result.reserve(body.variables.size());
    auto add = [&](const Variable& variable, std::optional<Reducer> reducer) {
        auto taken = [&](const std::string& name) {
            return std::any_of(result.begin(), result.end(), [&](const IndexAxis& axis) { return axis.name == name; });
        };
        std::string name = variable.name;
        for (int copy = 2; taken(name); ++copy) name = fmt::format("{}_{}", variable.name, copy);
        result.emplace_back(std::move(name), variable.extent, reducer);
    };
    for (VariableId id : index_variables(body)) add(body.variable(id), std::nullopt);
    auto reductions = std::count_if(body.variables.begin(), body.variables.end(), [](const Variable& variable) {
        return variable.kind == Variable::Kind::reduction;
    });
    std::map<VariableId, Reads> reads;
    if (reductions > 1) reads = reduction_reads(accesses);
    std::set<std::tuple<Reducer, int64_t, Reads>> known;
    for (const Node& node : body.nodes) {
        if (node.kind != Node::Kind::reduce) continue;
        for (VariableId id : node.variables) {
            const Variable& variable = body.variable(id);
            auto own = reads.find(id);
            bool alike = own != reads.end() && !known.insert({node.reducer, variable.extent.number(), own->second}).second;
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
    BodyAccesses accesses(body);
    Diagnostics diagnostics;
    for (size_t i = 0; i < body.equations.size(); ++i) {
        auto box = equation_box(environment, projected, accesses.everywhere(), i);
        if (!box)
            diagnostics.insert(diagnostics.end(), box.error().begin(), box.error().end());
        else if (*box)
            written.push_back(std::move(**box));
    }
    InlineVector<std::span<const Size>, 8> extents;
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
    result.inputs.reserve(projected.inputs.size());
    result.outputs.reserve(projected.outputs.size());
    const IndexVariables index = index_variables(body);
    InlineVector<int64_t, 8> index_extents;
    for (VariableId id : index) index_extents.push_back(body.variable(id).extent.number());
    IpfEvaluator declarations(environment);
    auto compare = [&](const ProjectedTensor& tensor, const IndexProjection& derived, bool clipped) {
        auto declared = declarations.of(tensor);
        auto notes = declared ? check_declared(environment, tensor, *declared, derived, index_extents, clipped)
                              : Result<Diagnostics>(fail(std::move(declared.error())));
        Diagnostics& to = notes ? result.notes : diagnostics;
        const Diagnostics& from = notes ? *notes : notes.error();
        to.insert(to.end(), from.begin(), from.end());
    };
    for (size_t i = 0; i < projected.inputs.size(); ++i) {
        auto input = static_cast<int32_t>(i);
        result.inputs.push_back(read_by(accesses, index, input, projected.inputs[i].extents));
        if (!projected.inputs[i].spec->ipf) continue;
        // A read under a condition is inside its tensor, as a guarded one is; elsewhere its box may leave it.
        bool clipped = std::any_of(accesses.accesses().begin(), accesses.accesses().end(), [&](const Access& access) {
            return access.tensor == input && (access.guarded || access.context != 0);
        });
        compare(projected.inputs[i], result.inputs.back(), clipped);
    }
    for (size_t i = 0; i < projected.outputs.size(); ++i) {
        result.outputs.push_back(
            written_by(body, index, accesses.everywhere(), static_cast<int32_t>(i), projected.outputs[i].extents));
        if (projected.outputs[i].spec->ipf) compare(projected.outputs[i], result.outputs.back(), false);
    }
    if (!diagnostics.empty()) return fail(std::move(diagnostics));
    return result;
}

}  // namespace heddle
