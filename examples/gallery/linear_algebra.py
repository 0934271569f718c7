"""References of linear_algebra.yaml."""
import numpy as np

from gallery import operator


def square(random, n):
    return {"a": random.floats(n, n), "b": random.floats(n, n)}


@operator(inputs=square, test={"n": 67}, bench={"n": 1024}, work=lambda n: {"float32": 2 * n ** 3})
def max_plus(a, b):
    return (a[:, :, None] + b).max(1)


@operator(inputs=lambda random, n, columns: {"L": np.tril(random.floats(n, n) / n) + np.eye(n, dtype=np.float32),
                                             "b": random.floats(n, columns)},
          test={"n": 35, "columns": 5}, bench={"n": 512, "columns": 64}, tolerance=1e-4,
          work=lambda n, columns: {"float32": n * n * columns / 2, "bytes": 4 * (n * n / 2 + 2 * n * columns), "dependent": 2 * n})
def triangular_solve(L, b):
    return np.linalg.solve(L, b)


@operator(inputs=lambda random, n, count: {
              "row": random.integers_of(np.int32, 0, n, count), "column": random.integers_of(np.int32, 0, n, count),
              "value": random.floats(count), "x": random.floats(n), "rows": n},
          test={"n": 50, "count": 400}, bench={"n": 65536, "count": 1 << 20},
          work=lambda n, count: {"float32": count, "gather": count, "scatter": count})
def coo_product(row, column, value, x, rows):
    return np.bincount(row, value * x[column], rows).astype(np.float32)


@operator(inputs=lambda random, n, width: {
              "column": random.integers_of(np.int32, 0, n, n, width), "value": random.floats(n, width), "x": random.floats(n)},
          test={"n": 50, "width": 7}, bench={"n": 65536, "width": 16},
          work=lambda n, width: {"float32": n * width, "gather": n * width})
def ell_product(column, value, x):
    return (value * x[column]).sum(1)


@operator(inputs=lambda random, n, d: {"a": random.floats(n, d), "b": random.floats(n, d)},
          test={"n": 45, "d": 19}, bench={"n": 2048, "d": 128}, work=lambda n, d: {"float32": 2 * n * n * d, "sqrt": n * n})
def pairwise_distances(a, b):
    return np.sqrt(((a[:, None] - b) ** 2).sum(2))


def transport(random, n, steps):
    a, b = random.shares(2, n) + np.float32(0.1)
    return {"K": np.exp(-4 * random.shares(n, n)), "a": a / a.sum(), "b": b / b.sum(), "steps": steps}


@operator(inputs=transport, test={"n": 37, "steps": 5}, bench={"n": 512, "steps": 100},
          work=lambda n, steps: {"float32": 2 * n * n * steps, "divide": 2 * n * steps})
def sinkhorn(K, a, b, steps):
    v = np.ones_like(b)
    for _ in range(steps):
        u = a / (K @ v)
        v = b / (u @ K)
    return u[:, None] * K * v
