#include "equations/pass_support.h"

#include "expr/arena_interval.h"
#include "equations/checked_indices.h"
#include "equations/scatter.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <ranges>
#include <set>
#include <unordered_set>

#include "expr/remake.h"
#include "zspace/checked.h"
#include "zspace/class_order.h"

namespace heddle::equations {
namespace {

// Nodes of the value: not below reads, not conditions on coordinates.
template <typename Visit>
void visit_value(Expr root, Visit visit) {
    std::unordered_set<Expr> seen;
    std::vector<Expr> stack = {root};
    while (!stack.empty()) {
        Expr expression = stack.back();
        stack.pop_back();
        if (expression->is_coordinate() || !seen.insert(expression).second) continue;
        visit(expression);
        if (expression->is_read()) continue;
        for (Expr operand : expression->parts()) {
            if (operand->kind == Kind::negative || operand->kind == Kind::conjunction) continue;
            stack.push_back(operand);
        }
    }
}

bool has_division(Expr coordinate) {
    const auto nodes = walk(coordinate);
    return std::any_of(nodes.begin(), nodes.end(), [](Expr node) {
        return node->kind == Kind::floor_divide || node->kind == Kind::modulo || node->is_read();
    });
}

// The cut that makes digits of `axis` (which counts `factor`) under a division by `divisor`; 0: none needed, -1: none
// can.
int64_t wanted_cut(int64_t factor, int64_t divisor, const Size& extent) {
    if (factor < 0 || divisor % factor != 0) return -1;
    if (factor * extent <= divisor) return 0;
    if (!divides(divisor / factor, extent)) return -1;
    return divisor / factor;
}

bool solvable_by_cuts(const Arena& arena, Expr division, std::map<AxisId, std::set<int64_t>>& cuts) {
    const CoordinateForm form = linear_form(division->parts()[0]);
    // No axis is cut by a named size (pass_factor.cpp).
    if (division->integer.named()) return false;
    const int64_t divisor = division->integer.number();
    if (!divides(divisor, form.constant)) return false;
    bool cut_any = false;
    for (const auto& [atom, factor] : form.terms) {
        if (divides(divisor, factor)) continue;
        if (atom->kind != Kind::variable || factor.named()) return false;
        const AxisId axis = atom->axes[0];
        const int64_t cut = wanted_cut(factor, divisor, arena.extent(axis));
        if (cut < 0) return false;
        if (cut == 0) continue;
        cuts[axis].insert(cut);
        cut_any = true;
    }
    return cut_any;
}

bool forms_chain(const std::set<int64_t>& cuts) {
    int64_t previous = 1;
    for (int64_t cut : cuts) {
        if (cut % previous != 0) return false;
        previous = cut;
    }
    return true;
}

Expr guarded(Arena& arena, Expr read, std::span<const Expr> coordinates, const SystemTensor& tensor, Expr value) {
    Expr condition = arena.truth(true);
    for (size_t d = 0; d < coordinates.size(); d++) {
        condition = arena.conjunction(condition, arena.inside(coordinates[d], tensor.shape[d]));
    }
    return arena.select(condition, value, read->parts().back());
}

// A view's guard can be taken over by the tensor that it looks at: each coordinate that may lie outside is a whole
// dimension there, alone and nowhere else.
bool guard_passes(const System& system, const Equation& view, Expr read) {
    const SystemTensor& seen = system.tensor(view.right->tensor());
    const SystemTensor& tensor = system.tensor(view.tensor);
    for (size_t d = 0; d < tensor.shape.size(); d++) {
        if (is_always_within(interval(read->parts()[d]), 0, tensor.shape[d] - 1)) continue;
        const auto digits = digits_of(view.left[d]);
        if (digits.size() != 1 || linear_form(view.left[d]).constant != 0) return false;
        int uses = 0;
        bool whole = false;
        for (size_t k = 0; k < view.right->parts().size(); k++) {
            Expr coordinate = view.right->parts()[k];
            if (!std::binary_search(coordinate->axes.begin(), coordinate->axes.end(), digits[0].axis)) continue;
            uses++;
            whole = coordinate->kind == Kind::variable && seen.shape[k] == tensor.shape[d];
        }
        if (uses != 1 || !whole) return false;
    }
    return true;
}

// `read` of what `equation` makes, with the equation's right side in its place.
Expr composed(System& system, const Equation& equation, Expr read) {
    Arena& arena = *system.arena;
    const auto coordinates = coordinates_of(read);
    Expr value = arena.substitute(equation.right, axes_at(arena, equation, coordinates));
    if (read->kind == Kind::read) return value;
    if (is_view(equation) && guard_passes(system, equation, read) && value->kind == Kind::read) {
        const SystemTensor& seen = system.tensor(value->tensor());
        return arena.guarded_read(value->tensor(), value->dtype, coordinates_of(value), read->parts().back(),
                                  seen.shape);
    }
    return guarded(arena, read, coordinates, system.tensor(equation.tensor), value);
}

}  // namespace

const ValueFacts& FactCache::of(Expr right) {
    auto [entry, fresh] = facts_.try_emplace(right);
    if (!fresh) return entry->second;
    ValueFacts facts;
    visit_value(right, [&](Expr node) {
        if (node->axes.empty()) return;  // one value, before all points
        if (node->kind == Kind::scalar) {
            facts.operations += info(node->op).cost;
            facts.expensive |= is_expensive(node->op);
        } else if (node->kind == Kind::cast) {
            facts.operations += 1;
        }
    });
    facts.nodes = static_cast<int>(walk(right).size());
    return entry->second = facts;
}

Box box_of(const Equation& equation) {
    Box box;
    for (Expr left : equation.left) {
        box.start.push_back(left->low);
        box.end.push_back(left->high + 1);
    }
    return box;
}

Box box_of_read(const SystemTensor& tensor, Expr read) {
    Box box;
    for (size_t d = 0; d < tensor.shape.size(); d++) {
        const Expr coordinate = read->parts()[d];
        box.start.push_back(maximum(coordinate->low, 0));
        box.end.push_back(minimum(coordinate->high, tensor.shape[d] - 1) + 1);
    }
    return box;
}

// The only equation of the tensor, if it makes all of it, whatever its sizes are; else -1.
static int32_t only_maker(const System& system, const SystemTensor& tensor) {
    if (tensor.equations.size() != 1) return -1;
    const Equation& equation = system.equation(tensor.equations[0]);
    if (equation.dead) return -1;
    for (size_t d = 0; d < tensor.shape.size(); d++) {
        const Expr left = equation.left[d];
        if (!left->low.same_as(0) || !(left->high + 1).same_as(tensor.shape[d])) return -1;
    }
    return tensor.equations[0];
}

int32_t maker_of(const System& system, Expr read) {
    const SystemTensor& tensor = system.tensor(read->tensor());
    if (tensor.equations.empty()) return -1;
    if (const int32_t only = only_maker(system, tensor); only >= 0) return only;
    const Box reach = box_of_read(tensor, read);
    for (int32_t index : tensor.equations) {
        const Equation& equation = system.equation(index);
        if (equation.dead) continue;
        if (contains(box_of(equation), reach)) return index;
    }
    return -1;
}

std::vector<int32_t> makers_of(const System& system, Expr read) {
    const SystemTensor& tensor = system.tensor(read->tensor());
    if (const int32_t only = only_maker(system, tensor); only >= 0) return {only};
    std::vector<int32_t> result;
    const Box reach = box_of_read(tensor, read);
    const bool never = reach.is_empty();
    for (int32_t index : tensor.equations) {
        const Equation& equation = system.equation(index);
        if (!equation.dead && (never || overlap(box_of(equation), reach))) result.push_back(index);
    }
    return result;
}

std::vector<Digit> digits_of(Expr left) {
    std::vector<Digit> digits;
    for (const auto& [atom, factor] : linear_form(left).terms) {
        if (atom->kind == Kind::variable) digits.push_back({atom->axes[0], factor});
    }
    std::sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) { return a.radix > b.radix; });
    return digits;
}

std::vector<std::pair<AxisId, Expr>> digits_at(Arena& arena, Expr left, Expr coordinate) {
    const Size offset = linear_form(left).constant;
    Expr rest = offset.same_as(0) ? coordinate : arena.add(coordinate, arena.integer(-offset));
    std::vector<std::pair<AxisId, Expr>> result;
    for (const Digit& digit : digits_of(left)) {
        Expr value = arena.floor_divide(rest, digit.radix);
        if (!result.empty()) value = arena.modulo(value, maximum(arena.extent(digit.axis), 1));
        result.push_back({digit.axis, value});
    }
    return result;
}

Arena::Substitution axes_at(Arena& arena, const Equation& equation, std::span<const Expr> coordinates) {
    Arena::Substitution substitution;
    for (size_t d = 0; d < coordinates.size(); d++) {
        for (auto [axis, value] : digits_at(arena, equation.left[d], coordinates[d])) substitution[axis] = value;
    }
    return substitution;
}

Expr row_major_address(const System& system, Expr read) {
    Arena& arena = *system.arena;
    const auto& shape = system.tensor(read->tensor()).shape;
    Expr address = arena.integer(0);
    const auto coordinates = coordinates_of(read);
    for (size_t d = 0; d < coordinates.size(); d++) address = arena.add(coordinates[d], address, shape[d]);
    return address;
}

bool CleanCache::is_clean(const System& system, Expr read) {
    auto found = known_.find(read);
    if (found != known_.end()) return found->second;
    const auto coordinates = coordinates_of(read);
    bool clean = std::none_of(coordinates.begin(), coordinates.end(), has_division);
    if (!clean) clean = !has_division(row_major_address(system, read));
    if (!clean) {
        clean = true;
        std::map<AxisId, std::set<int64_t>> cuts;
        for (Expr coordinate : coordinates) {
            for (Expr node : walk(coordinate)) {
                if (node->kind != Kind::floor_divide && node->kind != Kind::modulo) continue;
                clean = clean && solvable_by_cuts(*system.arena, node, cuts);
            }
        }
        for (const auto& [axis, wanted] : cuts) clean = clean && forms_chain(wanted);
    }
    return known_[read] = clean;
}

AxisId CanonicalAxes::get(size_t position, AxisId like) {
    const Axis axis = arena_.axis(like);
    const auto key = std::tuple(position, axis.extent.number(), axis.extent.origin(), axis.named, axis.factor, axis.hint, axis.most);
    auto found = made_.find(key);
    if (found != made_.end()) return found->second;
    return made_[key] = arena_.add_axis(axis);
}

Expr replace_reads(Arena& arena, Expr root, const ReadReplacement& replace) {
    return remade(root, [&](Expr node, std::vector<Expr> operands) {
        Expr made = arena.rebuild(node, std::move(operands));
        Expr replaced = made->is_read() ? replace(made) : nullptr;
        return replaced ? replaced : made;
    });
}

void inline_equations(System& system, const std::vector<bool>& chosen) {
    CleanCache cache;
    std::set<TensorIndex> kept;
    const auto replace = [&](Expr read) -> Expr {
        const int32_t maker = maker_of(system, read);
        if (maker < 0 || !chosen[static_cast<size_t>(maker)]) return nullptr;
        const CheckedIndices indices(system, read);
        Expr value = composed(system, system.equation(maker), read);
        bool checked = indices.fail_in(value);
        if (!checked) {
            const Expr sent = indices.sent_far();
            value = composed(system, system.equation(maker), sent);
            checked = indices.far_in(value, sent);
        }
        const auto is_unclean = [&](Expr node) { return node->is_read() && !cache.is_clean(system, node); };
        const bool spoilt = cache.is_clean(system, read) && std::ranges::any_of(walk(value), is_unclean);
        if (!spoilt && checked) return value;
        kept.insert(read->tensor());
        return nullptr;
    };
    for (int32_t index : system.order()) {
        Equation& equation = system.equation(index);
        bool concerned = false;
        for (Expr read : reads(equation)) {
            const int32_t maker = maker_of(system, read);
            concerned = concerned || (maker >= 0 && chosen[static_cast<size_t>(maker)]);
        }
        if (concerned) equation.right = replace_reads(*system.arena, equation.right, replace);
    }
    for (TensorIndex tensor : kept) system.tensor(tensor).keep_name = true;
    prune(system);
}

Expr number_of_term(Arena& arena, std::span<const AxisId> reduced) {
    Expr number = arena.integer(0);
    for (AxisId axis : reduced) number = arena.add(arena.axis_value(axis), number, arena.extent(axis));
    return number;
}

Size count_of_terms(const Arena& arena, std::span<const AxisId> reduced) {
    Size terms = 1;
    for (AxisId axis : reduced) terms = checked_multiply(terms, arena.extent(axis)).value_or(INT64_MAX);
    return terms;
}

Axis axis_of_extent(const System& system, std::string name, const Size& extent) {
    Axis axis{.name = std::move(name), .extent = extent, .named = extent.named()};
    if (!axis.named) return axis;
    axis.factor = extent.origin()->constant_factor();
    axis.hint = std::max<int64_t>(1, extent.at(system.representatives));  // it may be empty there
    const Interval extents = extent.origin()->within_class(system.representatives);
    if (extents.known_high()) axis.most = extents.high.number();
    return axis;
}

double hint_points(const Arena& arena, const std::vector<AxisId>& axes) {
    double points = 1;
    for (AxisId axis : axes) points *= static_cast<double>(arena.hint(axis));
    return points;
}

Expr name_reduction(System& system, int32_t index, const std::string& suffix, Expr term,
                    Arena::Substitution& renaming) {
    Arena& arena = *system.arena;
    const SystemTensor& whole = system.tensor(system.equation(index).tensor);
    SystemTensor tensor;
    tensor.name = whole.name + suffix;
    tensor.dtype = term->dtype;
    tensor.shape = whole.shape;
    tensor.operation = whole.operation;
    Equation inner = system.equation(index);
    inner.right = term;
    Equation outer = inner;
    outer.reducer.reset();
    outer.reduced.clear();
    for (AxisId& axis : outer.axes) {
        const AxisId own = arena.add_axis(Axis(arena.axis(axis)));
        renaming[axis] = arena.axis_value(own);
        axis = own;
    }
    for (Expr& left : outer.left) left = arena.substitute(left, renaming);
    inner.tensor = system.add_tensor(std::move(tensor));
    const Expr read = arena.read(inner.tensor, term->dtype, outer.left);
    outer.right = read;
    system.equation(index) = std::move(outer);
    system.add_equation(std::move(inner));
    return read;
}

bool reads_inside(const System& system, Expr value) {
    for (Expr e : walk(value)) {
        if (e->kind != Kind::read) continue;
        const std::vector<Size>& shape = system.tensor(e->tensor()).shape;
        for (size_t d = 0; d < shape.size(); d++) {
            if (e->parts()[d]->low < 0 || e->parts()[d]->high >= shape[d]) return false;
        }
    }
    return true;
}

namespace {

// As `lazy_conjunction` makes it.
bool is_lazy_conjunction(Expr e) {
    return e->kind == Kind::select && e->parts()[2]->kind == Kind::integer && e->parts()[2]->integer == 0;
}

class GuardedReads {
public:
    GuardedReads(Arena& arena, const GuardedRead& visit, std::vector<Expr> known)
        : arena_(arena), visit_(visit), below_zero_(std::move(known)) {}

    bool follow(Expr e) {
        constexpr int most_visited = 1000;
        if (visited_++ == most_visited) return false;
        if (e->is_read() && !visit_(e, below_zero_)) return false;
        const auto& parts = e->parts();
        if (e->kind != Kind::select) return std::ranges::all_of(parts, [&](Expr part) { return follow(part); });
        return follow(parts[0]) && follow_where(parts[0], true, parts[1]) && follow_where(parts[0], false, parts[2]);
    }

private:
    bool follow_where(Expr condition, bool holds, Expr branch) {
        const size_t before = below_zero_.size();
        add(condition, holds);
        const bool followed = follow(branch);
        below_zero_.resize(before);
        return followed;
    }

    void add(Expr condition, bool holds) {
        if (condition->kind == Kind::negative) {
            below_zero_.push_back(where(condition, holds));
        } else if (condition->kind == Kind::scalar && condition->op == ScalarOp::logical_not) {
            add(condition->parts()[0], !holds);
        } else if (holds && is_lazy_conjunction(condition)) {
            for (Expr part : std::views::take(condition->parts(), 2)) add(part, true);
        } else if (is_join(condition, holds ? ScalarOp::logical_and : ScalarOp::logical_or, holds)) {
            for (Expr part : condition->parts()) add(part, holds);
        } else if (is_join(condition, holds ? ScalarOp::logical_or : ScalarOp::logical_and, !holds)) {
            add_last_open(condition, holds);
        }
    }

    static bool is_join(Expr condition, ScalarOp op, bool conjunction) {
        return (condition->kind == Kind::scalar && condition->op == op) ||
               (conjunction && condition->kind == Kind::conjunction);
    }

    // One part has this answer. If all others are known to have the other one, it is this one.
    void add_last_open(Expr condition, bool holds) {
        Expr open = nullptr;
        for (Expr part : condition->parts()) {
            const bool other = part->kind == Kind::negative && follows(arena_, where(part, !holds), below_zero_);
            if (!other && open) return;
            if (!other) open = part;
        }
        if (open) add(open, holds);
    }

    // What is below 0 where `c < 0` has this answer.
    Expr where(Expr condition, bool holds) {
        Expr c = condition->parts()[0];
        return holds ? c : arena_.add(arena_.integer(-1), c, -1);
    }

    Arena& arena_;
    const GuardedRead& visit_;
    std::vector<Expr> below_zero_;
    int visited_ = 0;
};

}  // namespace

bool visit_guarded_reads(Arena& arena, Expr root, const GuardedRead& visit, std::vector<Expr> known) {
    return GuardedReads(arena, visit, std::move(known)).follow(root);
}

bool follows(Arena& arena, Expr coordinate, const std::vector<Expr>& below_zero) {
    const auto is_below = [&](Expr known) { return arena.add(coordinate, known, -1)->high <= 0; };
    if (coordinate->high < 0 || std::ranges::any_of(below_zero, is_below)) return true;
    for (const auto& [atom, factor] : linear_form(coordinate).terms) {
        if (atom->kind != Kind::minimum && atom->kind != Kind::maximum) continue;
        const bool largest =
            (atom->kind == Kind::maximum) == (factor > 0);  // it is below 0 if that of both operands is
        const Expr rest = arena.add(coordinate, atom, -factor), a = atom->parts()[0], b = atom->parts()[1];
        const auto holds = [&](Expr operand) { return follows(arena, arena.add(rest, operand, factor), below_zero); };
        const auto is_other = [&](Expr one, Expr other) {  // `one` is never the one that is taken alone
            const Expr past = atom->kind == Kind::maximum ? arena.add(one, other, -1) : arena.add(other, one, -1);
            return follows(arena, arena.add(past, arena.integer(-1)), below_zero);
        };
        return largest ? (holds(a) && (holds(b) || is_other(b, a))) || (holds(b) && is_other(a, b))
                       : holds(a) || holds(b);
    }
    return false;
}

bool reads_inside_where_asked(const System& system, Expr value) {
    if (reads_inside(system, value)) return true;
    Arena& arena = *system.arena;
    return visit_guarded_reads(arena, value, [&](Expr read, const std::vector<Expr>& below_zero) {
        if (read->kind == Kind::guarded_read) return true;
        const std::vector<Size>& shape = system.tensor(read->tensor()).shape;
        for (size_t d = 0; d < shape.size(); d++) {
            Expr at = read->parts()[d];
            const bool above = at->low >= 0 || follows(arena, arena.add(arena.integer(-1), at, -1), below_zero);
            const bool below =
                at->high < shape[d] || follows(arena, arena.add(at, arena.integer(-shape[d])), below_zero);
            if (!above || !below) return false;
        }
        return true;
    });
}

std::vector<Expr> conditions_of(Expr condition, const std::function<bool(Expr)>& may) {
    std::vector<Expr> result, stack = {condition};
    while (!stack.empty()) {
        Expr e = stack.back();
        stack.pop_back();
        if (is_lazy_conjunction(e) && may(e->parts()[1])) {
            stack.insert(stack.end(), {e->parts()[1], e->parts()[0]});
        } else if (e->kind == Kind::conjunction || (e->kind == Kind::scalar && e->op == ScalarOp::logical_and)) {
            for (Expr part : std::views::reverse(e->parts())) stack.push_back(part);
        } else {
            result.push_back(e);
        }
    }
    return result;
}

Expr lazy_conjunction(const System& system, Expr first, Expr then) {
    Arena& arena = *system.arena;
    return reads_inside(system, then) ? arena.conjunction(first, then) : arena.select(first, then, arena.truth(false));
}

double hint_points(const System& system, const Equation& equation) {
    const Arena& arena = *system.arena;
    const auto scatter = scatter_of(system, equation);
    double points = hint_points(arena, equation.reduced);
    for (AxisId axis : equation.axes) {
        if (!scatter || !scatter->chooses(axis)) points *= static_cast<double>(arena.hint(axis));
    }
    return points;
}

namespace {

// A product-like term: what stands at its top once guards with a neutral value and casts are taken off.
Expr term_of(Expr right) {
    while ((right->kind == Kind::select && right->parts()[2]->is_literal()) || right->kind == Kind::cast) {
        right = right->parts()[right->kind == Kind::select ? 1 : 0];
    }
    return right;
}

}  // namespace

ProductAxes product_axes(const Equation& equation) {
    ProductAxes result;
    if (!equation.reducer) return result;
    const Expr term = term_of(equation.right);
    if (term->kind != Kind::scalar || term->parts().size() != 2) return result;
    if (term->op != ScalarOp::multiply && term->op != ScalarOp::add && term->op != ScalarOp::subtract) return result;
    const auto has = [&](size_t factor, AxisId axis) {
        return std::ranges::binary_search(term->parts()[factor]->axes, axis);
    };
    for (AxisId axis : equation.reduced)
        if (has(0, axis) && has(1, axis)) result.reduced.push_back(axis);
    if (result.reduced.empty()) return result;
    for (AxisId axis : equation.axes) {
        if (has(0, axis) && !has(1, axis)) result.rows.push_back(axis);
        if (has(1, axis) && !has(0, axis)) result.columns.push_back(axis);
    }
    return result;
}

bool stays_in_step(const System& system, const Equation& equation, const std::vector<int32_t>& readers) {
    const SystemTensor& tensor = system.tensor(equation.tensor);
    if (equation.scan < 0 || tensor.is_output || tensor.equations.size() != 1) return false;
    return std::ranges::all_of(readers, [&](int32_t index) {
        const Equation& reader = system.equation(index);
        if (reader.scan != equation.scan) return false;
        return std::ranges::all_of(reads(reader), [&](Expr read) {
            return read->tensor() != equation.tensor || step_of_read(reader, read, equation) == 0;
        });
    });
}

bool is_view(const Equation& equation) { return !equation.reducer && equation.right->kind == Kind::read; }

void prune(System& system) {
    for (Equation& equation : system.equations) {
        const auto empty = [&](AxisId axis) { return system.arena->extent(axis) == 0; };
        equation.dead = equation.dead || std::ranges::any_of(equation.axes, empty);
    }
    std::vector<bool> needed(system.tensors.size());
    std::vector<TensorIndex> stack;
    const auto need = [&](TensorIndex tensor) {
        if (needed[static_cast<size_t>(tensor)]) return;
        needed[static_cast<size_t>(tensor)] = true;
        stack.push_back(tensor);
    };
    for (TensorIndex output : system.outputs) need(output);
    while (!stack.empty()) {
        const TensorIndex tensor = stack.back();
        stack.pop_back();
        for (TensorIndex input : system.tensor(tensor).opaque_inputs) need(input);
        for (int32_t index : system.tensor(tensor).equations) {
            if (system.equation(index).dead) continue;
            for (Expr read : reads(system.equation(index))) need(read->tensor());
        }
    }
    for (size_t t = 0; t < system.tensors.size(); t++) {
        SystemTensor& tensor = system.tensors[t];
        if (!needed[t]) {
            for (int32_t index : tensor.equations) system.equation(index).dead = true;
        }
        std::erase_if(tensor.equations, [&](int32_t index) { return system.equation(index).dead; });
        tensor.dead = !needed[t] && tensor.kind == SystemTensor::Kind::computed;
    }
}

}  // namespace heddle::equations
