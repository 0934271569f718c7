// Steps of one region, users before operands.
#include <algorithm>

#include "evaluate/body_compiler.h"
#include "zspace/checked.h"

namespace heddle::evaluation {
namespace {

constexpr int64_t few_points = 64;  // fewer than these, and reductions take the lanes

bool contains(std::span<const VariableId> list, VariableId id) { return std::ranges::find(list, id) != list.end(); }

// The factor f if the terms are f times the number of the space's point in row-major order; else zero.
int64_t flat_factor(const LaneSpace& space, const std::vector<std::pair<VariableId, int64_t>>& terms) {
    if (terms.size() != space.variables.size()) return 0;
    int64_t inner = 1, factor = 0;
    for (size_t position = space.variables.size(); position-- > 0;) {
        auto term = std::ranges::find(terms, space.variables[position], &std::pair<VariableId, int64_t>::first);
        if (term == terms.end()) return 0;
        if (inner == 1) factor = term->second;
        if (checked_multiply(factor, inner) != term->second) return 0;
        inner *= space.extents[position];
    }
    return checked_multiply(factor, space.points) ? factor : 0;
}

}  // namespace

std::vector<int64_t> strides_of(const std::vector<int64_t>& extents) {
    std::vector<int64_t> strides(extents.size(), 1);
    for (size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(extents[i], 1);
    return strides;
}

// Sums of coordinates that lie outside of a tensor are never used, so they may wrap.
void add_term(AffineForm& sum, VariableId variable, int64_t coefficient) {
    auto same = std::ranges::find(sum.terms, variable, &std::pair<VariableId, Size>::first);
    if (same == sum.terms.end()) {
        sum.terms.emplace_back(variable, coefficient);
        return;
    }
    same->second = static_cast<int64_t>(static_cast<uint64_t>(same->second) + static_cast<uint64_t>(coefficient));
}

bool RegionCompiler::is_lane(VariableId id) const {
    for (const RegionCompiler* region = this;; region = region->outer_) {
        if (contains(region->loops_, id)) return false;
        if (region->own_space_)
            return contains(region->compiler_.program.spaces[static_cast<size_t>(region->space_)].variables, id);
    }
}

bool RegionCompiler::belongs_here(NodeId id) const {
    if (!outer_) return true;
    Node::Kind kind = body_.node(id).kind;
    bool literal = kind == Node::Kind::integer || kind == Node::Kind::real;
    return (literal && own_space_) || compiler_.facts.free.meets(id, bound_);
}

size_t RegionCompiler::level_of(NodeId id) const {
    for (size_t level = loops_.size(); level > 0; level--) {
        if (compiler_.facts.free.contains(id, loops_[level - 1])) return level;
    }
    return 0;
}

Slot RegionCompiler::lane_values(VariableId id) {
    auto& values = program().spaces[static_cast<size_t>(space_)].values;
    auto found = values.find(id);
    if (found != values.end()) return found->second;
    Slot slot = new_slot();
    values.emplace(id, slot);
    return slot;
}

Value RegionCompiler::request(NodeId id) {
    auto found = values_.find(id);
    if (found != values_.end()) return found->second;
    if (!belongs_here(id)) {
        Value outside = outer_->request(id);
        if (!own_space_) return outside;
        Value inside{new_slot(), new_poison(id)};
        imports.push_back({outside.slot, inside.slot, outside.poison, inside.poison, compiler_.lanes_of(id)});
        values_.emplace(id, inside);
        return inside;
    }
    const Node& node = body_.node(id);
    Value value;
    if (node.kind == Node::Kind::variable && is_lane(node.variable())) {
        value.slot = lane_values(node.variable());
    } else {
        value = {new_slot(), new_poison(id)};
        pending_.insert(id);
    }
    values_.emplace(id, value);
    return value;
}

int32_t RegionCompiler::finish() {
    while (!pending_.empty()) {
        NodeId id = *pending_.rbegin();
        pending_.erase(id);
        emit(id, values_.at(id));
    }
    for (auto& level : levels_) std::ranges::reverse(level);
    program().regions.push_back({space_, std::move(levels_)});
    return static_cast<int32_t>(program().regions.size() - 1);
}

Address RegionCompiler::address(const AffineForm& form) {
    Address result;
    result.constant = form.constant;
    std::vector<std::pair<VariableId, int64_t>> terms;
    for (auto term : form.terms) (is_lane(term.first) ? terms : result.scalar_terms).push_back(term);
    if (terms.empty()) return result;
    result.space = space_;
    auto index = static_cast<size_t>(space_);
    auto [known, fresh] =
        program().spaces[index].known_bases.emplace(terms, static_cast<int32_t>(program().spaces[index].bases.size()));
    result.base = known->second;
    if (!fresh) return result;
    LaneSpace::Base base;
    base.flat = flat_factor(program().spaces[index], terms);
    for (auto [variable, coefficient] : terms) {
        if (base.flat == 0) base.terms.emplace_back(lane_values(variable), coefficient);
    }
    base.slot = new_slot();
    program().spaces[index].bases.push_back(std::move(base));
    return result;
}

Step RegionCompiler::step_of(NodeId id, Value value, Step::Kind kind) {
    Step step;
    step.kind = kind;
    step.node = id;
    step.lanes = compiler_.lanes_of(id);
    step.result = value.slot;
    step.poison = value.poison;
    step.taken_into = compiler_.facts.taken_into[static_cast<size_t>(id)];
    return step;
}

void RegionCompiler::take_operands(Step& step, size_t count) {
    const Node& node = body_.node(step.node);
    for (size_t i = 0; i < count; i++) {
        Value operand = request(node.operands[i]);
        step.operands.push_back(operand.slot);
        step.operand_poisons.push_back(operand.poison);
    }
}

void RegionCompiler::emit(NodeId id, Value value) {
    const Node& node = body_.node(id);
    Step step = step_of(id, value, Step::Kind::kernel);
    switch (node.kind) {
    case Node::Kind::integer:
    case Node::Kind::real:
        step.kind = Step::Kind::literal;
        literal_value(node.dtype, step.lanes, node.integer.value(), node.real, &step.literal);
        break;
    case Node::Kind::variable:
        step.kind = Step::Kind::scalar_variable;
        step.index = node.index;
        break;
    case Node::Kind::scalar:
        take_operands(step, node.operands.size());
        step.kernel = scalar_kernel(node.op, body_.node(node.operands[0]).dtype, compiler_.lanes_of(node.operands[0]));
        if (!is_bool(node.dtype) || node.op == ScalarOp::bit_not) step.wrap = wrap_kernel(node.dtype);
        break;
    case Node::Kind::cast:
        take_operands(step, 1);
        step.kernel = cast_kernel(body_.node(node.operands[0]).dtype, compiler_.lanes_of(node.operands[0]), node.dtype,
                                  step.lanes);
        break;
    case Node::Kind::select:
        step.kind = Step::Kind::select;
        take_operands(step, 3);
        step.kernel = select_kernel(step.lanes);
        break;
    case Node::Kind::read:
    case Node::Kind::guarded_read: return emit_read(id, value);
    case Node::Kind::local: return emit_table_read(id, value, compiler_.local_table(node.index), node.operands);
    case Node::Kind::previous: return emit_table_read(id, value, compiler_.local_table(node.index), node.operands, 1);
    case Node::Kind::reduce: return emit_reduce(id, value);
    default: break;  // in arenas only
    }
    levels_[level_of(id)].push_back(std::move(step));
}

void RegionCompiler::add_coordinate(Access& access, AffineForm& sum, NodeId coordinate, int64_t extent,
                                    int64_t stride) {
    const auto& form = compiler_.facts.forms[static_cast<size_t>(coordinate)];
    if (!form) {
        Value value = request(coordinate);
        access.computed.push_back({value.slot, value.poison, extent, stride});
        return;
    }
    if (!compiler_.facts.proven(coordinate, extent)) access.checked.push_back({address(*form), extent});
    // Inside the tensor the address is small; outside it is never used, so it may wrap.
    auto scaled = [&](int64_t value) {
        return static_cast<int64_t>(static_cast<uint64_t>(value) * static_cast<uint64_t>(stride));
    };
    sum.constant =
        static_cast<int64_t>(static_cast<uint64_t>(sum.constant) + static_cast<uint64_t>(scaled(form->constant)));
    for (auto [variable, coefficient] : form->terms) add_term(sum, variable, scaled(coefficient));
}

void RegionCompiler::emit_read(NodeId id, Value value) {
    const Node& node = body_.node(id);
    Step step = step_of(id, value, Step::Kind::read);
    const TensorData& tensor = compiler_.facts.inputs[node.tensor()];
    Access access;
    access.source = node.index;
    access.guarded = node.kind == Node::Kind::guarded_read;
    access.lanes = step.lanes;
    access.kernels = load_kernels(tensor.dtype(), step.lanes);
    auto strides = strides_of(tensor.shape());
    AffineForm sum;
    for (size_t d = 0; d < strides.size(); d++)
        add_coordinate(access, sum, node.operands[d], tensor.shape()[d], strides[d]);
    access.address = address(sum);
    if (access.guarded) {
        Value otherwise = request(node.operands.back());
        step.operands.push_back(otherwise.slot);
        step.operand_poisons.push_back(otherwise.poison);
    }
    step.index = static_cast<int32_t>(program().accesses.size());
    program().accesses.push_back(std::move(access));
    levels_[level_of(id)].push_back(std::move(step));
}

void RegionCompiler::emit_table_read(NodeId id, Value value, int32_t table_index, NodeList coordinates, size_t before) {
    Step step = step_of(id, value, Step::Kind::read);
    if (table_index < 0) return;  // compilation has failed
    Table table = program().tables[static_cast<size_t>(table_index)];
    Access access;
    access.table = true;
    access.source = table_index;
    access.lanes = step.lanes;
    DType stored = step.lanes == LaneType::integer  ? DType::int64
                   : step.lanes == LaneType::single ? DType::float32
                                                    : DType::float64;
    access.kernels = load_kernels(stored, step.lanes);
    AffineForm sum;
    for (size_t d = 0; d < table.variables.size(); d++) {
        VariableId variable = table.variables[d];
        if (d >= before && d < before + coordinates.size()) {
            add_coordinate(access, sum, coordinates[d - before], table.extents[d], table.strides[d]);
            continue;
        }
        add_term(sum, variable, table.strides[d]);
    }
    access.address = address(sum);
    step.index = static_cast<int32_t>(program().accesses.size());
    program().accesses.push_back(std::move(access));
    levels_[level_of(id)].push_back(std::move(step));
}

// How many points of the variables in scope there are for each point of those that `id` depends on.
int64_t RegionCompiler::scope_beyond(NodeId id) const {
    int64_t points = 1;
    auto beyond = [&](std::span<const VariableId> variables) {
        for (VariableId variable : variables) {
            if (compiler_.facts.extent(variable) > 1 && !compiler_.facts.free.contains(id, variable)) {
                points = checked_multiply(points, compiler_.facts.extent(variable)).value_or(maximum_extent);
            }
        }
    };
    for (const RegionCompiler* region = this; region; region = region->outer_) {
        beyond(region->loops_);
        if (region->own_space_) beyond(compiler_.program.spaces[static_cast<size_t>(region->space_)].variables);
    }
    return points;
}

void RegionCompiler::request_factors(NodeId id, std::vector<Slot>& factors) {
    const Node& node = body_.node(id);
    if (node.kind != Node::Kind::scalar || node.op != ScalarOp::multiply) return;
    for (NodeId operand : node.operands) {
        factors.push_back(request(operand).slot);
        request_factors(operand, factors);
    }
}

void RegionCompiler::emit_reduce(NodeId id, Value value) {
    if (int32_t table = compiler_.scatter_table(id); table >= 0) return emit_table_read(id, value, table, {});
    if (id != root_ && scope_beyond(id) > 1) {
        int32_t table = compiler_.reduction_table(id);
        if (table >= 0) return emit_table_read(id, value, table, {});
    }
    const Node& node = body_.node(id);
    Step step = step_of(id, value, Step::Kind::reduce);
    Reduction reduction;
    reduction.node = id;
    reduction.reducer = node.reducer;
    reduction.term_type = body_.node(node.operands[0]).dtype;
    reduction.term_lanes = compiler_.lanes_of(node.operands[0]);
    for (VariableId variable : node.variables) reduction.extents.push_back(compiler_.facts.extent(variable));
    int64_t terms = 1;
    for (int64_t extent : reduction.extents) terms *= extent;
    int64_t points = program().spaces[static_cast<size_t>(space_)].points;
    reduction.over_lanes = !compiler_.options.loops_only && points < few_points && terms > points;

    int32_t space = reduction.over_lanes ? compiler_.add_space(node.variables) : space_;
    VariableList loops = reduction.over_lanes ? VariableList() : node.variables;
    RegionCompiler inner(compiler_, this, space, reduction.over_lanes, node.variables, loops, no_id);
    Value term = inner.request(node.operands[0]), filter;
    if (node.operands.size() > 1) filter = inner.request(node.operands[1]);
    reduction.term = term.slot;
    reduction.term_poison = term.poison;
    if (reduction.reducer == Reducer::sum && reduction.term_lanes == LaneType::real)
        inner.request_factors(node.operands[0], reduction.factors);
    reduction.filter = filter.slot;
    reduction.filter_poison = filter.poison;
    reduction.region = inner.finish();
    reduction.loops = std::move(loops);
    reduction.imports = std::move(inner.imports);
    reduction.accumulator = new_slot();
    reduction.partial = new_slot();
    reduction.kernel = accumulate_kernel(reduction.reducer, reduction.term_type, reduction.term_lanes);
    if (value.poison >= 0) reduction.accumulator_poison = program().poison_slots++;
    if (node.reducer == Reducer::sum || node.reducer == Reducer::product) step.wrap = wrap_kernel(node.dtype);
    if (reduction.over_lanes) {
        for (VariableId variable : std::vector(program().spaces[static_cast<size_t>(space_)].variables)) {
            if (is_lane(variable)) reduction.outer.emplace_back(variable, lane_values(variable));
        }
    }
    step.index = static_cast<int32_t>(program().reductions.size());
    program().reductions.push_back(std::move(reduction));
    levels_[level_of(id)].push_back(std::move(step));
}

}  // namespace heddle::evaluation
