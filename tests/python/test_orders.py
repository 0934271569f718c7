"""Orders of the library beside NumPy's: counted, by the network, and what is taken of them."""
import numpy as np

import heddle


def values(shape, dtype):
    random = np.random.default_rng(3)
    x = (random.integers(0, 500, shape) / (1 if np.issubdtype(dtype, np.integer) else 7)).astype(dtype)
    if np.issubdtype(dtype, np.floating) and x.size > 9:
        flat = x.reshape(-1)
        flat[::11], flat[1::50], flat[2::77] = np.nan, np.inf, -np.inf
    return x


def test_elements_in_order_and_where_they_were():
    library = heddle.load_library()
    for shape, axis in [((0,), 0), ((1,), 0), ((5,), 0), ((511,), 0), ((512,), 0), ((515, 2), 0), ((2, 1100), 1)]:
        for dtype in (np.float32, np.float64, np.int8, np.int64, np.uint16):
            x = values(shape, dtype)
            np.testing.assert_array_equal(library.call("sort", x, axis=axis), np.sort(x, axis, kind="stable"))
            np.testing.assert_array_equal(library.call("argsort", x, axis=axis), np.argsort(x, axis, kind="stable"))


def test_the_largest_first():
    library = heddle.load_library()
    for n in (100, 3000):
        x = values((n,), np.int32)
        np.testing.assert_array_equal(library.call("argsort", x, largest=True), np.argsort(-x, kind="stable"))


def test_most_of_many_elements():
    library, x = heddle.load_library(), values((3, 2100), np.float32)
    for largest in (False, True):
        found = library.call("top_k", x, k=2000, largest=largest)
        wanted = library.call("top_k_ranked", x, k=2000, largest=largest)
        for f, w in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(f, w)
