// A scheduled tree.
#include "fuzz.h"
#include "schedules/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace heddle;
    auto tree = schedules::parse_tree(fuzz::source_of(fuzz::text_of(data, size)));
    if (!fuzz::fine(tree)) return 0;
    fuzz::fine(schedules::verify(**tree));
    fuzz::require_round_trip(*tree, schedules::parse_tree,
                             [](const std::shared_ptr<schedules::Tree>& parsed) { return schedules::print(*parsed); });
    return 0;
}
