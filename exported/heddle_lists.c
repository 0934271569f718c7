/* Lists of tensors and optional values of a program in steps (heddle_steps.c), and the steps on them. */

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
