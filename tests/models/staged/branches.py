"""Branches on conditions that are constants, inputs or computed, and what branches hand out."""
import numpy as np

from case import Case, real, number

SIGNS = [{"x": real(n) + shift} for n, shift in ((5, 3), (5, -3), (7, 4), (5, -4), (9, 10), (1, -9), (300, 1))]
FLAGS = [{"x": real(n), "c": np.array(flag)} for n, flag in ((5, True), (5, False), (7, True), (2, False), (5, True))]

POSITIVE = """
  sum = ReduceSum <keepdims = 0> (x)
  zero = Constant <value = float {0}> ()
  c = Greater(sum, zero)
"""

CASES = [
    Case("branches of different shapes", """
g (float[n] x) => (float[k] y) {""" + POSITIVE + """
  h = If <then_branch = t () => (float[n] a) { a = Mul(x, x) },
          else_branch = e () => (float[m] a) { a = Concat <axis = 0> (x, x) }> (c)
  y = Exp(h)
}""", SIGNS),

    Case("branches of different ranks", """
g (float[n] x) => (y) {""" + POSITIVE + """
  y = If <then_branch = t () => (float a) { a = ReduceMax <keepdims = 0> (x) },
          else_branch = e () => (float[m] a) { a = Neg(x) }> (c)
}""", SIGNS),

    Case("a condition that is an input", """
g (float[n] x, bool c) => (float[k] y) {
  y = If <then_branch = t () => (float[n] a) { a = Mul(x, x) },
          else_branch = e () => (float[m] a) { a = Concat <axis = 0> (x, x) }> (c)
}""", FLAGS),

    Case("a condition of one element", """
g (float[n] x, bool[1] c) => (float[n] y) {
  y = If <then_branch = t () => (float[n] a) { a = Mul(x, x) },
          else_branch = e () => (float[n] a) { a = Neg(x) }> (c)
}""", [{"x": f["x"], "c": f["c"].reshape(1)} for f in FLAGS]),

    Case("a condition that is a constant", """
g (float[n] x) => (float[n] y, float[n] z) <bool yes = {1}, bool no = {0}> {
  y = If <then_branch = t () => (float[n] a) { a = Mul(x, x) }, else_branch = e () => (float[n] a) { a = Neg(x) }> (yes)
  z = If <then_branch = t2 () => (float[n] a) { a = Mul(x, x) }, else_branch = e2 () => (float[n] a) { a = Neg(x) }> (no)
}""", [{"x": real(n)} for n in (3, 4)]),

    Case("a condition that is a size", """
g (float[n] x) => (float[k] y) <int64 four = {4}> {
  n = Size(x)
  c = Greater(n, four)
  y = If <then_branch = t () => (float[k] a) { begin = Constant <value = int64[1] {0}> () end = Constant <value = int64[1] {4}> () a = Slice(x, begin, end) },
          else_branch = e () => (float[n] a) { a = Identity(x) }> (c)
}""", [{"x": real(n)} for n in (3, 4, 5, 9, 3, 70)]),

    Case("branches that hand on values of outside", """
g (float[n] x) => (float[n] y, float[n] z) <float[1] w = {7}> {""" + POSITIVE + """
  e = Exp(x)
  y, h = If <then_branch = t () => (float[n] e, float[n] x) { },
             else_branch = e () => (float[n] x, float[1] w) { }> (c)
  z = Add(h, e)
}""", SIGNS, truth=lambda x: [np.exp(x), x + np.exp(x)] if x.sum() > 0 else [x, 7 + np.exp(x)]),

    Case("branches that hand on constants and one value twice", """
g (float[n] x) => (float[k] y, float[m] z) {""" + POSITIVE + """
  y, z = If <then_branch = t () => (float[3] k, float[3] k) <float[3] k = {1, 2, 3}> { },
             else_branch = e () => (float[n] a, float[n] a) { a = Neg(x) }> (c)
}""", SIGNS, truth=lambda x: [np.float32([1, 2, 3])] * 2 if x.sum() > 0 else [-x] * 2),

    Case("constant nodes that are results of branches", """
g (float[n] x) => (float[k] y) {""" + POSITIVE + """
  y = If <then_branch = t () => (float[2] a) { a = Constant <value = float[2] {1, 2}> () },
          else_branch = e () => (float[3] a) { a = Constant <value = float[3] {3, 4, 5}> () }> (c)
}""", SIGNS),

    Case("the same names of values in both branches", """
g (float[n] x) => (float[n] y) {""" + POSITIVE + """
  y = If <then_branch = t () => (float[n] r) { a = Exp(x) b = Add(a, x) r = Mul(a, b) },
          else_branch = e () => (float[n] r) { b = Neg(x) a = Sub(b, x) r = Mul(a, b) }> (c)
}""", SIGNS),

    Case("the same names in two nodes' branches", """
g (float[n] x) => (float[n] y) {""" + POSITIVE + """
  h = If <then_branch = t () => (float[n] r) { a = Exp(x) r = Add(a, x) },
          else_branch = e () => (float[n] r) { a = Neg(x) r = Sub(a, x) }> (c)
  most = ReduceMax <keepdims = 0> (h)
  d = Less(most, zero)
  y = If <then_branch = t2 () => (float[n] r) { a = Mul(h, x) r = Add(a, h) },
          else_branch = e2 () => (float[n] r) { a = Abs(h) r = Sub(a, x) }> (d)
}""", SIGNS),

    Case("a branch within a branch", """
g (float[n] x, bool c) => (float[k] y) {
  y = If <then_branch = t () => (float[k] r) {
            sum = ReduceSum <keepdims = 0> (x)
            zero = Constant <value = float {0}> ()
            d = Greater(sum, zero)
            r = If <then_branch = tt () => (float[n] s) { s = Exp(x) },
                    else_branch = te () => (float[m] s) { s = Concat <axis = 0> (x, x, x) }> (d)
          },
          else_branch = e () => (float[k] r) {
            most = ReduceMax <keepdims = 0> (x)
            one = Constant <value = float {1}> ()
            d = Greater(most, one)
            r = If <then_branch = et () => (float[n] x) { },
                    else_branch = ee () => (float[1] s) { s = ReduceMin <keepdims = 1> (x) }> (d)
          }> (c)
}""", FLAGS + [{"x": real(4) + shift, "c": np.array(flag)} for shift in (-3, 3) for flag in (True, False)],
         truth=lambda x, c: [(np.exp(x) if x.sum() > 0 else np.tile(x, 3)) if c else x if x.max() > 1 else x.min(keepdims=True)]),

    Case("a loop in one branch", """
g (float[n] x, int64 trips) => (float[k] y) {""" + POSITIVE + """
  y = If <then_branch = t () => (float[k] r) {
            r = Loop <body = b (int64 i, bool go, float[p] a) => (bool on, float[q] d) {
              on = Identity(go) d = Concat <axis = 0> (a, x) }> (trips, "", x)
          },
          else_branch = e () => (float[n] r) { r = Neg(x) }> (c)
}""", [{**feed, "trips": number(i)} for i, feed in enumerate(SIGNS)]),

    Case("loops in both branches, with the same names", """
g (float[n] x, int64 trips) => (float[n] y, float[t,n] ys) {""" + POSITIVE + """
  y, ys = If <then_branch = t () => (float[n] r, float[t,n] rs) {
            r, rs = Loop <body = b (int64 i, bool go, float[n] a) => (bool on, float[n] d, float[n] s) {
              on = Identity(go) d = Add(a, x) s = Exp(d) }> (trips, "", x)
          },
          else_branch = e () => (float[n] r, float[t,n] rs) {
            r, rs = Loop <body = b (int64 i, bool go, float[n] a) => (bool on, float[n] d, float[n] s) {
              on = Identity(go) d = Sub(a, x) s = Neg(d) }> (trips, "", x)
          }> (c)
}""", [{**feed, "trips": number(i)} for i, feed in enumerate(SIGNS)]),

    Case("a branch that is taken by a constant, with a loop", """
g (float[n] x, int64 trips) => (float[n] y) <bool yes = {1}> {
  y = If <then_branch = t () => (float[n] r) {
            r = Loop <body = b (int64 i, bool go, float[n] a) => (bool on, float[n] d) { on = Identity(go) d = Add(a, x) }> (trips, "", x)
          },
          else_branch = e () => (float[n] r) { r = Neg(x) }> (yes)
}""", [{"x": real(n), "trips": number(t)} for n, t in ((3, 2), (4, 5), (3, 0))]),

    Case("branches on what a loop ends with", """
g (float[n] x) => (float[k] y, float[n] z) <bool begin = {1}, float limit = {30.0}, int64 three = {3}> {
  z, ys = Loop <body = b (int64 i, bool go, float[n] a) => (bool on, float[n] d, float s) {
    d = Add(a, a) s = ReduceL1 <keepdims = 0> (d) on = Less(s, limit) }> ("", begin, x)
  trips = Size(ys)
  c = Less(trips, three)
  y = If <then_branch = t () => (float[k] r) { r = Identity(ys) }, else_branch = e () => (float[n] r) { r = Add(z, x) }> (c)
}""", [{"x": real(n) + 1} for n in (5, 40, 2, 5, 1)]),

    Case("types that differ of nothing but the name", """
g (float[n] x, bool c) => (int64[k] y) {
  y = If <then_branch = t () => (int64[k] r) { r = Shape(x) },
          else_branch = e () => (int64[k] r) { axis = Constant <value = int64 {0}> () p = ArgMax <axis = 0, keepdims = 1> (x) r = Identity(p) }> (c)
}""", FLAGS),

    Case("many branches in a row", """
g (float[n] x) => (float[n] y) <float zero = {0}, int64 at0 = {0}, int64 at1 = {1}, int64 at2 = {2}> {
  a0 = Gather <axis = 0> (x, at0)
  c0 = Greater(a0, zero)
  x1 = If <then_branch = t () => (float[n] r) { r = Exp(x) }, else_branch = e () => (float[n] r) { r = Neg(x) }> (c0)
  a1 = Gather <axis = 0> (x, at1)
  c1 = Greater(a1, zero)
  x2 = If <then_branch = t () => (float[n] r) { r = Add(x1, x) }, else_branch = e () => (float[n] r) { r = Sub(x1, x) }> (c1)
  a2 = Gather <axis = 0> (x2, at2)
  c2 = Greater(a2, zero)
  y = If <then_branch = t () => (float[n] r) { r = Abs(x2) }, else_branch = e () => (float[n] r) { r = Mul(x2, x1) }> (c2)
}""", [{"x": real(n, seed=seed)} for n, seed in ((5, 1), (5, 2), (5, 3), (5, 4), (4, 5), (9, 6))]),
]
