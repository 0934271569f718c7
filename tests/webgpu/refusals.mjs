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
process.exit(failed);
