#include "symbolic/interleaving.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "graph/body_rebuild.h"
#include "symbolic/projection_range.h"
#include "zspace/linear_equation.h"

namespace heddle {
namespace {

constexpr int64_t most_phases = 64;
constexpr int64_t most_steps = 1'000'000;

// A coordinate with a gap between its digits, the innermost one: so many blocks of `unit` elements fit there.
struct Strided {
    LinearForm<VariableId> form;  // without its constant
    Size unit = 1, blocks = 1, offset = 0;
};

std::optional<Strided> strided(const Body& body, const std::optional<LinearForm<VariableId>>& form) {
    if (!form) return std::nullopt;
    Strided result{*form, 1, 1, form->constant};
    result.form.constant = 0;
    RadixDigits<VariableId> digits;
    for (const auto& [variable, factor] : form->terms)
        if (const Size& extent = body.variable(variable).extent; extent > 1)
            digits.push_back({variable, factor, extent});
    const auto radix = mixed_radix(std::move(digits));
    if (radix.fits()) return std::nullopt;
    const Size& next = radix.digits[radix.fitting].factor;
    result.unit = radix.extent;
    result.blocks = floor_divide(next, radix.extent);
    const bool fits = divides(radix.extent, next) && result.blocks >= 2 && result.blocks <= most_phases;
    return fits ? std::optional(std::move(result)) : std::nullopt;
}

// Values of an equation with its own variables in place of another's.
class Renaming : public NodeRebuild<Renaming> {
public:
    Renaming(const Body& body, BodyNodes& nodes, const VariableList& from, const VariableList& to)
        : NodeRebuild(body, NodeTable(body.nodes.size())), nodes_(nodes), old_(from), new_(to) {}

    NodeId add(NodeId, Node node) { return nodes_.add(node); }
    VariableId variable(VariableId id) {
        const auto found = std::ranges::find(old_, id);
        return found == old_.end() ? id : new_[static_cast<size_t>(found - old_.begin())];
    }
    // Arrays are not made anew: none may depend on a variable that changes.
    bool keeps_arrays(NodeId value) const {
        for (VariableId id : old_) {
            if (std::ranges::find(new_, id) != new_.end()) continue;
            for (NodeId node : reached(value)) {
                const Node& read = from_.node(node);
                if (read.kind != Node::Kind::local && read.kind != Node::Kind::previous) continue;
                const std::vector<VariableId> used = variables_of(from_, from_.local(read.local()).value);
                if (std::ranges::find(used, id) != used.end()) return false;
            }
        }
        return true;
    }

private:
    std::set<NodeId> reached(NodeId root) const {
        std::set<NodeId> found;
        std::vector<NodeId> open{root};
        while (!open.empty()) {
            const NodeId id = open.back();
            open.pop_back();
            if (!found.insert(id).second) continue;
            for (NodeId operand : from_.node(id).operands) open.push_back(operand);
        }
        return found;
    }

    BodyNodes& nodes_;
    const VariableList old_, new_;
};

class PhaseJoining {
public:
    // The variables that phases are counted by, by dimension, number and distance.
    using Phases = std::map<std::tuple<size_t, size_t, int64_t>, VariableId>;

    PhaseJoining(Body& body, BodyNodes& nodes, std::vector<const Place*>& places, Phases& phases)
        : body_(body), nodes_(nodes), places_(places), variables_(phases), ranges_(body, full_region(body), &steps_) {}

    // Joins the first equation that lacks its phases with those that have them; false if there is none.
    bool join_one() {
        if (body_.equations.size() < 2) return false;
        for (size_t first = 0; first < body_.equations.size(); ++first) {
            for (size_t dimension = 0; dimension < body_.equations[first].left.size(); ++dimension) {
                const auto phases = phases_of(first, dimension);
                if (phases.empty()) continue;
                join(phases, dimension, strided_at(first, dimension)->unit);
                return true;
            }
        }
        return false;
    }

private:
    std::optional<Strided> strided_at(size_t equation, size_t dimension) {
        return strided(body_, ranges_.of(body_.equations[equation].left[dimension]).affine);
    }

    // The equations for each phase of this one, from the lowest on; empty if one is missing.
    std::vector<size_t> phases_of(size_t first, size_t dimension) {
        const auto wanted = strided_at(first, dimension);
        if (!wanted) return {};
        std::map<int64_t, size_t> found;  // by offset
        for (size_t other = 0; other < body_.equations.size(); ++other)
            if (other != first && body_.equations[other].output == body_.equations[first].output &&
                strided_at(other, dimension))
                unify(first, other);
        for (size_t other = 0; other < body_.equations.size(); ++other) {
            if (!differ_only_at(body_.equations[first], body_.equations[other], dimension)) continue;
            const auto own = strided_at(other, dimension);
            if (own && own->form == wanted->form) found.try_emplace(own->offset, other);
        }
        for (int64_t before = wanted->blocks - 1; before >= 0; --before) {
            std::vector<size_t> phases;
            for (int64_t block = -before; block < wanted->blocks - before; ++block) {
                const auto at = found.find(wanted->offset + block * wanted->unit);
                if (at != found.end()) phases.push_back(at->second);
            }
            if (static_cast<int64_t>(phases.size()) == wanted->blocks) return phases;
        }
        return {};
    }

    // Takes the variables of `first` for its own, where each has variables that no other equation has.
    void unify(size_t first, size_t other) {
        const BodyEquation &wanted = body_.equations[first], &own = body_.equations[other];
        if (own.variables == wanted.variables) return;
        if (own.variables.size() != wanted.variables.size()) return;
        for (size_t i = 0; i < own.variables.size(); ++i)
            if (body_.variable(own.variables[i]).extent != body_.variable(wanted.variables[i]).extent)
                return;
        Renaming renaming(body_, nodes_, own.variables, wanted.variables);
        if (!renaming.keeps_arrays(own.value)) return;
        BodyEquation renamed{own.output, wanted.variables, {}, no_id};
        for (NodeId left : NodeList(own.left)) renamed.left.push_back(renaming.value(left));
        renamed.value = renaming.value(body_.equations[other].value);
        body_.equations[other] = std::move(renamed);
    }

    static bool differ_only_at(const BodyEquation& a, const BodyEquation& b, size_t dimension) {
        if (a.output != b.output || !(a.variables == b.variables)) return false;
        for (size_t i = 0; i < a.left.size(); ++i)
            if (i != dimension && a.left[i] != b.left[i]) return false;
        return true;
    }

    void join(std::vector<size_t> phases, size_t dimension, int64_t unit) {
        BodyEquation joined = body_.equations[phases[0]];
        const auto [known, fresh] = variables_.try_emplace({dimension, phases.size(), unit}, no_id);
        if (fresh)
            known->second = nodes_.add_variable("phase", Variable::Kind::parallel, static_cast<int64_t>(phases.size()));
        const VariableId phase = known->second;
        joined.variables.push_back(phase);
        NodeId block = nodes_.variable(phase);
        if (unit > 1)
            block = nodes_.scalar(ScalarOp::multiply, {block, nodes_.integer(unit, DType::int64, true)});
        joined.left[dimension] = nodes_.scalar(ScalarOp::add, {joined.left[dimension], block});
        joined.value = body_.equations[phases.back()].value;
        for (size_t i = phases.size() - 1; i-- > 0;) {
            const NodeId number = nodes_.integer(static_cast<int64_t>(i), DType::int64, true);
            const NodeId here = nodes_.scalar(ScalarOp::equal, {nodes_.variable(phase), number});
            joined.value = nodes_.select(here, body_.equations[phases[i]].value, joined.value);
        }
        std::ranges::sort(phases);
        body_.equations[phases[0]] = std::move(joined);
        for (size_t i = phases.size(); i-- > 1;) {
            body_.equations.erase(body_.equations.begin() + static_cast<std::ptrdiff_t>(phases[i]));
            places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(phases[i]));
        }
    }

    Body& body_;
    BodyNodes& nodes_;
    std::vector<const Place*>& places_;
    Phases& variables_;
    int64_t steps_ = most_steps;
    RangeEvaluator ranges_;
};

}  // namespace

void join_interleaved(Body& body, BodyNodes& nodes, std::vector<const Place*>& places) {
    PhaseJoining::Phases phases;
    while (PhaseJoining(body, nodes, places, phases).join_one()) continue;
}

}  // namespace heddle
