"""Shapes, places and counts that are computed from data, each by an operator that takes them as an input."""
import numpy as np

from case import Case, number, real, whole

COUNTS = [{"x": real(n), "m": whole(*counts)} for n, counts in
          ((6, (2, 1)), (6, (2, 1)), (6, (1, 2)), (6, (3, 2)), (12, (2, 3)), (6, (1, 1)), (48, (40, 7)))]
# "k" and "k1": the sum of the integers m, of rank 0 and 1.
SUM = """
  k = ReduceSum <keepdims = 0> (m)
  one_axis = Constant <value = int64[1] {0}> ()
  k1 = Unsqueeze(k, one_axis)
"""


def case(title, results, nodes, feeds=None, **more):
    return Case(title, f"g (float[n] x, int64[p] m) => ({results}) {{{SUM}{nodes}}}", feeds or COUNTS, **more)


CASES = [
    case("Range", "int64[q] y", """
  zero = Constant <value = int64 {0}> () step = Constant <value = int64 {2}> ()
  r = Range(zero, k, step) y = Mul(r, r)"""),
    case("Range of reals", "float[q] y", """
  end = ReduceMax <keepdims = 0> (x) begin = ReduceMin <keepdims = 0> (x) step = Constant <value = float {0.25}> ()
  r = Range(begin, end, step) y = Exp(r)"""),
    case("Range down", "int64[q] y", """
  zero = Constant <value = int64 {0}> () step = Constant <value = int64 {-1}> ()
  y = Range(k, zero, step)"""),
    case("Reshape", "float[q,r] y", """
  rest = Constant <value = int64[1] {-1}> () part = ReduceMin <keepdims = 1> (m) shape = Concat <axis = 0> (part, rest)
  h = Reshape(x, shape) y = Tanh(h)""", [f for f in COUNTS if f["x"].size % f["m"].min() == 0]),
    case("Expand", "float[q,n] y", """
  one = Constant <value = int64[1] {1}> () shape = Concat <axis = 0> (k1, one) h = Expand(x, shape) y = Exp(h)"""),
    case("Tile", "float[q] y", "h = Tile(x, k1) y = Exp(h)"),
    case("ConstantOfShape", "float[q] y, int32[a,b] z", """
  y = ConstantOfShape <value = float[1] {2.5}> (k1) z = ConstantOfShape <value = int32[1] {7}> (m)"""),
    case("Slice to a computed end", "float[q] y", """
  zero = Constant <value = int64[1] {0}> () h = Slice(x, zero, k1) y = Exp(h)"""),
    case("Slice from a computed begin, backwards", "float[q] y", """
  end = Constant <value = int64[1] {-1000}> () step = Constant <value = int64[1] {-1}> () axis = Constant <value = int64[1] {0}> ()
  y = Slice(x, k1, end, axis, step)"""),
    case("Slice by computed steps and axes", "float[q,r] y", """
  shape = Constant <value = int64[2] {2, -1}> () table = Reshape(x, shape)
  zero = Constant <value = int64[2] {0, 0}> () end = Constant <value = int64[2] {100, 100}> ()
  index = ArgMax <axis = 0, keepdims = 1> (m) one = Constant <value = int64[1] {1}> () other = Sub(one, index)
  axes = Concat <axis = 0> (index, other)
  y = Slice(table, zero, end, axes, m)""", [f for f in COUNTS if f["x"].size % 2 == 0]),
    case("Pad", "float[q] y", """
  h = Pad(x, m) y = Exp(h)"""),
    case("Pad by computed lengths below zero", "float[q] y", """
  minus = Neg(m) y = Pad(x, minus)""", [f for f in COUNTS if f["m"].sum() <= f["x"].size]),
    case("Pad in other modes", "float[q] y, float[q] z", """
  y = Pad <mode = "reflect"> (x, m) z = Pad <mode = "edge"> (x, m)""", [f for f in COUNTS if f["m"].max() < f["x"].size]),
    case("OneHot", "float[p,q] y", """
  values = Constant <value = float[2] {0.5, 2}> () y = OneHot <axis = -1> (m, k1, values)"""),
    case("TopK", "float[q] v, int64[q] i", """
  size = Size(x) most = Min(k, size) most1 = Unsqueeze(most, one_axis) v, i = TopK(x, most1)"""),
    case("Resize by a computed size", "float[1,1,q] y", """
  shape = Constant <value = int64[3] {1, 1, -1}> () table = Reshape(x, shape)
  ones = Constant <value = int64[2] {1, 1}> () sizes = Concat <axis = 0> (ones, k1)
  y = Resize <mode = "linear"> (table, "", "", sizes)"""),
    case("Resize by a computed scale", "float[1,1,q] y", """
  shape = Constant <value = int64[3] {1, 1, -1}> () table = Reshape(x, shape)
  ones = Constant <value = float[2] {1, 1}> () scale = Cast <to = 1> (k1) scales = Concat <axis = 0> (ones, scale)
  y = Resize <mode = "nearest"> (table, "", scales)"""),
    case("Split of computed lengths", "float[q] a, float[r] b", """
  size = Shape(x) first = Min(k1, size) rest = Sub(size, first) lengths = Concat <axis = 0> (first, rest)
  a0, b0 = Split <axis = 0> (x, lengths) a = Exp(a0) b = Neg(b0)"""),
    case("Unsqueeze and Squeeze by computed axes", "y, float[n] z", """
  least = ReduceMin <keepdims = 1> (m) one = Constant <value = int64[1] {1}> () axis = Min(least, one)
  y = Unsqueeze(x, axis) z = Squeeze(y, axis)"""),
    case("ReduceSum over computed axes", "y", """
  shape = Constant <value = int64[2] {2, -1}> () table = Reshape(x, shape)
  axis = ArgMax <axis = 0, keepdims = 1> (m) y = ReduceSum <keepdims = 0> (table, axis)""", [f for f in COUNTS if f["x"].size % 2 == 0]),
    case("CumSum along a computed axis", "float[q,r] y", """
  shape = Constant <value = int64[2] {2, -1}> () table = Reshape(x, shape)
  axis = ArgMax <axis = 0, keepdims = 0> (m) y = CumSum(table, axis)""", [f for f in COUNTS if f["x"].size % 2 == 0]),
    case("Trilu of a computed diagonal", "float[q,r] y", """
  shape = Constant <value = int64[2] {2, -1}> () table = Reshape(x, shape) y = Trilu <upper = 0> (table, k)""", [f for f in COUNTS if f["x"].size % 2 == 0]),
    case("EyeLike of a computed shape", "float[a,b] y", """
  z = ConstantOfShape <value = float[1] {0}> (m) y = EyeLike <k = 1> (z)"""),
    case("shapes of what has a computed shape", "int64[2] s, float[a,b] y", """
  z = ConstantOfShape <value = float[1] {3}> (m) s0 = Shape(z) one = Constant <value = int64[2] {1, 1}> () s = Add(s0, one)
  w = ConstantOfShape <value = float[1] {1}> (s) minus = Constant <value = int64[2] {-1, -1}> () zero = Constant <value = int64[2] {0, 0}> ()
  h = Slice(w, zero, minus) y = Add(h, z)"""),
    case("a computed shape after a computed shape", "float[q] y", """
  a = Tile(x, k1) b = ReduceL1 <keepdims = 0> (a) c = Cast <to = 7> (b) ten = Constant <value = int64 {10}> () d = Mod(c, ten)
  e = Unsqueeze(d, one_axis) y = Tile(a, e)"""),
    case("a product of what has computed sizes", "float[q,q] y", """
  one = Constant <value = int64[1] {1}> () shape = Concat <axis = 0> (k1, one) h = Expand(x, shape)
  t = Transpose <perm = [1, 0]> (h) p = MatMul(h, t) y = Softmax <axis = -1> (p)"""),
    case("a value that is a size and a summand", "float[q] y, float[n] z", """
  h = Tile(x, k1) r = Cast <to = 1> (k) y = Add(h, r) z = Mul(x, r)"""),
    case("Gather by what Range gives", "float[q] y", """
  zero = Constant <value = int64 {0}> () one = Constant <value = int64 {1}> () size = Size(x) most = Min(k, size)
  r = Range(zero, most, one) y = Gather(x, r)"""),
    Case("Reshape by an input", """
g (float[n,m] x, int64[r] shape) => (y) { h = Reshape(x, shape) y = Exp(h) }""",
         [{"x": real(4, 6), "shape": whole(*shape)} for shape in ((6, 4), (24,), (2, 3, 4), (-1, 2), (0, 6), (1, 1, 24), (2, 2, 2, 3))]),
    Case("Expand by an input", """
g (float[n] x, int64[r] shape) => (y) { h = Expand(x, shape) y = Exp(h) }""",
         [{"x": real(3), "shape": whole(*shape)} for shape in ((2, 3), (5, 3), (1,), (2, 2, 3), (0, 3))]),
    Case("Slice by inputs", """
g (float[n,m] x, int64[r] begins, int64[r] ends, int64[r] axes, int64[r] steps) => (float[a,b] y) { y = Slice(x, begins, ends, axes, steps) }""",
         [{"x": real(4, 6), "begins": whole(*b), "ends": whole(*e), "axes": whole(*a), "steps": whole(*s)} for b, e, a, s in
          (((0, 1), (2, 4), (0, 1), (1, 1)), ((1,), (3,), (1,), (1,)), ((-1,), (-9,), (0,), (-2,)), ((0, 5), (9, -9), (0, -1), (3, -1)), ((2,), (1,), (0,), (1,)))]),
    Case("Range by inputs", """
g (int64 a, int64 b, int64 c) => (int64[k] y) { y = Range(a, b, c) }""",
         [{"a": number(a), "b": number(b), "c": number(c)} for a, b, c in ((0, 5, 1), (0, 5, 1), (2, 9, 3), (5, 0, -1), (5, 5, 1), (5, 2, 1), (-4, 100, 7))]),
    Case("TopK by an input", """
g (float[b,n] x, int64[1] k) => (float[b,k] v, int64[b,k] i) { v, i = TopK <axis = -1> (x, k) }""",
         [{"x": real(b, n), "k": whole(k)} for b, n, k in ((2, 9, 3), (2, 9, 9), (3, 50, 7), (1, 4, 1), (2, 9, 0))]),
    Case("Tile by an input", """
g (float[a,b] x, int64[2] r) => (float[c,d] y) { h = Tile(x, r) y = Neg(h) }""",
         [{"x": real(2, 3), "r": whole(*r)} for r in ((1, 2), (2, 2), (5, 1), (0, 3))]),
    Case("Resize by inputs", """
g (float[1,1,a,b] x, int64[4] sizes) => (float[1,1,c,d] y) { y = Resize <mode = "cubic"> (x, "", "", sizes) }""",
         [{"x": real(1, 1, h, w), "sizes": whole(1, 1, *s)} for h, w, s in ((4, 5, (8, 10)), (4, 5, (3, 3)), (7, 3, (7, 9)), (7, 3, (70, 6)))]),
]
