#include "schedules/access_proof.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "schedules/tree_values.h"

namespace heddle::schedules {
namespace {

class AccessProver {
public:
    AccessProver(const Tree& tree, const std::vector<Size>& numbers, const std::vector<Room>& rooms, Premises& premises)
        : tree_(tree), numbers_(numbers), premises_(premises), values_(tree, numbers, premises) {
        for (const Room& room : rooms) rooms_.push_back({premises.of(room.before), premises.of(room.behind)});
    }

    AccessProof prove() {
        const size_t before = premises_.mark();
        for (const TaskAxis& axis : tree_.tasks) bind_tasks(axis);
        walk(tree_.body);
        premises_.forget(before);
        return std::move(proof_);
    }

private:
    struct Ends {
        Polynomial before, behind;
    };

    Polynomial bind(VariableId variable) {
        values_.set(variable, Polynomial::of_atom(premises_.atom(tree_.variable(variable).name)));
        return values_.of(variable);
    }

    // A task there is: there is one of each axis.
    void bind_tasks(const TaskAxis& axis) {
        const Polynomial begin = bind(axis.begin), end = bind(axis.end);
        const Polynomial extent = values_.of(axis.extent), step = values_.of(axis.step), count = values_.of(axis.count);
        premises_.add(count - 1);
        premises_.add(begin);
        premises_.add((count - 1) * step - begin);
        premises_.add(extent - end);
        premises_.add(begin + step - end);
        extents_[axis.end] = extent;
    }

    // At any point of the range; there is one, so that it is not empty.
    void bind(VariableId variable, const Range& range) {
        struct End {
            Polynomial value, divisor;
        };
        values_.forget_data();
        const auto ends = [&](const std::vector<Bound>& bounds) {
            std::vector<End> result;
            for (const Bound& bound : bounds) result.push_back({values_.of(bound.affine), values_.of(bound.divisor)});
            return result;
        };
        const std::vector<End> lower = ends(range.lower), upper = ends(range.upper);
        for (const End& first : lower) {
            for (const End& end : upper) premises_.add((end.value - 1) * first.divisor - first.value * end.divisor);
        }
        if (const auto whole = without_tasks(range)) premises_.add(*whole - 1);
        const Polynomial point = bind(variable);
        for (const End& first : lower) premises_.add(point * first.divisor - first.value);
        for (const End& end : upper) premises_.add(end.value - 1 - point * end.divisor);
    }

    // Where a range is a task's part of an axis, the axis is not empty.
    std::optional<Polynomial> without_tasks(const Range& range) const {
        for (const Bound& bound : range.upper) {
            const bool plain = bound.divisor.is(1) && bound.affine.constant.is(0) && bound.affine.values.empty();
            if (!plain || bound.affine.terms.size() != 1) continue;
            const auto extent = extents_.find(bound.affine.terms[0].variable);
            if (extent != extents_.end()) return extent->second;
        }
        return std::nullopt;
    }

    void walk(const Block& block) {
        for (const Statement& statement : block) {
            values_.forget_data();
            std::visit([&](const auto& node) { visit(node); }, statement.node);
        }
    }
    void walk_inside(const Block& block, size_t before) {
        walk(block);
        premises_.forget(before);
    }

    void visit(const Phase& phase) { walk(phase.body); }
    void visit(const EachRow& each) { walk_inside(each.body, premises_.mark()); }
    void visit(const For& loop) {
        const size_t before = premises_.mark();
        prove_range(loop.range);
        bind(loop.variable, loop.range);
        walk_inside(loop.body, before);
    }
    void visit(const Lanes& lanes) {
        const size_t before = premises_.mark();
        prove_range(lanes.range);
        bind(lanes.variable, lanes.range);
        lanes_ = &lanes;
        walk_inside(lanes.body, before);
        lanes_ = nullptr;
    }
    void visit(const Rows& rows) {
        const size_t before = premises_.mark();
        prove_range(rows.range);
        bind(rows.variable, rows.range);
        bind_digits(rows);
        walk_inside(rows.body, before);
    }

    // Row-major numbers of what the digits count.
    void bind_digits(const Rows& rows) {
        Polynomial sum, all = 1;
        for (size_t d = rows.fused.size(); d-- > 0;) {
            const Polynomial digit = bind(rows.fused[d].variable), extent = values_.of(rows.fused[d].extent);
            premises_.add(digit);
            premises_.add(extent - 1);
            if (d > 0) premises_.add(extent - 1 - digit);
            sum = sum + digit * all;
            all = all * extent;
        }
        if (rows.fused.empty()) return;
        const Polynomial row = values_.of(rows.variable);
        claim(all - 1 - row, "digits of " + tree_.variable(rows.variable).name);
        const Polynomial first = values_.of(rows.fused[0].variable);
        premises_.add(values_.of(rows.fused[0].extent) - 1 - first);
        premises_.add_equal(sum, row);
    }

    void visit(const Start& start) { prove_loads(start.value); }
    void visit(const Update& update) {
        for (ExpressionId value : {update.value, update.index, update.factor}) prove_loads(value);
    }
    void visit(const Finish&) {}
    void visit(const Define& define) {
        prove_loads(tree_.let(define.let).value);
        values_.define(define.let);
    }
    void visit(const Store& store) {
        for (ExpressionId value : {store.value, store.guard, store.fits}) prove_loads(value);
        for (ExpressionId value : store.beside) prove_loads(value);
        for (const auto& [value, factor] : store.address.element.values) prove_loads(value);
        prove_access(store.address, store.guard, static_cast<int64_t>(store.beside.size()));
        if (store.fits == no_id) return;
        const size_t before = premises_.mark();
        values_.forget_data();
        values_.assume(store.fits, true);
        prove_access(store.address, no_id, lanes_ ? lanes_->width - 1 : 0);
        premises_.forget(before);
    }
    void visit(const PrefetchStart&) {}  // touches nothing that a program could see
    void visit(const Prefetch&) {}

    void prove_range(const Range& range) {
        for (const auto* bounds : {&range.lower, &range.upper}) {
            for (const Bound& bound : *bounds) {
                for (const auto& [value, factor] : bound.affine.values) prove_loads(value);
            }
        }
    }

    // Of all that it is computed from here.
    void prove_loads(ExpressionId root) {
        if (root == no_id) return;
        std::set<ExpressionId> seen;
        std::vector<ExpressionId> open{root};
        while (!open.empty()) {
            const ExpressionId at = open.back();
            open.pop_back();
            if (!seen.insert(at).second) continue;
            const Expression& e = tree_.expression(at);
            open.insert(open.end(), e.operands.begin(), e.operands.end());
            for (const Affine* affine : {&e.affine, &e.address.element}) {
                for (const auto& [value, factor] : affine->values) open.push_back(value);
            }
            if (e.kind == Expression::Kind::load) prove_access(e.address, e.operands.empty() ? no_id : e.operands[0], 0);
        }
    }

    // `beside`: elements behind it that are touched, too.
    void prove_access(const Address& address, ExpressionId guard, int64_t beside) {
        const size_t before = premises_.mark();
        values_.forget_data();
        values_.set_guard(guard);
        if (guard != no_id) values_.assume(guard, true);
        const Memory& memory = tree_.memory(address.memory);
        Polynomial first = values_.of(address.element), last;
        if (address.access == Access::packed) {
            const Panels panels = panels_of(address);
            first = first + panels.element;
            last = first + panels.size - 1;
        } else {
            last = first + beside;
        }
        for (const Term& term : memory.origin) first = first - values_.of(term), last = last - values_.of(term);
        const int64_t width = bytes(memory.dtype);
        const Ends& room = rooms_[static_cast<size_t>(address.memory)];
        claim(first * width + room.before, "before " + memory.name);
        claim(room.behind - width - last * width, "behind " + memory.name);
        values_.set_guard(no_id);
        values_.forget_data();
        premises_.forget(before);
    }

    struct Panels {
        Polynomial element;  // what the first lane of a block has beside what its number says
        int64_t size = 0;
    };

    // A block's lanes lie side by side; it begins at a whole panel.
    Panels panels_of(const Address& address) {
        if (!lanes_) return {};
        const int64_t size = int64_t{lanes_->vectors} * lanes_->width;
        const Polynomial lane = values_.of(lanes_->variable);
        Polynomial factor;
        for (const Term& term : address.element.terms) {
            if (term.variable == lanes_->variable) factor = factor + Polynomial(term.scale) * values_.of(term.number);
        }
        const Polynomial number = Polynomial::of_atom(premises_.atom("panel"));
        premises_.add(number);
        for (const Bound& bound : lanes_->range.lower) claim_panel(bound, size);
        for (const Bound& bound : lanes_->range.upper) add_panels(bound, number, size);
        return {factor * (Polynomial(size) * number - lane), size};
    }

    // A multiple of it.
    void claim_panel(const Bound& bound, int64_t size) {
        const auto is_whole = [&](const Number& number) {
            const int64_t factor = number.launch ? numbers_[static_cast<size_t>(number.value)].factor() : number.value;
            return factor % size == 0;
        };
        const bool fits = bound.divisor.is(1) && bound.affine.values.empty() && is_whole(bound.affine.constant) &&
                          std::ranges::all_of(bound.affine.terms, [&](const Term& term) {
                              const auto axis = std::ranges::find(tree_.tasks, term.variable, &TaskAxis::begin);
                              return is_whole(term.number) || (axis != tree_.tasks.end() && is_whole(axis->step));
                          });
        claim(fits ? 0 : -1, "panels of " + tree_.variable(lanes_->variable).name);
    }

    void add_panels(const Bound& bound, const Polynomial& number, int64_t size) {
        if (!bound.divisor.is(1)) return;
        Polynomial end = values_.of(bound.affine);
        premises_.add(end - 1 - Polynomial(size) * number);
        for (const auto& [variable, extent] : extents_) end = end.with(values_.of(variable).greatest_atom(), extent);
        premises_.add(premises_.quotient(end - 1, size) - number);
    }

    void claim(const Polynomial& not_negative, const std::string& what) {
        proof_.statements++;
        if (premises_.proves(not_negative)) return;
        proof_.unproved.push_back(fmt::format("{}: {} >= 0", what, premises_.text(not_negative)));
    }

    const Tree& tree_;
    const std::vector<Size>& numbers_;
    Premises& premises_;
    TreeValues values_;
    std::vector<Ends> rooms_;
    std::map<VariableId, Polynomial> extents_;  // of ends of tasks
    const Lanes* lanes_ = nullptr;
    AccessProof proof_;
};

}  // namespace

AccessProof prove_accesses(const Tree& tree, const std::vector<Size>& numbers, const std::vector<Room>& rooms, Premises& premises) {
    return AccessProver(tree, numbers, rooms, premises).prove();
}

}  // namespace heddle::schedules
