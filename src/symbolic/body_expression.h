// The expressions of a body: the evaluator, and what names, coordinates, reads and reductions mean here.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <span>
#include <vector>

#include "language/template.h"
#include "symbolic/evaluator.h"
#include "symbolic/wavefront.h"

namespace heddle {

// An input tensor that the body may read.
struct BodyTensor {
    TensorReference reference;
    const BoundTensor* bound = nullptr;
    const TensorSpec* spec = nullptr;
};

// What the elements of a state or local array are: known before a state's equation is, which reads it.
struct StateType {
    DType dtype = DType::float32;
    Element::Weak weak = Element::Weak::no;
};

using StateTypes = std::map<const Syntax*, StateType>;  // by statement
using StateId = StrongId<struct StateTag>;

// `name[t, own axes] = ... from ...` of a scan over t; one array for each point of the index and of blocks around it.
struct BodyState {
    std::string name;
    const Syntax* equation = nullptr;
    LocalId local;
    VariableId step = no_id;  // the scan's variable
    VariableList outer;       // of the index and of blocks around the scan: read at their own point only
    VariableList own;
    Names own_names;
    std::optional<StateType> type;     // unknown in a first attempt: it is then read as 0
    bool assumed_real = false;         // a real 0, then; else an integer
    bool active = true;                // its scan has not ended
    std::vector<StateId> delayed;      // those that are at each step what this one was 1, 2, ... steps before
    bool defined = false;              // its equation has been met
    std::optional<StateId> ended;      // of a scan that has an `until`: the state that says whether it is over
    std::shared_ptr<Wavefront> front;  // of a scan of several axes: `own` begins with its positions
    LocalId cells = no_id;             // the state's cells as an array, once they are read behind that scan
};

// A state of a scan in a scan: what it is after each step that there is so far, first what it begins with. Its elements
// are numbers, or local arrays of its own axes.
struct WrittenState {
    std::string name;
    std::vector<Value> steps;
    Value ended = Value::of(false);  // whether its `until` held after a step before
};

// What order(i < n if c : keys) puts in order, as local arrays over i.
struct OrderTerms {
    Size extent = 0;
    std::vector<Value> keys;
    std::vector<DType> dtypes;  // of the keys
    std::optional<Value> kept;  // what the filter says, where there is one
};

// `syntax` is order(...), which stands for statements (body_order.cpp).
bool is_order(const Syntax& syntax);

class BodyExpressions : public Evaluator {
public:
    // Local arrays of static numbers take what `types` says of their statements.
    BodyExpressions(Environment& environment, Body& body, const StateTypes* types = nullptr);

    BodyElements& elements() { return elements_; }
    BodyNodes& nodes() { return nodes_; }
    std::span<const BodyTensor> tensors() const { return tensors_; }
    const VariableList& index_variables() const { return index_variables_; }
    // All axes of the index as coordinates: a list.
    const Value& all_coordinates() const { return all_coordinates_; }
    Element element(const Syntax& syntax, const Scope& scope) {
        return operations().element(evaluate(syntax, scope), syntax.place);
    }
    NodeId coordinate(const Value& value, const Place& place) {
        return elements_.coordinate(operations().element(value, place), place);
    }
    // Binds `name < extent` to new variables, one for each element of a list extent; appends them to `variables`.
    void bind(const Generator& generator, Variable::Kind kind, Scope& scope, VariableList& variables) {
        bind(generator.name, *generator.range, generator.place, kind, scope, variables);
    }
    void bind(const std::string& name, const Syntax& range, const Place& place, Variable::Kind kind, Scope& scope,
              VariableList& variables);
    // A new name of the body: refused if it means something already.
    void need_new_name(std::string_view name, const Scope& scope, const Place& place) override;
    Value variable_value(VariableId id) { return Value::of(Element{nodes_.variable(id), Element::Weak::integer}); }
    // Of argmin and argmax without terms, which have no value.
    const std::vector<std::pair<NodeId, const Syntax*>>& empty_arguments() const { return empty_arguments_; }
    // `statement` is what may take another dtype, if it is of static numbers.
    LocalId add_local(std::string name, VariableList variables, Element value, const Syntax* statement = nullptr);
    // A state without values yet: the position of its BodyState.
    StateId add_state(BodyState state);
    BodyState& state(StateId id) { return states_[id]; }
    // The state's value at the step before, at its own point.
    Element state_before(StateId id);
    // The waves of `scan i < m, j < n:`; binds its names.
    std::shared_ptr<Wavefront> open_wavefront(const Syntax& statement, const WaveReach& reach, Scope& scope);
    // What a state's equation says in waves.
    Element cell_value(const Wavefront& front, Element value, Element border, const Place& place);
    // A state of a scan in a scan, as it begins; its next step.
    BodyArray begin_steps(const Syntax& statement, const Scope& scope);
    void next_step(const Syntax& statement, const Scope& scope);
    WrittenState& written_state(int32_t index) { return written_states_[static_cast<size_t>(index)]; }
    // The own axes of a state whose left side has so many steps before them.
    void bind_own(const Syntax& statement, size_t steps, Scope& scope, VariableList& variables);
    OrderTerms order_terms(const Syntax& syntax, const Scope& scope);
    // Statements that stand for another one have names of their own, whatever inputs and outputs are called.
    void stand_for_others(bool whether) { stands_for_others_ = whether; }
    // Local arrays are of cells where this holds, if it is given.
    void keep_arrays(std::optional<Value> where) { arrays_where_ = std::move(where); }

protected:
    Value free_name(const Syntax& syntax, const Scope& scope) override;
    Value of_body(const Syntax& syntax, const Scope& scope) override;
    Value settled(Value value, const Place& place) override;
    Value accessed(const Value& base, const Syntax& syntax, const Scope& scope) override;

public:
    // A value, or a local array.
    Value let(const Syntax& statement, const Scope& scope) override;

private:
    Value input(int32_t position, const Place& place);
    Value index_coordinate(const Syntax& syntax);
    Value picked_tensor(int32_t input, const std::vector<Value>& indices, const Place& place);

    // ---- reads (body_reads.cpp)
    Value bare(TensorIndex tensor, const Place& place);
    std::vector<Value> coordinates_by_name(const BodyTensor& tensor, const Place& place);
    NodeList tensor_coordinates(const BodyTensor& tensor, const std::vector<Value>& given, const Place& place);
    Value read(TensorIndex tensor, const std::vector<Value>& coordinates, const Place& place);
    Value guard(const Syntax& syntax, const Scope& scope);
    Value guarded(TensorIndex tensor, const std::vector<Value>& coordinates, const Value& otherwise,
                  const Place& place);
    Value chosen_inside(std::span<const Value> coordinates, std::span<const Size> extents, const Value& inside,
                        const Value& otherwise, const Place& place);
    Value read_local(LocalId local, const std::vector<Value>& coordinates, const Place& place);
    Value read_state(const BodyState& state, const std::vector<Value>& coordinates, const Place& place);
    int64_t steps_back(NodeId coordinate, VariableId step) const;
    StateId delayed_state(StateId id, int64_t steps);
    Value read_earlier(StateId id, int64_t steps, std::vector<Value> coordinates, const Value& otherwise,
                       const Place& place);
    std::optional<NodeId> as_stored(Element value, DType dtype);

    // ---- scans in scans (body_nested_scans.cpp)
    Value read_step(int32_t index, const std::vector<Value>& given, const Place& place);
    Value guarded_step(int32_t index, const std::vector<Value>& given, const Value& otherwise, const Place& place);
    Value one_step(const Syntax& statement, VariableList own, Element value);
    Value array_of(const Syntax& statement, VariableList variables, Element value);

    // ---- cells of scans of several axes (body_wavefronts.cpp)
    Value read_cell(StateId id, const std::vector<Value>& given, const Place& place);
    Value guarded_cell(StateId id, const std::vector<Value>& given, const Value& otherwise, const Place& place);
    CellOffset cell_offset(const BodyState& state, const std::vector<Value>& given, const Place& place);
    std::optional<int64_t> distance_to(const Value& from, const Value& to, const Place& place);
    void note_written(Wavefront& front, const std::vector<Value>& given, const Place& place);
    LocalId cells_of(StateId id);
    std::vector<Value> with_border(const Wavefront& front, std::vector<Value> given, const Place& place);
    [[noreturn]] void refuse_rank(std::string_view name, size_t expected, size_t given, const Place& place);

    // ---- reductions (body_reductions.cpp)
    Value reduction(const Syntax& syntax, const Scope& scope);
    bool picks(const Syntax& subscript, const std::string& name);
    bool may_pick(const Syntax& reduction);
    bool must_unroll(const Syntax& syntax, const std::string& name);
    using Generators = InlineVector<const Generator*, 4>;
    Value own_reduction(const Syntax& syntax, const FunctionLet& function, const Scope& scope);
    VariableList points_of(const Syntax& syntax, VariableId step, std::initializer_list<NodeId> nodes);
    void need_reducer(const Syntax& syntax, const FunctionLet& function, DType dtype);
    void unroll(const Syntax& syntax, const Generators& unrolled, size_t generator, const Scope& scope,
                std::vector<Value>& terms, Size& count);
    Value reduced(const Syntax& syntax, const Generators& generators, const std::string& reducer, const Scope& scope,
                  Size& count);
    Value first_place(const VariableList& variables, const Value& condition, const Place& place);
    Value within_parts(const Generators& generators, const Scope& scope);
    Value filter_of(const Syntax& syntax, const Generators& generators, const Scope& scope);
    Value filtered(const std::string& reducer, const Value& filter, const Value& term, const Place& place);
    Value mean(const Value& sum, const Size& count, const Place& place);
    Value mean(const Value& sum, Element count, const Place& place);
    void need_reducible(const std::string& reducer, Element operand, const Place& place);

    Environment& environment_;
    const StateTypes* types_;
    BodyNodes nodes_;
    BodyElements elements_;
    Body& body_;
    InlineVector<BodyTensor, 8> tensors_;
    InlineVector<TensorIndex, 8> first_tensor_;  // of each input, a position in tensors_
    VariableList index_variables_;
    Value all_coordinates_;
    Names axes_;
    std::vector<BodyState> states_;
    std::vector<WrittenState> written_states_;
    std::optional<Value> arrays_where_;
    bool stands_for_others_ = false;
    std::vector<std::pair<NodeId, const Syntax*>> empty_arguments_;
};

}  // namespace heddle
