#include "symbolic/body_elements.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "support/narrow_float.h"
#include "support/tensor_data.h"
#include "symbolic/projection_range.h"

namespace heddle {
namespace {

using Weak = Element::Weak;

bool is_rounding(ScalarOp op) {
    return op == ScalarOp::floor || op == ScalarOp::ceil || op == ScalarOp::round || op == ScalarOp::truncate;
}

// A number as `dtype` holds it, in double.
double rounded(double value, DType dtype) {
    TensorData element(dtype, {1});
    element.set_real(0, value);
    return element.real_at(0);
}

}  // namespace

std::string BodyElements::type_name(Element element) const {
    if (element.weak == Weak::integer) return "an integer";
    if (element.weak == Weak::real) return "a float";
    if (element.weak == Weak::complex) return "a complex number";
    return std::string(name(dtype(element)));
}

void BodyElements::refuse_types(std::string_view what, Element a, Element b, std::string reason, std::string remedy,
                                const Place& place) const {
    Diagnostic diagnostic =
        error("symbolic.dtype", place, fmt::format("{} of {} and {}", what, type_name(a), type_name(b)));
    diagnostic.expected = "two elements of one dtype";
    diagnostic.found = fmt::format("{} and {}", type_name(a), type_name(b));
    diagnostic.reason = std::move(reason);
    diagnostic.remedy = std::move(remedy);
    refuse(std::move(diagnostic));
}

void BodyElements::refuse_complex(std::string_view what, const Place& place) const {
    Diagnostic diagnostic = error("symbolic.complex", place, fmt::format("{} a complex number", what));
    diagnostic.expected = "a real number; of complex ones there are + - * / == != ?: sum mean, abs re im conj, casts";
    diagnostic.remedy = "take re(z), im(z) or abs(z)";
    refuse(std::move(diagnostic));
}

Element BodyElements::literal(const Value& value, bool from_template, const Place& place) {
    if (value.is_integer()) return {nodes_.sized_integer(value.size(), DType::int64, from_template), Weak::integer};
    if (value.is_real() && value.is_of_sizes())
        return {nodes_.sized_real(*value.quotient(), DType::float64, from_template), Weak::real};
    if (value.is_real()) return {nodes_.real(value.real(), DType::float64, from_template), Weak::real};
    if (value.is_boolean()) return truth(value.boolean());
    Diagnostic diagnostic =
        error("symbolic.type", place, fmt::format("{} stands where an element is needed", value.describe()));
    diagnostic.expected = "a number, a bool or an element of a tensor";
    diagnostic.found = value.print();
    if (value.is_none()) {
        diagnostic.code = "symbolic.not_given";
        diagnostic.remedy = "test it with has(...)";
    }
    if (value.is_list()) diagnostic.remedy = "pick one element, or reduce the list with sum, all, any, min or max";
    refuse(std::move(diagnostic));
}

Element BodyElements::taken_as(Element a, DType dtype, std::string_view what, const Place& place) {
    if (a.weak == Weak::no) return a;
    Element other{nodes_.integer(0, dtype, true), Weak::no};
    if (is_bool(dtype))
        refuse_types(what, a, other, "a bool is not a number", "write a cast, or compare the number", place);
    if (a.weak == Weak::complex && !is_complex(dtype))
        refuse_types(what, a, other, "a complex number would lose its imaginary part",
                     fmt::format("write a cast, as in {}(...)", dtype == DType::float64 ? "complex128" : "complex64"),
                     place);
    if (a.weak == Weak::real && is_integer(dtype))
        refuse_types(what, a, other, "a float would lose its fraction as an integer", "write a cast", place);
    static_arrays_.use(a.node, dtype);
    const Node& node = nodes_.node(a.node);
    if (node.kind == Node::Kind::integer)
        return {nodes_.sized_integer(node.integer, dtype, node.from_template), Weak::no};
    if (node.kind == Node::Kind::real) return {nodes_.real(node.real, dtype, node.from_template), Weak::no};
    return {nodes_.cast(a.node, dtype), Weak::no};
}

Element BodyElements::real(Element a) {
    if (a.weak != Weak::integer) return a;
    const Node& node = nodes_.node(a.node);
    if (node.kind == Node::Kind::integer)
        return {nodes_.sized_real(node.integer, DType::float64, node.from_template), Weak::real};
    return {nodes_.cast(a.node, DType::float64), Weak::real};
}

DType BodyElements::unify(Element& a, Element& b, std::string_view what, const Place& place) {
    if (a.weak != Weak::no && b.weak != Weak::no) {
        if (a.weak != b.weak) {
            a = real(a);
            b = real(b);
        }
        for (Element* side : {&a, &b}) {
            if ((side == &a ? b : a).weak == Weak::complex)
                *side = {nodes_.cast(side->node, DType::complex128), Weak::complex};
        }
        return dtype(a);
    }
    if (a.weak != Weak::no) a = taken_as(a, dtype(b), what, place);
    if (b.weak != Weak::no) b = taken_as(b, dtype(a), what, place);
    if (dtype(a) != dtype(b))
        refuse_types(what, a, b, "elements of different dtypes are never mixed silently",
                     fmt::format("write a cast, as in {}(...)", name(dtype(is_complex(dtype(b)) ? b : a))), place);
    return dtype(a);
}

void BodyElements::need_bool(Element a, std::string_view what, const Place& place) {
    if (is_bool(dtype(a))) return;
    Diagnostic diagnostic = error("symbolic.dtype", place, fmt::format("{} of {}", what, type_name(a)));
    diagnostic.expected = "bool";
    diagnostic.found = type_name(a);
    diagnostic.remedy = "write a comparison";
    refuse(std::move(diagnostic));
}

// A small power is a product: at most three roundings, and no call.
NodeId BodyElements::product(NodeId factor, int64_t times) {
    NodeId result = no_id;
    for (; times > 0; times /= 2) {
        if (times % 2 == 1) result = result < 0 ? factor : nodes_.scalar(ScalarOp::multiply, {result, factor});
        if (times > 1) factor = nodes_.scalar(ScalarOp::multiply, {factor, factor});
    }
    return result;
}

Element BodyElements::binary(ScalarOp op, Element a, Element b, const Place& place) {
    std::string_view spelled = info(op).infix;
    if (op == ScalarOp::power && b.weak == Weak::integer && !is_bool(dtype(a))) {
        if (const auto exponent = nodes_.literal_integer(b.node); exponent && *exponent >= 2 && *exponent <= 8)
            return {product(a.node, *exponent), a.weak};
    }
    DType type = unify(a, b, spelled, place);
    if (info(op).kind == ScalarClass::comparison) {
        const bool ordered = op != ScalarOp::equal && op != ScalarOp::not_equal;
        if (is_complex(type) && ordered) refuse_complex(fmt::format("{} orders", spelled), place);
        if (is_bool(type) && ordered)
            refuse_types(spelled, a, b, "bools have no order", "use && || ! or a cast", place);
        return {nodes_.scalar(op, {a.node, b.node}), Weak::no};
    }
    if (is_bool(type)) refuse_types(spelled, a, b, "arithmetic on bools", "use && || ! or a cast", place);
    if (is_complex(type)) {
        const bool field =
            op == ScalarOp::add || op == ScalarOp::subtract || op == ScalarOp::multiply || op == ScalarOp::divide;
        if (!field) refuse_complex(fmt::format("{} of", spelled), place);
    }
    if (op == ScalarOp::divide && !is_float(type) && !is_complex(type))
        refuse_types(spelled, a, b, "/ is for floats", "write // to round down, trunc_div to truncate, or a cast",
                     place);
    return {nodes_.scalar(op, {a.node, b.node}), a.weak};
}

Element BodyElements::binary_function(ScalarOp op, Element a, Element b, const Place& place) {
    std::string_view what = info(op).name;
    const bool of_floats = op == ScalarOp::atan2 || op == ScalarOp::hypotenuse || op == ScalarOp::copy_sign;
    if (of_floats || op == ScalarOp::power) {
        a = real(a);
        b = real(b);
    }
    DType type = unify(a, b, what, place);
    if (is_complex(type)) refuse_complex(fmt::format("{} of", what), place);
    if (is_bool(type) && op != ScalarOp::bit_and && op != ScalarOp::bit_or && op != ScalarOp::bit_xor &&
        op != ScalarOp::logical_xor)
        refuse_types(what, a, b, fmt::format("{} is not for bools", what), "use && and ||, or any and all", place);
    if ((is_bitwise(op) || op == ScalarOp::truncate_divide) && is_float(type))
        refuse_types(what, a, b, fmt::format("{} is for integers", what), "write a cast", place);
    if (of_floats && !is_float(type))
        refuse_types(what, a, b, fmt::format("{} is for floats", what), "write a cast", place);
    if (op == ScalarOp::logical_xor) need_bool(a, what, place);
    return {nodes_.scalar(op, {a.node, b.node}), a.weak};
}

Element BodyElements::ternary_function(ScalarOp op, Element a, Element b, Element c, const Place& place) {
    const std::string_view what = info(op).name;
    for (const Element& operand : {a, b, c}) {
        if (operand.weak == Element::Weak::no && is_integer(dtype(operand)))
            refuse_types(what, operand, b, fmt::format("{} is for floats", what), "write a cast", place);
    }
    for (Element* operand : {&a, &b, &c}) *operand = real(*operand);
    unify(a, b, what, place);
    unify(a, c, what, place);
    const DType type = unify(b, c, what, place);
    if (is_complex(type)) refuse_complex(fmt::format("{} of", what), place);
    if (!is_float(type)) refuse_types(what, a, c, fmt::format("{} is for floats", what), "write a cast", place);
    return {nodes_.scalar(op, {a.node, b.node, c.node}), a.weak};
}

Element BodyElements::bits_counted(std::string_view function, Element a, const Place& place) {
    const DType type = dtype(a);
    if (!is_integer(type)) {
        Diagnostic diagnostic = error("symbolic.dtype", place, fmt::format("{} of {}", function, type_name(a)));
        diagnostic.expected = "an integer";
        diagnostic.found = type_name(a);
        diagnostic.remedy = "write a cast, as in uint32(...)";
        refuse(std::move(diagnostic));
    }
    const int width = info(type).bits;
    const DType plain = width == 8    ? DType::uint8
                        : width == 16 ? DType::uint16
                        : width == 32 ? DType::uint32
                                      : DType::uint64;
    const NodeId bits = nodes_.cast(a.node, plain);
    const NodeId one = nodes_.integer(1, plain, true), wide = nodes_.integer(width, plain, true);
    NodeId count;
    if (function == "popcount")
        count = nodes_.scalar(ScalarOp::count_bits, {bits});
    else if (function == "bit_length")
        count = nodes_.scalar(ScalarOp::bit_length, {bits});
    else if (function == "leading_zeros")
        count = nodes_.scalar(ScalarOp::subtract, {wide, nodes_.scalar(ScalarOp::bit_length, {bits})});
    else  // the ones that stand below the lowest one of the value: all, of 0
        count = nodes_.scalar(ScalarOp::count_bits,
                              {nodes_.scalar(ScalarOp::bit_and, {nodes_.scalar(ScalarOp::bit_not, {bits}),
                                                                 nodes_.scalar(ScalarOp::subtract, {bits, one})})});
    return {nodes_.cast(count, type), a.weak};
}

Element BodyElements::unary_function(ScalarOp op, Element a, const Place& place) {
    const ScalarOpInfo& row = info(op);
    DType type = dtype(a);
    bool keeps_type = op == ScalarOp::negate || op == ScalarOp::absolute || op == ScalarOp::sign;
    if (op == ScalarOp::logical_not) return inverted(a, place);
    if (is_complex(op) || is_complex(type)) return complex_function(op, a, place);
    bool fits = op == ScalarOp::bit_not ? is_integer(type) : !is_bool(type);
    if (keeps_type && fits) return {nodes_.scalar(op, {a.node}), a.weak};
    if (op == ScalarOp::bit_not && fits) return {nodes_.scalar(op, {a.node}), a.weak};
    if (is_rounding(op) && fits) {
        if (is_integer(type)) return a;
        NodeId value = nodes_.scalar(op, {a.node});
        // Of coordinates: a coordinate again.
        if (a.weak == Weak::real) return {nodes_.cast(value, DType::int64), Weak::integer};
        return {value, Weak::no};
    }
    if (op != ScalarOp::bit_not && !is_bool(type)) a = real(a);
    if (op == ScalarOp::bit_not || !is_float(dtype(a))) {
        Diagnostic diagnostic = error("symbolic.dtype", place, fmt::format("{} of {}", row.name, type_name(a)));
        diagnostic.expected = op == ScalarOp::bit_not ? "an integer" : "a float";
        diagnostic.found = type_name(a);
        diagnostic.remedy = "write a cast, as in float32(...)";
        refuse(std::move(diagnostic));
    }
    return {nodes_.scalar(op, {a.node}), row.kind == ScalarClass::predicate ? Weak::no : a.weak};
}

// Of real numbers re and conj are those, im is 0.
Element BodyElements::complex_function(ScalarOp op, Element a, const Place& place) {
    const DType type = dtype(a);
    if (is_complex(type)) {
        if (!is_complex(op) && op != ScalarOp::negate && op != ScalarOp::absolute)
            refuse_complex(fmt::format("{} of", info(op).name), place);
        const bool complex = is_complex(result_type(op, type));
        return {nodes_.scalar(op, {a.node}), a.weak == Weak::complex && !complex ? Weak::real : a.weak};
    }
    if (is_bool(type)) {
        Diagnostic diagnostic = error("symbolic.dtype", place, fmt::format("{} of bool", info(op).name));
        diagnostic.expected = "a number";
        diagnostic.found = type_name(a);
        diagnostic.remedy = "write a cast, as in complex64(...)";
        refuse(std::move(diagnostic));
    }
    return op == ScalarOp::imaginary_part ? Element{nodes_.integer(0, type, true), a.weak} : a;
}

Element BodyElements::complex(Element real, Element imaginary, const Place& place) {
    real = this->real(real);
    imaginary = this->real(imaginary);
    if (!is_float(unify(real, imaginary, "complex", place)))
        refuse_types("complex", real, imaginary, "the parts are floats", "write a cast, as in float32(...)", place);
    return {nodes_.scalar(ScalarOp::complex, {real.node, imaginary.node}),
            real.weak == Weak::no ? Weak::no : Weak::complex};
}

Element BodyElements::negated(Element a, const Place& place) {
    const Node& node = nodes_.node(a.node);
    if (a.weak == Weak::integer && node.kind == Node::Kind::integer &&
        node.integer != std::numeric_limits<int64_t>::min())
        return {nodes_.sized_integer(*checked_subtract(0, node.integer), DType::int64,
                                     node.from_template),
                Weak::integer};
    return unary_function(ScalarOp::negate, a, place);
}

Element BodyElements::inverted(Element a, const Place& place) {
    need_bool(a, "!", place);
    return {nodes_.scalar(ScalarOp::logical_not, {a.node}), Weak::no};
}

Element BodyElements::both(Element a, Element b, const Place& place) {
    need_bool(a, "&&", place);
    need_bool(b, "&&", place);
    // A selection is lazy: the right side may read what the left side makes sure of.
    if (nodes_.has_open_read(b.node)) return {nodes_.select(a.node, b.node, nodes_.boolean(false)), Weak::no};
    return {nodes_.scalar(ScalarOp::logical_and, {a.node, b.node}), Weak::no};
}

Element BodyElements::either(Element a, Element b, const Place& place) {
    need_bool(a, "||", place);
    need_bool(b, "||", place);
    if (nodes_.has_open_read(b.node)) return {nodes_.select(a.node, nodes_.boolean(true), b.node), Weak::no};
    return {nodes_.scalar(ScalarOp::logical_or, {a.node, b.node}), Weak::no};
}

Element BodyElements::select(Element condition, Element then, Element otherwise, const Place& place) {
    need_bool(condition, "?:", place);
    unify(then, otherwise, "?:", place);
    return {nodes_.select(condition.node, then.node, otherwise.node), then.weak};
}

Element BodyElements::cast(Element a, DType dtype, const Place& place) {
    if (is_complex(this->dtype(a)) && !is_complex(dtype))
        refuse_complex(fmt::format("a cast to {} of", name(dtype)), place);
    if (a.weak == Weak::integer) static_arrays_.use(a.node, std::nullopt);
    if (a.weak == Weak::real && is_float(dtype)) static_arrays_.use(a.node, info(dtype).arithmetic);
    if (is_complex(dtype)) return {nodes_.cast(a.node, dtype), Weak::no};
    const Node& node = nodes_.node(a.node);
    if (is_narrow(dtype)) {
        const bool real = node.kind == Node::Kind::real;
        if ((real || node.kind == Node::Kind::integer) && is_float(dtype)) {
            const double value = real ? node.real : odd_double(node.integer.value());
            return {nodes_.real(rounded(value, dtype), info(dtype).arithmetic, node.from_template), Weak::no};
        }
        // Rounded or wrapped now, and widened again for what follows.
        return widened(real ? nodes_.real(node.real, dtype, node.from_template) : nodes_.cast(a.node, dtype));
    }
    if (node.kind == Node::Kind::real && a.weak != Weak::no && is_float(dtype))
        return {nodes_.real(node.real, dtype, node.from_template), Weak::no};
    if (node.kind == Node::Kind::real && is_integer(dtype))
        return {nodes_.real(node.real, dtype, node.from_template), Weak::no};
    if (node.kind == Node::Kind::integer && !is_bool(dtype))
        return {nodes_.sized_integer(node.integer, dtype, node.from_template), Weak::no};
    return {nodes_.cast(a.node, dtype), Weak::no};
}

NodeId BodyElements::coordinate(Element a, const Place& place) {
    if (a.weak == Weak::integer) return a.node;
    if (is_integer(dtype(a))) return nodes_.cast(a.node, DType::int64);
    Diagnostic diagnostic = error("symbolic.coordinate", place, fmt::format("a coordinate is {}", type_name(a)));
    diagnostic.expected = "an integer";
    diagnostic.found = type_name(a);
    diagnostic.remedy = is_complex(dtype(a)) ? "round re(z)"
                        : is_float(dtype(a))
                            ? "write a cast, which truncates, around it or around its floor: int64(floor(v))"
                            : "write a cast";
    refuse(std::move(diagnostic));
}

LocalId BodyElements::add_array(Local array, Element::Weak weak, const Syntax* statement) {
    const LocalId id = nodes_.add_local(std::move(array));
    weakness_.push_back(weak);
    static_arrays_.declare(id, statement, weak);
    return id;
}

Element BodyElements::position_in_list(Element index, int64_t length, const Place& place) {
    constexpr int64_t steps = 10'000;
    int64_t budget = steps;
    const Body& body = nodes_.body();
    const NodeId position = coordinate(index, place);
    VariableRegion region = full_region(body);
    const bool inside = region.is_empty() || [&] {
        const Interval values = RangeEvaluator(body, std::move(region), &budget).of(position).interval;
        return values.low >= 0 && values.high < length;
    }();
    if (inside) return {position, Weak::integer};
    const auto [known, is_new] = lists_.try_emplace(length, no_id);
    if (is_new) {
        const VariableId i = nodes_.add_variable("i", Variable::Kind::parallel, length);
        const std::string name = fmt::format("list_of_{}", length);
        known->second = add_array({name, DType::int64, {i}, nodes_.variable(i)}, Weak::integer);
    }
    return element_of(known->second, nodes_.local(known->second, DType::int64, {position}), place);
}

NodeId BodyElements::stored(Element a, DType dtype, const std::string& output, const Place& place) {
    DType type = this->dtype(a);
    bool weak_fits = a.weak == Weak::integer ? !is_bool(dtype) : a.weak == Weak::real && is_float(dtype);
    weak_fits = weak_fits || (a.weak != Weak::no && is_complex(dtype));
    if (a.weak != Weak::no && weak_fits) {
        static_arrays_.use(a.node, info(dtype).arithmetic);
        const Node& node = nodes_.node(a.node);
        if (node.kind == Node::Kind::integer)
            return nodes_.sized_integer(node.integer, dtype, node.from_template);
        if (node.kind == Node::Kind::real) return nodes_.real(node.real, dtype, node.from_template);
        return nodes_.cast(a.node, dtype);
    }
    if (a.weak == Weak::no && type == dtype) return a.node;
    if (a.weak == Weak::no && type == info(dtype).arithmetic) return nodes_.cast(a.node, dtype);
    Diagnostic diagnostic =
        error("symbolic.stored_dtype", place,
              fmt::format("output '{}' is {}, its equation gives {}", output, name(dtype), type_name(a)));
    diagnostic.expected = name(dtype);
    diagnostic.found = type_name(a);
    diagnostic.remedy = is_complex(type) && !is_complex(dtype)
                            ? "take re(z), im(z) or abs(z)"
                            : fmt::format("write a cast, as in {}(...)", name(dtype));
    diagnostic.params.emplace_back("output", output);
    refuse(std::move(diagnostic));
}

Element BodyElements::widened(NodeId read) {
    return {nodes_.cast(read, info(nodes_.node(read).dtype).arithmetic), Weak::no};
}

Element BodyElements::neutral(Reducer reducer, Element like) {
    if (is_argument(reducer)) return weak_integer(-1, true);
    const DType type = dtype(like);
    const NeutralTerm term = heddle::neutral(reducer, type);
    if (reducer == Reducer::any || reducer == Reducer::all) return truth(term.integer != 0);
    const bool real = is_float(type) || is_complex(type);
    return {real ? nodes_.real(term.real, type, true) : nodes_.integer(term.integer, type, true), like.weak};
}

}  // namespace heddle
