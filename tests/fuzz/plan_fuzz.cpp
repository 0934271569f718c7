// A plan without constants.
#include "fuzz.h"
#include "plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace heddle;
    auto parse = [](std::shared_ptr<const SourceText> text) { return plan::parse_plan(std::move(text), {}); };
    auto plan = parse(fuzz::source_of(fuzz::text_of(data, size)));
    if (fuzz::fine(plan))
        fuzz::require_round_trip(*plan, parse, [](const plan::Plan& parsed) { return plan::print(parsed); });
    return 0;
}
