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
