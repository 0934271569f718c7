/* Runs an exported program: works out its numbers for the sizes of its inputs, then launches its kernels one after
 * another. It follows the tables behind it, in the same file, and knows nothing of what they compute.
 */

typedef int32_t (*heddle_kernel)(void* const* buffers, const int64_t* numbers, int64_t begin, int64_t end);

/* A number is known by its place: from 0 on there are the sizes of the dimensions, behind them what the group's steps
 * come to, one after another; below 0 the group's constants, -1 the first of them. */
enum {
    heddle_add, heddle_subtract, heddle_multiply, heddle_floor_divide, heddle_modulo, heddle_minimum, heddle_maximum
};
typedef struct {
    int32_t operation, a, b; /* places of constants, sizes or steps before */
} heddle_step;

/* What must hold of a number. */
enum { heddle_zero, heddle_not_zero, heddle_not_negative };
typedef struct {
    int32_t relation, place;
    int32_t steps; /* how many are to be done before */
} heddle_fact;

/* Where a buffer lies. `place`, `base`: places; `base` is where coordinate zero is. */
enum { heddle_input, heddle_output, heddle_weight, heddle_workspace };
typedef struct {
    int32_t kind, index; /* of the inputs or outputs */
    int32_t place, base;
} heddle_buffer;

typedef struct {
    int32_t kernel;
    int32_t buffers, buffer_count; /* into the group's lists: buffers' numbers */
    int32_t numbers;               /* where its own begin: of the group's, or -1 - where among its constants */
    int32_t tasks, rounds;         /* places */
    int32_t ends; /* 1: those before and this one do not depend on each other, the next ones do on them */
} heddle_launch;

/* Sizes for which the program does the same with other numbers: those within ranges for which facts hold. */
typedef struct {
    const int64_t* ranges; /* of each dimension the least and the greatest size */
    const heddle_fact* facts;
    const heddle_step* steps;
    const heddle_buffer* buffers;
    const heddle_launch* launches;
    const int32_t* lists;   /* places of the sizes of all outputs' dimensions; buffers of launches */
    const int32_t* numbers; /* places of what launches are given */
    const int64_t* constants;
    int32_t fact_count, step_count;
    int32_t first_steps; /* how many say what holds, and how large outputs and the workspace are */
    int32_t number_count, launch_count;
    int32_t workspace, scratch; /* bytes of the buffers together; of each worker */
} heddle_group;

typedef struct {
    const char* name;
    int32_t rank;
    uint8_t code, bits;
    int32_t dimensions; /* of an input: into the table of dimensions, by axis: a dimension, or -1 - size */
    const unsigned char* value; /* of an input: null, or the only bytes that it may have */
    int32_t value_bytes;
} heddle_argument;

typedef struct {
    const char* name;
    int64_t from, step, count; /* sizes: from, from + step ... */
} heddle_dimension;

typedef struct {
    int (*runs_here)(void);
    const heddle_kernel* kernels;
    const heddle_group* groups;
    int32_t group_count;
} heddle_variant;

typedef struct {
    const heddle_argument *inputs, *outputs;
    const int64_t* axes;
    const heddle_dimension* dimensions;
    const heddle_variant* variants;
    const unsigned char* weights; /* null: in a file beside */
    int32_t input_count, output_count, dimension_count, variant_count;
} heddle_program;

/* ---- messages */

typedef struct {
    char* to;
    size_t left;
} heddle_text;

static void heddle_say(heddle_text* text, const char* words) {
    for (; *words && text->left > 1; words++, text->left--) *text->to++ = *words;
    if (text->left) *text->to = 0;
}

static void heddle_say_number(heddle_text* text, int64_t number) {
    char digits[24];
    int at = 23;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    digits[at] = 0;
    do digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0) digits[--at] = '-';
    heddle_say(text, digits + at);
}

static heddle_text heddle_message(heddle_call* call, const char* kind, const char* name) {
    heddle_text text = {call->message, call->message ? call->message_bytes : 0};
    heddle_say(&text, kind);
    heddle_say(&text, name);
    return text;
}

static int32_t heddle_wrong(heddle_call* call, const char* kind, const char* name, const char* what) {
    heddle_text text = heddle_message(call, kind, name);
    heddle_say(&text, what);
    return HEDDLE_BAD_ARGUMENT;
}

static int32_t heddle_wrong_number(heddle_call* call, const char* kind, const char* name, const char* what,
                                   int64_t expected, int64_t found) {
    heddle_text text = heddle_message(call, kind, name);
    heddle_say(&text, what);
    heddle_say_number(&text, expected);
    heddle_say(&text, ", not ");
    heddle_say_number(&text, found);
    return HEDDLE_BAD_ARGUMENT;
}

/* ---- sizes */

/* What is chosen for a call: the machine's variant, and for the sizes a group. */
typedef struct {
    const heddle_program* program;
    const heddle_variant* variant;
    const heddle_group* group;
    int64_t values[HEDDLE_VALUES]; /* of the sizes, and of the group's first steps */
} heddle_choice;

static int32_t heddle_check_tensor(heddle_call* call, const char* kind, const heddle_argument* argument,
                                   const DLTensor* tensor) {
    if (!tensor) return heddle_wrong(call, kind, argument->name, " is missing");
    if (tensor->device.device_type != kDLCPU)
        return heddle_wrong_number(call, kind, argument->name, " is to lie on device type ", kDLCPU,
                                   tensor->device.device_type);
    if (tensor->device.device_id != 0)
        return heddle_wrong_number(call, kind, argument->name, " is to lie on the CPU of number ", 0,
                                   tensor->device.device_id);
    if (tensor->dtype.code != argument->code || tensor->dtype.bits != argument->bits || tensor->dtype.lanes != 1)
        return heddle_wrong(call, kind, argument->name, " has another element type than the program's");
    if (tensor->ndim != argument->rank)
        return heddle_wrong_number(call, kind, argument->name, ": its rank is to be ", argument->rank, tensor->ndim);
    return 0;
}

/* Row-major, and of the value that the program was exported for, if there is one. */
static int32_t heddle_check_layout(heddle_call* call, const char* kind, const heddle_argument* argument,
                                   const DLTensor* tensor) {
    int64_t step = 1;
    int has_elements = 1;
    for (int32_t d = 0; d < tensor->ndim; d++) has_elements = has_elements && tensor->shape[d] != 0;
    for (int32_t d = tensor->ndim; d-- > 0 && has_elements;) {
        if (tensor->strides && tensor->shape[d] > 1 && tensor->strides[d] != step)
            return heddle_wrong(call, kind, argument->name, " is not row-major");
        if (__builtin_mul_overflow(step, tensor->shape[d], &step)) {
            heddle_wrong(call, kind, argument->name, " has more elements than there can be");
            return HEDDLE_BAD_SIZE;
        }
    }
    if (!tensor->data && has_elements) return heddle_wrong(call, kind, argument->name, " has no data");
    for (int32_t i = 0; i < argument->value_bytes; i++) {
        if (((const unsigned char*)tensor->data + tensor->byte_offset)[i] != argument->value[i])
            return heddle_wrong(call, kind, argument->name, " has another value than the program was exported for");
    }
    return 0;
}

static int32_t heddle_take_size(heddle_call* call, const heddle_program* program, int32_t d, int64_t size,
                                const char* input, int64_t* sizes) {
    const heddle_dimension* dimension = &program->dimensions[d];
    heddle_text text = heddle_message(call, "input ", input);
    if (sizes[d] >= 0) {
        if (sizes[d] == size) return 0;
        heddle_say(&text, ": ");
        heddle_say(&text, dimension->name);
        heddle_say(&text, " is ");
        heddle_say_number(&text, sizes[d]);
        heddle_say(&text, " elsewhere, and here ");
        heddle_say_number(&text, size);
        return HEDDLE_BAD_ARGUMENT;
    }
    const int64_t above = size < 0 ? -1 : size - dimension->from;
    if (above < 0 || above % dimension->step != 0 || above / dimension->step >= dimension->count) {
        heddle_say(&text, ": the program was exported for ");
        heddle_say(&text, dimension->name);
        heddle_say(&text, " from ");
        heddle_say_number(&text, dimension->from);
        heddle_say(&text, " to ");
        heddle_say_number(&text, dimension->from + (dimension->count - 1) * dimension->step);
        heddle_say(&text, " by ");
        heddle_say_number(&text, dimension->step);
        heddle_say(&text, ", not ");
        heddle_say_number(&text, size);
        return HEDDLE_BAD_SIZE;
    }
    sizes[d] = size;
    return 0;
}

/* Of inputs' types and shapes; their data are not looked at. */
static int32_t heddle_take_inputs(heddle_call* call, const heddle_program* program, int64_t* sizes) {
    int32_t status;
    if (!call->inputs && program->input_count > 0) return heddle_wrong(call, "", "", "there are no inputs");
    for (int32_t d = 0; d < program->dimension_count; d++) sizes[d] = -1;
    for (int32_t i = 0; i < program->input_count; i++) {
        const heddle_argument* argument = &program->inputs[i];
        const DLTensor* tensor = call->inputs[i];
        if ((status = heddle_check_tensor(call, "input ", argument, tensor))) return status;
        for (int32_t d = 0; d < argument->rank; d++) {
            const int64_t axis = program->axes[argument->dimensions + d];
            if (axis >= 0) {
                status = heddle_take_size(call, program, (int32_t)axis, tensor->shape[d], argument->name, sizes);
                if (status) return status;
            } else if (tensor->shape[d] != -1 - axis) {
                return heddle_wrong_number(call, "input ", argument->name, ": a size is to be ", -1 - axis,
                                           tensor->shape[d]);
            }
        }
    }
    return 0;
}

/* ---- numbers */

static int64_t heddle_value(const heddle_group* group, const int64_t* values, int32_t place) {
    return place < 0 ? group->constants[-1 - place] : values[place];
}

/* False where the result is beyond 64 bits, or there is none. Divisions floor. */
static int heddle_take_step(int32_t operation, int64_t a, int64_t b, int64_t* result) {
    switch (operation) {
    case heddle_add: return !__builtin_add_overflow(a, b, result);
    case heddle_subtract: return !__builtin_sub_overflow(a, b, result);
    case heddle_multiply: return !__builtin_mul_overflow(a, b, result);
    case heddle_floor_divide:
        if (b == 0) return 0;
        if (b == -1) return !__builtin_sub_overflow((int64_t)0, a, result);
        *result = a / b - (a % b != 0 && (a < 0) != (b < 0));
        return 1;
    case heddle_modulo:
        if (b == 0) return 0;
        *result = b == -1 ? 0 : a % b;
        if (*result != 0 && (*result < 0) != (b < 0)) *result += b;
        return 1;
    case heddle_minimum: *result = a < b ? a : b; return 1;
    default: *result = a > b ? a : b; return 1;
    }
}

/* Steps `first` to end - 1, behind as many values as there are dimensions. */
static int heddle_take_steps(const heddle_program* program, const heddle_group* group, int64_t* values, int32_t first,
                             int32_t end) {
    for (int32_t s = first; s < end; s++) {
        const heddle_step* step = &group->steps[s];
        const int64_t a = heddle_value(group, values, step->a), b = heddle_value(group, values, step->b);
        if (!heddle_take_step(step->operation, a, b, &values[program->dimension_count + s])) return 0;
    }
    return 1;
}

/* Whether the group is for these sizes; then its first steps are done. */
static int heddle_holds(const heddle_program* program, const heddle_group* group, int64_t* values) {
    int32_t done = 0;
    for (int32_t d = 0; d < program->dimension_count; d++) {
        if (values[d] < group->ranges[2 * d] || values[d] > group->ranges[2 * d + 1]) return 0;
    }
    for (int32_t f = 0; f < group->fact_count; f++) {
        const heddle_fact* fact = &group->facts[f];
        if (done < fact->steps) {
            if (!heddle_take_steps(program, group, values, done, fact->steps)) return 0;
            done = fact->steps;
        }
        const int64_t value = heddle_value(group, values, fact->place);
        if (fact->relation == heddle_not_negative && value < 0) return 0;
        if (fact->relation == heddle_zero && value != 0) return 0;
        if (fact->relation == heddle_not_zero && value == 0) return 0;
    }
    return heddle_take_steps(program, group, values, done, group->first_steps);
}

static int32_t heddle_choose_variant(heddle_call* call, const heddle_program* program, heddle_choice* choice) {
    choice->program = program;
    for (int32_t v = 0; v < program->variant_count; v++) {
        choice->variant = &program->variants[v];
        if (choice->variant->runs_here()) return 0;
    }
    heddle_message(call, "the processor lacks instructions that the program was exported for", "");
    return HEDDLE_BAD_MACHINE;
}

static int32_t heddle_choose_group(heddle_call* call, heddle_choice* choice) {
    const heddle_program* program = choice->program;
    for (int32_t g = 0; g < choice->variant->group_count; g++) {
        choice->group = &choice->variant->groups[g];
        if (heddle_holds(program, choice->group, choice->values)) return 0;
    }
    heddle_text text = heddle_message(call, "the program was not exported for these sizes", "");
    for (int32_t d = 0; d < program->dimension_count; d++) {
        heddle_say(&text, d ? ", " : ": ");
        heddle_say(&text, program->dimensions[d].name);
        heddle_say(&text, " ");
        heddle_say_number(&text, choice->values[d]);
    }
    return HEDDLE_BAD_SIZE;
}

static int32_t heddle_choose(heddle_call* call, const heddle_program* program, heddle_choice* choice) {
    int32_t status = heddle_take_inputs(call, program, choice->values);
    if (!status) status = heddle_choose_variant(call, program, choice);
    return status ? status : heddle_choose_group(call, choice);
}

/* ---- the workspace: values, numbers of launches, the buffers' memory, and each worker's scratch */

typedef struct {
    int64_t numbers, memory, scratch, scratch_each, bytes;
    int32_t workers;
} heddle_layout;

static int64_t heddle_round_up(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/* Where the buffers' memory begins. */
static int64_t heddle_head_bytes(const heddle_program* program, const heddle_group* group) {
    return heddle_round_up(8 * ((int64_t)program->dimension_count + group->step_count + group->number_count));
}

/* The values are those of the sizes and the first steps. */
static int32_t heddle_lay_out(heddle_call* call, const heddle_program* program, const heddle_group* group,
                              const int64_t* values, heddle_layout* layout) {
    const int64_t most = INT64_C(1) << 60; /* of what is rounded up and added once */
    const int64_t memory = heddle_value(group, values, group->workspace);
    const int64_t scratch = heddle_value(group, values, group->scratch);
    int64_t all;
    layout->workers = call->parallel && call->workers > 1 ? call->workers : 1;
    layout->numbers = 8 * ((int64_t)program->dimension_count + group->step_count);
    layout->memory = heddle_head_bytes(program, group);
    if (memory <= most && scratch <= most && !__builtin_mul_overflow(heddle_round_up(scratch), layout->workers, &all) &&
        all <= most) {
        layout->scratch = layout->memory + heddle_round_up(memory);
        layout->scratch_each = heddle_round_up(scratch);
        layout->bytes = layout->scratch + all;
        return 0;
    }
    heddle_message(call, "the workspace would be larger than there can be", "");
    return HEDDLE_BAD_SIZE;
}

/* ---- launches */

typedef struct {
    const heddle_variant* variant;
    const heddle_group* group;
    const heddle_call* call;
    const int64_t *values, *numbers;
    unsigned char* memory;
    unsigned char* scratch;
    int64_t scratch_each;
    const unsigned char* weights;
    /* Of the part that is to run: launches first to end - 1 side by side, in parts of `chunk` tasks; or a round. */
    int32_t first, end;
    int64_t chunk, tasks, begin;
    int32_t failed; /* 1 + the launch of a failure */
    int64_t point[3];
} heddle_work;

static unsigned char* heddle_address(const heddle_work* work, const heddle_buffer* buffer) {
    const int64_t base = heddle_value(work->group, work->values, buffer->base);
    const int64_t place = heddle_value(work->group, work->values, buffer->place);
    const DLTensor* tensor;
    switch (buffer->kind) {
    case heddle_input: tensor = work->call->inputs[buffer->index]; break;
    case heddle_output: tensor = work->call->outputs[buffer->index]; break;
    case heddle_weight: return (unsigned char*)(uintptr_t)work->weights + place + base;
    default: return work->memory + place + base;
    }
    return (unsigned char*)tensor->data + tensor->byte_offset + base;
}

static void heddle_launch_tasks(heddle_work* work, int32_t l, int64_t begin, int64_t end, int32_t worker) {
    const heddle_group* group = work->group;
    const heddle_launch* launch = &group->launches[l];
    const int32_t* list = group->lists + launch->buffers;
    const int64_t* numbers =
        launch->numbers < 0 ? group->constants + (-1 - launch->numbers) : work->numbers + launch->numbers;
    void* pointers[HEDDLE_BUFFERS + 1];
    unsigned char* scratch = work->scratch + work->scratch_each * worker;
    int32_t none = 0;
    for (int32_t b = 0; b < launch->buffer_count; b++) pointers[b] = heddle_address(work, &group->buffers[list[b]]);
    pointers[launch->buffer_count] = scratch;
    if (work->variant->kernels[launch->kernel](pointers, numbers, begin, end) == 0) return;
    /* The first of several that fail at once writes; all others leave it. */
    if (__atomic_compare_exchange_n(&work->failed, &none, l + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 3; i++) work->point[i] = ((const int64_t*)scratch)[i];
    }
}

static int64_t heddle_tasks(const heddle_work* work, int32_t l) {
    return heddle_value(work->group, work->values, work->group->launches[l].tasks);
}

static int64_t heddle_rounds(const heddle_work* work, int32_t l) {
    return heddle_value(work->group, work->values, work->group->launches[l].rounds);
}

static void heddle_part_together(void* context, int64_t part, int32_t worker) {
    heddle_work* work = (heddle_work*)context;
    const int64_t begin = part * work->chunk;
    const int64_t end = begin + work->chunk < work->tasks ? begin + work->chunk : work->tasks;
    int64_t before = 0;
    for (int32_t l = work->first; l < work->end; l++) {
        const int64_t tasks = heddle_rounds(work, l) > 1 && work->call->parallel ? 0 : heddle_tasks(work, l);
        const int64_t low = begin > before ? begin - before : 0;
        const int64_t high = end - before < tasks ? end - before : tasks;
        if (low < high) heddle_launch_tasks(work, l, low, high, worker);
        before += tasks;
    }
}

static void heddle_part_of_round(void* context, int64_t part, int32_t worker) {
    heddle_work* work = (heddle_work*)context;
    heddle_launch_tasks(work, work->first, work->begin + part, work->begin + part + 1, worker);
}

static void heddle_spread(heddle_work* work, int64_t parts, heddle_task task) {
    if (work->call->parallel && parts > 1) {
        work->call->parallel(work->call->pool, parts, task, work);
        return;
    }
    for (int64_t part = 0; part < parts; part++) task(work, part, 0);
}

/* Launches that do not depend on each other: their tasks together, then each that goes in rounds. */
static void heddle_run_batch(heddle_work* work, int32_t first, int32_t end, int32_t workers) {
    const int parallel = work->call->parallel != 0;
    work->first = first;
    work->end = end;
    work->tasks = 0;
    for (int32_t l = first; l < end; l++) {
        if (heddle_rounds(work, l) <= 1 || !parallel) work->tasks += heddle_tasks(work, l);
    }
    if (work->tasks > 0) {
        work->chunk = parallel ? work->tasks / (workers * 8) : work->tasks;
        if (work->chunk < 1) work->chunk = 1;
        heddle_spread(work, (work->tasks + work->chunk - 1) / work->chunk, heddle_part_together);
    }
    for (int32_t l = first; l < end && parallel && !work->failed; l++) {
        const int64_t rounds = heddle_rounds(work, l), tasks = heddle_tasks(work, l);
        if (rounds <= 1 || tasks == 0) continue;
        work->first = l;
        for (int64_t round = 0; round < rounds && !work->failed; round++) {
            work->begin = round * (tasks / rounds);
            heddle_spread(work, tasks / rounds, heddle_part_of_round);
        }
    }
}

/* What was outside of a part of a tensor was sent far outside of all: as is_far_index of src/support/far_index.h. */
static int heddle_is_far(int64_t index) {
    const int64_t far = INT64_C(1) << 30, most = far << 20;
    if (index < -most || index > most) return 0;
    const int64_t multiple = (index + (index < 0 ? -far : far) / 2) / far * far;
    return multiple != 0 && index - multiple >= -far / 4 && index - multiple <= far / 4;
}

static void heddle_say_index(heddle_call* call, int64_t index, int64_t extent) {
    heddle_text text = heddle_message(call, "an index among the data is ", "");
    if (heddle_is_far(index)) {
        heddle_say(&text, "outside of what it is for");
        return;
    }
    heddle_say_number(&text, index);
    heddle_say(&text, ", and is to be from 0 to below ");
    heddle_say_number(&text, extent);
}

static int32_t heddle_run_all(heddle_call* call, heddle_work* work, int32_t workers) {
    const heddle_group* group = work->group;
    for (int32_t l = 0, first = 0; l < group->launch_count; l++) {
        if (!group->launches[l].ends) continue;
        heddle_run_batch(work, first, l + 1, workers);
        first = l + 1;
        if (work->failed) {
            heddle_say_index(call, work->point[1], work->point[2]);
            return HEDDLE_BAD_INDEX;
        }
    }
    return 0;
}

/* ---- what callers call */

static int32_t heddle_check_outputs(heddle_call* call, const heddle_program* program, const heddle_group* group,
                                    const int64_t* values) {
    const int32_t* places = group->lists;
    int32_t status;
    if (!call->outputs && program->output_count > 0) return heddle_wrong(call, "", "", "there are no outputs");
    for (int32_t i = 0; i < program->output_count; i++) {
        const heddle_argument* argument = &program->outputs[i];
        const DLTensor* tensor = call->outputs[i];
        if ((status = heddle_check_tensor(call, "output ", argument, tensor))) return status;
        for (int32_t d = 0; d < argument->rank; d++) {
            const int64_t size = heddle_value(group, values, *places++);
            if (tensor->shape[d] != size)
                return heddle_wrong_number(call, "output ", argument->name, ": a size is to be ", size,
                                           tensor->shape[d]);
        }
        if ((status = heddle_check_layout(call, "output ", argument, tensor))) return status;
    }
    return 0;
}

static int32_t heddle_program_output_shape(const heddle_program* program, heddle_call* call, int32_t output,
                                           int64_t* shape) {
    heddle_choice choice;
    const int32_t status = heddle_choose(call, program, &choice);
    int32_t n = 0;
    if (status) return status;
    if (output < 0 || output >= program->output_count) return heddle_wrong(call, "", "", "there is no such output");
    for (int32_t i = 0; i < output; i++) n += program->outputs[i].rank;
    for (int32_t d = 0; d < program->outputs[output].rank; d++)
        shape[d] = heddle_value(choice.group, choice.values, choice.group->lists[n + d]);
    return program->outputs[output].rank;
}

static int64_t heddle_program_workspace_bytes(const heddle_program* program, heddle_call* call) {
    heddle_choice choice;
    heddle_layout layout;
    int32_t status = heddle_choose(call, program, &choice);
    if (!status) status = heddle_lay_out(call, program, choice.group, choice.values, &layout);
    return status ? status : layout.bytes;
}

/* Whether the workspace has the numbers of these sizes: by which group, `ready` says. */
static int heddle_is_ready(const heddle_call* call, heddle_choice* choice) {
    const heddle_program* program = choice->program;
    const int64_t* values = (const int64_t*)call->workspace;
    if (call->ready < 1 || call->ready > choice->variant->group_count) return 0;
    choice->group = &choice->variant->groups[call->ready - 1];
    if (call->workspace_bytes < (uint64_t)heddle_head_bytes(program, choice->group)) return 0;
    for (int32_t d = 0; d < program->dimension_count; d++) {
        if (values[d] != choice->values[d]) return 0;
    }
    return 1;
}

static int32_t heddle_make_ready(heddle_call* call, const heddle_choice* choice, const heddle_layout* layout) {
    const heddle_program* program = choice->program;
    const heddle_group* group = choice->group;
    int64_t* values = (int64_t*)call->workspace;
    int64_t* numbers = (int64_t*)(void*)((unsigned char*)call->workspace + layout->numbers);
    call->ready = 0;
    for (int32_t d = 0; d < program->dimension_count; d++) values[d] = choice->values[d];
    if (!heddle_take_steps(program, group, values, 0, group->step_count)) {
        heddle_message(call, "the sizes are larger than there can be", "");
        return HEDDLE_BAD_SIZE;
    }
    for (int32_t n = 0; n < group->number_count; n++) numbers[n] = heddle_value(group, values, group->numbers[n]);
    call->ready = 1 + (group - choice->variant->groups);
    return 0;
}

static int32_t heddle_program_run(const heddle_program* program, heddle_call* call) {
    heddle_choice choice;
    heddle_layout layout;
    heddle_work work = {0};
    unsigned char* workspace = (unsigned char*)call->workspace;
    const int is_there = workspace && (uintptr_t)workspace % 64 == 0;
    int32_t status = heddle_take_inputs(call, program, choice.values);
    if (!status) status = heddle_choose_variant(call, program, &choice);
    if (status) return status;
    const int is_ready = is_there && heddle_is_ready(call, &choice);
    if (!is_ready && (status = heddle_choose_group(call, &choice))) return status;
    for (int32_t i = 0; i < program->input_count; i++) {
        status = heddle_check_layout(call, "input ", &program->inputs[i], call->inputs[i]);
        if (status) return status;
    }
    const int64_t* values = is_ready ? (const int64_t*)call->workspace : choice.values;
    if ((status = heddle_lay_out(call, program, choice.group, values, &layout))) return status;
    if (!is_there || call->workspace_bytes < (uint64_t)layout.bytes)
        return heddle_wrong_number(call, "the workspace", "", ", at a multiple of 64, is to have bytes: ", layout.bytes,
                                   workspace ? (int64_t)call->workspace_bytes : 0);
    work.weights = program->weights ? program->weights : (const unsigned char*)call->weights;
    if (!work.weights || (uintptr_t)work.weights % 64)
        return heddle_wrong(call, "", "", "the weights are missing, or do not lie at a multiple of 64");
    if (!is_ready && (status = heddle_make_ready(call, &choice, &layout))) return status;
    work.variant = choice.variant;
    work.group = choice.group;
    work.call = call;
    work.values = (const int64_t*)call->workspace;
    work.numbers = (const int64_t*)(const void*)(workspace + layout.numbers);
    work.memory = workspace + layout.memory;
    work.scratch = workspace + layout.scratch;
    work.scratch_each = layout.scratch_each;
    if ((status = heddle_check_outputs(call, program, choice.group, work.values))) return status;
    return heddle_run_all(call, &work, layout.workers);
}
