#include "api/executable.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/tensors.h"

namespace heddle::api {
namespace {

std::vector<PortDimension> dimensions_of(const TensorType& type) {
    std::vector<PortDimension> dimensions;
    for (int64_t extent : type.extents()) dimensions.push_back({extent, {}});
    return dimensions;
}

std::string type_text(const TensorData& data) {
    return fmt::format("{}[{}]", name(data.dtype()), fmt::join(data.shape(), ", "));
}

Result<void> check_count(const char* role, size_t expected, size_t found) {
    if (expected == found) return {};
    return fail({.code = "api.count",
                 .summary = fmt::format("the number of {}s is wrong", role),
                 .expected = std::to_string(expected),
                 .found = std::to_string(found)});
}

void append(Diagnostics& problems, Diagnostics more) {
    problems.insert(problems.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

Executable::Executable(std::shared_ptr<Runtime> runtime, std::shared_ptr<const runtime::Executable> program,
                       const std::vector<std::string>& input_names, const std::vector<std::string>& output_names,
                       const Ports& inputs)
    : runtime_(std::move(runtime)), program_(std::move(program)), sessions_(runtime_->slots().most()) {
    const plan::Plan& plan = program_->plan();
    for (size_t i = 0; i < inputs.size(); i++) {
        const auto found = std::ranges::find(input_names, inputs.name(i));
        if (found == input_names.end()) {
            inputs_.add(inputs.name(i), std::nullopt, nullptr, false);
            continue;
        }
        const TensorType& type = plan.input_types[static_cast<size_t>(found - input_names.begin())];
        const auto dimensions = dimensions_of(type);
        inputs_.add(inputs.name(i), type.dtype, &dimensions);
    }
    for (const std::string& name : input_names) {
        size_t place = 0;
        while (place + 1 < inputs.size() && inputs.name(place) != name) place++;
        places_.push_back(place);
    }
    for (size_t i = 0; i < output_names.size(); i++) {
        const auto dimensions = dimensions_of(plan.output_types[i]);
        outputs_.add(output_names[i], plan.output_types[i].dtype, &dimensions);
    }
}

int64_t Executable::workspace_bytes() const {
    const plan::Plan& plan = program_->plan();
    return plan.workspace_bytes + plan.scratch_bytes * runtime_->engine().pool->threads();
}

// The caller's tensors, checked.
struct Executable::Call {
    std::vector<TensorData> inputs, outputs;
};

Result<void> Executable::check_output(size_t index, const TensorData& output) const {
    const TensorType& type = program_->plan().output_types[index];
    if (output.dtype() == type.dtype && output.shape() == type.extents()) return {};
    return fail({.code = "api.output",
                 .summary = fmt::format("output '{}' does not fit", outputs_.name(index)),
                 .expected = outputs_.text(index),
                 .found = type_text(output),
                 .params = {{"output", outputs_.name(index)}}});
}

Result<Executable::Call> Executable::prepared(std::span<const heddle_tensor> inputs,
                                              std::span<const heddle_tensor> outputs) const {
    if (auto fine = check_count("input", inputs_.size(), inputs.size()); !fine) return fail(std::move(fine.error()));
    if (auto fine = check_count("output", outputs_.size(), outputs.size()); !fine) return fail(std::move(fine.error()));
    Call call;
    std::vector<NamedTensor> read, written;
    call.inputs.reserve(places_.size());
    call.outputs.reserve(outputs.size());
    Diagnostics problems;
    for (size_t place : places_) {
        auto tensor = borrow(inputs[place], Role::input, inputs_.name(place), true);
        if (!tensor) {
            append(problems, std::move(tensor.error()));
            continue;
        }
        call.inputs.push_back(std::move(*tensor));
        read.push_back({inputs_.name(place), call.inputs.back()});
    }
    for (size_t i = 0; i < outputs.size(); i++) {
        auto tensor = borrow(outputs[i], Role::output, outputs_.name(i), true);
        if (tensor) {
            if (auto fine = check_output(i, *tensor); !fine) append(problems, std::move(fine.error()));
            call.outputs.push_back(std::move(*tensor));
            written.push_back({outputs_.name(i), call.outputs.back()});
        } else {
            append(problems, std::move(tensor.error()));
        }
    }
    if (!problems.empty()) return fail(std::move(problems));
    if (auto apart = check_apart(read, written); !apart) return fail(std::move(apart.error()));
    return call;
}

Result<void> Executable::run(std::span<const heddle_tensor> inputs, std::span<const heddle_tensor> outputs) {
    auto call = prepared(inputs, outputs);
    if (!call) return fail(std::move(call.error()));
    const Slots::Lease slot = runtime_->slots().take();
    auto& session = sessions_[slot->index];
    if (!session) session = std::make_unique<runtime::Session>(program_, slot->pool, slot->arena);
    return session->run(call->inputs, call->outputs);
}

Result<heddle_managed_tensor*> Executable::make_output(size_t index) const {
    if (index >= outputs_.size()) {
        return fail({.code = "api.argument",
                     .summary = fmt::format("there is no output {}", index),
                     .expected = fmt::format("an index below {}", outputs_.size())});
    }
    const TensorType& type = program_->plan().output_types[index];
    return lend(TensorData(type.dtype, type.extents()));
}

}  // namespace heddle::api
