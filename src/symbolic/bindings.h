// What the `$` names of an application stand for, to be shown.
#pragma once

#include <string>
#include <vector>

#include "symbolic/environment.h"

namespace heddle {

struct Binding {
    std::string name;  // without sigil
    std::string value;
};

// Of the shape patterns of inputs that were given, in their order; `$i` is the count. Values without spaces:
// "[100,128]".
std::vector<Binding> pattern_bindings(const Environment& environment);
// Printed as the language page does: "$batch=[100,128]", one a line.
std::string print_bindings(const Environment& environment);

// The others of a bound application: dtype variables, parameters, and lets that do not differ between the operations of
// an `each`. What stands for nothing here, as a name that only an optional input binds, is left out.
struct OtherBindings {
    std::vector<Binding> dtypes, parameters, lets;
};
OtherBindings other_bindings(Environment& environment);

}  // namespace heddle
