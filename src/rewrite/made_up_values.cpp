#include "rewrite/made_up_values.h"

#include <algorithm>
#include <numeric>

#include "symbolic/environment_state.h"
#include "zspace/checked.h"

namespace heddle::rewrite {
namespace {

using Kind = Syntax::Kind;

constexpr std::array<int64_t, 7> integers = {2, 1, 3, 0, 4, -1, 8};
constexpr std::array<double, 5> reals = {0.5, 1, 2, 0, -1};

std::vector<StaticValue> texts_of(const Template& metakernel) {
    std::vector<StaticValue> texts;
    auto look = [&](const Syntax& node) {
        const auto value = node.kind == Kind::text ? StaticValue::of(node.text) : StaticValue::none();
        if (value.is_text() && std::ranges::find(texts, value) == texts.end()) texts.push_back(value);
    };
    for (const auto* statements : {&metakernel.body, &metakernel.graph})
        for (const SyntaxPointer& statement : *statements) visit_all(statement, look);
    for (const StaticLet& let : metakernel.lets) visit_all(let.value, look);
    for (const Requirement& requirement : metakernel.requirements) visit_all(requirement.condition, look);
    texts.push_back(StaticValue::of("a"));
    return texts;
}

// What the type's range allows, as far as its bounds are literals, which are among the values then.
void keep_within(std::vector<StaticValue>& values, const ParameterType& type) {
    const auto literal = [](const SyntaxPointer& bound) -> std::optional<StaticValue> {
        if (bound && bound->kind == Kind::integer) return StaticValue::of(bound->integer);
        return std::nullopt;
    };
    const auto lowest = literal(type.lowest), highest = literal(type.highest);
    std::erase_if(values, [&](const StaticValue& value) {
        return (lowest && value.number() < lowest->number()) || (highest && value.number() > highest->number());
    });
    for (const auto& bound : {lowest, highest})
        if (bound && std::ranges::find(values, *bound) == values.end()) values.push_back(*bound);
}

}  // namespace

std::vector<StaticValue> scalars_of(const Template& metakernel, const ParameterType& type) {
    using enum ParameterType::Kind;
    std::vector<StaticValue> values;
    switch (type.kind) {
    case integer:
        for (int64_t value : integers) values.push_back(StaticValue::of(value));
        keep_within(values, type);
        break;
    case real:
    case number:
        for (double value : reals) values.push_back(StaticValue::of(value));
        keep_within(values, type);
        break;
    case boolean: values = {StaticValue::of(false), StaticValue::of(true)}; break;
    case string: return texts_of(metakernel);
    case dtype:
        for (DType value : usual_dtypes) values.push_back(StaticValue::of(value));
        break;
    case choice:
        for (const std::string& value : type.choices) values.push_back(StaticValue::of(value));
        break;
    case axis:
        for (int64_t value : {0, 1, 2, -1, -2}) values.push_back(StaticValue::of(value));
        break;
    case axes:
    case any: break;
    }
    return values;
}

std::vector<int64_t> counted(size_t count) {
    std::vector<int64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

std::vector<StaticValue> values_of(const Template& metakernel, const ParameterType& type,
                                   const std::vector<int64_t>& shape) {
    using enum ParameterType::Kind;
    const auto iota = counted(shape.size());
    const std::vector<int64_t> backwards(iota.rbegin(), iota.rend());
    std::vector<StaticValue> lists;
    auto add = [&](std::vector<int64_t> numbers) { lists.push_back(StaticValue::of_integers(numbers)); };
    if (type.kind == axes) {
        for (std::vector<int64_t> numbers : {std::vector<int64_t>{0}, {1}, iota, {0, 1}, backwards, {}, {1, 0}})
            add(std::move(numbers));
        return lists;
    }
    std::vector<StaticValue> scalars = scalars_of(metakernel, type);
    if (!type.is_list || type.length) return scalars;  // a scalar is repeated
    if (type.kind != integer) {
        for (const StaticValue& value : scalars) lists.push_back(StaticValue::of(StaticValue::List{value}));
        lists.push_back(StaticValue::of(StaticValue::List{}));
        return lists;
    }
    const std::vector<int64_t> sizes_backwards(shape.rbegin(), shape.rend());
    for (std::vector<int64_t> numbers :
         {shape, iota, {2}, {1}, {0}, backwards, sizes_backwards, std::vector<int64_t>(shape.size(), 1), {}, {2, 2}})
        add(std::move(numbers));
    return lists;
}

std::optional<TensorData> value_for(const TensorType& type, size_t candidate, const std::vector<int64_t>& shape) {
    const std::vector<int64_t> extents = type.extents();
    int64_t count = 1;
    for (int64_t extent : extents) {
        const auto product = extent < 0 ? std::nullopt : checked_multiply(count, extent);
        if (!product) return std::nullopt;
        count = *product;
    }
    if (count > largest_folded) return std::nullopt;
    TensorData data(type.dtype, extents);
    const auto rank = static_cast<int64_t>(shape.size());
    for (int64_t i = 0; i < count; ++i) {
        const auto of_shape = [&](int64_t at) { return at >= 0 && at < rank ? shape[static_cast<size_t>(at)] : 1; };
        const std::array<double, 8> values = {static_cast<double>(extents.empty() ? 2 : of_shape(i)),
                                              1,
                                              0,
                                              static_cast<double>(i),
                                              2,
                                              static_cast<double>(of_shape(rank - 1 - i)),
                                              -1,
                                              0.5};
        data.set_real(i, type.dtype == DType::boolean && candidate == 0 ? (i + 1) % 2 : values[candidate]);
    }
    return data;
}

}  // namespace heddle::rewrite
