#include "schedules/step_blocks.h"

#include <algorithm>
#include <map>
#include <set>

#include "expr/remake.h"
#include "schedules/accesses.h"
#include "schedules/phases.h"
#include "target/choice_numbers.h"

namespace heddle::schedules {
namespace {

using choice_numbers::steps_of_block;

// One scan of the kernel.
struct Scan {
    AxisId ordered = no_id, lanes = no_id;
    std::vector<size_t> equations;
    std::set<Expr> loads;                 // reads that are transposed
    std::map<size_t, TensorIndex> stores;  // equations whose result is; their outputs
};

class BlockCutter {
public:
    explicit BlockCutter(const Kernel& kernel) : kernel_(kernel) {}

    std::optional<Kernel> cut() {
        find_scans();
        std::erase_if(scans_, [](const auto& entry) { return entry.second.loads.empty() && entry.second.stores.empty(); });
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
    TensorIndex add_array(TensorIndex like, const Scan& scan);
    std::vector<Expr> in_array(const Scan& scan) const;
    KernelEquation remade_equation(const KernelEquation& from);
    void add_scan(const Scan& scan);

    const Kernel& kernel_;
    std::map<AxisId, Scan> scans_;  // by ordered axis
    Kernel made_;
    std::map<AxisId, StepBlocks> blocks_;  // by ordered axis
    std::map<Expr, Expr> arrays_;          // what stands for a read
    AxisId inside_ = no_id;                // the ordered axis of the present scan; others may walk it whole
    Arena::Memo memo_;
};

// Scans over one axis each, which tasks part.
void BlockCutter::find_scans() {
    std::set<AxisId> refused;
    for (size_t i = 0; i < kernel_.equations.size(); i++) {
        const KernelEquation& e = kernel_.equations[i];
        if (e.ordered < 0) continue;
        Scan& scan = scans_[e.ordered];
        scan.ordered = e.ordered;
        scan.equations.push_back(i);
        const AxisId lanes = e.axes.size() == 1 ? e.axes[0] : no_id;
        if (lanes < 0 || e.update || !contains(kernel_.common, lanes) || (scan.lanes >= 0 && scan.lanes != lanes))
            refused.insert(e.ordered);
        scan.lanes = lanes;
    }
    for (auto& [ordered, scan] : scans_) {
        const bool long_enough = kernel_.hint(ordered) >= 2 * steps_of_block;
        if (!refused.contains(ordered) && long_enough) find_transposed(scan);
    }
}

// Neighbours in memory are neighbours in time, and the lanes stand apart.
bool BlockCutter::lies_along(TensorIndex index, const std::vector<Expr>& coordinates, const Scan& scan) const {
    const KernelTensor& tensor = kernel_.tensor(index);
    if (tensor.role == KernelTensor::Role::local || tensor.may_alias) return false;
    bool along = false, apart = false;
    for (size_t d = 0; d < coordinates.size(); d++) {
        const AxisId axis = plain_axis(coordinates[d]);
        if (axis == scan.ordered && tensor.dimensions[d].stride == 1 && !along)
            along = true;
        else if (axis == scan.lanes && tensor.dimensions[d].stride != 1 && !apart)
            apart = true;
        else if (!coordinates[d]->axes.empty() || contains_read(coordinates[d]))
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
        const auto count = [](int64_t steps) { return (std::max<int64_t>(0, steps) + steps_of_block - 1) / steps_of_block; };
        blocks.name += "_block";
        blocks.extent = count(blocks.extent);
        blocks.hint = count(kernel_.hint(ordered));
        blocks.factor = 0;
        const AxisId block = made_.add_axis(blocks);
        const AxisId steps =
            made_.add_axis({.name = kernel_.axis(ordered).name + "_step", .extent = steps_of_block});
        blocks_[ordered] = {steps, block, ordered};
        made_.step_blocks.push_back(blocks_[ordered]);
    }
}

TensorIndex BlockCutter::add_array(TensorIndex like, const Scan& scan) {
    KernelTensor array;
    array.name = "s" + std::to_string(made_.tensors.size());
    array.role = KernelTensor::Role::local;
    array.dtype = kernel_.tensor(like).dtype;
    array.dimensions = {{.extent = steps_of_block, .stride = 0}, {.extent = kernel_.axis(scan.lanes).extent, .stride = 0}};
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
    for (Expr& left : to.left) left = expr::remade(left, memo_, given, [](Expr e) { return operands_of(e); }, make);
    to.right = expr::remade(from.right, memo_, given, [](Expr e) { return operands_of(e); }, make);
    return to;
}

void BlockCutter::add_scan(const Scan& scan) {
    const StepBlocks& blocks = blocks_.at(scan.ordered);
    inside_ = scan.ordered;
    memo_.clear();
    Arena& arena = *made_.arena;
    std::vector<KernelEquation> before, steps, after;
    std::vector<Expr> loads(scan.loads.begin(), scan.loads.end());
    std::ranges::sort(loads, {}, [](Expr e) { return e->id; });
    for (Expr load : loads) {
        KernelEquation copy;
        copy.tensor = add_array(load->tensor(), scan);
        copy.axes = {blocks.steps, scan.lanes};
        copy.left = in_array(scan);
        copy.right = remade_equation({.tensor = copy.tensor, .right = load}).right;
        copy.block = blocks.blocks;
        arrays_[load] = arena.read(copy.tensor, load->dtype, copy.left);
        before.push_back(std::move(copy));
    }
    memo_.clear();  // reads are of arrays from now on
    for (size_t i : scan.equations) {
        KernelEquation step = remade_equation(kernel_.equations[i]);
        step.ordered = blocks.steps;
        step.block = blocks.blocks;
        if (scan.stores.contains(i)) {
            KernelEquation copy;
            copy.tensor = step.tensor;
            copy.axes = {scan.lanes, blocks.steps};
            copy.left = step.left;
            copy.block = blocks.blocks;
            step.tensor = add_array(copy.tensor, scan);
            step.left = in_array(scan);
            copy.right = arena.read(step.tensor, kernel_.tensor(copy.tensor).dtype, step.left);
            after.push_back(std::move(copy));
        }
        steps.push_back(std::move(step));
    }
    for (auto* part : {&before, &steps, &after}) {
        for (KernelEquation& e : *part) made_.equations.push_back(std::move(e));
    }
    arrays_.clear();
    memo_.clear();
    inside_ = no_id;
}

void BlockCutter::remake() {
    add_axes();
    made_.tensors = kernel_.tensors;
    made_.common = kernel_.common;
    std::set<AxisId> done;
    for (const KernelEquation& e : kernel_.equations) {
        const auto scan = scans_.find(e.ordered);
        if (scan == scans_.end())
            made_.equations.push_back(remade_equation(e));
        else if (done.insert(e.ordered).second)
            add_scan(scan->second);
    }
}

}  // namespace

std::optional<Kernel> in_step_blocks(const Kernel& kernel) {
    const bool any = std::ranges::any_of(kernel.equations, [](const KernelEquation& e) { return e.ordered >= 0; });
    return any ? BlockCutter(kernel).cut() : std::nullopt;
}

}  // namespace heddle::schedules
