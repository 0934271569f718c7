// Pass 1: views (a read, nothing else) into every reader, where the result is clean.
#include <algorithm>

#include "equations/fusion.h"
#include "equations/pass_support.h"

namespace heddle::equations {

namespace {

// A view in a scan's step that this step alone looks through: no state, and nothing that waits for the scan reads it.
bool is_view_of_step(const System& system, const Equation& view, const std::vector<int32_t>& readers) {
    const SystemTensor& tensor = system.tensor(view.tensor);
    if (tensor.is_output || tensor.equations.size() != 1) return false;
    return std::ranges::all_of(readers, [&](int32_t index) {
        const Equation& reader = system.equation(index);
        if (reader.scan != view.scan) return false;
        return std::ranges::all_of(reads(reader), [&](Expr read) {
            return read->tensor() != view.tensor || step_of_read(reader, read, view) == 0;
        });
    });
}

}  // namespace

void compose_views(System& system) {
    std::vector<bool> chosen(system.equations.size());
    const auto readers = system.readers();
    for (size_t i = 0; i < system.equations.size(); i++) {
        const Equation& equation = system.equations[i];
        if (equation.dead || !is_view(equation) || system.tensor(equation.tensor).keep_name) continue;
        chosen[i] = equation.scan < 0 || is_view_of_step(system, equation, readers[static_cast<size_t>(equation.tensor)]);
    }
    inline_equations(system, chosen);
}

}  // namespace heddle::equations
