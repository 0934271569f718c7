// What the rules of functions are written with.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "symbolic/operations.h"

namespace heddle {

struct FunctionCall {
    Operations& operations;
    Arguments arguments;
    const Place& place;

    const Value& operator[](size_t position) const { return arguments[position]; }
    const Value::List& list(size_t position) const { return operations.list(arguments[position], place); }
    Value binary(ScalarOp op, const Value& a, const Value& b) const { return operations.binary(op, a, b, place); }
    Value negative(const Value& a) const { return operations.unary("-", a, place); }
    [[noreturn]] void refuse_argument(size_t position, std::string summary, std::string expected) const {
        refuse(type_error(place, std::move(summary), std::move(expected), arguments[position]));
    }
    [[noreturn]] void refuse_call(std::string code, std::string summary, std::string remedy = {}) const {
        refuse(static_error(std::move(code), place, std::move(summary), std::move(remedy)));
    }
};

using Rule = Value (*)(const FunctionCall& call);

struct FunctionRule {
    std::string_view name;
    Rule any = nullptr;      // made of operators: right at any binding time
    Rule fixed = nullptr;    // of static values
    Rule element = nullptr;  // in a body
};

// Of functions that take lists, or texts, apart and make them (list_functions.cpp).
std::span<const FunctionRule> list_function_rules();

}  // namespace heddle
