// The same of naga, on deno: deno run --unstable-webgpu --allow-read validate_naga.mjs FILE...
const adapter = await navigator.gpu.requestAdapter();
const device = await adapter.requestDevice();
let refused = 0;
for (const file of Deno.args) {
    device.pushErrorScope("validation");
    device.createShaderModule({ code: await Deno.readTextFile(file) });
    const problem = await device.popErrorScope();
    if (!problem) continue;
    refused++;
    console.log(`${file}: ${problem.message}`);
}
console.log(`naga takes ${Deno.args.length - refused} of ${Deno.args.length}`);
Deno.exit(refused ? 1 : 0);
