"""The models of steps.py as programs that heddle compile writes: which are exported, and whether they give what a session gives,
to the bit. Those that are refused, or refuse data, are listed with the reason; only a wrong result fails.

    python tests/models/exported_steps.py [--package build/python] [TITLE...]

TITLE is a part of a case's title.
"""
import collections
import json
import math
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE / "staged"), str(ROOT / "tests"), str(ROOT / "tests/python")]

import numpy as np
import onnx

import exported
from steps import KINDS, opened

SECONDS = 60  # that compiling may take


def binds_of(case):
    """The ranges of the dimensions that the feeds have, in as large steps as they allow."""
    sizes = collections.defaultdict(set)
    for value in onnx.load_from_string(case.model()).graph.input:
        for axis, dimension in enumerate(value.type.tensor_type.shape.dim):
            for feeds in case.feeds:
                if not dimension.HasField("dim_value") and isinstance(feeds.get(value.name), np.ndarray):
                    sizes[dimension.dim_param or f"{value.name}.{axis}"].add(feeds[value.name].shape[axis])
    steps = {name: math.gcd(*(size - min(found) for size in found)) or 1 for name, found in sizes.items()}
    return [word for name, found in sizes.items()
            for word in ("--bind", f"{name}={min(found)}:{max(found)}:{steps[name]}")]


def row_major(value):
    """Of a tensor, of a list of them, or of nothing."""
    if isinstance(value, list):
        return [row_major(element) for element in value]
    return None if value is None else np.require(value, requirements="C")


def bits_of(value):
    if isinstance(value, list):
        return [bits_of(element) for element in value]
    return None if value is None else (value.dtype, value.shape, value.tobytes())


def outcome(heddle, case, folder):
    """One word, and what there is to say."""
    (folder / "model.onnx").write_bytes(case.model())
    command = [exported.HEDDLE, "compile", folder / "model.onnx", "-o", folder / "out", "--target", "native", *binds_of(case)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "slow", f"compiling takes more than {SECONDS} seconds"
    if done.returncode < 0:
        return "wrong", f"the compiler ends with signal {-done.returncode}"
    if done.returncode:
        return "refused", " ".join(done.stderr.split())[:300]
    manifest = json.loads(next((folder / "out").glob("*.json")).read_text())
    if "steps" not in manifest:
        return "one graph", ""
    program = exported.StepProgram(folder / "out")
    session = heddle.InferenceSession(case.model(), threads=1)
    for feeds in case.feeds:
        wanted = session.run(None, feeds)
        try:
            found = program.run(*(row_major(feeds[value.name]) for value in session.get_inputs()))
        except exported.Refused as problem:
            return "refuses data", f"{problem.status}: {problem}"
        for a, b in zip(found, wanted, strict=True):
            if bits_of(a) != bits_of(b):
                return "wrong", f"{a} instead of {b}"
    return "agrees", f"{manifest['steps']} steps, {manifest['parts']} parts"


def main():
    results, heddle, cases = opened(__doc__)
    count = collections.Counter()
    for _, title, case in cases(*KINDS) if heddle else ():
        with tempfile.TemporaryDirectory() as name:
            try:
                word, text = outcome(heddle, case, pathlib.Path(name))
            except (heddle.Error, AssertionError) as problem:
                word, text = "wrong", f"{type(problem).__name__}: {problem}"
        count[word] += 1
        print(f"{word}: {title}: {text}", flush=True)
        results.check(title, text if word == "wrong" else "")
    print(", ".join(f"{number} {word}" for word, number in count.most_common()))
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
