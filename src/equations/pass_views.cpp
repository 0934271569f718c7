// Pass 1: views (a read, or a position, and nothing else) into every reader, where the result is clean.
#include "equations/passes.h"
#include "equations/pass_support.h"

namespace heddle::equations {
namespace {

// `list[i] = i` costs no reader more than a read of it.
bool is_position(const Equation& equation) { return !equation.reducer && equation.right->kind == Kind::variable; }

}  // namespace

void compose_views(System& system) {
    std::vector<bool> chosen(system.equations.size());
    const auto readers = system.readers();
    for (size_t i = 0; i < system.equations.size(); i++) {
        const Equation& equation = system.equations[i];
        const SystemTensor& tensor = system.tensor(equation.tensor);
        if (equation.dead || tensor.keep_name || tensor.storing == Storing::stored) continue;
        if (!is_view(equation) && !is_position(equation)) continue;
        chosen[i] = equation.scan < 0 || stays_in_step(system, equation, readers[static_cast<size_t>(equation.tensor)]);
    }
    inline_equations(system, chosen);
}

}  // namespace heddle::equations
