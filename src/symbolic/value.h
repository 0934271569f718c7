// The values of template expressions, at three binding times (docs/language.md, "Static expressions"): *static*
// (numbers, texts, dtypes, lists of them: what `$` names and parameters are), an *element* of a body (an expression
// over variables), or a *tensor* of a composition. A list may hold any of them; one of static values alone is static.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "support/dtype.h"
#include "zspace/size.h"
#include "zspace/size_quotient.h"

namespace heddle {

// The bounds that make evaluation total.
inline constexpr int64_t largest_static_list = 65'536;    // elements
inline constexpr int64_t largest_evaluation = 1'000'000;  // steps of one application
inline constexpr int64_t deepest_evaluation = 200;        // names and functions within each other
inline constexpr int64_t largest_each = 16'384;           // operations of one `each`
inline constexpr int32_t deepest_list = 32;               // lists in lists

struct BoundTensor;  // symbolic/environment.h

// A node of the body that is being built. Weak values (static ones, coordinates, reduction variables, argmax, count)
// take the dtype of what they meet.
struct Element {
    enum class Weak : uint8_t { no, integer, real, complex };
    NodeId node;  // integer weak: int64; real weak: float64; complex weak: complex128; never only stored
    Weak weak = Weak::no;
    bool operator==(const Element& other) const = default;
};

// What a body calls by a name and reads with coordinates.
struct BodyArray {
    enum class Kind : uint8_t {
        tensor,   // `index`: a position in the body's table of tensors
        tensors,  // `index`: a variadic input's position in the template
        local,    // `index`: a local array
        state,    // `index`: a position in the body's table of states
        steps,    // `index`: a position in its table of states that are written out, step by step
    };
    Kind kind = Kind::tensor;
    int32_t index = 0;
    bool operator==(const BodyArray& other) const = default;
};

// An immutable value; copies are cheap (lists and texts are shared). Integers are sizes: a number, and where it came
// from if it is a named dimension or computed from one. So are floats that are one quotient of sizes.
class Value {
public:
    enum class Kind : uint8_t {
        none,
        boolean,
        integer,
        real,
        text,
        dtype,
        list,
        tensor,   // the tensor that `$x` names: what `.shape`, `.rank`, `.dtype` and `.value` are asked of
        element,  // of a body
        array,    // of a body
        result,   // a tensor of a composition
        failed,   // a name whose definition was wrong
    };
    using List = std::vector<Value>;

    Value() = default;  // none
    static Value none() { return {}; }
    static Value of(bool value) { return Value(Kind::boolean, {.boolean = value}); }
    static Value of(Size value) {
        Value result(Kind::integer, {.integer = value.number()});
        result.shared_ = {std::shared_ptr<const void>(), value.origin()};  // which is nobody's
        return result;
    }
    static Value of(int64_t value) { return Value(Kind::integer, {.integer = value}); }
    static Value of(int value) { return of(int64_t{value}); }
    static Value of(double value) { return Value(Kind::real, {.real = value}); }
    static Value of_real(const SizeQuotient& value) {
        Value result = of(value.number());
        if (value.named()) result.shared_ = std::make_shared<const SizeQuotient>(value);
        return result;
    }
    static Value of(std::string value);
    static Value of(const char* value) { return of(std::string(value)); }
    static Value of(DType value) { return Value(Kind::dtype, {.dtype = value}); }
    static Value of(List elements);
    // It must outlive the value.
    static Value of(const BoundTensor* tensor) { return Value(Kind::tensor, {.tensor = tensor}); }
    static Value of(Element element) { return Value(Kind::element, {.element = element}); }
    static Value of(BodyArray array) { return Value(Kind::array, {.array = array}); }
    static Value of_result(TensorId tensor) { return Value(Kind::result, {.result = tensor}); }
    static Value failed() { return Value(Kind::failed, {.integer = 0}); }
    static Value of_sizes(std::span<const Size> sizes);
    static Value of_integers(const std::vector<int64_t>& numbers);

    Kind kind() const { return kind_; }
    bool is_none() const { return kind() == Kind::none; }
    bool is_boolean() const { return kind() == Kind::boolean; }
    bool is_integer() const { return kind() == Kind::integer; }
    bool is_real() const { return kind() == Kind::real; }
    bool is_number() const { return is_integer() || is_real(); }
    bool is_text() const { return kind() == Kind::text; }
    bool is_dtype() const { return kind() == Kind::dtype; }
    bool is_list() const { return kind() == Kind::list; }
    bool is_tensor() const { return kind() == Kind::tensor; }
    bool is_element() const { return kind() == Kind::element; }
    bool is_array() const { return kind() == Kind::array; }
    bool is_array(BodyArray::Kind wanted) const { return is_array() && array().kind == wanted; }
    bool is_result() const { return kind() == Kind::result; }
    bool is_failed() const { return kind() == Kind::failed; }
    bool is_static() const { return is_list() ? shared_list().is_static : kind_ <= Kind::tensor; }

    // Each asks for its own kind: the caller has looked.
    bool boolean() const { return scalar_.boolean; }
    Size size() const { return {scalar_.integer, static_cast<OriginPointer>(shared_.get())}; }
    int64_t integer() const { return size().value(); }
    double real() const { return shared_ ? static_cast<const SizeQuotient*>(shared_.get())->value() : scalar_.real; }
    const std::string& text() const { return *static_cast<const std::string*>(shared_.get()); }
    DType dtype() const { return scalar_.dtype; }
    const List& list() const { return shared_list().elements; }
    int32_t list_depth() const { return is_list() ? shared_list().depth : 0; }  // 1: a list without lists
    const BoundTensor& tensor() const { return *scalar_.tensor; }
    const Element& element() const { return scalar_.element; }
    const BodyArray& array() const { return scalar_.array; }
    TensorId result() const { return scalar_.result; }
    // An integer or a float, as a float.
    double number() const { return is_real() ? real() : static_cast<double>(integer()); }
    Value as_real() const;
    // An integer or a float that is made of sizes with names.
    bool is_of_sizes() const { return shared_ && is_number(); }
    // Of an integer or a float; nothing where a float is no such thing.
    std::optional<SizeQuotient> quotient() const;
    // An element of a list; any other value stands for each.
    Value at(size_t position) const;

    // A list of integers as sizes, or as plain numbers; nothing if it is anything else.
    std::optional<std::vector<Size>> sizes() const;
    std::optional<std::vector<int64_t>> integers() const;

    // Whether the template's text wrote all its numbers: none came from a parameter, a size or a tensor.
    bool from_template() const { return from_template_; }
    Value with_from_template(bool from_template) && {
        from_template_ = from_template;
        return std::move(*this);
    }

    // By value: origins do not matter, integers and floats are different kinds.
    bool operator==(const Value& other) const;
    // As the language writes it: 3, 1.5, true, 'text', float32, [1, batch], none.
    std::string print() const;
    // "an integer", "a list of 3 elements", for messages.
    std::string describe() const;

private:
    struct SharedList {
        std::vector<Value> elements;
        int32_t depth = 1;
        bool is_static = true;
    };
    union Scalar {
        int64_t integer;
        bool boolean;
        double real;
        DType dtype;
        const BoundTensor* tensor;
        Element element;
        BodyArray array;
        TensorId result;
    };
    Value(Kind kind, Scalar scalar) : kind_(kind), scalar_(scalar) {}
    const SharedList& shared_list() const { return *static_cast<const SharedList*>(shared_.get()); }

    Kind kind_ = Kind::none;
    bool from_template_ = true;
    Scalar scalar_ = {.integer = 0};
    std::shared_ptr<const void> shared_;  // a list's elements, a text's letters, an integer's origin, the sizes of a float
};

// What float64 holds of sizes: static floats are of this type.
inline FloatSizes float64_sizes() { return FloatSizes(53); }
// Of numbers, as a fact; nothing where neither is made of sizes, or what is made of them is not followed.
std::optional<Size> difference_of_sizes(const Value& a, const Value& b);
bool equal_numbers(const Value& a, const Value& b);

// Where only static values can be: parameters, `$` names, what `Environment::evaluate` answers.
using StaticValue = Value;

}  // namespace heddle
