#include "symbolic/application.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "symbolic/environment_state.h"
#include "symbolic/failures.h"
#include "zspace/checked.h"

namespace heddle {
namespace {

using Value = StaticValue;
using Kind = Syntax::Kind;

// Where an element names an axis: `$n`, `$batch...`, `part = e`.
std::string axis_name(const Syntax& element) {
    if (element.kind == Kind::named_element) return element.text;
    const Syntax& inner = element.kind == Kind::spread ? *element.children[0] : element;
    return inner.kind == Kind::static_name ? inner.text : "";
}

bool is_spread(const Syntax& element) {
    return element.kind == Kind::spread || (element.kind == Kind::named_element && is_spread(*element.children[0]));
}

constexpr size_t largest_rank = 64;  // of a tensor and of an index: projections are matrices of both

Result<void> check_rank(size_t rank, const Place& place) {
    if (rank <= largest_rank) return {};
    return limit_error(place, fmt::format("{} dimensions; there are at most {}", rank, largest_rank));
}

Result<std::vector<Size>> extents_of(Environment& environment, std::span<const Value> values, const Syntax& syntax) {
    if (auto fine = check_rank(values.size(), syntax.place); !fine) return std::unexpected(fine.error());
    std::vector<Size> extents;
    extents.reserve(values.size());
    Size total = 1;
    for (const Value& value : values) {
        if (!value.is_integer()) return type_error(syntax.place, "an extent is an integer", "an integer", value);
        if (value.size() < 0) {
            Diagnostic diagnostic = environment.diagnostic("symbolic.extent", syntax.place,
                                                           fmt::format("an extent is {}", value.integer()));
            diagnostic.expected = "0 or more";
            diagnostic.found = fmt::format("{} for {}", value.print(), print(syntax));
            diagnostic.remedy = "pass larger tensors; in the template, a condition under `require` can say so first";
            return fail(std::move(diagnostic));
        }
        auto product = checked_multiply(total, greater(value.size(), 1));
        // Sixteen bytes an element at most, so that sizes in bytes cannot overflow either.
        if (!product || *product > std::numeric_limits<int64_t>::max() / 16) {
            return fail(
                environment.diagnostic("symbolic.extent", syntax.place, "more elements than 64 bits can count"));
        }
        total = *product;
        extents.push_back(value.size());
    }
    return extents;
}

Result<std::vector<Size>> axis_extents(Environment& environment, const SyntaxPointer& element) {
    if (element->kind == Kind::static_name) {  // mostly, and without a list
        auto value = environment.evaluate(*element);
        if (!value) return std::unexpected(value.error());
        return extents_of(environment, {&*value, 1}, *element);
    }
    auto values = environment.evaluate_elements({&element, 1});
    if (!values) return std::unexpected(values.error());
    return extents_of(environment, *values, *element);
}

// An index may have any number of entries from one list; each `BoundAxis` keeps its own.
Result<void> bind_index(Environment& environment) {
    Environment::State& state = environment.state();
    const Template& metakernel = environment.metakernel();
    state.index.clear();
    state.index_known = false;
    const Syntax* index = metakernel.index.get();
    if (!index && !metakernel.outputs.empty()) index = metakernel.outputs[0].shape.get();
    if (!index) {
        return fail(environment.diagnostic(
            "symbolic.output_type", metakernel.place,
            fmt::format("{} has neither an index nor a shape of its first output", metakernel.name)));
    }
    std::vector<BoundAxis> axes;
    axes.reserve(index->children.size());
    size_t rank = 0;
    for (const auto& element : index->children) {
        auto extents = axis_extents(environment, element);
        if (!extents) return std::unexpected(extents.error());
        rank += extents->size();
        if (auto fine = check_rank(rank, index->place); !fine) return fine;
        axes.push_back({axis_name(*element), is_spread(*element), std::move(*extents)});
    }
    state.index = std::move(axes);
    state.index_known = true;
    return {};
}

std::vector<Size> index_extents(const std::vector<BoundAxis>& index) {
    std::vector<Size> extents;
    size_t count = 0;
    for (const BoundAxis& axis : index) count += axis.extents.size();
    extents.reserve(count);
    for (const BoundAxis& axis : index) extents.insert(extents.end(), axis.extents.begin(), axis.extents.end());
    return extents;
}

bool has_data_extent(const Syntax& shape) {
    return std::any_of(shape.children.begin(), shape.children.end(),
                       [](const auto& element) { return element->kind == Kind::unknown_extent; });
}

Result<TensorType> output_type(Environment& environment, const TensorSpec& specification) {
    TensorType type;
    if (!specification.dtype) {
        return fail(environment.diagnostic("symbolic.output_type", specification.place,
                                           fmt::format("output {} has no dtype", specification.name)));
    }
    auto dtype = environment.evaluate(*specification.dtype);
    if (!dtype) return std::unexpected(dtype.error());
    if (!dtype->is_dtype()) {
        return type_error(specification.dtype->place, fmt::format("the dtype of output {}", specification.name),
                          "a dtype", *dtype);
    }
    type.dtype = dtype->dtype();
    if (!specification.shape) {
        type.shape = index_extents(environment.index());
        return type;
    }
    if (has_data_extent(*specification.shape)) {
        Diagnostic diagnostic =
            environment.diagnostic("symbolic.data_extent", specification.shape->place,
                                   fmt::format("the shape of output {} depends on data", specification.name));
        diagnostic.reason = "tensors have sizes that are known when the graph is built";
        return fail(std::move(diagnostic));
    }
    auto values = environment.evaluate_elements(specification.shape->children);
    if (!values) return std::unexpected(values.error());
    auto extents = extents_of(environment, *values, *specification.shape);
    if (!extents) return std::unexpected(extents.error());
    type.shape = std::move(*extents);
    return type;
}

// The types of all requested outputs; of variadic ones those of this operation.
Result<void> add_output_types(Environment& environment, bool first_operation) {
    for (BoundOutput& output : environment.state().outputs) {
        if (!output.requested || (!first_operation && !output.spec->variadic)) continue;
        auto type = output_type(environment, *output.spec);
        if (!type) return std::unexpected(type.error());
        output.types.push_back(std::move(*type));
    }
    return {};
}

Result<int64_t> operation_count(Environment& environment) {
    const Template& metakernel = environment.metakernel();
    if (!metakernel.each) {
        for (const TensorSpec& output : metakernel.outputs) {
            if (!output.variadic) continue;
            return fail(
                environment.diagnostic("symbolic.variadic_output", output.place,
                                       fmt::format("output {} is variadic, but there is no `each`", output.name)));
        }
        return 1;
    }
    auto count = environment.evaluate(*metakernel.each->count);
    if (!count) return std::unexpected(count.error());
    const Place& place = metakernel.each->count->place;
    if (!count->is_integer() || count->integer() < 0) {
        return type_error(place, "the count of an `each` is an integer from 0 on", "an integer from 0 on", *count);
    }
    if (count->integer() > largest_each) {
        return limit_error(
            place, fmt::format("an `each` of {} operations; there are at most {}", count->integer(), largest_each));
    }
    return count->integer();
}

Result<AppliedOperation> build_operation(Environment& environment, std::vector<EquationBox>& written) {
    AppliedOperation operation;
    if (!environment.metakernel().has_body()) {
        auto declared = declared_projections(environment);
        if (!declared) return std::unexpected(declared.error());
        operation.inputs = std::move(declared->inputs);
        operation.outputs = std::move(declared->outputs);
        operation.projections = std::move(declared->projections);
        return operation;
    }
    auto built = build_body(environment, written);
    if (!built) return std::unexpected(built.error());
    operation.body = std::move(built->body);
    operation.inputs = std::move(built->inputs);
    operation.outputs = std::move(built->outputs);
    operation.projections = std::move(built->projections);
    return operation;
}

}  // namespace

Result<void> begin_operation(Environment& environment, int64_t each_value) {
    Environment::State& state = environment.state();
    state.each_value = each_value;
    for (NameSlot& slot : state.slots) {
        bool computed = slot.kind == NameSlot::Kind::let || slot.kind == NameSlot::Kind::parameter;
        if (!slot.per_operation || !computed) continue;
        slot.phase = NameSlot::Phase::unknown;
        slot.per_operation = false;
    }
    return bind_index(environment);
}

Result<void> bind_application(Environment& environment) {
    for (const BoundInput& input : environment.inputs()) {
        for (const BoundTensor& tensor : input.tensors) {
            if (auto fine = check_rank(tensor.type.shape.size(), input.spec->place); !fine) return fine;
        }
    }
    if (auto done = match_dtypes(environment); !done) return done;
    if (auto done = match_patterns(environment); !done) return done;
    if (auto done = check_parameters(environment); !done) return done;
    return check_constraints(environment);
}

Result<Application> apply_template(Environment& environment) {
    if (auto bound = bind_application(environment); !bound) return std::unexpected(bound.error());
    auto count = operation_count(environment);
    if (!count) return std::unexpected(count.error());
    Application application;
    std::vector<EquationBox> written;
    for (int64_t value = 0; value < *count; ++value) {
        if (auto begun = begin_operation(environment, value); !begun) return std::unexpected(begun.error());
        if (auto typed = add_output_types(environment, value == 0); !typed) return std::unexpected(typed.error());
        auto operation = build_operation(environment, written);
        if (!operation) return std::unexpected(operation.error());
        application.operations.push_back(std::move(*operation));
    }
    if (environment.metakernel().has_body()) {
        if (auto covered = check_cover(environment, written); !covered) return std::unexpected(covered.error());
    }
    for (const BoundOutput& output : environment.outputs())
        application.outputs.push_back({output.requested, output.types});
    for (const Parameter& parameter : environment.metakernel().params) {
        auto value = environment.lookup(parameter.name, parameter.place);
        if (value) application.parameters.emplace(parameter.name, value->print());
    }
    // What was opened decides like a parameter.
    for (const BoundInput& input : environment.inputs()) {
        if (input.spec->variadic || !input.given || !input.tensors[0].value) continue;
        if (input.tensors[0].type.elements() <= largest_shown_value)
            application.parameters.emplace(input.spec->name, input.tensors[0].value->print());
    }
    return application;
}

}  // namespace heddle
