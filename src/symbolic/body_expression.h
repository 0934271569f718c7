// The expressions of a body: names in their scopes, coordinates, reads, reductions. Values come from body_values.h.
#pragma once

#include <string>
#include <string_view>
#include <span>
#include <vector>

#include "language/template.h"
#include "symbolic/body_values.h"

namespace heddle {

// A few names with their values. Names are strings of the template and of the environment, which outlive all bodies.
class BodyNames {
public:
    const BodyValue* find(std::string_view name) const {
        for (const auto& [known, value] : values_)
            if (known == name) return &value;
        return nullptr;
    }
    bool contains(std::string_view name) const { return find(name) != nullptr; }
    void set(std::string_view name, BodyValue value) {
        for (auto& [known, old] : values_)
            if (known == name) {
                old = std::move(value);
                return;
            }
        values_.emplace_back(name, std::move(value));
    }
    void reserve(size_t count) { values_.reserve(count); }
    auto begin() const { return values_.begin(); }
    auto end() const { return values_.end(); }

private:
    std::vector<std::pair<std::string_view, BodyValue>> values_;
};

// Bare names in force at one place of a body. A block, a reduction and a function open one over the scope around them.
struct BodyScope {
    const BodyScope* outer = nullptr;
    BodyNames names;

    const BodyValue* find(std::string_view name) const {
        for (const BodyScope* scope = this; scope; scope = scope->outer)
            if (const BodyValue* found = scope->names.find(name)) return found;
        return nullptr;
    }
};

// An input tensor that the body may read.
struct BodyTensor {
    TensorReference reference;
    const BoundTensor* bound = nullptr;
    const TensorSpec* spec = nullptr;
};

// What a state's elements are: known before its equation is, which reads it.
struct StateType {
    DType dtype = DType::float32;
    Element::Weak weak = Element::Weak::no;
};

// `name[t, own axes] = ... from ...` of a scan over t; one array for each point of the index and of blocks around it.
struct BodyState {
    std::string name;
    int32_t local = -1;
    VariableId step = -1;  // the scan's variable
    VariableList outer;    // of the index and of blocks around the scan: read at their own point only
    VariableList own;
    BodyNames own_names;
    std::optional<StateType> type;  // unknown in a first attempt: it is then read as the integer 0
    bool active = true;             // its scan has not ended
    bool defined = false;           // its equation has been met
};

class BodyExpressions {
public:
    BodyExpressions(Environment& environment, Body& body);

    Environment& environment() { return environment_; }
    BodyElements& elements() { return elements_; }
    BodyValues& values() { return values_; }
    BodyNodes& nodes() { return nodes_; }
    std::span<const BodyTensor> tensors() const { return tensors_; }
    const VariableList& index_variables() const { return index_variables_; }

    // The value of an expression; a bare tensor is the element that its pattern or its projection names.
    BodyValue evaluate(const Syntax& syntax, const BodyScope& scope);
    // One element of a list: not a list itself.
    BodyValue one(const Syntax& element, const BodyScope& scope);
    // Elements with their spreads expanded; a spread scalar fills up to `size`.
    std::vector<BodyValue> expanded(std::span<const SyntaxPointer> children, size_t first, std::optional<size_t> size,
                                    const BodyScope& scope);
    // All axes of the index as coordinates.
    const std::vector<BodyValue>& all_coordinates() const { return all_coordinates_; }
    bool is_index_name(std::string_view name) const { return axes_.contains(name); }
    // Binds `name < extent` to new variables, one for each element of a list extent; appends them to `variables`.
    void bind(const Generator& generator, Variable::Kind kind, BodyScope& scope, VariableList& variables) {
        bind(generator.name, *generator.range, generator.place, kind, scope, variables);
    }
    void bind(const std::string& name, const Syntax& range, const Place& place, Variable::Kind kind, BodyScope& scope,
              VariableList& variables);
    // A new name of the body: refused if it means something already.
    void need_new_name(std::string_view name, const BodyScope& scope, const Place& place);
    BodyValue variable_value(VariableId id) {
        return BodyValue::of(Element{nodes_.variable(id), Element::Weak::integer});
    }
    // Where reads are written, in order: the first place of a node counts.
    const std::vector<std::pair<NodeId, const Place*>>& read_places() const { return read_places_; }
    int32_t add_local(std::string name, VariableList variables, Element value);
    // A state without values yet: the position of its BodyState.
    int32_t add_state(BodyState state);
    BodyState& state(int32_t position) { return states_[static_cast<size_t>(position)]; }

private:
    struct Depth;
    BodyValue reference(const Syntax& syntax, const BodyScope& scope);
    BodyValue named(const Syntax& syntax, const BodyScope& scope);
    BodyValue index_coordinate(const Syntax& syntax);
    BodyValue binary(const Syntax& syntax, const BodyScope& scope);
    BodyValue conditional(const Syntax& syntax, const BodyScope& scope);
    BodyValue subscript(const Syntax& syntax, const BodyScope& scope);
    BodyValue slice(const Syntax& syntax, const BodyScope& scope);
    BodyValue guard(const Syntax& syntax, const BodyScope& scope);
    BodyValue call(const Syntax& syntax, const BodyScope& scope);
    BodyValue user_function(const FunctionLet& function, const std::vector<BodyValue>& arguments, const Place& place);
    BodyValue comprehension(const Syntax& syntax, const BodyScope& scope);
    void comprehend(const Syntax& syntax, size_t generator, const BodyScope& scope, std::vector<BodyValue>& result);

    // ---- reads (body_reads.cpp)
    BodyValue bare(int32_t tensor, const Place& place);
    std::vector<BodyValue> coordinates_by_name(const BodyTensor& tensor, const Place& place);
    NodeList tensor_coordinates(const BodyTensor& tensor, const std::vector<BodyValue>& given, const Place& place);
    BodyValue read(int32_t tensor, const std::vector<BodyValue>& coordinates, const Place& place);
    BodyValue guarded(int32_t tensor, const std::vector<BodyValue>& coordinates, const BodyValue& otherwise,
                      const Place& place);
    BodyValue read_local(int32_t local, const std::vector<BodyValue>& coordinates, const Place& place);
    BodyValue read_state(const BodyState& state, const std::vector<BodyValue>& coordinates, const Place& place);
    bool is_step_before(NodeId coordinate, VariableId step) const;
    std::optional<NodeId> as_stored(Element value, DType dtype);
    [[noreturn]] void refuse_rank(std::string_view name, size_t expected, size_t given, const Place& place);

    // ---- reductions (body_reductions.cpp)
    BodyValue reduction(const Syntax& syntax, const BodyScope& scope);
    bool picks(const Syntax& subscript, const std::string& name);
    bool may_pick(const Syntax& reduction);
    bool must_unroll(const Syntax& syntax, const std::string& name);
    using Generators = InlineVector<const Generator*, 4>;
    void unroll(const Syntax& syntax, const Generators& unrolled, size_t generator, const BodyScope& scope,
                std::vector<BodyValue>& terms, int64_t& count);
    BodyValue reduced(const Syntax& syntax, const Generators& generators, const std::string& reducer,
                      const BodyScope& scope, int64_t& count);
    BodyValue filtered(const std::string& reducer, const BodyValue& filter, const BodyValue& term, const Place& place);
    BodyValue mean(const BodyValue& sum, int64_t count, const Place& place);
    void need_reducible(const std::string& reducer, Element operand, const Place& place);

    Environment& environment_;
    BodyNodes nodes_;
    BodyElements elements_;
    BodyValues values_;
    Body& body_;
    InlineVector<BodyTensor, 8> tensors_;
    InlineVector<int32_t, 8> first_tensor_;  // of each input, a position in tensors_
    VariableList index_variables_;
    std::vector<BodyValue> all_coordinates_;
    BodyNames axes_;
    std::vector<Element::Weak> local_weakness_;
    std::vector<BodyState> states_;
    std::vector<std::pair<NodeId, const Place*>> read_places_;
    int64_t depth_ = 0;
};

}  // namespace heddle
