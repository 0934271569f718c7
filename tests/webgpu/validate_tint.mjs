// Whether Tint takes WGSL files, without a driver: validate_tint.mjs MODULES FILE... It prints what it says of others.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [modules, ...files] = process.argv.slice(2);
const { create, globals } = await import(pathToFileURL(path.join(path.resolve(modules), "webgpu", "index.js")));
Object.assign(globalThis, globals);
globalThis.gpu = create(["backend=null"]);  // what it makes must not outlive it
const adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice();
let refused = 0;
for (const file of files) {
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ code: await readFile(file, "utf8") });
    const { messages } = await module.getCompilationInfo();
    const problem = await device.popErrorScope();
    if (!problem) continue;
    refused++;
    const [first] = messages.filter(({ type }) => type === "error");
    console.log(`${file}:${first?.lineNum ?? 0}: ${first?.message ?? problem.message}`);
}
console.log(`Tint takes ${files.length - refused} of ${files.length}`);
process.exit(refused ? 1 : 0);
