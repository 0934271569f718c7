"""What each pass over equations gains, and what it costs to compile.

The operators of examples/gallery, gradients of some of them, and whole models are planned with all passes and without each, and
run both ways where the plans differ, in turn on one core. Writes bench/results/passes.json; --page writes the table of
docs/equations.md anew from that file.

    python bench/passes.py [--seconds 0.2] [--quick] [--page] [NAME...]
"""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "examples/gallery"), str(ROOT / "tests/models"), str(ROOT / "scripts"), str(ROOT / "bench")]

import numpy as np

import gallery
import inputs
import make_models
import reports

PROGRAM = ROOT / "build/bench_passes"
PAGE = ROOT / "docs/equations.md"
MODELS = ["resnet50", "minilm", "squeezenet", "silero-vad", "text-recogniser", "magika"]
GRADIENTS = ["softmax_middle", "alibi_attention", "contrastive_loss", "bilinear_upsampling", "deformable_convolution", "ssim",
             "mamba_scan", "tridiagonal_solve", "black_scholes", "heat_clamped", "sinkhorn", "n_body", "segment_sum"]
LONGEST = 120    # seconds for a program
SLOWER = 1.05   # a run without a pass that counts as slower, and as faster


def saved(arrays, folder, name):
    files = {}
    for number, (key, array) in enumerate(arrays.items()):  # keys may be no names of files
        files[key] = f"{folder}/{name}.{number}.npy"
        np.save(files[key], array)
    return files


def of_operator(operator, folder, gradient):
    arrays, parameters = operator.made(operator.bench)
    settings = "".join(f", {name}: {value}" for name, value in parameters.items())
    call = f"{', '.join(operator.outputs)} = {operator.name}({', '.join(arrays)}{settings})"
    return {"name": f"{operator.name}{' gradient' if gradient else ''}", "call": call, "libraries": [str(operator.templates)],
            "inputs": saved(arrays, folder, operator.name), "gradient": gradient}


def of_model(name, folder):
    return {"name": name, "model": str(make_models.make(name)), "inputs": saved(inputs.of(name), folder, name)}


def measured(name, seconds):
    """What bench_passes prints of a program, in a process of its own."""
    operators = gallery.load()
    with tempfile.TemporaryDirectory() as folder:
        base = name.removesuffix(" gradient")
        program = of_model(name, folder) if name in MODELS else of_operator(operators[base], folder, base != name)
        pathlib.Path(folder, "programs.json").write_text(json.dumps([program]))
        try:
            done = subprocess.run([PROGRAM, f"{folder}/programs.json", str(seconds)], capture_output=True, text=True, check=False,
                                  timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return {"name": name, "error": f"more than {LONGEST} s"}
    if done.returncode:
        return {"name": name, "error": (done.stderr or f"status {done.returncode}").strip().splitlines()[0]}
    return json.loads(done.stdout)


def gains(results):
    """By pass: where it matters, and how much. A gain is the figure without the pass, divided by that with it."""
    rows = [row for row in results if "error" not in row]
    table = {}
    for name in rows[0]["passes"]:
        entries = [(row, row["without"][name]) for row in rows if name in row["without"]]
        times = sorted(((entry["ms"] / entry["all_ms"], row["name"]) for row, entry in entries if "ms" in entry), reverse=True)
        shares = [row["passes"][name]["us"] / sum(one["us"] for one in row["passes"].values()) for row in rows]
        table[name] = {
            "changes": sum(row["passes"][name]["changed"] for row in rows),
            "plans": len(entries),
            "launches": sum(entry["launches"] - row["all"]["launches"] for row, entry in entries),
            "bytes": sum(entry["bytes"] - row["all"]["bytes"] for row, entry in entries),
            "operations": sum(entry["operations"] - row["all"]["operations"] for row, entry in entries),
            "instructions": sum(entry["instructions"] - row["all"]["instructions"] for row, entry in entries),
            "slower": [(case, gain) for gain, case in times if gain >= SLOWER],
            "faster": [(case, gain) for gain, case in reversed(times) if gain <= 1 / SLOWER],
            "mean": math.exp(sum(math.log(gain) for gain, _ in times) / len(times)) if times else None,
            "share": sum(shares) / len(shares),
        }
    return table


def cases(found, most=3):
    return ", ".join(f"`{name}` {gain:.2g}" for name, gain in found[:most]) + (f" and {len(found) - most} more" if len(found) > most else "")


def lines_of(report):
    lines = ["| pass | changes | launches | bytes | operations | slower without it | faster without it | of the passes' time |",
             "|---|---|---|---|---|---|---|---|"]
    for name, row in gains(report["results"]).items():
        lines.append(f"| `{name}` | {row['changes']} | {row['launches']:+d} | {row['bytes'] / 1e6:+,.0f} MB | "
                     f"{row['operations'] / 1e6:+,.0f} M | {cases(row['slower'])} | {cases(row['faster'])} | {row['share']:.1%} |")
    return lines


def write_page(report):
    count = sum("error" not in row for row in report["results"])
    text = f"{count} programs on {report['cpu']}, one core:\n\n" + "\n".join(lines_of(report))
    page = PAGE.read_text()
    PAGE.write_text(re.sub(r"(<!-- measured passes -->\n).*?(<!-- end -->)", lambda match: f"{match[1]}{text}\n{match[2]}", page,
                           flags=re.S))
    print(f"wrote {reports.shown(PAGE)}")


def main():
    operators = gallery.load()
    known = [*operators, *(f"{name} gradient" for name in GRADIENTS if name in operators), *MODELS]
    parser = reports.parser(__doc__, "a part of a program's name; without any, all")
    parser.add_argument("--seconds", type=float, default=0.2, help="for each pair of programs")
    parser.add_argument("--page", action="store_true", help="only write the page from what was measured")
    options = parser.parse_args()
    if options.page:
        return write_page(json.loads((options.results / "passes.json").read_text()))
    names = reports.chosen(parser, options.names, known, reports.part_of)
    if options.quick:
        names, options.seconds = names[:1], 0
    report = {"cpu": reports.cpu_name(), "seconds": options.seconds, "results": []}
    for name in names:
        row = measured(name, options.seconds)
        report["results"].append(row)
        reports.write(options, "passes.json", report)
        print(f"{name:28} " + (row.get("error") or ", ".join(
            f"{one} {entry['ms'] / entry['all_ms']:.2f}" if "ms" in entry else one for one, entry in row["without"].items())), flush=True)
    print("\n".join(lines_of(report)))


if __name__ == "__main__":
    main()
