// Static values: what `$` names, parameters, patterns and static expressions are made of (docs/language.md section 3).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/dtype.h"
#include "zspace/size.h"

namespace heddle {

// The bounds that make evaluation total.
inline constexpr int64_t largest_static_list = 65'536;    // elements
inline constexpr int64_t largest_evaluation = 1'000'000;  // steps of one application
inline constexpr int64_t deepest_evaluation = 200;        // nesting
inline constexpr int64_t largest_each = 4'096;            // operations of one `each`
inline constexpr int32_t deepest_list = 32;               // lists in lists

struct BoundTensor;  // symbolic/environment.h

// An immutable value; copies are cheap (lists share their elements). Integers are sizes: a number, and where it came
// from if it is a named dimension or computed from one.
class StaticValue {
public:
    enum class Kind : uint8_t { none, boolean, integer, real, text, dtype, list, tensor };
    using List = std::vector<StaticValue>;

    StaticValue() = default;  // none
    static StaticValue none() { return {}; }
    static StaticValue of(bool value) { return StaticValue(Storage(std::in_place_index<1>, value)); }
    static StaticValue of(Size value) { return StaticValue(Storage(std::in_place_index<2>, std::move(value))); }
    static StaticValue of(int64_t value) { return of(Size(value)); }
    static StaticValue of(int value) { return of(Size(value)); }
    static StaticValue of(double value) { return StaticValue(Storage(std::in_place_index<3>, value)); }
    static StaticValue of(std::string value) { return StaticValue(Storage(std::in_place_index<4>, std::move(value))); }
    static StaticValue of(const char* value) { return of(std::string(value)); }
    static StaticValue of(DType value) { return StaticValue(Storage(std::in_place_index<5>, value)); }
    // The tensor that `$x` names: what `.shape`, `.rank`, `.dtype` and `.value` are asked of. It must outlive the
    // value.
    static StaticValue of(const BoundTensor* tensor) { return StaticValue(Storage(std::in_place_index<7>, tensor)); }
    static StaticValue of(List elements);
    static StaticValue of_sizes(std::span<const Size> sizes);
    static StaticValue of_integers(const std::vector<int64_t>& numbers);

    Kind kind() const { return static_cast<Kind>(storage_.index()); }
    bool is_none() const { return kind() == Kind::none; }
    bool is_boolean() const { return kind() == Kind::boolean; }
    bool is_integer() const { return kind() == Kind::integer; }
    bool is_real() const { return kind() == Kind::real; }
    bool is_number() const { return is_integer() || is_real(); }
    bool is_text() const { return kind() == Kind::text; }
    bool is_dtype() const { return kind() == Kind::dtype; }
    bool is_list() const { return kind() == Kind::list; }
    bool is_tensor() const { return kind() == Kind::tensor; }

    // Each asks for its own kind: the caller has looked.
    bool boolean() const { return std::get<1>(storage_); }
    const Size& size() const { return std::get<2>(storage_); }
    int64_t integer() const { return std::get<2>(storage_).value; }
    double real() const { return std::get<3>(storage_); }
    const std::string& text() const { return std::get<4>(storage_); }
    DType dtype() const { return std::get<5>(storage_); }
    const List& list() const { return std::get<6>(storage_)->elements; }
    int32_t list_depth() const { return is_list() ? std::get<6>(storage_)->depth : 0; }  // 1: a list without lists
    const BoundTensor& tensor() const { return *std::get<7>(storage_); }
    // An integer or a float, as a float.
    double number() const { return is_real() ? real() : static_cast<double>(integer()); }

    // A list of integers as sizes, or as plain numbers; nothing if it is anything else.
    std::optional<std::vector<Size>> sizes() const;
    std::optional<std::vector<int64_t>> integers() const;

    // By value: origins do not matter, integers and floats are different kinds.
    bool operator==(const StaticValue& other) const;
    // As the language writes it: 3, 1.5, true, 'text', float32, [1, batch], none.
    std::string print() const;
    // "an integer", "a list of 3 elements", for messages.
    std::string describe() const;

private:
    struct SharedList {
        std::vector<StaticValue> elements;
        int32_t depth = 1;
    };
    using Storage = std::variant<std::monostate, bool, Size, double, std::string, DType,
                                 std::shared_ptr<const SharedList>, const BoundTensor*>;
    explicit StaticValue(Storage storage) : storage_(std::move(storage)) {}
    Storage storage_;
};

}  // namespace heddle
