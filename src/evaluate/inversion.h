// Reductions filtered by equalities of outer variables with values: turned round, each term goes once to the elements
// that its values choose, in time linear in the terms. docs/language.md, "Scatters".
#pragma once

#include <optional>
#include <vector>

#include "graph/body.h"
#include "graph/verify.h"

namespace heddle::evaluation {

struct Inversion {
    // What must hold, in order. `after`: parts without which this one is not looked at (the left sides of `&&`).
    struct Part {
        NodeId value = no_id;         // a condition, or
        VariableId variable = no_id;  // this one equals value - offset
        int64_t offset = 0;
        std::vector<int32_t> after;
    };
    std::vector<Part> parts;
    std::vector<VariableId> rows;  // what the reduction depends on and nothing chooses
};

// Nothing where the reduction is filtered otherwise, numbers its terms, or a term depends on what is chosen.
std::optional<Inversion> invert(const Body& body, NodeId reduction, const FreeVariables& free,
                                const std::vector<std::optional<AffineForm>>& forms);

}  // namespace heddle::evaluation
