// What code is made of, as values: of a backend what decides its code (CompileConfig), and with that a program and
// which of its derivatives is wanted (CompileJob). Generic code knows no backend: it asks any of them for its config by
// `compile_config_for`, and keeps what it makes by the job. Nothing here touches a device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"
#include "target/target.h"

namespace heddle {

// What a backend's code follows from beside the program. Two configs are equal where the code of equal programs is.
struct CompileConfig {
    std::string backend;  // its name, never empty
    std::string target;   // what of the target its code depends on, as text
    std::string options;  // of the backend, as text
    std::string version;  // of all that makes the code: builds, libraries, compilers
    bool operator==(const CompileConfig&) const = default;
};

// What is done with an argument of a differentiated program.
enum class Activity : uint8_t {
    constant,            // it has no derivative
    active,              // a scalar, whose derivative is a result
    duplicated,          // it comes with a shadow, to which is added
    duplicated_no_need,  // the same, and its own value is not wanted
    batched,             // it comes with a shadow for each direction
    overwritten,         // an output whose memory has held other values: its shadow is read and cleared
};

// Which derivative of a program is meant.
struct Derivation {
    enum class Mode : uint8_t {
        primal,     // the program itself
        forward,    // directional derivatives
        augmented,  // the program, with the tape that `reverse` reads
        reverse,    // adjoints
        combined,   // the program and its adjoints, without a tape
    };
    Mode mode = Mode::primal;
    int32_t width = 1;                 // directions or adjoints at once
    std::vector<Activity> activities;  // one an argument of the program; none: of the primal
    std::string tape_policy;           // as text, the same for the same policy
    bool operator==(const Derivation&) const = default;
};

// What is asked of a backend: code for this target, of this program. Of all programs, where the identity is empty.
struct CompileRequest {
    Target target;
    std::string program;  // its canonical identity: of a kernel its tree's key (schedules/tree.h)
    Derivation derivation;
};

struct CompileJob {
    CompileConfig config;
    std::string program;
    Derivation derivation;
    bool operator==(const CompileJob&) const = default;
};

// The bytes of a value: equal for equal values alone, the same in every process and build of this version of the form.
std::string canonical_bytes(const CompileConfig& config);
std::string canonical_bytes(const CompileJob& job);
// Back again, of any bytes: code target.compile_job where they are not what canonical_bytes writes.
Result<CompileConfig> parse_compile_config(std::string_view bytes);
Result<CompileJob> parse_compile_job(std::string_view bytes);
// Of the canonical bytes (FNV-1a, 64 bits). Values of one hash may differ: who looks up by it compares them too.
uint64_t hash_of(const CompileConfig& config);
uint64_t hash_of(const CompileJob& job);

// A backend as generic code sees it.
class ConfigSource {
public:
    virtual ~ConfigSource() = default;
    virtual std::string name() const = 0;
    // What decides the code that it would make for this target, without making any: the same for the same target,
    // whatever is asked between. The program and its derivation are not part of it, since the job has them; by these a
    // backend may refuse what it cannot do. A backend without this function has no config (backends.no_compile_config).
    virtual Result<CompileConfig> compile_config(const CompileRequest& request) const;
};

// The hook: what is asked by code that knows no backend. Codes: backends.no_compile_config (the backend has no config),
// backends.wrong_compile_config (it is not of this backend), and what the backend itself refuses.
Result<CompileConfig> compile_config_for(const ConfigSource& backend, const CompileRequest& request);
Result<CompileJob> compile_job_for(const ConfigSource& backend, const CompileRequest& request);

// Whether kernels that were compiled under `compiled` are those that `queried` told of. Code backends.config_mismatch,
// which says what differs.
Result<void> check_same_config(const CompileConfig& queried, const CompileConfig& compiled);

}  // namespace heddle
