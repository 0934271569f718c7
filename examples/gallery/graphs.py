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
