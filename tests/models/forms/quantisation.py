"""Quantisation by tensor, axis and block, of all types; casts between all types."""
import ml_dtypes
import numpy as np

from case import FLOATS_8, Case

INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, ml_dtypes.int4, ml_dtypes.uint4)
KINDS = (np.float32, np.float16, np.float64, ml_dtypes.bfloat16, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32,
         np.int64, np.uint64, np.bool_) + FLOATS_8 + (ml_dtypes.int4, ml_dtypes.uint4)


def limits(kind):
    info = ml_dtypes.iinfo(kind)
    return int(info.min), int(info.max)


def shares(random, shape):
    """(shape of the scales, axis, block) of a random way to share them."""
    way, axis = random.integers(3), int(random.integers(len(shape)))
    if way == 0:
        return (), axis, 0
    if way == 1:
        return (shape[axis],), axis, 0
    block = int(random.integers(1, shape[axis] + 1))
    return tuple(-(-n // block) if d == axis else n for d, n in enumerate(shape)), axis, block


def attributes_of(random, shape, axis, block):
    attributes = {"axis": axis - len(shape) if random.random() < 0.3 else axis}
    return attributes | ({"block_size": block} if block else {})


def some(random, shape, kind):
    if kind in INTEGERS:
        low, high = limits(kind)
        return random.integers(low, high, shape, endpoint=True).astype(kind)
    return (random.standard_normal(shape) * 3).astype(kind)


def quantize(random):
    shape = tuple(int(n) for n in random.integers(1, 7, random.integers(1, 4)))
    scale_shape, axis, block = shares(random, shape)
    to = (INTEGERS + FLOATS_8)[random.integers(len(INTEGERS) + 4)]
    opset = int(random.choice([21, 23, 25]))
    kind = [np.float32, np.float32, np.float16, ml_dtypes.bfloat16][random.integers(4)]
    scale_kind = kind if opset < 23 or random.random() < 0.6 else [np.float32, np.float16][random.integers(2)]
    scale = (2.0 ** random.integers(-3, 2, scale_shape) if random.random() < 0.5 else random.random(scale_shape) + 0.1).astype(scale_kind)
    x = random.standard_normal(shape) * random.choice([3, 60, 3000])
    if random.random() < 0.5:
        x = np.round(x * 8) / 8  # halves, for ties
    inputs = {"x": x.astype(kind), "scale": scale, "zero": None}
    attributes = attributes_of(random, shape, axis, block)
    if random.random() < 0.6:
        inputs["zero"] = np.zeros(scale_shape, to) if to in FLOATS_8 else some(random, scale_shape, to)
    else:
        attributes["output_dtype"] = int(cast_number(to))
    if to in FLOATS_8:
        attributes["saturate"] = int(random.integers(2))
    if opset >= 23 and random.random() < 0.3:
        attributes["precision"] = int(random.choice([1, 10]))
    case = Case("QuantizeLinear", opset, inputs, attributes, ["y"])
    case.truth = [quantized(case, to, axis, block)]
    return case


def spread(value, shape, axis, block):
    """Scales or zero points as they belong to elements."""
    if block:
        return np.repeat(value, block, axis)[tuple(slice(n) for n in shape)]
    return value.reshape([-1 if d == axis else 1 for d in range(len(shape))]) if value.ndim == 1 and value.size > 1 else value.reshape([1] * len(shape))


def quantized(case, to, axis, block):
    x, scale = case.inputs["x"].astype(np.float32), case.inputs["scale"].astype(np.float32)
    quotient = x / spread(scale, x.shape, axis, block)
    if case.attributes.get("precision") == 10:
        with np.errstate(over="ignore"):
            quotient = quotient.astype(np.float16).astype(np.float32)
    if to in FLOATS_8:
        if case.attributes["saturate"]:
            high = float(ml_dtypes.finfo(to).max)
            quotient = np.clip(quotient, -high, high)
        return quotient.astype(to)
    zero = 0 if case.inputs["zero"] is None else spread(case.inputs["zero"].astype(np.float64), x.shape, axis, block)
    return np.clip(np.rint(quotient.astype(np.float64)) + zero, *limits(to)).astype(to)


def cast_number(kind):
    import onnx

    return onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))


def dequantize(random):
    shape = tuple(int(n) for n in random.integers(1, 7, random.integers(1, 4)))
    scale_shape, axis, block = shares(random, shape)
    kind = (INTEGERS + FLOATS_8 + (np.int32,))[random.integers(len(INTEGERS) + 5)]
    opset = int(random.choice([21, 23, 25]))
    if kind is np.int32:
        x = random.integers(-2 ** 30, 2 ** 30, shape).astype(kind)
        zero = x.reshape(-1)[random.integers(0, x.size, scale_shape)] + random.integers(-9, 9, scale_shape) if random.random() < 0.5 else None
        zero = None if zero is None else np.asarray(zero, np.int32)
    else:
        x = some(random, shape, kind)
        zero = None if random.random() < 0.4 else np.zeros(scale_shape, kind) if kind in FLOATS_8 else some(random, scale_shape, kind)
    scale = (random.random(scale_shape) + 0.1).astype([np.float32, np.float32, np.float16][random.integers(3)])
    attributes = attributes_of(random, shape, axis, block)
    if opset >= 23 and random.random() < 0.3:
        attributes["output_dtype"] = int(random.choice([1, 10]))
    case = Case("DequantizeLinear", opset, {"x": x, "scale": scale, "zero": zero}, attributes, ["y"],
                tolerance=2e-3 if scale.dtype == np.float16 or attributes.get("output_dtype") == 10 else 1e-6)
    if kind is np.int32:
        wide = [spread(value.astype(np.float64), shape, axis, block) for value in (scale, np.zeros(scale_shape) if zero is None else zero)]
        result = np.float16 if attributes.get("output_dtype") == 10 else np.float32 if "output_dtype" in attributes else scale.dtype
        with np.errstate(over="ignore"):
            case.truth = [((x.astype(np.float64) - wide[1]) * wide[0]).astype(result)]
    return case


def quantize_dynamic(random):
    x = random.standard_normal(tuple(random.integers(1, 9, random.integers(1, 4)))) * random.choice([0.01, 1, 300]) + random.choice([0, 3, -3])
    return Case("DynamicQuantizeLinear", 11, {"x": x.astype(np.float32)}, {}, ["y", "scale", "zero"])


def cast(random):
    """What does not fit an integer is left out: the standard says nothing of it."""
    kind, to = KINDS[random.integers(len(KINDS))], KINDS[random.integers(len(KINDS))]
    shape = tuple(int(n) for n in random.integers(1, 40, random.integers(1, 3)))
    if kind is np.bool_:
        x = random.integers(0, 2, shape).astype(kind)
    else:
        size = random.choice([1, 8, 300, 7e4, 1e9])
        x = random.standard_normal(shape) * size
        if kind not in FLOATS_8 + (np.float32, np.float16, np.float64, ml_dtypes.bfloat16):
            x = np.clip(np.round(x), *limits(kind))
        if to not in FLOATS_8 + (np.bool_, np.float32, np.float16, np.float64, ml_dtypes.bfloat16):
            low, high = limits(to)
            x = np.clip(x, max(low, -2.0 ** 62), min(high, 2.0 ** 62) * (1 - 1e-2))
        elif kind in (np.float32, np.float64) and random.random() < 0.3:
            x[random.random(shape) < 0.2] = random.choice([np.nan, np.inf, -np.inf, -0.0, 1e-8])
        with np.errstate(over="ignore"):
            x = x.astype(kind)
        if to not in FLOATS_8 + (np.bool_, np.float32, np.float16, np.float64, ml_dtypes.bfloat16):
            wide = x.astype(np.float64)
            x = np.where((wide >= max(limits(to)[0], -2.0 ** 62)) & (wide <= min(limits(to)[1], 2.0 ** 62)), x, np.ones((), kind))
    attributes = {"to": int(cast_number(to))}
    if to in FLOATS_8:
        attributes["saturate"] = int(random.integers(2))
    return Case("Cast", int(random.choice([21, 23, 24])), {"x": x}, attributes, ["y"], tolerance=0)


FORMS = {"quantize": quantize, "dequantize": dequantize, "quantize_dynamic": quantize_dynamic, "cast": cast}


def half_scale(case):
    return case.inputs["scale"].dtype.itemsize == 2 or case.inputs["x"].dtype.itemsize == 2


def beyond(case):
    """Whether a float8 that has no infinity may be exceeded without saturation."""
    return case.attributes.get("saturate") == 0 and cast_number(FLOATS_8[0]) in (
        case.attributes.get("to"), case.attributes.get("output_dtype"), *(cast_number(value.dtype) for value in [case.inputs.get("zero")] if value is not None))


DIFFERENCES = [
    ("quantize", "ONNX Runtime", beyond, "464 to 496 become 448, not NaN"),
    ("cast", "ONNX Runtime", beyond, "464 to 496 become 448, not NaN"),
    ("quantize", "reference", lambda case: half_scale(case) or case.attributes.get("precision") == 10,
     "rounds quotients of half precision to it; ONNX Runtime and we do only where `precision` says so"),
    ("quantize", "ONNX Runtime", lambda case: case.attributes.get("precision") == 10, "does not read `precision`"),
    ("dequantize", "reference", lambda case: case.inputs["x"].dtype == np.int32, "subtracts int32 in float32"),
]
