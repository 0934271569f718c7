"""Windows: all types, paddings, dilations, rounding of sizes, and where the greatest element was."""
import itertools

import numpy as np

from case import Case


def windows(random, ranks=(1, 2, 3), dilated=True):
    """(sizes, attributes) of a random window over random sizes; every window begins within the input and its padding."""
    rank = int(random.choice(ranks))
    sizes = [int(n) for n in random.integers(3, 9 if rank < 3 else 6, rank)]
    kernel = [int(random.integers(1, 4)) for _ in sizes]
    attributes = {"kernel_shape": kernel}
    if random.random() < 0.7:
        attributes["strides"] = [int(n) for n in random.integers(1, 4, rank)]
    if dilated and random.random() < 0.4:
        attributes["dilations"] = [int(random.integers(1, 3)) for _ in sizes]
    if random.random() < 0.7:
        way = random.choice(["NOTSET", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
        if way != "NOTSET":
            attributes["auto_pad"] = str(way)
        else:
            attributes["pads"] = [int(random.integers(0, n)) for n in kernel * 2]
    if random.random() < 0.4 and "auto_pad" not in attributes:
        attributes["ceil_mode"] = 1
    for d, size in enumerate(sizes):
        reach = attributes.get("dilations", [1] * rank)[d] * (kernel[d] - 1) + 1
        sizes[d] = max(size, reach)
    return sizes, attributes


def geometry(sizes, attributes):
    """(output sizes, padding before, padding behind) of a window's attributes."""
    kernel = np.array(attributes["kernel_shape"])
    rank, size = len(kernel), np.array(sizes)
    strides = np.array(attributes.get("strides", [1] * rank))
    reach = np.array(attributes.get("dilations", [1] * rank)) * (kernel - 1) + 1
    begin, end = np.array(attributes.get("pads", [0] * 2 * rank)).reshape(2, rank)
    way = attributes.get("auto_pad", "NOTSET")
    if way in ("SAME_UPPER", "SAME_LOWER"):
        out = -(-size // strides)
        total = np.maximum((out - 1) * strides + reach - size, 0)
        begin = total // 2 if way == "SAME_UPPER" else total - total // 2
        end = total - begin
    span = size + begin + end - reach
    out = span // strides + 1
    if attributes.get("ceil_mode"):
        out = -(-span // strides) + 1
        out -= (out - 1) * strides >= size + begin
    return out, begin, end


def pooled(x, attributes, value):
    """`value(elements, places, taps)` of each window: its elements and their places inside, and how many taps are inside or in
    the padding."""
    sizes = np.array(x.shape[2:])
    out, begin, end = geometry(sizes, attributes)
    rank = len(sizes)
    strides, dilations = (np.array(attributes.get(name, [1] * rank)) for name in ("strides", "dilations"))
    taps = list(itertools.product(*(range(n) for n in attributes["kernel_shape"])))
    results = {}
    for at in np.ndindex(*x.shape[:2], *out):
        places = [np.array(at[2:]) * strides - begin + np.array(tap) * dilations for tap in taps]
        inside = [place for place in places if (place >= 0).all() and (place < sizes).all()]
        padded = sum(bool((place >= -begin).all() and (place < sizes + end).all()) for place in places)
        results[at] = value([x[(*at[:2], *place)] for place in inside], [(*at[:2], *place) for place in inside], padded)
    return [np.array([results[at][i] for at in np.ndindex(*x.shape[:2], *out)]).reshape(*x.shape[:2], *out)
            for i in range(len(next(iter(results.values()))))]


def image(random, sizes, kind):
    shape = (int(random.integers(1, 3)), int(random.integers(1, 3)), *sizes)
    if np.issubdtype(kind, np.integer):
        low = np.iinfo(kind).min
        return random.integers(low, low + 3, shape).astype(kind) if random.random() < 0.5 else \
            random.integers(low, np.iinfo(kind).max, shape).astype(kind)
    x = random.standard_normal(shape).astype(kind)
    if random.random() < 0.2:
        x[random.random(shape) < 0.6] = -np.inf
    return x


def max_pool(random):
    sizes, attributes = windows(random)
    kind = [np.float32, np.float64, np.float16, np.int8, np.uint8][random.integers(5)]
    if random.random() < 0.3:
        attributes["storage_order"] = 1
    x = image(random, sizes, kind)
    lowest = -np.inf if np.issubdtype(kind, np.floating) else np.iinfo(kind).min
    column = attributes.get("storage_order")

    def value(elements, places, _):
        if not elements:
            return lowest, -1
        best = places[int(np.argmax(elements))]
        shape = x.shape
        if column:
            best, shape = best[:2] + best[:1:-1], shape[:2] + shape[:1:-1]
        return max(elements), np.ravel_multi_index(best, shape)

    y, places = pooled(x, attributes, value)
    indices = random.random() < 0.7
    case = Case("MaxPool", int(random.choice([12, 22])), {"X": x}, attributes, ["Y", "Indices"] if indices else ["Y"],
                truth=[y.astype(kind), places.astype(np.int64)][:1 + indices])
    case.notes["empty"] = bool((places == -1).any())
    return case


def average_pool(random):
    opset = int(random.choice([11, 19, 22]))
    sizes, attributes = windows(random, dilated=opset >= 19)
    if opset == 11 or random.random() < 0.3:
        attributes.pop("ceil_mode", None)
    kind = [np.float32, np.float64, np.float16][random.integers(3)]
    x = np.nan_to_num(image(random, sizes, kind), neginf=0)
    include = int(random.random() < 0.5)
    if include or random.random() < 0.3:
        attributes["count_include_pad"] = include
    y, = pooled(x.astype(np.float64), attributes, lambda elements, _, taps: (
        np.sum(elements) / max(taps if include else len(elements), 0) if (taps if include else elements) else np.nan,))
    return Case("AveragePool", opset, {"X": x}, attributes, ["Y"], truth=[y.astype(kind)], tolerance=2e-3 if kind is np.float16 else 1e-5)


def lp_pool(random):
    opset = int(random.choice([11, 18, 22]))
    sizes, attributes = windows(random, dilated=opset >= 18)
    if opset == 11:
        attributes.pop("ceil_mode", None)
    p = int(random.integers(1, 4))
    attributes["p"] = p
    kind = [np.float32, np.float64, np.float16][random.integers(3)] if opset == 22 else np.float32
    x = np.nan_to_num(image(random, sizes, kind), neginf=0)
    y, = pooled(np.abs(x.astype(np.float64)) ** p, attributes, lambda elements, *_: (np.sum(elements) ** (1 / p),))
    return Case("LpPool", opset, {"X": x}, attributes, ["Y"], truth=[y.astype(kind)], tolerance=2e-3 if kind is np.float16 else 1e-5)


def global_pool(random):
    operator = str(random.choice(["GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"]))
    sizes, _ = windows(random)
    attributes = {"p": int(random.integers(1, 4))} if operator == "GlobalLpPool" else {}
    return Case(operator, 12, {"X": np.nan_to_num(image(random, sizes, np.float32), neginf=0)}, attributes, ["Y"])


def same(case):
    """Whether the padding follows from the sizes, and ONNX Runtime has it otherwise."""
    attributes, sizes = case.attributes, case.inputs["X"].shape[2:]
    out, _, _ = geometry(sizes, attributes)
    kernel = np.array(attributes["kernel_shape"])
    total = (out - 1) * np.array(attributes.get("strides", [1] * len(kernel))) + kernel - sizes
    return attributes.get("auto_pad", "").startswith("SAME") and (max(attributes.get("dilations", [1])) > 1 or (total < 0).any())


def max_unpool(random):
    sizes, attributes = windows(random, (1, 2), dilated=False)
    attributes = {name: attributes[name] for name in ("kernel_shape", "strides") if name in attributes}
    shape = (int(random.integers(1, 3)), int(random.integers(1, 3)), *(max(2, n // 2) for n in sizes))
    strides = attributes.get("strides", [1] * len(sizes))
    full = shape[:2] + tuple((n - 1) * s + k for n, s, k in zip(shape[2:], strides, attributes["kernel_shape"]))
    places = random.permutation(np.prod(full))[:np.prod(shape)].reshape(shape)
    inputs = {"X": random.standard_normal(shape).astype(np.float32), "I": places.astype(np.int64)}
    if random.random() < 0.3:
        inputs["shape"] = np.array(full, np.int64)
    return Case("MaxUnpool", int(random.choice([9, 11, 22])), inputs, attributes, ["Y"], constant=("shape",) if "shape" in inputs else ())


FORMS = {"max_pool": max_pool, "average_pool": average_pool, "lp_pool": lp_pool, "global_pool": global_pool, "max_unpool": max_unpool}
DIFFERENCES = [
    ("max_pool", "reference", lambda case: True,
     "reads `pads` of two dimensions as top, bottom, left, right, those of others not at all, and takes the padding's size for the input's"),
    ("average_pool", "reference", lambda case: True, "the same code"),
    ("lp_pool", "reference", lambda case: True, "the same code"),
    ("max_pool", "ONNX Runtime", lambda case: case.inputs["X"].dtype == np.float32 and bool((case.truth[0] == -np.inf).any()),
     "no float32 is below its lowest finite number there"),
    ("global_pool", "reference", lambda case: case.operator == "GlobalMaxPool" and case.inputs["X"].ndim != 4, "reduces two dimensions"),
] + [(form, "ONNX Runtime", same, "SAME: leaves out dilations, and crops where windows are smaller than their strides")
     for form in ("max_pool", "average_pool", "lp_pool")]
