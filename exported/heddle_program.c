/* Runs an exported program: works out its numbers for the sizes of its inputs, then launches its kernels one after
 * another. It follows the tables behind it, in the same file, and knows nothing of what they compute.
 */

typedef int32_t (*heddle_kernel)(void* const* buffers, const int64_t* numbers, int64_t begin, int64_t end);

/* A number that may depend on the sizes: its value is factor * x + offset, where x is
 *   size:     the size of dimension a
 *   one:      element number of dimension a's size, of the table from b on
 *   all:      element number of all sizes together, of the table from b on
 *   product:  columns a and b, which stand before, multiplied
 *   constant: nothing */
enum { heddle_constant, heddle_size, heddle_one, heddle_all, heddle_product };
typedef struct {
    int32_t form, a, b;
    int64_t factor, offset;
} heddle_column;

/* Where a buffer lies. `place`, `base`: numbers of the group; `base` is where coordinate zero is. */
enum { heddle_input, heddle_output, heddle_weight, heddle_workspace };
typedef struct {
    int32_t kind, index; /* of the inputs or outputs */
    int32_t place, base;
} heddle_buffer;

typedef struct {
    int32_t kernel;
    int32_t buffers, buffer_count; /* into the group's list of buffers' numbers */
    int32_t numbers;               /* the first of its own */
    int32_t tasks, rounds;         /* numbers */
    int32_t ends;                  /* 1: those before and this one do not depend on each other, the next ones do on them */
} heddle_launch;

/* All sizes for which the program has the same structure. Numbers are columns' values, by `columns_of`; the first ones
 * are the bytes of the workspace, those of each worker's scratch, then the sizes of all outputs' dimensions. */
typedef struct {
    const heddle_column* columns;
    const int32_t* columns_of;
    const heddle_buffer* buffers;
    const heddle_launch* launches;
    const int32_t* lists;
    int32_t column_count, number_count, launch_count;
    int32_t first_sizes; /* into the program's table: of each dimension, the number of its least size of the group */
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
    const int32_t* group_of; /* by number of all sizes together */
    const int32_t* rank_of;  /* the same: which of its group */
} heddle_variant;

typedef struct {
    const heddle_argument *inputs, *outputs;
    const int64_t* axes;
    const heddle_dimension* dimensions;
    const heddle_variant* variants;
    const int64_t* table;
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

/* What is chosen for a call: the machine's variant, the sizes, and the group of these. */
typedef struct {
    const heddle_variant* variant;
    const heddle_group* group;
    int64_t all;                        /* number of all sizes together */
    int64_t number[HEDDLE_DIMENSIONS];  /* of each dimension's size */
    int64_t size[HEDDLE_DIMENSIONS];
} heddle_choice;

static int32_t heddle_check_tensor(heddle_call* call, const char* kind, const heddle_argument* argument,
                                   const DLTensor* tensor) {
    if (!tensor) return heddle_wrong(call, kind, argument->name, " is missing");
    if (tensor->device.device_type != kDLCPU)
        return heddle_wrong_number(call, kind, argument->name, " is to lie on device type ", kDLCPU,
                                   tensor->device.device_type);
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
    for (int32_t d = tensor->ndim; d-- > 0; step *= tensor->shape[d]) {
        if (tensor->strides && tensor->shape[d] > 1 && tensor->strides[d] != step)
            return heddle_wrong(call, kind, argument->name, " is not row-major");
    }
    if (!tensor->data && step > 0) return heddle_wrong(call, kind, argument->name, " has no data");
    for (int32_t i = 0; i < argument->value_bytes; i++) {
        if (((const unsigned char*)tensor->data + tensor->byte_offset)[i] != argument->value[i])
            return heddle_wrong(call, kind, argument->name, " has another value than the program was exported for");
    }
    return 0;
}

static int32_t heddle_take_size(heddle_call* call, const heddle_program* program, int32_t d, int64_t size,
                                const char* input, heddle_choice* choice) {
    const heddle_dimension* dimension = &program->dimensions[d];
    if (choice->number[d] >= 0) {
        if (choice->size[d] == size) return 0;
        heddle_text text = heddle_message(call, "input ", input);
        heddle_say(&text, ": ");
        heddle_say(&text, dimension->name);
        heddle_say(&text, " is ");
        heddle_say_number(&text, choice->size[d]);
        heddle_say(&text, " elsewhere, and here ");
        heddle_say_number(&text, size);
        return HEDDLE_BAD_ARGUMENT;
    }
    const int64_t above = size - dimension->from;
    if (above < 0 || above % dimension->step != 0 || above / dimension->step >= dimension->count) {
        heddle_text text = heddle_message(call, "input ", input);
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
    choice->size[d] = size;
    choice->number[d] = above / dimension->step;
    return 0;
}

/* Of inputs' types and shapes; their data are not looked at. */
static int32_t heddle_choose(heddle_call* call, const heddle_program* program, heddle_choice* choice) {
    int32_t status, v = 0;
    if (!call->inputs && program->input_count > 0) return heddle_wrong(call, "", "", "there are no inputs");
    for (int32_t d = 0; d < program->dimension_count; d++) choice->number[d] = -1;
    for (int32_t i = 0; i < program->input_count; i++) {
        const heddle_argument* argument = &program->inputs[i];
        const DLTensor* tensor = call->inputs[i];
        if ((status = heddle_check_tensor(call, "input ", argument, tensor))) return status;
        for (int32_t d = 0; d < argument->rank; d++) {
            const int64_t axis = program->axes[argument->dimensions + d];
            if (axis >= 0) {
                status = heddle_take_size(call, program, (int32_t)axis, tensor->shape[d], argument->name, choice);
                if (status) return status;
            } else if (tensor->shape[d] != -1 - axis) {
                return heddle_wrong_number(call, "input ", argument->name, ": a size is to be ", -1 - axis,
                                           tensor->shape[d]);
            }
        }
    }
    choice->all = 0;
    for (int32_t d = 0; d < program->dimension_count; d++)
        choice->all = choice->all * program->dimensions[d].count + choice->number[d];
    while (v < program->variant_count && !program->variants[v].runs_here()) v++;
    if (v == program->variant_count) {
        heddle_message(call, "the processor lacks instructions that the program was exported for", "");
        return HEDDLE_BAD_MACHINE;
    }
    choice->variant = &program->variants[v];
    choice->group = &choice->variant->groups[choice->variant->group_of[choice->all]];
    return 0;
}

/* ---- numbers */

static int64_t heddle_column_value(const heddle_program* program, const heddle_choice* choice,
                                   const heddle_column* column, const int64_t* before) {
    const uint64_t factor = (uint64_t)column->factor, offset = (uint64_t)column->offset;
    uint64_t x = 0;
    switch (column->form) {
    case heddle_size: x = (uint64_t)choice->size[column->a]; break;
    case heddle_one:
        x = (uint64_t)program->table[column->b + choice->number[column->a] -
                                     program->table[choice->group->first_sizes + column->a]];
        break;
    case heddle_all: x = (uint64_t)program->table[column->b + choice->variant->rank_of[choice->all]]; break;
    case heddle_product: x = (uint64_t)before[column->a] * (uint64_t)before[column->b]; break;
    default: break;
    }
    return (int64_t)(factor * x + offset);
}

/* The value of one number without a place for all: columns are few steps deep. */
static int64_t heddle_one_number(const heddle_program* program, const heddle_choice* choice, int32_t c) {
    const heddle_column* column = &choice->group->columns[c];
    if (column->form == heddle_product) {
        const uint64_t a = (uint64_t)heddle_one_number(program, choice, column->a);
        const uint64_t b = (uint64_t)heddle_one_number(program, choice, column->b);
        return (int64_t)((uint64_t)column->factor * a * b + (uint64_t)column->offset);
    }
    return heddle_column_value(program, choice, column, 0);
}

static int64_t heddle_number(const heddle_program* program, const heddle_choice* choice, int32_t n) {
    return heddle_one_number(program, choice, choice->group->columns_of[n]);
}

static int64_t heddle_round_up(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/* The workspace: numbers, columns, the buffers' memory, and each worker's scratch. */
typedef struct {
    int64_t columns, memory, scratch, scratch_each, bytes;
    int32_t workers;
} heddle_layout;

static heddle_layout heddle_layout_of(const heddle_call* call, const heddle_program* program,
                                      const heddle_choice* choice) {
    heddle_layout layout;
    layout.columns = heddle_round_up(8 * (int64_t)choice->group->number_count);
    layout.memory = layout.columns + heddle_round_up(8 * (int64_t)choice->group->column_count);
    layout.scratch = layout.memory + heddle_round_up(heddle_number(program, choice, 0));
    layout.scratch_each = heddle_round_up(heddle_number(program, choice, 1));
    layout.workers = call->parallel && call->workers > 1 ? call->workers : 1;
    layout.bytes = layout.scratch + layout.scratch_each * layout.workers;
    return layout;
}

/* ---- launches */

typedef struct {
    const heddle_program* program;
    const heddle_choice* choice;
    const heddle_call* call;
    const int64_t* numbers;
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
    const int64_t base = work->numbers[buffer->base];
    const DLTensor* tensor;
    switch (buffer->kind) {
    case heddle_input: tensor = work->call->inputs[buffer->index]; break;
    case heddle_output: tensor = work->call->outputs[buffer->index]; break;
    case heddle_weight: return (unsigned char*)(uintptr_t)work->weights + work->numbers[buffer->place] + base;
    default: return work->memory + work->numbers[buffer->place] + base;
    }
    return (unsigned char*)tensor->data + tensor->byte_offset + base;
}

static void heddle_launch_tasks(heddle_work* work, int32_t l, int64_t begin, int64_t end, int32_t worker) {
    const heddle_group* group = work->choice->group;
    const heddle_launch* launch = &group->launches[l];
    const int32_t* list = group->lists + launch->buffers;
    void* pointers[HEDDLE_BUFFERS + 1];
    unsigned char* scratch = work->scratch + work->scratch_each * worker;
    int32_t none = 0;
    for (int32_t b = 0; b < launch->buffer_count; b++) pointers[b] = heddle_address(work, &group->buffers[list[b]]);
    pointers[launch->buffer_count] = scratch;
    if (work->choice->variant->kernels[launch->kernel](pointers, work->numbers + launch->numbers, begin, end) == 0)
        return;
    /* The first of several that fail at once writes; all others leave it. */
    if (__atomic_compare_exchange_n(&work->failed, &none, l + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 3; i++) work->point[i] = ((const int64_t*)scratch)[i];
    }
}

static void heddle_part_together(void* context, int64_t part, int32_t worker) {
    heddle_work* work = (heddle_work*)context;
    const int64_t begin = part * work->chunk;
    const int64_t end = begin + work->chunk < work->tasks ? begin + work->chunk : work->tasks;
    int64_t before = 0;
    for (int32_t l = work->first; l < work->end; l++) {
        const heddle_launch* launch = &work->choice->group->launches[l];
        const int64_t tasks = work->numbers[launch->rounds] > 1 && work->call->parallel ? 0 : work->numbers[launch->tasks];
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
    const heddle_launch* launches = work->choice->group->launches;
    const int parallel = work->call->parallel != 0;
    work->first = first;
    work->end = end;
    work->tasks = 0;
    for (int32_t l = first; l < end; l++) {
        if (work->numbers[launches[l].rounds] <= 1 || !parallel) work->tasks += work->numbers[launches[l].tasks];
    }
    if (work->tasks > 0) {
        work->chunk = parallel ? work->tasks / (workers * 8) : work->tasks;
        if (work->chunk < 1) work->chunk = 1;
        heddle_spread(work, (work->tasks + work->chunk - 1) / work->chunk, heddle_part_together);
    }
    for (int32_t l = first; l < end && parallel && !work->failed; l++) {
        const int64_t rounds = work->numbers[launches[l].rounds], tasks = work->numbers[launches[l].tasks];
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
    const heddle_group* group = work->choice->group;
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

static void heddle_make_ready(const heddle_program* program, const heddle_choice* choice, unsigned char* workspace,
                              const heddle_layout* layout) {
    const heddle_group* group = choice->group;
    int64_t* numbers = (int64_t*)(void*)workspace;
    int64_t* columns = (int64_t*)(void*)(workspace + layout->columns);
    for (int32_t c = 0; c < group->column_count; c++)
        columns[c] = heddle_column_value(program, choice, &group->columns[c], columns);
    for (int32_t n = 0; n < group->number_count; n++) numbers[n] = columns[group->columns_of[n]];
}

static int32_t heddle_check_outputs(heddle_call* call, const heddle_program* program, const int64_t* sizes) {
    int32_t status;
    if (!call->outputs && program->output_count > 0) return heddle_wrong(call, "", "", "there are no outputs");
    for (int32_t i = 0; i < program->output_count; i++) {
        const heddle_argument* argument = &program->outputs[i];
        const DLTensor* tensor = call->outputs[i];
        if ((status = heddle_check_tensor(call, "output ", argument, tensor))) return status;
        for (int32_t d = 0; d < argument->rank; d++, sizes++) {
            if (tensor->shape[d] != *sizes)
                return heddle_wrong_number(call, "output ", argument->name, ": a size is to be ", *sizes,
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
    int32_t n = 2;
    if (status) return status;
    if (output < 0 || output >= program->output_count) return heddle_wrong(call, "", "", "there is no such output");
    for (int32_t i = 0; i < output; i++) n += program->outputs[i].rank;
    for (int32_t d = 0; d < program->outputs[output].rank; d++) shape[d] = heddle_number(program, &choice, n + d);
    return program->outputs[output].rank;
}

static int64_t heddle_program_workspace_bytes(const heddle_program* program, heddle_call* call) {
    heddle_choice choice;
    const int32_t status = heddle_choose(call, program, &choice);
    return status ? status : heddle_layout_of(call, program, &choice).bytes;
}

static int32_t heddle_program_run(const heddle_program* program, heddle_call* call) {
    heddle_choice choice;
    heddle_work work = {0};
    int32_t status = heddle_choose(call, program, &choice);
    if (status) return status;
    for (int32_t i = 0; i < program->input_count; i++) {
        status = heddle_check_layout(call, "input ", &program->inputs[i], call->inputs[i]);
        if (status) return status;
    }
    const heddle_layout layout = heddle_layout_of(call, program, &choice);
    unsigned char* workspace = (unsigned char*)call->workspace;
    if (!workspace || (uintptr_t)workspace % 64 || call->workspace_bytes < (size_t)layout.bytes)
        return heddle_wrong_number(call, "the workspace", "", ", at a multiple of 64, is to have bytes: ", layout.bytes,
                                   workspace ? (int64_t)call->workspace_bytes : 0);
    work.weights = program->weights ? program->weights : (const unsigned char*)call->weights;
    if (!work.weights || (uintptr_t)work.weights % 64)
        return heddle_wrong(call, "", "", "the weights are missing, or do not lie at a multiple of 64");
    const int64_t ready = 1 + choice.all;
    if (call->ready != ready) heddle_make_ready(program, &choice, workspace, &layout);
    call->ready = ready;
    work.program = program;
    work.choice = &choice;
    work.call = call;
    work.numbers = (const int64_t*)(const void*)workspace;
    work.memory = workspace + layout.memory;
    work.scratch = workspace + layout.scratch;
    work.scratch_each = layout.scratch_each;
    if ((status = heddle_check_outputs(call, program, work.numbers + 2))) return status;
    return heddle_run_all(call, &work, layout.workers);
}
