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
