// Bodies to programs.
#include <algorithm>
#include <cassert>
#include <cstring>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "evaluate/inversion.h"
#include "evaluate/program.h"
#include "zspace/checked.h"

namespace heddle::evaluation {
namespace {

constexpr int64_t maximum_table_points = int64_t{1} << 28;    // of a local
constexpr int64_t maximum_hoisted_points = int64_t{1} << 26;  // of a reduction that could also be computed again
constexpr int64_t few_points = 64;                            // fewer than these, and reductions take the lanes

struct Value {
    Slot slot = -1;
    Slot poison = -1;
};

class RegionCompiler;

class BodyCompiler {
public:
    BodyCompiler(const Body& body, const std::vector<TensorData>& inputs, const std::vector<TensorData>& outputs,
                 CompileOptions options)
        : body(body),
          inputs(inputs),
          outputs(outputs),
          exact(options.exact),
          loops_only(options.loops_only),
          inverted(options.inverted),
          free(body),
          forms(affine_forms(body)) {
        find_poison();
        find_steps();
    }

    Result<Program> run();

    // The table of a local, or of a reduction that does not depend on all variables around it.
    int32_t local_table(int32_t local);
    int32_t reduction_table(NodeId node);
    // The table of a reduction that is turned round; -1: it is none.
    int32_t scatter_table(NodeId node);
    LaneType lanes_of(NodeId node) const { return lane_type(body.node(node).dtype, exact); }
    int64_t extent(VariableId id) const { return body.variable(id).extent.value; }
    std::vector<int64_t> source_extents(const Node& node) const;
    bool proven(NodeId coordinate, int64_t extent) const;

    const Body& body;
    const std::vector<TensorData>& inputs;
    const std::vector<TensorData>& outputs;
    const bool exact;
    const bool loops_only;
    const bool inverted;
    FreeVariables free;
    std::vector<std::optional<AffineForm>> forms;
    std::vector<bool> poisoned;  // by node: may a lane of it come from a read outside?
    Program program;

private:
    void find_poison();
    bool spread_poison();
    void find_steps();
    // `state` is null for what is no state.
    int32_t add_table(NodeId root, std::vector<VariableId> variables, DType dtype, const Local* state = nullptr);
    int32_t add_space(const std::vector<VariableId>& variables);
    void compile_table(int32_t table);
    void compile_scatter(int32_t table, const Inversion& inversion);
    void choose_elements(RegionCompiler& region, const Inversion& inversion, Scatter& scatter);
    void add_root(int32_t table, NodeId node, const std::vector<VariableId>& variables, VariableId step,
                  int64_t first_step);
    std::tuple<NodeId, int, NodeId, bool> place_of(const Root& root) const;
    void compile_equation(int32_t equation);

    std::vector<bool> stepped_;  // by node: a scan's states need it, and it depends on what they were the step before
    std::vector<NodeId> after_;  // by node: the last value of the scans whose states it reads, -1: none
    std::map<NodeId, int32_t> reduction_tables_;
    std::map<NodeId, int32_t> scatter_tables_;
    std::map<int32_t, Inversion> inversions_;  // by table
    std::map<int32_t, int32_t> local_tables_;
    std::optional<Diagnostics> failure_;
    friend class RegionCompiler;
};

// Compiles the steps of one region, users before operands: a node is popped when all its users are done.
class RegionCompiler {
public:
    RegionCompiler(BodyCompiler& compiler, RegionCompiler* outer, int32_t space, bool own_space,
                   std::vector<VariableId> bound, std::vector<VariableId> loops, NodeId root)
        : compiler_(compiler),
          body_(compiler.body),
          outer_(outer),
          space_(space),
          own_space_(own_space),
          bound_(std::move(bound)),
          loops_(std::move(loops)),
          root_(root) {
        levels_.resize(loops_.size() + 1);
    }

    Value request(NodeId id);
    Address address(const AffineForm& form);
    int32_t finish();  // emits all that was asked for; the region's index

    std::vector<Reduction::Import> imports;
    Slot lane_values(VariableId id);

private:
    Program& program() { return compiler_.program; }
    Slot new_slot() { return program().slots++; }
    Slot new_poison(NodeId id) { return compiler_.poisoned[static_cast<size_t>(id)] ? program().poison_slots++ : -1; }
    bool belongs_here(NodeId id) const;
    bool is_lane(VariableId id) const;
    size_t level_of(NodeId id) const;
    int64_t scope_beyond(NodeId id) const;
    void emit(NodeId id, Value value);
    Step step_of(NodeId id, Value value, Step::Kind kind);
    void take_operands(Step& step, size_t count);
    void emit_read(NodeId id, Value value);
    // The first `before` dimensions are read at the reader's own variables.
    void emit_table_read(NodeId id, Value value, int32_t table, std::vector<NodeId> coordinates, size_t before = 0);
    void emit_reduce(NodeId id, Value value);
    void add_coordinate(Access& access, AffineForm& sum, NodeId coordinate, int64_t extent, int64_t stride);

    BodyCompiler& compiler_;
    const Body& body_;
    RegionCompiler* outer_;
    int32_t space_;
    bool own_space_;
    std::vector<VariableId> bound_;  // the reduction's variables; a node without them belongs outside
    std::vector<VariableId> loops_;
    NodeId root_;
    std::map<NodeId, Value> values_;
    std::set<NodeId> pending_;
    std::vector<std::vector<Step>> levels_;
};

bool contains(const std::vector<VariableId>& list, VariableId id) { return std::ranges::find(list, id) != list.end(); }

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
    return (literal && own_space_) || compiler_.free.meets(id, bound_);
}

size_t RegionCompiler::level_of(NodeId id) const {
    for (size_t level = loops_.size(); level > 0; level--) {
        if (compiler_.free.contains(id, loops_[level - 1])) return level;
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
    if (node.kind == Node::Kind::variable && is_lane(node.index)) {
        value.slot = lane_values(node.index);
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
        literal_value(node.dtype, step.lanes, node.integer, node.real, &step.literal);
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
    case Node::Kind::previous:
        return emit_table_read(id, value, compiler_.local_table(node.index), node.operands, 1);
    case Node::Kind::reduce: return emit_reduce(id, value);
    }
    levels_[level_of(id)].push_back(std::move(step));
}

void RegionCompiler::add_coordinate(Access& access, AffineForm& sum, NodeId coordinate, int64_t extent,
                                    int64_t stride) {
    const auto& form = compiler_.forms[static_cast<size_t>(coordinate)];
    if (!form) {
        Value value = request(coordinate);
        access.computed.push_back({value.slot, value.poison, extent, stride});
        return;
    }
    if (!compiler_.proven(coordinate, extent)) access.checked.push_back({address(*form), extent});
    // Inside the tensor the address is small; outside it is never used, so it may wrap.
    auto scaled = [&](int64_t value) {
        return static_cast<int64_t>(static_cast<uint64_t>(value) * static_cast<uint64_t>(stride));
    };
    sum.constant =
        static_cast<int64_t>(static_cast<uint64_t>(sum.constant) + static_cast<uint64_t>(scaled(form->constant)));
    for (auto [variable, coefficient] : form->terms) {
        auto same = std::ranges::find(sum.terms, variable, &std::pair<VariableId, int64_t>::first);
        if (same == sum.terms.end()) same = sum.terms.insert(same, {variable, 0});
        same->second =
            static_cast<int64_t>(static_cast<uint64_t>(same->second) + static_cast<uint64_t>(scaled(coefficient)));
    }
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& extents) {
    std::vector<int64_t> strides(extents.size(), 1);
    for (size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(extents[i], 1);
    return strides;
}

// Row-major, but a step's points lie side by side.
std::vector<int64_t> strides_of(const Table& table) {
    std::vector<int64_t> strides(table.extents.size());
    int64_t stride = 1;
    size_t step = strides.size();
    for (size_t d = strides.size(); d-- > 0;) {
        if (table.variables[d] == table.step) {
            step = d;
            continue;
        }
        strides[d] = stride;
        stride *= std::max<int64_t>(table.extents[d], 1);
    }
    if (step < strides.size()) strides[step] = stride;
    return strides;
}

void RegionCompiler::emit_read(NodeId id, Value value) {
    const Node& node = body_.node(id);
    Step step = step_of(id, value, Step::Kind::read);
    const TensorData& tensor = compiler_.inputs[static_cast<size_t>(node.index)];
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

void RegionCompiler::emit_table_read(NodeId id, Value value, int32_t table_index, std::vector<NodeId> coordinates,
                                     size_t before) {
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
        auto same = std::ranges::find(sum.terms, variable, &std::pair<VariableId, int64_t>::first);
        if (same == sum.terms.end()) same = sum.terms.insert(same, {variable, 0});
        same->second += table.strides[d];
    }
    access.address = address(sum);
    step.index = static_cast<int32_t>(program().accesses.size());
    program().accesses.push_back(std::move(access));
    levels_[level_of(id)].push_back(std::move(step));
}

// How many points of the variables in scope there are for each point of those that `id` depends on.
int64_t RegionCompiler::scope_beyond(NodeId id) const {
    int64_t points = 1;
    auto beyond = [&](const std::vector<VariableId>& variables) {
        for (VariableId variable : variables) {
            if (compiler_.extent(variable) > 1 && !compiler_.free.contains(id, variable)) {
                points = checked_multiply(points, compiler_.extent(variable)).value_or(maximum_extent);
            }
        }
    };
    for (const RegionCompiler* region = this; region; region = region->outer_) {
        beyond(region->loops_);
        if (region->own_space_) beyond(compiler_.program.spaces[static_cast<size_t>(region->space_)].variables);
    }
    return points;
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
    for (VariableId variable : node.variables) reduction.extents.push_back(compiler_.extent(variable));
    int64_t terms = 1;
    for (int64_t extent : reduction.extents) terms *= extent;
    int64_t points = program().spaces[static_cast<size_t>(space_)].points;
    reduction.over_lanes = !compiler_.loops_only && points < few_points && terms > points;

    int32_t space = reduction.over_lanes ? compiler_.add_space(node.variables) : space_;
    std::vector<VariableId> loops = reduction.over_lanes ? std::vector<VariableId>{} : node.variables;
    RegionCompiler inner(compiler_, this, space, reduction.over_lanes, node.variables, loops, -1);
    Value term = inner.request(node.operands[0]), filter;
    if (node.operands.size() > 1) filter = inner.request(node.operands[1]);
    reduction.term = term.slot;
    reduction.term_poison = term.poison;
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

std::vector<int64_t> BodyCompiler::source_extents(const Node& node) const {
    const bool before = node.kind == Node::Kind::previous;
    if (node.kind != Node::Kind::local && !before) return inputs[static_cast<size_t>(node.index)].shape();
    const Local& local = body.locals[static_cast<size_t>(node.index)];
    std::vector<int64_t> extents;
    for (size_t d = before ? 1 : 0; d < local.variables.size(); d++) extents.push_back(body.extent(local, d));
    return extents;
}

bool BodyCompiler::proven(NodeId coordinate, int64_t extent) const {
    const auto& form = forms[static_cast<size_t>(coordinate)];
    if (!form) return false;
    Interval interval = interval_of(*form, body);
    return interval.low >= 0 && interval.high < extent;
}

void BodyCompiler::find_poison() {
    poisoned.assign(body.nodes.size(), false);
    // A state's value may stand behind what reads it: again, until nothing changes.
    bool changed = true;
    while (changed) changed = spread_poison();
}

bool BodyCompiler::spread_poison() {
    bool changed = false;
    for (size_t i = 0; i < body.nodes.size(); i++) {
        const Node& node = body.nodes[i];
        bool result =
            std::ranges::any_of(node.operands, [&](NodeId id) { return bool(poisoned[static_cast<size_t>(id)]); });
        const bool local = node.kind == Node::Kind::local || node.kind == Node::Kind::previous;
        if (local) {
            const Local& from = body.locals[static_cast<size_t>(node.index)];
            result = result || poisoned[static_cast<size_t>(from.value)] ||
                     (from.is_state() && poisoned[static_cast<size_t>(from.initial)]);
        }
        if (node.kind == Node::Kind::read || local) {
            auto extents = source_extents(node);
            for (size_t d = 0; d < extents.size(); d++) result = result || !proven(node.operands[d], extents[d]);
        }
        if (node.kind == Node::Kind::reduce && is_argument(node.reducer)) {
            bool empty = std::ranges::any_of(node.variables, [&](VariableId id) { return extent(id) == 0; });
            result = result || empty || node.operands.size() > 1;
        }
        changed = changed || poisoned[i] != result;
        poisoned[i] = result;
    }
    return changed;
}

void BodyCompiler::find_steps() {
    std::map<VariableId, NodeId> last;  // value of each scan's states
    for (const Local& local : body.locals) {
        if (!local.is_state()) continue;
        NodeId& value = last.try_emplace(local.variables[0], -1).first->second;
        value = std::max({value, local.value, local.initial});
    }
    after_.assign(body.nodes.size(), -1);
    stepped_.assign(body.nodes.size(), false);
    if (last.empty()) return;
    auto local_of = [&](const Node& node) -> const Local& { return body.locals[static_cast<size_t>(node.index)]; };
    for (size_t i = 0; i < body.nodes.size(); i++) {
        const Node& node = body.nodes[i];
        for (NodeId operand : node.operands) after_[i] = std::max(after_[i], after_[static_cast<size_t>(operand)]);
        const bool local = node.kind == Node::Kind::local || node.kind == Node::Kind::previous;
        if (!local) continue;
        const Local& from = local_of(node);
        after_[i] = std::max(after_[i], from.is_state() ? last.at(from.variables[0])
                                                        : after_[static_cast<size_t>(from.value)]);
    }
    // Users before operands, from the states' values; a local's value stands before its readers.
    for (const Local& local : body.locals) {
        if (local.is_state()) stepped_[static_cast<size_t>(local.value)] = true;
    }
    for (size_t i = body.nodes.size(); i-- > 0;) {
        if (!stepped_[i]) continue;
        const Node& node = body.nodes[i];
        for (NodeId operand : node.operands) stepped_[static_cast<size_t>(operand)] = true;
        if (node.kind == Node::Kind::local && !local_of(node).is_state())
            stepped_[static_cast<size_t>(local_of(node).value)] = true;
    }
    for (size_t i = 0; i < body.nodes.size(); i++) stepped_[i] = stepped_[i] && after_[i] >= static_cast<NodeId>(i);
    for (const Local& local : body.locals) {
        if (local.is_state()) stepped_[static_cast<size_t>(local.value)] = true;
    }
}

int32_t BodyCompiler::add_space(const std::vector<VariableId>& variables) {
    LaneSpace space;
    for (VariableId id : variables) {
        space.points *= extent(id);
        if (extent(id) == 1) continue;
        space.variables.push_back(id);
        space.extents.push_back(extent(id));
    }
    program.spaces.push_back(std::move(space));
    return static_cast<int32_t>(program.spaces.size() - 1);
}

int32_t BodyCompiler::add_table(NodeId root, std::vector<VariableId> variables, DType dtype, const Local* state) {
    Table table;
    table.root = root;
    table.variables = std::move(variables);
    table.dtype = dtype;
    table.lanes = lane_type(dtype, exact);
    table.poisoned = poisoned[static_cast<size_t>(root)];
    if (state) table.initial = state->initial;
    for (size_t d = 0; d < table.variables.size(); d++) {
        VariableId id = table.variables[d];
        table.extents.push_back(extent(id) + (state && d == 0));
        table.points = checked_multiply(table.points, table.extents.back()).value_or(INT64_MAX);
        if (stepped_[static_cast<size_t>(root)] && body.variable(id).kind == Variable::Kind::ordered) table.step = id;
    }
    if (state) table.poisoned = table.poisoned || poisoned[static_cast<size_t>(state->initial)];
    if (table.points <= maximum_table_points) table.strides = strides_of(table);
    program.tables.push_back(std::move(table));
    return static_cast<int32_t>(program.tables.size() - 1);
}

int32_t BodyCompiler::reduction_table(NodeId node) {
    auto found = reduction_tables_.find(node);
    if (found != reduction_tables_.end()) return found->second;
    auto variables = free.list(node);
    int64_t points = 1;
    for (VariableId id : variables) points = checked_multiply(points, extent(id)).value_or(INT64_MAX);
    int32_t table = points > maximum_hoisted_points ? -1 : add_table(node, std::move(variables), body.node(node).dtype);
    reduction_tables_.emplace(node, table);
    return table;
}

int32_t BodyCompiler::scatter_table(NodeId node) {
    if (!inverted) return -1;
    auto [found, fresh] = scatter_tables_.emplace(node, -1);
    if (!fresh) return found->second;
    auto inversion = invert(body, node, free, forms);
    if (!inversion) return -1;
    std::vector<VariableId> variables = inversion->rows;
    for (const auto& part : inversion->parts) {
        if (part.variable >= 0) variables.push_back(part.variable);
    }
    int64_t points = 1;
    for (VariableId id : variables) points = checked_multiply(points, extent(id)).value_or(INT64_MAX);
    if (points > maximum_hoisted_points) return -1;
    int32_t table = add_table(node, std::move(variables), body.node(node).dtype);
    inversions_.emplace(table, std::move(*inversion));
    return found->second = table;
}

int32_t BodyCompiler::local_table(int32_t index) {
    auto found = local_tables_.find(index);
    if (found != local_tables_.end()) return found->second;
    const Local& local = body.locals[static_cast<size_t>(index)];
    std::vector<VariableId> variables = local.variables;
    const auto& free_of = free.of_local(index);
    variables.insert(variables.end(), free_of.begin(), free_of.end());
    int32_t table =
        add_table(local.value, std::move(variables), local.dtype, local.is_state() ? &local : nullptr);
    int64_t points = program.tables[static_cast<size_t>(table)].points;
    if (points > maximum_table_points) {
        Diagnostic diagnostic;
        diagnostic.code = "evaluate.too_large";
        diagnostic.summary = fmt::format("local '{}' has too many points for the evaluator", local.name);
        diagnostic.expected = fmt::format("at most {}", maximum_table_points);
        diagnostic.found = std::to_string(points);
        if (!failure_) failure_ = Diagnostics{diagnostic};
        table = -1;
    }
    local_tables_.emplace(index, table);
    return table;
}

void BodyCompiler::compile_table(int32_t index) {
    const Table table = program.tables[static_cast<size_t>(index)];
    if (auto found = inversions_.find(index); found != inversions_.end() && table.step < 0)
        return compile_scatter(index, found->second);
    std::vector<VariableId> variables = table.variables;
    if (table.step >= 0) std::erase(variables, table.step);
    add_root(index, table.root, variables, table.step, table.initial >= 0 ? 1 : 0);
    if (table.initial >= 0) add_root(index, table.initial, variables, -1, 0);
}

void BodyCompiler::add_root(int32_t table, NodeId node, const std::vector<VariableId>& variables, VariableId step,
                            int64_t first_step) {
    RegionCompiler region(*this, nullptr, add_space(variables), true, {}, {}, node);
    Value value = region.request(node);
    Root root;
    root.value = value.slot;
    root.poison = value.poison;
    root.region = region.finish();
    root.lanes = program.tables[static_cast<size_t>(table)].lanes;
    root.table = table;
    root.step = step;
    root.first_step = first_step;
    program.roots.push_back(std::move(root));
}

void BodyCompiler::choose_elements(RegionCompiler& region, const Inversion& inversion, Scatter& scatter) {
    for (const auto& part : inversion.parts) {
        Value value = region.request(part.value);
        scatter.parts.push_back({.value = value.slot, .poison = value.poison, .after = part.after});
    }
    for (size_t i = inversion.parts.size(); i-- > 0;) {
        const auto& part = inversion.parts[i];
        if (part.variable < 0) continue;
        scatter.parts[i].extent = extent(part.variable);
        scatter.parts[i].offset = part.offset;
        scatter.parts[i].stride = scatter.elements;
        scatter.elements *= extent(part.variable);
    }
}

void BodyCompiler::compile_scatter(int32_t index, const Inversion& inversion) {
    const Table table = program.tables[static_cast<size_t>(index)];
    const Node& node = body.node(table.root);
    std::vector<VariableId> points = inversion.rows;
    points.insert(points.end(), node.variables.begin(), node.variables.end());
    Scatter scatter;
    for (VariableId id : node.variables) scatter.terms *= extent(id);
    RegionCompiler region(*this, nullptr, add_space(points), true, {}, {}, -1);
    choose_elements(region, inversion, scatter);
    Value term = region.request(node.operands[0]);
    Reduction reduction;
    reduction.node = table.root;
    reduction.reducer = node.reducer;
    reduction.term_type = body.node(node.operands[0]).dtype;
    reduction.term_lanes = lanes_of(node.operands[0]);
    reduction.term = term.slot;
    reduction.term_poison = term.poison;
    reduction.accumulator = program.slots++;
    reduction.partial = program.slots++;
    reduction.kernel = accumulate_kernel(reduction.reducer, reduction.term_type, reduction.term_lanes);
    scatter.finish.node = table.root;
    scatter.finish.lanes = table.lanes;
    scatter.finish.result = program.slots++;
    if (node.reducer == Reducer::sum || node.reducer == Reducer::product) scatter.finish.wrap = wrap_kernel(node.dtype);
    scatter.reduction = static_cast<int32_t>(program.reductions.size());
    program.reductions.push_back(std::move(reduction));
    Root root;
    root.region = region.finish();
    root.lanes = table.lanes;
    root.table = index;
    root.scatter = static_cast<int32_t>(program.scatters.size());
    program.scatters.push_back(std::move(scatter));
    program.roots.push_back(std::move(root));
}

void BodyCompiler::compile_equation(int32_t index) {
    const BodyEquation& equation = body.equations[static_cast<size_t>(index)];
    RegionCompiler region(*this, nullptr, add_space(equation.variables), true, {}, {}, equation.value);
    Value value = region.request(equation.value);
    Root root;
    root.value = value.slot;
    root.poison = value.poison;
    root.lanes = lanes_of(equation.value);
    root.equation = index;
    AffineForm sum;
    auto strides = strides_of(outputs[static_cast<size_t>(equation.output)].shape());
    for (size_t d = 0; d < strides.size(); d++) {
        const AffineForm& form = *forms[static_cast<size_t>(equation.left[d])];
        sum.constant += form.constant * strides[d];
        for (auto [variable, coefficient] : form.terms) {
            auto same = std::ranges::find(sum.terms, variable, &std::pair<VariableId, int64_t>::first);
            if (same == sum.terms.end()) same = sum.terms.insert(same, {variable, 0});
            same->second += coefficient * strides[d];
        }
    }
    root.address = region.address(sum);
    root.region = region.finish();
    program.roots.push_back(std::move(root));
}

// A table's root stands after those of the tables that it reads: by node, but a scan's steps where its last state is, and
// what only reads them behind; of one node a scatter's comes first, since a local may be no more than it. Equations come
// last.
std::tuple<NodeId, int, NodeId, bool> BodyCompiler::place_of(const Root& root) const {
    if (root.table < 0) return {static_cast<NodeId>(body.nodes.size()), 0, 0, false};
    const Table& table = program.tables[static_cast<size_t>(root.table)];
    const bool initial = table.initial >= 0 && root.step < 0;
    const NodeId node = initial ? table.initial : table.root;
    NodeId after = after_[static_cast<size_t>(node)];
    for (const Local& local : body.locals) {
        if (root.step >= 0 && local.is_state() && local.variables[0] == root.step)
            after = std::max({after, local.value, local.initial});
    }
    return {std::max(node, after), initial ? 0 : root.step >= 0 ? 1 : 2, node, root.scatter < 0};
}

Result<Program> BodyCompiler::run() {
    for (size_t i = 0; i < body.equations.size(); i++) compile_equation(static_cast<int32_t>(i));
    for (size_t i = 0; i < program.tables.size() && !failure_; i++)
        compile_table(static_cast<int32_t>(i));  // grows as it runs
    if (failure_) return fail(std::move(*failure_));
    std::ranges::stable_sort(program.roots, {}, [&](const Root& root) { return place_of(root); });
    return std::move(program);
}

}  // namespace

Result<Program> compile(const Body& body, const std::vector<TensorData>& inputs, const std::vector<TensorData>& outputs,
                        CompileOptions options) {
    return BodyCompiler(body, inputs, outputs, options).run();
}

}  // namespace heddle::evaluation
