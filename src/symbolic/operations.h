// The operators and functions of template expressions on values of any binding time (docs/language.md, "Static
// expressions" and "Bodies"). An operation on static values alone is static, and exact; one with an element is a node
// of the body; lists are taken apart before. Total and bounded.
//
// Codes: symbolic.type, symbolic.overflow, symbolic.division_by_zero, symbolic.inexact_division, symbolic.length,
// symbolic.range, symbolic.not_given, symbolic.limit, symbolic.user_error, symbolic.unknown_function,
// symbolic.arguments, symbolic.broadcast, symbolic.table, and those of elements (body_elements.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbolic/body_elements.h"
#include "symbolic/failures.h"
#include "symbolic/value.h"

namespace heddle {

using Arguments = std::span<const Value>;

class Operations {
public:
    // Without `elements` there is no body here: what needs one is refused.
    explicit Operations(Environment& environment, BodyElements* elements = nullptr);

    // "-" and "!".
    Value unary(std::string_view spelled, const Value& operand, const Place& place);
    // Every operator; those of conditions take single values only. Two lists are equal as wholes.
    Value binary(ScalarOp op, const Value& left, const Value& right, const Place& place);
    Value select(const Value& condition, const Value& then, const Value& otherwise, const Place& place);
    Value cast(const Value& value, DType dtype, const Place& place);
    // base[index] with an integer or a list of integers (which picks); a negative index counts from the end. An element
    // as the index looks a table up.
    Value pick(const Value& base, const Value& index, const Place& place);
    // base[from:to], half open, of a list or a text; none for a bound left out. Bounds beyond the ends are the ends.
    Value slice(const Value& base, const Value& from, const Value& to, const Place& place);
    // A function of language/functions.h by its name, or a dtype's (not `has`, not a user's function).
    Value function(std::string_view name, Arguments arguments, const Place& place);
    // The terms combined, the first one first; `name` is sum prod min max all any.
    Value joined(std::string_view name, Arguments terms, const Place& place);
    Value extreme(bool least, const Value& a, const Value& b, const Place& place);

    // The value as an element of the body.
    Element element(const Value& value, const Place& place);
    BodyElements& elements() { return *elements_; }
    int64_t integer(const Value& value, std::string_view what, const Place& place);
    const Value::List& list(const Value& value, const Place& place);
    // Spends steps of the application's budget; `spend_list` those of making or walking a list, which may have so many.
    void spend(int64_t steps, const Place& place) {
        bool small = !elements_ || elements_->nodes().body().nodes.size() <= largest_body;
        if (!budget_.spend(steps) || !small) refuse_work(small, place);
    }
    void spend_list(int64_t elements, const Place& place);

    // f on each element of the lists among the arguments, which have one length; the others repeat.
    template <typename Function>
    Value zip(Arguments arguments, std::string_view what, const Place& place, const Function& f) {
        const Value* longest = nullptr;
        for (const Value& argument : arguments) {
            if (!argument.is_list()) continue;
            if (longest && longest->list().size() != argument.list().size())
                refuse_lengths(what, *longest, argument, place);
            longest = &argument;
        }
        if (!longest) return f(arguments);
        size_t count = longest->list().size();
        spend_list(static_cast<int64_t>(count), place);
        Value::List result, row(arguments.size());
        result.reserve(count);
        for (size_t i = 0; i < count; ++i) {
            for (size_t side = 0; side < row.size(); ++side) row[side] = arguments[side].at(i);
            result.push_back(zip(row, what, place, f));
        }
        return Value::of(std::move(result));
    }

    [[noreturn]] void refuse_type(const Place& place, std::string summary, std::string expected, std::string remedy);
    Diagnostic error(std::string code, const Place& place, std::string summary) const;

private:
    Value logical(bool conjunction, const Value& left, const Value& right, const Place& place);
    Value table(const Value& base, const Value& index, const Place& place);
    [[noreturn]] void refuse_work(bool small, const Place& place);
    [[noreturn]] void refuse_lengths(std::string_view what, const Value& a, const Value& b, const Place& place);

    Environment& environment_;
    EvaluationBudget& budget_;
    BodyElements* elements_;
};

// The operator as the syntax tree spells it.
ScalarOp binary_operator(std::string_view spelled);

// NumPy's rule for two extents; nothing if they do not fit. An extent of plain 1 yields to the other's origin.
std::optional<Size> broadcast_sizes(const Size& a, const Size& b);

}  // namespace heddle
