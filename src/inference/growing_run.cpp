#include "inference/growing_run.h"

#include <algorithm>
#include <new>

#include "plan/growth.h"

namespace heddle::inference {
namespace {

const Value& input_of(const plan::Growth& growth, std::span<const Value* const> inputs) {
    return *inputs[static_cast<size_t>(growth.input)];
}

int64_t length_of(const plan::Numbers& numbers, const plan::Growth& growth) {
    return numbers.output_types[static_cast<size_t>(growth.output)].shape[static_cast<size_t>(growth.dimension)].number();
}

// Takes the places behind the input, if its memory is as the plan has it and they are nobody's.
bool continues(const plan::Numbers& numbers, const plan::Growth& growth, const runtime::Growing& input) {
    const runtime::GrowingMemory& memory = *input.memory;
    return memory.dimension() == static_cast<size_t>(growth.dimension) && memory.capacity() == numbers.capacity &&
           input.memory->append(input.length, length_of(numbers, growth));
}

}  // namespace

int64_t capacity_for(int64_t longest, const plan::Plan& plan, std::span<const Value* const> inputs) {
    for (const plan::Growth& growth : plan.growths) {
        const auto& input = input_of(growth, inputs).growing;
        if (input && input->memory->capacity() > longest) return input->memory->capacity();
    }
    return plan::capacity_for(longest);
}

bool has_capacity(const plan::Plan& plan, const plan::Numbers& numbers, std::span<const Value* const> inputs) {
    int64_t longest = 0;
    for (const plan::Growth& growth : plan.growths) longest = std::max(longest, length_of(numbers, growth));
    return numbers.capacity == capacity_for(longest, plan, inputs);
}

Result<std::vector<runtime::Growing>> take_growing(const plan::Plan& plan, const plan::Numbers& numbers,
                                                   std::span<const Value* const> inputs, runtime::Arena& arena,
                                                   std::vector<TensorData>& tensors) {
    std::vector<runtime::Growing> results;
    try {
        for (const plan::Growth& growth : plan.growths) {
            const Value& input = input_of(growth, inputs);
            const int64_t length = length_of(numbers, growth);
            const auto dimension = static_cast<size_t>(growth.dimension);
            if (input.growing && continues(numbers, growth, *input.growing)) {
                results.push_back({input.growing->memory, length});
            } else {
                auto memory = runtime::GrowingMemory::make(arena.growing_result(plan, numbers, growth), dimension);
                results.push_back(input.growing ? grow_from(*input.growing, std::move(memory), length)
                                                : grow_from(*input.tensor, std::move(memory), length));
            }
            TensorData& tensor = tensors[static_cast<size_t>(growth.input)];
            tensor = runtime::Growing{results.back().memory, tensor.shape()[dimension]}.as_it_lies();
        }
    } catch (const std::bad_alloc&) {
        return runtime::out_of_memory(plan, numbers);
    }
    return results;
}

}  // namespace heddle::inference
