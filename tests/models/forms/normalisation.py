"""Normalisations, reductions, running sums and Fourier transforms: types, axes, versions, lengths."""
import numpy as np

from case import Case

REAL = (np.float32, np.float32, np.float64, np.float16)


def near(kind):
    return {np.float16: 4e-3, np.float64: 1e-6}.get(kind, 2e-5)


def normal(random, shape, kind):
    return random.standard_normal(shape).astype(kind)


def sizes(random, least, most, high=7):
    return tuple(int(n) for n in random.integers(1, high, random.integers(least, most + 1)))


def batch_norm(random):
    kind = REAL[random.integers(4)]
    shape = sizes(random, 2, 4)
    channel = (shape[1],)
    training = int(random.random() < 0.6)
    opset = int(random.choice([9, 14, 15])) if not training else int(random.choice([14, 15]))
    inputs = {"x": normal(random, shape, kind), "scale": normal(random, channel, kind), "b": normal(random, channel, kind),
              "mean": normal(random, channel, kind), "var": random.random(channel).astype(kind)}
    attributes = {"epsilon": float(random.choice([1e-5, 1e-2])), "momentum": float(random.random())}
    if opset >= 14:
        attributes["training_mode"] = training
    return Case("BatchNormalization", opset, inputs, attributes, ["y", "m", "v"] if training else ["y"], tolerance=2 * near(kind))


def group_norm(random):
    kind = REAL[random.integers(4)]
    groups, each = int(random.integers(1, 4)), int(random.integers(1, 4))
    shape = (int(random.integers(1, 4)), groups * each, *sizes(random, 1, 3))
    opset = int(random.choice([18, 21]))
    count = (groups,) if opset == 18 else (groups * each,)
    inputs = {"x": normal(random, shape, kind), "scale": normal(random, count, kind), "b": normal(random, count, kind)}
    return Case("GroupNormalization", opset, inputs, {"num_groups": groups, "epsilon": 1e-3}, ["y"], tolerance=4 * near(kind))


def broadcasting(random, shape):
    """A shape that broadcasts to this one: some of its last dimensions, some of them 1."""
    return tuple(int(n) if random.random() < 0.7 else 1 for n in shape[random.integers(len(shape) + 1):])


def layer_norm(random):
    kind = REAL[random.integers(4)]
    shape = sizes(random, 1, 4)
    operator = str(random.choice(["LayerNormalization", "RMSNormalization"]))
    axis = int(random.integers(len(shape)))
    count = shape[axis:] if random.random() < 0.5 else broadcasting(random, shape)
    inputs = {"x": normal(random, shape, kind), "scale": normal(random, count, kind)}
    results = ["y"]
    if operator == "LayerNormalization":
        inputs["b"] = normal(random, count, kind) if random.random() < 0.6 else None
        results = ["y", "mean", "inv"][:random.integers(1, 4)]
    attributes = {"axis": axis - len(shape) if random.random() < 0.5 else axis, "epsilon": 1e-3}
    return Case(operator, 23, inputs, attributes, results, tolerance=4 * near(kind))


def instance_norm(random):
    kind = REAL[random.integers(4)]
    shape = sizes(random, 3, 5)
    channel = (shape[1],)
    return Case("InstanceNormalization", int(random.choice([6, 22])), {"x": normal(random, shape, kind), "scale": normal(random, channel, kind),
                "b": normal(random, channel, kind)}, {"epsilon": 1e-3}, ["y"], tolerance=4 * near(kind))


def lp_norm(random):
    kind = REAL[random.integers(4)]
    shape = sizes(random, 1, 4)
    x = random.standard_normal(shape)
    if kind is np.float32:
        x *= 10.0 ** random.integers(-25, 25)
    p, axis = int(random.integers(1, 3)), int(random.integers(-len(shape), len(shape)))
    length = np.linalg.norm(x, p, axis, keepdims=True)
    return Case("LpNormalization", int(random.choice([1, 22])), {"x": x.astype(kind)}, {"axis": axis, "p": p}, ["y"], tolerance=near(kind),
                truth=[(x / length).astype(kind)])


def reduce(random):
    name = str(random.choice(["Sum", "Max", "Min", "Mean", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"]))
    kinds = [np.float32, np.float64, np.int32, np.int64] + [np.int8, np.uint8, np.bool_] * (name in ("Max", "Min"))
    kind = kinds[random.integers(len(kinds))]
    shape = sizes(random, 1, 4, 5)
    x = random.integers(0, 2, shape).astype(kind) if kind is np.bool_ else \
        random.integers(1 if name == "LogSum" else 0 if kind is np.uint8 else -3, 4, shape).astype(kind) if np.issubdtype(kind, np.integer) else \
        (normal(random, shape, kind) if name != "LogSum" else random.random(shape).astype(kind))
    axes = [int(d) - (len(shape) if random.random() < 0.4 else 0) for d in random.permutation(len(shape))[:random.integers(1, len(shape) + 1)]]
    opset = int(random.choice([13, 18, 20])) if kind is not np.bool_ else 20
    attributes, inputs = {"keepdims": int(random.integers(2))}, {"x": x}
    if opset >= 18 or name == "Sum":
        inputs["axes"] = np.array(axes, np.int64)
    else:
        attributes["axes"] = axes
    return Case("Reduce" + name, opset, inputs, attributes, ["y"], constant=("axes",) if "axes" in inputs else (), tolerance=1e-4)


def cumulative(random):
    kind = [np.float32, np.float64, np.int32, np.int64][random.integers(4)]
    shape = sizes(random, 1, 4)
    x = random.integers(-4, 5, shape).astype(kind)
    axis = np.array(random.integers(-len(shape), len(shape)), np.int64)
    return Case("CumSum", int(random.choice([11, 14])), {"x": x, "axis": axis},
                {"exclusive": int(random.integers(2)), "reverse": int(random.integers(2))}, ["y"], constant=("axis",))


def fourier(random):
    opset = int(random.choice([17, 20]))
    inverse, onesided = int(random.integers(2)), int(random.integers(2))
    shape = list(sizes(random, 2, 4, 9))
    axis = int(random.integers(len(shape) - 1))
    shape[-1] = 2 if inverse and onesided else 1 if onesided else int(random.integers(1, 3))
    x = random.standard_normal(shape).astype(np.float32)
    length = int(random.integers(1, 12)) if random.random() < 0.5 else None
    if inverse and onesided and length is None and shape[axis] < 2:
        length = 3
    inputs = {"x": x, "length": None if length is None else np.array(length, np.int64)}
    attributes = {"inverse": inverse, "onesided": onesided}
    place = axis - len(shape) if random.random() < 0.5 else axis
    if opset == 17:
        attributes["axis"] = place
    else:
        inputs["axis"] = np.array(place, np.int64)
    case = Case("DFT", opset, inputs, attributes, ["y"], constant=tuple(name for name in ("length", "axis") if inputs.get(name) is not None), tolerance=1e-5)
    signal = x[..., 0] + 1j * x[..., 1] if shape[-1] == 2 else x[..., 0].astype(np.complex128)
    if inverse and onesided:
        case.truth = [np.fft.irfft(signal, length, axis)[..., None].astype(np.float32)]
        return case
    result = (np.fft.ifft if inverse else np.fft.fft)(signal, length, axis)
    if onesided:
        result = np.take(result, np.arange(result.shape[axis] // 2 + 1), axis)
    case.truth = [np.stack([result.real, result.imag], -1).astype(np.float32)]
    return case


FORMS = {"batch_norm": batch_norm, "group_norm": group_norm, "layer_norm": layer_norm, "instance_norm": instance_norm, "lp_norm": lp_norm,
         "reduce": reduce, "cumulative": cumulative, "fourier": fourier}
DIFFERENCES = [
    ("batch_norm", "reference", lambda case: case.opset == 9, "takes every layer for one in training"),
    ("layer_norm", "reference", lambda case: len(case.outputs) > 1 and case.inputs["x"].dtype != np.float32,
     "gives mean and deviation the elements' type, not stash_type"),
    ("lp_norm", "reference", lambda case: case.attributes["p"] == 1, "adds elements up, not their sizes"),
    ("lp_norm", "reference", lambda case: case.inputs["x"].dtype != np.float64, "squares leave float32, or are rounded to float16"),
    ("lp_norm", "ONNX Runtime", lambda case: case.inputs["x"].dtype == np.float32, "squares leave float32"),
    ("reduce", "reference", lambda case: case.inputs["x"].dtype.kind == "i" and case.operator in ("ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "ReduceL2", "ReduceProd", "ReduceL1"),
     "leaves the result in NumPy's type"),
    ("reduce", "ONNX Runtime", lambda case: case.operator == "ReduceLogSumExp" and case.inputs["x"].dtype.kind == "i",
     "cuts the fraction off before it adds the greatest element"),
    ("fourier", "ONNX Runtime", lambda case: case.attributes["inverse"] and case.attributes["onesided"] and case.inputs["length"] is not None,
     "takes what is given for all frequencies that the length asks for"),
]
