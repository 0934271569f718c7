"""Results of which data say how large they are, and regions of images: all types, empty ones, ties, numbers that are none."""
import numpy as np

from case import Case

KINDS = (np.float32, np.float64, np.float16, np.int64, np.int32, np.int8, np.uint8, np.bool_)


def shape_of(random, least=0, most=5, small=True):
    return tuple(int(n) for n in random.choice([0, 1, 2, 3, 4] if small and random.random() < 0.2 else [1, 2, 3, 4, 5],
                                               random.integers(least, most + 1)))


def few_values(random, kind, shape):
    """Elements of which many are equal; of floats some are zeros of both signs, infinite, or no number."""
    if kind is np.bool_:
        return random.random(shape) < random.choice([0.0, 0.3, 1.0])
    if np.issubdtype(kind, np.integer):
        return random.integers(0 if np.issubdtype(kind, np.unsignedinteger) else -2, 3, shape).astype(kind)
    odd = [0.0, -0.0, np.nan, np.inf, -np.inf] if random.random() < 0.3 else [0.0, -0.0]
    return random.choice(odd + [1.0, -2.5], shape).astype(kind)


def non_zero(random):
    x = few_values(random, KINDS[random.integers(len(KINDS))], shape_of(random))
    places = np.argwhere(x).T if x.ndim else np.zeros((0, int(bool(x))))
    return Case("NonZero", int(random.choice([9, 13])), {"X": x}, {}, ["Y"], truth=[places.astype(np.int64)])


def compress(random):
    x = few_values(random, KINDS[random.integers(len(KINDS))], shape_of(random, 1))
    axis = int(random.integers(-x.ndim, x.ndim)) if random.random() < 0.7 else None
    count = x.size if axis is None else x.shape[axis]
    condition = random.random(int(random.integers(0, count + 1))) < random.choice([0.0, 0.5, 1.0])
    return Case("Compress", int(random.choice([9, 11])), {"input": x, "condition": condition},
                {} if axis is None else {"axis": axis}, ["output"], truth=[np.compress(condition, x, axis)])


def unique(random):
    along = random.random() < 0.6  # slices without elements end ONNX Runtime's process
    x = few_values(random, KINDS[random.integers(len(KINDS))], shape_of(random, 1, 4, small=not along))
    axis = int(random.integers(-x.ndim, x.ndim)) if along else None
    rows = x.reshape(-1, 1) if axis is None else np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
    attributes = {} if axis is None else {"axis": axis}
    if random.random() < 0.7:
        attributes["sorted"] = int(random.integers(2))
    key = [tuple((0.0, True) if value != value else (value + 0, False) for value in row.tolist()) for row in rows]
    key = [tuple((none, value) for value, none in row) for row in key]
    first = {}
    for place, row in enumerate(key):
        first.setdefault(row, place)
    order = sorted(first) if attributes.get("sorted", 1) else list(first)
    number = {row: slot for slot, row in enumerate(order)}
    places = np.array([first[row] for row in order], np.int64)
    inverse = np.array([number[row] for row in key], np.int64)
    truth = [np.take(x, places, axis), places, inverse, np.bincount(inverse, minlength=len(order)).astype(np.int64)]
    asked = [bool(random.random() < 0.7) for _ in range(3)]
    names = ["Y"] + [name if wanted else "" for name, wanted in zip(["indices", "inverse_indices", "counts"], asked)]
    case = Case("Unique", 11, {"X": x}, attributes, names,
                truth=[value for value, name in zip(truth, names) if name])
    case.notes["nan"] = bool((x != x).any())
    return case


def boxes_of(random, batch, count, centers):
    corners = random.integers(0, 6, (batch, count, 4)) if random.random() < 0.5 else random.random((batch, count, 4)) * 4
    if centers:
        corners = np.concatenate([corners[..., :2], np.abs(corners[..., 2:])], -1)
    return corners.astype(np.float32)


def suppressed(boxes, scores, most, iou, score, centers):
    """The boxes of a class that stay, by the definition."""
    half = boxes[:, 2:] / 2
    low = boxes[:, :2] - half if centers else np.minimum(boxes[:, :2], boxes[:, 2:])
    high = boxes[:, :2] + half if centers else np.maximum(boxes[:, :2], boxes[:, 2:])
    area = np.prod(high - low, -1)
    left = [j for j in np.argsort(-scores, kind="stable")
            if (scores[j] > score if score is not None else scores[j] == scores[j])]
    kept = []
    while left and len(kept) < most:
        best, *left = left
        kept.append(int(best))
        size = np.maximum(np.minimum(high[left], high[best]) - np.maximum(low[left], low[best]), 0)
        shared = size[:, 0] * size[:, 1]
        with np.errstate(all="ignore"):
            left = [j for j, share in zip(left, shared / (area[best] + area[left] - shared)) if not share > iou]
    return kept


def non_max_suppression(random):
    batch, classes, count = (int(n) for n in (random.integers(1, 3), random.integers(1, 4), random.choice([1, 2, 6, 12])))
    centers = int(random.random() < 0.3)
    boxes = boxes_of(random, batch, count, centers)
    scores = (random.integers(0, 4, (batch, classes, count)) / 4 if random.random() < 0.5
              else random.standard_normal((batch, classes, count))).astype(np.float32)
    if random.random() < 0.2:
        scores[random.random(scores.shape) < 0.3] = -np.inf
    inputs = {"boxes": boxes, "scores": scores, "max_output_boxes_per_class": None, "iou_threshold": None, "score_threshold": None}
    most, iou, score = 0, np.float32(0), None
    flat = [] if random.random() < 0.3 else [1]
    if random.random() < 0.9:
        most = int(random.choice([0, 1, 3, 2**40]))
        inputs["max_output_boxes_per_class"] = np.full(flat, most, np.int64)
    if random.random() < 0.8:
        iou = np.float32(random.choice([0, 0.25, 0.5, 1, 1 / 3]))
        inputs["iou_threshold"] = np.full(flat, iou, np.float32)
    if random.random() < 0.5:
        score = np.float32(random.choice([-1, 0, 0.25, 0.5, 9]))
        inputs["score_threshold"] = np.full(flat, score, np.float32)
    rows = [(b, c, j) for b in range(batch) for c in range(classes)
            for j in suppressed(boxes[b], scores[b, c], most, iou, score, centers)]
    attributes = {"center_point_box": centers} if centers or random.random() < 0.5 else {}
    constant = [name for name in list(inputs)[2:] if inputs[name] is not None and random.random() < 0.5]
    return Case("NonMaxSuppression", int(random.choice([10, 11])), inputs, attributes, ["selected_indices"], tuple(constant),
                truth=[np.array(rows, np.int64).reshape(-1, 3)])


def roi_align(random):
    opset = int(random.choice([10, 16, 22]))
    kind = [np.float32, np.float64][random.integers(2)]
    batch, channels, height, width = (int(n) for n in (random.integers(1, 3), random.integers(1, 4), *random.integers(1, 9, 2)))
    count = int(random.choice([0, 1, 3, 5]))
    regions = random.uniform(-4, 14, (count, 4)) if random.random() < 0.5 else np.sort(random.uniform(0, 8, (count, 2, 2)), 1).reshape(-1, 4)
    if random.random() < 0.2:
        regions = np.round(regions)
    attributes = {"output_height": int(random.integers(1, 5)), "output_width": int(random.integers(1, 5))}
    if random.random() < 0.7:
        attributes["sampling_ratio"] = int(random.integers(0, 4))
    if random.random() < 0.6:
        attributes["spatial_scale"] = float(random.choice([1.0, 0.5, 0.25, 2.0]))
    if random.random() < 0.4:
        attributes["mode"] = str(random.choice(["avg", "max"]))
    if opset >= 16 and random.random() < 0.6:
        attributes["coordinate_transformation_mode"] = str(random.choice(["half_pixel", "output_half_pixel"]))
    inputs = {"X": random.standard_normal((batch, channels, height, width)).astype(kind), "rois": regions.astype(kind),
              "batch_indices": random.integers(0, batch, count)}
    return Case("RoiAlign", opset, inputs, attributes, ["Y"], tolerance=1e-4)


def affine_grid(random):
    rank = int(random.choice([2, 3]))
    kind = [np.float32, np.float64][random.integers(2)]
    size = np.array([random.integers(1, 3), random.integers(1, 4), *random.integers(2, 6, rank)], np.int64)
    inputs = {"theta": random.standard_normal((size[0], rank, rank + 1)).astype(kind), "size": size}
    attributes = {"align_corners": int(random.integers(2))} if random.random() < 0.7 else {}
    return Case("AffineGrid", 20, inputs, attributes, ["grid"], ("size",) if random.random() < 0.5 else ())


def deform_conv(random):
    kind = [np.float32, np.float64][random.integers(2)]
    group, offset_group = int(random.integers(1, 3)), int(random.integers(1, 3))
    channels, filters = group * offset_group * int(random.integers(1, 3)), group * int(random.integers(1, 3))
    window, image = random.integers(1, 4, 2), random.integers(3, 8, 2)
    strides, dilations, pads = random.integers(1, 3, 2), random.integers(1, 3, 2), random.integers(0, 3, 4)
    image = np.maximum(image, dilations * (window - 1) + 1)
    out = (image + pads[:2] + pads[2:] - dilations * (window - 1) - 1) // strides + 1
    batch, taps = int(random.integers(1, 3)), offset_group * int(np.prod(window))
    inputs = {"X": random.standard_normal((batch, channels, *image)), "W": random.standard_normal((filters, channels // group, *window)),
              "offset": random.standard_normal((batch, 2 * taps, *out)) * random.choice([0.0, 1.0, 4.0]),
              "B": random.standard_normal(filters) if random.random() < 0.5 else None,
              "mask": random.random((batch, taps, *out)) if random.random() < 0.5 else None}
    attributes = {"group": group, "offset_group": offset_group, "strides": strides, "dilations": dilations, "pads": pads}
    attributes = {name: value if isinstance(value, int) else [int(n) for n in value] for name, value in attributes.items()}
    if random.random() < 0.5:
        attributes["kernel_shape"] = [int(n) for n in window]
    return Case("DeformConv", int(random.choice([19, 22])), {name: value if value is None else value.astype(kind) for name, value in inputs.items()},
                attributes, ["Y"], tolerance=1e-4)


FORMS = {"non_zero": non_zero, "compress": compress, "unique": unique, "non_max_suppression": non_max_suppression,
         "roi_align": roi_align, "affine_grid": affine_grid, "deform_conv": deform_conv}
DIFFERENCES = [
    ("non_zero", "ONNX Runtime", lambda case: case.inputs["X"].ndim == 0, "takes a scalar for a list of one; ONNX says that it has no coordinate"),
    ("unique", "ONNX Runtime", lambda case: case.notes["nan"], "compares NaNs by <, which puts them anywhere"),
    ("unique", "reference", lambda case: case.notes["nan"] and "axis" in case.attributes, "slices with a NaN are equal to none"),
    ("unique", "reference", lambda case: not case.attributes.get("sorted", 1),
     "takes slices of axis 0 by places, also where they are of another axis, or of elements"),
    ("roi_align", "reference", lambda case: case.opset == 10, "moves regions by half an element, as later operators do"),
    ("affine_grid", "reference", lambda case: case.inputs["theta"].dtype == np.float64, "gives float32 always"),
]
