// What an expression of a body stands for while it is being built, and the functions on such values that are more than
// arithmetic of elements: list functions, min and max, rounding, casts.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolic/body_elements.h"

namespace heddle {

struct BodyValue {
    enum class Kind : uint8_t {
        fixed,    // static: `value`
        element,  // `element`
        list,     // `list`: elements and static values mixed
        tensor,   // `index`: a position in the builder's table of tensors
        tensors,  // `index`: a variadic input's position in the template
        local,    // `index`: a local array
        state,    // `index`: a position in the builder's table of states
        failed,   // a name whose definition was wrong
    };
    Kind kind = Kind::fixed;
    StaticValue value;
    bool from_template = true;  // fixed: no number in it came from a parameter, a size or a tensor
    Element element;
    std::vector<BodyValue> list;
    int32_t index = 0;

    static BodyValue of(StaticValue value, bool from_template) {
        BodyValue result;
        result.value = std::move(value);
        result.from_template = from_template;
        return result;
    }
    static BodyValue of(Element element) {
        BodyValue result;
        result.kind = Kind::element;
        result.element = element;
        return result;
    }
    static BodyValue of(std::vector<BodyValue> list) {
        BodyValue result;
        result.kind = Kind::list;
        result.list = std::move(list);
        return result;
    }
    bool is_fixed() const { return kind == Kind::fixed; }
    bool is_list() const { return kind == Kind::list || (is_fixed() && value.is_list()); }
    size_t size() const { return kind == Kind::list ? list.size() : value.list().size(); }
    BodyValue at(size_t position) const {
        return kind == Kind::list ? list[position] : of(value.list()[position], from_template);
    }
};

class BodyValues {
public:
    BodyValues(BodyElements& elements, EvaluationBudget& budget) : elements_(elements), budget_(budget) {}

    Element element(const BodyValue& value, const Place& place);
    std::vector<BodyValue> items(BodyValue value, const Place& place);
    // A list of static values is static again.
    BodyValue list_of(std::vector<BodyValue> items) const;

    BodyValue unary(std::string_view spelled, const BodyValue& a, const Place& place);
    // Every operator but && and ||, whose right side may not be looked at.
    BodyValue binary(std::string_view spelled, const BodyValue& a, const BodyValue& b, const Place& place);
    BodyValue select(const BodyValue& condition, const BodyValue& a, const BodyValue& b, const Place& place);
    BodyValue both(const BodyValue& a, const BodyValue& b, const Place& place);
    BodyValue either(const BodyValue& a, const BodyValue& b, const Place& place);
    BodyValue cast(const BodyValue& a, DType dtype, const Place& place);
    // base[index] of a list; an index that is not static looks a table up.
    BodyValue pick(const BodyValue& base, const BodyValue& index, const Place& place);
    BodyValue slice(const BodyValue& base, const BodyValue& from, const BodyValue& to, const Place& place);
    // Any function but `has` and a user's.
    BodyValue function(std::string_view name, const std::vector<BodyValue>& arguments, const Place& place);
    // The terms of a list combined left to right; sum prod min max all any.
    BodyValue combined(std::string_view reducer, const std::vector<BodyValue>& terms, const Place& place);
    // Spends steps of the application's budget.
    void spend(int64_t steps, const Place& place);
    int64_t static_integer(const BodyValue& value, std::string_view what, const Place& place);

    [[noreturn]] void refuse_type(const Place& place, std::string summary, std::string expected, std::string remedy);

private:
    BodyValue each(const BodyValue& a, const Place& place, const std::function<BodyValue(const BodyValue&)>& f);
    BodyValue zip(const std::vector<BodyValue>& arguments, std::string_view what, const Place& place,
                  const std::function<BodyValue(const std::vector<BodyValue>&)>& f);
    BodyValue unwrapped(Result<StaticValue> value, bool from_template);
    BodyValue table(const BodyValue& base, const BodyValue& index, const Place& place);
    BodyValue least_or_greatest(bool least, const BodyValue& a, const BodyValue& b, const Place& place);
    std::optional<BodyValue> list_function(std::string_view name, const std::vector<BodyValue>& arguments,
                                           const Place& place);
    std::optional<BodyValue> element_function(std::string_view name, const std::vector<BodyValue>& arguments,
                                              const Place& place);
    BodyValue insertion(const std::vector<BodyValue>& arguments, const Place& place);
    BodyValue removal(const std::vector<BodyValue>& arguments, const Place& place);
    BodyValue replacement(const std::vector<BodyValue>& arguments, const Place& place);
    BodyValue flattened(const std::vector<BodyValue>& arguments, const Place& place);
    BodyValue unflattened(const std::vector<BodyValue>& arguments, const Place& place);
    std::vector<int64_t> positions(const BodyValue& value, int64_t count, const Place& place);
    void need_arguments(std::string_view name, size_t given, size_t least, size_t most, const Place& place);

    BodyElements& elements_;
    EvaluationBudget& budget_;
};

}  // namespace heddle
