"""References of vision.yaml."""
import numpy as np

from gallery import operator


def windows(x, size, **padding):
    """x[..., i + a - size // 2, j + b - size // 2] as [..., i, j, a, b]."""
    pads = [(0, 0)] * (x.ndim - 2) + [(size // 2, size // 2)] * 2
    return np.lib.stride_tricks.sliding_window_view(np.pad(x, pads, **padding), (size, size), axis=(-2, -1))


@operator(inputs=lambda random, n, steps: {"mask": random.shares(n, n) < 0.62, "steps": steps},
          test={"n": 37, "steps": 9}, bench={"n": 512, "steps": 500},
          work=lambda n, steps: {"int32": 5 * n * n * steps})  # four comparisons, a choice
def connected_components(mask, steps):
    c = np.where(mask, np.arange(1, mask.size + 1).reshape(mask.shape), 0)
    for _ in range(steps):
        p = np.pad(c, 1, mode="edge")
        near = np.stack([p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:], c])
        c = np.where(mask, near.max(0), 0)
    return c.astype(np.int32)


def lanczos_matrix(n, size):
    """What each of n elements counts for each of `size`."""
    scale = n / size
    centre = (np.arange(size) + 0.5) * scale - 0.5
    at = np.floor(centre - 3 * scale)[:, None] + np.arange(np.ceil(6 * scale) + 1)
    x = (at - centre[:, None]) / scale
    weight = np.where(abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)
    matrix = np.zeros((size, n))
    np.add.at(matrix, (np.arange(size)[:, None], np.clip(at, 0, n - 1).astype(int)), weight)
    return matrix / matrix.sum(1, keepdims=True)


@operator(inputs=lambda random, h, w, height, width: {"x": random.shares(h, w), "height": height, "width": width},
          test={"h": 40, "w": 60, "height": 29, "width": 41}, bench={"h": 1080, "w": 1920, "height": 720, "width": 1280},
          tolerance=1e-4,
          work=lambda h, w, height, width: {"float32": h * width * 6 * w / width + height * width * 6 * h / height})
def lanczos(x, height, width):
    return (lanczos_matrix(x.shape[0], height) @ x @ lanczos_matrix(x.shape[1], width).T).astype(np.float32)


@operator(inputs=lambda random, n: {"x": random.shares(n, n)}, test={"n": 37}, bench={"n": 512},
          work=lambda n: {"float32": 81 * 5 * n * n, "exp": 81 * n * n})
def bilateral(x):
    value = windows(x, 9, mode="edge")
    a = np.arange(9) - 4
    weight = np.exp(-0.06 * (a[:, None] ** 2 + a ** 2) - 8 * (value - x[:, :, None, None]) ** 2)
    return ((weight * value).sum((2, 3)) / weight.sum((2, 3))).astype(np.float32)


@operator(inputs=lambda random, h, w: {"x": random.shares(h, w)}, test={"h": 37, "w": 41}, bench={"h": 1080, "w": 1920},
          work=lambda h, w: {"float32": 18 * h * w})  # columns sorted once in 6, then 4 + 4 + 4 comparisons
def median(x):
    return np.median(windows(x, 3, mode="edge"), (2, 3))


@operator(inputs=lambda random, c, h, w, disparities: {"left": random.floats(c, h, w), "right": random.floats(c, h, w),
                                                       "disparities": disparities},
          test={"c": 3, "h": 11, "w": 37, "disparities": 9}, bench={"c": 32, "h": 128, "w": 256, "disparities": 64},
          work=lambda c, h, w, disparities: {"float32": 3 * c * h * w * disparities})
def cost_volume(left, right, disparities):
    moved = [np.pad(right, ((0, 0), (0, 0), (d, 0)))[:, :, :right.shape[2]] for d in range(disparities)]
    return abs(left - np.stack(moved)).mean(1)


def boxes(random, n):
    corner = random.shares(n, 2) * 100
    return {"box": np.concatenate([corner, corner + 5 + random.shares(n, 2) * 20], axis=1)}


@operator(inputs=boxes, test={"n": 40}, bench={"n": 1024},
          work=lambda n: {"float32": 14 * n * n / 2})  # of each pair
def non_maximum_suppression(box):
    keep = np.ones(len(box), bool)
    area = (box[:, 2:] - box[:, :2]).prod(1)
    for i in range(len(box)):
        if keep[i]:
            sides = np.minimum(box[i, 2:], box[:, 2:]) - np.maximum(box[i, :2], box[:, :2])
            common = np.maximum(sides, 0).prod(1)
            keep[i + 1:] &= (common <= np.float32(0.5) * (area[i] + area - common))[i + 1:]
    return keep


@operator(inputs=lambda random, c, k, n: {"x": random.floats(c, n, n), "offset": random.floats(2, 3, 3, n, n),
                                          "weight": random.floats(k, c, 3, 3)},
          test={"c": 3, "k": 4, "n": 13}, bench={"c": 32, "k": 32, "n": 64}, tolerance=1e-4,
          work=lambda c, k, n: {"float32": 9 * c * n * n * (k + 4), "gather": 9 * c * n * n * 4})
def deformable_convolution(x, offset, weight):
    c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (h, h), (w, w)))
    a = np.arange(3) - 1
    down = np.arange(h)[:, None] + a[:, None, None, None] + offset[0]
    right = np.arange(w) + a[:, None, None] + offset[1]
    tap = 0
    for i in (0, 1):
        for j in (0, 1):
            row, column = np.floor(down).astype(int) + i, np.floor(right).astype(int) + j
            share = (1 - abs(down - row)) * (1 - abs(right - column))
            tap = tap + share * padded[:, np.clip(row + h, 0, 3 * h - 1), np.clip(column + w, 0, 3 * w - 1)]
    return np.einsum("kcab,cabhw->khw", weight, tap).astype(np.float32)


def spread(x, weight):
    c, h, w = x.shape
    y = np.zeros((weight.shape[1], 2 * h + 2, 2 * w + 2), np.float32)
    for a in range(4):
        for b in range(4):
            y[:, a:a + 2 * h:2, b:b + 2 * w:2] += np.einsum("ck,chw->khw", weight[:, :, a, b], x)
    return y[:, 1:-1, 1:-1]


@operator(inputs=lambda random, c, k, n: {"x": random.floats(c, n, n), "weight": random.floats(c, k, 4, 4)},
          test={"c": 3, "k": 5, "n": 13}, bench={"c": 64, "k": 32, "n": 64},
          work=lambda c, k, n: {"float32": 16 * c * k * n * n})
def transposed_convolution(x, weight):
    return spread(x, weight)


@operator(inputs=lambda random, c, k, n: {"x": random.floats(c, n, n), "skip": random.floats(k, 2 * n, 2 * n),
                                          "up": random.floats(c, k, 4, 4), "weight": random.floats(k, 2 * k, 3, 3)},
          test={"c": 3, "k": 5, "n": 13}, bench={"c": 64, "k": 32, "n": 64},
          work=lambda c, k, n: {"float32": 16 * c * k * n * n + 9 * 2 * k * k * 4 * n * n})
def unet_up(x, skip, up, weight):
    both = windows(np.concatenate([skip, spread(x, up)]), 3)
    return np.maximum(np.einsum("kcab,chwab->khw", weight, both), 0)


@operator(inputs=lambda random, c, n, r: {"x": random.floats(c, n, n), "r": r},
          test={"c": 8, "n": 13, "r": 2}, bench={"c": 64, "n": 128, "r": 2}, work=lambda c, n, r: {})
def pixel_shuffle(x, r):
    c, h, w = x.shape
    return x.reshape(c // r ** 2, r, r, h, w).transpose(0, 3, 1, 4, 2).reshape(c // r ** 2, h * r, w * r)


@operator(inputs=lambda random, c, n: {"x": random.floats(c, n, n)}, test={"c": 3, "n": 13}, bench={"c": 32, "n": 128},
          work=lambda c, n: {"float32": 4 * 4 * c * n * n})
def bilinear_upsampling(x):
    def doubled(x):  # along the first dimension
        p = np.concatenate([x[:1], x, x[-1:]])
        return np.stack([0.75 * x + 0.25 * p[:-2], 0.75 * x + 0.25 * p[2:]], 1).reshape(-1, *x.shape[1:])
    return doubled(doubled(x.transpose(1, 2, 0)).swapaxes(0, 1)).transpose(2, 1, 0)


@operator(inputs=lambda random, n: {"a": random.shares(n, n), "b": random.shares(n, n)}, test={"n": 37}, bench={"n": 512},
          tolerance=1e-4,  # sums of windows by rows and columns: two times two additions for each of five
          work=lambda n: {"float32": (3 + 5 * 4 + 15) * n * n, "divide": n * n})
def ssim(a, b):
    def mean(x):
        return np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (7, 7)).mean((2, 3))
    ma, mb = mean(a), mean(b)
    va, vb, both = mean(a * a) - ma ** 2, mean(b * b) - mb ** 2, mean(a * b) - ma * mb
    y = (2 * ma * mb + 0.0001) * (2 * both + 0.0009) / ((ma ** 2 + mb ** 2 + 0.0001) * (va + vb + 0.0009))
    return y.astype(np.float32)


@operator(inputs=lambda random, h, w: {"x": random.shares(h, w)}, test={"h": 37, "w": 41}, bench={"h": 1080, "w": 1920},
          work=lambda h, w: {"float32": 10 * h * w, "sqrt": h * w})
def sobel(x):
    v, smooth, slope = windows(x, 3, mode="edge"), np.float32([1, 2, 1]), np.float32([-1, 0, 1])
    return np.hypot(np.einsum("hwab,a,b", v, smooth, slope), np.einsum("hwab,a,b", v, slope, smooth))


@operator(inputs=lambda random, h, w: {"x": random.shares(h, w)}, test={"h": 37, "w": 41}, bench={"h": 1080, "w": 1920},
          work=lambda h, w: {"float32": 10 * h * w})
def gaussian_blur(x):
    weight = np.float32([1, 4, 6, 4, 1]) / 16
    return np.einsum("hwab,a,b", windows(x, 5, mode="reflect"), weight, weight)


@operator(inputs=lambda random, h, w: {"x": random.shares(h, w)}, test={"h": 37, "w": 41}, bench={"h": 1080, "w": 1920},
          tolerance=1e-4, work=lambda h, w: {"float32": 2 * h * w})
def integral_image(x):
    return x.astype(np.float64).cumsum(0).cumsum(1).astype(np.float32)


@operator(inputs=lambda random, h, w: {"x": random.integers_of(np.uint8, 0, 256, h, w)}, test={"h": 37, "w": 41},
          bench={"h": 1080, "w": 1920}, work=lambda h, w: {"uint8": 24 * h * w, "uint32": 24 * h * w})
def census(x):
    return ((windows(x, 5) > x[:, :, None, None]) << np.arange(25, dtype=np.uint32).reshape(5, 5)).sum((2, 3), dtype=np.uint32)


@operator(inputs=lambda random, h, w: {"x": random.integers_of(np.uint8, 0, 256, 2 * h, 2 * w)}, test={"h": 5, "w": 21},
          bench={"h": 1080, "w": 1920}, work=lambda h, w: {"int16": 5 * h * w})
def halve(x):
    x = x.astype(np.int32)
    return ((x[::2, ::2] + x[1::2, ::2] + x[::2, 1::2] + x[1::2, 1::2] + 2) // 4).astype(np.uint8)


@operator(inputs=lambda random, h, w: {"x": random.integers_of(np.uint8, 0, 200, h, w)}, test={"h": 12, "w": 13},
          bench={"h": 1080, "w": 1920}, work=lambda h, w: {"scatter": h * w, "gather": h * w})
def equalise(x):
    return (255 * np.cumsum(np.bincount(x.ravel(), minlength=256))[x] // x.size).astype(np.uint8)
