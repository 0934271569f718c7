// Bodies to programs: the tables of locals and of reductions that stand outside, and the roots.
#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "evaluate/body_compiler.h"
#include "zspace/checked.h"

namespace heddle::evaluation {
namespace {

constexpr int64_t maximum_table_points = int64_t{1} << 28;    // of a local
constexpr int64_t maximum_hoisted_points = int64_t{1} << 26;  // of a reduction that could also be computed again

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

}  // namespace

int32_t BodyCompiler::add_space(std::span<const VariableId> variables) {
    LaneSpace space;
    for (VariableId id : variables) {
        space.points *= facts.extent(id);
        if (facts.extent(id) == 1) continue;
        space.variables.push_back(id);
        space.extents.push_back(facts.extent(id));
    }
    program.spaces.push_back(std::move(space));
    return static_cast<int32_t>(program.spaces.size() - 1);
}

int32_t BodyCompiler::add_table(NodeId root, std::vector<VariableId> variables, DType dtype, const Local* state) {
    Table table;
    table.root = root;
    table.variables = std::move(variables);
    table.dtype = dtype;
    table.lanes = lane_type(dtype, options.exact);
    table.poisoned = facts.poisoned[static_cast<size_t>(root)];
    if (state) table.initial = state->initial;
    for (size_t d = 0; d < table.variables.size(); d++) {
        VariableId id = table.variables[d];
        table.extents.push_back(facts.extent(id) + (state && d == 0));
        table.points = checked_multiply(table.points, table.extents.back()).value_or(INT64_MAX);
        if (facts.stepped[static_cast<size_t>(root)] && body.variable(id).kind == Variable::Kind::ordered)
            table.step = id;
    }
    if (state) table.poisoned = table.poisoned || facts.poisoned[static_cast<size_t>(state->initial)];
    if (table.points <= maximum_table_points) table.strides = strides_of(table);
    program.tables.push_back(std::move(table));
    return static_cast<int32_t>(program.tables.size() - 1);
}

int32_t BodyCompiler::reduction_table(NodeId node) {
    auto found = reduction_tables_.find(node);
    if (found != reduction_tables_.end()) return found->second;
    auto variables = facts.free.list(node);
    const int64_t points = facts.points(variables);
    int32_t table = points > maximum_hoisted_points ? -1 : add_table(node, std::move(variables), body.node(node).dtype);
    reduction_tables_.emplace(node, table);
    return table;
}

int32_t BodyCompiler::scatter_table(NodeId node) {
    // What a step of a scan needs of the step before is computed step by step.
    if (!options.inverted || facts.stepped[static_cast<size_t>(node)]) return -1;
    auto [found, fresh] = scatter_tables_.emplace(node, -1);
    if (!fresh) return found->second;
    auto inversion = invert(body, node, facts.free, facts.forms);
    if (!inversion) return -1;
    std::vector<VariableId> variables = inversion->rows;
    for (const auto& part : inversion->parts) {
        if (part.variable >= 0) variables.push_back(part.variable);
    }
    const int64_t points = facts.points(variables);
    if (points > maximum_hoisted_points) return -1;
    int32_t table = add_table(node, std::move(variables), body.node(node).dtype);
    inversions_.emplace(table, std::move(*inversion));
    return found->second = table;
}

int32_t BodyCompiler::local_table(int32_t index) {
    auto found = local_tables_.find(index);
    if (found != local_tables_.end()) return found->second;
    const Local& local = body.locals[static_cast<size_t>(index)];
    std::vector<VariableId> variables(local.variables.begin(), local.variables.end());
    const auto& free_of = facts.free.of_local(index);
    variables.insert(variables.end(), free_of.begin(), free_of.end());
    int32_t table = add_table(local.value, std::move(variables), local.dtype, local.is_state() ? &local : nullptr);
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
    if (auto found = inversions_.find(index); found != inversions_.end()) return compile_scatter(index, found->second);
    std::vector<VariableId> variables = table.variables;
    if (table.step >= 0) std::erase(variables, table.step);
    add_root(index, table.root, variables, table.step, table.initial >= 0 ? 1 : 0);
    if (table.initial >= 0) add_root(index, table.initial, variables, no_id, 0);
}

void BodyCompiler::add_root(int32_t table, NodeId node, std::span<const VariableId> variables, VariableId step,
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
        scatter.parts[i].extent = facts.extent(part.variable);
        scatter.parts[i].offset = part.offset;
        scatter.parts[i].stride = scatter.elements;
        scatter.elements *= facts.extent(part.variable);
    }
}

void BodyCompiler::compile_scatter(int32_t index, const Inversion& inversion) {
    const Table table = program.tables[static_cast<size_t>(index)];
    const Node& node = body.node(table.root);
    std::vector<VariableId> points = inversion.rows;
    points.insert(points.end(), node.variables.begin(), node.variables.end());
    Scatter scatter;
    for (VariableId id : node.variables) scatter.terms *= facts.extent(id);
    RegionCompiler region(*this, nullptr, add_space(points), true, {}, {}, no_id);
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
        const AffineForm& form = *facts.forms[static_cast<size_t>(equation.left[d])];
        sum.constant += form.constant * strides[d];
        for (auto [variable, coefficient] : form.terms) add_term(sum, variable, coefficient * strides[d]);
    }
    root.address = region.address(sum);
    root.region = region.finish();
    program.roots.push_back(std::move(root));
}

// A table's root stands after those of the tables that it reads: by node, but a scan's steps where its last state is,
// and what only reads them behind; of one node a scatter's comes first, since a local or an initial value may be no
// more than it. Equations come last.
std::tuple<NodeId, int, NodeId, bool> BodyCompiler::place_of(const Root& root) const {
    if (root.table < 0) return {next_id<NodeId>(body.nodes), 0, no_id, false};
    const Table& table = program.tables[static_cast<size_t>(root.table)];
    const bool initial = table.initial >= 0 && root.step < 0;
    const NodeId node = initial ? table.initial : table.root;
    NodeId after = facts.after[static_cast<size_t>(node)];
    for (const Local& local : body.locals) {
        if (root.step >= 0 && local.is_state() && local.variables[0] == root.step)
            after = std::max({after, local.value, local.initial});
    }
    const bool reads_steps = after >= node && !initial;
    return {std::max(node, after), root.step >= 0 ? 1 : reads_steps ? 2 : 0, node, root.scatter < 0};
}

Result<Program> BodyCompiler::run() {
    for (size_t i = 0; i < body.equations.size(); i++) compile_equation(static_cast<int32_t>(i));
    for (size_t i = 0; i < program.tables.size() && !failure_; i++)
        compile_table(static_cast<int32_t>(i));  // grows as it runs
    if (failure_) return fail(std::move(*failure_));
    std::ranges::stable_sort(program.roots, {}, [&](const Root& root) { return place_of(root); });
    return std::move(program);
}

Result<Program> compile(const Body& body, const std::vector<TensorData>& inputs, const std::vector<TensorData>& outputs,
                        CompileOptions options) {
    return BodyCompiler(body, inputs, outputs, options).run();
}

}  // namespace heddle::evaluation
