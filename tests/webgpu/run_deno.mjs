// The same on deno (wgpu, naga): deno run --unstable-webgpu --allow-read run_deno.mjs FOLDER...
let failed = 0;
for (const folder of Deno.args) {
    try {
        const at = `file://${await Deno.realPath(folder)}/`;
        const { load } = await import(`${at}heddle.js`), { check } = await import(`${at}check.js`);
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
