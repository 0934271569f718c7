#include "gradient/refusals.h"

#include <fmt/format.h>

#include "gradient/reverse_body.h"

namespace heddle::gradient {

Diagnostic unknown_derivative(ScalarOp op) {
    return {.code = "gradient.unknown",
            .summary = fmt::format("the derivative of '{}' is not known", info(op).name),
            .expected = "functions whose derivatives are functions of the language",
            .found = std::string(info(op).name),
            .remedy = "give the operator a rule of its own, `grad`"};
}

Diagnostic too_large(size_t nodes) {
    return {.code = "gradient.limit",
            .summary = "a body is too large or too deep to be derived",
            .expected = fmt::format("at most {} nodes, and {} one below the other", largest_forward, deepest_body / 3),
            .found = fmt::format("{} nodes", nodes),
            .remedy = "write it as several operators"};
}

}  // namespace heddle::gradient
