"""The demo: a real model names the types of files; then an operator of one's own runs inside an ONNX model.

    scripts/demo [--heddle PROGRAM] [--threads N]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / ".cache" / "models"
FILES = ["README.md", "Makefile", "CMakeLists.txt", "src/main.cpp", "src/graph/graph.h", "scripts/make_models.py", "scripts/setup",
         "operators/normalisation.yaml", "CMakePresets.json", "docs/language.md"]
REPEAT = 50
sys.path.insert(0, str(ROOT / "tests" / "models"))
sys.path.insert(0, str(ROOT / "examples"))


def heddle(options, *words):
    """The JSON of `heddle run`, or the end of the demo with the program's own message."""
    command = [str(options.heddle), "run", *map(str, words), "--threads", str(options.threads), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def fused_and_unfused(options, folder, *words):
    reports = []
    for unfused in ([], ["--unfused"]):
        where = folder / ("unfused" if unfused else "fused")
        reports.append(heddle(options, *words, "--repeat", REPEAT, "--output-dir", where, *unfused))
    return reports


def onnx_runtime(options, model, feeds):
    """(outputs, median milliseconds), or None where ONNX Runtime is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return None
    choices = onnxruntime.SessionOptions()
    choices.intra_op_num_threads, choices.inter_op_num_threads = options.threads, 1
    choices.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), choices, providers=["CPUExecutionProvider"])
    times = []
    for _ in range(REPEAT):
        begin = time.perf_counter()
        outputs = session.run(None, feeds)
        times.append((time.perf_counter() - begin) * 1000)
    return outputs, statistics.median(times)


def print_launches(fused, unfused):
    layout = f" (and {fused['layout_launches']} that only lay data out)" if fused["layout_launches"] else ""
    print(f"  launches: {unfused['launches']} without fusion, {fused['launches']} with it{layout}")


def name_files(options, folder):
    """File types by magika, a model of 3 MB by Google. Returns lines of the summary."""
    from inputs import file_bytes
    model, config = MODELS / "magika.onnx", MODELS / "magika.json"
    print("1. What kind of file is this? (magika, a real model; its operators are templates of operators/)")
    if not (model.exists() and config.exists()):
        print("  SKIP: the model is not here")
        return ["file types: skipped, the model could not be fetched"]
    files = [name for name in FILES if (ROOT / name).is_file()]
    feeds = {"bytes": file_bytes([ROOT / name for name in files])}
    np.save(folder / "bytes.npy", feeds["bytes"])
    print(f"  compiling, and running {REPEAT} times on {len(files)} files at once ...", flush=True)
    fused, unfused = fused_and_unfused(options, folder, model, "--input", f"bytes={folder / 'bytes.npy'}")
    found = np.load(folder / "fused" / "output_0.npy")
    labels = json.loads(config.read_text())["target_labels_space"]
    for name, row in zip(files, found):
        print(f"    {name:32} {labels[int(row.argmax())]:12} {row.max():6.1%}")
    print_launches(fused, unfused)
    compile_ms, run_ms = fused["compile_ms"], fused["run_ms"]["median"]
    print(f"  compile {compile_ms:.0f} ms, run {run_ms:.2f} ms (median of {REPEAT}, {options.threads} threads)")
    summary = f"file types: {len(files)} files in {run_ms:.2f} ms, {unfused['launches']} -> {fused['launches']} launches"
    peer = onnx_runtime(options, model, feeds)
    if peer is None:
        print("  ONNX Runtime is not installed: not compared")
        return [summary]
    (expected, *_), peer_ms = peer
    same = int((expected.argmax(axis=1) == found.argmax(axis=1)).sum())
    difference = float(np.abs(expected - found).max())
    print(f"  ONNX Runtime: {peer_ms:.2f} ms; {same} of {len(files)} labels are the same, probabilities differ by {difference:.1e} at most")
    # The model's first norm cancels: on such rows ONNX Runtime differs from itself by 1.6e-4 between batch sizes.
    if same != len(files) or difference > 1e-3:
        sys.exit("the results differ from ONNX Runtime's: this is a mistake of ours")
    return [f"{summary}; ONNX Runtime {peer_ms:.2f} ms, the same labels"]


def template_lines(name):
    """The lines of one template of examples/my.yaml."""
    lines = (ROOT / "examples/my.yaml").read_text().splitlines()
    begin = lines.index(f"{name}:")
    end = next((i for i in range(begin + 1, len(lines)) if not lines[i].startswith(" ")), len(lines))
    return lines[begin:end]


def run_own_operator(options, folder):
    """An operator of my.domain, written in a few lines, as a node of an ONNX model."""
    from onnx import save
    from own_domain import own_domain_model
    print("\n2. An operator of your own, in an ONNX model (examples/my.yaml):\n")
    lines = template_lines("swish")
    print("\n".join(f"    {line}" for line in lines))
    model = folder / "own_domain.onnx"
    save(own_domain_model(), model)
    x = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)
    np.save(folder / "x.npy", x)
    print("\n  RmsNorm -> MatMul -> Add -> Swish; the first and the last are of my.domain", flush=True)
    fused, unfused = fused_and_unfused(options, folder, model, "--library", ROOT / "examples/my.yaml",
                                       "--input", f"x={folder / 'x.npy'}")
    print_launches(fused, unfused)
    weights = {tensor.name: tensor for tensor in own_domain_model().graph.initializer}
    found, expected = np.load(folder / "fused" / "output_0.npy"), by_numpy(x, weights)
    difference = float(np.abs(found - expected).max() / np.abs(expected).max())
    print(f"  compile {fused['compile_ms']:.0f} ms, run {fused['run_ms']['median']:.3f} ms; NumPy in double differs by {difference:.1e}")
    if difference > 2e-5:
        sys.exit("the results differ from NumPy's: this is a mistake of ours")
    return [f"own operator: {len(lines)} lines, 4 nodes in {fused['launches']} launch{'es' if fused['launches'] != 1 else ''} "
            f"({unfused['launches']} without fusion), equal to NumPy"]


def by_numpy(x, weights):
    from onnx import numpy_helper
    scale, weight, bias = (numpy_helper.to_array(weights[n]).astype(np.float64) for n in ("scale", "weight", "bias"))
    x = x.astype(np.float64)
    normal = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * scale
    total = normal @ weight + bias
    return total / (1 + np.exp(-2 * total))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", type=pathlib.Path, default=ROOT / "build/heddle")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    if not options.heddle.is_file():
        sys.exit(f"{options.heddle} is not there: run make build first")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        summary = name_files(options, folder) + run_own_operator(options, folder)
    print("\nSummary")
    for line in summary:
        print(f"  {line}")


if __name__ == "__main__":
    main()
