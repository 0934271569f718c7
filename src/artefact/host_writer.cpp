// The host function of a system program as C: what it calls takes its sizes from the tensors that it is given, so that
// the host knows no numbers but ranks and types.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "artefact/c_writer.h"
#include "artefact/system_program.h"

namespace heddle::artefact {
namespace {

using placing::Function;
using placing::Step;
using placing::ValueId;

constexpr const char* fixed_part = R"(
/* Loops that copy are not made calls of the C library, which may not be there (clang: -fno-builtin). */
#if !defined(__clang__)
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

/* Values are tensors of the caller, or lie in the workspace one behind the other; behind them is what parts need. */
typedef struct {
    DLTensor tensor[VALUES];
    int64_t shape[VALUES][RANKS];
    unsigned char* memory; /* null: only sizes are wanted */
    int64_t used, scratch;
} host_state;

static int64_t bytes_of(const DLTensor* tensor) {
    int64_t count = (tensor->dtype.bits + 7) / 8;
    for (int32_t d = 0; d < tensor->ndim; d++) count *= tensor->shape[d];
    return count;
}

static void copy_bytes(unsigned char* to, const unsigned char* from, int64_t count) {
    for (int64_t i = 0; i < count; i++) to[i] = from[i];
}

static void copy_tensor(const DLTensor* to, const DLTensor* from) {
    copy_bytes((unsigned char*)to->data + to->byte_offset, (const unsigned char*)from->data + from->byte_offset,
               bytes_of(from));
}

static int32_t host_wrong(heddle_call* call, const char* what, const char* name) {
    size_t at = 0;
    if (!call->message || call->message_bytes == 0) return HEDDLE_BAD_ARGUMENT;
    for (; *what && at + 1 < call->message_bytes; what++) call->message[at++] = *what;
    for (; *name && at + 1 < call->message_bytes; name++) call->message[at++] = *name;
    call->message[at] = 0;
    return HEDDLE_BAD_ARGUMENT;
}

/* A tensor of the caller, with its sizes. */
static int32_t take(heddle_call* call, host_state* state, int32_t value, const DLTensor* given, const char* name,
                    int needs_data) {
    DLTensor* own = &state->tensor[value];
    int64_t step = 1;
    if (!given) return host_wrong(call, "a tensor is missing: ", name);
    if (given->device.device_type != kDLCPU || given->device.device_id != 0)
        return host_wrong(call, "a tensor lies on another device than the CPU: ", name);
    if (given->ndim != own->ndim || given->dtype.code != own->dtype.code || given->dtype.bits != own->dtype.bits ||
        given->dtype.lanes != 1)
        return host_wrong(call, "a tensor has another type or rank than the program's: ", name);
    int has_elements = 1;
    for (int32_t d = 0; d < given->ndim; d++) {
        state->shape[value][d] = given->shape[d];
        has_elements = has_elements && given->shape[d] != 0;
    }
    for (int32_t d = given->ndim; d-- > 0 && has_elements;) {
        if (given->strides && given->shape[d] > 1 && given->strides[d] != step)
            return host_wrong(call, "a tensor is not row-major: ", name);
        if (given->shape[d] < 0 || __builtin_mul_overflow(step, given->shape[d], &step)) {
            host_wrong(call, "a tensor has more elements than there can be: ", name);
            return HEDDLE_BAD_SIZE;
        }
    }
    if (needs_data && !given->data && has_elements) return host_wrong(call, "a tensor has no data: ", name);
    own->data = given->data;
    own->byte_offset = given->byte_offset;
    return 0;
}

static int same_shape(const DLTensor* a, const DLTensor* b) {
    if (!a || a->ndim != b->ndim) return 0;
    for (int32_t d = 0; d < a->ndim; d++) {
        if (a->shape[d] != b->shape[d]) return 0;
    }
    return 1;
}

/* Of a value whose sizes are known: in the caller's memory where `given` has any, else in the workspace. */
static void place(host_state* state, int32_t value, const DLTensor* given) {
    DLTensor* own = &state->tensor[value];
    own->byte_offset = 0;
    own->data = 0;
    if (given) {
        own->data = given->data;
        own->byte_offset = given->byte_offset;
        return;
    }
    if (state->memory) own->data = state->memory + state->used;
    state->used += (bytes_of(own) + 63) / 64 * 64;
}

typedef int32_t (*shape_function)(heddle_call*, int32_t, int64_t*);
typedef int64_t (*bytes_function)(heddle_call*);
typedef int32_t (*run_function)(heddle_call*);

/* A part: the sizes of its results, and, where there is memory, the results. */
static int32_t compute(heddle_call* call, host_state* state, const int32_t* inputs, int32_t input_count,
                       const int32_t* outputs, int32_t output_count, const int32_t* results, shape_function shape,
                       bytes_function bytes, run_function run, unsigned char* scratch, int64_t scratch_bytes) {
    const DLTensor* in[ARGUMENTS];
    DLTensor* out[ARGUMENTS];
    heddle_call part = {0};
    for (int32_t i = 0; i < input_count; i++) in[i] = &state->tensor[inputs[i]];
    for (int32_t i = 0; i < output_count; i++) out[i] = &state->tensor[outputs[i]];
    part.inputs = in;
    part.outputs = out;
    part.workers = call->workers;
    part.parallel = call->parallel;
    part.pool = call->pool;
    part.message = call->message;
    part.message_bytes = call->message_bytes;
    for (int32_t i = 0; i < output_count; i++) {
        const int32_t status = shape(&part, i, state->shape[outputs[i]]);
        if (status < 0) return status;
        place(state, outputs[i], state->memory && results[i] >= 0 ? call->outputs[results[i]] : 0);
    }
    const int64_t needed = bytes(&part);
    if (needed < 0) return (int32_t)needed;
    if (needed > state->scratch) state->scratch = needed;
    if (!state->memory) return 0;
    part.workspace = scratch;
    part.workspace_bytes = (size_t)scratch_bytes;
    return run(&part);
}
)";

class HostWriter {
public:
    explicit HostWriter(const SystemProgram& program)
        : program_(program), entry_(program.module.function(program.module.find(program.name))) {
        for (ValueId v : entry_.parameters) parameters_.insert(v);
        // The first result that a value is lies in the caller's memory at once.
        for (size_t r = 0; r < entry_.results.size(); r++) {
            const ValueId v = entry_.results[r];
            if (!parameters_.contains(v) && !entry_.value(v).constant) direct_.try_emplace(v, static_cast<int>(r));
        }
    }

    std::string write() {
        text_ = fmt::format("/* The host function of '{0}' as heddle compile has written it. */\n#include \"{0}.h\"\n",
                            program_.name);
        for (const SystemPart& part : program_.parts) text_ += fmt::format("#include \"{}.h\"\n", part.program.name);
        size_t ranks = 1, arguments = 1;
        for (const placing::Value& value : entry_.values) ranks = std::max(ranks, value.type.shape.size());
        for (const Step& step : entry_.steps)
            arguments = std::max({arguments, step.inputs.size(), step.outputs.size()});
        text_ += fmt::format("\nenum {{ VALUES = {}, RANKS = {}, ARGUMENTS = {} }};\n",
                             std::max<size_t>(entry_.values.size(), 1), ranks, arguments);
        text_ += fixed_part;
        add_values();
        add_walk();
        add_functions();
        return std::move(text_);
    }

private:
    void add_values() {
        for (size_t v = 0; v < entry_.values.size(); v++) {
            const auto& constant = entry_.values[v].constant;
            if (!constant) continue;
            text_ += fmt::format("\nstatic const unsigned char constant_{}[] __attribute__((aligned(64))) = {{", v);
            for (int64_t b = 0; b < constant->byte_size(); b++)
                text_ += fmt::format("{}{},", b % 24 ? "" : "\n    ", static_cast<int>(constant->data()[b]));
            text_ += constant->byte_size() ? "\n};\n" : "0};\n";
        }
        text_ += "\nstatic void name_values(host_state* state) {\n";
        for (size_t v = 0; v < entry_.values.size(); v++) {
            const placing::Value& value = entry_.values[v];
            text_ +=
                fmt::format("    state->tensor[{}] = (DLTensor){{0, {{kDLCPU, 0}}, {}, {}, state->shape[{}], 0, 0}};\n",
                            v, value.type.shape.size(), dlpack_type_text(value.type.dtype), v);
            if (!value.constant) continue;
            for (size_t d = 0; d < value.type.shape.size(); d++)
                text_ += fmt::format("    state->shape[{}][{}] = {};\n", v, d, value.type.shape[d].value());
            text_ += fmt::format("    state->tensor[{0}].data = (void*)constant_{0};\n", v);
        }
        text_ += "}\n";
    }

    static std::string list(const std::vector<int>& numbers) {
        return fmt::format("(const int32_t[]){{{}}}",
                           numbers.empty() ? "0" : fmt::format("{}", fmt::join(numbers, ", ")));
    }
    static std::vector<int> numbers(const std::vector<ValueId>& values) { return {values.begin(), values.end()}; }

    void add_walk() {
        text_ +=
            "\n/* All steps: with memory they run, else only sizes are looked at. */\n"
            "static int32_t walk(heddle_call* call, host_state* state, unsigned char* scratch, int64_t scratch_bytes) "
            "{\n"
            "    int32_t status = 0;\n    name_values(state);\n    state->used = state->scratch = 0;\n";
        for (size_t i = 0; i < entry_.parameters.size(); i++)
            text_ += fmt::format(
                "    if ((status = take(call, state, {}, call->inputs ? call->inputs[{}] : 0, {}, "
                "state->memory != 0))) return status;\n",
                entry_.parameters[i].number(), i, quoted(program_.inputs[i].name));
        size_t part = 0;
        for (const Step& step : entry_.steps) {
            if (step.kind == Step::Kind::copy)
                add_copy(step);
            else
                add_compute(step, program_.parts[part++].program.name);
        }
        text_ += "    return status;\n}\n";
    }

    std::string given(ValueId value) const {
        const auto direct = direct_.find(value);
        return direct == direct_.end() ? "0" : fmt::format("state->memory ? call->outputs[{}] : 0", direct->second);
    }

    // Over memories in between nothing more is to be seen here: all are the processor's.
    void add_copy(const Step& step) {
        const int from = step.inputs[0], to = step.outputs[0];
        const auto& system = *program_.module.system;
        text_ += fmt::format(
            "    /* {0}, from {1} to {2} */\n"
            "    for (int32_t d = 0; d < state->tensor[{3}].ndim; d++) state->shape[{4}][d] = state->shape[{3}][d];\n"
            "    place(state, {4}, {5});\n"
            "    if (state->memory) copy_tensor(&state->tensor[{4}], &state->tensor[{3}]);\n",
            in_comment(entry_.values[static_cast<size_t>(from)].name),
            in_comment(system.memory(step.route.front()).text()), in_comment(system.memory(step.route.back()).text()),
            from, to, given(step.outputs[0]));
    }

    void add_compute(const Step& step, const std::string& part) {
        std::vector<int> results;
        for (ValueId v : step.outputs) results.push_back(direct_.contains(v) ? direct_.at(v) : -1);
        const std::string where =
            step.kind == Step::Kind::call ? program_.module.function(step.callee).name : "the host";
        std::string extents;
        for (const auto& row : step.extents) {
            std::vector<std::string> sizes;
            for (const Size& size : row) sizes.push_back(size.text());
            extents += fmt::format("{}[{}]", extents.empty() ? " over " : ", ", fmt::join(sizes, ", "));
        }
        text_ += fmt::format(
            "    /* {0}{1} */\n"
            "    status = compute(call, state, {2}, {3}, {4}, {5}, {6}, {7}_output_shape, {7}_workspace_bytes, "
            "{7}_run, "
            "scratch, scratch_bytes);\n    if (status < 0) return status;\n",
            in_comment(where), in_comment(extents), list(numbers(step.inputs)), step.inputs.size(),
            list(numbers(step.outputs)), step.outputs.size(), list(results), part);
    }

    void add_functions() {
        std::string results, checks, copies;
        for (size_t r = 0; r < entry_.results.size(); r++) {
            const ValueId v = entry_.results[r];
            checks += fmt::format(
                "    if (!call->outputs || !same_shape(call->outputs[{0}], &state.tensor[{1}]) || "
                "(!call->outputs[{0}]->data && bytes_of(&state.tensor[{1}]) > 0) || call->outputs[{0}]->strides)\n"
                "        return host_wrong(call, \"an output has no memory, another shape, or is not row-major: \", "
                "{2});\n",
                r, v.number(), quoted(program_.outputs[r].name));
            const auto direct = direct_.find(v);
            if (direct == direct_.end() || direct->second != static_cast<int>(r))
                copies += fmt::format("    copy_tensor(call->outputs[{}], &state.tensor[{}]);\n", r, v.number());
        }
        text_ += fmt::format(
            R"(
#define HEDDLE_PUBLIC __attribute__((visibility("default")))
static const int32_t result_of[] = {{{1}}};

HEDDLE_PUBLIC int32_t {0}_output_shape(heddle_call* call, int32_t output, int64_t* shape) {{
    host_state state;
    state.memory = 0;
    const int32_t status = walk(call, &state, 0, 0);
    if (status < 0) return status;
    if (output < 0 || output >= {2}) return host_wrong(call, "there is no such output", "");
    const DLTensor* result = &state.tensor[result_of[output]];
    for (int32_t d = 0; d < result->ndim; d++) shape[d] = result->shape[d];
    return result->ndim;
}}

HEDDLE_PUBLIC int64_t {0}_workspace_bytes(heddle_call* call) {{
    host_state state;
    state.memory = 0;
    const int32_t status = walk(call, &state, 0, 0);
    return status < 0 ? status : state.used + state.scratch + 64;
}}

HEDDLE_PUBLIC int32_t {0}_run(heddle_call* call) {{
    host_state state;
    state.memory = 0;
    int32_t status = walk(call, &state, 0, 0);
    if (status < 0) return status;
{3}    if (!call->workspace || (size_t)(state.used + state.scratch + 64) > call->workspace_bytes)
        return host_wrong(call, "the workspace is too small", "");
    const int64_t used = state.used, scratch = state.scratch;
    state.memory = (unsigned char*)call->workspace;
    status = walk(call, &state, state.memory + used, scratch);
    if (status < 0) return status;
{4}    return 0;
}}
)",
            program_.name, fmt::join(numbers(entry_.results), ", "), entry_.results.size(), checks, copies);
    }

    const SystemProgram& program_;
    const Function& entry_;
    std::string text_;
    std::set<ValueId> parameters_;
    std::map<ValueId, int> direct_;
};

}  // namespace

std::string host_text(const SystemProgram& program) { return HostWriter(program).write(); }

}  // namespace heddle::artefact
