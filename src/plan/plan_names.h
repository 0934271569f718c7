// Words of the plan's text form, for its printer and its parser.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "zspace/origin.h"

namespace heddle::plan::names {

inline constexpr std::array<const char*, 5> kinds = {"input", "output", "constant", "prepared",
                                                     "workspace"};  // of Buffer::Kind

// Between operands of a size.
inline constexpr std::array<std::pair<const char*, Origin::Kind>, 5> operators = {{{"+", Origin::Kind::add},
                                                                                   {"-", Origin::Kind::subtract},
                                                                                   {"*", Origin::Kind::multiply},
                                                                                   {"//", Origin::Kind::floor_divide},
                                                                                   {"%", Origin::Kind::modulo}}};

}  // namespace heddle::plan::names
