// Runs an exported model on WebGPU. In a page: const model = await load("folder"); const outputs = await model.run({x: data}).
// Elsewhere, `gpu` is the implementation's, and `read` gives a file's bytes.

async function fetched(path) {
    const response = await fetch(path);
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
}

export const arrays = {
    bool: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array,
    uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, float32: Float32Array, float16: Uint16Array,
    bfloat16: Uint16Array,
};

const elements = (shape) => shape.reduce((product, extent) => product * extent, 1);
const words = (bytes) => Math.ceil(bytes / 4) * 4;

const operations = {
    "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => Math.floor(a / b),
    "%": (a, b) => a - Math.floor(a / b) * b, min: Math.min, max: Math.max,
};
const relations = { "==": (a) => a === 0, "!=": (a) => a !== 0, ">=": (a) => a >= 0 };

// The numbers of a plan: a text is a place, of a size or of what a step comes to; each is worked out when it is asked for.
function numbersAt(sizes, { steps }) {
    const values = [...sizes];
    return function at(number) {
        if (typeof number !== "string") return number;
        const step = (number - sizes.length) * 3;
        values[number] ??= operations[steps[step]](at(steps[step + 1]), at(steps[step + 2]));
        if (!Number.isSafeInteger(values[number])) throw new Error(`sizes of ${sizes} are larger than there can be`);
        return values[number];
    };
}

// Of each input its elements, and of each open dimension its size.
function taken({ inputs, dimensions }, given) {
    const sizes = [];
    const data = inputs.map(({ name, dtype, shape }) => {
        const array = given[name]?.data ?? given[name], found = given[name]?.shape ?? shape;
        if (array instanceof arrays[dtype] && found !== shape && found.length === shape.length) {
            dimensions.forEach(({ name: dimension, from, to, step }, d) => shape.forEach((size, axis) => {
                if (size !== dimension) return;
                const is = found[axis];
                if (!Number.isInteger(is) || is < from || is > to || (is - from) % step || is !== (sizes[d] ?? is))
                    throw new Error(`by input ${name}, ${size} is ${is}, and is to be ` +
                        `${sizes[d] ?? `from ${from} to ${to}${step > 1 ? ` in steps of ${step}` : ""}`}`);
                sizes[d] = is;
            }));
        }
        if (!(array instanceof arrays[dtype]) || found.length !== shape.length || array.length !== elements(found) ||
            shape.some((size, axis) => typeof size === "number" && size !== found[axis]))
            throw new Error(`input ${name} is to be ${dtype}[${shape}], as ${arrays[dtype].name}` +
                (shape.some(isNaN) ? ", {data, shape}" : ""));
        return array;
    });
    return { data, sizes };
}

async function deviceFor(gpu, { limits, dimensions }) {
    const adapter = await gpu?.requestAdapter();
    if (!adapter) throw new Error("there is no WebGPU here");
    const requiredLimits = {};
    for (const [name, value] of Object.entries(limits)) {
        const most = adapter.limits[name];
        if (most < value) throw new Error(`the device's ${name} is ${most}, and ${value} is needed`);
        requiredLimits[name] = dimensions.length && /Buffer\w*Size$/.test(name) ? most : value;
    }
    return adapter.requestDevice({ requiredLimits });
}

export async function load(folder, gpu = globalThis.navigator?.gpu, read = fetched) {
    const file = (name) => read(`${folder}/${name}`);
    const text = async (name) => new TextDecoder().decode(await file(name));
    const model = JSON.parse(await text("model.json"));
    if (model.format !== "heddle-webgpu" || model.version !== 2) throw new Error("this is no model of this loader's version");
    const device = await deviceFor(gpu, model);
    let lost = null;
    device.lost?.then((reason) => { lost = reason.message; });
    const { STORAGE, UNIFORM, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const usage = STORAGE | COPY_SRC | COPY_DST;

    async function checked(make) {
        device.pushErrorScope("validation");
        device.pushErrorScope("out-of-memory");
        let made, problem;
        try { made = await make(); } catch (thrown) { problem = thrown; }
        for (let scope = 0; scope < 2; scope++) {
            const { message } = await device.popErrorScope() ?? {};
            if (message) problem ??= new Error(message);
        }
        if (problem) throw problem;
        return made;
    }

    const weights = model.weights ? await file(model.weights.file) : null;
    const kept = {};  // buffers of weights, by where they begin
    const kernels = await checked(() => {
        for (const { weight, bytes } of model.plans.flatMap(({ buffers }) => buffers)) {
            if (weight === undefined || kept[weight]) continue;
            kept[weight] = device.createBuffer({ size: words(Math.max(bytes, 16)), usage });
            device.queue.writeBuffer(kept[weight], 0, weights, weight, words(bytes));
        }
        return Promise.all(model.kernels.map(async (kernel) => {
            const module = device.createShaderModule({ label: kernel.file, code: await text(kernel.file) });
            const entries = ["uniform", ...kernel.bindings].map((access, binding) => ({
                binding, visibility: GPUShaderStage.COMPUTE,
                buffer: { type: { read: "read-only-storage", read_write: "storage" }[access] ?? access },
            }));
            const layout = device.createBindGroupLayout({ entries });
            const pipeline = await device.createComputePipelineAsync({
                layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }), compute: { module, entryPoint: "main" },
            });
            return { layout, pipeline, bytes: kernel.launch_words * 4, stride: Math.ceil(kernel.launch_words / 64) * 256 };
        }));
    });

    // Memory outlives the sizes it was made for: it is made anew where it must grow.
    let memory = [], back = [], launches = null, state = null;

    function ready(sizes) {
        const where = model.dimensions.map(({ name }, d) => `${name} = ${sizes[d]}`).join(", ");
        let at;
        const plan = model.plans.find(({ ranges, facts, steps }) => {
            at = numbersAt(sizes, { steps });
            return ranges.every(([least, most], d) => sizes[d] >= least && sizes[d] <= most) &&
                facts.every((fact, i) => i % 2 || relations[fact](at(facts[i + 1])));
        });
        if (!plan) throw new Error(`the model was not exported for ${where}`);
        const { maxBufferSize, maxStorageBufferBindingSize, maxComputeWorkgroupsPerDimension } = device.limits;
        const room = (buffer, bytes, usage, what) => {
            const size = words(Math.max(bytes, 16));
            if (buffer?.size >= size) return buffer;
            const most = usage & STORAGE ? Math.min(maxBufferSize, maxStorageBufferBindingSize) : maxBufferSize;
            if (size > most) throw new Error(`at ${where}, ${what} needs ${size} bytes, and the device has at most ${most}`);
            buffer?.destroy();
            return device.createBuffer({ size, usage });
        };
        const buffers = plan.buffers.map(({ bytes, weight, name }, i) =>
            kept[weight] ?? (memory[i] = room(memory[i], at(bytes), usage, name)));
        // What is read back: outputs, then the report of kernels.
        const wanted = plan.shapes.map((places, i) => {
            const shape = places.map(at), { name, dtype } = model.outputs[i];
            return { name, shape, array: arrays[dtype], buffer: buffers[plan.outputs[i]] };
        });
        if (plan.report >= 0) wanted.push({ shape: [8], array: Int32Array, buffer: buffers[plan.report] });
        wanted.forEach((one, i) => {
            one.bytes = words(elements(one.shape) * one.array.BYTES_PER_ELEMENT);
            back[i] = room(back[i], one.bytes, MAP_READ | COPY_DST, one.name);
        });
        let end = 0;
        const dispatches = plan.dispatches.flatMap((dispatch, number) => {
            const tasks = at(dispatch.tasks), y = Math.ceil(tasks / maxComputeWorkgroupsPerDimension);
            const { stride } = kernels[dispatch.kernel], rounds = tasks && at(dispatch.rounds), offset = end;
            end += rounds * stride;
            return { ...dispatch, number, tasks, rounds, offset, groups: [Math.ceil(tasks / y), y] };
        });
        launches = room(launches, end, UNIFORM | COPY_DST, "what is launched");
        const numbers = new Int32Array(end / 4);
        const runs = dispatches.flatMap(({ name, number, kernel, tasks, rounds, offset, groups, scratch, words, buffers: used }) => {
            const { layout, pipeline, bytes: size, stride } = kernels[kernel];
            return Array.from({ length: rounds }, (_, round) => {
                const begin = offset + round * stride;
                [round * tasks, (round + 1) * tasks, number, groups[0], 0, scratch, ...words].map(at).forEach((word, i) => {
                    if (word !== (word | 0)) throw new Error(`at ${where}, computing ${name} takes numbers of more than 32 bits`);
                    numbers[begin / 4 + i] = word;
                });
                const entries = [{ buffer: launches, offset: begin, size }, ...used.map((b) => ({ buffer: buffers[b] }))];
                const bound = device.createBindGroup({ layout, entries: entries.map((resource, binding) => ({ binding, resource })) });
                return { pipeline, bound, groups };
            });
        });
        if (end) device.queue.writeBuffer(launches, 0, numbers);
        return { sizes, plan, buffers, wanted, runs };
    }

    async function become(sizes) {
        state = null;
        try {
            state = await checked(() => ready(sizes));
        } catch (problem) {
            for (const buffer of [...memory, ...back, launches]) buffer?.destroy();
            [memory, back, launches] = [[], [], null];
            throw problem;
        }
    }

    function failure([, at, tag, value, bound]) {
        const { name, indexed } = state.plan.dispatches[at];
        if (tag < 0) return `computing ${name}, an integer of 64 bits was read that needs more than 31`;
        return `computing ${name}, the index ${value} lies outside of ${indexed[tag] ?? "a value"}, which has ${bound} places`;
    }

    async function runOnce(given) {
        if (lost !== null) throw new Error(`the device is lost: ${lost}`);
        const { data, sizes } = taken(model, given);
        if (!state || sizes.some((size, d) => size !== state.sizes[d])) await become(sizes);
        const { plan, buffers, wanted, runs } = state;
        model.inputs.forEach(({ name, fixed }, i) => {
            const { buffer, byteOffset, byteLength } = data[i], padded = new Uint8Array(words(byteLength));
            padded.set(new Uint8Array(buffer, byteOffset, byteLength));
            if (fixed && weights.subarray(fixed.offset, fixed.offset + fixed.bytes).some((byte, k) => byte !== padded[k]))
                throw new Error(`input ${name} has another value than the model was exported for`);
            if (plan.inputs[i] >= 0 && byteLength) device.queue.writeBuffer(buffers[plan.inputs[i]], 0, padded);
        });
        const encoder = device.createCommandEncoder();
        if (plan.report >= 0) encoder.clearBuffer(buffers[plan.report], 0, 32);
        const pass = encoder.beginComputePass();
        for (const { pipeline, bound, groups } of runs) {
            pass.setPipeline(pipeline);
            pass.setBindGroup(0, bound);
            pass.dispatchWorkgroups(...groups);
        }
        pass.end();
        wanted.forEach(({ buffer, bytes }, i) => bytes && encoder.copyBufferToBuffer(buffer, 0, back[i], 0, bytes));
        device.queue.submit([encoder.finish()]);
        const results = {};
        for (let i = 0; i < wanted.length; i++) {
            const { name, shape, array, bytes } = wanted[i];
            await back[i].mapAsync(GPUMapMode.READ);
            const found = new array(back[i].getMappedRange().slice(0, bytes), 0, elements(shape));
            back[i].unmap();
            if (name !== undefined) results[name] = Object.assign(found, { shape });
            else if (found[0] !== 0) throw new Error(failure(found));
        }
        return results;
    }

    // `given`: a typed array for each input, or {data, shape}. The result: typed arrays with their shapes, one for each
    // output. One run follows another.
    let last = Promise.resolve();
    const run = (given) => (last = last.catch(() => {}).then(() => runOnce(given)));
    if (!model.dimensions.length) await become([]);
    return { model, device, run, file, destroy: () => device.destroy() };
}
