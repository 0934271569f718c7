// The statements of a body while it is built: body_builder.cpp has blocks and equations, body_scans.cpp scans,
// body_order.cpp orders.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "symbolic/body_builder.h"
#include "symbolic/body_expression.h"
#include "symbolic/environment_state.h"

namespace heddle {

using WaveReaches = std::map<const Syntax*, WaveReach>;  // by scan

// Statements that one of the body stands for, and names that are set for them.
struct StandsFor {
    std::vector<SyntaxPointer> statements;
    std::deque<std::string> names;
};

class BodyBuilder {
public:
    // States whose types are not known are assumed to be integers, or reals; scans of several axes, to read next cells.
    BodyBuilder(Environment& environment, const StateTypes& types, const WaveReaches& reaches, bool assume_real,
                std::vector<EquationBox>& written)
        : environment_(environment),
          body_(emptied(environment.state().scratch)),
          expressions_(environment, body_, &types),
          types_(&types),
          reaches_(reaches),
          assume_real_(assume_real),
          written_(written) {}

    Result<BodyResult> run() {
        Scope scope;
        block(environment_.metakernel().body, scope, {});
        if (!diagnostics_.empty()) return fail(std::move(diagnostics_));
        // With types still to be found, what was built is an attempt that only found them.
        if (!found().empty() || !wider_.empty()) return BodyResult{};
        for (const auto& [statement, dtype] : expressions_.elements().static_arrays().taken(body_))
            taken_.insert_or_assign(statement, StateType{dtype, Element::Weak::no});
        return taken_.empty() ? finished() : Result<BodyResult>(BodyResult{});
    }

    // The types of states that were not known: weak ones if there are no others.
    const StateTypes& found() const { return strong_.empty() ? weak_ : strong_; }
    bool assumed() const { return assumed_; }
    // Of states and local arrays of static numbers, by what uses them.
    const StateTypes& taken() const { return taken_; }
    // Of scans whose states are read at other cells than was known.
    const WaveReaches& wider() const { return wider_; }

private:
    static Body& emptied(Body& body) {
        body.variables.clear();
        body.nodes.clear();
        body.locals.clear();
        body.equations.clear();
        body.names.clear();
        body.places.clear();
        return body;
    }

    // A statement that fails does not hide the errors of those after it; users of its name are silent.
    template <typename F>
    void guarded(const F& statement) {
        try {
            statement();
        } catch (EvaluationFailure& failure) {
            failed_ = true;
            for (Diagnostic& diagnostic : failure.diagnostics) diagnostics_.push_back(std::move(diagnostic));
        }
    }

    void block(const std::vector<SyntaxPointer>& statements, Scope& scope, const VariableList& variables);
    void statement(const Syntax& statement, Scope& scope, const VariableList& variables);
    void let(const Syntax& statement, Scope& scope, const VariableList& variables);
    Value order(const Syntax& statement, const Scope& scope, const VariableList& variables);
    void parallel_block(const Syntax& statement, const Scope& scope, VariableList variables);
    void scan(const Syntax& statement, Scope& scope, VariableList variables);
    void scan_of_cells(const Syntax& statement, Scope& scope, VariableList variables);
    void nested_scan(const Syntax& statement, Scope& scope, const VariableList& variables);
    void need_left(const Syntax& statement, const std::vector<std::string>& steps);
    std::vector<StateId> declare_states(const Syntax& statement, Scope& scope, const Scope& inner, BodyState common);
    StateId declare_state(const Syntax& statement, const Scope& scope, BodyState state);
    BodyState common_state(VariableId step, const VariableList& variables);
    void state_equation(const Syntax& statement, const Scope& scope);
    StateId declare_end(VariableId step, const VariableList& variables);
    void end_equation(StateId ended, const Syntax& condition, const Scope& scope);
    void need_untimed(NodeId initial, const BodyState& state, const Place& place);
    void equation(const Syntax& statement, const Scope& scope, const VariableList& variables);
    NodeList coordinates_of(const std::vector<Value>& values, const Place& place);
    NodeList left(const Syntax& statement, const BoundOutput& output, const TensorType& type, Scope& scope,
                  VariableList& variables);
    std::vector<Value> default_left(const Syntax& statement, const BoundOutput& output, const TensorType& type);
    TensorReference written_tensor(const Syntax& statement, int32_t position, const Scope& scope, bool& picked_by_left);
    void drop_without_points();
    Result<void> join_sides(size_t output);
    Result<BodyResult> finished();

    Environment& environment_;
    Body& body_;
    BodyExpressions expressions_;
    Diagnostics diagnostics_;
    bool failed_ = false;
    const StateTypes* types_;
    const WaveReaches& reaches_;
    WaveReaches wider_;
    // Of the block of a scan of several axes first the states are built, in waves, then what it writes, by cells.
    enum class Part : uint8_t { all, states, equations } part_ = Part::all;
    bool in_scan_ = false;
    bool assume_real_ = false, assumed_ = false;
    std::vector<EquationBox>& written_;
    std::deque<StandsFor> orders_;
    StateTypes strong_, weak_, taken_;
    InlineVector<TensorReference, 4> outputs_;
    std::vector<const Place*> equation_places_;
};

}  // namespace heddle
