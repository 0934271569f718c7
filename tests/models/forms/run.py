"""Operators of ONNX that have many forms, each a model of one node with random attributes, types and shapes, against ONNX
Runtime and ONNX's reference evaluator. Heddle must agree with both; where one is known to be wrong, DIFFERENCES of the part
says where and why. A model that no peer runs is judged by the part's own value, if it has one.

    python tests/models/forms/run.py [--heddle build/heddle] [--count 60] [--seed 1] [--show] [FORM...]
"""
import argparse
import collections
import concurrent.futures
import importlib
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests"), str(ROOT / "tests/models"), str(ROOT / "scripts")]

import ml_dtypes
import numpy as np
from onnx import numpy_helper

import case as cases

PARTS = ("attention", "data_sizes", "early", "microsoft", "normalisation", "pooling", "quantisation", "recurrent", "resize")


def heddle(binary, path, case):
    """(results, errors) of a run of this model."""
    import json

    with tempfile.TemporaryDirectory() as folder:
        command = [binary, "run", str(path), "--format", "json", "--threads", "1", "--output-dir", f"{folder}/out"]
        for number, (name, value) in enumerate(case.feeds().items()):
            own = value.dtype.isbuiltin == 1
            if not own:  # a type that NumPy lacks
                pathlib.Path(f"{folder}/{number}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
            else:
                np.save(f"{folder}/{number}.npy", value)
            command += ["--input", f"{name}={folder}/{number}.{'npy' if own else 'pb'}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode not in (0, 1):
            return None, f"exit status {done.returncode}: {done.stderr[-300:]}"
        report = json.loads(done.stdout)
        if done.returncode:
            return None, "; ".join(error["message"] for error in report["errors"][:3])
        results = []
        for output in report["outputs"]:
            value = np.load(output["file"])
            if value.dtype.kind == "V":  # the bytes of a type that NumPy lacks
                value = value.view(getattr(ml_dtypes, output["dtype"].replace("float8", "float8_")))
            results.append(value)
        return results, ""


def judge(binary, folder, form, seed, make, differences):
    """(state, text): equal, refused, unjudged, or wrong."""
    case = make(np.random.default_rng([seed, *form.encode()]))
    model = case.model()
    path = pathlib.Path(folder) / f"{form}{seed}.onnx"
    path.write_bytes(model.SerializeToString())
    wrong = {peer: why for peer, where, why in differences if where(case)}
    peers = {"ONNX Runtime": cases.runtime(model, case), "reference": cases.reference(model, case), "own": case.truth}
    peers = {peer: results for peer, results in peers.items() if results is not None and peer not in wrong}
    found, errors = heddle(binary, path, case)
    path.unlink()
    if found is None:
        return ("wrong", f"refused, {', '.join(peers)} not: {errors}", case) if peers else ("refused", errors, case)
    for peer, results in peers.items():
        problem = cases.compare(found, results, case)
        if problem:
            agree = [other for other in peers if other != peer and not cases.compare(found, peers[other], case)]
            return "wrong", f"against {peer}{' (as ' + ', '.join(agree) + ')' if agree else ''}: {problem}", case
    return ("equal", "", case) if peers else ("unjudged", "", case)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", default=str(ROOT / "build/heddle"))
    parser.add_argument("--count", type=int, default=10, help="models of each form")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="also what is refused and unjudged")
    parser.add_argument("forms", nargs="*")
    arguments = parser.parse_args()
    total = collections.Counter()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for part in PARTS:
            module = importlib.import_module(part)
            for form, make in module.FORMS.items():
                if arguments.forms and not any(name in form for name in arguments.forms):
                    continue
                differences = [(peer, where, why) for operator, peer, where, why in module.DIFFERENCES if operator in ("", form)]
                seeds = range(arguments.seed, arguments.seed + arguments.count)
                count = collections.Counter()
                for seed, (state, text, case) in zip(seeds, pool.map(
                        lambda seed: judge(arguments.heddle, folder, form, seed, make, differences), seeds)):
                    count[state] += 1
                    if state == "wrong" or arguments.show and state != "equal":
                        print(f"{state} {form} {seed}: {text}\n    {case.text()}")
                print(f"{form:28} {dict(count)}", flush=True)
                total += count
    print(f"{total['equal'] + total['refused'] + total['unjudged']} passed, {total['wrong']} failed, 0 skipped")
    return total["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
