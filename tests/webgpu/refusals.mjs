// What a loaded model refuses while it runs, and says: refusals.mjs MODULES FOLDER. The folder has run.py's programs.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [modules, folder] = process.argv.slice(2);
const { create, globals } = await import(pathToFileURL(path.join(path.resolve(modules), "webgpu", "index.js")));
Object.assign(globalThis, globals);
const gpu = create(["backend=vulkan"]);
const read = async (file) => new Uint8Array(await readFile(file));
let failed = 0;

async function expectRefusal(what, run, said) {
    let message = "nothing";
    try {
        await run();
    } catch (problem) {
        message = problem.message;
    }
    const passed = said === null ? message === "nothing" : message.includes(said);
    console.log(`${passed ? "PASS" : "FAIL"} ${what}: ${message}`);
    if (!passed) failed = 1;
}

const { load } = await import(pathToFileURL(path.join(path.resolve(folder), "indices", "heddle.js")));
const model = await load(path.join(folder, "indices"), gpu, read);
const x = new Float32Array(30 * 200).fill(1), good = new BigInt64Array(12).fill(-30n);
const with_ = (index) => { const i = good.slice(); i[7] = index; return { x, i }; };
await expectRefusal("indices from the end", () => model.run(with_(29n)), null);
await expectRefusal("an index beyond the table", () => model.run(with_(30n)),
    "the index 30 lies outside of x, which has 30 places");
await expectRefusal("an index before it", () => model.run(with_(-31n)), "the index -1 lies outside of x");
await expectRefusal("an index of 40 bits", () => model.run(with_(1n << 40n)), "needs more than 31");
await expectRefusal("the next run", () => model.run(with_(0n)), null);
await expectRefusal("an input of another size", () => model.run({ x: x.slice(1), i: good }),
    "input x is to be float32[30,200]");
await expectRefusal("an input of another type", () => model.run({ x: new Int32Array(6000), i: good }),
    "as Float32Array");
await expectRefusal("an input that is not given", () => model.run({ x }), "input i is to be int64[12]");
const small = { requestAdapter: async () => ({ limits: { maxComputeInvocationsPerWorkgroup: 32 } }) };
await expectRefusal("a device with less", () => load(path.join(folder, "indices"), small, read),
    "is 32, and 64 is needed");
await expectRefusal("no device", () => load(path.join(folder, "indices"), undefined, read), "there is no WebGPU here");

// Of a page for a range of sizes.
const page = path.join(folder, "open_matmul"), w = new Float32Array(70 * 200);
const limits = { maxStorageBufferBindingSize: 1 << 27, maxBufferSize: 1 << 28 };
const adapter = await gpu.requestAdapter();
const usual = {
    requestAdapter: async () => ({
        limits: new Proxy(adapter.limits, { get: (all, name) => limits[name] ?? all[name] }),
        requestDevice: (wanted) => adapter.requestDevice(wanted),
    }),
};
const open = await load(page, usual, read);
const rows = (n, shape = [n, 70]) => ({ x: { data: new Float32Array(n * 70), shape }, w });
const refused = (what, given, said) => expectRefusal(what, () => open.run(given), said);
await refused("three rows", rows(3), null);
await refused("no rows", rows(0), "by input x, n is 0, and is to be from 1 to 1048575");
await refused("fewer than none", rows(3, [-3, 70]), "n is -3, and is to be from 1");
await refused("a part of a row", rows(3, [1.5, 70]), "n is 1.5, and is to be from 1");
await refused("rows that are no number", rows(3, ["3", 70]), "n is 3, and is to be from 1");
await refused("more than the range has", rows(3, [1 << 20, 70]), "n is 1048576, and is to be from 1 to 1048575");
await refused("more than there can be", rows(3, [1e300, 70]), "n is 1e+300, and is to be from 1");
await refused("fewer elements than the shape says", rows(3, [4, 70]), "input x is to be float32[n,70]");
await refused("another size that is always the same", rows(3, [3, 71]), "input x is to be float32[n,70]");
await refused("another rank", rows(3, [210]), "input x is to be float32[n,70]");
await refused("no shape", { x: new Float32Array(210), w }, "as Float32Array, {data, shape}");
await refused("a shape for a size that is always the same", { ...rows(3), w: { data: w, shape: [70, 200] } }, null);
await refused("more than the device has", rows(200000), "at n = 200000, y needs 160000000 bytes, and the device has at most 134217728");
await refused("fewer again", rows(100), null);
const { y } = await open.run(rows(5));
await expectRefusal("the shape of an output", () => { throw new Error(y.shape.join()); }, "5,200");
await expectRefusal("runs that overlap", async () => {
    const all = await Promise.all([4, 300, 2, 40].map((n) => open.run(rows(n))));
    throw new Error(all.map((outputs) => outputs.y.length / 200).join());
}, "4,300,2,40");
const twice = await load(path.join(folder, "open_stepped"), gpu, read);
const halves = (n, m) => ({ x: { data: new Uint16Array(n * m), shape: [n, m] } });
await expectRefusal("two axes of one size", () => twice.run(halves(32, 64)), "n is 64, and is to be 32");
await expectRefusal("a size between steps", () => twice.run(halves(33, 33)), "n is 33, and is to be from 32 to 320 in steps of 32");
process.exit(failed);
