"""References of graphs.yaml."""
import numpy as np

from gallery import operator


@operator(inputs=lambda random, n: {"length": random.shares(n, n) + np.float32(0.01)}, test={"n": 37}, bench={"n": 512},
          work=lambda n: {"float32": 2 * n ** 3})
def floyd_warshall(length):
    d = length
    for k in range(len(d)):
        d = np.minimum(d, d[:, k, None] + d[k])
    return d


@operator(inputs=lambda random, n: {"width": random.shares(n, n)}, test={"n": 37}, bench={"n": 512},
          work=lambda n: {"float32": 2 * n ** 3})
def widest_path(width):
    d = width
    for k in range(len(d)):
        d = np.maximum(d, np.minimum(d[:, k, None], d[k]))
    return d


@operator(inputs=lambda random, n: {"a": random.shares(n, n) < 0.02, "b": random.shares(n, n) < 0.02},
          test={"n": 67}, bench={"n": 512}, work=lambda n: {"bool": 2 * n ** 3})
def reachability(a, b):
    return a @ b


@operator(inputs=lambda random, n: {"a": random.floats(n, n), "b": random.floats(n, n)}, test={"n": 67}, bench={"n": 512},
          work=lambda n: {"float32": 2 * n ** 3})
def bottleneck(a, b):
    return np.maximum(a[:, :, None], b).min(1)


def links(random, n, count):
    return {"source": random.integers_of(np.int32, 0, n, count), "target": random.integers_of(np.int32, 0, n, count)}


def linked(random, n, count, steps):
    edges = links(random, n, count)
    return edges | {"degree": np.bincount(edges["source"], minlength=n).astype(np.float32), "steps": steps}


@operator(inputs=linked, test={"n": 50, "count": 300, "steps": 4}, bench={"n": 65536, "count": 1 << 20, "steps": 10},
          work=lambda n, count, steps: {"float32": (count + 5 * n) * steps, "gather": count * steps, "scatter": count * steps})
def page_rank(source, target, degree, steps):
    n = len(degree)
    r = np.full(n, 1 / n)
    for _ in range(steps):
        r = 0.15 / n + 0.85 * np.bincount(target, (r / np.maximum(degree, 1))[source], n)
    return r.astype(np.float32)


@operator(inputs=lambda random, n, count, steps: links(random, n, count) | {"length": random.shares(count), "n": n, "steps": steps},
          test={"n": 50, "count": 300, "steps": 4}, bench={"n": 65536, "count": 1 << 20, "steps": 10},
          work=lambda n, count, steps: {"float32": 2 * count * steps, "gather": count * steps, "scatter": count * steps})
def bellman_ford(source, target, length, n, steps):
    d = np.full(n, np.inf, np.float32)
    d[0] = 0
    for _ in range(steps):
        found = d.copy()
        np.minimum.at(found, target, d[source] + length)
        d = found
    return d


@operator(inputs=lambda random, n, count, c: links(random, n, count) | {"x": random.floats(n, c), "weight": random.floats(c, c)},
          test={"n": 50, "count": 300, "c": 5}, bench={"n": 16384, "count": 1 << 18, "c": 64}, tolerance=1e-4,
          work=lambda n, count, c: {"float32": count * c + n * c * c})
def graph_convolution(source, target, x, weight):
    heard = np.zeros_like(x)
    np.add.at(heard, target, x[source])
    degree = np.maximum(np.bincount(target, minlength=len(x)), 1)
    return np.maximum(heard @ weight / degree[:, None], 0).astype(np.float32)
