// Runs one page at the sizes of others: run_sizes.mjs MODULES PAGE FOLDER... Each folder is a page for one size, with
// runs to compare with, which the first page is given, in this order and back.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [modules, page, ...folders] = process.argv.slice(2);
const { create, globals } = await import(pathToFileURL(path.join(path.resolve(modules), "webgpu", "index.js")));
Object.assign(globalThis, globals);
const gpu = create(["backend=vulkan"]);
const read = async (file) => new Uint8Array(await readFile(file));
const { load } = await import(pathToFileURL(path.join(path.resolve(page), "heddle.js")));
const { check } = await import(pathToFileURL(path.join(path.resolve(page), "check.js")));
let failed = 0;
const open = await load(page, gpu, read);
for (const folder of [...folders, ...folders.slice(0, -1).reverse()]) {
    const { check: runs, name } = JSON.parse(new TextDecoder().decode(await read(path.join(folder, "model.json"))));
    try {
        const text = await check({ ...open, model: { ...open.model, check: runs, name }, file: (file) => read(path.join(folder, file)) });
        console.log(`${text} (${path.basename(folder)})`);
        if (!text.startsWith("PASS")) failed = 1;
    } catch (problem) {
        console.log(`FAIL ${folder}: ${problem.message}`);
        failed = 1;
    }
}
open.destroy();
process.exit(failed);
