"""Orders of the library beside NumPy's: counted, by the network, and what is taken of them."""
import pathlib
import tempfile

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
        for dtype in (np.float32, np.float64, np.int8, np.int64, np.uint16, np.uint64):
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


def unique(x, size, in_order, fill):
    kinds = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    found, places, inverse, counts = kinds
    if not in_order:
        order = np.argsort(places, kind="stable")
        found, places, counts, inverse = found[order], places[order], counts[order], np.argsort(order)[inverse]
    behind = max(size - len(found), 0)
    pad = lambda a, v: np.concatenate([a[:size], np.full(behind, v, a.dtype)])  # noqa: E731
    return pad(found, fill), pad(places, -1), inverse, pad(counts, 0), len(found)


def test_distinct_values_beside_numpy():
    library = heddle.load_library()
    for n, size in [(0, 3), (1, 2), (7, 7), (40, 5), (600, 128), (1000, 900)]:
        for dtype in (np.float32, np.int64, np.uint8):
            x = values((n,), dtype)
            for in_order in (True, False):
                found = library.call("unique", x, size=size, sorted=in_order, fill=3)
                for f, w in zip(found, unique(x, size, in_order, 3), strict=True):
                    np.testing.assert_array_equal(f, w)


def chosen_boxes(boxes, scores, k, iou, score):
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    area = np.prod(high - low, axis=1)
    rest, chosen = np.where(scores > score, scores, -np.inf), []
    while len(chosen) < k and len(scores) and rest.max() > -np.inf:
        best = int(rest.argmax())
        chosen.append(best)
        shared = np.prod(np.maximum(np.minimum(high[best], high) - np.maximum(low[best], low), 0), axis=1)
        rest = np.where(shared > iou * (area[best] + area - shared), -np.inf, rest)
        rest[best] = -np.inf
    return chosen + [-1] * (k - len(chosen)), len(chosen)


def test_boxes_that_do_not_cover_one_another():
    library, random = heddle.load_library(), np.random.default_rng(5)
    for n, k in [(0, 2), (1, 3), (30, 10), (300, 20), (300, 300)]:
        corner = random.random((2, n, 2)).astype(np.float32)
        boxes = np.concatenate([corner, corner + (random.random((2, n, 2)) * 0.5 - 0.2).astype(np.float32)], axis=2)
        scores = random.integers(0, 50, (2, n)).astype(np.float32) / 50
        scores[:, ::9] = np.nan
        chosen, number = library.call("non_maximum_suppression", boxes, scores, k=k, iou=0.25, score=0.2)
        wanted = [chosen_boxes(b, s, k, 0.25, np.float32(0.2)) for b, s in zip(boxes, scores, strict=True)]
        np.testing.assert_array_equal(chosen, [boxes for boxes, _ in wanted])
        np.testing.assert_array_equal(number, [count for _, count in wanted])


ORDERS = """
ordered:
  doc: The first places of an order by two keys of what a filter leaves, and the first place where it leaves one.
  params: {count: "int", some: "bool"}
  inputs: {n: "$A[$size]", key0: "$B[$size]"}
  index: "[]"
  outputs: {at: "int64[$count]", first: "int64[]", whole: "int64[$count]"}
  body: |
    let place[r < $count] = order(i < $size if !$some || i % 3 != 0 && n[i] == n[i] : [n[i], key0[i]])
    at[r] = place[r]
    let part[r < $count] = order(i < $size from 2 to 40 : n[i] > 1)
    whole[r] = part[r]
    first = first(i < $size if i > 4 : n[i] == n[i] && n[i] > 1)
sorted_rows:
  inputs: {x: "float64[$rows, $n]", w: "float64[$n]"}
  index: "[$rows]"
  outputs: {y: float64}
  body: |
    let place[r < $n] = order(i < $n : -x[@rows, i])
    y = sum(r < $n : w[r] * x[@rows, place[r]])
"""


def own_library(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "orders.yaml"
        path.write_text(text)
        return heddle.load_library(path)


def test_orders_and_first_places_of_a_body_beside_numpy():
    library, random = own_library(ORDERS), np.random.default_rng(8)
    for size in (1, 2, 3, 8, 100, 511, 512, 513, 1024, 1500):
        for a in (random.integers(0, 6, size).astype(np.int32),
                  random.choice(np.float32([np.nan, -np.inf, np.inf, 0, -0.0, 1, 2]), size)):
            b = random.choice([np.nan, np.inf, 1.0, 2.0], size)
            for some in (False, True):
                kept = [i for i in np.lexsort((b, a)) if not some or (i % 3 and a[i] == a[i])]
                part = sorted(range(2, min(40, size)), key=lambda i: a[i] > 1)
                first = [i for i in range(5, size) if a[i] > 1]
                for count in (size, size // 3, size + 5):
                    at, place, whole = library.call("ordered", a, b, count=count, some=some)
                    np.testing.assert_array_equal(at, (kept + [-1] * count)[:count])
                    np.testing.assert_array_equal(whole, (part + [-1] * count)[:count])
                    assert place == (first + [-1])[0]


def test_few_places_of_many_elements():
    """Columns, the best of two, and all that are left: each count, with whatever is left over."""
    library, random = own_library(ORDERS), np.random.default_rng(11)
    for size in (513, 4097, 30000):
        for a in (random.integers(0, 2**63, size).astype(np.uint64), random.choice(np.float32([np.nan, -np.inf, np.inf, 0, -0.0, 1, 2]), size)):
            b = random.choice([np.nan, np.inf, 1.0, 2.0], size)
            for some in (False, True):
                kept = [i for i in np.lexsort((b, a)) if not some or (i % 3 and a[i] == a[i])]
                for count in (1, 5, 100, 256):
                    np.testing.assert_array_equal(library.call("ordered", a, b, count=count, some=some)[0], kept[:count])
    # What a filter leaves is less than is wanted.
    x = np.full(3000, np.nan, np.float32)
    x[[5, 2999, 40]] = 3, 1, 2
    np.testing.assert_array_equal(library.call("ordered", x, x, count=6, some=True)[0], [2999, 40, 5, -1, -1, -1])
    x = random.random((3, 2100)).astype(np.float32)
    for found, wanted in zip(library.call("top_k_in_order", x, k=20), library.call("top_k_ranked", x, k=20), strict=True):
        np.testing.assert_array_equal(found, wanted)


FEW = """
few_of_rows:
  inputs: {x: "float64[$rows, $n]", w: "float64[5]"}
  index: "[$rows]"
  outputs: {y: float64}
  body: |
    let place[r < 5] = order(i < $n : -x[@rows, i])
    y = sum(r < 5 : w[r] * x[@rows, place[r]])
"""


def test_few_places_have_a_gradient():
    library, random = own_library(FEW), np.random.default_rng(12)
    x, w = random.random((3, 700)), random.random(5)
    gradient = heddle.grad(lambda v: library.call("reduce_sum", library.call("few_of_rows", v, w), keepdims=False), library=library)(x)
    wanted = np.zeros_like(x)
    for row, made in zip(x, wanted, strict=True):
        made[np.argsort(-row, kind="stable")[:5]] = w
    np.testing.assert_allclose(gradient, wanted)


def test_what_is_read_in_an_order_has_a_gradient():
    library, random = own_library(ORDERS), np.random.default_rng(9)
    for n in (40, 600):
        x, w = random.random((3, n)), random.random(n)
        total = lambda v: library.call("reduce_sum", library.call("sorted_rows", v, w), keepdims=False)  # noqa: B023, E731
        gradient = heddle.grad(total, library=library)(x)
        wanted = np.empty_like(x)
        for row, made in zip(x, wanted, strict=True):
            made[np.argsort(-row, kind="stable")] = w
        np.testing.assert_allclose(gradient, wanted)


ENDS = """
places:
  inputs: {x: "float32[$rows, $n]"}
  index: "[$rows]"
  outputs: {place: int64, some: bool, every: bool}
  body: |
    place = first(k < $n : x[@rows, k] > 0.5)
    some = any(k < $n : x[@rows, k] > 0.5)
    every = all(k < $n if k % 7 != 3 : x[@rows, k] <= 0.5)
in_planes:
  inputs: {x: "float32[$m, $n]"}
  index: "[]"
  outputs: {place: int64, some: bool}
  body: |
    place = first(i < $m, k < $n : x[i, k] > 0.5)
    some = any(i < $m, k < $n : x[i, k] > 0.5)
"""


def test_loops_that_end_early_find_what_is_anywhere():
    library = own_library(ENDS)
    for n in (1, 70, 1000, 1300):
        x = np.tril(np.ones((n + 1, n), np.float32), -1)[:, ::-1]  # row r has its first at n - r
        place, some, every = library.call("places", x)
        np.testing.assert_array_equal(place, [-1] + [n - r for r in range(1, n + 1)])
        np.testing.assert_array_equal(some, np.arange(n + 1) > 0)
        np.testing.assert_array_equal(every, [not any(k % 7 != 3 for k in range(n - r, n)) for r in range(n + 1)])
    for m, n in ((3, 1000), (1000, 3), (40, 40), (1, 5000)):
        for at in {0, 1, n - 1, n, m * n // 2, m * n - 1} & set(range(m * n)):
            x = np.zeros((m, n), np.float32)
            x.reshape(-1)[at] = 1
            assert [r.item() for r in library.call("in_planes", x)] == [at, True]
        assert [r.item() for r in library.call("in_planes", np.zeros((m, n), np.float32))] == [-1, False]
