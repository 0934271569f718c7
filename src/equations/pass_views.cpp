// Pass 1: views (a read, nothing else) into every reader, where the result is clean.
#include "equations/passes.h"
#include "equations/pass_support.h"

namespace heddle::equations {

void compose_views(System& system) {
    std::vector<bool> chosen(system.equations.size());
    const auto readers = system.readers();
    for (size_t i = 0; i < system.equations.size(); i++) {
        const Equation& equation = system.equations[i];
        const SystemTensor& tensor = system.tensor(equation.tensor);
        if (equation.dead || !is_view(equation) || tensor.keep_name || tensor.storing == Storing::stored) continue;
        chosen[i] = equation.scan < 0 || stays_in_step(system, equation, readers[static_cast<size_t>(equation.tensor)]);
    }
    inline_equations(system, chosen);
}

}  // namespace heddle::equations
