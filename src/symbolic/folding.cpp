// Operations on known values are computed when they are applied.
#include <fmt/format.h>

#include <algorithm>

#include "evaluate/evaluate.h"
#include "evaluate/work.h"
#include "symbolic/session_state.h"
#include "symbolic/size_evaluation.h"
#include "zspace/checked.h"
#include "zspace/size_facts.h"

namespace heddle {

std::optional<double> cheap_work(const Body& body) {
    constexpr double most_operations = 1 << 24;
    const double work = scalar_operations(body);
    return work <= most_operations ? std::optional(work) : std::nullopt;
}

bool Session::State::take_work(double work) {
    constexpr double nothing = 1024;  // arithmetic on shapes never lacks work: it is bounded by a model's nodes
    if (work <= nothing) return true;
    const bool enough = work <= work_left;
    if (enough) work_left -= work;
    work_ran_out = work_ran_out || !enough;
    return enough;
}

namespace {

TensorId tensor_of(const TensorReference& reference, const BoundArguments& arguments) {
    return arguments.tensors[static_cast<size_t>(reference.position)][static_cast<size_t>(reference.element)];
}

// Of another size another time, and sizes are not decided by here.
bool is_open(const TensorType& type) {
    return RecordingFacts::is_on() && std::ranges::any_of(type.shape, &Size::named);
}

// The work of computing an application; nothing if it is not to be computed.
std::optional<double> folding_work(const Session::State& session, const Application& application,
                                   const BoundArguments& arguments) {
    constexpr double element_work = 4;  // to keep it
    double work = 0;
    for (const AppliedOutput& output : application.outputs) {
        for (const TensorType& type : output.types) {
            if (is_open(type) || type.elements() > largest_folded) return std::nullopt;
            work += element_work * static_cast<double>(type.elements());
        }
    }
    for (const AppliedOperation& operation : application.operations) {
        if (!operation.body) return std::nullopt;
        for (const TensorReference& reference : operation.inputs) {
            const TensorData* value = session.known_value(tensor_of(reference, arguments));
            if (!value || value->size() > largest_folded) return std::nullopt;
        }
        const PausedFacts paused;
        const auto more = cheap_work(*operation.body);
        if (!more) return std::nullopt;
        work += *more;
    }
    return application.operations.empty() ? std::nullopt : std::optional(work);
}

using Outputs = std::vector<std::vector<FoldedOutput>>;

FoldedOutput& output_of(const TensorReference& reference, Outputs& outputs) {
    return outputs[static_cast<size_t>(reference.position)][static_cast<size_t>(reference.element)];
}

// The number itself, as an element; nothing where a float is no quotient of integers.
std::optional<SizeQuotient> plain_element(const TensorData& data, int64_t index) {
    if (is_float(data.dtype())) return SizeQuotient::of(data.real_at(index));
    return SizeQuotient(is_integer(data.dtype()) ? data.integer_at(index) : 0);
}

// What the elements that one operation writes are made of, where they are computed from named dimensions. False: it cannot be
// followed, and floats may be computed while running as well.
bool fold_sizes(const Session::State& session, const AppliedOperation& operation, const BoundArguments& arguments,
                const std::vector<TensorData>& inputs, Outputs& outputs) {
    SizeEvaluation evaluation;
    for (size_t i = 0; i < operation.inputs.size(); ++i) {
        evaluation.inputs.push_back({&inputs[i], session.known_sizes(tensor_of(operation.inputs[i], arguments))});
    }
    for (const TensorReference& reference : operation.outputs) {
        FoldedOutput& output = output_of(reference, outputs);
        if (output.sizes.empty()) {
            for (int64_t i = 0; i < std::min(output.data.size(), largest_sized_tensor); ++i)
                output.sizes.push_back(plain_element(output.data, i).value_or(SizeQuotient()));
        }
        evaluation.outputs.push_back({&output.data, &output.sizes});
    }
    evaluate_sizes(*operation.body, evaluation);
    if (!evaluation.lost || !RecordingFacts::is_on()) return true;
    const bool may_run = std::ranges::all_of(
        evaluation.outputs, [](const SizeEvaluation::Output& output) { return is_float(output.data->dtype()); });
    if (!may_run) tell_numbers(*operation.body, evaluation);
    return !may_run;
}

// False: it is left to be computed while running.
Result<bool> fold_operation(const Session::State& session, const AppliedOperation& operation,
                            const BoundArguments& arguments, Outputs& outputs) {
    std::vector<TensorData> inputs, results;
    for (const TensorReference& reference : operation.inputs) {
        inputs.push_back(*session.known_value(tensor_of(reference, arguments)));
    }
    for (const TensorReference& reference : operation.outputs) results.push_back(output_of(reference, outputs).data);
    {
        const PausedFacts paused;  // origins are followed below
        if (auto done = evaluate_body(*operation.body, inputs, results, Precision::body); !done)
            return fail(done.error());
    }
    for (size_t i = 0; i < results.size(); ++i) output_of(operation.outputs[i], outputs).data = results[i];
    return fold_sizes(session, operation, arguments, inputs, outputs);
}

// Elements that an operation without origins wrote are the numbers that it wrote. False where such a one among sizes is no
// quotient.
bool settle_sizes(FoldedOutput& output) {
    const DType dtype = output.data.dtype();
    for (size_t i = 0; i < output.sizes.size() && (is_integer(dtype) || is_float(dtype)); ++i) {
        const auto index = static_cast<int64_t>(i);
        const bool same = is_float(dtype) ? element_of(dtype, output.sizes[i]) == output.data.real_at(index)
                                          : output.sizes[i].above.number() == output.data.integer_at(index);
        if (same) continue;
        const auto plain = plain_element(output.data, index);
        if (!plain && std::ranges::any_of(output.sizes, &SizeQuotient::named)) return false;
        output.sizes[i] = plain.value_or(SizeQuotient());
    }
    if (std::ranges::none_of(output.sizes, &SizeQuotient::named)) output.sizes.clear();
    return true;
}

}  // namespace

Result<std::optional<Outputs>> fold_application(Session::State& session, const Application& application,
                                                const BoundArguments& arguments) {
    const auto work = folding_work(session, application, arguments);
    if (!work || !session.take_work(*work)) return std::nullopt;
    Outputs outputs(application.outputs.size());
    for (size_t output = 0; output < outputs.size(); ++output) {
        for (const TensorType& type : application.outputs[output].types) {
            outputs[output].push_back({TensorData(type.dtype, type.extents()), {}});
        }
    }
    for (const AppliedOperation& operation : application.operations) {
        auto done = fold_operation(session, operation, arguments, outputs);
        if (!done) return std::unexpected(done.error());
        if (!*done) return std::nullopt;
    }
    for (auto& list : outputs) {
        if (!std::ranges::all_of(list, settle_sizes)) return std::nullopt;
    }
    return outputs;
}

namespace {

StaticValue static_element(const TensorData& data, const std::vector<SizeQuotient>* sizes, int64_t index) {
    const SizeQuotient* made_of = sizes ? &(*sizes)[static_cast<size_t>(index)] : nullptr;
    if (is_float(data.dtype())) {
        if (!made_of || !made_of->named()) return StaticValue::of(data.real_at(index));
        // A static float is of float64: it is rounded no less than this one.
        if (made_of->is_exact() || data.dtype() == DType::float64) return StaticValue::of_real(*made_of);
        made_of->value();
        return StaticValue::of(data.real_at(index));
    }
    if (is_bool(data.dtype())) return StaticValue::of(data.integer_at(index) != 0);
    return StaticValue::of(made_of ? made_of->above : Size(data.integer_at(index)));
}

StaticValue nested(const TensorData& data, const std::vector<SizeQuotient>* sizes, size_t dimension, int64_t first,
                   int64_t elements) {
    if (dimension == data.shape().size()) return static_element(data, sizes, first);
    int64_t extent = data.shape()[dimension];
    int64_t step = extent > 0 ? elements / extent : 0;
    StaticValue::List list;
    list.reserve(static_cast<size_t>(extent));
    for (int64_t i = 0; i < extent; ++i) list.push_back(nested(data, sizes, dimension + 1, first + i * step, step));
    return StaticValue::of(std::move(list));
}

}  // namespace

StaticValue static_value_of(const TensorData& data, const std::vector<SizeQuotient>* sizes) {
    return nested(data, sizes, 0, 0, data.size());
}

}  // namespace heddle
