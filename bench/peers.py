"""Heddle beside ONNX Runtime and OpenVINO: latency of whole models, 1 and 2 threads, in turn on one machine.

Every run is a process of its own with no other alive. Rounds go engine by engine, so that drift of the clock meets all of
them. Prints the median and the resident peak of each engine and Heddle's time as a ratio to each peer's (below 1 Heddle is faster), and writes
bench/results/peers.json and peers.svg.

    python bench/peers.py [--threads 1,2] [--rounds 3] [--seconds 1] [--quick] [MODEL...]
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/models"), str(ROOT / "scripts"), str(ROOT / "bench")]

import numpy as np

import inputs
import make_models
import plot
import reports

HEDDLE = str(ROOT / "build/heddle")
PEERS = ["onnxruntime", "openvino"]
ENGINES = ["heddle", *PEERS]


def run_heddle(path, feeds, folder, threads, seconds):
    command = [HEDDLE, "run", str(path), "--format", "json", "--threads", str(threads), "--no-cache"]
    for number, (name, array) in enumerate(feeds.items()):
        np.save(f"{folder}/{number}.npy", array)
        command += ["--input", f"{name}={folder}/{number}.npy"]
    once = json.loads(subprocess.run([*command, "--repeat", "3"], capture_output=True, text=True, check=True).stdout)
    repeats = max(5, min(2000, int(seconds * 1e3 / max(once["run_ms"]["median"], 1e-3))))
    done = subprocess.run([*command, "--repeat", str(repeats)], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    return {"load_ms": report["load_ms"] + report["compile_ms"], "run_ms": report["run_ms"]["all"],
            "peak_bytes": report["peak_resident_bytes"]}


def run_peer(engine, path, folder, threads, seconds):
    done = subprocess.run([sys.executable, str(ROOT / "bench/run_peer.py"), engine, str(path), f"{folder}/inputs.npz",
                           str(threads), str(seconds)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure(model, threads, rounds, seconds):
    """{engine: {"median_ms", "min_ms", "load_ms", "peak_bytes"}}; an engine that fails has {"error"}."""
    path = make_models.make(model)
    feeds = inputs.of(model)
    results = {engine: [] for engine in ENGINES}
    errors = {}
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/inputs.npz", **feeds)
        for _ in range(rounds):
            for engine in ENGINES:
                try:
                    if engine == "heddle":
                        results[engine].append(run_heddle(path, feeds, folder, threads, seconds))
                    else:
                        results[engine].append(run_peer(engine, path, folder, threads, seconds))
                except subprocess.CalledProcessError as problem:
                    errors[engine] = (problem.stderr or "failed").strip().splitlines()[-1]
    rows = {}
    for engine, runs in results.items():
        if runs:
            rows[engine] = {"median_ms": statistics.median(statistics.median(r["run_ms"]) for r in runs),
                            "min_ms": min(min(r["run_ms"]) for r in runs),
                            "load_ms": statistics.median(r["load_ms"] for r in runs),
                            "peak_bytes": statistics.median(r["peak_bytes"] for r in runs)}
        else:
            rows[engine] = {"error": errors[engine]}
    return rows


def ratio(rows, peer):
    ours, theirs = rows["heddle"].get("median_ms"), rows[peer].get("median_ms")
    return ours / theirs if ours and theirs else None


def text_of(rows):
    parts = []
    for engine in ENGINES:
        row = rows[engine]
        parts.append(f"{engine} {row['median_ms']:8.3f} ms {row['peak_bytes'] / 1e6:5.0f} MB" if "median_ms" in row else f"{engine} failed: {row['error'][:60]}")
    parts += [f"ratio to {peer} {ratio(rows, peer):.2f}" for peer in PEERS if ratio(rows, peer)]
    return "   ".join(parts)


def main():
    parser = reports.parser(__doc__, "a model; without any, those that are benchmarked")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    options = parser.parse_args()
    models = reports.chosen(parser, options.names, inputs.ALL) if options.names else inputs.BENCHED
    if options.quick:
        models, options.threads, options.rounds, options.seconds = ["perceptron"], "1", 1, 0.01
    report = {"cpu": reports.cpu_name(), "rounds": options.rounds, "results": []}
    for model in models:
        for threads in map(int, options.threads.split(",")):
            try:
                rows = measure(model, threads, options.rounds, options.seconds)
            except make_models.Unavailable as problem:
                print(f"SKIP {model}: {problem}", flush=True)
                continue
            print(f"{model:18} {threads} thread{'s' if threads > 1 else ' '}  {text_of(rows)}", flush=True)
            report["results"].append({"model": model, "threads": threads, "engines": rows,
                                      "ratio": {peer: ratio(rows, peer) for peer in PEERS}})
    reports.write(options, "peers.svg", plot.bars(report))
    print(f"wrote {reports.shown(reports.write(options, 'peers.json', report))} and peers.svg")


if __name__ == "__main__":
    main()
