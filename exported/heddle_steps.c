/* Follows the tables of a program in steps: parts, branches and loops (heddle_values.c says what rows are). */

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
