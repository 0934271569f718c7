// Runs an exported model on WebGPU. In a page: const model = await load("folder"); const outputs = await model.run({x: data}).
// Elsewhere, `gpu` is the implementation's, and `read` gives a file's bytes.

async function fetched(path) {
    const response = await fetch(path);
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
}

const arrays = {
    bool: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array,
    uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, float32: Float32Array, float16: Uint16Array,
    bfloat16: Uint16Array,
};

// Of a stored half, its value.
function half(bits) {
    const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : (2 ** -14 * fraction) / 1024);
}

function numbers(array, dtype) {
    if (dtype === "float16") return Float64Array.from(array, half);
    if (dtype === "bfloat16") return Float64Array.from(new Float32Array(Uint32Array.from(array, (bits) => bits << 16).buffer));
    return Float64Array.from(array, Number);
}

const elements = (shape) => shape.reduce((product, extent) => product * extent, 1);
const words = (bytes) => Math.ceil(bytes / 4) * 4;

async function deviceFor(gpu, limits) {
    const adapter = await gpu?.requestAdapter();
    if (!adapter) throw new Error("there is no WebGPU here");
    const requiredLimits = {};
    for (const [name, value] of Object.entries(limits)) {
        if (adapter.limits[name] < value) throw new Error(`the device's ${name} is ${adapter.limits[name]}, and ${value} is needed`);
        requiredLimits[name] = value;
    }
    return adapter.requestDevice({ requiredLimits });
}

export async function load(folder, gpu = globalThis.navigator?.gpu, read = fetched) {
    const file = (name) => read(`${folder}/${name}`);
    const text = async (name) => new TextDecoder().decode(await file(name));
    const plan = JSON.parse(await text("model.json"));
    if (plan.format !== "heddle-webgpu" || plan.version !== 1) throw new Error("this is no model of this loader's version");
    const device = await deviceFor(gpu, plan.limits);
    let lost = null;
    device.lost?.then((reason) => { lost = reason.message; });
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    device.pushErrorScope("validation");
    device.pushErrorScope("out-of-memory");

    const weights = plan.weights ? await file(plan.weights.file) : null;
    const buffers = plan.buffers.map(({ bytes, weights: at }) => {
        const buffer = device.createBuffer({ size: bytes, usage });
        if (at) device.queue.writeBuffer(buffer, 0, weights, at.offset, words(at.bytes));
        return buffer;
    });
    const launches = await file(plan.launches.file);
    const launch = device.createBuffer({ size: launches.byteLength, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
    device.queue.writeBuffer(launch, 0, launches);

    const kernels = await Promise.all(plan.kernels.map(async (kernel) => {
        const module = device.createShaderModule({ label: kernel.file, code: await text(kernel.file) });
        const entries = [{ binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: "uniform" } }];
        kernel.bindings.forEach((access, i) => entries.push({
            binding: i + 1, visibility: GPUShaderStage.COMPUTE,
            buffer: { type: access === "read" ? "read-only-storage" : "storage" },
        }));
        const group = device.createBindGroupLayout({ entries });
        const layout = device.createPipelineLayout({ bindGroupLayouts: [group] });
        const pipeline = await device.createComputePipelineAsync({ layout, compute: { module, entryPoint: "main" } });
        return { group, pipeline };
    }));
    const dispatches = plan.dispatches.map((dispatch) => {
        const { group, pipeline } = kernels[dispatch.kernel];
        const { offset, bytes: size } = dispatch.launch;
        const entries = [{ binding: 0, resource: { buffer: launch, offset, size } }];
        dispatch.buffers.forEach((b, i) => entries.push({ binding: i + 1, resource: { buffer: buffers[b] } }));
        return { pipeline, groups: dispatch.groups, bound: device.createBindGroup({ layout: group, entries }) };
    });
    for (let scope = 0; scope < 2; scope++) {
        const problem = await device.popErrorScope();
        if (problem) throw new Error(problem.message);
    }

    // What is read back: outputs, then the report of kernels.
    const wanted = plan.outputs.map(({ dtype, shape, buffer }) =>
        ({ buffer, bytes: words(elements(shape) * arrays[dtype].BYTES_PER_ELEMENT) }));
    if (plan.status !== null) wanted.push({ buffer: plan.status, bytes: plan.buffers[plan.status].bytes });
    const back = wanted.map(({ bytes }) =>
        device.createBuffer({ size: Math.max(bytes, 4), usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST }));

    function failure(report) {
        const [, at, tag, value, bound] = report;
        const { name, indexed } = plan.dispatches[at];
        if (tag < 0) return `computing ${name}, an integer of 64 bits was read that needs more than 31`;
        return `computing ${name}, the index ${value} lies outside of ${indexed[tag] ?? "a value"}, which has ${bound} places`;
    }

    // `given`: a typed array for each input. The result: one for each output.
    async function run(given) {
        if (lost !== null) throw new Error(`the device is lost: ${lost}`);
        for (const { name, dtype, shape, buffer, fixed } of plan.inputs) {
            const data = given[name];
            if (!(data instanceof arrays[dtype]) || data.length !== elements(shape))
                throw new Error(`input ${name} is to be ${dtype}[${shape}], as ${arrays[dtype].name}`);
            const padded = new Uint8Array(words(data.byteLength));
            padded.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
            if (fixed && weights.subarray(fixed.offset, fixed.offset + fixed.bytes).some((byte, k) => byte !== padded[k]))
                throw new Error(`input ${name} has another value than the model was exported for`);
            if (buffer < 0) continue;
            device.queue.writeBuffer(buffers[buffer], 0, padded);
        }
        const encoder = device.createCommandEncoder();
        if (plan.status !== null) encoder.clearBuffer(buffers[plan.status]);
        const pass = encoder.beginComputePass();
        for (const { pipeline, bound, groups } of dispatches) {
            pass.setPipeline(pipeline);
            pass.setBindGroup(0, bound);
            pass.dispatchWorkgroups(...groups);
        }
        pass.end();
        wanted.forEach(({ buffer, bytes }, i) => bytes && encoder.copyBufferToBuffer(buffers[buffer], 0, back[i], 0, bytes));
        device.queue.submit([encoder.finish()]);
        const results = {};
        for (let i = 0; i < back.length; i++) {
            await back[i].mapAsync(GPUMapMode.READ);
            const bytes = back[i].getMappedRange().slice(0);
            back[i].unmap();
            if (i < plan.outputs.length) {
                const { name, dtype, shape } = plan.outputs[i];
                results[name] = new arrays[dtype](bytes, 0, elements(shape));
            } else {
                const report = new Int32Array(bytes);
                if (report[0] !== 0) throw new Error(failure(report));
            }
        }
        return results;
    }
    return { plan, device, run, file, destroy: () => device.destroy() };
}

// Runs the model on the inputs that were exported with it, and holds each element of its outputs against the
// interpreter's, within four times its bound; where that is infinite, within a share of the greatest element.
export async function check(model) {
    const { plan } = model;
    if (!plan.check) return "PASS it loads; nothing to compare with was exported";
    const bytes = await model.file(plan.check.file);
    const part = ({ offset, bytes: size }) => bytes.slice(offset, offset + size).buffer;
    const given = {};
    plan.inputs.forEach(({ name, dtype }, i) => { given[name] = new arrays[dtype](part(plan.check.inputs[i])); });
    const begin = performance.now();
    const found = await model.run(given);
    const milliseconds = performance.now() - begin;
    let passed = true;
    const lines = plan.outputs.map(({ name, dtype }, i) => {
        const { values, bounds: at, share } = plan.check.outputs[i];
        const got = numbers(found[name], dtype);
        const expected = new Float64Array(part(values)), bounds = new Float64Array(part(at));
        let greatest = 0, outside = 0, undecided = 0, worst = 0;
        for (const value of expected) if (Number.isFinite(value)) greatest = Math.max(greatest, Math.abs(value));
        expected.forEach((value, k) => {
            const decided = Number.isFinite(bounds[k]);
            const difference = got[k] === value || (isNaN(got[k]) && isNaN(value)) ? 0 : Math.abs(got[k] - value);
            if (!decided) undecided++;
            if (!(difference <= (decided ? 4 * bounds[k] : share * greatest))) outside++;
            if (!(difference <= worst)) worst = difference;
        });
        passed = passed && outside === 0;
        return `${name}: ${expected.length} elements, ${outside} outside, ${undecided} by the greatest, ` +
            `at most ${worst.toExponential(2)} off, of ${greatest.toExponential(2)}`;
    });
    lines.push(`${plan.dispatches.length} dispatches, ${milliseconds.toFixed(1)} ms`);
    return `${passed ? "PASS" : "FAIL"} ${plan.name}\n${lines.join("\n")}`;
}
