// The text form of systems. Grammar (docs/equations.md says what it means):
//
//   system   = "system" name {declaration} {equation} ["outputs" name {"," name}]
//   declaration = ("in" | "out" | "local" | "const" | "opaque") name ":" dtype "[" [integer {"," integer}] "]"
//              {"prepared" | "kept"} ["=" "[" literal {"," literal} "]"] ["from" "(" [name {"," name}] ")"]
//   equation = ["for" axes ":"] {"let" "$"integer "=" expr} name "[" [expr {"," expr}] "]" "=" right
//   axes     = name "<" integer ["named" [integer]] {"," ...}
//   right    = reducer "(" [axes] ":" expr ")" | expr
//   expr     = or ["?" expr ":" expr]
//   primary  = literal | axis | "$"integer | name "[" exprs "]" ["??" primary] | dtype "(" expr ")" | function "(" exprs ")"
//            | "data" "(" literal ")" | "(" expr ")"
//
// On int64 the operators + - * // % and min, max are canonical coordinate arithmetic and < is a coordinate comparison;
// && joins conditions. The same operations as values of int64 or bool elements are calls: value.add(a, b). A literal is
// an int64 (3), a float32 (3.0, inf, nan), a bool (true), or of a dtype by name: uint8(3). data(..) marks one that the
// model's data gave. A name that is not an identifier stands in quotes. A constant of more than 64 elements is
// printed without its values. `let` names a subexpression that occurs twice; equal texts mean equal systems.
#pragma once

#include <string>
#include <string_view>

namespace heddle::equations {

inline constexpr int64_t printed_constant_limit = 64;

bool is_reserved_word(std::string_view name);
std::string quoted(std::string_view name);  // as it stands in a text

}  // namespace heddle::equations
