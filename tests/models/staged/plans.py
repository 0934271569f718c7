"""How many plans are made: a new iteration, a new count or a new value does not need one of its own, only a new class of sizes
(its borders are 1, 4, 16, 64, 256). The bounds leave room for one more a border and graph."""
import numpy as np

from case import Case, number, real

BORDERS = 5


def loop(title, graph, body, feeds, plans, carried="x", types=("float[m] c", "float[q] d")):
    return Case(title, f"""
g ({graph}) => (y) {{
  y = Loop <body = b (int64 i, bool go, {types[0]}) => (bool on, {types[1]}) {{ on = Identity(go) {body} }}> (trips, "", {carried})
}}""", feeds, plans=plans)


LONG = [{"x": real(n), "trips": number(trips)} for n, trips in ((3, 10), (3, 100), (5, 200))]
ROWS = [{"x": real(300), "trips": number(trips)} for trips in (10, 100, 300)]
POINT = "zero = Constant <value = int64[1] {0}> () one = Constant <value = int64[1] {1}> () at = Unsqueeze(i, zero)"
COUNTS = [{"x": real(100, seed=seed)} for seed in range(12)]
COUNT = """
  zero = Constant <value = float {0}> () is_positive = Greater(x, zero)
  ones = Cast <to = 7> (is_positive) k = ReduceSum <keepdims = 1> (ones)
"""


def count(title, nodes, plans=4, **more):
    return Case(title, f"g (float[n] x) => (y) {{{COUNT}{nodes}}}", COUNTS, plans=plans, **more)


CASES = [
    loop("one carried shape", "float[n] x, int64 trips", "d = Add(c, x)", LONG, 3, types=("float[n] c", "float[n] d")),
    loop("a carried shape that grows", "float[n] x, int64 trips", "d = Concat <axis = 0> (c, x)", LONG, 3 * BORDERS),
    loop("a grown list of words, its last one is read", "int64[n] x, int64 trips", """
    last_place = Constant <value = int64[1] {-1}> () last = Gather <axis = 0> (c, last_place) d = Concat <axis = 0> (c, last)""",
         [{"x": np.arange(3), "trips": number(trips)} for trips in (10, 100, 200)], 3 * BORDERS, types=("int64[m] c", "int64[q] d")),
    loop("a row a time", "float[n] x, int64 trips", "r = Gather(x, i) d = Add(c, r)", ROWS, 3, types=("float[n] c", "float[n] d")),
    loop("a part up to the iteration", "float[n] x, int64 trips", POINT + " end = Add(at, one) s = Slice(x, zero, end) r = ReduceSum <keepdims = 0> (s) d = Add(c, r)",
         ROWS, 3 * BORDERS, types=("float[n] c", "float[n] d")),
    loop("a part from the iteration on", "float[n] x, int64 trips", POINT + " end = Add(at, one) s = Slice(x, at, end) r = ReduceSum <keepdims = 0> (s) d = Add(c, r)",
         ROWS, 3 * BORDERS, types=("float[n] c", "float[n] d")),
    loop("the first iterations do something else", "float[n] x, int64 trips", """
    five = Constant <value = int64 {5}> () is_early = Less(i, five)
    d = If <then_branch = t () => (float[n] a) { a = Add(c, x) }, else_branch = e () => (float[n] a) { a = Sub(c, x) }> (is_early)""",
         LONG, 3 * BORDERS, types=("float[n] c", "float[n] d")),
    loop("a branch on a small carried value", "float[n] x, int64 trips", """
    size = ReduceL1 <keepdims = 0> (c) one = Constant <value = float {1}> () half = Constant <value = float {0.5}> () is_large = Greater(size, one)
    d = If <then_branch = t () => (float[n] a) { a = Mul(c, half) }, else_branch = e () => (float[n] a) { a = Add(c, one) }> (is_large)""",
         LONG, 9, types=("float[n] c", "float[n] d")),

    Case("a branch on a few numbers", """
g (float[n] x) => (y) {
  s = ReduceSum <keepdims = 0> (x) zero = Constant <value = float {0}> () c = Greater(s, zero)
  y = If <then_branch = t () => (a) { a = Exp(x) }, else_branch = e () => (a) { a = Neg(x) }> (c)
}""", [{"x": real(4, seed=seed)} for seed in range(12)], plans=4),
    Case("a size from a few numbers", """
g (float[n] x) => (y) {
  s = ReduceL1 <keepdims = 0> (x) ten = Constant <value = float {10}> () t = Mul(s, ten) k = Cast <to = 7> (t)
  zero = Constant <value = int64 {0}> () one = Constant <value = int64 {1}> () y = Range(zero, k, one)
}""", [{"x": real(4, seed=seed)} for seed in range(12)], plans=5),

    count("Range to a count", "o = Constant <value = int64[1] {0}> () m = Squeeze(k, o) z = Constant <value = int64 {0}> () one = Constant <value = int64 {1}> () y = Range(z, m, one)"),
    count("ConstantOfShape of a count", "h = ConstantOfShape(k) y = Exp(h)"),
    count("TopK of a count", "y, i = TopK(x, k)"),
    count("Slice to a count", "o = Constant <value = int64[1] {0}> () y = Slice(x, o, k)"),
    count("Slice from a count", "five = Constant <value = int64[1] {5}> () end = Add(k, five) y = Slice(x, k, end)"),
    count("Pad by a count", "most = Constant <value = int64[1] {100}> () rest = Sub(most, k) pads = Concat <axis = 0> (k, rest) y = Pad(x, pads)"),
    count("Resize to a count", """
  shape = Constant <value = int64[3] {1, 1, -1}> () t = Reshape(x, shape) ones2 = Constant <value = int64[2] {1, 1}> ()
  sizes = Concat <axis = 0> (ones2, k) y = Resize <mode = "linear"> (t, "", "", sizes)""", tolerance=1e-4),
    count("NonZero", "p = NonZero(is_positive) one = Constant <value = int64 {1}> () y = Add(p, one)", 5),
    count("Compress", "h = Compress <axis = 0> (x, is_positive) y = Exp(h)", 5),
    Case("NonMaxSuppression", """
g (float[n,4] b, float[n] s) => (float[k,4] y) {
  z = Constant <value = int64[1] {0}> () both = Constant <value = int64[2] {0, 1}> () all_boxes = Unsqueeze(b, z) all_scores = Unsqueeze(s, both)
  most = Constant <value = int64[1] {1000}> () overlap = Constant <value = float[1] {0.3}> ()
  kept = NonMaxSuppression(all_boxes, all_scores, most, overlap)
  axis = Constant <value = int64[1] {1}> () two = Constant <value = int64[1] {2}> () three = Constant <value = int64[1] {3}> ()
  column = Slice(kept, two, three, axis) numbers = Squeeze(column, axis) h = Gather <axis = 0> (b, numbers) y = Neg(h)
}""", [{"b": np.sort(np.random.default_rng(seed).random((40, 2, 2)), 1).reshape(40, 4).astype(np.float32) * 50,
        "s": np.random.default_rng(seed).random(40).astype(np.float32)} for seed in range(12)], plans=6),
]
