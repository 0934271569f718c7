/* Runs a program in steps: parts, which are programs whose sizes are known (heddle_program.c, above), and branches and
 * loops between them. It follows the tables behind it, and knows nothing of what parts compute. A part takes its sizes
 * from the shapes of its inputs; a size that is a number among data is the shape of one more input, which nobody reads.
 */

typedef struct {
    uint8_t code, bits;
    int32_t rank;
    int32_t sizes; /* of a constant, and of what no iteration has given: where among the sizes */
} heddle_type;

/* A part for some of the sizes that a step may have. `outputs`, `drops`: where among the lists. */
typedef struct {
    int32_t part, next; /* the step behind it; below 0: there is none */
    int32_t outputs, output_count, types;
    int32_t drops, drop_count; /* values that nobody reads any more */
    int32_t open; /* of the step's sizes the one that is -1 ("whatever is left"), and so no size; -1: none is */
} heddle_form;

/* A value is known by its place. Lists hold places. */
enum {
    heddle_run_part,
    heddle_branch,
    heddle_loop,
    heddle_presence, /* a branch: whether the value `first` is there */
    /* On lists of tensors and optional values, as sessions have them. `count` inputs (-1: not given), then what is
     * dropped behind it; `first`, `second`: the dimension, and whether results have one more or fewer; `body`: the
     * result. */
    heddle_same,
    heddle_is_there,
    heddle_make_list,
    heddle_length,
    heddle_element,
    heddle_insert,
    heddle_erase,
    heddle_split,
    heddle_concatenate
};
typedef struct {
    int32_t kind, next;
    int32_t list, count; /* part: inputs; loop: what it carries at first, what it scans, the body's inputs, the body's
                              outputs, what it gives, what is dropped behind each iteration, and of all that is scanned
                              and stacked the dimension (below 0: it is a list) and whether it goes from the end; `count`
                              are carried */
    int32_t scanned;     /* loop: of how many values an iteration is given parts */
    int32_t first,
        second; /* part: where sizes begin in the lists (a place and an element each), and how many; branch: the
                              condition, and the step where it does not hold; loop: trip count and condition, or -1 */
    int32_t body, stacked; /* part: its forms; loop: the body's first step, and how many outputs are stacked */
    int32_t types, drops;  /* loop: of what is stacked, where nothing is; how many are dropped */
    const char* name;
} heddle_row;

typedef struct {
    int32_t value;
    heddle_type type;
    const void* data;
} heddle_constant;

typedef struct {
    int8_t is_list, may_be_absent;
} heddle_holder;

typedef struct {
    const heddle_program* const* parts;
    const int64_t* weights; /* of each part, where in the call's weights */
    const heddle_form* forms;
    const heddle_row* steps;
    const heddle_type* types;
    const int32_t* lists;
    const int64_t* sizes;
    const heddle_constant* constants;
    const heddle_argument* inputs; /* the first values; of a list its elements */
    const heddle_holder* input_kinds;
    const int32_t* outputs;
    int32_t value_count, constant_count, input_count, output_count, first;
} heddle_steps;

/* The count of who uses a memory lies behind its bytes; null: the memory is the caller's or the program's. */
typedef struct {
    DLTensor tensor; /* without data: there is none */
    int64_t shape[HEDDLE_RANKS];
    int64_t* users;
    int64_t room; /* bytes before the count */
    struct heddle_list* list; /* in place of a tensor */
} heddle_held;

typedef struct heddle_list {
    int64_t users, count, room; /* room: of elements */
    heddle_held elements[];
} heddle_list;

typedef struct {
    const heddle_steps* program;
    const heddle_memory* memory;
    heddle_call* call;
    heddle_held* values;
    void* workspace;
    int64_t workspace_bytes, ready;
    int32_t ready_part;
} heddle_run;

static int32_t heddle_fails(const heddle_run* run, int32_t status, const char* what, const char* name) {
    heddle_message(run->call, what, name);
    return status;
}

/* ---- values */

/* -1: more than there can be, or a size below zero. */
static int64_t heddle_bytes(const DLTensor* tensor) {
    const int64_t most = INT64_C(1) << 60;
    int64_t bytes = (tensor->dtype.bits + 7) / 8;
    for (int32_t d = 0; d < tensor->ndim; d++) {
        if (tensor->shape[d] < 0) return -1;
        if (tensor->shape[d] == 0) bytes = 0;
    }
    for (int32_t d = 0; d < tensor->ndim && bytes; d++) {
        if (__builtin_mul_overflow(bytes, tensor->shape[d], &bytes) || bytes > most) return -1;
    }
    return bytes;
}

static unsigned char* heddle_data(const DLTensor* tensor) { return (unsigned char*)tensor->data + tensor->byte_offset; }

static void heddle_copy(unsigned char* to, const unsigned char* from, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i++) to[i] = from[i];
}

static int heddle_is_given(const heddle_held* value) { return value->tensor.data || value->list; }

static void heddle_empty(heddle_held* value) {
    value->users = 0;
    value->tensor.data = 0;
    value->tensor.ndim = 0;
    value->list = 0;
}

static void heddle_drop_tensor(const heddle_run* run, heddle_held* value) {
    if (value->users && --*value->users == 0) run->memory->release(run->memory->context, value->tensor.data);
    value->users = 0;
    value->tensor.data = 0;
}

static void heddle_drop(const heddle_run* run, heddle_held* value) {
    heddle_list* list = value->list;
    if (list && --list->users == 0) {
        for (int64_t i = 0; i < list->count; i++) heddle_drop_tensor(run, &list->elements[i]);
        run->memory->release(run->memory->context, list);
    }
    value->list = 0;
    heddle_drop_tensor(run, value);
}

static void heddle_set_type(heddle_held* value, const heddle_type* type, const int64_t* sizes) {
    const DLTensor plain = {0, {kDLCPU, 0}, type->rank, {type->code, type->bits, 1}, value->shape, 0, 0};
    value->tensor = plain;
    for (int32_t d = 0; sizes && d < type->rank; d++) value->shape[d] = sizes[d];
}

/* Memory of so many bytes for the value, which has none, and of which this is the only user. */
static int32_t heddle_take(const heddle_run* run, heddle_held* value, int64_t bytes) {
    const int64_t room = heddle_round_up(bytes);
    value->tensor.data = run->memory->allocate(run->memory->context, (size_t)room + 64);
    if (!value->tensor.data) return heddle_fails(run, HEDDLE_NO_MEMORY, "there is no memory for a tensor", "");
    value->users = (int64_t*)(void*)((unsigned char*)value->tensor.data + room);
    value->room = room;
    *value->users = 1;
    return 0;
}

static int32_t heddle_make(const heddle_run* run, heddle_held* value) {
    const int64_t bytes = heddle_bytes(&value->tensor);
    if (bytes < 0) return heddle_fails(run, HEDDLE_BAD_SIZE, "a tensor has more elements than there can be", "");
    return heddle_take(run, value, bytes);
}

/* The same tensor, or the same list. */
static void heddle_share(const heddle_run* run, heddle_held* to, const heddle_held* from) {
    if (to == from) return;
    if (from->users) ++*from->users;
    if (from->list) from->list->users++;
    heddle_drop(run, to);
    *to = *from;
    for (int32_t d = 0; d < from->tensor.ndim; d++) to->shape[d] = from->tensor.shape[d];
    to->tensor.shape = to->shape;
}

/* Where the value is one number. */
static int heddle_is_one(const heddle_held* value) {
    for (int32_t d = 0; d < value->tensor.ndim; d++) {
        if (value->tensor.shape[d] != 1) return 0;
    }
    return value->tensor.data != 0;
}

static int64_t heddle_number(const heddle_held* value, int64_t element) {
    const unsigned char* data = heddle_data(&value->tensor) + element * (value->tensor.dtype.bits / 8);
    const int is_unsigned = value->tensor.dtype.code != kDLInt;
    switch (value->tensor.dtype.bits) {
    case 8: return is_unsigned ? (int64_t)*data : (int64_t)*(const int8_t*)data;
    case 16: return is_unsigned ? (int64_t)*(const uint16_t*)data : (int64_t)*(const int16_t*)data;
    case 32: return is_unsigned ? (int64_t)*(const uint32_t*)data : (int64_t)*(const int32_t*)data;
    default: return *(const int64_t*)data;
    }
}

/* One number of 64 bits, or a truth value. */
static int32_t heddle_set_number(const heddle_run* run, heddle_held* value, const heddle_type* type, int64_t number) {
    int32_t status;
    heddle_drop(run, value);
    heddle_set_type(value, type, 0);
    if ((status = heddle_take(run, value, 8))) return status;
    if (type->bits == 8)
        *(unsigned char*)value->tensor.data = number != 0;
    else
        *(int64_t*)value->tensor.data = number;
    return 0;
}

/* ---- parts */

static int32_t heddle_run_form(heddle_run* run, heddle_call* call, const heddle_form* form, int64_t workspace) {
    const heddle_steps* program = run->program;
    const heddle_program* part = program->parts[form->part];
    DLTensor* outputs[HEDDLE_ARGUMENTS];
    int32_t status;
    for (int32_t o = 0; o < form->output_count; o++) {
        heddle_held* value = &run->values[program->lists[form->outputs + o]];
        heddle_drop(run, value);
        heddle_set_type(value, &program->types[form->types + o], 0);
        if ((status = heddle_program_output_shape(part, call, o, value->shape)) < 0) return status;
        if ((status = heddle_make(run, value))) return status;
        outputs[o] = &value->tensor;
    }
    if (workspace > run->workspace_bytes) {
        if (run->workspace) run->memory->release(run->memory->context, run->workspace);
        run->workspace_bytes = 0;
        run->ready_part = -1;
        run->workspace = run->memory->allocate(run->memory->context, (size_t)workspace);
        if (!run->workspace) return heddle_fails(run, HEDDLE_NO_MEMORY, "there is no memory for a part's run", "");
        run->workspace_bytes = workspace;
    }
    call->outputs = outputs;
    call->workspace = run->workspace;
    call->workspace_bytes = (size_t)run->workspace_bytes;
    call->ready = run->ready_part == form->part ? run->ready : 0;
    status = heddle_program_run(part, call);
    run->ready_part = form->part;
    run->ready = call->ready;
    return status;
}

static int32_t heddle_run_step(heddle_run* run, const heddle_row* step, int32_t* next) {
    const heddle_steps* program = run->program;
    const DLTensor* inputs[HEDDLE_ARGUMENTS];
    DLTensor sizes[HEDDLE_SIZES];
    int64_t numbers[HEDDLE_SIZES];
    heddle_call call = *run->call;
    const unsigned char* weights = (const unsigned char*)run->call->weights;
    int64_t bytes = heddle_fails(run, HEDDLE_BAD_SIZE,
                                 "sizes that data decide are none that the program is for, before ", step->name);
    int32_t status, open = -1;
    for (int32_t i = 0; i < step->count; i++) inputs[i] = &run->values[program->lists[step->list + i]].tensor;
    for (int32_t s = 0; s < step->second; s++) {
        const int32_t* from = &program->lists[step->first + 2 * s];
        const DLTensor size = {numbers,     {kDLCPU, 0}, 1, {kDLUInt, 8, 1},
                               &numbers[s], 0,           0}; /* data that nobody reads */
        numbers[s] = heddle_number(&run->values[from[0]], from[1]);
        if (numbers[s] < -1 || (numbers[s] == -1 && open >= 0)) return HEDDLE_BAD_SIZE;
        if (numbers[s] == -1) open = s;
        sizes[s] = size;
    }
    for (int32_t s = 0, i = step->count; s < step->second; s++) {
        if (s != open) inputs[i++] = &sizes[s];
    }
    call.inputs = inputs;
    call.outputs = 0;
    for (const heddle_form* form = &program->forms[step->body]; form < &program->forms[step->body + step->stacked];
         form++) {
        if (form->open != open) continue;
        call.weights = weights ? weights + program->weights[form->part] : 0;
        bytes = heddle_program_workspace_bytes(program->parts[form->part], &call);
        if (bytes == HEDDLE_BAD_SIZE) continue;
        if (bytes < 0) break;
        if ((status = heddle_run_form(run, &call, form, bytes))) return status;
        for (int32_t d = 0; d < form->drop_count; d++) heddle_drop(run, &run->values[program->lists[form->drops + d]]);
        *next = form->next;
        return 0;
    }
    return (int32_t)bytes;
}

/* ---- parts of tensors */

/* Rows of these bytes, which lie so far apart. */
static void heddle_copy_rows(unsigned char* to, int64_t to_step, const unsigned char* from, int64_t from_step,
                             int64_t rows, int64_t bytes) {
    for (int64_t r = 0; r < rows; r++) heddle_copy(to + r * to_step, from + r * from_step, bytes);
}

/* Bytes of what lies behind a dimension. */
static int64_t heddle_bytes_behind(const DLTensor* tensor, int32_t axis) {
    int64_t bytes = (tensor->dtype.bits + 7) / 8;
    for (int32_t d = axis + 1; d < tensor->ndim; d++) bytes *= tensor->shape[d];
    return bytes;
}

static int64_t heddle_rows_before(const DLTensor* tensor, int32_t axis) {
    int64_t rows = 1;
    for (int32_t d = 0; d < axis; d++) rows *= tensor->shape[d];
    return rows;
}

/* Of `whole` a part of a dimension, which the part has not where that is dropped. */
static int32_t heddle_copy_part(const heddle_run* run, heddle_held* part, const heddle_held* whole, int32_t axis,
                                int64_t begin, int64_t length, int drops) {
    const DLTensor* from = &whole->tensor;
    const heddle_type type = {from->dtype.code, from->dtype.bits, from->ndim - (drops ? 1 : 0), 0};
    int32_t status;
    heddle_drop(run, part);
    heddle_set_type(part, &type, 0);
    for (int32_t d = 0; d < type.rank; d++) part->shape[d] = from->shape[drops && d >= axis ? d + 1 : d];
    if (!drops) part->shape[axis] = length;
    if ((status = heddle_make(run, part)) || heddle_bytes(&part->tensor) == 0) return status;
    const int64_t bytes = heddle_bytes_behind(from, axis);
    heddle_copy_rows((unsigned char*)part->tensor.data, length * bytes, heddle_data(from) + begin * bytes,
                     from->shape[axis] * bytes, heddle_rows_before(from, axis), length * bytes);
    return 0;
}

/* ---- lists */

/* A list of its own with room for so many elements more, of what the value holds: nothing, or a list. */
static int32_t heddle_make_room(const heddle_run* run, heddle_held* value, int64_t more) {
    heddle_list* list = value->list;
    const int64_t count = list ? list->count : 0, most = INT64_C(1) << 40;
    if (list && list->users == 1 && count + more <= list->room) return 0;
    const int64_t room = more == 1 && count > 0 ? 2 * count + 1 : count + more;
    heddle_held made;
    heddle_empty(&made);
    if (more <= most && count <= most)
        made.list = (heddle_list*)run->memory->allocate(run->memory->context,
                                                        sizeof(heddle_list) + sizeof(heddle_held) * (size_t)room);
    if (!made.list) return heddle_fails(run, HEDDLE_NO_MEMORY, "there is no memory for a list", "");
    made.list->users = 1;
    made.list->count = count;
    made.list->room = room;
    for (int64_t i = 0; i < count; i++) {
        heddle_empty(&made.list->elements[i]);
        heddle_share(run, &made.list->elements[i], &list->elements[i]);
    }
    heddle_drop(run, value);
    *value = made;
    return 0;
}

/* One element to another place; there it takes the place of nothing. */
static void heddle_move(heddle_held* to, heddle_held* from) {
    *to = *from;
    if (from->tensor.shape == from->shape) to->tensor.shape = to->shape;
    heddle_empty(from);
}

static int32_t heddle_put(const heddle_run* run, heddle_held* list, int64_t place, const heddle_held* element) {
    const int32_t status = heddle_make_room(run, list, 1);
    if (status) return status;
    heddle_held* elements = list->list->elements;
    heddle_empty(&elements[list->list->count]);
    for (int64_t i = list->list->count++; i > place; i--) heddle_move(&elements[i], &elements[i - 1]);
    heddle_share(run, &elements[place], element);
    return 0;
}

static int32_t heddle_take_out(const heddle_run* run, heddle_held* list, int64_t place) {
    const int32_t status = heddle_make_room(run, list, 0);
    if (status) return status;
    heddle_held* elements = list->list->elements;
    heddle_drop(run, &elements[place]);
    list->list->count--;
    for (int64_t i = place; i < list->list->count; i++) heddle_move(&elements[i], &elements[i + 1]);
    return 0;
}

/* A place among `length`, from the end where it is below 0; `otherwise` without a number. Below 0: a status. */
static int64_t heddle_place(const heddle_run* run, const heddle_held* number, int64_t length, int64_t otherwise,
                            const char* name) {
    if (number && !heddle_is_one(number))
        return heddle_fails(run, HEDDLE_BAD_SIZE, "a place in a list is one integer: ", name);
    int64_t place = number ? heddle_number(number, 0) : otherwise;
    if (number && place < 0) place += length;
    if (place < 0 || place >= length)
        return heddle_fails(run, HEDDLE_BAD_INDEX, "a place is not in the list: ", name);
    return place;
}

/* How long a part may be that is to be so long, or one of parts of one length; below 0: it may not. */
static int64_t heddle_part_length(int64_t length, int is_one_of_list, int64_t left) {
    if (is_one_of_list) return length <= left ? length : -1;
    return length < 1 ? -1 : length < left ? length : left;
}

static int32_t heddle_run_split(const heddle_run* run, const heddle_row* step, heddle_held* result,
                                const heddle_held* whole, const heddle_held* lengths) {
    const int64_t extent = whole->tensor.shape[step->first];
    const int is_list = lengths && lengths->tensor.ndim == 1;
    const int64_t parts = is_list ? lengths->tensor.shape[0] : 0;
    int64_t begin = 0;
    int32_t status;
    heddle_drop(run, result);
    if ((status = heddle_make_room(run, result, is_list ? parts : lengths ? 0 : extent))) return status;
    for (int64_t i = 0; is_list ? i < parts : begin < extent; i++) {
        const int64_t wanted = lengths ? heddle_number(lengths, is_list ? i : 0) : 1;
        const int64_t length = heddle_part_length(wanted, is_list, extent - begin);
        heddle_held part;
        if (length < 0)
            return heddle_fails(run, HEDDLE_BAD_SIZE, "a part has a length that it cannot have: ", step->name);
        heddle_empty(&part);
        status = heddle_copy_part(run, &part, whole, step->first, begin, length, step->second);
        if (!status) status = heddle_put(run, result, i, &part);
        heddle_drop(run, &part);
        if (status) return status;
        begin += length;
    }
    if (begin == extent) return 0;
    return heddle_fails(run, HEDDLE_BAD_SIZE, "the lengths of parts do not sum to the dimension: ", step->name);
}

static int32_t heddle_run_concatenate(const heddle_run* run, const heddle_row* step, heddle_held* result,
                                      const heddle_list* list) {
    const int32_t axis = step->first, is_new = step->second;
    int32_t status;
    if (list->count == 0)
        return heddle_fails(run, HEDDLE_BAD_SIZE, "tensors of an empty list are joined: ", step->name);
    const DLTensor* first = &list->elements[0].tensor;
    const heddle_type type = {first->dtype.code, first->dtype.bits, first->ndim + is_new, 0};
    heddle_drop(run, result);
    heddle_set_type(result, &type, 0);
    for (int32_t d = 0; d < type.rank; d++) {
        if (d != axis) result->shape[d] = first->shape[is_new && d > axis ? d - 1 : d];
    }
    result->shape[axis] = 0;
    for (int64_t i = 0; i < list->count; i++) {
        const DLTensor* part = &list->elements[i].tensor;
        int fits = part->ndim == first->ndim;
        for (int32_t d = 0; fits && d < part->ndim; d++)
            fits = part->shape[d] == first->shape[d] || (!is_new && d == axis);
        if (!fits || __builtin_add_overflow(result->shape[axis], is_new ? 1 : part->shape[axis], &result->shape[axis]))
            return heddle_fails(run, HEDDLE_BAD_SIZE, "elements of the list do not fit together: ", step->name);
    }
    if ((status = heddle_make(run, result)) || heddle_bytes(&result->tensor) == 0) return status;
    const int64_t rows = heddle_rows_before(&result->tensor, axis);
    const int64_t row = heddle_bytes_behind(&result->tensor, axis - 1);
    unsigned char* to = (unsigned char*)result->tensor.data;
    for (int64_t i = 0; i < list->count; i++) {
        const DLTensor* part = &list->elements[i].tensor;
        const int64_t bytes = heddle_bytes_behind(part, axis - 1);
        heddle_copy_rows(to, row, heddle_data(part), bytes, rows, bytes);
        to += bytes;
    }
    return 0;
}

/* The list of `from` as the result's own: the same memory, where nobody reads `from` any more. */
static void heddle_begin_list(const heddle_run* run, const heddle_row* step, heddle_held* result, heddle_held* from) {
    const int32_t* drops = run->program->lists + step->list + step->count;
    heddle_share(run, result, from);
    for (int32_t d = 0; d < step->drops; d++) {
        if (&run->values[drops[d]] == from) heddle_drop(run, from);
    }
}

static int32_t heddle_run_insert(const heddle_run* run, const heddle_row* step, heddle_held* result, heddle_held* from,
                                 const heddle_held* element, const heddle_held* number) {
    const int64_t length = from->list->count;
    const int is_behind = !number || (heddle_is_one(number) && heddle_number(number, 0) == length);
    const int64_t place = is_behind ? length : heddle_place(run, number, length, -1, step->name);
    if (place < 0) return (int32_t)place;
    heddle_begin_list(run, step, result, from);
    return heddle_put(run, result, place, element);
}

static int32_t heddle_run_erase(const heddle_run* run, const heddle_row* step, heddle_held* result, heddle_held* from,
                                const heddle_held* number) {
    const int64_t length = from->list->count;
    const int64_t place = heddle_place(run, number, length, length - 1, step->name);
    if (place < 0) return (int32_t)place;
    heddle_begin_list(run, step, result, from);
    return heddle_take_out(run, result, place);
}

static int32_t heddle_run_element(const heddle_run* run, const heddle_row* step, heddle_held* result,
                                  const heddle_held* from, const heddle_held* number) {
    if (!from || !from->list)
        return heddle_fails(run, HEDDLE_BAD_INDEX, "an optional value has no element: ", step->name);
    const int64_t place = heddle_place(run, number, from->list->count, -1, step->name);
    if (place < 0) return (int32_t)place;
    heddle_share(run, result, &from->list->elements[place]);
    return 0;
}

static int32_t heddle_run_list(const heddle_run* run, const heddle_row* step) {
    const heddle_type counted = {kDLInt, 64, 0, 0}, truth = {kDLBool, 8, 0, 0};
    const int32_t *inputs = run->program->lists + step->list, *drops = inputs + step->count;
    heddle_held *result = &run->values[step->body], *given[3] = {0, 0, 0};
    int32_t status = 0;
    for (int32_t i = 0; i < step->count && i < 3; i++) given[i] = inputs[i] < 0 ? 0 : &run->values[inputs[i]];
    switch (step->kind) {
    case heddle_same:
        if (given[0])
            heddle_share(run, result, given[0]);
        else
            heddle_drop(run, result);
        break;
    case heddle_is_there:
        status = heddle_set_number(run, result, &truth, given[0] && heddle_is_given(given[0]));
        break;
    case heddle_make_list:
        heddle_drop(run, result);
        status = heddle_make_room(run, result, step->count);
        for (int32_t i = 0; i < step->count && !status; i++)
            status = heddle_put(run, result, i, &run->values[inputs[i]]);
        break;
    case heddle_length: status = heddle_set_number(run, result, &counted, given[0]->list->count); break;
    case heddle_element: status = heddle_run_element(run, step, result, given[0], given[1]); break;
    case heddle_insert: status = heddle_run_insert(run, step, result, given[0], given[1], given[2]); break;
    case heddle_erase: status = heddle_run_erase(run, step, result, given[0], given[1]); break;
    case heddle_split: status = heddle_run_split(run, step, result, given[0], given[1]); break;
    default: status = heddle_run_concatenate(run, step, result, given[0]->list); break;
    }
    for (int32_t d = 0; d < step->drops && !status; d++) heddle_drop(run, &run->values[drops[d]]);
    return status;
}

/* ---- loops */

/* One more part of what is stacked along the first dimension. */
static int32_t heddle_stack(const heddle_run* run, heddle_held* stack, const heddle_held* part, int64_t trip) {
    const int64_t bytes = heddle_bytes(&part->tensor);
    int64_t before;
    int32_t status;
    if (trip == 0) {
        heddle_drop(run, stack);
        stack->tensor = part->tensor;
        stack->tensor.data = 0;
        stack->tensor.byte_offset = 0;
        stack->tensor.strides = 0;
        stack->tensor.shape = stack->shape;
        stack->tensor.ndim = part->tensor.ndim + 1;
        for (int32_t d = 0; d < part->tensor.ndim; d++) stack->shape[d + 1] = part->tensor.shape[d];
    }
    int fits = stack->tensor.ndim == part->tensor.ndim + 1;
    for (int32_t d = 0; fits && d < part->tensor.ndim; d++) fits = stack->shape[d + 1] == part->tensor.shape[d];
    if (!fits)
        return heddle_fails(run, HEDDLE_BAD_SIZE, "iterations give results of different shapes for what is stacked",
                            "");
    stack->shape[0] = trip;
    before = heddle_bytes(&stack->tensor);
    stack->shape[0] = trip + 1;
    if (heddle_bytes(&stack->tensor) < 0)
        return heddle_fails(run, HEDDLE_BAD_SIZE, "a tensor has more elements than there can be", "");
    if (!stack->users || before + bytes > stack->room) {
        heddle_held more = *stack;
        more.users = 0;
        if ((status = heddle_take(run, &more, trip == 0 ? bytes : 2 * (before + bytes)))) return status;
        if (stack->users)
            heddle_copy((unsigned char*)more.tensor.data, (const unsigned char*)stack->tensor.data, before);
        heddle_drop(run, stack);
        stack->tensor.data = more.tensor.data;
        stack->users = more.users;
        stack->room = more.room;
    }
    heddle_copy((unsigned char*)stack->tensor.data + before, heddle_data(&part->tensor), bytes);
    return 0;
}

/* What is stacked lies along the first dimension, and is to lie along this one. */
static int32_t heddle_turn_stack(const heddle_run* run, heddle_held* stack, int32_t axis, int reversed) {
    const int64_t trips = stack->tensor.shape[0];
    heddle_held turned = *stack;
    int32_t status;
    if (axis == 0 && !reversed) return 0;
    turned.tensor.shape = turned.shape;
    for (int32_t d = 0; d < axis; d++) turned.shape[d] = stack->shape[d + 1];
    turned.shape[axis] = trips;
    if ((status = heddle_make(run, &turned))) return status;
    const int64_t bytes = heddle_bytes_behind(&turned.tensor, axis), rows = heddle_rows_before(&turned.tensor, axis);
    for (int64_t trip = 0; trip < trips; trip++) {
        const int64_t place = reversed ? trips - 1 - trip : trip;
        heddle_copy_rows((unsigned char*)turned.tensor.data + place * bytes, trips * bytes,
                         (const unsigned char*)stack->tensor.data + trip * rows * bytes, bytes, rows, bytes);
    }
    heddle_drop(run, stack);
    *stack = turned;
    stack->tensor.shape = stack->shape;
    return 0;
}

static int32_t heddle_walk(heddle_run* run, int32_t at);

/* Its lists, one behind the other. */
static int32_t heddle_run_loop(heddle_run* run, const heddle_row* step) {
    const heddle_steps* program = run->program;
    const heddle_type counted = {kDLInt, 64, 0, 0}, truth = {kDLBool, 8, 0, 0};
    const int32_t carried = step->count, scanned = step->scanned, stacked = step->stacked;
    const int32_t *begin = program->lists + step->list, *whole = begin + carried, *inputs = whole + scanned;
    const int32_t *outputs = inputs + 2 + carried + scanned, *results = outputs + 1 + carried + stacked;
    const int32_t *drops = results + carried + stacked, *ways = drops + step->drops;
    heddle_held* values = run->values;
    int32_t status = 0;
    int64_t trips = INT64_MAX, trip = 0;
    int goes_on = 1;
    if (step->first >= 0 && !heddle_is_one(&values[step->first]))
        return heddle_fails(run, HEDDLE_BAD_ARGUMENT, "a trip count is one integer: ", step->name);
    if (step->second >= 0 && !heddle_is_one(&values[step->second]))
        return heddle_fails(run, HEDDLE_BAD_ARGUMENT, "a condition is one truth value: ", step->name);
    if (step->first >= 0) trips = heddle_number(&values[step->first], 0);
    if (step->second >= 0) goes_on = heddle_number(&values[step->second], 0) != 0;
    for (int32_t i = 0; i < scanned; i++) {
        const int64_t length = ways[2 * i] < 0 ? values[whole[i]].list->count : values[whole[i]].tensor.shape[ways[2 * i]];
        if (i > 0 && length != trips)
            return heddle_fails(run, HEDDLE_BAD_SIZE, "what is scanned has different lengths: ", step->name);
        trips = length;
    }
    for (int32_t i = 0; i < carried; i++) heddle_share(run, &values[results[i]], &values[begin[i]]);
    for (int32_t i = carried; i < carried + stacked; i++) {
        const heddle_type* type = &program->types[step->types + i - carried];
        const int is_list = ways[2 * (scanned + i - carried)] < 0;
        heddle_drop(run, &values[results[i]]);
        if (!is_list) heddle_set_type(&values[results[i]], type, program->sizes + type->sizes);
        status = is_list ? heddle_make_room(run, &values[results[i]], 0) : heddle_make(run, &values[results[i]]);
        if (status) return status;
    }
    for (; goes_on && trip < trips && !status; trip++) {
        if (run->memory->stops && run->memory->stops(run->memory->context))
            return heddle_fails(run, HEDDLE_STOPPED, "the run was stopped in ", step->name);
        if ((status = heddle_set_number(run, &values[inputs[0]], &counted, trip))) return status;
        if ((status = heddle_set_number(run, &values[inputs[1]], &truth, 1))) return status;
        for (int32_t i = 0; i < carried; i++) {
            heddle_share(run, &values[inputs[2 + i]], &values[results[i]]);
            heddle_drop(run, &values[results[i]]);
        }
        for (int32_t i = 0; i < scanned; i++) {
            const int64_t place = ways[2 * i + 1] ? trips - 1 - trip : trip;
            heddle_held *part = &values[inputs[2 + carried + i]], *from = &values[whole[i]];
            if (ways[2 * i] < 0)
                heddle_share(run, part, &from->list->elements[trip]);
            else if ((status = heddle_copy_part(run, part, from, ways[2 * i], place, 1, 1)))
                return status;
        }
        if ((status = heddle_walk(run, step->body))) return status;
        if (!heddle_is_one(&values[outputs[0]]))
            return heddle_fails(run, HEDDLE_BAD_SIZE, "a condition is one truth value: ", step->name);
        goes_on = heddle_number(&values[outputs[0]], 0) != 0;
        for (int32_t i = 0; i < carried; i++) heddle_share(run, &values[results[i]], &values[outputs[1 + i]]);
        for (int32_t i = carried; i < carried + stacked && !status; i++)
            status = ways[2 * (scanned + i - carried)] < 0
                         ? heddle_put(run, &values[results[i]], trip, &values[outputs[1 + i]])
                         : heddle_stack(run, &values[results[i]], &values[outputs[1 + i]], trip);
        for (int32_t d = 0; d < step->drops; d++) heddle_drop(run, &values[drops[d]]);
    }
    for (int32_t i = 0; i < stacked && !status && trip > 0; i++) {
        const int32_t* way = &ways[2 * (scanned + i)];
        if (way[0] >= 0) status = heddle_turn_stack(run, &values[results[carried + i]], way[0], way[1]);
    }
    return status;
}

/* ---- the program */

static int32_t heddle_walk(heddle_run* run, int32_t at) {
    while (at >= 0) {
        const heddle_row* step = &run->program->steps[at];
        int32_t status = 0;
        at = step->next;
        if (step->kind == heddle_run_part) {
            status = heddle_run_step(run, step, &at);
        } else if (step->kind == heddle_loop) {
            status = heddle_run_loop(run, step);
        } else if (step->kind == heddle_presence) {
            if (!heddle_is_given(&run->values[step->first])) at = step->second;
        } else if (step->kind != heddle_branch) {
            status = heddle_run_list(run, step);
        } else {
            if (!heddle_is_one(&run->values[step->first]))
                return heddle_fails(run, HEDDLE_BAD_SIZE, "a condition is one truth value: ", step->name);
            if (!heddle_number(&run->values[step->first], 0)) at = step->second;
        }
        if (status) return status;
    }
    return 0;
}

static int32_t heddle_take_tensor(const heddle_run* run, const heddle_argument* argument, const DLTensor* tensor,
                                  heddle_held* value) {
    int32_t status = heddle_check_tensor(run->call, "input ", argument, tensor);
    if (!status && heddle_bytes(tensor) < 0)
        status = heddle_fails(run, HEDDLE_BAD_SIZE, "an input has more elements than there can be: ", argument->name);
    if (!status) status = heddle_check_layout(run->call, "input ", argument, tensor);
    if (status) return status;
    value->tensor = *tensor;
    value->tensor.strides = 0;
    if (!tensor->data) value->tensor.data = run->values; /* of no bytes */
    return 0;
}

/* Of a list each element. */
static int32_t heddle_take_list(const heddle_run* run, const heddle_argument* argument, const DLTensor* list,
                                heddle_held* value) {
    const heddle_argument handles = {argument->name, 1, kDLOpaqueHandle, 8 * sizeof(void*), 0, 0, 0};
    int32_t status = heddle_check_tensor(run->call, "input ", &handles, list);
    if (!status && list->shape[0] < 0)
        status = heddle_fails(run, HEDDLE_BAD_SIZE, "a list has a length below 0: ", argument->name);
    if (!status) status = heddle_check_layout(run->call, "input ", &handles, list);
    if (!status) status = heddle_make_room(run, value, list->shape[0]);
    for (int64_t i = 0; !status && i < list->shape[0]; i++) {
        const DLTensor* const* elements = (const DLTensor* const*)(const void*)heddle_data(list);
        heddle_held element;
        heddle_empty(&element);
        status = heddle_take_tensor(run, argument, elements[i], &element);
        if (!status) status = heddle_put(run, value, i, &element);
    }
    return status;
}

static int32_t heddle_take_input(const heddle_run* run, int32_t i) {
    const heddle_argument* argument = &run->program->inputs[i];
    const heddle_holder kind = run->program->input_kinds[i];
    const DLTensor* tensor = run->call->inputs ? run->call->inputs[i] : 0;
    if (!tensor && kind.may_be_absent) return 0;
    return kind.is_list ? heddle_take_list(run, argument, tensor, &run->values[i])
                        : heddle_take_tensor(run, argument, tensor, &run->values[i]);
}

/* To the caller: the memory itself, where nobody else uses it. */
static int32_t heddle_give_tensor(const heddle_run* run, heddle_held* value, int is_wanted_again, DLTensor* output) {
    heddle_held copy = *value;
    int32_t status;
    copy.users = 0;
    copy.tensor.shape = output->shape;
    copy.tensor.byte_offset = 0;
    for (int32_t d = 0; d < value->tensor.ndim; d++) output->shape[d] = value->tensor.shape[d];
    if (value->users && *value->users == 1 && !is_wanted_again) {
        value->users = 0;
        value->tensor.data = 0;
    } else {
        if ((status = heddle_make(run, &copy))) return status;
        heddle_copy((unsigned char*)copy.tensor.data, heddle_data(&value->tensor), heddle_bytes(&value->tensor));
    }
    *output = copy.tensor;
    return 0;
}

static void heddle_take_back(const heddle_run* run, DLTensor* output) {
    DLTensor* const* elements = (DLTensor* const*)output->data;
    for (int64_t i = 0; output->dtype.code == kDLOpaqueHandle && i < output->shape[0]; i++)
        run->memory->release(run->memory->context, elements[i]->data);
    if (output->data) run->memory->release(run->memory->context, output->data);
    output->data = 0;
}

/* In one memory: where the elements are, then their descriptions. */
static int32_t heddle_give_list(const heddle_run* run, heddle_list* list, int is_wanted_again, DLTensor* output) {
    const DLTensor handles = {0, {kDLCPU, 0}, 1, {kDLOpaqueHandle, 8 * sizeof(void*), 1}, output->shape, 0, 0};
    const int64_t places = heddle_round_up(list->count * (int64_t)sizeof(DLTensor*));
    const size_t each = sizeof(DLTensor) + HEDDLE_RANKS * sizeof(int64_t);
    unsigned char* memory = (unsigned char*)run->memory->allocate(run->memory->context,
                                                                  (size_t)places + each * (size_t)list->count + 64);
    DLTensor** elements = (DLTensor**)(void*)memory;
    DLTensor* tensors = (DLTensor*)(void*)(memory + places);
    int64_t* shapes = (int64_t*)(void*)(tensors + list->count);
    int32_t status = 0;
    if (!memory) return heddle_fails(run, HEDDLE_NO_MEMORY, "there is no memory for a list", "");
    *output = handles;
    output->data = memory;
    for (output->shape[0] = 0; output->shape[0] < list->count; output->shape[0]++) {
        DLTensor* element = &tensors[output->shape[0]];
        elements[output->shape[0]] = element;
        element->shape = &shapes[output->shape[0] * HEDDLE_RANKS];
        status = heddle_give_tensor(run, &list->elements[output->shape[0]], is_wanted_again || list->users > 1, element);
        if (status) break;
    }
    if (status) heddle_take_back(run, output);
    return status;
}

static int32_t heddle_give(const heddle_run* run, int32_t place, int is_wanted_again, DLTensor* output) {
    heddle_held* value = &run->values[place];
    if (value->list) return heddle_give_list(run, value->list, is_wanted_again, output);
    if (value->tensor.data) return heddle_give_tensor(run, value, is_wanted_again, output);
    const DLTensor nothing = {0, {kDLCPU, 0}, 0, {0, 0, 0}, output->shape, 0, 0};
    *output = nothing;
    return 0;
}

static int32_t heddle_give_all(const heddle_run* run) {
    const int32_t* places = run->program->outputs;
    const int32_t count = run->program->output_count;
    DLTensor* const* outputs = run->call->outputs;
    int32_t status = 0, given = 0;
    for (; given < count && !status; given++) {
        int again = 0;
        for (int32_t o = given + 1; o < count; o++) again = again || places[o] == places[given];
        status = heddle_give(run, places[given], again, outputs[given]);
    }
    for (int32_t o = 0; status && o < given - 1; o++) heddle_take_back(run, outputs[o]);
    return status;
}

static int32_t heddle_run_values(heddle_run* run) {
    const heddle_steps* program = run->program;
    int32_t status = 0;
    for (int32_t v = 0; v < program->value_count; v++) heddle_empty(&run->values[v]);
    for (int32_t i = 0; i < program->input_count && !status; i++) status = heddle_take_input(run, i);
    for (int32_t c = 0; c < program->constant_count; c++) {
        const heddle_constant* constant = &program->constants[c];
        heddle_set_type(&run->values[constant->value], &constant->type, program->sizes + constant->type.sizes);
        run->values[constant->value].tensor.data = (void*)(uintptr_t)constant->data;
    }
    if (!status) status = heddle_walk(run, program->first);
    if (!status) status = heddle_give_all(run);
    for (int32_t v = 0; v < program->value_count; v++) heddle_drop(run, &run->values[v]);
    if (run->workspace) run->memory->release(run->memory->context, run->workspace);
    return status;
}

static int32_t heddle_steps_run(const heddle_steps* program, heddle_call* call, const heddle_memory* memory) {
    heddle_run run = {program, memory, call, 0, 0, 0, 0, -1};
    if (!memory || !memory->allocate || !memory->release)
        return heddle_fails(&run, HEDDLE_BAD_ARGUMENT, "there is nothing to ask for memory", "");
    for (int32_t o = 0; o < program->output_count; o++) {
        if (!call->outputs || !call->outputs[o] || !call->outputs[o]->shape)
            return heddle_fails(&run, HEDDLE_BAD_ARGUMENT, "an output has no room for its shape", "");
    }
    run.values =
        (heddle_held*)memory->allocate(memory->context, sizeof(heddle_held) * (size_t)program->value_count + 64);
    if (!run.values) return heddle_fails(&run, HEDDLE_NO_MEMORY, "there is no memory for the run", "");
    const int32_t status = heddle_run_values(&run);
    memory->release(memory->context, run.values);
    return status;
}
