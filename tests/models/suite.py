"""ONNX's own node tests (those of the onnx package that scripts/setup installs), each a model with inputs and outputs.

A case passes if number, shape and dtype of its outputs are right, and values within rtol 1e-3 and atol 1e-7, as the suite has
it. It is unsupported if Heddle refuses its model with diagnostics and it stands under their reason in refusals.txt; all else
has failed.

    python tests/models/suite.py [--heddle build/heddle] [--list REASON] [PART OF A CASE'S NAME...]
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/models")]

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

import equality

DATA = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
PASSED = 1567  # so many at least

# What a model may be refused with. Everything else that ends a run is a failure.
REFUSALS = ("onnx.", "symbolic.", "cli.input", "support.npy_dtype")


def allowed_refusals():
    """Reasons by case, of refusals.txt."""
    allowed, reason = {}, ""
    for line in pathlib.Path(__file__).with_name("refusals.txt").read_text().splitlines():
        if line.startswith("    "):
            allowed[line.strip()] = reason
        elif line and not line.startswith("#"):
            reason = line.split(" | ")[0]
    return allowed


# The suite's value differs from ONNX Runtime's, which is ours: a size that is not whole is rounded down before corners align;
# inverse transforms err in float32 where the result is 0.
DISPUTED = ("test_resize_downsample_scales_cubic_align_corners", "test_resize_downsample_scales_linear_align_corners",
            "test_dft_inverse", "test_dft_inverse_opset19")
# These draw random numbers: their outputs are not determined.
RANDOM = ("test_bernoulli", "test_training_dropout", "test_dropout_random")


def reason_of(errors):
    """Why a model is refused; nothing if it is not by what may refuse one."""
    for error in errors:
        if not error["type"].startswith(REFUSALS):
            return ""
    parameters = errors[0].get("params", {})
    for key in ("operator", "type"):
        if key in parameters:
            return f"{errors[0]['type']} {parameters[key]}"
    return errors[0]["type"]


def tensors(folder, kind):
    return sorted(folder.glob(f"{kind}_*.pb"), key=lambda path: int(path.stem.split("_")[1]))


def elements(value, file):
    """The tensors of a value in a file: one, those of a list, or none of an optional that is empty; nothing: it is of another kind."""
    kind, content = value.type, pathlib.Path(file).read_bytes()
    is_optional = kind.HasField("optional_type")
    if is_optional:
        kind = kind.optional_type.elem_type
    if kind.HasField("sequence_type"):
        if is_optional:
            optional = onnx.OptionalProto.FromString(content)
            sequence = optional.sequence_value if optional.HasField("sequence_value") else None
        else:
            sequence = onnx.SequenceProto.FromString(content)
        return [numpy_helper.to_array(tensor) for tensor in sequence.tensor_values] if sequence else []
    if is_optional:
        optional = onnx.OptionalProto.FromString(content)
        return numpy_helper.to_array(optional.tensor_value) if optional.HasField("tensor_value") else []
    return None


def run(binary, case):
    """(state, detail): PASS, FAIL, DISPUTED, or UNSUPPORTED with its reason."""
    path = DATA / case
    model = onnx.load(path / "model.onnx")
    inputs = [value for value in model.graph.input if value.name]
    names = [value.name for value in inputs]
    for folder in sorted(path.glob("test_data_set_*")):
        with tempfile.TemporaryDirectory() as results:
            command = [binary, "run", str(path / "model.onnx"), "--format", "json", "--threads", "1", "--output-dir", results]
            for number, (value, file) in enumerate(zip(inputs, tensors(folder, "input"))):
                found = elements(value, file)
                if found is None:
                    command += ["--input", f"{value.name}={file}"]
                for place, array in enumerate(found if isinstance(found, list) else [] if found is None else [found]):
                    np.save(f"{results}/given_{number}_{place}.npy", array)
                    of = f"[{place}]" if isinstance(found, list) else ""
                    command += ["--input", f"{value.name}{of}={results}/given_{number}_{place}.npy"]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            except subprocess.TimeoutExpired:
                return "FAIL", "no end in a minute"
            if done.returncode not in (0, 1):
                return "FAIL", f"exit status {done.returncode}: {done.stderr[-300:]}"
            report = json.loads(done.stdout)
            if done.returncode == 1:
                reason = reason_of(report["errors"])
                return ("UNSUPPORTED", reason) if reason else ("FAIL", report["errors"][0]["message"])
            wanted = []
            for value, file in zip(model.graph.output, tensors(folder, "output")):
                found = elements(value, file)
                wanted += ([numpy_helper.to_array(onnx.load_tensor(file))] if found is None
                           else found if isinstance(found, list) else [found])
            wrong = difference(report["outputs"], wanted)
            if wrong:
                return ("DISPUTED" if case in DISPUTED and agrees(path / "model.onnx", report["outputs"], names, folder)
                        else "FAIL"), wrong
    return "PASS", ""


def difference(outputs, arrays):
    if len(outputs) != len(arrays):
        return f"{len(outputs)} outputs instead of {len(arrays)}"
    for output, wanted in zip(outputs, arrays):
        found = np.load(output["file"])
        if found.dtype.kind == "V":  # the bytes of a type that NumPy lacks
            found = found.view(getattr(ml_dtypes, output["dtype"].replace("float8", "float8_")))
        if found.shape != wanted.shape or found.dtype != wanted.dtype:
            return f"{found.dtype}{list(found.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
        kind = np.float64 if found.dtype.kind in "fV" else found.dtype
        if not np.allclose(found.astype(kind), wanted.astype(kind), rtol=1e-3, atol=1e-7, equal_nan=True):
            worst = np.argmax(np.abs(found.astype(np.float64) - wanted.astype(np.float64)))
            return f"{output['name']}: {found.reshape(-1)[worst]} instead of {wanted.reshape(-1)[worst]} at {worst}"
    return ""


def agrees(path, outputs, names, folder):
    """Whether ONNX Runtime has our outputs."""
    feeds = {name: numpy_helper.to_array(onnx.load_tensor(file)) for name, file in zip(names, tensors(folder, "input"))}
    wanted = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, feeds)
    return all(equality.compare(np.load(output["file"]), value, value)[0]
               for output, value in zip(outputs, wanted, strict=True))


def covered(binary, cases):
    """Reasons by case where `heddle check` knows already that an operator or a type is missing."""
    files = {str(DATA / case / "model.onnx"): case for case in cases}
    done = subprocess.run([binary, "check", *files, "--format", "json"], capture_output=True, text=True)
    missing = {}
    for error in json.loads(done.stdout)["errors"]:
        if error["type"] in ("onnx.unsupported_operator", "onnx.unsupported_dtype"):
            missing.setdefault(files[error["params"]["file"]], reason_of([error]))
    return missing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", default=str(ROOT / "build/heddle"))
    parser.add_argument("--list", help="name the cases whose reason contains this text")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    cases = sorted(path.name for path in DATA.iterdir() if not path.name.startswith(RANDOM))
    cases = [case for case in cases if all(name in case for name in arguments.names)]
    results = {case: ("UNSUPPORTED", reason) for case, reason in covered(arguments.heddle, cases).items()}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        open_cases = [case for case in cases if case not in results]
        results |= zip(open_cases, pool.map(lambda case: run(arguments.heddle, case), open_cases))
    allowed = allowed_refusals()
    for case, (state, reason) in results.items():
        if state == "UNSUPPORTED" and allowed.get(case) != reason:
            results[case] = ("FAIL", f"refused: {reason}" + (f", not {allowed[case]}" if case in allowed else ", which is new"))
        elif state == "PASS" and case in allowed:
            print(f"note: {case} runs and can be taken off refusals.txt")
    count = collections.Counter(state for state, _ in results.values())
    for case in cases:
        if results[case][0] in ("FAIL", "DISPUTED"):
            print(f"{results[case][0]} {case}: {results[case][1]}")
        elif arguments.list is not None and results[case][0] == "UNSUPPORTED" and arguments.list in results[case][1]:
            print(f"{case}: {results[case][1]}")
    for reason, times in collections.Counter(r for s, r in results.values() if s == "UNSUPPORTED").most_common():
        print(f"unsupported {times:4} {reason}")
    few = not arguments.names and count["PASS"] < PASSED
    if few:
        print(f"FAIL fewer pass than {PASSED}")
    print(f"{count['PASS']} cases pass, {count['UNSUPPORTED']} are unsupported, {count['DISPUTED']} are disputed, of {len(cases)}")
    print(f"{count['PASS']} passed, {count['FAIL'] + few} failed, 0 skipped")
    return count["FAIL"] > 0 or few


if __name__ == "__main__":
    sys.exit(main())
