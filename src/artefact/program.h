// A program as it leaves home: what its plans for all sizes come to, as tables. Of a plan only `run` is left; what
// `prepare` makes of weights is made here, once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "artefact/columns.h"
#include "artefact/sizes.h"
#include "artefact/weight_pool.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "support/progress.h"
#include "target/target.h"

namespace heddle::artefact {

struct Argument {
    std::string name;
    DType dtype = DType::float32;
    std::vector<int64_t> shape;       // at the first sizes
    std::vector<int32_t> axes;        // of an input, by axis: the number of its dimension; -1: the size is always this
    std::vector<std::string> sizes;   // by axis, for people: "2 * batch"
    std::optional<TensorData> value;  // of an input, as reals: the program holds for this one alone
};

// The tables of exported/heddle_program.c; numbers are indices of Group::columns_of.
struct BufferRow {
    plan::Buffer::Kind kind = plan::Buffer::Kind::workspace;
    int32_t index = 0;
    int32_t place = 0, base = 0;
};
struct LaunchRow {
    std::string name;
    int32_t kernel = 0;
    std::vector<int32_t> buffers;  // of Group::buffers
    int32_t numbers = 0;           // the first of its own, which follow one another
    int32_t tasks = 0, rounds = 0;
    bool ends_batch = false;
};

// All sizes for which a target's plans have the same structure.
struct Group {
    std::vector<int64_t> sizes;  // numbers of the grid
    std::vector<Column> columns;
    std::vector<int32_t> columns_of;  // by number: workspace bytes, scratch bytes, outputs' sizes, then by row
    std::vector<int64_t> first_sizes;
    std::vector<BufferRow> buffers;
    std::vector<LaunchRow> launches;
    std::string workspace_text, scratch_text;  // bytes as expressions of the sizes
};

struct Kernel {
    std::shared_ptr<const schedules::Tree> tree;
    std::string key;
};

// The program for one target.
struct Variant {
    Target target;
    std::vector<Kernel> kernels;
    std::vector<Group> groups;
    std::vector<int32_t> group_of, rank_of;  // by number of the grid
};

struct Program {
    std::string name;  // an identifier of C
    SizeGrid grid;     // of the dimensions that stay open
    std::vector<Argument> inputs, outputs;
    std::vector<Variant> variants;
    std::vector<int64_t> table;
    WeightPool weights;
};

struct ProgramRequest {
    std::string name;
    std::vector<Dimension> dimensions;  // those of one size are no dimensions of the program
    std::vector<Target> targets;        // in the order in which they are tried
    // The program for such sizes.
    std::function<Result<Graph>(const std::map<std::string, int64_t>& bindings)> graph;
    Progress* progress = nullptr;  // told sizes (stage plan), and asked whether to go on
};

// Plans each size for each target, and makes weights ready on this machine. Codes: those of the graph, of planning and of
// SizeGrid; artefact.dimension (none of the inputs has it, or one has an expression for a size), support.cancelled.
Result<Program> make_program(const ProgramRequest& request);

}  // namespace heddle::artefact
