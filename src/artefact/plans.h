// The plans that sizes need, one after another, with their weights made ready on this machine: what programs for several
// sizes are made of, in C or as pages.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "artefact/coverage.h"
#include "artefact/sizes.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "runtime/kernel_cache.h"
#include "runtime/prepared.h"
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
    bool is_list = false;             // of a program in steps: of such tensors
    bool may_be_absent = false;
};
// For people: "a list of float32[n, 3]".
std::string text_of(const Argument& argument);

// What holds of all plans together.
struct Interface {
    int64_t tag = 0;                    // of their graphs
    std::vector<Dimension> dimensions;  // that stay open
    std::vector<Argument> inputs, outputs;
};

struct MadePlan {
    plan::Plan plan;  // whose names are all dimensions, those of one size too
    std::vector<runtime::Block> prepared;
};

// The tag of a graph that says for which sizes there is none: by its facts.
inline constexpr int64_t left_out_tag = -1;

// The program for such sizes.
using GraphAt = std::function<Result<Graph>(const SizeNames& sizes)>;

// Of each plan, which holds for these sizes: what is left of them.
using TakePlans = std::function<Result<SizeDomain>(const std::vector<Dimension>& open, SizeDomain domain,
                                                   std::vector<MadePlan> plans)>;

// What makes weights ready here; what two plans make alike is made once.
struct Preparing {
    const Target& host;
    ThreadPool& pool;
    runtime::KernelCache& kernels;
    runtime::PreparedStore& store;
};

struct PlansRequest {
    std::vector<Dimension> dimensions;  // those of one size do not stay open
    std::vector<Target> targets;
    GraphAt graph;
    Progress* progress = nullptr;  // told plans (stage plan), and asked whether to go on
    TakePlans take;                // given a plan of each target
};

// Asks for plans until all sizes have one. Codes: those of the graph, of planning, of `take` and of `cover`;
// artefact.dimension (none of the inputs has it, or one has an expression for a size), support.cancelled.
Result<Interface> make_plans(const PlansRequest& request, const Preparing& preparing);
// Graphs of other tags have interfaces of their own, in the order in which their tags came: together their plans hold for
// all sizes. None: all are left out.
Result<std::vector<Interface>> make_tagged_plans(const PlansRequest& request, const Preparing& preparing);

}  // namespace heddle::artefact
