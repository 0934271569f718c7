// The same on deno (wgpu, naga): deno run --unstable-webgpu --allow-read run_deno.mjs FOLDER...
let failed = 0;
for (const folder of Deno.args) {
    try {
        const { load, check } = await import(new URL(`file://${await Deno.realPath(folder)}/heddle.js`));
        const model = await load(folder, navigator.gpu, Deno.readFile);
        const text = await check(model);
        console.log(text);
        if (!text.startsWith("PASS")) failed = 1;
        model.destroy();
    } catch (problem) {
        console.log(`FAIL ${folder}: ${problem.message}`);
        failed = 1;
    }
}
Deno.exit(failed);
