"""States that change few elements a step, which kernels make in place, beside the same in NumPy."""
import pathlib
import tempfile

import numpy as np

import heddle

RANDOM = np.random.default_rng(0)
TABLE = 300

MARKS = """
marks:
  inputs: {x: "float32[$m]", a: "int32[$n]", b: "int64[$n]"}
  index: "[]"
  outputs: {y: "float32[$m]"}
  body: |
    scan t < $n:
      v[t, p < $m] = int32(p) == a[t] ? v[t - 1, p] / 2 + t : p == b[t] ? v[t - 1, p] + 1 : v[t - 1, p] from x[p]
    y[p] = v[$n - 1, p]
"""

SWAPS = """
swaps:
  inputs: {x: "int32[$rows, $m]", a: "int64[$n]", b: "int64[$n]"}
  index: "[$rows]"
  outputs: {y: "int32[$rows, $m]"}
  body: |
    scan t < $n:
      v[t, p < $m] = p == a[t] ? v[t - 1, b[t]] : p == b[t] ? v[t - 1, a[t]] : v[t - 1, p] from x[@rows, p]
    y[@rows, p] = v[$n - 1, p]
"""

ANT = """
ant:
  inputs: {x: "uint8[$h, $w]"}
  params: {steps: int}
  index: "[]"
  outputs: {y: "uint8[$h, $w]"}
  body: |
    scan t < $steps:
      g[t, i < $h, j < $w] = i == r[t - 1] && j == c[t - 1] ? 1 - g[t - 1, i, j] : g[t - 1, i, j] from x[i, j]
      d[t] = (d[t - 1] + (g[t - 1, r[t - 1], c[t - 1]] == 0 ? 1 : 3)) % 4 from int64(0)
      r[t] = (r[t - 1] + (d[t] == 0 ? $h - 1 : d[t] == 2 ? 1 : 0)) % $h from int64(3)
      c[t] = (c[t - 1] + (d[t] == 1 ? 1 : d[t] == 3 ? $w - 1 : 0)) % $w from int64(4)
    y[i, j] = g[$steps - 1, i, j]
"""


def called(name, template, *inputs, **parameters):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "own.yaml"
        path.write_text(template)
        return heddle.load_library(path).call(name, *inputs, **parameters)


def test_the_first_change_of_an_element_counts_and_places_outside_change_nothing():
    x = RANDOM.standard_normal(TABLE, dtype=np.float32)
    a = RANDOM.integers(-9, TABLE + 9, 2000).astype(np.int32)
    b = np.where(RANDOM.random(2000) < 0.3, a, RANDOM.integers(-9, TABLE + 9, 2000))
    expected = x.copy()
    for t, (first, second) in enumerate(zip(a, b)):
        if second != first and 0 <= second < TABLE:
            expected[second] += np.float32(1)
        if 0 <= first < TABLE:
            expected[first] = expected[first] / np.float32(2) + np.float32(t)
    assert np.array_equal(called("marks", MARKS, x, a, b), expected)


def test_what_is_read_is_what_there_was():
    x = np.arange(3 * TABLE, dtype=np.int32).reshape(3, TABLE)
    a, b = RANDOM.integers(0, TABLE, (2, 1000))
    expected = x.copy()
    for first, second in zip(a, b):
        expected[:, [first, second]] = expected[:, [second, first]]
    assert np.array_equal(called("swaps", SWAPS, x, a, b), expected)


def test_a_cell_of_a_grid():
    grid = RANDOM.integers(0, 2, (20, 30)).astype(np.uint8)
    expected, way, row, column = grid.copy(), 0, 3, 4
    for _ in range(500):
        way = (way + (3 if expected[row, column] else 1)) % 4
        expected[row, column] ^= 1
        row = (row + {0: -1, 2: 1}.get(way, 0)) % 20
        column = (column + {1: 1, 3: -1}.get(way, 0)) % 30
    assert np.array_equal(called("ant", ANT, grid, steps=500), expected)
