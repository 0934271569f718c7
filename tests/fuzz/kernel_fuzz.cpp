// A kernel, and the schedule of a correct one.
#include "fuzz.h"
#include "schedules/schedule.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace heddle;
    auto kernel = schedules::parse_kernel(fuzz::source_of(fuzz::text_of(data, size)));
    if (!fuzz::fine(kernel)) return 0;
    fuzz::require_round_trip(*kernel, schedules::parse_kernel,
                             [](const schedules::Kernel& parsed) { return schedules::print(parsed); });
    if (!fuzz::fine(schedules::verify(*kernel))) return 0;
    auto scheduled = schedules::schedule(*kernel, Target());
    fuzz::require(fuzz::fine(scheduled), "every correct kernel has a schedule");
    fuzz::require(fuzz::fine(schedules::verify(scheduled->tree)), "a scheduled tree is correct");
    return 0;
}
