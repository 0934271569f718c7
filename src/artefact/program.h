// A program as it leaves home: its plans, each for the sizes for which it holds, with numbers as expressions of these.
// Of a plan only `run` is left; what `prepare` makes of weights is made here, once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "artefact/coverage.h"
#include "artefact/plans.h"
#include "artefact/sizes.h"
#include "artefact/weight_pool.h"
#include "plan/plan.h"
#include "support/progress.h"
#include "target/target.h"
#include "zspace/size_program.h"

namespace heddle::artefact {

// The tables of exported/heddle_program.c. Numbers are places of the group's steps.
struct FactRow {
    SizeFact::Relation relation = SizeFact::Relation::zero;
    int32_t place = 0;
};
struct BufferRow {
    plan::Buffer::Kind kind = plan::Buffer::Kind::workspace;
    int32_t index = 0;
    int32_t place = 0, base = 0;
};
struct LaunchRow {
    std::string name;
    int32_t kernel = 0;
    std::vector<int32_t> buffers;  // of Group::buffers
    std::vector<int32_t> numbers;
    int32_t tasks = 0, rounds = 0;
    bool ends_batch = false;
};

// A plan.
struct Group {
    SizeNames made_for;
    SizeDomain domain;
    SizeProgram steps;
    std::vector<FactRow> facts;
    size_t first_steps = 0;              // how many say whether it holds, and which memory it wants
    std::vector<int32_t> shapes;         // the sizes of all outputs' dimensions
    int32_t workspace = 0, scratch = 0;  // bytes; scratch of each worker
    std::vector<BufferRow> buffers;
    std::vector<LaunchRow> launches;
    std::string workspace_text, scratch_text;
};

struct Kernel {
    std::shared_ptr<const schedules::Tree> tree;
    std::string key;
};

// The program for one target.
struct Variant {
    Target target;
    std::vector<Kernel> kernels;
    std::vector<Group> groups;  // each for other sizes, and all for all
};

struct Program {
    std::string name;                   // an identifier of C
    int64_t tag = 0;                    // of its graphs
    std::vector<Dimension> dimensions;  // that stay open
    std::vector<Argument> inputs, outputs;
    std::vector<Variant> variants;
    WeightPool weights;
    std::shared_ptr<const Graph> graph;  // of a sketch (step_program.h)
};

struct ProgramRequest {
    std::string name;
    std::vector<Dimension> dimensions;  // those of one size are no dimensions of the program
    std::vector<Target> targets;        // in the order in which they are tried
    GraphAt graph;
    Progress* progress = nullptr;  // told plans (stage plan), and asked whether to go on
};

// Makes as many plans as all sizes need, and weights ready on this machine. Codes: those of make_plans.
Result<Program> make_program(const ProgramRequest& request);
// Graphs of other tags are other programs of the same dimensions: together they hold for all sizes. In the order in which
// their tags came; none: all sizes are left out.
Result<std::vector<Program>> make_programs(const ProgramRequest& request);

}  // namespace heddle::artefact
