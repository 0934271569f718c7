// A model whose sizes, branches or trip counts follow from data, as it leaves home: parts, which are programs, and the
// steps between them, as exported/heddle_steps.c runs them. What sessions find when they run (inference/staged_model.h)
// is found ahead here: each stage is a part whose plans hold for all sizes that data may decide, an `If` is both of its
// branches, and a loop's body is steps of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "artefact/artefact.h"
#include "artefact/program.h"
#include "frontends/onnx/loop.h"
#include "frontends/onnx/model.h"
#include "language/library.h"

namespace heddle::artefact {

// Of a value: what its memory is while the program runs. Sizes where they are always the same, else 0.
struct StepType {
    DType dtype = DType::float32;
    std::vector<int64_t> shape;
    std::string text = {};  // for people, with names of sizes
};

// Values and steps are known by their numbers; below 0: none.
struct StepForm {
    int32_t part = 0, next = -1;
    std::vector<int32_t> outputs;
    std::vector<StepType> types;
    std::vector<int32_t> drops;  // nobody reads them any more
    int32_t open = -1;           // of the step's sizes the one that is -1: "whatever is left"
};

struct StepRow {
    // The kinds from `presence` on are those of lists and optional values; each has one result.
    enum class Kind : uint8_t {
        part, branch, loop,
        presence,     // a branch: whether the value `first` is there
        same,         // without inputs: nothing
        is_there, list, length, element, insert, erase, split, concatenate
    };
    Kind kind = Kind::part;
    std::string name;  // of the node, for messages
    int32_t next = -1;
    // Of a part: what it reads; elements of values that are sizes of it; the parts for all sizes together.
    std::vector<int32_t> inputs;
    std::vector<std::pair<int32_t, int32_t>> sizes;
    std::vector<std::string> size_names;  // as types say them
    std::vector<StepForm> forms;
    // A branch: its condition (presence: the value), and the step where that does not hold. A loop: its trip count and condition.
    int32_t first = -1, second = -1;
    // Of a loop: `inputs` are what it carries at first; how parts are taken of what is scanned, and stacked.
    int32_t body = -1;
    std::vector<int32_t> scanned;
    std::vector<onnx::ScanWay> scan_ways, stack_ways;  // no axis is below 0
    std::vector<int32_t> body_inputs, body_outputs, results, drops;
    std::vector<StepType> stacked;  // where no iteration gives any
    // Of a row on lists: `inputs` (below 0: not given), `results`, `drops`; the dimension, and whether it is a new one
    // (concatenate), or is dropped (split).
    int32_t axis = 0;
    bool changes_rank = false;
};

// For people: the model's name, and the type in all steps together.
struct StepValue {
    std::string name, type;
};

struct StepConstant {
    int32_t value = 0;
    TensorData data;
};

struct StepProgram {
    std::string name;
    std::vector<Dimension> dimensions;      // of the inputs, that stay open
    std::vector<Argument> inputs, outputs;  // inputs are the first values
    std::vector<int32_t> output_values;
    std::vector<StepValue> values;
    int32_t first = -1;
    std::vector<StepRow> steps;
    std::vector<StepConstant> constants;
    std::vector<Program> parts;  // "NAME_part0" ...
};

struct StepRequest {
    std::string name;
    const onnx::OnnxModel& model;
    const Library& library;
    std::vector<Dimension> dimensions;  // of the model's inputs
    std::vector<Target> targets;
    Progress* progress = nullptr;
    bool is_sketch = false;  // parts are graphs at some sizes, without plans (sketched_programs)
};

// Codes: those of import_stage and make_programs; artefact.steps (what of a model cannot leave home yet).
Result<StepProgram> make_step_program(const StepRequest& request);

// In place of make_programs: each kind of graph once, at small sizes for which there is one. What to look at.
Result<std::vector<Program>> sketched_programs(const ProgramRequest& request);

// NAME.h, NAME.json, and what the options say: libNAME.so, NAME.o or NAME.c of the steps and all parts. All files or
// none. Codes of write_artefact.
Result<std::vector<WrittenFile>> write_step_artefact(const StepProgram& program, const std::string& folder,
                                                     const ArtefactOptions& options);

}  // namespace heddle::artefact
