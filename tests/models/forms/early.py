"""Operators as the first opsets had them. Runtimes and the reference have later ones; NumPy says what is right."""
import functools

import numpy as np

from case import Case

F = np.float32
JOINED = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "And": np.logical_and, "Or": np.logical_or,
          "Xor": np.logical_xor, "Equal": np.equal, "Less": np.less, "Greater": np.greater}
SEVERAL = {"Sum": lambda *x: functools.reduce(np.add, x), "Max": lambda *x: functools.reduce(np.maximum, x),
           "Min": lambda *x: functools.reduce(np.minimum, x), "Mean": lambda *x: functools.reduce(np.add, x) / F(len(x))}
SINGLE = {"Abs": np.abs, "Neg": np.negative, "Floor": np.floor, "Ceil": np.ceil, "Exp": np.exp, "Tanh": np.tanh,
          "Relu": lambda x: np.maximum(x, 0), "Sigmoid": lambda x: 1 / (1 + np.exp(-x))}


def shape(r, rank=None):
    return [int(n) for n in r.integers(1, 6, rank or int(r.integers(1, 5)))]


def floats(r, dims):
    return r.standard_normal(dims).astype(F)


def consumed(r, opset, count):
    return {"consumed_inputs": [0] * count} if opset < 6 and r.integers(2) else {}


def pair(operator, r):
    opset = int(r.choice([1, 6]))
    whole = shape(r)
    first = int(r.integers(0, len(whole)))
    end = int(r.integers(first, len(whole) + 1)) if r.integers(2) else len(whole)
    within = whole[first:end]
    attributes = {"broadcast": 1, **({"axis": first - (len(whole) if r.random() < 0.2 else 0)} if end < len(whole) else {})}
    if within == whole and r.integers(2):
        attributes = {}
    logical = operator in ("And", "Or", "Xor")
    a, b = (floats(r, dims) > 0 if logical else np.round(floats(r, dims) * 2) + F(0.25) if operator == "Equal" else floats(r, dims)
            for dims in (whole, within))
    truth = JOINED[operator](a, b.reshape(within + [1] * (len(whole) - end)))
    return Case(operator, opset, {"a": a, "b": b}, {**attributes, **(consumed(r, opset, 2) if operator in ("Add", "Sub", "Mul", "Div") else {})},
                ["y"], truth=[truth])


def several(operator, r):
    opset, dims = int(r.choice([1, 6])), shape(r)
    inputs = {f"x{i}": floats(r, dims) for i in range(int(r.integers(1, 5)))}
    return Case(operator, opset, inputs, consumed(r, opset, len(inputs)), ["y"], truth=[SEVERAL[operator](*inputs.values())])


def single(operator, r):
    x = floats(r, shape(r))
    return Case(operator, 1, {"x": x}, consumed(r, 1, 1), ["y"], truth=[SINGLE[operator](x)])


def hardmax(r):
    x = floats(r, shape(r))
    axis = int(r.integers(-x.ndim, x.ndim))
    rows = x.reshape(int(np.prod(x.shape[:axis % x.ndim])), -1)
    truth = np.zeros_like(rows)
    truth[np.arange(len(rows)), rows.argmax(1)] = 1
    return Case("Hardmax", int(r.choice([1, 7, 11])), {"x": x}, {"axis": axis}, ["y"], truth=[truth.reshape(x.shape)])


def gemm(r):
    m, k, n = shape(r, 3)
    a, b, c = floats(r, (m, k)), floats(r, (k, n)), floats(r, ([m, n], [n], [1])[r.integers(3)])
    ta, tb = int(r.integers(2)), int(r.integers(2))
    return Case("Gemm", int(r.choice([1, 6])), {"a": a.T if ta else a, "b": b.T if tb else b, "c": c},
                {"transA": ta, "transB": tb, "broadcast": 1, "alpha": 0.5}, ["y"], truth=[F(0.5) * (a @ b) + c], tolerance=1e-5)


def cast(r):
    name, kind = [("INT64", np.int64), ("FLOAT16", np.float16), ("DOUBLE", np.float64), ("UINT8", np.uint8), ("BOOL", np.bool_)][r.integers(5)]
    x = np.abs(floats(r, shape(r))) * 9
    return Case("Cast", int(r.integers(1, 6)), {"x": x}, {"to": name}, ["y"], truth=[x.astype(kind)])


def reshape(r):
    x = floats(r, shape(r, 3))
    to = [[0, -1], [-1], [0, 0, -1], [x.size, 1]][r.integers(4)]
    truth = x.reshape([x.shape[d] if n == 0 else n for d, n in enumerate(to)])
    return Case("Reshape", int(r.integers(1, 5)), {"x": x}, {"shape": to}, ["y"], truth=[truth])


def concat(r):
    dims = shape(r, 3)
    a, b = floats(r, dims), floats(r, dims)
    axis = int(r.integers(3))
    return Case("Concat", int(r.integers(1, 4)), {"a": a, "b": b}, {"axis": axis} if axis != 1 else {}, ["y"], truth=[np.concatenate([a, b], axis)])


def split(r):
    x, axis = floats(r, [6, 6, 6]), int(r.integers(3))
    sizes = [[1, 5], [3, 3], [6, 0]][r.integers(3)]
    truth = np.split(x, [sizes[0]], axis)
    if r.integers(2):
        return Case("Split", 1, {"x": x, "sizes": np.asarray(sizes, F)}, {"axis": axis}, ["y", "z"], ("sizes",), truth=truth)
    return Case("Split", 1, {"x": x}, {"axis": axis, "split": sizes}, ["y", "z"], truth=truth)


def tile(r):
    x, times = floats(r, shape(r, 3)), int(r.integers(1, 4))
    axis = int(r.integers(3))
    truth = np.tile(x, [times if d == axis else 1 for d in range(3)])
    return Case("Tile", int(r.integers(1, 6)), {"x": x, "tiles": np.asarray([times], F), "axis": np.asarray([axis], F)}, {}, ["y"],
                ("tiles", "axis"), truth=[truth])


def top(r):
    x = floats(r, shape(r, 2))
    k = int(r.integers(1, x.shape[1] + 1))
    order = np.argsort(-x, axis=1, kind="stable")[:, :k]
    return Case("TopK", int(r.integers(1, 10)), {"x": x}, {"k": k}, ["v", "i"], truth=[np.take_along_axis(x, order, 1), order])


def pad(r):
    x = floats(r, shape(r, 3))
    ends = r.integers(0, 3, (2, 3))
    return Case("Pad", 1, {"x": x}, {"paddings": [int(n) for n in ends.reshape(-1)], "value": 0.5}, ["y"],
                truth=[np.pad(x, ends.T, constant_values=0.5)])


def upsample(r):
    x, height, width = floats(r, shape(r, 4)), float(r.integers(1, 4)), float(r.integers(1, 4))
    attributes = [{"height_scale": height, "width_scale": width}, {"scales": [1.0, 1.0, height, width]}]
    new = int(r.integers(2))
    return Case("Upsample", 7 if new else 1, {"x": x}, attributes[new], ["y"], truth=[x.repeat(int(height), 2).repeat(int(width), 3)])


FORMS = {**{f"early {name}": functools.partial(pair, name) for name in JOINED},
         **{f"early {name}": functools.partial(several, name) for name in SEVERAL},
         **{f"early {name}": functools.partial(single, name) for name in SINGLE},
         "early Hardmax": hardmax, "early Gemm": gemm, "early Cast": cast, "early Reshape": reshape, "early Concat": concat,
         "early Split": split, "early Tile": tile, "early TopK": top, "early Pad": pad, "early Upsample": upsample}

DIFFERENCES = [("", peer, lambda case: True, "has the operators of later opsets") for peer in ("ONNX Runtime", "reference")]
