#include "interchange/parameters.h"

#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "interchange/json_text.h"
#include "interchange/json_tree.h"
#include "support/spelling.h"
#include "symbolic/environment.h"

namespace heddle::interchange {
namespace {

std::string real_json(double value) {
    const std::string text = real_text(value, DType::float64);
    return std::isfinite(value) ? text : json_string(text);
}

std::string json_of(const StaticValue& value) {
    using Kind = StaticValue::Kind;
    switch (value.kind()) {
    case Kind::boolean: return value.boolean() ? "true" : "false";
    case Kind::integer: return std::to_string(value.integer());
    case Kind::real: return real_json(value.real());
    case Kind::text: return json_string(value.text());
    case Kind::dtype: return json_string(dtype_text(value.dtype()));
    case Kind::list: {
        std::vector<std::string> items;
        bool numbers = true;
        for (const StaticValue& item : value.list()) {
            numbers = numbers && (item.is_integer() || (item.is_real() && std::isfinite(item.real())));
            items.push_back(json_of(item));
        }
        return numbers ? json_number_vector(items) : json_array(items);
    }
    default: return "null";
    }
}

std::optional<StaticValue> value_of(const JsonValue& json) {
    using Kind = JsonValue::Kind;
    switch (json.kind) {
    case Kind::null: return StaticValue::none();
    case Kind::boolean: return StaticValue::of(json.text == "true");
    case Kind::integer: return StaticValue::of(json.integer);
    case Kind::number: return StaticValue::of(std::strtod(json.text.c_str(), nullptr));
    case Kind::string: return StaticValue::of(json.text);
    case Kind::object: return std::nullopt;
    case Kind::array: break;
    }
    StaticValue::List list;
    bool fine = true;
    each_element(json, [&](const JsonValue& item) {
        auto value = value_of(item);
        fine = fine && value;
        if (fine) list.push_back(std::move(*value));
    });
    return fine ? std::optional(StaticValue::of(std::move(list))) : std::nullopt;
}

// The names are a model's and need not be words of the language; within quotes nothing is a name.
std::string with_numbers(const std::string& printed, const std::map<std::string, int64_t>& dimensions) {
    auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    std::string result;
    bool quoted = false;
    for (size_t at = 0; at < printed.size();) {
        if (printed[at] == '\'') quoted = !quoted;
        const std::pair<const std::string, int64_t>* longest = nullptr;
        for (const auto& dimension : dimensions) {
            const std::string& name = dimension.first;
            bool here = !quoted && !name.empty() && printed.compare(at, name.size(), name) == 0;
            bool starts = at == 0 || !is_word(printed[at - 1]) || !is_word(name[0]);
            bool ends =
                at + name.size() >= printed.size() || !is_word(printed[at + name.size()]) || !is_word(name.back());
            if (here && starts && ends && (!longest || name.size() > longest->first.size())) longest = &dimension;
        }
        result += longest ? std::to_string(longest->second) : std::string(1, printed[at]);
        at += longest ? longest->first.size() : 1;
    }
    return result;
}

}  // namespace

std::string dtype_text(DType dtype) { return is_bool(dtype) ? "boolean" : std::string(name(dtype)); }

std::optional<DType> dtype_of(const std::string& text) {
    return text == "boolean" ? DType::boolean : dtype_named(text);
}

std::string parameter_json(const std::string& printed, const std::map<std::string, int64_t>& dimensions) {
    auto expression = parse_expression(std::make_shared<SourceText>("parameter", with_numbers(printed, dimensions)));
    if (!expression) return json_string(printed);
    Template nothing;
    nothing.functions = std::make_shared<FunctionTable>();
    Environment environment(nothing);
    auto value = environment.evaluate(**expression);
    return value ? json_of(*value) : json_string(printed);
}

std::optional<StaticValue> parameter_value_of(const std::string& json) {
    auto tree = read_json_tree(std::make_shared<const SourceText>("parameter", json));
    return tree ? value_of(*tree) : std::nullopt;
}

}  // namespace heddle::interchange
