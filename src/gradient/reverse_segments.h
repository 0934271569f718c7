// The scan of an adjoint by segments, for reverse_*.cpp alone.
#pragma once

#include "gradient/reverse_derivation.h"

namespace heddle::gradient {

// A scan of T steps in m segments of k has one that runs backwards, in m + 1 turns of k steps. Step r = q * k + j
//
//   works out again step (m - 1 - q) * k + j of the forward scan (a turn begins with what is kept), and
//   goes back through step t = (m + 1) * k - 1 - r, which the turn before has worked out:
//
//     turn        0                1                ...      m
//     again       segment m - 1    segment m - 2             nothing
//     back        nothing          segment m - 1             segment 0
//
// Both go through a segment's k states in opposite directions, so that each step takes one of them and puts one in its
// place: min(r % 2k, 2k - 1 - r % 2k). Where m * k > T, the last segment ends in steps that do nothing.
class Segments {
public:
    Segments(Reverse& reverse, Reverse::Scan& scan);

    VariableId step() const { return scan_.step; }  // of the forward scan, that is gone back through
    VariableId axis() const { return axis_; }       // of this one
    const Size& total() const { return total_; }    // steps of this one

    // What a node has in a step: one that is the same at all steps, or a read of a wanted input.
    void give_at_step(NodeId id, const Part& part) { given_.push_back({id, part}); }
    // A state is read at another step.
    void refuse() { refused_ = true; }
    bool refused() const { return refused_; }

    // Once a step has been gone through: the values of all states, and behind the scan what sums and reads get.
    void finish();

private:
    struct Again {        // of a state of the forward scan
        LocalId present;  // worked out again
        LocalId turn;     // the states of a turn
        LocalId next;     // that behind the step which is gone back through
    };

    struct Given {
        NodeId id;
        Part part;                          // at the step
        std::vector<VariableId> axes;       // of `state`
        bool is_sum = false;                // over the steps; else what each of them has
        Reverse::Wanted* wanted = nullptr;  // the input, whose elements are summed
        LocalId state = no_id;
    };

    NodeId number(int64_t value) { return nodes_.integer(value, DType::int64, false); }
    NodeId scalar(ScalarOp op, NodeList operands) { return nodes_.scalar(op, std::move(operands)); }
    NodeId kept(LocalId state, NodeId element);
    NodeList own(LocalId state);
    LocalId add_state(const std::string& name, DType dtype, VariableList own);
    void set(LocalId state, NodeId value, NodeId initial);
    void add_again(LocalId state);
    Element element_before(LocalId state);
    NodeId read(const Element& element, LocalId state);
    void work_out_again(LocalId state, NodeId value);
    void go_back(const Reverse::State& state);
    VariableList renewed(std::span<const VariableId> from, Substitution& by);
    LocalId state_of(const Part& part, std::span<const VariableId> axes, bool is_sum);
    NodeId behind(LocalId state, NodeId step, std::span<const VariableId> axes);
    bool is_at_states(const Node& read) const;
    void add_given(Given& given);
    void give(const Given& given);
    bool is_smaller(const Reverse::Wanted& wanted, std::span<const VariableId> axes) const;

    Reverse& reverse_;
    Terms& terms_;
    BodyNodes& nodes_;
    Body& body_;
    Reverse::Scan& scan_;
    const Checkpoints& checkpoints_;
    const Size steps_, count_, total_;  // of the forward scan, segments, of this scan
    const VariableId axis_;
    NodeId slot_ = no_id, begins_ = no_id, advances_ = no_id, kept_next_ = no_id, goes_back_ = no_id;
    Substitution again_, back_;           // from the forward scan's step and states
    std::map<LocalId, int32_t> outputs_;  // that have states of the forward scan
    std::map<LocalId, Again> states_;
    std::vector<Given> given_;
    bool refused_ = false;
};

}  // namespace heddle::gradient
