"""References of physics.yaml."""
import numpy as np

from gallery import operator

HEAT = dict(inputs=lambda random, n, steps: {"x": random.floats(n, n), "steps": steps},
            test={"n": 37, "steps": 6}, bench={"n": 512, "steps": 1000},
            work=lambda n, steps: {"float32": 5 * n * n * steps})  # three additions, two multiply-adds


@operator(**HEAT)
def heat_wrapped(x, steps):
    for _ in range(steps):
        x = x + np.float32(0.2) * (np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1) - 4 * x)
    return x


@operator(**HEAT)
def heat_clamped(x, steps):
    for _ in range(steps):
        p = np.pad(x, 1, mode="edge")
        x = x + np.float32(0.2) * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * x)
    return x


DOWN = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
RIGHT = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
WEIGHT = np.array([16, 4, 4, 4, 4, 1, 1, 1, 1], np.float32) / 36


@operator(inputs=lambda random, n: {"f": 1 + random.shares(9, n, n)}, test={"n": 37}, bench={"n": 1024},
          work=lambda n: {"float32": 9 * 8 * n * n, "divide": 2 * n * n})
def lattice_boltzmann(f):
    g = np.stack([np.roll(f[q], (DOWN[q], RIGHT[q]), (0, 1)) for q in range(9)])
    density = g.sum(0)
    u, v = np.tensordot(RIGHT, g, 1) / density, np.tensordot(DOWN, g, 1) / density
    along = 3 * (RIGHT[:, None, None] * u + DOWN[:, None, None] * v)
    rest = WEIGHT[:, None, None] * density * (1 + along + along ** 2 / 2 - 1.5 * (u * u + v * v))
    return (g + 0.6 * (rest - g)).astype(np.float32)
