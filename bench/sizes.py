"""Sizes that were never there before: 50 lengths of a sentence encoder and 50 image sizes of a text detector, in random order.
Heddle beside ONNX Runtime and OpenVINO, in turn, each in a process of its own.

Each size runs once, new, and then some times again: what the new one took beyond the median of the others is what a new size
costs. In the end each comes back once: what it costs then is no plan, but what any other size leaves behind in caches. Prints
the median, the 9th tenth and the greatest cost, how many sizes cost over 5 ms (what was planned or compiled), the median of
those that came back, and the resident memory after all sizes beside that after the largest one alone. Writes
bench/results/sizes.json.

    python bench/sizes.py [--threads 2] [--rounds 1] [--sizes 50] [--quick] [minilm|text-detector...]
"""
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/models"), str(ROOT / "scripts"), str(ROOT / "bench"), str(ROOT / "build/python")]

import numpy as np

import make_models
import reports
import run_peer

ENGINES = ["heddle", "onnxruntime", "openvino"]
AGAIN = 4  # runs of a size after its first
PLANNED_MS = 5


# One text, of which each length is a part: of a table only rows that were asked for are in memory, and which ones does not
# depend on sizes.
TOKENS = np.random.default_rng(7).integers(1000, 20000, (1, 512))


def sentences(length):
    return {"input_ids": np.ascontiguousarray(TOKENS[:, :length]), "attention_mask": np.ones((1, length), np.int64)}


def image(height, width):
    return {"x": np.random.default_rng(height * width).standard_normal((1, 3, height, width), dtype=np.float32)}


# By model: all sizes, the largest one last; and inputs of one.
MODELS = {
    "minilm": ([(length,) for length in range(16, 257)], sentences),
    "text-detector": ([(height, width) for height in range(320, 961, 32) for width in range(320, 961, 32)], image),
}


def heddle_run(path, threads):
    import heddle
    heddle.use_cache(None)
    session = heddle.InferenceSession(path, threads=threads)
    return lambda feeds: session.run(None, feeds)


def onnxruntime_run(path, threads):
    session = run_peer.onnxruntime_session(path, threads)
    return lambda feeds: session.run(None, feeds)


def openvino_run(path, threads):
    import openvino
    compiled = openvino.Core().compile_model(path, "CPU", {
        "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1})
    request = compiled.create_infer_request()
    return request.infer


RUNS = {"heddle": heddle_run, "onnxruntime": onnxruntime_run, "openvino": openvino_run}


def drawn(model, count):
    sizes = MODELS[model][0]
    return [sizes[i] for i in np.random.default_rng(7).permutation(len(sizes))[:count]]


def milliseconds(run, feeds):
    begin = time.perf_counter()
    run(feeds)
    return (time.perf_counter() - begin) * 1e3


def visit(engine, model, path, threads, count):
    """One process: what each size cost, as JSON. Without a count only the largest one is run."""
    inputs = MODELS[model][1]
    before = run_peer.resident("VmRSS")
    run = RUNS[engine](path, int(threads))
    sizes = drawn(model, int(count)) if int(count) else [max(drawn(model, int(1e6)))]
    costs, runs = [], []
    for size in sizes:
        feeds = inputs(*size)
        new = milliseconds(run, feeds)
        again = statistics.median(milliseconds(run, feeds) for _ in range(AGAIN))
        costs.append(new - again)
        runs.append(again)
    bytes_after = run_peer.resident("VmRSS") - before
    back = []
    for size, again in zip(sizes, runs):
        feeds = inputs(*size)
        back.append(milliseconds(run, feeds) - again)
    print(json.dumps({"costs_ms": costs, "back_ms": back, "runs_ms": runs, "bytes": bytes_after}))


def visited(engine, model, path, threads, count):
    done = subprocess.run([sys.executable, __file__, "--visit", engine, model, str(path), str(threads), str(count)],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr or "failed").strip().splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


def row_of(rounds, alone):
    """The first size of a process is its start."""
    costs = sorted(cost for row in rounds for cost in row["costs_ms"][1:])
    return {"median_ms": statistics.median(costs), "nine_tenths_ms": costs[int(0.9 * (len(costs) - 1))], "most_ms": costs[-1],
            "back_ms": statistics.median(cost for row in rounds for cost in row["back_ms"]),
            "planned": sum(cost > PLANNED_MS for cost in costs) / len(rounds),
            "run_ms": statistics.median(run for row in rounds for run in row["runs_ms"]),
            "bytes": statistics.median(row["bytes"] for row in rounds), "largest_alone_bytes": alone["bytes"]}


def main():
    if sys.argv[1:2] == ["--visit"]:
        return visit(*sys.argv[2:])
    parser = reports.parser(__doc__, "a model; without any, all")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--sizes", type=int, default=50)
    options = parser.parse_args()
    models = reports.chosen(parser, options.names, list(MODELS))
    if options.quick:
        models, options.sizes = ["minilm"], 3
    report = {"cpu": reports.cpu_name(), "threads": options.threads, "sizes": options.sizes, "results": {}}
    for model in models:
        try:
            path = make_models.make(model)
        except make_models.Unavailable as problem:
            print(f"SKIP {model}: {problem}", flush=True)
            continue
        rows = report["results"][model] = {}
        for engine in ENGINES:
            try:
                rounds = [visited(engine, model, path, options.threads, options.sizes) for _ in range(options.rounds)]
                rows[engine] = row_of(rounds, visited(engine, model, path, options.threads, 0))
            except RuntimeError as problem:
                rows[engine] = {"error": str(problem)}
                print(f"{model:14} {engine:12} failed: {problem}", flush=True)
                continue
            row = rows[engine]
            print(f"{model:14} {engine:12} run {row['run_ms']:8.2f}   a new size: median {row['median_ms']:7.2f}, 9 of 10 below "
                  f"{row['nine_tenths_ms']:7.2f}, most {row['most_ms']:7.1f} ms, over {PLANNED_MS} ms {row['planned']:.0f}   one that comes back {row['back_ms']:6.2f}   memory "
                  f"{row['bytes'] / 1e6:5.0f} MB, of the largest alone {row['bytes'] / row['largest_alone_bytes']:.2f}", flush=True)
    print(f"wrote {reports.shown(reports.write(options, 'sizes.json', report))}")


if __name__ == "__main__":
    main()
