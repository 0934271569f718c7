// Lowering of one operation's typed body. Inside, every variable of the body has one axis, so that a node is converted
// once; finished equations get axes of their own.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "equations/lower_tables.h"
#include "equations/pass_support.h"
#include "equations/system.h"
#include "graph/verify.h"

namespace heddle::equations {

// What a graph's constants and tables have become; shared by all operations of a graph.
struct LoweringState {
    const Graph& graph;
    System system;
    std::vector<TensorIndex> tensor_of;  // by TensorId; -1: not made yet
    TableMaker tables{system};

    // The tensor of a graph tensor; constants are made when they are first read.
    TensorIndex tensor(TensorId id);
    // Constant integers that are affine in their coordinates: constant term and a factor a dimension. By TensorIndex.
    const std::optional<std::pair<int64_t, std::vector<int64_t>>>& progression(TensorIndex tensor);
    // The reduction that computes `tensor`, if it is one or copies one.
    bool is_reduction(TensorIndex tensor) const;

    std::map<TensorIndex, std::optional<std::pair<int64_t, std::vector<int64_t>>>> progressions;
    int32_t scans = 0;  // numbered so far
};

// A filter's condition, after equalities of its reduced axes have been solved: what they are replaced by, and what is
// left to hold. New axes are those that the solutions run over.
struct SolvedFilter {
    Arena::Substitution solution;
    std::vector<AxisId> reduced;
    Expr condition = nullptr;
};
// `equalities`: coordinates that must be zero; `condition`: the rest. For `(o + p - k) % s == 0` it gives
// k = (o + p) % s + s u, and for `o - k == 0` it gives k = o. Only axes of `reduced` are solved for.
SolvedFilter solve_filter(const System& system, const std::vector<Expr>& equalities, Expr condition,
                          std::vector<AxisId> reduced);

class BodyLowering {
public:
    BodyLowering(LoweringState& state, const Operation& operation);
    // Adds the equations of all outputs.
    Result<void> run();

private:
    // A node under a condition (null: always), as a coordinate or as a value.
    using Key = std::tuple<NodeId, Expr, bool>;

    // A right side before it has axes of its own.
    struct Draft {
        std::vector<AxisId> axes;
        std::optional<Reducer> reducer;
        std::vector<AxisId> reduced;
        Expr right = nullptr;
    };

    void classify();
    Key key_of(NodeId node, Expr condition, bool coordinate) const;
    Expr convert(NodeId node, Expr condition, bool coordinate);
    // Null and a longer `missing` where operands are still to be converted.
    Expr try_convert(const Key& key);
    Expr need(NodeId node, Expr condition, bool coordinate);
    Expr under(Expr condition, Expr more);
    Expr convert_scalar(const Node& node, Expr condition, bool coordinate);
    Expr convert_select(const Node& node, Expr condition, bool coordinate);
    Expr convert_read(const Node& node, Expr condition, bool coordinate);
    Expr convert_local(const Node& node, Expr condition);
    Expr convert_state(const Node& node, Expr condition);
    Expr convert_reduce(const Node& node, Expr condition);
    Expr safe_filter(Expr condition, Expr holds, Expr term, Expr none);
    std::optional<Draft> draft_reduction(const Node& node, Expr condition);
    bool split_filter(const Node& node, Expr condition, std::vector<Expr>& equalities, Expr& rest);
    bool is_chosen_by_data(const Node& reduction, const Node& equality);

    AxisId axis_of(VariableId variable);
    bool has_axis(VariableId variable) const;
    // A coordinate of a read; one that is computed is checked when it runs, where it may lie outside.
    Expr coordinate(NodeId node, Expr condition, const Size& extent);
    // Whether a coordinate is from data: it is checked when it runs, however few elements there are.
    bool is_at_data(const Node& read) const;
    // What the body's `read` was made.
    Expr noted(Expr made, const Node& read);
    Expr filtered_argument(Draft best, Expr holds);
    Expr name_reduction(Draft draft, const std::string& suffix);
    Expr name_draft(Draft draft, const std::string& suffix);
    Draft renamed(const Draft& draft, bool fresh, Arena::Substitution& substitution);
    Equation equation_of(TensorIndex target, const std::vector<Expr>& left, const Draft& draft);
    std::vector<AxisId> open_axes(Expr right, const std::vector<AxisId>& bound) const;
    Expr check_reads(Expr right);
    Expr finish_right(Expr right, const std::vector<AxisId>& axes);
    Equation forwards(Equation equation);
    void add_output(const BodyEquation& equation);
    // The equation of `value` over `variables`.
    Equation equation_of(TensorIndex target, const std::vector<Expr>& left, std::span<const VariableId> variables,
                         NodeId value);
    // A scan's state as a tensor of all its steps, the initial one first.
    TensorIndex state_tensor(int32_t state);
    void add_states();
    void join_scan(Equation& equation, const std::vector<AxisId>& from);

    LoweringState& state_;
    Arena& arena_;
    const Operation& operation_;
    const Body& body_;
    std::vector<TensorIndex> inputs_;
    std::optional<FreeVariables> free_;  // once it is asked for
    std::vector<bool> has_data_;         // by NodeId: reads a tensor or a local
    std::vector<bool> computed_;         // by NodeId: computed_indices
    std::vector<bool> has_equations_;    // by NodeId: holds a reduction, an equation of its own for what asks for it
    std::vector<int> uses_;              // by NodeId: of nodes, locals and equations
    std::set<VariableId> indexed_by_data_;  // axes of local arrays
    std::map<VariableId, AxisId> axes_;
    std::map<Key, Expr> done_;
    std::set<Expr> at_data_;  // reads with a coordinate from data, a constant perhaps
    std::map<Expr, std::pair<Expr, Expr>> weaker_;  // the two that a condition was made of
    std::vector<Key> missing_;
    // By local and its value under the condition of its use: tensor and its outer axes.
    std::map<std::pair<int32_t, Expr>, std::pair<TensorIndex, std::vector<AxisId>>> locals_;
    std::map<int32_t, TensorIndex> states_;  // by local
    std::vector<int32_t> open_states_;       // read, without equations yet
    struct Scan {
        int32_t number = -1;
        std::set<TensorIndex> tensors;  // made by its equations
    };
    std::map<VariableId, Scan> scans_;
    CanonicalAxes placeholders_{arena_};  // so that equal drafts become one
    std::map<std::tuple<int, Expr, std::vector<AxisId>, std::vector<AxisId>>, TensorIndex> named_;
};

}  // namespace heddle::equations
