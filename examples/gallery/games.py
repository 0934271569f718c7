"""References of games.yaml."""
import numpy as np

from gallery import operator


@operator(inputs=lambda random, n, steps: {"x": random.integers_of(np.uint8, 0, 2, n, n), "steps": steps},
          test={"n": 37, "steps": 6}, bench={"n": 512, "steps": 100},
          work=lambda n, steps: {"uint8": 8 * n * n * steps})  # columns' sums serve three cells
def life(x, steps):
    for _ in range(steps):
        around = sum(np.roll(x, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1))
        x = np.where(around == 3, 1, np.where(around == 4, x, 0)).astype(np.uint8)
    return x


@operator(inputs=lambda random, n, steps: {"x": random.integers_of(np.uint8, 0, 2, n), "steps": steps},
          test={"n": 37, "steps": 6}, bench={"n": 4096, "steps": 4096},
          work=lambda n, steps: {"uint8": 6 * n * steps})
def rule_110(x, steps):
    lines = []
    for _ in range(steps):
        x = 110 >> (4 * np.roll(x, 1) + 2 * x + np.roll(x, -1)) & 1
        lines.append(x)
    return np.array(lines, np.uint8)


@operator(inputs=lambda random, n, steps: {"x": random.integers_of(np.int32, 0, 9, n, n), "steps": steps},
          test={"n": 37, "steps": 6}, bench={"n": 512, "steps": 200},
          work=lambda n, steps: {"int32": 6 * n * n * steps})
def sandpile(x, steps):
    for _ in range(steps):
        falls = (x >= 4).astype(np.int32)
        p = np.pad(falls, 1)
        x = x - 4 * falls + p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    return x


@operator(inputs=lambda random, n, steps: {"reward": random.floats(n, n), "wall": random.shares(n, n) < 0.3, "steps": steps},
          test={"n": 37, "steps": 6}, bench={"n": 256, "steps": 500},
          work=lambda n, steps: {"float32": 10 * n * n * steps})
def value_iteration(reward, wall, steps):
    v = np.zeros_like(reward)
    for _ in range(steps):
        p = np.pad(v, 1, mode="edge")
        sides = np.stack([p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]])
        v = np.where(wall, 0, reward + np.float32(0.95) * (np.float32(0.9) * sides.max(0) + np.float32(0.1) * sides.mean(0)))
    return v
