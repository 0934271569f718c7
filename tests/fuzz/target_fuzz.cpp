// Targets from any bytes: what is read is printed so that it is read as the same target, and comes apart and together again.
#include "fuzz.h"
#include "target/canonical.h"
#include "target/constraint.h"
#include "target/decompose.h"
#include "target/tags.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace heddle;
    const auto text = std::make_shared<const SourceText>("fuzz", fuzz::text_of(data, size));
    TargetTags tags;
    const auto added = tags.add_file(text);
    if (!fuzz::fine(added)) tags = TargetTags();
    const auto target = parse_target(text);
    if (!fuzz::fine(target)) return 0;
    for (const TargetText form : {TargetText::written, TargetText::expanded}) {
        const auto again = parse_target(std::make_shared<const SourceText>("printed", print(*target, form)));
        fuzz::require(again && is_same(*again, *target), "a printed target is the same target");
    }
    const auto whole = recompose(decompose(*target));
    fuzz::require(whole && is_same(*whole, *target), "what comes apart comes together again");
    const Target few = each_machine(*target, 3);
    const auto each = parse_target(std::make_shared<const SourceText>("printed", print(few, TargetText::expanded)));
    fuzz::require(each && is_same(*each, few), "machines by themselves are a target");
    fuzz::require(unsatisfied(*target, *target).empty(), "a target satisfies itself");
    return 0;
}
