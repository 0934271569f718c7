// Prepared programs on disk: the plan's text, the constants that `run` reads, and the memory that `prepare` filled,
// each found again by a digest of what it follows from. Kernels are kept beside them, one by one
// (runtime/executable.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inference/engine.h"
#include "language/library.h"
#include "plan/plan.h"

namespace heddle::inference {

// What a program follows from, but the machine, this build, and values of inputs. `key` empty: it is not kept.
struct ProgramSource {
    std::string key;    // of digests, types and options
    std::string label;  // for people
};

struct KeptProgram {
    std::shared_ptr<const runtime::Executable> executable;
    std::vector<std::string> input_names, output_names;  // as callers know them
    double work = 0;                                     // scalar operations (evaluate/work.h)
};

// The value of an input, by its place among the program's inputs and its name; null if none is known.
using ValueOf = std::function<const TensorData*(size_t place, const std::string& name)>;

// The program that was kept for this source and these values of the inputs that decide it. Null: there is none, or it
// is damaged, or made for another machine, by another build or for another backend, or the backend has a device, whose
// programs are not kept.
std::optional<KeptProgram> find_program(const ProgramSource& source, const ValueOf& value_of, Engine& engine,
                                        const plan::PlanOptions& options = {});
// Keeps it, if it is one that is made in the same way again: not where a mistake of ours stood in the way
// (Plan::notes). By buffer: blocks of the engine's store that hold what the program's own do; empty where nothing was
// kept.
std::vector<runtime::Block> keep_program(const ProgramSource& source, const ValueOf& value_of,
                                         const KeptProgram& program, Engine& engine,
                                         const plan::PlanOptions& options = {});

// A digest of a file's bytes. It is remembered by the file's place, size and times, so that an unchanged file is not
// read again. Nothing where the file cannot be read, or is larger than the folder may be: what follows from it is, too.
std::optional<std::string> digest_of_file(const std::string& path, cache::Folder& folder);
// A digest of all texts of a library.
std::string digest_of(const Library& library);

}  // namespace heddle::inference
