// One derivation of reverse mode on a body, for reverse_*.cpp alone.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "gradient/gather.h"
#include "gradient/reverse_body.h"

namespace heddle::gradient {

class Segments;

class Reverse {
public:
    Reverse(const ReverseRequest& request, Body& body);

    bool too_deep(int32_t most) const;

    // The equations; none of adjoints that are zero.
    std::vector<BodyEquation> run();
    // With checkpoints; nothing where it reads no state of theirs, or others.
    std::optional<std::vector<BodyEquation>> run_by_segments();

private:
    struct Wanted {
        int32_t input = 0;
        VariableList targets;
        NodeList target_nodes;
        std::optional<Part> result;
    };

    // At step `step`, a variable as any: previous elements are read from the state as an array.
    struct State {
        LocalId local;  // of the forward scan
        NodeId value = no_id;
        LocalId adjoint;                  // the state of the other scan
        std::vector<VariableId> targets;  // element and coordinates of what is read
        std::vector<NodeId> target_nodes;
        std::optional<Part> after, previous;  // the two parts
    };
    struct Scan {
        VariableId axis = no_id, step = no_id;
        NodeId last = no_id;                             // of the states' values
        std::vector<State> states;                       // of float types
        std::vector<std::pair<LocalId, NodeId>> values;  // of all states, at `step`
    };

    static DType type_of(DType dtype) { return info(dtype).arithmetic; }

    // reverse_body.cpp: nodes
    Wanted* wanted(TensorIndex input);
    void find_active();
    std::vector<BodyEquation> results();
    void propagate_last();
    NodeId value_of(const Part& part);
    const Local& local(const Node& node) const { return terms_.body().local(node.local()); }
    Part stored_in_step(const Part& part, std::span<const VariableId> domain);
    void give(NodeId id, std::span<const VariableId> domain, NodeList conditions, NodeId value);
    void seed(const BodyEquation& equation, NodeId value, const Substitution& by);
    void propagate(NodeId id, const Part& part);
    NodeId result_of(NodeId id);
    NodeList with(NodeList conditions, NodeId condition) const;
    void through_scalar(NodeId id, const Node& node, std::span<const VariableId> domain, const Part& part);
    void through_read(NodeId id, const Node& node, std::span<const VariableId> domain, const Part& part);
    void gather_read(const Node& node, std::span<const VariableId> domain, const Part& part);
    void add_result(Wanted& to, Part part);
    Part part_of_input(const Wanted& wanted, const Node& read, std::span<const VariableId> domain, const Part& part);
    void through_local(const Node& node, std::span<const VariableId> domain, const Part& part);
    void through_reduce(const Node& node, std::vector<VariableId> domain, const Part& whole);

    // reverse_scan.cpp
    void find_scans();
    VariableId free_step(VariableId axis);
    NodeId after_scans(NodeId forward);
    int64_t distance(const Node& node, VariableId step) const;
    void through_state(const Node& node, const Local& of, std::span<const VariableId> domain, const Part& part);
    static VariableList points_of(const Local& state, VariableId step);
    static VariableList own_of(const Local& state) { return {state.variables.begin() + 1, state.variables.end()}; }
    void make_targets(State& state);
    void through_scan(Scan& scan);
    void add_adjoints(Scan& scan, VariableId axis);
    bool begins_active(const State& state) const;
    void give_initial(const State& state, NodeId element);
    void collect(Scan& scan);
    void give_step(const Scan& scan);
    void finish(const Scan& scan, State& state, NodeId step);

    // reverse_segments.cpp
    friend class Segments;
    std::optional<Substitution> step_of(const BodyEquation& equation, const Scan& scan);
    bool is_by_segments(const std::vector<BodyEquation>& equations, const Scan& scan) const;

    const ReverseRequest& request_;
    const Body& forward_;
    Terms terms_;
    BodyNodes& nodes_;
    Body& body_;
    const NodeList cut_;
    std::vector<Scan> scans_;  // whose adjoints are not there yet; the latest last
    Substitution after_;       // what equations read of scans
    Scan* running_ = nullptr;  // whose steps are looked at
    bool stepping_ = false;    // one step of it alone
    std::vector<Wanted> wanted_;
    std::vector<bool> active_;
    std::map<NodeId, std::vector<Part>> parts_;  // of adjoints that are not complete yet
    Segments* segments_ = nullptr;               // where steps go by segments
};

}  // namespace heddle::gradient
