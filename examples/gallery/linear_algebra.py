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


@operator(inputs=square, test={"n": 45}, bench={"n": 256}, work=lambda n: {"float32": 4 * n ** 3, "exp": n ** 3, "log": n * n})
def log_sum_exp_product(a, b):
    return np.log(np.exp(a[:, :, None] + b).sum(1))


def positive(random, n):
    x = random.floats(n, n)
    return x @ x.T / n + np.eye(n, dtype=np.float32)


@operator(inputs=lambda random, n: {"A": positive(random, n)}, test={"n": 37}, bench={"n": 256}, tolerance=1e-4,
          work=lambda n: {"float32": n ** 3 / 6, "dependent": 6 * n})  # a root, a product, a difference wait for each other
def cholesky(A):
    return np.linalg.cholesky(A)


@operator(inputs=lambda random, n, systems: {
              "low": random.floats(n, systems), "middle": 4 + random.shares(n, systems), "high": random.floats(n, systems),
              "b": random.floats(n, systems)},
          test={"n": 19, "systems": 21}, bench={"n": 512, "systems": 1024}, tolerance=1e-4,
          work=lambda n, systems: {"float32": 6 * n * systems, "divide": n * systems})
def tridiagonal_solve(low, middle, high, b):
    n, systems = b.shape
    matrices = np.zeros((systems, n, n))
    at = np.arange(n)
    matrices[:, at, at] = middle.T
    matrices[:, at[1:], at[:-1]] = low[1:].T
    matrices[:, at[:-1], at[1:]] = high[:-1].T
    return np.linalg.solve(matrices, b.T[:, :, None])[:, :, 0].T.astype(np.float32)


@operator(inputs=lambda random, n, steps: {"A": positive(random, n), "b": random.floats(n), "steps": steps},
          test={"n": 37, "steps": 5}, bench={"n": 512, "steps": 50}, tolerance=1e-3,
          work=lambda n, steps: {"float32": (n * n + 6 * n) * steps})
def conjugate_gradient(A, b, steps):
    at, rest, direction = np.zeros_like(b), b, b
    for _ in range(steps):
        image = A @ direction
        size = rest @ rest
        step = size / (direction @ image)
        at = at + step * direction
        rest = rest - step * image
        direction = rest + rest @ rest / size * direction
    return at
