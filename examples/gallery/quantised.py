"""References of quantised.yaml."""
import numpy as np

from gallery import operator


@operator(inputs=lambda random, rows, columns: {
              "packed": random.integers_of(np.uint8, 0, 256, rows, columns // 32, 16),
              "scale": random.shares(rows, columns // 32).astype(np.float16), "x": random.floats(columns)},
          test={"rows": 21, "columns": 96}, bench={"rows": 4096, "columns": 4096},
          work=lambda rows, columns: {"float32": rows * columns})
def int4_matvec(packed, scale, x):
    weights = np.concatenate([packed & 15, packed >> 4], axis=2).astype(np.float32) - 8
    return (weights * scale[..., None].astype(np.float32)).reshape(len(packed), -1) @ x


@operator(inputs=lambda random, m, n, inner: {
              "a": random.integers_of(np.int8, -127, 128, m, inner), "b": random.integers_of(np.int8, -127, 128, inner, n),
              "row": random.shares(m), "column": random.shares(n)},
          test={"m": 21, "n": 37, "inner": 45}, bench={"m": 256, "n": 1024, "inner": 1024},
          work=lambda m, n, inner: {"uint8": m * n * inner})  # four in a lane, as VNNI does
def int8_product(a, b, row, column):
    return (a.astype(np.int32) @ b.astype(np.int32)).astype(np.float32) * row[:, None] * column


@operator(inputs=lambda random, rows, columns: {
              "packed": random.integers_of(np.uint8, 0, 3, rows, columns // 4, 4) @ np.array([1, 4, 16, 64], np.uint8), "x": random.floats(4, columns // 4),
              "scale": random.shares(rows)},
          test={"rows": 21, "columns": 96}, bench={"rows": 4096, "columns": 4096},
          work=lambda rows, columns: {"float32": rows * columns})
def ternary_matvec(packed, x, scale):
    weights = np.stack([packed >> 2 * p & 3 for p in range(4)], 1).astype(np.float32) - 1
    return scale * np.einsum("rpk,pk->r", weights, x)
