#include "evaluate/executor.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace heddle::evaluation {

Executor::Executor(const Body& body, const Program& program, const std::vector<TensorData>& inputs,
                   std::vector<TensorData>& outputs, TensorBounds* bounded)
    : body_(body), program_(program), inputs_(inputs), outputs_(outputs), bounded_(bounded) {
    memory_ = allocate_buffer(static_cast<size_t>(program.slots) * slot_bytes);
    for (Slot slot = 0; slot < program.slots; slot++) views_.push_back(storage(slot));
    poisons_.resize(static_cast<size_t>(program.poison_slots) * lane_count);
    scalars_.resize(body.variables.size());
    for (const LaneSpace& space : program.spaces) facts_.emplace_back(space.bases.size());
    tables_.resize(program.tables.size());
    if (!bounded_) return;
    bounds_.resize(static_cast<size_t>(program.slots) * lane_count);
    reduction_bounds_.resize(program.reductions.size());
}

Result<void> Executor::run() {
    const auto& roots = program_.roots;
    for (size_t first = 0, end = 1; first < roots.size(); first = end++) {
        const VariableId step = roots[first].step;
        if (step < 0) {
            if (auto done = run_root(roots[first]); !done) return done;
            continue;
        }
        while (end < roots.size() && roots[end].step == step) end++;
        int64_t& value = scalars_[static_cast<size_t>(step)];
        for (value = 0; value < body_.variable(step).extent.value(); value++) {
            for (size_t i = first; i < end; i++) {
                if (auto done = run_root(roots[i]); !done) return done;
            }
        }
        value = 0;
    }
    return {};
}

// The lanes of one variable in a block of row-major points: runs of equal values.
static void fill_variable(int64_t* lanes, int64_t first, int64_t count, int64_t inner, int64_t extent) {
    int64_t value = first / inner % extent, left = inner - first % inner;
    for (int64_t i = 0; i < count;) {
        int64_t run = std::min(left, count - i);
        for (int64_t end = i + run; i < end; i++) lanes[i] = value;
        left = inner;
        if (++value == extent) value = 0;
    }
}

static BaseFacts facts_of(const int64_t* base, int64_t count) {
    BaseFacts facts{true, true, base[0], base[0]};
    uint64_t differs = 0, jumps = 0, start = static_cast<uint64_t>(base[0]);
    for (int64_t i = 0; i < count; i++) {
        differs |= static_cast<uint64_t>(base[i]) ^ start;
        jumps |= (static_cast<uint64_t>(base[i]) - static_cast<uint64_t>(i)) ^ start;
        facts.low = std::min(facts.low, base[i]);
        facts.high = std::max(facts.high, base[i]);
    }
    facts.uniform = differs == 0;
    facts.contiguous = jumps == 0;
    return facts;
}

void Executor::start_block(int32_t index, int64_t first, int64_t count) {
    const LaneSpace& space = program_.spaces[static_cast<size_t>(index)];
    int64_t inner = 1;
    for (size_t position = space.variables.size(); position-- > 0;) {
        auto used = space.values.find(space.variables[position]);
        if (used != space.values.end()) {
            fill_variable(static_cast<int64_t*>(storage(used->second)), first, count, inner, space.extents[position]);
        }
        inner *= space.extents[position];
    }
    for (size_t i = 0; i < space.bases.size(); i++) {
        auto* base = static_cast<uint64_t*>(storage(space.bases[i].slot));
        if (int64_t flat = space.bases[i].flat; flat != 0) {
            for (int64_t lane = 0; lane < count; lane++) base[lane] = static_cast<uint64_t>(flat * (first + lane));
            int64_t begin = flat * first, end = flat * (first + count - 1);
            facts_[static_cast<size_t>(index)][i] = {count == 1, flat == 1, std::min(begin, end), std::max(begin, end)};
            continue;
        }
        std::fill_n(base, count, 0);
        for (auto [slot, coefficient] : space.bases[i].terms) {
            auto* values = static_cast<const uint64_t*>(storage(slot));
            auto factor = static_cast<uint64_t>(coefficient);
            for (int64_t lane = 0; lane < count; lane++) base[lane] += factor * values[lane];
        }
        facts_[static_cast<size_t>(index)][i] = facts_of(reinterpret_cast<const int64_t*>(base), count);
    }
}

int64_t Executor::scalar_part(const Address& address) const {
    auto sum = static_cast<uint64_t>(address.constant);
    for (auto [variable, coefficient] : address.scalar_terms) {
        sum += static_cast<uint64_t>(coefficient) * static_cast<uint64_t>(scalars_[static_cast<size_t>(variable)]);
    }
    return static_cast<int64_t>(sum);
}

Result<void> Executor::run_root(const Root& root) {
    const Region& region = program_.regions[static_cast<size_t>(root.region)];
    const LaneSpace& space = program_.spaces[static_cast<size_t>(region.space)];
    DType lane_dtype = root.lanes == LaneType::integer  ? DType::int64
                       : root.lanes == LaneType::single ? DType::float32
                                                        : DType::float64;
    size_t lane_bytes = static_cast<size_t>(bytes(lane_dtype));
    TableData* table = root.table >= 0 ? &tables_[static_cast<size_t>(root.table)] : nullptr;
    if (root.scatter >= 0) return run_scatter(root, program_.scatters[static_cast<size_t>(root.scatter)]);
    int64_t begin = 0;  // of this step in the table
    if (table) {
        const Table& made = program_.tables[static_cast<size_t>(root.table)];
        if (!table->values) {
            table->values = allocate_buffer(static_cast<size_t>(made.points) * lane_bytes);
            if (made.poisoned) table->poison.resize(static_cast<size_t>(made.points));
            if (bounded_) table->bounds.resize(static_cast<size_t>(made.points));
        }
        begin = (root.first_step + (root.step >= 0 ? scalars_[static_cast<size_t>(root.step)] : 0)) * space.points;
    }
    for (int64_t first = 0; first < space.points; first += lane_count) {
        int64_t count = std::min(lane_count, space.points - first);
        start_block(region.space, first, count);
        run_level(region.levels[0], count);
        if (table) {
            std::memcpy(table->values.get() + static_cast<size_t>(begin + first) * lane_bytes, view(root.value),
                        static_cast<size_t>(count) * lane_bytes);
            if (root.poison >= 0) std::copy_n(poison(root.poison), count, table->poison.begin() + begin + first);
            if (bounded_) std::copy_n(bound(root.value), count, table->bounds.begin() + begin + first);
            continue;
        }
        if (root.poison >= 0) {
            auto* end = poison(root.poison) + count;
            auto* bad = std::find_if(poison(root.poison), end, [](int32_t id) { return id != 0; });
            if (bad != end) return fail(failure(root, first + (bad - poison(root.poison)), *bad));
        }
        store_output(root, count);
    }
    return {};
}

void Executor::store_output(const Root& root, int64_t count) {
    auto output = static_cast<size_t>(body_.equations[static_cast<size_t>(root.equation)].output);
    StoreKernels store = store_kernels(outputs_[output].dtype(), root.lanes);
    std::byte* data = outputs_[output].mutable_data();
    int64_t shift = scalar_part(root.address);
    const int64_t* base = nullptr;
    BaseFacts facts{false, count == 1, 0, 0};
    if (root.address.base >= 0) {
        auto space = static_cast<size_t>(root.address.space), index = static_cast<size_t>(root.address.base);
        base = static_cast<const int64_t*>(storage(program_.spaces[space].bases[index].slot));
        facts = facts_[space][index];
    }
    // Without a base there is one point: a left side uses every variable of more than one value.
    int64_t first = shift + (base ? base[0] : 0);
    if (facts.contiguous) {
        store.contiguous(data, first, view(root.value), count);
    } else {
        store.scatter(data, base, shift, view(root.value), count);
    }
    if (!bounded_) return;
    auto* bounds = bounded_->outputs[output].mutable_as<double>();
    for (int64_t i = 0; i < count; i++) bounds[(base ? base[i] : 0) + shift] = bound(root.value)[i];
}

void Executor::run_level(const std::vector<Step>& level, int64_t count) {
    for (const Step& step : level) run_step(step, count);
}

void Executor::run_step(const Step& step, int64_t count) {
    void* result = step.result >= 0 ? storage(step.result) : nullptr;
    if (bounded_ && (step.kind == Step::Kind::literal || step.kind == Step::Kind::scalar_variable))
        bound_step(step, count);
    switch (step.kind) {
    case Step::Kind::literal: return fill_lanes(result, step.lanes, &step.literal, count);
    case Step::Kind::scalar_variable:
        return fill_lanes(result, LaneType::integer, &scalars_[static_cast<size_t>(step.index)], count);
    case Step::Kind::read: return run_read(step, count);
    case Step::Kind::reduce: return run_reduce(step, count);
    case Step::Kind::kernel:
    case Step::Kind::select: break;
    }
    const void* operands[3];
    for (size_t i = 0; i < step.operands.size(); i++) operands[i] = view(step.operands[i]);
    step.kernel(result, operands, count);
    if (step.wrap) {
        const void* own = result;
        step.wrap(result, &own, count);
    }
    if (bounded_) bound_step(step, count);
    if (step.poison < 0) return;
    step.kind == Step::Kind::select ? poison_select(step, count) : poison_kernel(step, count);
}

void Executor::poison_kernel(const Step& step, int64_t count) {
    int32_t* result = poison(step.poison);
    std::fill_n(result, count, 0);
    for (Slot slot : step.operand_poisons) {
        if (slot < 0) continue;
        const int32_t* from = poison(slot);
        for (int64_t i = 0; i < count; i++) result[i] = result[i] ? result[i] : from[i];
    }
}

void Executor::poison_select(const Step& step, int64_t count) {
    int32_t* result = poison(step.poison);
    auto* condition = static_cast<const int64_t*>(view(step.operands[0]));
    auto of = [&](size_t operand, int64_t lane) {
        return step.operand_poisons[operand] >= 0 ? poison(step.operand_poisons[operand])[lane] : 0;
    };
    for (int64_t i = 0; i < count; i++) {
        int32_t bad = of(0, i);
        result[i] = bad ? bad : of(condition[i] ? 1 : 2, i);
    }
}

// Clears the mask of lanes whose coordinate lies outside; whether any does.
bool Executor::mask_coordinate(const Access::Checked& checked, int64_t count, bool masked) {
    int64_t shift = scalar_part(checked.coordinate);
    const int64_t* base = nullptr;
    if (checked.coordinate.base >= 0) {
        auto space = static_cast<size_t>(checked.coordinate.space),
             index = static_cast<size_t>(checked.coordinate.base);
        const BaseFacts& facts = facts_[space][index];
        if (facts.low + shift >= 0 && facts.high + shift < checked.extent) return masked;
        base = static_cast<const int64_t*>(storage(program_.spaces[space].bases[index].slot));
    } else if (shift >= 0 && shift < checked.extent) {
        return masked;
    }
    if (!masked) std::fill_n(mask_, count, uint8_t{1});
    auto extent = static_cast<uint64_t>(checked.extent);
    for (int64_t i = 0; i < count; i++) {
        mask_[i] &= static_cast<uint64_t>((base ? base[i] : 0) + shift) < extent;
    }
    return true;
}

Executor::Addressing Executor::locate(const Access& access, int64_t count) {
    Addressing at;
    at.shift = scalar_part(access.address);
    at.facts.uniform = true;
    if (access.address.base >= 0) {
        auto space = static_cast<size_t>(access.address.space), index = static_cast<size_t>(access.address.base);
        at.base = static_cast<const int64_t*>(storage(program_.spaces[space].bases[index].slot));
        at.facts = facts_[space][index];
    }
    for (const auto& checked : access.checked) at.masked = mask_coordinate(checked, count, at.masked);
    if (access.computed.empty()) return at;
    if (!at.masked) std::fill_n(mask_, count, uint8_t{1});
    at.masked = true;
    for (int64_t i = 0; i < count; i++) addresses_[i] = at.base ? at.base[i] : 0;
    for (const auto& computed : access.computed) {
        auto* values = static_cast<const int64_t*>(view(computed.slot));
        auto extent = static_cast<uint64_t>(computed.extent);
        for (int64_t i = 0; i < count; i++) {
            bool inside = static_cast<uint64_t>(values[i]) < extent;
            mask_[i] &= inside;
            uint64_t step = inside ? static_cast<uint64_t>(values[i] * computed.stride) : 0;
            addresses_[i] = static_cast<int64_t>(static_cast<uint64_t>(addresses_[i]) + step);
        }
    }
    at.base = addresses_;
    at.facts = {};
    return at;
}

void Executor::run_read(const Step& step, int64_t count) {
    const Access& access = program_.accesses[static_cast<size_t>(step.index)];
    Addressing at = locate(access, count);
    const std::byte* data = access.table ? tables_[static_cast<size_t>(access.source)].values.get()
                                         : inputs_[static_cast<size_t>(access.source)].data();
    void* result = storage(step.result);
    const void*& view_of = views_[static_cast<size_t>(step.result)];
    view_of = result;
    if (at.masked) {
        if (!at.base) {
            std::fill_n(addresses_, count, 0);
            at.base = addresses_;
        }
        access.kernels.masked(result, data, at.base, at.shift, mask_, access.guarded ? view(step.operands[0]) : nullptr,
                              count);
    } else if (at.facts.uniform) {
        access.kernels.uniform(result, data, at.shift + (at.base ? at.base[0] : 0), count);
    } else if (at.facts.contiguous) {
        int64_t first = at.shift + at.base[0];
        size_t element = access.lanes == LaneType::single ? 4 : 8;
        const std::byte* from = data + static_cast<size_t>(first) * element;
        if (access.kernels.direct && reinterpret_cast<uintptr_t>(from) % element == 0) {
            view_of = from;
        } else {
            access.kernels.contiguous(result, data, first, count);
        }
    } else {
        access.kernels.gather(result, data, at.base, at.shift, count);
    }
    if (step.poison >= 0) poison_read(step, access, at, count);
    if (bounded_) bound_read(step, access, at, count);
}

void Executor::poison_read(const Step& step, const Access& access, const Addressing& at, int64_t count) {
    int32_t* result = poison(step.poison);
    std::fill_n(result, count, 0);
    if (at.masked) {
        const int32_t* otherwise =
            access.guarded && step.operand_poisons[0] >= 0 ? poison(step.operand_poisons[0]) : nullptr;
        int32_t outside = access.guarded ? 0 : step.node + 1;
        for (int64_t i = 0; i < count; i++) {
            if (!mask_[i]) result[i] = otherwise ? otherwise[i] : outside;
        }
    }
    const std::vector<int32_t>* table = access.table ? &tables_[static_cast<size_t>(access.source)].poison : nullptr;
    if (table && !table->empty()) {
        for (int64_t i = 0; i < count; i++) {
            if (!at.masked || mask_[i])
                result[i] = (*table)[static_cast<size_t>((at.base ? at.base[i] : 0) + at.shift)];
        }
    }
    for (const auto& computed : access.computed) {
        if (computed.poison < 0) continue;
        const int32_t* from = poison(computed.poison);
        for (int64_t i = 0; i < count; i++) result[i] = from[i] ? from[i] : result[i];
    }
}

Diagnostics Executor::failure(const Root& root, int64_t point, int32_t poison) const {
    const LaneSpace& space =
        program_.spaces[static_cast<size_t>(program_.regions[static_cast<size_t>(root.region)].space)];
    std::string text;
    for (size_t i = space.variables.size(); i-- > 0;) {
        std::string entry = fmt::format("{} = {}", body_.variable(space.variables[i]).name, point % space.extents[i]);
        text = text.empty() ? entry : entry + ", " + text;
        point /= space.extents[i];
    }
    const NodeId id(poison - 1);
    const Node& node = body_.node(id);
    Diagnostic diagnostic;
    diagnostic.params.emplace_back("point", text);
    diagnostic.params.emplace_back("node", std::to_string(id));
    if (node.kind == Node::Kind::local || node.kind == Node::Kind::previous) {
        diagnostic.code = "evaluate.out_of_range";
        diagnostic.summary =
            fmt::format("local '{}' is read outside of its axes at [{}]", body_.local(node.local()).name, text);
    } else {
        const auto& shape = inputs_[node.tensor()].shape();
        diagnostic.code = "evaluate.out_of_range";
        diagnostic.summary = fmt::format("input {} is read outside of its shape at [{}]", node.index, text);
        diagnostic.expected = fmt::format("coordinates within [{}]", fmt::join(shape, ", "));
        diagnostic.remedy = "check the indices, or give a value for what lies outside: X[...] ?? value";
    }
    return {std::move(diagnostic)};
}

}  // namespace heddle::evaluation
