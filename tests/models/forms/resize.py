"""Resize and Upsample: sizes and scales, all ways from an output's place to the input's, filters, cropping, integers. The value of
a nearest element is worked out by exact fractions."""
import math
from fractions import Fraction

import numpy as np

from case import Case

TRANSFORMS = ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric", "tf_crop_and_resize")
ROUNDINGS = {"round_prefer_floor": lambda p: math.ceil(p - Fraction(1, 2)), "round_prefer_ceil": lambda p: math.floor(p + Fraction(1, 2)),
             "floor": math.floor, "ceil": math.ceil}


def place(i, extent, size, scale, transform, begin, end):
    """Where an output element lies among those of the input, exactly."""
    half = Fraction(1, 2)
    if transform == "tf_crop_and_resize":
        return begin * (extent - 1) + i * (end - begin) * (extent - 1) / (size - 1) if size > 1 else half * (begin + end) * (extent - 1)
    if transform == "align_corners":
        return Fraction(i * (extent - 1), max(size - 1, 1))
    if transform == "asymmetric":
        return i / scale
    if transform == "pytorch_half_pixel" and size == 1:
        return Fraction(0)
    centre = (extent * scale - size) / 2 if transform == "half_pixel_symmetric" else 0
    return (i + half + centre) / scale - half


def weights(filter_of, radius, p, extent, scale, antialias, exclude):
    """The share of each input element in one at p."""
    narrow = min(float(scale), 1.0) if antialias else 1.0
    p, low = float(p), math.floor(p)
    first, count = 1 - math.ceil(radius / narrow), 2 * math.ceil(radius / narrow)
    shares = np.array([filter_of(abs(low + first + k - p) * narrow) for k in range(count)])
    places = np.array([low + first + k for k in range(count)])
    if exclude:
        shares[(places < 0) | (places >= extent)] = 0
    result = np.zeros(extent)
    with np.errstate(invalid="ignore"):  # all may lie outside
        np.add.at(result, np.clip(places, 0, extent - 1), shares / shares.sum() if antialias or exclude else shares)
    return result


def resize(random):
    rank = int(random.integers(1, 5))
    kind = [np.float32, np.float32, np.float64, np.float16, np.uint8, np.int8, np.int32][random.integers(7)]
    mode = str(random.choice(["nearest", "linear", "cubic"]))
    shape = [int(n) for n in random.integers(1, 24 if rank < 3 else 9, rank)]
    opset = int(random.choice([11, 13, 18, 19]))
    transform = TRANSFORMS[random.integers(len(TRANSFORMS) if opset < 18 or rank < 3 else 5)]
    if transform == "half_pixel_symmetric" and opset < 19:
        transform = "half_pixel"
    axes = list(range(rank))
    attributes = {"mode": mode, "coordinate_transformation_mode": transform}
    if opset >= 18 and random.random() < 0.5:
        axes = [int(d) for d in random.permutation(rank)[:random.integers(1, rank + 1)]]
        attributes["axes"] = [d - rank if random.random() < 0.2 else d for d in axes]
    if mode == "nearest":
        attributes["nearest_mode"] = str(random.choice(list(ROUNDINGS)))
    if mode == "cubic" and random.random() < 0.5:
        attributes["cubic_coeff_a"] = -0.5
    if mode != "nearest" and opset >= 18 and random.random() < 0.4:
        attributes["antialias"] = 1
    if mode == "cubic" and random.random() < 0.3:
        attributes["exclude_outside"] = 1
    inputs = {"X": random.integers(0, 100, shape).astype(kind), "roi": None, "scales": None, "sizes": None}
    crop = transform == "tf_crop_and_resize"
    begin, end = np.zeros(len(axes)), np.ones(len(axes))
    if crop:
        begin, end = random.integers(-1, 4, len(axes)) / 8, random.integers(5, 10, len(axes)) / 8
        inputs["roi"] = np.concatenate([begin, end]).astype(np.float32)
        attributes["extrapolation_value"] = float(random.integers(-3, 9))
    elif opset < 13:
        inputs["roi"] = np.zeros(0, np.float32)
    extents = [shape[d] for d in axes]
    if random.random() < 0.5:
        scales = np.array([random.choice([random.random() * 2.5 + 0.3, random.integers(1, 12) / 4]) for _ in axes], np.float32)
        sizes = [int(np.floor(np.float32(n) * s)) for n, s in zip(extents, scales)]
        inputs["scales"], ratios = scales, [Fraction(float(s)) for s in scales]
    else:
        sizes = [int(n) for n in random.integers(1, 24 if rank < 3 else 9, len(axes))]
        ratios = [Fraction(size, n) for size, n in zip(sizes, extents)]
        inputs["sizes"] = np.array(sizes, np.int64)
        if opset < 13:
            inputs["scales"] = np.zeros(0, np.float32)
        if opset >= 18 and random.random() < 0.4:
            attributes["keep_aspect_ratio_policy"] = str(random.choice(["not_larger", "not_smaller"]))
            ratio = (min if attributes["keep_aspect_ratio_policy"] == "not_larger" else max)(ratios)
            ratios = [ratio] * len(axes)
            sizes = [math.floor(ratio * n + Fraction(1, 2)) for n in extents]
    case = Case("Resize", opset, inputs, attributes, ["Y"], constant=tuple(name for name in ("roi", "scales", "sizes") if inputs[name] is not None),
                tolerance={np.float16: 2e-3, np.float64: 1e-6}.get(kind, 1e-5))
    case.notes = {"axes": axes, "sizes": sizes, "ratios": ratios, "begin": begin, "end": end}
    case.truth = [truth(case)]
    return case


def truth(case):
    attributes, notes, result = case.attributes, case.notes, case.inputs["X"].astype(np.float64)
    transform, mode = attributes["coordinate_transformation_mode"], attributes["mode"]
    a = attributes.get("cubic_coeff_a", -0.75)
    filters = {"linear": (1, lambda d: max(0, 1 - d)),
               "cubic": (2, lambda d: ((a + 2) * d - (a + 3)) * d * d + 1 if d < 1 else ((a * d - 5 * a) * d + 8 * a) * d - 4 * a if d < 2 else 0)}
    outside = np.zeros((1,) * result.ndim, bool)
    ties, rounded = 1.0, False
    for d, size, ratio, begin, end in zip(notes["axes"], notes["sizes"], notes["ratios"], notes["begin"], notes["end"]):
        extent = result.shape[d]
        if ratio == 1 and size == extent and (begin, end) == (0, 1):
            continue
        places = [place(i, extent, size, ratio, transform, Fraction(begin), Fraction(end)) for i in range(size)]
        matrix = np.zeros((size, extent))
        rounded |= ratio.numerator & (ratio.numerator - 1) != 0 and any(abs(p - round(p)) < 1e-5 for p in places)
        for i, p in enumerate(places):
            if mode == "nearest":
                matrix[i, min(max(ROUNDINGS[attributes["nearest_mode"]](p), 0), extent - 1)] = 1
                shifted = p + Fraction(1, 2) if attributes["nearest_mode"].startswith("round") else p
                ties = min(ties, float(abs(shifted - round(shifted)) / max(1, abs(p))))
            else:
                matrix[i] = weights(filters[mode][1], filters[mode][0], p, extent, ratio, attributes.get("antialias"), attributes.get("exclude_outside"))
        result = np.moveaxis(np.tensordot(matrix, result, (1, d)), 0, d)
        if transform == "tf_crop_and_resize":
            beyond = np.array([not 0 <= p <= extent - 1 for p in places], bool)
            outside = outside | beyond.reshape([-1 if e == d else 1 for e in range(result.ndim)])
    notes["ties"], notes["rounded"] = ties, rounded
    result = np.where(outside, attributes.get("extrapolation_value", 0.0), result)
    kind = case.inputs["X"].dtype
    if kind.kind in "iu":
        case.steps = int((np.abs(result - np.floor(result) - 0.5) < 1e-4).any())  # as rounding of floats leaves it
        result = np.clip(np.round(result), np.iinfo(kind).min, np.iinfo(kind).max)
    return result.astype(kind)


def upsample(random):
    rank = int(random.integers(1, 5))
    shape = [int(n) for n in random.integers(1, 8, rank)]
    scales = [float(random.choice([1, 2, 3, 1.5, 2.25])) for _ in shape]
    opset = int(random.choice([7, 9, 10]))
    inputs, attributes, operator = {"X": random.standard_normal(shape).astype(np.float32)}, {"mode": str(random.choice(["nearest", "linear"]))}, "Upsample"
    if opset == 7:
        attributes["scales"] = scales
    else:
        inputs["scales"] = np.array(scales, np.float32)
    if opset == 10:
        operator = "Resize"
        inputs["scales"] *= np.float32(random.choice([1, 0.5]))
    return Case(operator, opset, inputs, attributes, ["Y"], constant=("scales",) if opset > 7 else ())


FORMS = {"resize": resize, "upsample": upsample}


def crops(case):
    return case.attributes["coordinate_transformation_mode"] == "tf_crop_and_resize"


def fractional(case):
    """Whether scales give sizes that are not whole."""
    extents = [case.inputs["X"].shape[d] for d in case.notes["axes"]]
    return any((ratio * n).denominator > 1 for ratio, n in zip(case.notes["ratios"], extents))


DIFFERENCES = [
    ("resize", "reference", lambda case: fractional(case) and (crops(case) or case.attributes["coordinate_transformation_mode"] == "align_corners"),
     "takes the size before it is rounded for the last element's place"),
    ("resize", "reference", lambda case: case.attributes["coordinate_transformation_mode"] == "pytorch_half_pixel" and 1 in case.notes["sizes"],
     "has -0.5 in place of the standard's 0"),
    ("resize", "reference", lambda case: case.attributes["mode"] == "nearest" and case.notes["ties"] < 1e-9,
     "rounds the scale before it divides: off by one at exact ties"),
    ("resize", "ONNX Runtime", lambda case: case.attributes["mode"] == "nearest" and case.notes["ties"] < 1e-5,
     "works places out in float32: off by one near ties"),
    ("resize", "reference", lambda case: case.inputs["X"].dtype == np.float64, "has float32's accuracy"),
    ("resize", "ONNX Runtime", lambda case: case.inputs["X"].dtype.kind in "iu" and case.attributes["mode"] != "nearest" and not case.attributes.get("antialias"),
     "cuts fractions of integers off; with antialias, as the reference always does, it rounds"),
    ("resize", "reference", lambda case: case.notes["rounded"],
     "finds its window and its weights by different roundings of a place that is a whole number"),
    ("resize", "ONNX Runtime", lambda case: case.inputs["X"].dtype.kind in "iu" and case.attributes.get("antialias"),
     "weighs integers by integers: off by one"),
    ("resize", "ONNX Runtime", lambda case: "keep_aspect_ratio_policy" in case.attributes
     and case.attributes.get("axes", []) != sorted(case.notes["axes"]), "mixes axes up that do not ascend, or are counted from the end"),
    ("resize", "ONNX Runtime", lambda case: case.attributes.get("antialias") and any(
        ratio != 1 and case.inputs["X"].shape[d] == size for d, size, ratio in zip(*(case.notes[key] for key in ("axes", "sizes", "ratios")))),
     "leaves a dimension that keeps its size as it is, though the scale is not 1"),
    ("upsample", "ONNX Runtime", lambda case: case.opset == 10
     and any(s != 1 and int(s * n) == n for s, n in zip(case.inputs["scales"], case.inputs["X"].shape)),
     "copies what keeps its sizes, though the scale is not 1"),
    ("resize", "ONNX Runtime", lambda case: crops(case) and any(ratio == 1 for ratio in case.notes["ratios"]),
     "does not crop a dimension that keeps its size"),
]
