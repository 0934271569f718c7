#include "gradient/gather.h"

#include <algorithm>
#include <set>

#include "gradient/zero_outside.h"
#include "zspace/linear_equation.h"

namespace heddle::gradient {
namespace {

bool contains(std::span<const VariableId> list, VariableId variable) {
    return std::ranges::find(list, variable) != list.end();
}

// A coordinate as a digit of another value: base // scale, or base // scale % extent.
struct Digit {
    NodeId base = no_id;
    int64_t scale = 1;
    int64_t extent = 0;  // 0: without a remainder
};

std::optional<int64_t> divisor(const Terms& terms, NodeId id, ScalarOp op) {
    const Node& node = terms.node(id);
    if (node.kind != Node::Kind::scalar || node.op != op || node.dtype != DType::int64) return std::nullopt;
    const Node& by = terms.node(node.operands[1]);
    if (by.kind != Node::Kind::integer || by.integer <= 0) return std::nullopt;
    return by.integer;
}

Digit digit_of(const Terms& terms, NodeId coordinate) {
    Digit digit{.base = coordinate};
    if (auto extent = divisor(terms, coordinate, ScalarOp::modulo)) {
        digit.extent = *extent;
        digit.base = terms.node(coordinate).operands[0];
    }
    while (auto by = divisor(terms, digit.base, ScalarOp::floor_divide)) {
        auto scale = checked_multiply(digit.scale, *by);
        if (!scale) break;
        digit.scale = *scale;
        digit.base = terms.node(digit.base).operands[0];
    }
    return digit;
}

class Gathering {
public:
    Gathering(Terms& terms, std::span<const VariableId> domain, std::span<const VariableId> fixed) : terms_(terms) {
        for (VariableId variable : domain) {
            if (contains(fixed, variable)) continue;
            domain_.push_back(variable);
            const Variable from = terms_.body().variable(variable);
            if (from.extent.value() == 1 && !from.extent.named()) {
                by_.variables[variable] = terms_.number(0);
                continue;
            }
            const VariableId made = terms_.nodes().add_variable(from.name, Variable::Kind::reduction, from.extent);
            open_.emplace(variable, made);
            by_.variables[variable] = terms_.nodes().variable(made);
        }
    }

    Part run(std::vector<Equality> equalities, const Part& part) {
        if (!equalities.empty()) forms_ = affine_forms(terms_.body());
        equalities = with_digits(std::move(equalities));
        split_variables(equalities);
        // Those with the fewest open variables first: what one fixes is known in the next.
        while (!equalities.empty()) {
            auto next = std::ranges::min_element(equalities, {}, [&](const Equality& e) { return rank(e); });
            solve(*next);
            equalities.erase(next);
        }
        store_shared(part.value);
        for (NodeId condition : part.conditions) store_shared(condition);
        NodeId value = terms_.substitute(part.value, by_);
        for (NodeId condition : part.conditions) add_condition(terms_, conditions_, terms_.substitute(condition, by_));
        return summed(value);
    }

private:
    const std::optional<AffineForm>& form(const Equality& equality) const {
        return forms_[static_cast<size_t>(equality.split < 0 ? equality.coordinate : equality.split)];
    }

    size_t rank(const Equality& equality) const {
        if (!form(equality)) return SIZE_MAX;
        return static_cast<size_t>(
            std::ranges::count_if(form(equality)->terms, [&](const auto& term) { return open_.contains(term.first); }));
    }

    // Where coordinates have v // c or v % c, and c divides the extent of v, v becomes two variables.
    void split_variables(std::vector<Equality>& equalities) {
        bool changed = false;
        for (auto found = splittable(equalities); found; found = splittable(equalities)) {
            const Node node = terms_.node(*found);  // nodes are made below
            const VariableId variable = terms_.node(node.operands[0]).variable();
            const int64_t by = terms_.node(node.operands[1]).integer;
            const Variable from = terms_.body().variable(variable);
            const int64_t extents[] = {from.extent.value() / by, by};
            NodeId parts[2];
            for (int i = 0; i < 2; ++i) {
                VariableId part = terms_.nodes().add_variable(from.name, Variable::Kind::reduction, extents[i]);
                parts[i] = terms_.nodes().variable(part);
                if (extents[i] == 1)
                    parts[i] = terms_.number(0);
                else
                    open_.emplace(part, part), by_.variables[part] = parts[i];
            }
            Substitution now;
            now.nodes[terms_.scalar(ScalarOp::floor_divide, node.operands)] = parts[0];
            now.nodes[terms_.scalar(ScalarOp::modulo, node.operands)] = parts[1];
            now.variables[variable] = terms_.plus_multiple(parts[1], parts[0], by);
            for (Equality& equality : equalities)
                equality.split = terms_.substitute(equality.split < 0 ? equality.coordinate : equality.split, now);
            close(variable, now.variables[variable]);
            by_.nodes.insert(now.nodes.begin(), now.nodes.end());
            changed = true;
        }
        if (changed) forms_ = affine_forms(terms_.body());
    }

    std::optional<NodeId> splittable(const std::vector<Equality>& equalities) {
        NodeList stack;
        std::set<NodeId> seen;
        for (const Equality& equality : equalities)
            stack.push_back(equality.split < 0 ? equality.coordinate : equality.split);
        while (!stack.empty()) {
            const NodeId id = stack.back();
            stack.pop_back();
            if (!seen.insert(id).second) continue;
            const Node& node = terms_.node(id);
            stack.insert(stack.end(), node.operands.begin(), node.operands.end());
            auto by = divisor(terms_, id, ScalarOp::floor_divide);
            if (!by) by = divisor(terms_, id, ScalarOp::modulo);
            if (!by || terms_.node(node.operands[0]).kind != Node::Kind::variable) continue;
            const VariableId variable = terms_.node(node.operands[0]).variable();
            const Size& extent = terms_.body().variable(variable).extent;
            if (open_.contains(variable) && !extent.named() && extent.value() % *by == 0) return id;
        }
        return std::nullopt;
    }

    // A reduction or a long value that is the same for many points of the domain is computed once for each of its own
    // points, if what stands for its variables is not as simple as they are: the adjoint of a window's sum is worked
    // out at each point that the window is around, and not at each place in it.
    void store_shared(NodeId root) {
        NodeList stack = {root};
        std::set<NodeId> seen;
        while (!stack.empty()) {
            const NodeId id = stack.back();
            stack.pop_back();
            if (!seen.insert(id).second || (terms_.worth_storing(id) && store(id))) continue;
            if (terms_.node(id).kind == Node::Kind::reduce) continue;
            std::span<const NodeId> operands = terms_.node(id).operands;
            stack.insert(stack.end(), operands.begin(), operands.end());
        }
    }

    bool store(NodeId id) {
        std::vector<VariableId> axes;
        bool moved = false, fewer = false;
        for (VariableId variable : domain_) {
            const bool used = terms_.depends(id, variable);
            const Node::Kind kind = terms_.node(by_.variables.at(variable)).kind;
            if (used) axes.push_back(variable);
            moved = moved || (used && kind == Node::Kind::scalar);
            fewer = fewer || (!used && kind != Node::Kind::integer);
        }
        if (!moved || !fewer || !terms_.safe(id)) return false;
        const LocalId local = terms_.stored(id, axes);
        NodeList at;
        for (VariableId variable : axes) at.push_back(by_.variables.at(variable));
        by_.nodes[id] = terms_.nodes().local(local, terms_.node(id).dtype, std::move(at));
        return true;
    }

    // Coordinates that are all digits of one value become one equality for that value.
    std::vector<Equality> with_digits(std::vector<Equality> equalities) {
        std::vector<Equality> result;
        std::vector<bool> taken(equalities.size());
        for (size_t i = 0; i < equalities.size(); ++i) {
            if (taken[i]) continue;
            const NodeId base = digit_of(terms_, equalities[i].coordinate).base;
            std::vector<std::pair<Digit, size_t>> group;
            for (size_t j = i; j < equalities.size(); ++j) {
                Digit digit = digit_of(terms_, equalities[j].coordinate);
                if (!taken[j] && digit.base == base) group.emplace_back(digit, j);
            }
            auto whole =
                group.size() > 1 && forms_[static_cast<size_t>(base)] ? whole_of(group, equalities) : std::nullopt;
            result.push_back(whole ? *whole : equalities[i]);
            for (const auto& [digit, j] : group) taken[j] = taken[j] || whole || j == i;
        }
        return result;
    }

    std::optional<Equality> whole_of(std::vector<std::pair<Digit, size_t>>& group,
                                     const std::vector<Equality>& equalities) {
        std::ranges::sort(group, {}, [](const auto& pair) { return pair.first.scale; });
        Equality whole{.coordinate = group[0].first.base, .target = terms_.number(0), .extent = 1};
        for (const auto& [digit, j] : group) {
            const bool last = j == group.back().second;
            if (digit.scale != whole.extent || (digit.extent == 0 && !last)) return std::nullopt;
            if (digit.extent != 0 && equalities[j].extent > digit.extent) return std::nullopt;
            auto extent = checked_multiply(whole.extent, digit.extent != 0 ? digit.extent : equalities[j].extent);
            if (!extent) return std::nullopt;
            whole.extent = *extent;
            if (digit.extent == 0) continue;
            if (last && !terms_.range(whole.coordinate).within(0, whole.extent - 1)) return std::nullopt;
        }
        for (size_t i = group.size(); i-- > 0;)
            whole.target = terms_.plus_multiple(whole.target, equalities[group[i].second].target, group[i].first.scale);
        return whole;
    }

    // target - constant - the terms whose variables have values; the others are left in `unsolved`.
    NodeId rest(const AffineForm& form, NodeId target, std::vector<std::pair<VariableId, int64_t>>& unsolved) {
        NodeId sum = terms_.plus_multiple(target, terms_.number(std::abs(form.constant)), form.constant > 0 ? -1 : 1);
        for (auto [variable, factor] : form.terms) {
            if (open_.contains(variable))
                unsolved.emplace_back(variable, factor);
            else
                sum = terms_.plus_multiple(sum, value_of(variable), -factor);
        }
        return sum;
    }

    NodeId value_of(VariableId variable) {
        auto known = by_.variables.find(variable);
        return known != by_.variables.end() ? known->second : terms_.nodes().variable(variable);
    }

    void solve(const Equality& equality) {
        std::vector<std::pair<VariableId, int64_t>> unsolved;
        const std::optional<AffineForm> affine = form(equality);
        if (!affine) {
            require(terms_.scalar(ScalarOp::equal, {terms_.substitute(equality.coordinate, by_), equality.target}));
            return;
        }
        NodeId value = rest(*affine, equality.target, unsolved);
        std::ranges::sort(unsolved, {}, [](const auto& term) { return term.second; });
        // What has a value may have it of a variable that is still open: nothing is solved for that one here.
        const auto held = std::ranges::stable_partition(
            unsolved, [&](const auto& term) { return !terms_.depends(value, open_.at(term.first)); });
        for (auto [variable, factor] : held) value = terms_.plus_multiple(value, value_of(variable), -factor);
        const bool plain = held.empty();
        unsolved.erase(held.begin(), held.end());
        if (unsolved.empty()) {
            require_equal(equality, *affine);
        } else if (auto radix = radix_of(unsolved); plain && radix.fits() && (unsolved.size() > 1 || !radix.digits[0].reversed)) {
            for (const auto& digit : radix.digits)
                if (digit.reversed) value = terms_.plus_multiple(value, last_of(digit.atom), digit.factor);
            inside(value, radix.extent);
            solve_radix(radix, value);
        } else {
            solve_one(unsolved, value);
        }
        // Now the coordinate itself has the target's value, where it can be computed at all.
        if (!affine->terms.empty()) by_.nodes[equality.coordinate] = equality.target;
    }

    // A coordinate whose variables all have values.
    void require_equal(const Equality& equality, const AffineForm& form) {
        NodeId found = terms_.number(form.constant);
        for (auto [variable, factor] : form.terms) found = terms_.plus_multiple(found, value_of(variable), factor);
        const bool only = equality.extent == 1 && terms_.range(found) == Interval::point(0);
        if (!only) require(terms_.scalar(ScalarOp::equal, {equality.target, found}));
    }

    MixedRadix<VariableId> radix_of(std::span<const std::pair<VariableId, int64_t>> unsolved) const {
        RadixDigits<VariableId> digits;
        for (auto [variable, factor] : unsolved)
            digits.push_back({variable, factor, terms_.body().variable(variable).extent.value()});
        return mixed_radix(std::move(digits));
    }

    // The greatest value of a variable.
    NodeId last_of(VariableId variable) {
        return terms_.plus_multiple(terms_.size(terms_.body().variable(variable).extent), terms_.number(1), -1);
    }

    void solve_radix(const MixedRadix<VariableId>& radix, NodeId value) {
        for (const RadixDigit<VariableId>& digit : radix.digits) {
            NodeId part = terms_.scalar(ScalarOp::floor_divide, {value, terms_.number(digit.factor)});
            if (&digit != &radix.digits.back()) {
                NodeId extent = terms_.size(terms_.body().variable(digit.atom).extent);
                part = terms_.scalar(ScalarOp::modulo, {part, extent});
            }
            close(digit.atom, digit.reversed ? terms_.plus_multiple(last_of(digit.atom), part, -1) : part);
        }
    }

    // For the variable of the largest extent, so that the sum has the fewest terms; of equals for one of coefficient 1.
    void solve_one(const std::vector<std::pair<VariableId, int64_t>>& unsolved, NodeId value) {
        auto best = std::ranges::max_element(unsolved, {}, [&](const auto& term) {
            return std::pair(terms_.body().variable(term.first).extent.value(), std::abs(term.second) == 1);
        });
        const auto [solved, factor] = *best;
        for (auto [variable, other] : unsolved)
            if (variable != solved) value = terms_.plus_multiple(value, value_of(variable), -other);
        const LinearSolution solution = solution_for(factor);
        if (solution.multiplier < 0) value = terms_.plus_multiple(terms_.number(0), value, -1);
        if (solution.divisor != 1) {
            NodeId by = terms_.number(solution.divisor), remainder = terms_.scalar(ScalarOp::modulo, {value, by});
            require(terms_.scalar(ScalarOp::equal, {remainder, terms_.number(0)}));
            value = terms_.scalar(ScalarOp::floor_divide, {value, by});
        }
        inside(value, terms_.body().variable(solved).extent);
        close(solved, value);
    }

    void require(NodeId condition) { add_condition(terms_, conditions_, condition); }

    void inside(NodeId value, const Size& extent) {
        for (NodeId condition : terms_.inside(value, extent)) require(condition);
    }

    // The variable has a value now, which all that was made with it gets.
    void close(VariableId variable, NodeId value) {
        const Substitution now{.variables = {{open_.at(variable), value}}, .nodes = {}};
        open_.erase(variable);
        by_.variables[variable] = value;
        for (auto& [other, solution] : by_.variables) solution = terms_.substitute(solution, now);
        for (auto& [node, solution] : by_.nodes) solution = terms_.substitute(solution, now);
        NodeList conditions = std::move(conditions_);
        conditions_.clear();
        for (NodeId condition : conditions) add_condition(terms_, conditions_, terms_.substitute(condition, now));
    }

    // The sum over the variables that are still open.
    Part summed(NodeId value) {
        NodeList filter;
        std::vector<VariableId> variables;
        auto uses = [&](NodeId id, VariableId variable) { return terms_.depends(id, variable); };
        for (auto [variable, own] : open_) {
            const bool used =
                uses(value, own) || std::ranges::any_of(conditions_, [&, v = own](NodeId c) { return uses(c, v); });
            if (used)
                variables.push_back(own);
            else
                value = terms_.scalar(ScalarOp::multiply, {value, times(own, terms_.node(value).dtype)});
        }
        if (variables.empty()) return {conditions_, value};
        Part result;
        NodeList reading;  // asked where the filter holds
        const auto is_inner = [&](NodeId condition) {
            return std::ranges::any_of(variables, [&](VariableId v) { return uses(condition, v); });
        };
        const bool filters = std::ranges::any_of(
            conditions_, [&](NodeId condition) { return terms_.plain(condition) && is_inner(condition); });
        for (NodeId condition : conditions_) {
            // What may only be read where the filter holds is asked there, too.
            const bool inner = is_inner(condition) || (filters && !terms_.safe(condition));
            auto& list = !inner ? result.conditions : terms_.plain(condition) ? filter : reading;
            add_condition(terms_, list, condition);
        }
        if (NodeId asked = all_of(terms_, reading); asked >= 0)
            value = terms_.nodes().select(asked, value, terms_.nodes().real(0, terms_.node(value).dtype, true));
        const Node term = terms_.node(value);  // nodes are made below
        if (term.kind == Node::Kind::reduce && term.reducer == Reducer::sum) {
            value = term.operands[0];
            variables.insert(variables.end(), term.variables.begin(), term.variables.end());
            if (term.operands.size() > 1) add_condition(terms_, filter, term.operands[1]);
        }
        value = with_zeros_outside(terms_, value, filter);
        NodeId condition = all_of(terms_, filter);
        result.value = terms_.nodes().reduce(Reducer::sum, term.dtype, std::move(variables), value, condition);
        return result;
    }

    NodeId times(VariableId variable, DType dtype) {
        return terms_.nodes().cast(terms_.size(terms_.body().variable(variable).extent), dtype);
    }

    Terms& terms_;
    std::vector<std::optional<AffineForm>> forms_;  // of the nodes of coordinates
    std::vector<VariableId> domain_;                // that is summed over
    std::map<VariableId, VariableId> open_;         // without a value yet: what stands for them
    Substitution by_;
    NodeList conditions_;
};

NodeId negated(Terms& terms, NodeId condition) { return terms.scalar(ScalarOp::logical_not, {condition}); }

NodeId zero_of(Terms& terms, NodeId value) { return terms.nodes().real(0, terms.node(value).dtype, true); }

NodeId sum_of(Terms& terms, NodeId a, NodeId b) { return terms.scalar(ScalarOp::add, {a, b}); }

}  // namespace

void add_condition(const Terms& terms, NodeList& conditions, NodeId condition) {
    const Node& node = terms.node(condition);
    if (node.kind == Node::Kind::scalar && node.op == ScalarOp::logical_and) {
        for (NodeId operand : node.operands) add_condition(terms, conditions, operand);
        return;
    }
    if (node.kind == Node::Kind::integer && node.integer != 0) return;
    auto place = std::ranges::lower_bound(conditions, condition);
    if (place == conditions.end() || *place != condition) conditions.insert(place, condition);
}

NodeId all_of(Terms& terms, std::span<const NodeId> conditions) {
    // What reads may only be read where the others hold.
    NodeId plain = no_id, reading = no_id;
    for (NodeId condition : conditions) {
        NodeId& all = terms.plain(condition) ? plain : reading;
        all = all < 0 ? condition : terms.scalar(ScalarOp::logical_and, {all, condition});
    }
    if (plain < 0 || reading < 0) return plain < 0 ? reading : plain;
    return terms.nodes().select(plain, reading, terms.nodes().boolean(false));
}

// Those that read nothing, as one; -1 where there is none.
static NodeId plain_of(Terms& terms, const NodeList& conditions) {
    NodeList plain;
    std::ranges::copy_if(conditions, std::back_inserter(plain), [&](NodeId c) { return terms.plain(c); });
    return all_of(terms, plain);
}

Part joined(Terms& terms, const Part& a, const Part& b) {
    Part result, left{{}, a.value}, right{{}, b.value};
    std::ranges::set_intersection(a.conditions, b.conditions, std::back_inserter(result.conditions));
    std::ranges::set_difference(a.conditions, result.conditions, std::back_inserter(left.conditions));
    std::ranges::set_difference(b.conditions, result.conditions, std::back_inserter(right.conditions));
    const NodeId first = all_of(terms, left.conditions), second = all_of(terms, right.conditions);
    BodyNodes& nodes = terms.nodes();
    if (first >= 0 && second >= 0 && (negated(terms, first) == second || negated(terms, second) == first)) {
        const bool positive = negated(terms, first) == second;
        result.value = positive ? nodes.select(first, a.value, b.value) : nodes.select(second, b.value, a.value);
        return result;
    }
    NodeId x = first < 0 ? a.value : nodes.select(first, a.value, zero_of(terms, a.value));
    NodeId y = second < 0 ? b.value : nodes.select(second, b.value, zero_of(terms, b.value));
    if (first >= 0 && second >= 0) {
        add_condition(terms, result.conditions, terms.scalar(ScalarOp::logical_or, {first, second}));
        // What both ask by reading may only be read where one of them would.
        const NodeId plain = plain_of(terms, left.conditions), other = plain_of(terms, right.conditions);
        if (plain >= 0 && other >= 0)
            add_condition(terms, result.conditions, terms.scalar(ScalarOp::logical_or, {plain, other}));
    }
    result.value = sum_of(terms, x, y);
    return result;
}

Part gathered(Terms& terms, std::vector<Equality> equalities, std::span<const VariableId> domain,
              std::span<const VariableId> fixed, const Part& part) {
    const bool same = std::ranges::all_of(domain, [&](VariableId variable) { return contains(fixed, variable); });
    if (equalities.empty() && same) return part;
    return Gathering(terms, domain, fixed).run(std::move(equalities), part);
}

}  // namespace heddle::gradient
