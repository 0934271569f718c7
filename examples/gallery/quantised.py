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
