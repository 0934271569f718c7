import { arrays } from "./heddle.js";

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

// Runs the model on the inputs that were exported with it, and holds each element of its outputs against the
// interpreter's, within four times its bound; where that is infinite, within a share of the greatest element.
export async function check({ model, run, file }) {
    if (!model.check) return "PASS it loads; nothing to compare with was exported";
    const bytes = await file(model.check.file), lines = [];
    const part = ({ offset, bytes: size }) => bytes.slice(offset, offset + size).buffer;
    let passed = true;
    for (const { inputs, outputs } of model.check.runs) {
        const given = {};
        model.inputs.forEach(({ name, dtype }, i) => {
            given[name] = { data: new arrays[dtype](part(inputs[i])), shape: inputs[i].shape };
        });
        const begin = performance.now();
        const found = await run(given);
        const milliseconds = performance.now() - begin;
        model.outputs.forEach(({ name, dtype }, i) => {
            const { values, bounds: at, share } = outputs[i];
            const got = numbers(found[name], dtype);
            const expected = new Float64Array(part(values)), bounds = new Float64Array(part(at));
            let greatest = 0, outside = Math.abs(got.length - expected.length), undecided = 0, worst = 0;
            for (const value of expected) if (Number.isFinite(value)) greatest = Math.max(greatest, Math.abs(value));
            expected.forEach((value, k) => {
                const decided = Number.isFinite(bounds[k]);
                const difference = got[k] === value || (isNaN(got[k]) && isNaN(value)) ? 0 : Math.abs(got[k] - value);
                if (!decided) undecided++;
                if (!(difference <= (decided ? 4 * bounds[k] : share * greatest))) outside++;
                if (!(difference <= worst)) worst = difference;
            });
            passed = passed && outside === 0;
            lines.push(`${name}: ${expected.length} elements [${found[name].shape}], ${outside} outside, ${undecided} by the ` +
                `greatest, at most ${worst.toExponential(2)} off, of ${greatest.toExponential(2)}`);
        });
        lines.push(`${milliseconds.toFixed(1)} ms`);
    }
    return `${passed ? "PASS" : "FAIL"} ${model.name}\n${lines.join("\n")}`;
}
