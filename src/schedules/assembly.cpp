#include "schedules/builder.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "schedules/packing.h"
#include "schedules/tiles.h"
#include "target/choice_numbers.h"
#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

using Role = NumberId::Role;

Size round_up(const Size& a, int64_t b) { return ceil_divide(a, b) * b; }

// Rows that lie a part of a way of L1 apart share a few of its sets: these get a cache line more.
Size padded_row(const Size& elements, int64_t element_bytes) {
    const Size padded = round_up(greater(1, elements), choice_numbers::cache_line / element_bytes);
    const bool collides = padded.number() * element_bytes % (choice_numbers::l1_way_bytes / 4) == 0;
    return padded + (collides ? choice_numbers::cache_line / element_bytes : 0);
}

// Distinct text for distinct expressions: what interning looks up.
std::string signature(const Affine& affine) {
    auto number = [](const Number& n) { return (n.launch ? "n" : "") + std::to_string(n.value); };
    std::string text = number(affine.constant);
    for (const Term& t : affine.terms) {
        text += "+" + std::to_string(t.variable) + "*" + std::to_string(t.scale) + "*" + number(t.number);
    }
    for (const auto& [value, factor] : affine.values) text += "+v" + std::to_string(value) + "*" + number(factor);
    return text;
}

std::string signature(const Expression& e) {
    std::string text = std::to_string(static_cast<int>(e.kind)) + " " + std::to_string(static_cast<int>(e.dtype)) +
                       " " + std::to_string(static_cast<int>(e.op)) + " " + std::to_string(e.integer) + " " +
                       std::to_string(std::bit_cast<uint64_t>(e.real)) + " " + (e.number.launch ? "n" : "") +
                       std::to_string(e.number.value) + " " + std::to_string(e.target) + " " +
                       std::to_string(e.address.memory) + " " + std::to_string(static_cast<int>(e.address.access));
    for (ExpressionId operand : e.operands) text += " " + std::to_string(operand);
    return text + " | " + signature(e.affine) + " | " + signature(e.address.element);
}

}  // namespace

Assembly::Assembly(const Kernel& k, const Target& t, std::vector<PhaseGroup> g, std::vector<LocalStorage> s,
                   std::optional<RoundPlan> r)
    : kernel(k),
      target(t),
      groups(std::move(g)),
      storage(std::move(s)),
      rounds(std::move(r)),
      tasks(cut_tasks(k, t, groups, storage)),
      numbers(k, result.tree, result.launch) {
    fit_rows();
    if (rounds)
        add_rounds();
    else
        add_tasks();
    add_memories();
}

// Row tiles are chosen for all rows; a task of several phases may have fewer, which leave single rows between tiles.
void Assembly::fit_rows() {
    for (PhaseGroup& group : groups) {
        if (group.rows < 0 || !group.contraction || group.transposed || !group.fused.empty()) continue;
        const TaskCut* cut = tasks.find(group.rows);
        if (!cut || kernel.axis(group.rows).named || cut->step >= cut->extent) continue;
        if (single_rows(group.row_sizes, cut->step) == 0) continue;
        group.row_sizes = row_sizes(group.maximum_rows, cut->step, false);
        group.maximum_rows = group.row_sizes.front();
    }
}

VariableId Assembly::variable(const std::string& name, Variable::Kind kind) {
    int repeat = ++variable_names_[name];
    std::string unique = repeat == 1 ? name : name + "_" + std::to_string(repeat);
    result.tree.variables.push_back({unique, kind});
    return last_id<VariableId>(result.tree.variables);
}

ExpressionId Assembly::intern(Expression expression) {
    auto [at, added] = interned_.emplace(signature(expression), next_id<ExpressionId>(result.tree.expressions));
    if (added) result.tree.expressions.push_back(std::move(expression));
    return at->second;
}

Number Assembly::extent(AxisId axis) {
    return numbers.integer(maximum(0, kernel.axis(axis).extent),
                           {Role::extent, {NumberSubject::Kind::axis, axis}});
}

Range Assembly::steps(AxisId ordered) {
    for (const StepBlocks& blocks : kernel.step_blocks) {
        if (blocks.steps != ordered) continue;
        const Term before = {block_variables.at(blocks.blocks), -kernel.axis(ordered).extent, {false, 1}};
        return {{{}}, {{{extent(ordered), {}, {}}, {false, 1}}, {{extent(blocks.all), {before}, {}}, {false, 1}}}};
    }
    return {{{}}, {{{extent(ordered), {}, {}}, {false, 1}}}};
}

Range Assembly::part(const PhaseGroup& group) {
    if (open_bands) return rows_of_band();
    const Number each = numbers.integer(group.part, {Role::step, {NumberSubject::Kind::axis, group.parted}});
    const auto bound = [&](VariableId variable) { return Bound{{{}, {{variable, 1, each}}, {}}, {false, 1}}; };
    return {{bound(part_.first)}, {bound(part_.second), {{extent(group.parted), {}, {}}, {false, 1}}}};
}

For Assembly::band_loop() {
    For loop;
    band_ = loop.variable = variable("band", Variable::Kind::loop);
    const NumberSubject rows = {NumberSubject::Kind::axis, bands->of.begin()->second.axis};
    loop.range = {{{}}, {{{numbers.integer(bands->count, {Role::count, rows}), {}, {}}, {false, 1}}}};
    return loop;
}

void Assembly::add_band(Range& range, const PhaseGroup& group) {
    const auto bound = [&](int64_t first) {
        return Bound{{{false, first}, {{band_, bands->rows, {false, 1}}}, {}}, {false, 1}};
    };
    range.lower.push_back(bound(group.first_row));
    range.upper.push_back(bound(group.first_row + bands->rows));
}

// Step s has its turn where round = first + s * turns + turn. What is not in parts is done by the first one.
Range Assembly::turn(size_t group) {
    const Turn& turn = rounds->turns[group];
    const Number before = numbers.integer(-(turn.first + turn.turn),
                                          {Role::offset, {NumberSubject::Kind::rounds, static_cast<int32_t>(group)}});
    const AxisId ordered = groups[group].ordered;
    const Number steps = ordered < 0 ? Number{false, 1} : extent(ordered);
    const auto bound = [&](VariableId round) {
        return Bound{{before, {{round, 1, {false, 1}}}, {}}, {false, turn.turns}};
    };
    Range range = {{{}, bound(round_.first)}, {{{steps, {}, {}}, {false, 1}}, bound(round_.second)}};
    if (groups[group].parted < 0) range.lower.push_back({{{}, {{part_.first, 1, steps}}, {}}, {false, 1}});
    return range;
}

void Assembly::add_rounds() {
    using Kind = NumberSubject::Kind;
    const auto add = [&](const char* name, Number count, Number divisor, bool in_order) {
        TaskAxis axis{
            .name = name, .extent = count, .step = {false, 1}, .count = count, .divisor = divisor, .rounds = in_order};
        axis.begin = variable(axis.name + "_begin", Variable::Kind::task_begin);
        axis.end = variable(axis.name + "_end", Variable::Kind::task_end);
        result.tree.tasks.push_back(axis);
        return std::pair(axis.begin, axis.end);
    };
    const Number parts = numbers.integer(rounds->parts, {Role::count, {Kind::parts}});
    round_ = add("round", numbers.integer(rounds->rounds, {Role::count, {Kind::rounds}}), parts, true);
    part_ = add("part", parts, {false, 1}, false);
    result.launch.rounds = rounds->rounds;
    result.launch.tasks = rounds->rounds * rounds->parts;
}

void Assembly::add_tasks() {
    for (const TaskCut& cut : tasks.axes) {
        std::string name = axis_name(cut.axis);
        for (size_t i = cut.fused.size(); i-- > 1;) name = axis_name(cut.fused[i - 1]) + "_" + name;
        TaskAxis axis;
        axis.name = name;
        axis.begin = variable(name + "_begin", Variable::Kind::task_begin);
        axis.end = variable(name + "_end", Variable::Kind::task_end);
        const NumberSubject subject = {cut.fused.empty() ? NumberSubject::Kind::axis : NumberSubject::Kind::fused_rows,
                                       cut.axis};
        axis.extent = cut.fused.empty() ? extent(cut.axis) : numbers.integer(cut.extent, {Role::extent, subject});
        axis.step = numbers.integer(cut.step, {Role::step, subject});
        axis.count = numbers.integer(cut.count, {Role::count, subject});
        axis.divisor = numbers.integer(cut.divisor, {Role::divisor, subject});
        task_variables[cut.axis] = {axis.begin, axis.end};
        result.tree.tasks.push_back(axis);
    }
    result.launch.tasks = tasks.tasks;
}

void Assembly::add_memories() {
    Tree& tree = result.tree;
    memories.assign(kernel.tensors.size(), no_id);
    array_strides.resize(kernel.tensors.size());
    std::vector<bool> in_place(kernel.tensors.size());
    for (const PhaseGroup& group : groups) {
        for (EquationIndex index : group.equations()) {
            const KernelEquation& e = kernel.equations[static_cast<size_t>(index)];
            in_place[static_cast<size_t>(e.tensor)] = true;
            for (const ReadAccess& read : reads_of(e.right)) {
                bool packed = std::any_of(group.packed.begin(), group.packed.end(),
                                          [&](const PackedOperand& p) { return p.read == read.value; });
                if (!packed) in_place[static_cast<size_t>(read.tensor)] = true;
            }
        }
    }
    for (size_t t = 0; t < kernel.tensors.size(); t++) {
        const KernelTensor& tensor = kernel.tensors[t];
        if (tensor.role == KernelTensor::Role::local || !in_place[t]) continue;
        auto kind = tensor.role == KernelTensor::Role::input    ? Memory::Kind::input
                    : tensor.role == KernelTensor::Role::output ? Memory::Kind::output
                                                                : Memory::Kind::in_out;
        memories[t] = next_id<MemoryId>(tree.memories);
        tree.memories.push_back(
            {tensor.name, kind, tensor.dtype, tensor.aligned, tensor.slack, tensor.may_alias(), {}, {}});
        result.buffers.push_back({TensorIndex(t), -1});
    }
    for (PhaseGroup& group : groups) {
        for (PackedOperand& operand : group.packed) {
            operand.index = static_cast<int>(result.packings.size());
            result.packings.push_back(make_packing(kernel, operand));
            const KernelTensor& tensor = kernel.tensor(operand.tensor);
            std::string name = tensor.name + "_packed" + (operand.index ? std::to_string(operand.index) : "");
            tree.memories.push_back({name, Memory::Kind::input, tensor.dtype, true, true, false, {}, {}});
            result.buffers.push_back({operand.tensor, operand.index});
        }
    }
    result.launch.scratch_bytes = 64;  // a failing check's point
    for (size_t t = 0; t < kernel.tensors.size(); t++) {
        if (storage[t].kind != LocalStorage::Kind::array) continue;
        if (rounds)
            add_shared(TensorIndex(t));
        else
            add_array(TensorIndex(t));
    }
    for (size_t t = 0; t < kernel.tensors.size(); t++) {
        if (storage[t].kind != LocalStorage::Kind::alias) continue;
        memories[t] = memories[static_cast<size_t>(storage[t].target)];
        array_strides[t] = array_strides[static_cast<size_t>(storage[t].target)];
    }
}

// Parts of a round read what other parts have made in those before.
void Assembly::add_shared(TensorIndex tensor) {
    const KernelTensor& local = kernel.tensor(tensor);
    const LocalStorage& where = storage[static_cast<size_t>(tensor)];
    const NumberSubject subject = {NumberSubject::Kind::tensor, tensor};
    auto& strides = array_strides[static_cast<size_t>(tensor)];
    strides.resize(local.dimensions.size());
    Size stride = 1;
    for (size_t i = where.order.size(); i-- > 0;) {
        const auto d = static_cast<size_t>(where.order[i]);
        const bool last = i + 1 == where.order.size();
        strides[d] = last ? Number{false, 1} : numbers.integer(stride, {Role::stride, subject.at(d)});
        const Size size = greater(1, local.dimensions[d].extent);
        stride *= last ? round_up(size, 64 / bytes(local.dtype)) : size;
    }
    memories[static_cast<size_t>(tensor)] = next_id<MemoryId>(result.tree.memories);
    result.tree.memories.push_back({local.name, Memory::Kind::output, local.dtype, true, true, false, {}, {}});
    result.buffers.push_back({.elements = stride});
}

// Dimensions in the chosen order, rows padded to cache lines.
void Assembly::add_array(TensorIndex tensor) {
    const KernelTensor& local = kernel.tensor(tensor);
    const LocalStorage& where = storage[static_cast<size_t>(tensor)];
    Memory memory{local.name, Memory::Kind::array, local.dtype, true, true, false, {}, {}};
    const NumberSubject subject = {NumberSubject::Kind::tensor, tensor};
    auto& strides = array_strides[static_cast<size_t>(tensor)];
    strides.resize(local.dimensions.size());
    Size stride = 1;
    for (size_t i = where.order.size(); i-- > 0;) {
        auto d = static_cast<size_t>(where.order[i]);
        const TaskCut* cut = where.of_task[d] < 0 ? nullptr : tasks.find(where.of_task[d]);
        bool of_task = cut && cut->fused.empty();
        Size size = of_task ? Size(cut->step) : greater(0, local.dimensions[d].extent);
        bool last = i + 1 == where.order.size();
        strides[d] = last ? Number{false, 1} : numbers.integer(stride, {Role::stride, subject.at(d)});
        if (of_task) memory.origin.push_back({task_variables[cut->axis].first, 1, strides[d]});
        stride *= last ? padded_row(size, bytes(local.dtype)) : greater(1, size);
    }
    memory.offset = numbers.integer(result.launch.scratch_bytes, {Role::place, subject});
    // Invocations share memory by words: an element has one of its own.
    const int64_t element = target.has_workgroups() ? std::max<int64_t>(4, bytes(local.dtype)) : bytes(local.dtype);
    result.launch.scratch_bytes = round_up(result.launch.scratch_bytes + stride * element + 64, 64);
    memories[static_cast<size_t>(tensor)] = next_id<MemoryId>(result.tree.memories);
    result.tree.memories.push_back(memory);
}

}  // namespace heddle::schedules
