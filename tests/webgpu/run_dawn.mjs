// Runs exported models on Dawn for Node, and prints what their pages would: run_dawn.mjs MODULES FOLDER...
// Where VK_ICD_FILENAMES names no driver that works, Dawn's own null device at least validates: --null.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [modules, ...rest] = process.argv.slice(2);
const validates = rest[0] === "--null";
const folders = validates ? rest.slice(1) : rest;
const { create, globals } = await import(pathToFileURL(path.join(path.resolve(modules), "webgpu", "index.js")));
Object.assign(globalThis, globals);
const gpu = create(validates ? ["backend=null"] : ["backend=vulkan"]);
let failed = 0;
for (const folder of folders) {
    try {
        const script = (name) => import(pathToFileURL(path.join(path.resolve(folder), name)));
        const { load } = await script("heddle.js"), { check } = await script("check.js");
        const model = await load(folder, gpu, async (file) => new Uint8Array(await readFile(file)));
        const text = validates ? "PASS it is valid" : await check(model);
        console.log(text);
        if (!text.startsWith("PASS")) failed = 1;
        model.destroy();
    } catch (problem) {
        console.log(`FAIL ${folder}: ${problem.message}`);
        failed = 1;
    }
}
process.exit(failed);
