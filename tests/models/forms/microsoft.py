"""Operators of ONNX Runtime's own domain. It is the only peer; a result that floats are rounded to may be one unit off."""
import dataclasses
import functools

import numpy as np

import case as cases
from case import Case

F, I8, U8 = np.float32, np.int8, np.uint8


def size(r, most=6):
    return int(r.integers(1, most + 1))


def shape(r, rank):
    return [size(r, 5) for _ in range(rank)]


def floats(r, *dims):
    return r.standard_normal(dims).astype(F)


def bytes_(r, kind, *dims):
    low = np.iinfo(kind).min
    return r.integers(low, low + 256, dims).astype(kind)


def scale(r):
    return np.asarray(r.uniform(0.01, 0.05), F)


def zero(r, kind):
    return bytes_(r, kind)


def quantised(r, kind, prefix, value):
    """A tensor with its scale and zero point."""
    return {prefix: value, f"{prefix}_scale": scale(r), f"{prefix}_zero": zero(r, kind)}


def case(operator, inputs, attributes=None, outputs=("y",), feeds=None, **more):
    constant = tuple(name for name, value in inputs.items() if value is not None and name not in (feeds or list(inputs)[:1]))
    return Case(operator, 21, inputs, attributes or {}, list(outputs), constant, domain="com.microsoft", **more)


def pair(operator, r):
    kind, whole = (U8, I8)[r.integers(2)], shape(r, int(r.integers(1, 4)))
    other = [1 if r.random() < 0.3 else d for d in whole[int(r.integers(0, len(whole))):]]
    return case(operator, {**quantised(r, kind, "a", bytes_(r, kind, *whole)), **quantised(r, kind, "b", bytes_(r, kind, *other)),
                           "scale": np.asarray(r.uniform(0.02, 0.2), F), "zero": zero(r, kind)}, steps=1, feeds=("a", "b"))


def single(operator, attributes, r, rank=None):
    kind = (U8, I8)[r.integers(2)]
    x = bytes_(r, kind, *shape(r, rank or int(r.integers(1, 4))))
    drawn = {name: draw(r) if callable(draw) else draw for name, draw in attributes.items()}
    return case(operator, {**quantised(r, kind, "x", x), "scale": scale(r), "zero": zero(r, kind)}, drawn, steps=1)


def softmax(r):
    made = single("QLinearSoftmax", {}, r)
    made.attributes = {"axis": int(r.integers(0, made.inputs["x"].ndim)), "opset": int(r.choice([12, 13]))}
    return made


def average_pool(r):
    made = single("QLinearAveragePool", {}, r, rank=4)
    kind = made.inputs["x"].dtype
    made.inputs["x"] = bytes_(r, kind, size(r, 2), size(r, 3), size(r) + 3, size(r) + 3)
    made.attributes = {"kernel_shape": [2, 3], "strides": shape(r, 2), "pads": [int(p) for p in r.integers(0, 2, 4)],
                       "count_include_pad": int(r.integers(2))}
    return made


def concat(r):
    kind, dims, axis = (U8, I8)[r.integers(2)], shape(r, 3), int(r.integers(3))
    inputs = {"scale": scale(r), "zero": zero(r, kind)}
    for part in range(size(r, 4)):
        own = [size(r) if d == axis else extent for d, extent in enumerate(dims)]
        inputs |= quantised(r, kind, f"part{part}", bytes_(r, kind, *own))
    return case("QLinearConcat", inputs, {"axis": axis}, steps=1, feeds=[n for n in inputs if n.startswith("part") and "_" not in n])


def where(r):
    kind, dims = (U8, I8)[r.integers(2)], shape(r, 3)
    return case("QLinearWhere", {"c": r.random(dims) < 0.5, **quantised(r, kind, "a", bytes_(r, kind, *dims)),
                                 **quantised(r, kind, "b", bytes_(r, kind, *dims)), "scale": scale(r), "zero": zero(r, kind)},
                steps=1, feeds=("c", "a", "b"))


def weights(r, k, n):
    """Of a product with an uint8 matrix: bytes, scales and zero points, of all or of each column."""
    kind, each = (U8, I8)[r.integers(2)], bool(r.integers(2))
    dims = [n] if each else []
    return {"b": bytes_(r, kind, k, n), "b_scale": r.uniform(0.01, 0.05, dims).astype(F), "b_zero": bytes_(r, kind, *dims)}


def gemm(r):
    m, k, n = size(r), size(r, 20), size(r)
    w = weights(r, k, n)
    ta, tb, is_float = (bool(r.integers(2)) for _ in range(3))
    a = bytes_(r, U8, m, k)
    inputs = {"a": a.T if ta else a, "a_scale": scale(r), "a_zero": zero(r, U8), "b": w["b"].T if tb else w["b"],
              "b_scale": w["b_scale"], "b_zero": w["b_zero"],
              "c": r.integers(-999, 999, n).astype(np.int32) if r.integers(2) else None}
    if not is_float:
        inputs |= {"y_scale": np.asarray(r.uniform(0.2, 1), F), "y_zero": zero(r, U8)}
    return case("QGemm", inputs, {"transA": int(ta), "transB": int(tb), "alpha": float(r.choice([1.0, 0.5]))}, steps=1)


def to_float(r):
    m, k, n = size(r), size(r, 20), size(r)
    w = weights(r, k, n)
    return case("MatMulIntegerToFloat", {"a": bytes_(r, U8, m, k), "b": w["b"], "a_scale": scale(r), "b_scale": w["b_scale"],
                                         "a_zero": zero(r, U8), "b_zero": w["b_zero"], "bias": floats(r, n) if r.integers(2) else None})


def dynamic(r):
    m, k, n = size(r), size(r, 20), size(r)
    w = weights(r, k, n)
    return case("DynamicQuantizeMatMul", {"a": floats(r, m, k), **w, "bias": floats(r, n) if r.integers(2) else None}, tolerance=1e-4)


def few_bits(r):
    bits, block, k, n = int(r.choice([2, 4, 8])), int(r.choice([16, 32])), size(r, 100), size(r)
    blocks = -(-k // block)
    zeros = [None, bytes_(r, U8, n * -(-blocks * bits // 8)), r.uniform(0, 2**bits, n * blocks).astype(F)][r.integers(3 if bits < 8 else 2)]
    return case("MatMulNBits", {"a": floats(r, size(r), k), "b": bytes_(r, U8, n, blocks, block * bits // 8),
                                "scales": r.uniform(0, 1, n * blocks).astype(F), "zeros": zeros},
                {"K": k, "N": n, "bits": bits, "block_size": block}, tolerance=1e-4)


def lstm(r):
    """What is right is ONNX Runtime's LSTM of floats with these weights; its own operator rounds inputs and states as well."""
    steps, batch, inner, hidden, dirs = size(r), size(r, 3), size(r), size(r), int(r.integers(1, 3))
    dims = [dirs, 4 * hidden] if r.integers(2) else [dirs]
    scales = [r.uniform(0.001, 0.01, dims).astype(F) for _ in range(2)]
    made = case("DynamicQuantizeLSTM", {"x": floats(r, steps, batch, inner), "w": bytes_(r, I8, dirs, inner, 4 * hidden),
                                        "r": bytes_(r, I8, dirs, hidden, 4 * hidden),
                                        "bias": floats(r, dirs, 8 * hidden) if r.integers(2) else None, "lens": None, "h": None,
                                        "c": None, "p": None, "w_scale": scales[0], "w_zero": np.zeros(dims, I8),
                                        "r_scale": scales[1], "r_zero": np.zeros(dims, I8)},
                {"hidden_size": hidden, "direction": ("forward", "bidirectional")[dirs - 1]}, ("y", "h", "c"), tolerance=2e-5)
    given = made.inputs
    per_row = [scale[:, None] if len(dims) == 2 else scale[:, None, None] for scale in scales]
    w, own = (np.swapaxes(given[name].astype(F) * scale, 1, 2) for name, scale in zip("wr", per_row))
    plain = Case("LSTM", 14, {"x": given["x"], "w": w, "r": own, "bias": given["bias"]}, made.attributes, made.outputs)
    made.truth = cases.runtime(plain.model(), plain)
    rounded = cases.runtime(made.model(), made)
    made.notes["far"] = bool(cases.compare(rounded, made.truth, dataclasses.replace(made, tolerance=0.1)))
    return made


def fused_matmul(r):
    m, k, n = size(r), size(r), size(r)
    ta, tb = bool(r.integers(2)), bool(r.integers(2))
    batch = shape(r, int(r.integers(0, 3)))
    return case("FusedMatMul", {"a": floats(r, *batch, *((k, m) if ta else (m, k))), "b": floats(r, *batch, *((n, k) if tb else (k, n)))},
                {"alpha": float(r.choice([1.0, 0.5])), "transA": int(ta), "transB": int(tb)}, feeds=("a", "b"))


def skip_norm(operator, r):
    b, s, d = size(r), size(r), size(r) + 1
    beta = {"beta": floats(r, d) if r.integers(2) else None} if operator == "SkipLayerNormalization" else {}
    return case(operator, {"x": floats(r, b, s, d), "skip": floats(r, b, s, d), "gamma": floats(r, d), **beta,
                           "bias": floats(r, d) if r.integers(2) else None}, {"epsilon": 1e-5}, ("y", "", "", "sum"), ("x", "skip"), tolerance=1e-4)


def gelu(operator, has_bias, r):
    dims = shape(r, int(r.integers(1, 4)))
    return case(operator, {"x": floats(r, *dims), **({"bias": floats(r, dims[-1])} if has_bias else {})})


def embed(r):
    b, s, d = size(r), size(r), size(r) + 1
    ids = r.integers(0, 9, (b, s)).astype(np.int32)
    types = r.integers(0, 2, (b, s)).astype(np.int32) if r.integers(2) else None
    mask = r.integers(0, 2, (b, s)).astype(np.int32) if r.integers(2) else None
    return case("EmbedLayerNormalization", {"ids": ids, "types": types, "word": floats(r, 9, d), "position": floats(r, s + 2, d),
                                            "segment": None if types is None else floats(r, 2, d), "gamma": floats(r, d),
                                            "beta": floats(r, d), "mask": mask},
                {"epsilon": 1e-5}, ("y", "index"), ("ids", "types", "mask"), tolerance=1e-4)


def attention(r):
    b, s, heads, d = size(r, 3), size(r), size(r, 3), size(r, 4)
    width = heads * d
    causal = int(r.integers(2))
    mask = r.integers(0, 2, (b, s)).astype(np.int32) if r.integers(2) and not causal else None
    if mask is not None:
        mask[:, 0] = 1
    return case("Attention", {"x": floats(r, b, s, width), "w": floats(r, width, 3 * width), "bias": floats(r, 3 * width), "mask": mask},
                {"num_heads": heads, "unidirectional": causal}, feeds=("x", "mask"), tolerance=1e-4)


def heads(r):
    b, s, t, heads, d = size(r, 3), size(r), size(r), size(r, 3), size(r, 4)
    width = heads * d
    return case("MultiHeadAttention", {"q": floats(r, b, s, width), "k": floats(r, b, t, width), "v": floats(r, b, t, width),
                                       "bias": floats(r, 3 * width) if r.integers(2) else None},
                {"num_heads": heads}, feeds=("q", "k", "v"), tolerance=1e-4)


def fused_conv(r):
    name = str(r.choice(["Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid"]))
    numbers = {"LeakyRelu": [0.2], "Clip": [-0.5, 0.5], "HardSigmoid": [0.3, 0.4]}.get(name)
    c, m, image = size(r, 3), size(r, 4), [size(r) + 2, size(r) + 2]
    z = floats(r, 1, m, *image) if r.integers(2) and name == "Relu" else None
    return case("FusedConv", {"x": floats(r, 1, c, *image), "w": floats(r, m, c, 3, 3), "b": floats(r, m), "z": z},
                {"activation": name, "pads": [1, 1, 1, 1], **({"activation_params": numbers} if numbers else {})}, feeds=("x", "z"))


FORMS = {
    "QLinearAdd": functools.partial(pair, "QLinearAdd"),
    "QLinearMul": functools.partial(pair, "QLinearMul"),
    "QLinearSigmoid": functools.partial(single, "QLinearSigmoid", {}),
    "QLinearLeakyRelu": functools.partial(single, "QLinearLeakyRelu", {"alpha": 0.1}),
    "QLinearGlobalAveragePool": functools.partial(single, "QLinearGlobalAveragePool", {"channels_last": 0}, rank=4),
    "QLinearSoftmax": softmax, "QLinearAveragePool": average_pool, "QLinearConcat": concat, "QLinearWhere": where, "QGemm": gemm,
    "MatMulIntegerToFloat": to_float, "DynamicQuantizeMatMul": dynamic, "MatMulNBits": few_bits, "DynamicQuantizeLSTM": lstm,
    "FusedMatMul": fused_matmul, "SkipLayerNormalization": functools.partial(skip_norm, "SkipLayerNormalization"),
    "SkipSimplifiedLayerNormalization": functools.partial(skip_norm, "SkipSimplifiedLayerNormalization"),
    "com.microsoft.Gelu": functools.partial(gelu, "Gelu", False), "BiasGelu": functools.partial(gelu, "BiasGelu", True),
    "FastGelu": functools.partial(gelu, "FastGelu", True), "QuickGelu": functools.partial(gelu, "QuickGelu", False),
    "EmbedLayerNormalization": embed, "com.microsoft.Attention": attention, "MultiHeadAttention": heads, "FusedConv": fused_conv,
}

DIFFERENCES = [
    ("DynamicQuantizeLSTM", "ONNX Runtime", lambda case: not case.notes["far"], "rounds inputs and states to 8 bits: near the floats, not equal"),
]
