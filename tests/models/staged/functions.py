"""Functions of the model that hold loops and branches: called twice, within each other, with attributes, under names that are
used elsewhere, too."""
import numpy as np

from case import Case, number, real

OWN = '<domain: "own", opset_import: ["" : 18]>\n'
NESTED = '<domain: "own", opset_import: ["" : 18, "own" : 1]>\n'
TRIPS = [{"x": real(n, seed=t), "trips": number(t)} for n, t in ((5, 3), (5, 3), (7, 4), (5, 0), (2, 17))]
SIGNS = [{"x": real(n) + shift} for n, shift in ((5, 3), (5, -3), (7, 4), (1, -9))]

CASES = [
    Case("a function with a loop, called twice", """
g (float[n] x, int64 trips) => (float[n] y, float[n] z) {
  e = Exp(x)
  y = own.repeat(x, trips)
  z = own.repeat(e, trips)
}
""" + OWN + """
repeat (a, count) => (b) {
  b = Loop <body = body (int64 i, bool go, float[n] c) => (bool on, float[n] d) { on = Identity(go) d = Add(c, a) }> (count, "", a)
}""", TRIPS),

    Case("a function with a loop, called with what it gave", """
g (float[n] x, int64 trips) => (float[k] y) {
  h = own.repeat(x, trips)
  y = own.repeat(h, trips)
}
""" + OWN + """
repeat (a, count) => (b) {
  b = Loop <body = body (int64 i, bool go, float[n] c) => (bool on, float[m] d) { on = Identity(go) d = Concat <axis = 0> (c, a) }> (count, "", a)
}""", [f for f in TRIPS if f["trips"] < 5]),

    Case("names of a body that are names of the caller", """
g (float[n] d, int64 trips) => (float[n] y) {
  c = Exp(d)
  h = own.repeat(d, trips)
  y = Add(h, c)
}
""" + OWN + """
repeat (a, count) => (b) {
  b = Loop <body = body (int64 i, bool go, float[n] c) => (bool on, float[n] d) {
    on = Identity(go) y = Neg(c) d = Sub(y, a) }> (count, "", a)
}""", [{"d": f["x"], "trips": f["trips"]} for f in TRIPS]),

    Case("names of a branch that are names of the caller", """
g (float[n] r) => (float[n] y) {
  y = own.choose(r)
}
""" + OWN + """
choose (a) => (b) {
  sum = ReduceSum <keepdims = 0> (a)
  zero = Constant <value = float {0}> ()
  c = Greater(sum, zero)
  b = If <then_branch = t () => (float[n] y) { r = Exp(a) y = Mul(r, a) },
          else_branch = e () => (float[n] r) { y = Neg(a) r = Sub(y, a) }> (c)
}""", [{"r": f["x"]} for f in SIGNS]),

    Case("names of a loop in a branch of a function that are names of the caller", """
g (float[n] s, int64 trips) => (float[n] y) {
  r = Tanh(s)
  h = own.choose(s, trips)
  y = Add(h, r)
}
""" + OWN + """
choose (a, count) => (b) {
  sum = ReduceSum <keepdims = 0> (a)
  zero = Constant <value = float {0}> ()
  c = Greater(sum, zero)
  b = If <then_branch = t () => (float[n] y) {
            q = Neg(a)
            y = Loop <body = body (int64 i, bool go, float[n] h) => (bool on, float[n] s) {
              on = Identity(go) r = Mul(h, q) s = Add(r, a) }> (count, "", a)
          },
          else_branch = e () => (float[n] r) { r = Neg(a) }> (c)
}""", [{"s": feed["x"], "trips": number(t)} for t, feed in enumerate(SIGNS)]),

    Case("attributes of the call within a body", """
g (float[n] x, int64 trips) => (float[n] y, float[n] z) {
  y = own.repeat <factor : float = 0.5, axis : int = 0> (x, trips)
  z = own.repeat(x, trips)
}
""" + OWN + """
repeat <axis : int = 0, factor : float = 2.0> (a, count) => (b) {
  b = Loop <body = body (int64 i, bool go, float[n] c) => (bool on, float[n] d) {
    on = Identity(go)
    w = Constant <value_float : float = @factor> ()
    h = Mul(c, w)
    s = Softmax <axis : int = @axis> (h)
    d = Add(s, a)
  }> (count, "", a)
}""", TRIPS),

    Case("attributes of the call within branches", """
g (float[n] x) => (float[n] y, float[n] z) {
  y = own.choose <factor : float = 0.5> (x)
  z = own.choose <factor : float = -3.0> (y)
}
""" + OWN + """
choose <factor> (a) => (b) {
  sum = ReduceSum <keepdims = 0> (a)
  zero = Constant <value = float {0}> ()
  c = Greater(sum, zero)
  b = If <then_branch = t () => (float[n] r) { w = Constant <value_float : float = @factor> () r = Mul(a, w) },
          else_branch = e () => (float[n] r) { r = LeakyRelu <alpha : float = @factor> (a) }> (c)
}""", SIGNS),

    Case("a function that calls one with a loop, within a loop", """
g (float[n] x, int64 trips) => (float[n] y) {
  y = Loop <body = body (int64 i, bool go, float[n] c) => (bool on, float[n] d) {
    on = Identity(go) d = own.outer <scale : float = 0.25> (c, i) }> (trips, "", x)
}
""" + NESTED + """
outer <scale> (a, count) => (b) {
  h = own.inner <factor : float = @scale> (a, count)
  k = own.inner <factor : float = 0.125> (h, count)
  b = Tanh(k)
}
""" + OWN + """
inner <factor> (a, count) => (b) {
  b = Loop <body = body (int64 i, bool go, float[n] c) => (bool on, float[n] d) {
    on = Identity(go) w = Constant <value_float : float = @factor> () h = Mul(a, w) d = Add(c, h) }> (count, "", a)
}""", TRIPS[:4]),

    Case("a function of another opset, with a branch", """
g (float[n,m] x) => (float[n] y) {
  y = own.choose(x)
}
<domain: "own", opset_import: ["" : 11]>
choose (a) => (b) {
  sum = ReduceSum <keepdims = 0> (a)
  zero = Constant <value = float {0}> ()
  c = Greater(sum, zero)
  b = If <then_branch = t () => (float[n] r) { r = ReduceSum <axes = [1], keepdims = 0> (a) },
          else_branch = e () => (float[n] r) { s = Unsqueeze <axes = [0]> (a) r = ReduceMax <axes = [0, 2], keepdims = 0> (s) }> (c)
}""", [{"x": real(n, m) + shift} for n, m, shift in ((3, 4, 2), (3, 4, -2), (2, 2, 2))],
         truth=lambda x: [x.sum(1) if x.sum() > 0 else x.max(1)]),

    Case("a function that hands on its input, and has an output that is not wanted", """
g (float[n] x, int64 trips) => (float[n] y, float[n] z) {
  h, y = own.pass(x, trips)
  z, unused = own.pass(h, trips)
}
""" + OWN + """
pass (a, count) => (a, b) {
  b = Loop <body = body (int64 i, bool go, float[n] c) => (bool on, float[n] d) { on = Identity(go) d = Add(c, a) }> (count, "", a)
}""", TRIPS, truth=lambda x, trips: [x * np.float32(1 + trips), x]),

    Case("an input of a function that is not given", """
g (float[n] x, int64 trips) => (float[n] y) {
  h = own.repeat(x, trips)
  y = own.repeat(h, "", x)
}
""" + OWN + """
repeat (a, count, b) => (c) {
  one = Constant <value = bool {1}> ()
  four = Constant <value = int64 {4}> ()
  c = Loop <body = body (int64 i, bool go, float[n] h) => (bool on, float[n] d) { on = Less(i, four) d = Add(h, a) }> (count, one, a)
}""", TRIPS),

    Case("a function with a list", """
g (float[n] x, int64 trips) => (float[k] y, int64 length) {
  l = own.many(x, trips)
  y = ConcatFromSequence <axis = 0> (l)
  length = SequenceLength(l)
}
""" + OWN + """
many (a, count) => (l) {
  e = SequenceConstruct(a)
  l = Loop <body = body (int64 i, bool go, seq(float[n]) c) => (bool on, seq(float[n]) d) {
    on = Identity(go) h = Exp(a) d = SequenceInsert(c, h) }> (count, "", e)
}""", TRIPS),
]
