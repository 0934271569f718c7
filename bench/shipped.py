"""Programs that heddle compile writes beside ONNX Runtime: bytes on disk, time to the first result, time of a run, memory.

Each start is a process of its own: Python, NumPy and the inputs are there, then the library is loaded (or ONNX Runtime
imported and the model loaded) and run once. Rounds go engine by engine. Prints medians, and writes
bench/results/shipped.json.

    python bench/shipped.py [--rounds 3] [--quick] [MODEL...]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/models"), str(ROOT / "scripts"), str(ROOT / "bench"), str(ROOT / "tests/python")]

import numpy as np

import exported
import inputs
import make_models
import reports
import run_peer
import starts

BINDINGS = {"magika": "unk__214=1:16", "minilm": "batch=1,sequence=128", "resnet50": "", "squeezenet": "",
            "text-recogniser": "p2o.DynamicDimension.0=1,x.2=48,p2o.DynamicDimension.1=320"}
ENGINES = ["exported", "onnxruntime"]
COLUMNS = ["start_ms", "run_ms", "added_bytes"]


def exported_runner(folder, feeds):
    program = exported.Program(folder)
    given = [feeds[value["name"]] for value in program.manifest["inputs"]]
    return lambda: program.run(*given)


def start(engine, path, folder):
    """One process, one thread: what it measured, as JSON."""
    feeds = dict(np.load(f"{folder}/inputs.npz"))
    before = run_peer.resident("VmRSS")

    def first():
        run = exported_runner(folder, feeds) if engine == "exported" else run_peer.onnxruntime_runner(path, feeds, 1)
        run()
        return run

    measured = {}
    measured["start_ms"], run = starts.milliseconds(first)
    measured["run_ms"] = min(starts.milliseconds(run)[0] for _ in range(20))
    measured["added_bytes"] = run_peer.resident("VmHWM") - before
    print(json.dumps(measured))


def files_of(engine, path, folder):
    """Bytes that a user ships: the library; the model and ONNX Runtime's own library."""
    if engine == "exported":
        return sum(file.stat().st_size for file in folder.glob("*.so"))
    import onnxruntime
    library = max(pathlib.Path(onnxruntime.__file__).parent.glob("capi/*.so*"), key=lambda file: file.stat().st_size)
    return path.stat().st_size + library.stat().st_size


def measured_model(name, rounds):
    path = pathlib.Path(make_models.make(name))
    rows = {engine: [] for engine in ENGINES}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        exported.compile(folder, path, *(["--bind", BINDINGS[name]] if BINDINGS[name] else []))
        np.savez(folder / "inputs.npz", **inputs.of(name, 1))
        for _ in range(rounds):
            for engine in ENGINES:
                done = subprocess.run([sys.executable, __file__, "--start", engine, path, folder], capture_output=True,
                                      text=True, check=True)
                rows[engine].append(json.loads(done.stdout.splitlines()[-1]))
        return {engine: {"file_bytes": files_of(engine, path, folder)} |
                {column: statistics.median(row[column] for row in rows[engine]) for column in COLUMNS} for engine in ENGINES}


def main():
    parser = reports.parser(__doc__, "a model; without any, all of these")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--start", nargs=3, metavar=("ENGINE", "MODEL", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.start:
        start(*options.start)
        return
    names = reports.chosen(parser, options.names, list(BINDINGS))
    if options.quick:
        names, options.rounds = ["magika"], 1
    results = {}
    print(f"{'':18}{'files MB':>10}{'start ms':>10}{'run ms':>9}{'memory MB':>11}")
    for name in names:
        try:
            results[name] = measured_model(name, options.rounds)
        except make_models.Unavailable as problem:
            print(f"SKIP {name}: {problem}", flush=True)
            continue
        for engine, row in results[name].items():
            print(f"{name if engine == ENGINES[0] else '':17} {row['file_bytes'] / 1e6:9.1f} {row['start_ms']:9.1f} "
                  f"{row['run_ms']:8.2f} {row['added_bytes'] / 1e6:10.1f}  {engine}", flush=True)
    print(f"wrote {reports.shown(reports.write(options, 'shipped.json', results))}")


if __name__ == "__main__":
    main()
