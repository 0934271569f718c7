// Typed arithmetic on the elements of a body: the element types of docs/language.md, "Bodies" as code. Weak values
// (static values, coordinates, reduction variables, argmax, count) are exact among themselves and take the other side's
// dtype; types that are only stored are widened where they are read.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/diagnostic.h"
#include "symbolic/body_nodes.h"
#include "symbolic/environment.h"
#include "symbolic/failures.h"
#include "symbolic/static_arrays.h"

namespace heddle {

inline bool is_bitwise(ScalarOp op) {
    return op == ScalarOp::bit_not || (op >= ScalarOp::bit_and && op <= ScalarOp::shift_right);
}

class BodyElements {
public:
    BodyElements(BodyNodes& nodes, const Environment& environment) : nodes_(nodes), environment_(environment) {}

    BodyNodes& nodes() { return nodes_; }
    DType dtype(Element element) const { return nodes_.node(element.node).dtype; }
    // "float32", or "an integer" and "a float" of weak ones.
    std::string type_name(Element element) const;

    // A number or a bool. `from_template` says whether the template's text wrote it.
    Element literal(const Value& value, bool from_template, const Place& place);
    Element weak_integer(int64_t value, bool from_template) {
        return {nodes_.integer(value, DType::int64, from_template), Element::Weak::integer};
    }
    Element truth(bool value) { return {nodes_.boolean(value), Element::Weak::no}; }

    // Arrays of static numbers, and as what they are used.
    StaticArrays& static_arrays() { return static_arrays_; }

    // A local array or state; `statement` is what may take another dtype, if its elements are static numbers.
    LocalId add_array(Local array, Element::Weak weak, const Syntax* statement = nullptr);
    // Its element: what `read`, a node of it, is worth at `place`.
    Element element_of(LocalId array, NodeId read, const Place& place) {
        note_read(read, place);
        return {read, weakness_[array]};
    }
    // Where reads are written, in order: the first place of a node counts.
    void note_read(NodeId read, const Place& place) { read_places_.emplace_back(read, &place); }
    const std::vector<std::pair<NodeId, const Place*>>& read_places() const { return read_places_; }
    // An index of a list of `length` elements: itself where it is inside whatever happens, else an element of an array
    // of the list's positions, so that it is proved or checked as every other read is.
    Element position_in_list(Element index, int64_t length, const Place& place);

    // An operator without && and ||.
    Element binary(ScalarOp op, Element a, Element b, const Place& place);
    // popcount, bit_length, leading_zeros, trailing_zeros: of an integer as the bits of its type.
    Element bits_counted(std::string_view function, Element a, const Place& place);
    // A function of two elements: min max atan2 trunc_div bit_and ...
    Element binary_function(ScalarOp op, Element a, Element b, const Place& place);
    Element ternary_function(ScalarOp op, Element a, Element b, Element c, const Place& place);  // of floats
    Element unary_function(ScalarOp op, Element a, const Place& place);
    // Of its parts, which are of one float type.
    Element complex(Element real, Element imaginary, const Place& place);
    Element negated(Element a, const Place& place);
    Element inverted(Element a, const Place& place);
    Element both(Element a, Element b, const Place& place);    // a && b: b only where a holds
    Element either(Element a, Element b, const Place& place);  // a || b: b only where a does not
    Element select(Element condition, Element then, Element otherwise, const Place& place);
    Element cast(Element a, DType dtype, const Place& place);
    // A coordinate: an integer, as int64.
    NodeId coordinate(Element a, const Place& place);
    // The value that an output of `dtype` stores.
    NodeId stored(Element a, DType dtype, const std::string& output, const Place& place);
    // What a read of `dtype` is worth: halves widen.
    Element widened(NodeId read);
    // Both of one type, `what` being the operator that asks for it.
    DType unify(Element& a, Element& b, std::string_view what, const Place& place);
    // The value of a reduction over no terms.
    Element neutral(Reducer reducer, Element like);
    // The element as `dtype`, which has arithmetic: only weak values change.
    Element taken_as(Element a, DType dtype, std::string_view what, const Place& place);

    [[noreturn]] void refuse(Diagnostic diagnostic) const { throw EvaluationFailure{{std::move(diagnostic)}}; }
    // What complex numbers have not: an order, mathematical functions ...
    [[noreturn]] void refuse_complex(std::string_view what, const Place& place) const;
    Diagnostic error(std::string code, const Place& place, std::string summary) const {
        return environment_.diagnostic(std::move(code), place, std::move(summary));
    }

private:
    Element real(Element a);  // a weak integer becomes a weak float
    // Of a complex element, or re, im and conj of any.
    Element complex_function(ScalarOp op, Element a, const Place& place);
    NodeId product(NodeId factor, int64_t times);
    void need_bool(Element a, std::string_view what, const Place& place);
    [[noreturn]] void refuse_types(std::string_view what, Element a, Element b, std::string reason, std::string remedy,
                                   const Place& place) const;

    BodyNodes& nodes_;
    const Environment& environment_;
    StaticArrays static_arrays_;
    std::vector<Element::Weak> weakness_;  // of each array's elements
    std::vector<std::pair<NodeId, const Place*>> read_places_;
    std::map<int64_t, LocalId> lists_;  // by length, those of positions
};

}  // namespace heddle
