"""References of data.yaml."""
import zlib

import numpy as np

from gallery import operator


# A checksum is a chain: each byte's table entry depends on all bytes before it.
@operator(inputs=lambda random, n: {"data": random.integers_of(np.uint8, 0, 256, n)}, test={"n": 301}, bench={"n": 1 << 20},
          work=lambda n: {"dependent_reads": n})
def crc32(data):
    return np.uint32(zlib.crc32(data.tobytes()))


@operator(inputs=lambda random, n, bins: {"x": random.integers_of(np.int32, 0, bins, n), "bins": bins},
          test={"n": 3000, "bins": 21}, bench={"n": 10_000_000, "bins": 256}, work=lambda n, bins: {"scatter": n})
def histogram(x, bins):
    return np.bincount(x, minlength=bins)


@operator(inputs=lambda random, n, d, segments: {
              "x": random.floats(n, d), "segment": np.sort(random.integers_of(np.int32, 0, segments, n)), "segments": segments},
          test={"n": 300, "d": 5, "segments": 20}, bench={"n": 500_000, "d": 16, "segments": 10_000},
          work=lambda n, d, segments: {"float32": n * d})
def segment_sum(x, segment, segments):
    y = np.zeros((segments, x.shape[1]), np.float32)
    np.add.at(y, segment, x)
    return y


@operator(inputs=lambda random, n: {"x": np.floor(random.floats(n) * 50)}, test={"n": 150}, bench={"n": 4096},
          smooth=False,  # of equal elements, the first one moves alone
          work=lambda n: {"float32": n * n / 2})  # each pair once, though a sort needs fewer
def rank_sort(x):
    return np.sort(x)


@operator(inputs=lambda random, n, k: {"x": random.floats(n), "bound": np.sort(random.floats(k))}, test={"n": 300, "k": 9},
          bench={"n": 1_000_000, "k": 31}, work=lambda n, k: {"float32": n * np.log2(k + 1)})
def bucketise(x, bound):
    return np.searchsorted(bound, x, "right").astype(np.int32)


@operator(inputs=lambda random, n: {"x": np.maximum(random.floats(n), 0)}, test={"n": 300}, bench={"n": 4_000_000},
          smooth=False,  # a zero that moves a little is no zero
          work=lambda n: {"float32": 2 * n})
def compact(x):
    found = x[x != 0]
    return np.concatenate([found, np.zeros(len(x) - len(found), x.dtype)]), np.int64(len(found))


@operator(inputs=lambda random, rows, n: {"x": random.integers_of(np.uint8, 0, 256, rows, n)}, test={"rows": 37, "n": 9},
          bench={"rows": 65536, "n": 32}, work=lambda rows, n: {"uint32": 2 * rows * n})
def hash_rows(x):
    h = np.full(len(x), 2166136261, np.uint32)
    for t in range(x.shape[1]):
        h = (h ^ x[:, t]) * np.uint32(16777619)
    return h


@operator(inputs=lambda random, n, d, k: {"x": random.floats(n, d), "centre": random.floats(k, d)},
          test={"n": 300, "d": 5, "k": 7}, bench={"n": 65536, "d": 16, "k": 64}, tolerance=1e-4,
          work=lambda n, d, k: {"float32": 2 * n * d * k + 2 * n * k + n * d})
def k_means_step(x, centre):
    nearest = ((x[:, None] - centre) ** 2).sum(2).argmin(1)
    return np.stack([x[nearest == c].mean(0) if (nearest == c).any() else centre[c] for c in range(len(centre))])
