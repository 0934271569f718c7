"""Gradients through ONNX's own node tests, in double: along random directions, beside differences.

    python tests/models/gradient_suite.py [--package build/python] [PART OF A CASE'S NAME...]

Each model is made with float64 in place of float32 (gradients.py). Inputs of float types are those of the suite, moved a little; what
decides shapes is a constant. Left out are models that Heddle refuses, that have no floats to change or none that change, and
those whose values are not finite. The gradient itself is refused nowhere.
"""
import argparse
import collections
import pathlib
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/models"), str(ROOT / "scripts")]

import numpy as np
import onnx
from onnx import numpy_helper

import gradients
import report

DATA = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
PASSED = 1102  # so many at least
STEPS = (1e-6, 1e-8)  # the second one where the first one's ends lie on two sides of a kink
BOUND = 1e-5

warnings.filterwarnings("error", "the program runs as it was written")  # by a mistake of the compiler


def scale_of(array):
    return max(np.std(array), .1) if array.size else 1


class LeftOut(Exception):
    """Why a case says nothing of gradients."""


def read_inputs(folder, model):
    arrays = []
    for place in range(len(model.graph.input)):
        file = folder / f"test_data_set_0/input_{place}.pb"
        if not file.exists():
            raise LeftOut("inputs that are no tensors")
        try:
            arrays.append(numpy_helper.to_array(onnx.TensorProto.FromString(file.read_bytes())))
        except Exception:  # sequences and optionals
            raise LeftOut("inputs that are no tensors") from None
    return arrays


class Case:
    """A model's loss, with random factors, as a function of its inputs of float types."""

    def __init__(self, heddle, folder, random):
        model = onnx.load(folder / "model.onnx")
        arrays = read_inputs(folder, model)
        kept = gradients.decides_sizes(model)
        try:
            self.session = heddle.InferenceSession(gradients.in_double(model).SerializeToString())
        except heddle.Error:
            raise LeftOut("models that Heddle refuses") from None
        self.heddle, self.ops, self.random, self.factors = heddle, heddle.load_library(), random, {}
        self.moving, self.fixed = {}, {}
        for value, array in zip(model.graph.input, arrays):
            is_float = array.dtype in (np.float32, np.float64) and value.name not in kept
            array = array.astype(np.float64) if is_float else array
            moves = is_float and np.isfinite(array).all()  # a mask of infinities does not
            (self.moving if moves else self.fixed)[value.name] = array
        self.moving = {name: array + .01 * random.normal(size=array.shape) for name, array in self.moving.items()}
        if not self.moving:
            raise LeftOut("no inputs of float types that are finite")

    def loss(self, moving):
        results = self.session.call(**moving, **self.fixed)
        sums = []
        for place, result in enumerate(results if isinstance(results, tuple) else (results,)):
            if result.dtype not in ("float64", "float32"):
                continue
            factors = self.factors.setdefault(place, self.random.normal(size=result.shape))
            part = self.ops.call("reduce_sum", result * factors.astype(result.dtype))
            sums.append(self.ops.call("reshape_to", part, shape=[1]))
        doubles = [part for part in sums if part.dtype == "float64"]
        if not doubles:
            raise LeftOut("no outputs of float types")
        return sum(doubles[1:], doubles[0])

    def error(self, slopes, loss, step):
        direction = {name: self.random.normal(size=array.shape) * scale_of(array) for name, array in self.moving.items()}
        ends = [loss({name: array + by * direction[name] for name, array in self.moving.items()}).item() for by in (step, -step)]
        difference = (ends[0] - ends[1]) / (2 * step)
        parts = [slopes[name] * direction[name] for name in self.moving]
        size = np.sqrt(sum((part**2).sum() for part in parts))
        along = sum(part.sum() for part in parts)
        return abs(difference - along) / max(size, abs(along), 1e-3), f"{along:.9g} along a direction, {difference:.9g} by differences"

    def check(self):
        """What is wrong; nothing if nothing is."""
        loss = self.heddle.function(self.loss)
        try:
            value = loss(self.moving)
        except self.heddle.Error:
            raise LeftOut("models that are refused in double, or where floats decide shapes") from None
        if not np.isfinite(value).all():
            raise LeftOut("values that are not finite")
        slopes = self.heddle.grad(self.loss)(self.moving)
        for step in STEPS:
            error, text = self.error(slopes, loss, step)
            if error < BOUND:
                return None
        return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "build/python", help="the folder of the package")
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    sys.path.insert(0, str(options.package))
    import heddle
    results, left_out = report.Report(quiet=not options.parts), collections.Counter()
    for folder in sorted(DATA.iterdir()):
        if options.parts and not any(part in folder.name for part in options.parts):
            continue
        try:
            results.check(folder.name, Case(heddle, folder, np.random.default_rng(0)).check())
        except LeftOut as reason:
            left_out[str(reason)] += 1
        except (heddle.Error, RuntimeWarning) as refusal:
            results.check(folder.name, str(refusal))
    for reason, count in left_out.most_common():
        print(f"{count} left out: {reason}")
    if not options.parts:
        passed = results.count["PASS"]
        results.check("as many as before", None if passed >= PASSED else f"{passed} instead of {PASSED}")
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
