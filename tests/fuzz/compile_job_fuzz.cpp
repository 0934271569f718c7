// Compile jobs and configs from any bytes: what is read is written as these bytes.
#include "fuzz.h"
#include "target/compile_job.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace heddle;
    const std::string bytes = fuzz::text_of(data, size);
    if (const auto job = parse_compile_job(bytes); fuzz::fine(job))
        fuzz::require(canonical_bytes(*job) == bytes, "one job has one text");
    if (const auto config = parse_compile_config(bytes); fuzz::fine(config))
        fuzz::require(canonical_bytes(*config) == bytes, "one config has one text");
    return 0;
}
