// What a nest asks for before it reads it.
#include <algorithm>
#include <set>

#include "schedules/nest_builder.h"
#include "target/choice_numbers.h"

namespace heddle::schedules {

using Role = NumberId::Role;
using Subject = NumberSubject::Kind;

// A running pointer over the next panel of the packed operand, in step with the rows of this one.
void Nest::add_prefetch_start(Block& block) {
    const PackedOperand& operand = group_.packed.front();
    const Kernel& kernel = assembly_.kernel;
    Size panel = operand.panel;
    for (int d : operand.inner) panel *= kernel.axis(lone_axis(operand.read->parts()[static_cast<size_t>(d)])).extent;
    PrefetchStart start;
    Address address = expressions_.packed_address(operand);
    start.memory = address.memory;
    start.element = address.element;
    const NumberSubject packed = {Subject::packed, operand.tensor};
    start.element.constant = assembly_.numbers.integer(panel, {Role::panel, packed});
    const PanelVisit& visit = assembly_.tasks.visit;
    Size rate = floor_divide(panel, std::max<int64_t>(1, visit.length));
    auto add = [&](VariableId variable, const Size& value, const NumberId& id) {
        start.element.terms.push_back({variable, 1, assembly_.numbers.integer(value, id)});
    };
    for (size_t i = visit.rows.size(); i-- > 0;) {
        const TaskCut* cut = assembly_.tasks.find(visit.rows[i]);
        VariableId here = cut->fused.empty() ? expressions_.variable_of(visit.rows[i]) : row_variable_;
        add(here, rate, {Role::prefetch, packed, visit.rows[i]});
        add(assembly_.task_variables[cut->axis].first, visit.of_task ? -rate : Size(0),
            {Role::task_prefetch, packed, visit.rows[i]});
        rate *= std::max<int64_t>(1, visit.of_task ? std::min(cut->step, cut->extent.number()) : cut->extent.number());
    }
    block.push_back({start});
}

void Nest::add_prefetches(Block& block) {
    if (group_.packed.empty()) return;
    const PackedOperand& operand = group_.packed.front();
    if (group_.prefetch_panel) {
        int64_t bytes_a_step = choice_numbers::cache_line * group_.vectors * group_.maximum_rows,
                visit = std::max<int64_t>(1, assembly_.tasks.visit.length);
        Prefetch next;
        next.running = true;
        next.step = assembly_.numbers.integer((bytes_a_step + visit - 1) / visit,
                                              {Role::prefetch_step, {Subject::packed, operand.tensor}});
        block.push_back({next});
    }
    if (group_.prefetch_ahead > 0) {
        Prefetch ahead;
        ahead.address = expressions_.packed_address(operand);
        ahead.ahead = group_.prefetch_ahead;
        block.push_back({ahead});
    }
}

// A tile of transposes reads few bytes of many rows of a buffer, and a new one begins for each few rows: prefetchers of
// the machine follow late. Vectors of a whole line ask for so many lines at once that they hardly wait.
void Nest::prefetch_next_rows(Block& block, size_t first_expression) {
    if (!group_.transposed || assembly_.target.vector_bytes >= choice_numbers::cache_line) return;
    const Tree& tree = assembly_.result.tree;
    for (size_t i = tree.expressions.size(); i-- > first_expression;) {
        const Expression& e = tree.expressions[i];
        if (e.kind != Expression::Kind::load || e.address.access != Access::transposed) continue;
        const Address address = e.address;
        if (!address.element.values.empty() || tree.memory(address.memory).kind == Memory::Kind::array) continue;
        Prefetch next;
        next.address = address;
        next.ahead = group_.width;
        block.insert(block.begin(), {next});
    }
}

namespace {

// Variables that loops inside of the block bind.
void add_bound(const Block& block, std::set<VariableId>& bound) {
    for (const Statement& statement : block) {
        if (const auto* loop = std::get_if<For>(&statement.node)) bound.insert(loop->variable);
        std::visit([&](const auto& node) {
            if constexpr (requires { node.body; }) add_bound(node.body, bound);
        }, statement.node);
    }
}

}  // namespace

// A band is a few rows of a strip, then those of another phase: prefetchers of the machine begin anew with each row.
// What the next one reads and writes is asked for meanwhile; a row of a buffer once, though neighbours in it are read.
// Measured, Zen 3: a blur of 1080 x 1920, in strips of 1024: 2.2 ms, 1.4 with them.
void Nest::prefetch_row_of_band(Block& block, size_t first_expression) {
    if (group_.banded < 0 || part_.border || !assembly_.tasks.find(group_.lanes)) return;
    if (assembly_.target.has_workgroups()) return;
    const Tree& tree = assembly_.result.tree;
    const VariableId row = expressions_.variable_of(group_.banded);
    Block prefetches;
    std::set<MemoryId> asked;
    std::set<VariableId> inside;
    add_bound(block, inside);
    const auto ask = [&](const Address& address) {
        const auto along_row = [&](const Term& term) { return term.variable == row; };
        if (address.access != Access::contiguous || tree.memory(address.memory).kind == Memory::Kind::array) return;
        if (!address.element.values.empty() || std::ranges::none_of(address.element.terms, along_row)) return;
        if (!asked.insert(address.memory).second) return;
        Prefetch next;
        next.address = address;
        next.row = row;
        // Where the loops inside begin.
        std::erase_if(next.address.element.terms, [&](const Term& term) { return inside.contains(term.variable); });
        prefetches.push_back({next});
    };
    for (size_t i = tree.expressions.size(); i-- > first_expression;) {
        if (tree.expressions[i].kind == Expression::Kind::load) ask(tree.expressions[i].address);
    }
    for (const Statement& statement : block) {
        if (const auto* store = std::get_if<Store>(&statement.node)) ask(store->address);
    }
    append(prefetches, std::move(block));
    block = std::move(prefetches);
}

}  // namespace heddle::schedules
