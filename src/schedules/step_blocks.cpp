#include "schedules/step_blocks.h"

#include <algorithm>
#include <map>
#include <set>

#include "expr/remake.h"
#include "schedules/accesses.h"
#include "schedules/phases.h"
#include "target/choice_numbers.h"
#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

using choice_numbers::least_steps_for_blocks;
using choice_numbers::steps_of_block;

// The axis of the scan's steps that the equation is of: they run by themselves, or in turn inside a tile.
AxisId steps_of(const KernelEquation& e) { return e.vector_steps.in_turn ? e.vector_steps.steps : e.ordered; }

// One scan of the kernel.
struct Scan {
    AxisId ordered = no_id, lanes = no_id;
    bool in_turn = false;
    std::vector<size_t> equations;
    std::set<Expr> loads;                  // reads that are transposed
    std::map<size_t, TensorIndex> stores;  // equations whose result is; their outputs
};

class BlockCutter {
public:
    explicit BlockCutter(const Kernel& kernel) : kernel_(kernel) {}

    std::optional<Kernel> cut() {
        find_scans();
        std::erase_if(scans_,
                      [](const auto& entry) { return entry.second.loads.empty() && entry.second.stores.empty(); });
        if (scans_.empty()) return std::nullopt;
        remake();
        return std::move(made_);
    }

private:
    void find_scans();
    bool lies_along(TensorIndex tensor, const std::vector<Expr>& coordinates, const Scan& scan) const;
    void find_transposed(Scan& scan) const;
    void remake();
    void add_axes();
    TensorIndex add_array(TensorIndex like, const Scan& scan, bool of_steps = true);
    std::vector<Expr> in_array(const Scan& scan) const;
    KernelEquation remade_equation(const KernelEquation& from);
    void add_scan(const Scan& scan);
    struct Parts {
        std::vector<KernelEquation> before, first, steps, last, after;
    };
    void add_loads(const Scan& scan, Parts& parts);
    void add_step(const Scan& scan, size_t index, Parts& parts);
    bool carry(const Scan& scan, const KernelEquation& from, Parts& parts);

    const Kernel& kernel_;
    std::map<AxisId, Scan> scans_;  // by ordered axis
    Kernel made_;
    std::map<AxisId, StepBlocks> blocks_;         // by ordered axis
    std::map<Expr, Expr> arrays_;                 // what stands for a read
    std::vector<KernelEquation> lasts_;           // of states in registers, at the end of a block
    std::map<TensorIndex, TensorIndex> carried_;  // of a state's first value: what holds it from block to block
    AxisId inside_ = no_id;                       // the ordered axis of the present scan; others may walk it whole
    Arena::Memo memo_;
};

// Scans over one axis each, which tasks part.
void BlockCutter::find_scans() {
    std::set<AxisId> refused;
    for (size_t i = 0; i < kernel_.equations.size(); i++) {
        const KernelEquation& e = kernel_.equations[i];
        const AxisId ordered = steps_of(e);
        if (ordered < 0) continue;
        Scan& scan = scans_[ordered];
        scan.ordered = ordered;
        scan.in_turn = e.vector_steps.in_turn;
        scan.equations.push_back(i);
        std::vector<AxisId> others = e.axes;
        std::erase(others, ordered);
        const AxisId lanes = others.size() == 1 ? others[0] : no_id;
        if (lanes < 0 || e.update || !contains(kernel_.common, lanes) || (scan.lanes >= 0 && scan.lanes != lanes))
            refused.insert(ordered);
        scan.lanes = lanes;
    }
    for (auto& [ordered, scan] : scans_) {
        const bool long_enough = kernel_.hint(ordered) >= least_steps_for_blocks;
        if (!refused.contains(ordered) && long_enough) find_transposed(scan);
    }
}

// The axis that the coordinate is, but for a constant; or the one that it falls with.
AxisId moved_axis(Expr coordinate, bool may_fall) {
    const CoordinateParts parts = parts_of(coordinate);
    if (!parts.values.empty() || parts.axes.size() != 1) return no_id;
    const auto [axis, factor] = parts.axes[0];
    return factor == 1 || (may_fall && factor == -1) ? axis : no_id;
}

// Neighbours in memory are neighbours in time, forwards or backwards, and the lanes stand apart.
bool BlockCutter::lies_along(TensorIndex index, const std::vector<Expr>& coordinates, const Scan& scan) const {
    const KernelTensor& tensor = kernel_.tensor(index);
    if (tensor.role == KernelTensor::Role::local || tensor.may_alias()) return false;
    bool along = false, apart = false;
    for (size_t d = 0; d < coordinates.size(); d++) {
        if (moved_axis(coordinates[d], true) == scan.ordered && tensor.dimensions[d].stride == 1 && !along)
            along = true;
        else if (moved_axis(coordinates[d], false) == scan.lanes && tensor.dimensions[d].stride != 1 && !apart)
            apart = true;
        else if (!coordinates[d]->axes.empty() || coordinates[d]->has_reads)
            return false;
    }
    return along && apart;
}

void BlockCutter::find_transposed(Scan& scan) const {
    for (size_t i : scan.equations) {
        const KernelEquation& e = kernel_.equations[i];
        // Only what every step reads: a selection, or a sum of nothing, may leave out a read that would lie outside.
        for (Expr read : expr::walk(e.right, expr::Skipped::left_out)) {
            if (e.reducer || read->kind != Kind::read) continue;
            const bool given = kernel_.tensor(read->tensor()).role == KernelTensor::Role::input;
            if (given && lies_along(read->tensor(), coordinates_of(read), scan)) scan.loads.insert(read);
        }
        const bool alone = std::ranges::none_of(kernel_.equations, [&](const KernelEquation& other) {
            return (&other != &e && other.tensor == e.tensor) || reads_tensor(other.right, e.tensor);
        });
        if (alone && kernel_.tensor(e.tensor).role == KernelTensor::Role::output && lies_along(e.tensor, e.left, scan))
            scan.stores[i] = e.tensor;
    }
}

// Those of the kernel, then two for each scan.
void BlockCutter::add_axes() {
    for (size_t i = 0; i < kernel_.arena->axis_count(); i++) made_.add_axis(kernel_.axis(AxisId(i)));
    for (const auto& [ordered, scan] : scans_) {
        Axis blocks = kernel_.axis(ordered);
        blocks.name += "_block";
        blocks.extent = ceil_divide(maximum(blocks.extent, 0), steps_of_block);
        blocks.hint = ceil_divide(std::max<int64_t>(0, kernel_.hint(ordered)), int64_t{steps_of_block});
        blocks.factor = 0;
        const AxisId block = made_.add_axis(blocks);
        const AxisId steps = made_.add_axis({.name = kernel_.axis(ordered).name + "_step", .extent = steps_of_block});
        blocks_[ordered] = {steps, block, ordered};
        made_.step_blocks.push_back(blocks_[ordered]);
    }
}

TensorIndex BlockCutter::add_array(TensorIndex like, const Scan& scan, bool of_steps) {
    KernelTensor array;
    array.name = "s" + std::to_string(made_.tensors.size());
    array.role = KernelTensor::Role::local;
    array.dtype = kernel_.tensor(like).dtype;
    if (of_steps) array.dimensions.push_back({.extent = steps_of_block, .stride = 0});
    array.dimensions.push_back({.extent = kernel_.axis(scan.lanes).extent, .stride = 0});
    made_.tensors.push_back(std::move(array));
    return last_id<TensorIndex>(made_.tensors);
}

std::vector<Expr> BlockCutter::in_array(const Scan& scan) const {
    return {made_.arena->axis_value(blocks_.at(scan.ordered).steps), made_.arena->axis_value(scan.lanes)};
}

// The same in the new arena: a step is counted by its block and in it, and what is transposed is read from its array.
KernelEquation BlockCutter::remade_equation(const KernelEquation& from) {
    Arena& arena = *made_.arena;
    const auto given = [&](Expr e) -> Expr {
        if (const auto array = arrays_.find(e); array != arrays_.end()) return array->second;
        if (e->kind != Kind::variable) return nullptr;
        if (e->axis() != inside_) return arena.axis_value(e->axis());
        const StepBlocks& blocks = blocks_.at(inside_);
        return arena.add(arena.axis_value(blocks.steps), arena.axis_value(blocks.blocks), steps_of_block);
    };
    const auto make = [&](Expr e, std::vector<Expr> operands) { return arena.copy(e, std::move(operands)); };
    KernelEquation to = from;
    if (from.vector_steps.in_turn && from.vector_steps.steps == inside_) {
        to.vector_steps.steps = blocks_.at(inside_).steps;
        to.block = blocks_.at(inside_).blocks;
        std::ranges::replace(to.axes, inside_, to.vector_steps.steps);
    }
    for (Expr& left : to.left) left = expr::remade(left, memo_, given, [](Expr e) { return operands_of(e); }, make);
    to.right = expr::remade(from.right, memo_, given, [](Expr e) { return operands_of(e); }, make);
    return to;
}

// What is transposed before a block.
void BlockCutter::add_loads(const Scan& scan, Parts& parts) {
    const StepBlocks& blocks = blocks_.at(scan.ordered);
    std::vector<Expr> loads(scan.loads.begin(), scan.loads.end());
    std::ranges::sort(loads, {}, [](Expr e) { return e->id; });
    for (Expr load : loads) {
        KernelEquation copy;
        copy.tensor = add_array(load->tensor(), scan);
        copy.axes = {blocks.steps, scan.lanes};
        copy.left = in_array(scan);
        copy.right = remade_equation({.tensor = copy.tensor, .right = load}).right;
        copy.block = blocks.blocks;
        arrays_[load] = made_.arena->read(copy.tensor, load->dtype, copy.left);
        parts.before.push_back(std::move(copy));
    }
    memo_.clear();  // reads are of arrays from now on
}

// States that live in registers in a block lie in an array between blocks: their first value is put there before all of
// them, read at the beginning of each, and their last one is there behind it.
bool BlockCutter::carry(const Scan& scan, const KernelEquation& from, Parts& parts) {
    using Part = VectorSteps::Part;
    const Part part = from.vector_steps.part;
    const std::vector<Expr> at = {made_.arena->axis_value(scan.lanes)};
    const auto plain = [&](KernelEquation e) {
        e.vector_steps = {};
        e.block = no_id;
        return e;
    };
    const auto array_of = [&](TensorIndex running) {
        const auto maker = std::ranges::find(kernel_.equations, running, &KernelEquation::tensor);
        return carried_.at(maker->vector_steps.of);
    };
    if (part == Part::plain && !contains(from.axes, scan.ordered)) {
        const TensorIndex array = carried_[from.tensor] = add_array(from.tensor, scan, false);
        KernelEquation first = remade_equation(from), put = plain(first);
        put.tensor = array;
        put.left = at;
        first.right = made_.arena->read(array, kernel_.tensor(from.tensor).dtype, at);
        parts.first.push_back(std::move(put));
        parts.steps.push_back(std::move(first));
        return true;
    }
    if (part != Part::last) return false;
    KernelEquation last = plain(remade_equation(from));
    last.right = made_.arena->read(array_of(from.vector_steps.of), kernel_.tensor(from.tensor).dtype, at);
    parts.last.push_back(std::move(last));
    return true;
}

void BlockCutter::add_step(const Scan& scan, size_t index, Parts& parts) {
    const StepBlocks& blocks = blocks_.at(scan.ordered);
    KernelEquation step = remade_equation(kernel_.equations[index]);
    if (!scan.in_turn) step.ordered = blocks.steps;
    step.block = blocks.blocks;
    if (scan.stores.contains(index)) {
        KernelEquation copy;
        copy.tensor = step.tensor;
        copy.axes = {scan.lanes, blocks.steps};
        copy.left = step.left;
        copy.block = blocks.blocks;
        step.tensor = add_array(copy.tensor, scan);
        step.left = in_array(scan);
        copy.right = made_.arena->read(step.tensor, kernel_.tensor(copy.tensor).dtype, step.left);
        parts.after.push_back(std::move(copy));
    }
    if (step.vector_steps.part == VectorSteps::Part::running) {
        KernelEquation last = step;
        last.tensor = carried_.at(step.vector_steps.of);
        last.axes = {scan.lanes};
        last.right = made_.arena->read(step.tensor, kernel_.tensor(step.tensor).dtype, step.left);
        last.left = {made_.arena->axis_value(scan.lanes)};
        last.vector_steps.part = VectorSteps::Part::last;
        last.vector_steps.of = step.tensor;
        parts.steps.push_back(std::move(step));
        lasts_.push_back(std::move(last));
        return;
    }
    parts.steps.push_back(std::move(step));
}

void BlockCutter::add_scan(const Scan& scan) {
    inside_ = scan.ordered;
    memo_.clear();
    Parts parts;
    add_loads(scan, parts);
    for (size_t i : scan.equations) {
        if (!scan.in_turn || !carry(scan, kernel_.equations[i], parts)) add_step(scan, i, parts);
    }
    parts.steps.insert(parts.steps.end(), lasts_.begin(), lasts_.end());
    for (auto* part : {&parts.first, &parts.before, &parts.steps, &parts.after, &parts.last}) {
        for (KernelEquation& e : *part) made_.equations.push_back(std::move(e));
    }
    arrays_.clear();
    carried_.clear();
    lasts_.clear();
    memo_.clear();
    inside_ = no_id;
}

void BlockCutter::remake() {
    add_axes();
    made_.tensors = kernel_.tensors;
    made_.common = kernel_.common;
    std::set<AxisId> done;
    for (const KernelEquation& e : kernel_.equations) {
        const auto scan = scans_.find(steps_of(e));
        if (scan == scans_.end())
            made_.equations.push_back(remade_equation(e));
        else if (done.insert(steps_of(e)).second)
            add_scan(scan->second);
    }
}

}  // namespace

std::optional<Kernel> in_step_blocks(const Kernel& kernel) {
    const bool any = std::ranges::any_of(kernel.equations, [](const KernelEquation& e) { return steps_of(e) >= 0; });
    return any ? BlockCutter(kernel).cut() : std::nullopt;
}

}  // namespace heddle::schedules
