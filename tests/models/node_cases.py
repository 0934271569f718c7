"""Models of one node, drawn at random: what its schema says it takes, for all operators that have a template.

`draw(random, names)` gives a Case (forms/case.py). Shapes and attributes mostly fit each other; some do not, and some attributes
are what the standard rules out: what a runtime makes of these is for the caller to judge.
"""
import functools
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/models/forms")]

import ml_dtypes
import numpy as np
import yaml
from onnx import AttributeProto, defs, helper

import case as cases

DTYPES = {"float": np.float32, "double": np.float64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "int8": np.int8,
          "int16": np.int16, "int32": np.int32, "int64": np.int64, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32,
          "uint64": np.uint64, "bool": np.bool_}
USUAL = ("float", "int64", "int32", "uint8", "int8", "bool", "double", "float16")
WILD = (-2**31, 2**31 - 1, -2**63, 2**63 - 1, -1, 0, 5, 64, 2**20)
# Their results are drawn at random, or they hold graphs.
LEFT_OUT = {"If", "Dropout", "Constant"}


@functools.cache
def templates():
    """{operator: [(since, parameters)]} of ONNX's own domain."""
    result = {}
    for file in sorted((ROOT / "operators/onnx").glob("*.yaml")):
        for entry in yaml.safe_load(file.read_text()).values():
            if not isinstance(entry, dict):
                continue
            members = entry.get("family", {"": entry}).values()
            for key in (member["onnx"] for member in members if "onnx" in member):
                if key.get("domain", "") == "" and defs.has(key["name"]):
                    result.setdefault(key["name"], []).append((int(key.get("since", 1)), entry.get("params", {})))
    return result


def choices(operator, attribute):
    """What the templates let a text be."""
    found = set()
    for _, params in templates()[operator]:
        text = params.get(attribute, "")
        if isinstance(text, str) and "|" in text:
            found.update(word.strip() for word in re.sub(r"=.*", "", text).split("|"))
    return sorted(found)


# Where the schema is too wide: shapes of inputs by operator. `r` is the random generator, `s` a shape of the first input.
def _window(r):
    return [int(size) for size in r.integers(1, 4, r.integers(1, 3))]


def conv(r):
    window, group = _window(r), int(r.integers(1, 3))
    channels, filters = group * int(r.integers(1, 4)), group * int(r.integers(1, 4))
    image = [int(r.integers(3, 9)) for _ in window]
    return {"X": [int(r.integers(1, 3)), channels, *image], "W": [filters, channels // group, *window], "B": [filters]}, \
        {"group": group}, len(window)


def conv_transpose(r):
    shapes, attributes, rank = conv(r)
    x, w = shapes["X"], shapes["W"]
    return {"X": x, "W": [x[1], w[0] // attributes["group"], *w[2:]], "B": [w[0]]}, attributes, rank


def pool(r):
    window = _window(r)
    return {"X": [int(r.integers(1, 3)), int(r.integers(1, 4)), *(int(r.integers(3, 9)) for _ in window)]}, \
        {"kernel_shape": window}, len(window)


def spatial(r):
    rank = int(r.integers(1, 3))
    channels = int(r.integers(1, 5)) * 2
    return {"X": [2, channels, *(int(r.integers(1, 6)) for _ in range(rank))], "scale": [channels], "B": [channels], "bias": [channels],
            "mean": [channels], "var": [channels], "input": [2, channels, *(int(r.integers(1, 6)) for _ in range(rank))],
            "input_mean": [channels], "input_var": [channels]}, {"num_groups": 2}, rank


def matmul(r):
    m, k, n = (int(size) for size in r.integers(1, 7, 3))
    batch = [int(size) for size in r.integers(1, 4, r.integers(0, 2))]
    return {"A": batch + [m, k], "B": [k, n] if r.random() < 0.5 else batch + [k, n]}, {}, 2


def gemm(r):
    m, k, n = (int(size) for size in r.integers(1, 7, 3))
    a, b = bool(r.integers(2)), bool(r.integers(2))
    c = [[m, n], [n], [1], [m, 1], []][r.integers(5)]
    return {"A": [k, m] if a else [m, k], "B": [n, k] if b else [k, n], "C": c}, {"transA": int(a), "transB": int(b)}, 2


def blocks(r):
    block = int(r.integers(1, 4))
    return {"input": [1, 2 * block * block, 2 * block, 3 * block]}, {"blocksize": block}, 2


def compress(r):
    shape = _shape(r) or [3]
    return {"input": shape, "condition": [int(r.integers(0, min(shape) + 1))]}, {}, 2


def boxes(r):
    batch, classes, count = (int(size) for size in r.integers(1, 6, 3))
    return {"boxes": [batch, count, 4], "scores": [batch, classes, count], "iou_threshold": [1], "score_threshold": [1]}, {}, 2


def regions(r):
    count = int(r.integers(0, 5))
    return {"X": [1, *(int(size) for size in r.integers(1, 6, 3))], "rois": [count, 4], "batch_indices": [count]}, {}, 2


def regions_of_max(r):
    return {"X": [10, *(int(size) for size in r.integers(1, 6, 3))], "rois": [int(r.integers(1, 5)), 5]}, \
        {"pooled_shape": [int(size) for size in r.integers(1, 4, 2)]}, 2


def affine(r):
    rank = int(r.integers(2, 4))
    return {"theta": [2, rank, rank + 1], "size": [rank + 2]}, {}, rank


def deformed(r):
    shapes, attributes, rank = conv(r)
    batch, channels, *image = shapes["X"]
    while len(image) < 2:
        image, shapes["W"] = [*image, 3], [*shapes["W"], 1]
    window = shapes["W"][2:]
    out = [max(size - k + 1, 1) for size, k in zip(image, window)]
    shapes |= {"X": [batch, channels, *image], "offset": [batch, 2 * math.prod(window), *out], "mask": [batch, math.prod(window), *out]}
    return shapes, {**attributes, "offset_group": 1, "pads": [0] * 4, "strides": [1, 1], "dilations": [1, 1], "kernel_shape": window}, 2


def squares(r):
    size = int(r.integers(1, 6))
    return {"X": [*(int(size) for size in r.integers(1, 4, r.integers(0, 3))), size, size]}, {}, 2


SHAPES = {"Compress": compress, "NonMaxSuppression": boxes, "RoiAlign": regions, "MaxRoiPool": regions_of_max, "AffineGrid": affine,
          "DeformConv": deformed, "Det": squares, "Conv": conv, "ConvTranspose": conv_transpose, "ConvInteger": None, "MaxPool": pool, "AveragePool": pool, "LpPool": pool,
          "BatchNormalization": spatial, "InstanceNormalization": spatial, "GroupNormalization": spatial, "MatMul": matmul,
          "Gemm": gemm, "DepthToSpace": blocks, "SpaceToDepth": blocks, "LRN": spatial, "GlobalAveragePool": spatial,
          "GlobalMaxPool": spatial, "GlobalLpPool": spatial}
BROADCAST = {"Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Pow", "Mod",
             "Where", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift", "Sum", "Max", "Min", "Mean", "PRelu"}


def _shape(r):
    return [int(size) for size in r.choice([1, 2, 3, 4, 5, 7], r.integers(0, 5))]


def _part(r, shape):
    """A shape that broadcasts to `shape`."""
    kept = shape[int(r.integers(0, len(shape) + 1)):]
    return [1 if r.random() < 0.2 else size for size in kept]


def values(r, kind, shape):
    dtype = DTYPES[kind]
    if kind == "bool":
        return r.random(shape) < 0.5
    if kind in ("float", "double", "float16", "bfloat16"):
        return np.asarray(r.standard_normal(shape) * (1 if r.random() < 0.8 else 3)).astype(dtype)
    low = 0 if kind.startswith("u") else -9
    return np.asarray(r.integers(low, 10, shape)).astype(dtype)


def constant(r, operator, name, shape, rank, shapes):
    """A value for inputs that speak of shapes and places; nothing for others."""
    length = max(rank, 1)
    if name in ("axes",):
        chosen = r.permutation(length)[:r.integers(0, length + 1)]
        return np.asarray([int(a) - (length if r.random() < 0.3 else 0) for a in chosen], np.int64)
    if name in ("axis",):
        return np.asarray(int(r.integers(-length, length)), np.int64)
    if operator == "Reshape" and name == "shape":
        flat = int(np.prod(shape))
        return np.asarray([[-1], [flat], [1, -1], [0, -1] if rank > 1 else [-1], [flat, 1]][r.integers(5)], np.int64)
    if operator == "Expand" and name == "shape":
        return np.asarray([2] * int(r.integers(0, 2)) + [size if r.random() < 0.7 else 1 for size in shape], np.int64)
    if operator == "ConstantOfShape":
        return np.asarray(r.integers(0, 4, r.integers(0, 4)), np.int64)
    if name == "repeats":
        return np.asarray(r.integers(0, 3, rank), np.int64)
    if name == "pads":
        return np.asarray(r.integers(-1 if r.random() < 0.2 else 0, 3, 2 * rank), np.int64)
    if operator == "Slice" and name in ("starts", "ends", "steps"):
        count = min(rank, 2)
        return np.asarray({"starts": r.integers(-3, 3, count), "ends": r.integers(-1, 9, count),
                           "steps": r.choice([1, 1, 2, -1, -2], count)}[name], np.int64)
    if operator == "AffineGrid" and name == "size":
        return np.asarray([shape[0], 1, *r.integers(1, 5, shape[1])], np.int64)
    if name == "batch_indices":
        return np.zeros(shapes["batch_indices"], np.int64)
    if name == "max_output_boxes_per_class":
        return np.asarray([int(r.choice([0, 1, 3, 2**40]))], np.int64)
    if operator == "MelWeightMatrix":
        return np.asarray({"num_mel_bins": r.integers(0, 12), "dft_length": r.integers(1, 64), "sample_rate": 8192, "lower_edge_hertz": r.integers(0, 9),
                           "upper_edge_hertz": 2048}[name])
    if name == "K":
        return np.asarray([int(r.integers(0, 3))], np.int64)
    if name == "depth":
        return np.asarray(int(r.integers(1, 12)), np.int64)
    if name == "k":
        return np.asarray(int(r.integers(-3, 4)), np.int64)
    if name == "split" and rank:
        return None
    return None


def attribute(r, operator, name, schema, rank, spatial_rank):
    """A value that mostly fits."""
    kind = schema.type
    if name in ("axis", "batch_dims", "batch_axis", "time_axis"):
        return int(r.integers(-max(rank, 1), max(rank, 1))) if r.random() < 0.95 else rank + 1
    if name == "axes":
        chosen = r.permutation(max(rank, 1))[:r.integers(0, max(rank, 1) + 1)]
        return [int(a) for a in chosen] or None
    if name == "perm":
        return [int(a) for a in r.permutation(rank)] or None
    if name in ("strides", "dilations"):
        return [int(a) for a in r.integers(1, 3, spatial_rank)]
    if name == "pads":
        return [int(a) for a in r.integers(0, 2, 2 * spatial_rank)]
    if name in ("to", "dtype", "output_datatype"):
        return int(r.choice([1, 2, 3, 6, 7, 9, 10, 11]))
    if kind == AttributeProto.INT:
        default = schema.default_value.i if schema.default_value.name else 1
        return int(r.choice([0, 1, default, int(r.integers(0, 4))]))
    if kind == AttributeProto.FLOAT:
        return float(r.choice([0.01, 0.5, 1.0, 2.0, -0.5]))
    if kind == AttributeProto.STRING:
        known = choices(operator, name)
        return str(r.choice(known)) if known else None
    if kind == AttributeProto.INTS:
        return [int(a) for a in r.integers(0, 3, max(1, spatial_rank))]
    return None


def wild(r, schema):
    """What no exporter writes."""
    if schema.type == AttributeProto.INT:
        return int(r.choice(WILD))
    if schema.type == AttributeProto.INTS:
        return [int(r.choice(WILD)) for _ in range(int(r.choice([1, 2, 3, 4, 1000])))]
    if schema.type == AttributeProto.FLOAT:
        return float(r.choice([0.0, -1.0, np.inf, np.nan, 1e38]))
    if schema.type == AttributeProto.STRING:
        return "no such word"
    return None


def kinds_of(r, schema):
    """An element type for each type variable."""
    chosen = {}
    for constraint in schema.type_constraints:
        known = [text[7:-1] for text in constraint.allowed_type_strs if text.startswith("tensor(") and text[7:-1] in DTYPES]
        usual = [kind for kind in known if kind in USUAL]
        if not known:
            return None
        chosen[constraint.type_param_str] = "float" if "float" in known and r.random() < 0.6 else str(r.choice(usual or known))
    return chosen


def operators(names=()):
    return [name for name in sorted(set(templates()) - LEFT_OUT) if not names or name in names]


def _leaves_integers(case):
    """Whether a number is cast to integers that do not hold it. QuantizeLinear saturates, but what is no number."""
    values = np.asarray(next(iter(case.inputs.values())), np.float64)
    if case.operator == "QuantizeLinear":
        return not np.isfinite(values).all()
    to = helper.tensor_dtype_to_np_dtype(case.attributes["to"]) if case.operator == "Cast" else case.inputs["target_type"].dtype
    if to.kind not in "iu":
        return False
    limits = np.iinfo(to)
    return not bool((np.isfinite(values) & (np.trunc(values) >= limits.min) & (np.trunc(values) <= limits.max)).all())


def _leaves_little(case):
    """Whether the epsilon takes nearly all of a variance away."""
    x = case.inputs["X"].astype(np.float64)
    variance = x.var(tuple(range(case.attributes.get("axis", -1) % x.ndim, x.ndim)))
    return bool((np.abs(variance + case.attributes.get("epsilon", 1e-5)) < 0.05 * variance).any())


def _left_by_erf(x):
    """What an error in the last place of 1 + erf(x) is to the greatest of Gelu's results: much where x is all below -3."""
    x = x.astype(np.float64).reshape(-1)
    greatest = max((abs(v) / 2 * math.erfc(-v / math.sqrt(2)) for v in x if math.isfinite(v)), default=0)
    return float(np.abs(x[np.isfinite(x)]).max(initial=0) * 2.0**-24 / greatest) if greatest else 0.0


def undefined(case):
    """Why ONNX does not say what the result is; empty: it does."""
    kinds = {name: value.dtype.kind for name, value in case.inputs.items() if value is not None}
    if case.operator == "Pow" and kinds["X"] in "iu" and kinds["Y"] not in "iu":
        return "a float that no integer is near"
    if any(isinstance(value, float) and not np.isfinite(value) for value in case.attributes.values()):
        return "an attribute that is no finite number"
    if case.operator.startswith("ReduceLog") and kinds["data"] in "iu":
        return "a logarithm that no integer is near"
    if case.operator in ("Cast", "CastLike", "QuantizeLinear") and _leaves_integers(case):
        return "a number outside the range of the type"
    if case.operator == "LayerNormalization" and _leaves_little(case):
        return "what is left of a variance less nearly as much"
    if case.operator == "AffineGrid" and case.attributes.get("align_corners") and (case.inputs["size"][2:] == 1).any():
        return "corners of one element: it is at -1 in the reference, at 1 in ONNX Runtime, at 0 in PyTorch"
    if case.operator == "NonZero" and case.inputs["X"].ndim == 0:
        return "ONNX Runtime takes a scalar for a list of one; ONNX says that it has no coordinate"
    same = case.attributes.get("auto_pad", "NOTSET").startswith("SAME")
    if same and max(case.attributes.get("strides", [1])) > 1 and case.operator == "Conv":
        return "padding below zero where strides are longer than windows: each runtime crops elsewhere"
    if case.operator == "MaxPool" and case.attributes.get("auto_pad", "NOTSET").startswith("SAME") and "dilations" in case.attributes:
        return "ONNX Runtime leaves dilations out of the size"
    return ""


def edges(case):
    """(attribute, values) for each attribute of the operator: at the edges of what it allows, and beyond."""
    for name, formal in defs.get_schema(case.operator, case.opset, "").attributes.items():
        given = case.attributes.get(name)
        if formal.type == AttributeProto.INT:
            yield name, WILD
        elif formal.type == AttributeProto.FLOAT:
            yield name, (0.0, -1.0, float("inf"), float("nan"))
        elif formal.type == AttributeProto.STRING:
            yield name, ("", "no such word")
        elif formal.type == AttributeProto.INTS:
            length = len(given) if given else 2
            yield name, [[value] * length for value in WILD] + [[1] * 1000]


def defaults(schema):
    """{attribute: value} of all that have a default."""
    given = {name: helper.get_attribute_value(formal.default_value) for name, formal in schema.attributes.items()
             if formal.default_value.type}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in given.items()}


def draw(r, names=None, wildness=0.1):
    """A case, or nothing where this operator has no types of ours at this opset."""
    operator = str(r.choice(operators(names)))
    opset = int(r.integers(7, 24))
    try:
        schema = defs.get_schema(operator, opset, "")
    except defs.SchemaError:
        return None
    kinds = kinds_of(r, schema) if not schema.deprecated else None
    if kinds is None:
        return None
    shape, fixed, spatial_rank = _shape(r), {}, 2
    shapes = {}
    if SHAPES.get(operator):
        shapes, fixed, spatial_rank = SHAPES[operator](r)
        shape = next(iter(shapes.values()))
    inputs, constants = {}, []
    for number, formal in enumerate(schema.inputs):
        optional = formal.option == defs.OpSchema.FormalParameterOption.Optional
        if optional and r.random() < 0.5:
            inputs[formal.name] = None
            continue
        kind = kinds.get(formal.type_str) or formal.type_str[7:-1]
        if kind not in DTYPES:
            return None
        variadic = formal.option == defs.OpSchema.FormalParameterOption.Variadic
        for copy in range(int(r.integers(1, 4)) if variadic else 1):
            name = f"{formal.name}{copy}" if variadic else formal.name
            value = constant(r, operator, formal.name, shape, len(shape), shapes) if number or operator in ("ConstantOfShape", "MelWeightMatrix") else None
            if value is not None:
                inputs[name] = value.astype(DTYPES[kind])
                constants.append(name)
                continue
            own = shapes.get(formal.name, _part(r, shape) if operator in BROADCAST and (number or copy) else shape)
            if r.random() < 0.02:
                own = _shape(r)
            if r.random() < 0.02 and own:
                own = [0, *own[1:]]
            inputs[name] = values(r, kind, own)
    attributes = {}
    for name, formal in schema.attributes.items():
        if formal.required or r.random() < 0.4:
            value = fixed.get(name, attribute(r, operator, name, formal, len(shape), spatial_rank))
            if r.random() < wildness:
                value = wild(r, formal)
            if value is not None:
                attributes[name] = value
        elif name in fixed:
            attributes[name] = fixed[name]
    count = int(r.integers(1, 4)) if schema.max_output > 4 else min(schema.max_output, len(schema.outputs))
    outputs = [f"y{i}" for i in range(max(schema.min_output, 1 if r.random() < 0.5 else count))]
    if r.random() < 0.3:  # what the standard says by itself, as some exporters write it
        attributes = {**defaults(schema), **attributes}
    tolerance = 3e-2 if "bfloat16" in kinds.values() else 3e-3 if "float16" in kinds.values() else 2e-5
    if operator == "RoiAlign":  # ONNX Runtime adds all samples of a bin one after another
        tolerance = max(tolerance, 2e-4)
    if operator == "Gelu" and inputs["X"].dtype == np.float32:
        tolerance = max(tolerance, _left_by_erf(inputs["X"]))
    return cases.Case(operator, opset, inputs, attributes, outputs, tuple(constants), tolerance)
