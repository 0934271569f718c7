"""How long a program waits for its first result: Heddle without and with what an earlier process kept, ONNX Runtime,
OpenVINO. And at another shape, in the same process; and the resident peak.

Every start is a process of its own with no other alive: Python, NumPy and the inputs are there, then the engine is imported,
the model loaded and run once. Rounds go engine by engine. Prints medians, and writes bench/results/starts.json.

    python bench/starts.py [--threads 2] [--rounds 3] [--quick] [MODEL...]
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/models"), str(ROOT / "scripts"), str(ROOT / "bench"), str(ROOT / "build/python")]

import numpy as np

import inputs
import make_models
import reports
import run_peer

ENGINES = ["heddle cold", "heddle warm", "onnxruntime", "openvino"]
COLUMNS = ["import_ms", "start_ms", "run_ms", "other_shape_ms", "peak_bytes"]


def heddle_runner(path, feeds, threads):
    import heddle
    session = heddle.InferenceSession(path, threads=threads)
    return lambda: session.run(None, feeds)


RUNNERS = {"heddle": heddle_runner, "onnxruntime": run_peer.onnxruntime_runner, "openvino": run_peer.openvino_runner}


def milliseconds(function):
    begin = time.perf_counter()
    result = function()
    return (time.perf_counter() - begin) * 1e3, result


def start(engine, path, folder, threads):
    """One process: what it measured, as JSON."""
    feeds = dict(np.load(f"{folder}/inputs.npz"))
    other = pathlib.Path(folder) / "other.npz"
    before = run_peer.resident("VmRSS")
    measured = {"import_ms": milliseconds(lambda: __import__(engine))[0]}
    if engine == "heddle":
        sys.modules["heddle"].use_cache(f"{folder}/cache")
    if engine == "openvino" or not other.exists():  # one program a shape
        measured["start_ms"], run = milliseconds(lambda: started(engine, path, feeds, threads))
        again = lambda feeds: started(engine, path, feeds, threads)
    else:
        held = dict(feeds)
        measured["start_ms"], run = milliseconds(lambda: started(engine, path, held, threads))
        again = lambda feeds: (held.update(feeds), run())
    measured["peak_bytes"] = run_peer.resident("VmHWM") - before
    measured["run_ms"] = statistics.median(milliseconds(run)[0] for _ in range(7))
    if other.exists():
        feeds = dict(np.load(other))
        measured["other_shape_ms"] = milliseconds(lambda: again(feeds))[0]
    print(json.dumps(measured))


def started(engine, path, feeds, threads):
    run = RUNNERS[engine](path, feeds, threads)
    run()
    return run


def measure(model, threads, rounds):
    """{engine: {column: median}}; an engine that fails has {"error"}."""
    path = make_models.make(model)
    results = {engine: [] for engine in ENGINES}
    errors = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            np.savez(f"{folder}/inputs.npz", **inputs.of(model))
            if (other := inputs.of_other_shape(model)) is not None:
                np.savez(f"{folder}/other.npz", **other)
            for engine in ENGINES:
                done = subprocess.run([sys.executable, __file__, "--start", engine.split()[0], str(path), folder, str(threads)],
                                      capture_output=True, text=True, check=False)
                if done.returncode == 0:
                    results[engine].append(json.loads(done.stdout.splitlines()[-1]))
                else:
                    errors[engine] = (done.stderr or "failed").strip().splitlines()[-1]
    return {engine: {column: statistics.median(run[column] for run in runs) for column in COLUMNS if column in runs[0]}
            if runs else {"error": errors[engine]} for engine, runs in results.items()}


def text_of(row):
    if "error" in row:
        return f"failed: {row['error'][:80]}"
    other = f"{row['other_shape_ms']:6.0f}" if "other_shape_ms" in row else "     -"
    return (f"import {row['import_ms']:5.0f}   first result {row['start_ms']:6.0f}   run {row['run_ms']:8.2f}   "
            f"other shape {other} ms   peak {row['peak_bytes'] / 1e6:5.0f} MB")


def main():
    if sys.argv[1:2] == ["--start"]:
        engine, path, folder, threads = sys.argv[2:]
        return start(engine, path, folder, int(threads))
    parser = reports.parser(__doc__, "a model; without any, all")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    models = reports.chosen(parser, options.names, inputs.ALL)
    if options.quick:
        models, options.rounds = ["perceptron"], 1
    report = {"threads": options.threads, "rounds": options.rounds, "results": {}}
    for model in models:
        try:
            rows = measure(model, options.threads, options.rounds)
        except make_models.Unavailable as problem:
            print(f"SKIP {model}: {problem}", flush=True)
            continue
        for engine, row in rows.items():
            print(f"{model:18} {engine:12} {text_of(row)}", flush=True)
        report["results"][model] = rows
    print(f"wrote {reports.shown(reports.write(options, 'starts.json', report))}")


if __name__ == "__main__":
    main()
