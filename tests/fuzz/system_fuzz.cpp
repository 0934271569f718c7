// A system of equations.
#include "equations/fusion.h"
#include "equations/passes.h"
#include "equations/system.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace heddle;
    auto system = equations::parse_system(fuzz::source_of(fuzz::text_of(data, size)));
    if (!fuzz::fine(system)) return 0;
    fuzz::require_round_trip(*system, equations::parse_system,
                             [](const equations::System& parsed) { return equations::print(parsed); });
    if (!fuzz::fine(equations::verify(*system))) return 0;
    equations::optimise(*system);
    fuzz::fine(equations::verify(*system));
    equations::fuse(*system, Target(), {});
    return 0;
}
