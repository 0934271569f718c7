// The evaluator of template expressions: one recursion over the syntax tree for `let:` sections, shape patterns,
// bodies, compositions, declared projections and rules. What differs from place to place is what names mean: see the
// virtual functions, which a body and a composition answer.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolic/environment.h"
#include "symbolic/operations.h"

namespace heddle {

// A few names with their values. Names are strings of the template and of the environment, which outlive all scopes.
class Names {
public:
    const Value* find(std::string_view name) const {
        for (const auto& [known, value] : values_)
            if (known == name) return &value;
        return nullptr;
    }
    bool contains(std::string_view name) const { return find(name) != nullptr; }
    void set(std::string_view name, Value value) {
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
    std::vector<std::pair<std::string_view, Value>> values_;
};

// Bare names in force at one place. A block, a reduction, a comprehension open one over the scope around them; a
// function begins anew.
struct Scope {
    const Scope* outer = nullptr;
    Names names;

    const Value* find(std::string_view name) const {
        for (const Scope* scope = this; scope; scope = scope->outer)
            if (const Value* found = scope->names.find(name)) return found;
        return nullptr;
    }
};

class Evaluator {
public:
    explicit Evaluator(Environment& environment, BodyElements* elements = nullptr);
    virtual ~Evaluator() = default;
    Evaluator(const Evaluator&) = delete;
    Evaluator& operator=(const Evaluator&) = delete;

    // The value of an expression. Throws EvaluationFailure.
    Value evaluate(const Syntax& syntax, const Scope& scope) {
        Value value = reference(syntax, scope);
        return value.is_array() || value.is_failed() ? settled(std::move(value), syntax.place) : value;
    }
    // The same, where a fill has so many elements.
    Value evaluate_filled(const Syntax& syntax, int64_t size) {
        struct Restored {
            std::optional<int64_t>& place;
            std::optional<int64_t> before = place;
            ~Restored() { place = before; }
        } restored{fill_size_};
        fill_size_ = size;
        return evaluate(syntax, {});
    }
    // Elements of a list with their spreads expanded; a spread scalar without a count fills up to `size`.
    std::vector<Value> expanded(std::span<const SyntaxPointer> elements, std::optional<int64_t> size,
                                const Scope& scope);
    // One element of a list: no list itself, unless it is written there.
    Value one(const Syntax& element, const Scope& scope);
    Operations& operations() { return operations_; }
    Environment& environment() { return environment_; }

protected:
    // The same, where a name of several elements stands for itself.
    Value reference(const Syntax& syntax, const Scope& scope);

    // ---- what depends on the place

    virtual Value evaluate_inner(const Syntax& syntax, const Scope& scope);
    // An operand, an index, a bound, a condition: what in a composition is always static.
    virtual Value operand(const Syntax& syntax, const Scope& scope) { return evaluate(syntax, scope); }

    // A bare name that no scope has and that is no dtype.
    virtual Value free_name(const Syntax& name, const Scope& scope);
    // Coordinates, reads with guards, reductions: what only a body has.
    virtual Value of_body(const Syntax& syntax, const Scope& scope);
    // The element that a name of several stands for.
    virtual Value settled(Value value, const Place& place);
    // base[...] and base[from:to] of what is no static value and no list.
    virtual Value accessed(const Value& base, const Syntax& syntax, const Scope& scope);
    virtual Value call(const Syntax& syntax, const Scope& scope);
    Value user_function(const Syntax& syntax, const FunctionLet& function, const std::vector<Value>& arguments);
    // What a let of a function names.
    virtual Value let(const Syntax& statement, const Scope& scope);
    // A comprehension's variable.
    virtual void need_new_name(std::string_view, const Scope&, const Place&) {}

    std::vector<Value> call_arguments(const Syntax& syntax, const Scope& scope, const FunctionLet* own = nullptr);
    bool condition(const Syntax& syntax, const Scope& scope, std::string_view what);
    [[noreturn]] void refuse_unknown(const Syntax& name, std::string summary, std::string remedy);

private:
    Value static_name(const Syntax& syntax);
    Value logical(const Syntax& syntax, const Scope& scope);
    Value conditional(const Syntax& syntax, const Scope& scope);
    Value subscript(const Syntax& syntax, const Scope& scope);
    Value slice(const Syntax& syntax, const Scope& scope);
    Value attribute(const Syntax& syntax, const Scope& scope);
    Value tensor_attribute(const Syntax& syntax, const BoundTensor& tensor);
    Value filled(const Syntax& syntax, const Scope& scope);
    Value list(const Syntax& syntax, std::vector<Value> elements);
    void comprehend(const Syntax& syntax, size_t generator, const Scope& scope, std::vector<Value>& result);
    void append(const Syntax& element, const Scope& scope, std::vector<Value>& result, std::optional<size_t>& fill);
    void append_spread(const Syntax& spread, const Scope& scope, std::vector<Value>& result,
                       std::optional<size_t>& fill);
    Value given_presence(const Syntax& syntax);
    Value scoped(const Syntax& syntax, const Scope& scope);

    Environment& environment_;
    Operations operations_;
    std::optional<int64_t> fill_size_;  // of a list as wide as the rank that is described
};

}  // namespace heddle
