// Programs in processes of their own, so that one that aborts, hangs or takes all memory is a finding about itself and
// the others go on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "random/trial.h"

namespace heddle::random {

struct Limits {
    // Of processor time for a program. The interpreter alone may take ten (evaluate.too_much_work), before three
    // compilations, and all takes twice as long where something else shares the core.
    int seconds = 60;
    int64_t memory_bytes = int64_t{6} << 30;  // of address space
    bool runs = true;                         // as Trial has it
};

struct Outcome {
    enum class Kind : uint8_t { equal, different, refused, exception, abort, time };
    Kind kind = Kind::equal;
    std::string stage, code, detail;  // as in Verdict; of an abort, what was written to standard error
    int64_t elements = 0, undecided = 0;
    double seconds = 0;

    bool is_finding() const { return kind != Kind::equal; }
    // What is the same for findings of one cause, most likely: kind, stage, code, and the words without names and
    // numbers.
    std::string signature() const;
};

const char* name(Outcome::Kind kind);

using Subject = std::function<Program(size_t)>;  // the program of a number

// Runs the programs numbered 0 to below `count`, `jobs` at a time, and calls `done` with each, in any order. What
// `subject` makes is made in the process that runs it, too.
void run_isolated(size_t count, int jobs, const Limits& limits, Library& library, const Subject& subject,
                  const std::function<void(size_t, const Outcome&)>& done);

}  // namespace heddle::random
