// What is executed: buffers, launches in order, and the trees that code is made from. Two phases: `prepare` runs once
// per weights (folding, packing), `run` for each call. A plan is a value: it holds no memory but the graph's own
// constants.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "equations/passes.h"
#include "equations/storing.h"
#include "graph/graph.h"
#include "plan/storage.h"
#include "schedules/schedule.h"
#include "schedules/tree.h"
#include "target/target.h"

namespace heddle {
class Progress;
}

namespace heddle::plan {

struct Buffer {
    enum class Kind : uint8_t {
        input,      // the caller's, row-major, read only; `index` of the graph's inputs
        output,     // the caller's, row-major; `index` of the graph's outputs
        constant,   // `constant` itself
        prepared,   // memory of its own, written in `prepare`; read there, or in `run`
        workspace,  // of a session, at `offset`; shares bytes with buffers that live at other times. A launch fills margins
    };
    std::string name;
    Kind kind = Kind::workspace;
    DType dtype = DType::float32;
    Size bytes = 0;
    Size base = 0;       // bytes from the buffer's begin to coordinate zero: what a kernel is given
    int64_t offset = 0;  // workspace: in the session's memory, a multiple of 64, for the present sizes; else 0
    int32_t index = -1;
    double filling = 0;
    std::optional<TensorData> constant;
    int32_t first = -1, last = -1;  // the batches of `run` between which it lives, both included; -1: none reads it
    std::vector<Size> sizes;        // of the tensor, for people
    StorageMap storage;             // where `packed` is empty
    std::string packed;             // the packed map's text

    // Of a run's memory: spoilt by what lies there at other times, its margins are filled in each run.
    bool is_filled() const {
        return kind == Kind::workspace && first >= 0 && packed.empty() && storage.has_margins();
    }
};

struct Launch {
    std::string name;  // the tensors that it writes
    int32_t tree = -1;
    std::vector<int32_t> buffers;     // the tree's, in order
    std::vector<std::string> locals;  // what its arrays l0, l1 .. are called, for people; not in the plan's text
    std::vector<Size> numbers;
    Size tasks = 0;
    Size rounds = 1;  // the tasks of one, which are as many in each, begin when all of the one before are done
    Size scratch_bytes = 0;  // of each thread
    bool layout = false;        // only packs, fills a margin or copies between layouts
    bool fills = false;         // fills the margins of its only buffer, and leaves the rest of it alone
};

// Launches that do not depend on one another: their task ranges run together.
using Batch = std::vector<Launch>;

// A buffer of the workspace: it begins where the highest of those `below` it ends, for any sizes (plan/stack.h).
struct Stacked {
    int32_t buffer = -1;
    std::vector<int32_t> below;  // ascending
};

// An output that takes over the memory of an input, of the same type: behind a run there are the output's elements, and
// the input's are gone.
struct Donation {
    int32_t output = -1, input = -1;  // of the graph's
    bool operator==(const Donation&) const = default;
};

// An output that is what an input has and more behind it, along one dimension: a cache that grows. Both lie in one memory, with
// room behind; a run writes only what is new (growth.h).
struct Growth {
    int32_t output = -1, input = -1;  // of the graph's
    int32_t dimension = -1;
    bool operator==(const Growth&) const = default;
};

struct Plan {
    std::vector<std::shared_ptr<const schedules::Tree>> trees;  // no two have the same key
    std::vector<std::string> keys;
    std::vector<Buffer> buffers;
    std::vector<Batch> prepare, run;
    std::vector<Stacked> stack;  // the workspace, each behind what is below it
    std::vector<TensorType> input_types, output_types;  // of the graph; buffers hold complex tensors as reals
    std::vector<std::string> input_names, output_names;
    std::vector<Donation> donations;
    std::vector<Growth> growths;
    std::map<int32_t, TensorData> decided;  // by input, as reals: the value for which alone the plan holds
    // The names that sizes speak of, with their values now, and what the values must have in common with those that the
    // plan was made for; nothing: it holds for its numbers alone. Not in the text.
    std::map<std::string, int64_t> names;
    std::optional<SizeFacts> facts;
    std::string capacity;  // of the names, what growths have places for; empty: there is none
    int64_t tag = 0;  // the graph's
    int64_t workspace_bytes = 0, scratch_bytes = 0;
    Target target;

    // What the plan was made from, for compare: which graph tensor each buffer holds (-1: none).
    std::vector<TensorId> graph_tensor;

    // Where a mistake of ours stood in the way and the plan is a simpler one: plan.unfused, params: program, its
    // equations. Not in the text.
    Diagnostics notes;

    int64_t launches() const;                          // of `run`: batches with work that is not layout
    int64_t layout_launches() const;                   // of `run`: batches of nothing but layout
    int64_t most_live_bytes() const;                   // the lower bound of workspace memory
    int64_t prepared_bytes() const;                    // of all prepared buffers
    const Growth* growth_of(int32_t output) const;     // null: it has memory of its own
    Size capacity_of(const Growth& growth) const;      // places along its dimension, as many as any other has
    int32_t input_below(int32_t output) const;         // whose memory the output takes over; -1: none
    bool is_in_place(const Donation& donation) const;  // else the output is made elsewhere, and copied at the end
};

// Tensors that come or leave together while a program runs, by their numbers among its inputs or outputs.
struct Exchange {
    bool comes = false;
    std::vector<int32_t> tensors;
};

struct PlanOptions {
    bool fuse = true;                      // false: every equation a kernel of its own
    std::vector<Donation> donations = {};  // donation.h chooses outputs for inputs
    bool grow = false;                     // outputs that are inputs and more behind grow in their memory, where they can
    // In the order in which others count on them: no batch that needs what comes stands before one that makes what leaves
    // earlier in this order. Of what leaves nothing is just an input that comes.
    std::vector<Exchange> exchanges = {};
    std::vector<equations::StoringChoice> storing = {};  // against what costs say. Code equations.choice
    bool keep_all = false;  // every buffer keeps memory of its own, so that all can be looked at afterwards
    // Steps on the way, which tests break: what is done to equations before fusion (null: nothing), and to a kernel.
    std::function<void(equations::System&)> passes = [](equations::System& system) { equations::optimise(system); };
    Result<schedules::Scheduled> (*schedule)(const schedules::Kernel&, const Target&) = schedules::schedule;
    // Told each kernel as soon as it is made, also of a plan that comes to nothing: its key and its tree.
    std::function<void(const std::string&, const std::shared_ptr<const schedules::Tree>&)> kernel_made = {};
    Progress* progress = nullptr;  // told the stages fusion and plan, and asked whether to go on
};

// Whether bodies say all that is computed. Code plan.opaque.
Result<void> check_bodies(const Graph& graph);
// Whether no value is meant to be held on a placement, where a program for one host would compute it in the clear. Code
// plan.placement.
Result<void> check_placements(const Graph& graph);

// A verified plan. Where our own mistake stands in the way (a kernel that cannot be formed or scheduled, a plan that is
// not sound, an exception), the equations of that kernel are kernels of their own; if that does not help, nothing is
// changed and fused; the plan's notes say so. Errors: those of lowering; plan.donation; plan.broken where no way is
// left; support.cancelled.
Result<Plan> make_plan(const Graph& graph, const Target& target, const PlanOptions& options = {});

// The note of a plan that is made without passes and fusion, since what another one came to failed by `problem`.
Diagnostic not_fused(const Diagnostic& problem);

// Whether the launch writes to its buffer at this position.
bool writes(const Plan& plan, const Launch& launch, size_t position);

// An independent check: buffers lie as their tensors and maps say, inside of their memory and as kernels rely on; those
// that live at one time share no bytes, whatever their sizes are; launches of a batch do not touch what another of it writes, every read comes
// after a write, and launches fit their trees, tasks covering all of their axes; an output in the memory of an input is
// written behind all that reads the input, or by a launch that reads what it overwrites right before. That numbers keep
// a tree's accesses inside of its buffers is not checked here (class_proof.h proves it). A failure is our own mistake, or a text's (code plan.broken; params name the
// buffer or the launch).
Result<void> verify(const Plan& plan);

// Text in and out (docs/schedules.md): print(parse_plan(print(p))) == print(p), and both run to the same bits. All of a
// plan is in its text but the constants' elements: the parser finds those by name.
std::string print(const Plan& plan);
// What was chosen, in few lines: maps of buffers that are not plain, launches, and the nests of their kernels.
std::string summary(const Plan& plan);
using Constants = std::map<std::string, TensorData>;  // without memory where only `prepare` reads it and will not run
// The constants that plans of this graph may name: its own, and tables that lowering makes. Fails as lowering does.
Result<Constants> constants_of(const Graph& graph);
// Parsed, bound and verified. To run a plan is to trust its text like code: what a kernel's numbers make it touch is
// not checked. Codes: schedules.syntax, those of parse_tree and parse_target, plan.constant (it is not there, or of
// another type), plan.key, plan.broken.
Result<Plan> parse_plan(std::shared_ptr<const SourceText> text, const Constants& constants);

}  // namespace heddle::plan
