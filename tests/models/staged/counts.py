"""Operators that give as much as data say, and what is done with it: detections as exporters write them."""
import numpy as np

from case import Case, number, real

# Many, few, one, none and all are positive.
PARTS = [{"x": real(n, seed=seed) + np.float32(shift)} for n, seed, shift in
         ((20, 1, 0), (20, 2, 0), (20, 3, 0), (20, 4, -9), (20, 5, 9), (1, 6, 9), (200, 7, 0))]
POSITIVE = """
  zero = Constant <value = float {0}> ()
  first = Constant <value = int64[1] {0}> ()
  is_positive = Greater(x, zero)
  places = NonZero(is_positive)
  row = Squeeze(places, first)
"""


def positive(title, results, nodes, feeds=None, **more):
    return Case(title, f"g (float[n] x) => ({results}) {{{POSITIVE}{nodes}}}", feeds or PARTS, **more)


def boxes(n, seed, spread=40.0):
    random = np.random.default_rng([seed, n])
    low = random.random((n, 2)) * spread
    return {"b": np.concatenate([low, low + 1 + random.random((n, 2)) * 20], 1).astype(np.float32),
            "s": random.random(n).astype(np.float32)}


KEPT = """
  z = Constant <value = int64[1] {0}> ()
  both = Constant <value = int64[2] {0, 1}> ()
  all_boxes = Unsqueeze(b, z)
  all_scores = Unsqueeze(s, both)
  most = Constant <value = int64[1] {1000}> ()
  overlap = Constant <value = float[1] {0.3}> ()
  least = Constant <value = float[1] {0.4}> ()
  kept = NonMaxSuppression(all_boxes, all_scores, most, overlap, least)
  axis = Constant <value = int64[1] {1}> ()
  two = Constant <value = int64[1] {2}> ()
  three = Constant <value = int64[1] {3}> ()
  column = Slice(kept, two, three, axis)
  numbers = Squeeze(column, axis)
"""
BOXES = [boxes(*which) for which in ((9, 1), (9, 2), (30, 3), (30, 4, 5.0), (1, 5), (100, 6))] + [{**boxes(4, 7), "s": np.zeros(4, np.float32)}]

CASES = [
    positive("NonZero", "int64[1,k] places2", "one = Constant <value = int64 {1}> () places2 = Add(places, one)"),
    positive("what is gathered", "float[k] y, int64[1] s", "h = Gather(x, row) y = Exp(h) s = Shape(h)"),
    positive("the greatest of what is gathered, at most 5", "float[k] v, int64[k] i", """
  h = Gather(x, row) s = Shape(h) five = Constant <value = int64[1] {5}> () k = Min(s, five) v, i = TopK(h, k)"""),
    positive("the greatest of what is gathered, by a minimum over a list", "float[k] v, int64[k] i", """
  at = Transpose(places) h = GatherND(x, at) s = Shape(h) five = Constant <value = int64[1] {5}> ()
  both = Concat <axis = 0> (five, s) least = ReduceMin <keepdims = 0> (both) k = Reshape(least, minus) minus = Constant <value = int64[1] {-1}> ()
  v, i = TopK(h, k)"""),
    positive("what is scattered back", "float[n] y", """
  h = Gather(x, row) d = Mul(h, h) at = Transpose(places) y = ScatterND(x, at, d)"""),
    positive("what is scattered back by elements", "float[n] y", """
  h = Gather(x, row) d = Neg(h) y = ScatterElements <axis = 0> (x, row, d)"""),
    positive("positives and negatives, joined", "float[n] y", """
  no = Not(is_positive) others = NonZero(no) other_row = Squeeze(others, first) a = Gather(x, row) b = Gather(x, other_row) y = Concat <axis = 0> (a, b)"""),
    positive("a branch where there are none", "float[k] y", """
  count = Size(row) none = Constant <value = int64 {0}> () is_none = Equal(count, none)
  y = If <then_branch = t () => (float[n] a) { a = Neg(x) }, else_branch = e () => (float[k] a) { a = Gather(x, row) }> (is_none)"""),
    positive("a loop over the places", "float[k] y, float t", """
  count = Size(row)
  t, y = Loop <body = b (int64 i, bool go, float c) => (bool on, float d, float e) {
    on = Identity(go) p = Gather(row, i) v = Gather(x, p) d = Add(c, v) e = Tanh(d) }> (count, "", zero)"""),
    positive("a count that is a value", "float[n] y", """
  count = Size(row) c = Cast <to = 1> (count) y = Div(x, c)""", [PARTS[i] for i in (0, 1, 2, 4, 5, 6)]),
    positive("sums of what remains, until nothing does", "float y, int64[t] counts", """
  begin = Constant <value = bool {1}> () half = Constant <value = float {0.5}> ()
  last, y, counts = Loop <body = b (int64 i, bool go, float[m] c, float t) => (bool on, float[p] d, float u, int64 count) {
    shifted = Sub(c, half) yes = Greater(shifted, zero) d = Compress <axis = 0> (shifted, yes)
    sum = ReduceSum <keepdims = 0> (d) u = Add(t, sum) count = Size(d) least = Constant <value = int64 {0}> () on = Greater(count, least)
  }> ("", begin, x, zero)""", [PARTS[i] for i in (0, 1, 2, 6)]),

    Case("NonZero of a matrix, rows that are chosen", """
g (float[n,m] x) => (float[k,m] y, float[j] z) {
  zero = Constant <value = float {0}> ()
  yes = Greater(x, zero)
  places = NonZero(yes)
  at = Transpose(places)
  z = GatherND(x, at)
  rows, columns = Split <axis = 0, num_outputs = 2> (places)
  first = Constant <value = int64[1] {0}> ()
  row = Squeeze(rows, first)
  y = Gather <axis = 0> (x, row)
}""", [{"x": real(n, m) + np.float32(shift)} for n, m, shift in ((4, 5, 0), (4, 5, -1), (7, 3, 0), (2, 2, -9), (30, 6, 0))]),

    Case("Unique, with how often", """
g (int64[n] x) => (int64[k] y, int64[k] first, int64[n] inverse, float[k] often) {
  y, first, inverse, counts = Unique <sorted = 1> (x) c = Cast <to = 1> (counts) often = Log(c) }""",
         [{"x": np.random.default_rng(n).integers(0, most, n)} for n, most in ((9, 4), (9, 9), (30, 4), (1, 2), (200, 50))]),

    Case("boxes that are kept", f"""
g (float[n,4] b, float[n] s) => (float[k,4] y, float[k] score) {{{KEPT}
  y = Gather <axis = 0> (b, numbers)
  score = Gather <axis = 0> (s, numbers)
}}""", BOXES),

    Case("boxes that are kept, the best 5", f"""
g (float[n,4] b, float[n] s) => (float[k,4] y, float[k] score) {{{KEPT}
  five = Constant <value = int64[1] {{5}}> ()
  best = Slice(numbers, z, five)
  y = Gather <axis = 0> (b, best)
  score = Gather <axis = 0> (s, best)
}}""", BOXES),

    Case("each kept box is pasted in a loop", f"""
g (float[n,4] b, float[n] s) => (float[60,60] picture) {{{KEPT}
  kept_boxes = Gather <axis = 0> (b, numbers)
  count = Size(numbers)
  size = Constant <value = int64[2] {{60, 60}}> ()
  empty = ConstantOfShape(size)
  picture = Loop <body = body (int64 i, bool go, float[60,60] p) => (bool on, float[60,60] q) {{
    on = Identity(go)
    box = Gather <axis = 0> (kept_boxes, i)
    whole = Cast <to = 7> (box)
    places = Constant <value = int64[2] {{0, 1}}> ()
    ends = Constant <value = int64[2] {{2, 3}}> ()
    from = Gather <axis = 0> (whole, places)
    to0 = Gather <axis = 0> (whole, ends)
    to = Min(to0, size)
    extent = Sub(to, from)
    block = ConstantOfShape <value = float[1] {{1}}> (extent)
    after = Sub(size, to)
    pads = Concat <axis = 0> (from, after)
    padded = Pad(block, pads)
    q = Add(p, padded)
  }}> (count, "", empty)
}}""", BOXES[:4]),
]
