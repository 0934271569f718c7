#include "plan/numbers.h"

#include <algorithm>

#include "plan/stack.h"

namespace heddle::plan {
LaunchNumbers::LaunchNumbers(std::span<const Batch> batches) {
    for (const Batch& batch : batches) {
        for (const Launch& launch : batch) {
            begin_.push_back(all_.size());
            for (const Size* size : {&launch.tasks, &launch.rounds, &launch.scratch_bytes}) all_.push_back(size->number());
            for (const Size& size : launch.numbers) all_.push_back(size.number());
        }
    }
    begin_.push_back(all_.size());
}

Numbers::Numbers(const Plan& plan)
    : names(plan.names),
      input_types(plan.input_types),
      output_types(plan.output_types),
      workspace_bytes(plan.workspace_bytes),
      scratch_bytes(plan.scratch_bytes),
      capacity(plan.growths.empty() ? 0 : plan.capacity_of(plan.growths.front()).number()),
      run(plan.run) {
    for (const Buffer& buffer : plan.buffers) {
        bytes.push_back(buffer.bytes.number());
        base.push_back(buffer.base.number());
        offset.push_back(buffer.offset);
    }
}

bool Numbers::operator==(const Numbers& other) const {
    const auto same_types = [](const std::vector<TensorType>& a, const std::vector<TensorType>& b) {
        return std::ranges::equal(a, b, {}, &TensorType::extents, &TensorType::extents);
    };
    return names == other.names && same_types(input_types, other.input_types) && same_types(output_types, other.output_types) &&
           bytes == other.bytes && base == other.base && offset == other.offset && workspace_bytes == other.workspace_bytes &&
           scratch_bytes == other.scratch_bytes && run == other.run;
}

SizedPlan::SizedPlan(const Plan& plan) : plan_(plan) {
    for (const auto& [name, number] : plan.names) program_.place_of_name(name);
    inputs_ = extents_of(plan.input_types);
    for (const Growth& growth : plan.growths) {
        const auto& shape = plan.output_types[static_cast<size_t>(growth.output)].shape;
        lengths_.push_back(program_.place_of(shape[static_cast<size_t>(growth.dimension)]));
    }
    if (!plan.growths.empty()) capacity_ = program_.place_of_name(plan.capacity);
    length_steps_ = program_.steps().size();
    if (plan.facts) {
        for (const SizeFact& fact : plan.facts->list()) facts_.push_back({program_.place_of(fact.size), fact.relation});
    }
    fact_steps_ = program_.steps().size();
    outputs_ = extents_of(plan.output_types);
    for (size_t b = 0; b < plan.buffers.size(); b++) {
        note(bytes_, b, plan.buffers[b].bytes);
        note(base_, b, plan.buffers[b].base);
    }
    note_launches();
    for (const Batch& batch : plan.prepare) {
        for (const Launch& launch : batch) least_scratch_ = std::max(least_scratch_, launch.scratch_bytes.number());
    }
    values_ = program_.begin();
    rooms_.resize(plan.buffers.size());
}

void SizedPlan::note(Entries& entries, size_t at, const Size& size) {
    if (size.named()) entries.push_back({at, program_.place_of(size.origin())});
}

std::vector<SizedPlan::Extent> SizedPlan::extents_of(const std::vector<TensorType>& types) {
    std::vector<Extent> extents;
    for (size_t t = 0; t < types.size(); t++) {
        for (size_t d = 0; d < types[t].shape.size(); d++) {
            const Size& size = types[t].shape[d];
            extents.push_back({t, d, size.named() ? program_.place_of(size.origin()) : -1, size.number(),
                               size.named() && size.origin()->kind() == Origin::Kind::name});
        }
    }
    return extents;
}

void SizedPlan::note_launches() {
    size_t at = 0;
    for (const Batch& batch : plan_.run) {
        for (const Launch& launch : batch) {
            note(launches_, at++, launch.tasks);
            note(launches_, at++, launch.rounds);
            note(launches_, at, launch.scratch_bytes);
            note(scratch_, at++, launch.scratch_bytes);
            if (!launch.scratch_bytes.named()) least_scratch_ = std::max(least_scratch_, launch.scratch_bytes.number());
            for (const Size& size : launch.numbers) note(launches_, at++, size);
        }
    }
}

bool SizedPlan::take_names(std::span<const TensorData> inputs, const std::map<std::string, int64_t>& given) {
    if (!plan_.facts || inputs.size() != plan_.input_types.size()) return false;
    for (size_t i = 0; i < inputs.size(); i++) {
        if (inputs[i].shape().size() != plan_.input_types[i].shape.size()) return false;
    }
    for (const auto& [name, place] : program_.names()) {
        const auto known = plan_.names.find(name);
        const auto other = given.find(name);
        if (known == plan_.names.end() && other == given.end()) return false;
        values_[static_cast<size_t>(place)] = other == given.end() ? known->second : other->second;
    }
    for (const Extent& extent : inputs_) {
        if (extent.is_name) values_[static_cast<size_t>(extent.place)] = inputs[extent.tensor].shape()[extent.dimension];
    }
    return true;
}

// False where it is not enough.
bool SizedPlan::take_capacity(const ChooseCapacity& capacity) {
    int64_t longest = 0;
    for (int32_t place : lengths_) longest = std::max(longest, values_[static_cast<size_t>(place)]);
    if (capacity_ < 0) return true;
    int64_t& places = values_[static_cast<size_t>(capacity_)];
    if (capacity) places = capacity(longest);
    return places >= longest;
}

bool SizedPlan::holds(std::span<const TensorData> inputs) {
    if (!program_.run(values_, length_steps_, fact_steps_)) return false;
    const bool fits = std::ranges::all_of(inputs_, [&](const Extent& extent) {
        const int64_t value = extent.place < 0 ? extent.number : values_[static_cast<size_t>(extent.place)];
        return value == inputs[extent.tensor].shape()[extent.dimension];
    });
    return fits && std::ranges::all_of(facts_, [&](const Fact& fact) {
        return SizeFact::holds(fact.relation, values_[static_cast<size_t>(fact.place)]);
    });
}

bool SizedPlan::is_sensible() const {
    return std::ranges::all_of(bytes_, [&](const Entry& entry) {
        const int64_t bytes = values_[static_cast<size_t>(entry.place)];
        return bytes >= 0 && bytes <= most_buffer_bytes;
    });
}

void SizedPlan::set(std::vector<int64_t>& table, const Entries& entries) const {
    for (const Entry& entry : entries) table[entry.at] = values_[static_cast<size_t>(entry.place)];
}

void SizedPlan::place(Numbers& numbers) {
    for (const Stacked& stacked : plan_.stack) {
        const auto b = static_cast<size_t>(stacked.buffer);
        rooms_[b] = room(numbers.bytes[b]);
    }
    const Places found = places(plan_.stack, rooms_);
    for (size_t i = 0; i < plan_.stack.size(); i++) numbers.offset[static_cast<size_t>(plan_.stack[i].buffer)] = found.begin[i];
    numbers.workspace_bytes = found.height;
    numbers.scratch_bytes = least_scratch_;
    for (const Entry& entry : scratch_)
        numbers.scratch_bytes = std::max(numbers.scratch_bytes, values_[static_cast<size_t>(entry.place)]);
}

bool SizedPlan::resize(Numbers& numbers, std::span<const TensorData> inputs, const std::map<std::string, int64_t>& given,
                       const ChooseCapacity& capacity) {
    if (!take_names(inputs, given) || !program_.run(values_, 0, length_steps_)) return false;
    if (!take_capacity(capacity) || !holds(inputs)) return false;
    if (!program_.run(values_, fact_steps_, program_.steps().size()) || !is_sensible()) return false;
    for (const auto& [name, number] : given) numbers.names[name] = number;
    for (const auto& [name, place] : program_.names()) numbers.names[name] = values_[static_cast<size_t>(place)];
    if (capacity_ >= 0) numbers.capacity = values_[static_cast<size_t>(capacity_)];
    const auto set_types = [&](std::vector<TensorType>& types, const std::vector<Extent>& extents) {
        for (const Extent& extent : extents) {
            Size& size = types[extent.tensor].shape[extent.dimension];
            if (extent.place >= 0) size = Size(values_[static_cast<size_t>(extent.place)], size.origin());
        }
    };
    set_types(numbers.input_types, inputs_);
    set_types(numbers.output_types, outputs_);
    set(numbers.bytes, bytes_);
    set(numbers.base, base_);
    set(numbers.run.all_, launches_);
    place(numbers);
    return true;
}

}  // namespace heddle::plan
