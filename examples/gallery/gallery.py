"""What the groups of the gallery share. A group is three files of one name beside this one, such as

    vision.yaml    templates
    vision.py      their references in NumPy, with inputs, sizes and work
    vision.c       the loops in C that a good engineer would write by hand

An operator is one template, one function in Python under @operator, and one function in C. All three have its name. The function
in C takes the inputs' arrays, then the outputs', then the sizes in the order in which @operator has them (long or double).
"""
import ctypes
import dataclasses
import functools
import hashlib
import importlib
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import yaml

FOLDER = pathlib.Path(__file__).resolve().parent
C_COMMAND = ["gcc", "-O3", "-march=native", "-fPIC", "-shared"]


class Random(np.random.Generator):
    """Inputs are made by it; always the same ones."""

    def __init__(self, name):
        super().__init__(np.random.PCG64(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")))

    def floats(self, *shape):
        return self.standard_normal(shape, dtype=np.float32)

    def shares(self, *shape):
        """In 0 .. 1."""
        return self.random(shape, dtype=np.float32)

    def integers_of(self, dtype, low, high, *shape):
        return self.integers(low, high, shape, dtype=dtype)


@dataclasses.dataclass(frozen=True)
class Operator:
    name: str
    group: str
    reference: object  # of the inputs: an array, or a tuple of them
    inputs: object     # of a Random and sizes: {name: array or parameter}
    test: dict         # sizes, small ones
    bench: dict        # sizes, realistic ones
    work: object       # of sizes: {kind: count}, see limit()
    tolerance: float   # of what the kernels and C compute, relative to the largest element
    apart: float       # the share of elements of other types, or beyond it, that a rounding may tip over
    smooth: bool       # at the test's inputs, so that differences show the derivative

    def made(self, sizes):
        """{name: array}, {name: parameter}."""
        values = self.inputs(Random(self.name), **sizes)
        arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        return arrays, {name: value for name, value in values.items() if name not in arrays}

    def expected(self, arrays, parameters):
        results = self.reference(**arrays, **parameters)
        return list(results) if isinstance(results, tuple) else [results]

    @property
    def templates(self):
        return FOLDER / f"{self.group}.yaml"

    @property
    def template(self):
        """As YAML, or its family's with what is its own."""
        for name, template in _templates(self.templates).items():
            if isinstance(template, dict) and self.name in [name, *template.get("family", {})]:
                return template | template.get("family", {}).get(self.name, {})
        raise KeyError(self.name)

    @property
    def outputs(self):
        return list(self.template["outputs"])

    @property
    def doc(self):
        return self.template["doc"]


OPERATORS = {}


def operator(*, inputs, test, bench, work, tolerance=1e-5, apart=0, smooth=True):
    """Adds the function below to the gallery, as the reference of the template that has its name."""
    def add(reference):
        name = reference.__name__
        OPERATORS[name] = Operator(name, pathlib.Path(reference.__code__.co_filename).stem, reference, inputs, test, bench, work,
                                   tolerance, apart, smooth)
        return reference
    return add


def load():
    """All operators, by name, in the order of the files."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    for path in sorted(FOLDER.glob("*.yaml")):
        importlib.import_module(path.stem)
    return sys.modules["gallery"].OPERATORS


@functools.cache
def _templates(path):
    return yaml.safe_load(path.read_text())


def type_text(array):
    """As heddle explain takes it: float32[2, 3]."""
    return f"{array.dtype}[{', '.join(map(str, array.shape))}]"


# --- Loops in C ---

class Peers:
    """The compiled loops of all groups."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="heddle-gallery-")
        self._libraries = {}

    def _library(self, group):
        if group not in self._libraries:
            target = pathlib.Path(self._folder.name) / f"{group}.so"
            subprocess.run([*C_COMMAND, "-o", str(target), str(FOLDER / f"{group}.c"), "-lm"], check=True)
            self._libraries[group] = ctypes.CDLL(str(target))
        return self._libraries[group]

    def call(self, operator, arrays, sizes, outputs):
        """A function without arguments that fills the outputs."""
        function = getattr(self._library(operator.group), operator.name)
        function.restype = None
        arguments = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays.values(), *outputs)]
        arguments += [ctypes.c_double(size) if isinstance(size, float) else ctypes.c_long(size) for size in sizes.values()]
        return lambda: function(*arguments)


def difference(operator, found, expected):
    """What is wrong with an output, or None."""
    found, expected = np.asarray(found), np.asarray(expected)
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"{type_text(found)} instead of {type_text(expected)}"
    wrong, worst = (found != expected) & ~((found != found) & (expected != expected)), ""  # NaNs are equal
    if np.issubdtype(expected.dtype, np.inexact):
        bound = operator.tolerance * float(np.abs(expected[np.isfinite(expected)]).max(initial=0))
        with np.errstate(invalid="ignore"):
            apart = np.abs(found - expected)
        wrong &= ~(apart <= bound)
        worst = f" by more than {bound:.2g}, at worst by {np.nanmax(apart, initial=0):.2g}"
    count = int(wrong.sum())
    return f"{count} of {found.size} elements differ{worst}" if count > operator.apart * found.size else None


# --- The limit ---

# What one element of an operation costs the units that multiply and add vectors, in multiply-adds of float32. Additions,
# comparisons, choices and logic count as multiply-adds do; an element of another type by its width; a function by the shortest
# sequence that is known to us for its accuracy.
VECTOR_COSTS = {"float32": 1, "int32": 1, "uint32": 1, "float64": 2, "int64": 2, "int16": 0.5, "uint8": 0.25, "bool": 0.25,
                "divide": 5, "sqrt": 5, "exp": 10, "log": 14, "sin": 12, "erf": 16}
# Cycles of one on ports of their own: an element read, or written, at a place that is data.
LOADS = "gather"
STORES = "scatter"
# Cycles, one after the other: no machine overlaps operations that wait for each other's results.
CHAIN = "dependent"            # multiply-adds, additions, comparisons of floats
CHAIN_OF_READS = "dependent_reads"  # integers: a read from L1 at a place that was just computed, and the logic before it
READ_LATENCY = 5


@dataclasses.dataclass(frozen=True)
class Limit:
    ms: float
    by: str  # bytes, operations, gather, scatter or chain


def limit(operator, sizes, input_bytes, output_bytes, machine):
    """The least time in which one core of the machine can do it: the largest of what the bytes (inputs and outputs, each once),
    the operations and the chains of an operator take. `machine` is what `heddle target --format json` prints. Data that fit in
    a cache are taken to be there, as they are when an operator runs again and again; `bytes` in the work is in place of the
    inputs' and outputs' where not all are read."""
    work = dict(operator.work(**sizes))
    lanes = machine["vector_bytes"] / 4
    cycle = 2 * lanes * machine["fma_per_cycle"] / machine["operations"]  # seconds
    touched = input_bytes + output_bytes
    moved = work.pop("bytes", touched)
    speeds = [(machine["l2_bytes"], machine["l2_bytes_per_cycle"] / cycle), (machine["l3_bytes"], machine["l3_bytes_per_cycle"] / cycle),
              (math.inf, machine["bandwidth_one_core"])]
    seconds = {
        "bytes": moved / next(speed for size, speed in speeds if touched <= size),
        "gather": work.pop(LOADS, 0) / machine["loads_per_cycle"] * cycle,
        "scatter": work.pop(STORES, 0) * cycle,
        "chain": (work.pop(CHAIN, 0) * machine["fma_latency"] + work.pop(CHAIN_OF_READS, 0) * (READ_LATENCY + 2)) * cycle,
        "operations": sum(count * VECTOR_COSTS[kind] for kind, count in work.items()) / (lanes * machine["fma_per_cycle"]) * cycle,
    }
    by = max(seconds, key=seconds.get)
    return Limit(seconds[by] * 1e3, by)
