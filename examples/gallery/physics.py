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


def around(u, mode):
    p = np.pad(u, 1, mode=mode)
    return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u


@operator(inputs=lambda random, n, steps: {"height": random.floats(n, n), "speed": np.zeros((n, n), np.float32), "steps": steps},
          test={"n": 37, "steps": 6}, bench={"n": 512, "steps": 500},
          work=lambda n, steps: {"float32": 6 * n * n * steps})
def wave(height, speed, steps):
    u, v = height, speed
    for _ in range(steps):
        v = np.pad((v + np.float32(0.25) * around(u, "edge"))[1:-1, 1:-1], 1)
        u = u + v
    return u


@operator(inputs=lambda random, n, steps: {"a": random.shares(n, n), "b": random.shares(n, n) / 2, "steps": steps},
          test={"n": 37, "steps": 6}, bench={"n": 512, "steps": 200}, tolerance=1e-4,
          work=lambda n, steps: {"float32": 17 * n * n * steps})
def gray_scott(a, b, steps):
    for _ in range(steps):
        meet = a * b * b
        a, b = (a - meet + 0.04 * (1 - a) + 0.2 * around(a, "wrap"), b + meet - 0.1 * b + 0.1 * around(b, "wrap"))
    return a, b


@operator(inputs=lambda random, n: {"place": random.floats(3, n), "mass": random.shares(n)}, test={"n": 37}, bench={"n": 4096},
          tolerance=1e-4, work=lambda n: {"float32": 12 * n * n, "sqrt": n * n})
def n_body(place, mass):
    apart = place[:, None, :] - place[:, :, None]
    return (mass * ((apart ** 2).sum(0) + 0.01) ** -1.5 * apart).sum(2)


def plane(random, height, width, steps):
    c = np.linspace(-2, 1, width) + 1j * np.linspace(-1, 1, height)[:, None]
    return {"c": c.astype(np.complex64), "steps": steps}


@operator(inputs=plane, test={"height": 16, "width": 24, "steps": 9}, bench={"height": 512, "width": 768, "steps": 100},
          apart=0.001,  # near the border of the set, a rounding decides
          work=lambda height, width, steps: {"float32": 8 * steps * height * width})
def mandelbrot(c, steps):
    z, n = c, np.zeros(c.shape, np.int32)
    for _ in range(steps):
        inside = z.real ** 2 + z.imag ** 2 <= 4
        z, n = np.where(inside, z * z + c, z), n + inside
    return n
