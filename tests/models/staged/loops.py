"""Loops: how often they run, what they carry, what they collect, what their bodies see of the graphs around."""
import numpy as np

from case import Case, number, real, whole


def sizes(*pairs):
    """Feeds of x [n] and a trip count."""
    return [{"x": real(n, seed=trips), "trips": number(trips)} for n, trips in pairs]


TRIPS = sizes((5, 3), (5, 3), (7, 4), (5, 0), (1, 1), (9, 17), (0, 2), (6, 65))

CASES = [
    Case("a trip count in the model", """
g (float[n] x) => (float[n] y, float[t,n] ys) <int64 trips = {4}> {
  y, ys = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d, float[n] s) {
    on = Identity(go) d = Add(c, x) s = Mul(d, d) }> (trips, "", x)
}""", [{"x": real(n)} for n in (5, 5, 7, 1, 0, 300)]),

    Case("a trip count that is an input", """
g (float[n] x, int64 trips) => (float[n] y, float[t,n] ys) {
  y, ys = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d, float[n] s) {
    on = Identity(go) d = Add(c, x) s = Mul(d, d) }> (trips, "", x)
}""", TRIPS),

    Case("a trip count of one element", """
g (float[n] x, int64[1] trips) => (float[n] y) {
  y = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d) {
    on = Identity(go) d = Add(c, x) }> (trips, "", x)
}""", [{"x": real(n), "trips": whole(trips)} for n, trips in ((5, 3), (6, 0), (5, 9))]),

    Case("a trip count that is computed", """
g (float[n] x) => (float[n] y, float[t,n] ys) <float half = {0.5}> {
  most = ReduceMax <keepdims = 0> (x)
  scaled = Mul(most, half)
  trips = Cast <to = 7> (scaled)
  y, ys = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d, float[n] s) {
    on = Identity(go) d = Mul(c, half) s = Exp(d) }> (trips, "", x)
}""", [{"x": np.full(n, top, np.float32)} for n, top in ((5, 7), (5, 9), (3, 1), (8, 0), (4, 40))]),

    Case("a trip count that is a size", """
g (float[n,m] x) => (float[m] y, float[t,m] ys) <int64 zero = {0}, float[1] none = {0}> {
  shape = Shape(x)
  trips = Gather <axis = 0> (shape, zero)
  width = Shape <start = 1> (x)
  begin = Expand(none, width)
  y, ys = Loop <body = b (int64 i, bool go, float[m] c) => (bool on, float[m] d, float[m] s) {
    on = Identity(go) row = Gather <axis = 0> (x, i) d = Add(c, row) s = Tanh(d) }> (trips, "", begin)
}""", [{"x": real(n, m)} for n, m in ((3, 4), (3, 4), (5, 2), (0, 3), (1, 1), (20, 7))]),

    Case("an end that the body decides", """
g (float[n] x, int64 trips) => (float[n] y, float[t,n] ys) <float limit = {50.0}, float two = {2.0}> {
  y, ys = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d, float[n] s) {
    d = Mul(c, two) s = Identity(c) total = ReduceL1 <keepdims = 0> (d) on = Less(total, limit) }> (trips, "", x)
}""", sizes((5, 3), (5, 30), (9, 30), (2, 0), (1, 100))),

    Case("no trip count, an end that the body decides", """
g (float[n] x) => (float[n] y, float[t] ys) <float limit = {90.0}, float two = {2.0}, bool begin = {1}> {
  y, ys = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d, float s) {
    d = Mul(c, two) s = ReduceL1 <keepdims = 0> (d) on = Less(s, limit) }> ("", begin, x)
}""", [{"x": real(n) + 1} for n in (5, 5, 2, 40)]),

    Case("a condition that is false from the begin", """
g (float[n] x, bool begin, int64 trips) => (float[n] y, int64[t] ys) {
  y, ys = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d, int64 s) {
    d = Neg(c) s = Identity(i) on = Identity(go) }> (trips, begin, x)
}""", [{"x": real(5), "begin": np.array(begin), "trips": number(trips)} for begin, trips in
         ((True, 3), (False, 3), (True, 0), (False, 0))]),

    Case("a condition that is computed, and is the body's own", """
g (float[n] x) => (float[n] y) <float none = {0.0}, float step = {0.75}> {
  sum = ReduceSum <keepdims = 0> (x)
  begin = Greater(sum, none)
  y = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d) {
    d = Sub(c, step) left = ReduceSum <keepdims = 0> (d) on = Greater(left, none) }> ("", begin, x)
}""", [{"x": real(n) + shift} for n, shift in ((5, 2), (5, -2), (8, 9), (1, 1), (8, -9))]),

    Case("nothing carried, results of several kinds are collected", """
g (int64 trips) => (int64[t] numbers, bool[t] odd, double[t] halves, float[t,2,0] empty, int32[t,3] rows) <int64 two = {2}, double half = {0.5}, int32[3] row = {1, 2, 3}> {
  numbers, odd, halves, empty, rows = Loop <body = b (int64 i, bool go) => (bool on, int64 s, bool is_odd, double h, float[2,0] e, int32[3] r) {
    on = Identity(go)
    s = Mul(i, i)
    rest = Mod(i, two)
    is_odd = Cast <to = 9> (rest)
    real = Cast <to = 11> (i)
    h = Mul(real, half)
    shape = Constant <value = int64[2] {2, 0}> ()
    e = ConstantOfShape(shape)
    small = Cast <to = 6> (i)
    r = Mul(row, small)
  }> (trips, "")
}""", [{"trips": number(trips)} for trips in (3, 0, 1, 5, 3)]),

    Case("carried shapes that grow", """
g (float[n] x, int64 trips) => (float[k] y, int64[t,1] lengths) {
  y, lengths = Loop <body = b (int64 i, bool go, float[m] c) => (bool on, float[q] d, int64[1] s) {
    on = Identity(go) d = Concat <axis = 0> (c, x) s = Shape(d) }> (trips, "", x)
}""", TRIPS),

    Case("carried shapes that double", """
g (float[n,2] x, int64 trips) => (float[k,2] y) {
  y = Loop <body = b (int64 i, bool go, float[m,2] c) => (bool on, float[q,2] d) {
    on = Identity(go) e = Relu(c) d = Concat <axis = 0> (c, e) }> (trips, "", x)
}""", [{"x": real(n, 2), "trips": number(trips)} for n, trips in ((1, 5), (3, 2), (2, 0), (1, 8), (0, 3))]),

    Case("carried shapes that shrink until nothing is left", """
g (float[n] x) => (float[k] y, float[t] tops) <int64[1] one = {1}, int64[1] end = {1000}, int64 zero = {0}, bool begin = {1}> {
  y, tops = Loop <body = b (int64 i, bool go, float[m] c) => (bool on, float[q] d, float top) {
    d = Slice(c, one, end)
    top = ReduceMax <keepdims = 0> (c)
    length = Size(d)
    on = Greater(length, zero)
  }> ("", begin, x)
}""", [{"x": real(n)} for n in (5, 5, 1, 9)]),

    Case("a carried value whose rank changes", """
g (float[n] x, int64 trips) => (y) <int64[1] zero = {0}> {
  y = Loop <body = b (int64 i, bool go, c) => (bool on, d) {
    on = Identity(go) d = Unsqueeze(c, zero) }> (trips, "", x)
}""", sizes((3, 2), (3, 0), (4, 5))),

    Case("carried values that change places", """
g (float[n] x, float[m] z, int64 trips) => (float[p] a, float[q] b) {
  a, b = Loop <body = b (int64 i, bool go, float[p] u, float[q] v) => (bool on, float[q] v, float[p] u) {
    on = Identity(go) }> (trips, "", x, z)
}""", [{"x": real(n), "z": real(m), "trips": number(trips)} for n, m, trips in ((2, 3, 1), (2, 3, 2), (2, 2, 3), (4, 1, 0))]),

    Case("a carried value that is handed out twice, and a captured one that is collected", """
g (float[n] x, int64 trips) => (float[n] a, float[n] b, float[t,n] outer, float[t,n] inner) {
  e = Exp(x)
  a, b, outer, inner = Loop <body = b (int64 i, bool go, float[n] u, float[n] v) => (bool on, float[n] w, float[n] w, float[n] e, float[n] w) {
    on = Identity(go) w = Add(u, v) }> (trips, "", x, x)
}""", sizes((3, 3), (4, 1)), truth=lambda x, trips: [
             x * np.float32(2 ** trips), x * np.float32(2 ** trips), np.tile(np.exp(x), (trips, 1)), np.array([x * 2 ** (1 + i) for i in range(trips)], np.float32).reshape(-1, x.size)]),

    Case("captured inputs, weights and computed values", """
g (float[n,3] x, int64 trips) => (float[n,4] y) {
  scaled = MatMul(x, first)
  inner = Tanh(scaled)
  y = Loop <body = b (int64 i, bool go, float[n,4] c) => (bool on, float[n,4] d) {
    on = Identity(go)
    product = MatMul(c, second)
    shifted = Add(product, bias)
    sum = Add(shifted, inner)
    back = MatMul(x, first)
    most = Add(sum, back)
    d = Tanh(most)
  }> (trips, "", inner)
}""", [{"x": real(n, 3), "trips": number(trips)} for n, trips in ((2, 3), (2, 3), (9, 2), (1, 20), (4, 0))],
         weights={"first": real(3, 4), "second": real(4, 4), "bias": real(4)}),

    Case("captured shapes", """
g (float[n] x, int64[m] other, int64 trips) => (float[k] y) {
  length = Shape(x)
  much = Shape(other)
  sum = Add(length, much)
  y = Loop <body = b (int64 i, bool go, float[k] c) => (bool on, float[p] d) {
    on = Identity(go) more = ConstantOfShape <value = float[1] {2}> (sum) d = Concat <axis = 0> (c, more) }> (trips, "", x)
}""", [{"x": real(n), "other": np.zeros(m, np.int64), "trips": number(t)} for n, m, t in ((2, 3, 2), (2, 3, 2), (3, 2, 1), (9, 30, 4))]),

    Case("the iteration's number in Gather, Slice and Range", """
g (float[n,4] x, int64 trips) => (float[t,4] rows, float[k] parts, int64[j] numbers)
  <int64[1] one = {1}, int64 zero = {0}, int64 step = {1}, float[0] nothing = {}, int64[0] no_numbers = {}> {
  parts, numbers, rows = Loop <body = b (int64 i, bool go, float[p] c, int64[q] r) => (bool on, float[p2] d, int64[q2] s, float[4] row) {
    on = Identity(go)
    row = Gather <axis = 0> (x, i)
    begin = Unsqueeze(i, zero_axis)
    end = Add(begin, one)
    some = Slice(row, zero_axis, end)
    d = Concat <axis = 0> (c, some)
    counted = Range(zero, i, step)
    s = Concat <axis = 0> (r, counted)
  }> (trips, "", nothing, no_numbers)
}""", [{"x": real(n, 4), "trips": number(trips)} for n, trips in ((3, 3), (5, 5), (70, 70), (4, 0), (4, 1))],
         weights={"zero_axis": whole(0)}),

    Case("loops within a loop", """
g (float[n] x, int64 trips) => (float[n] y, float[t,k,n] all) {
  y, all = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d, float[k,n] s) {
    on = Identity(go)
    two = Constant <value = int64 {2}> ()
    d, s = Loop <body = inner (int64 j, bool go_inner, float[n] e) => (bool on_inner, float[n] f, float[n] h) {
      on_inner = Identity(go_inner)
      sum = Add(i, j)
      number = Cast <to = 1> (sum)
      scaled = Mul(number, x)
      f = Add(e, scaled)
      h = Sub(f, c)
    }> (two, "", c)
  }> (trips, "", x)
}""", TRIPS[:6]),

    Case("a loop within a loop that runs as often as the outer one counts", """
g (float[n] x, int64 trips) => (float[k] y) {
  y = Loop <body = b (int64 i, bool go, float[p] c) => (bool on, float[q] d) {
    on = Identity(go)
    d = Loop <body = inner (int64 j, bool go_inner, float[p] e) => (bool on_inner, float[q] f) {
      on_inner = Identity(go_inner) f = Concat <axis = 0> (e, x) }> (i, "", c)
  }> (trips, "", x)
}""", sizes((2, 3), (2, 3), (1, 0), (3, 6))),

    Case("a branch within a loop", """
g (float[n] x, int64 trips) => (float[n] y, int64[t] taken) <int64 two = {2}, int64 zero = {0}> {
  y, taken = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d, int64 s) {
    on = Identity(go)
    s = Mod(i, two)
    is_even = Equal(s, zero)
    d = If <then_branch = t () => (float[n] a) { a = Add(c, x) },
            else_branch = e () => (float[n] a) { h = Mul(c, x) a = Neg(h) }> (is_even)
  }> (trips, "", x)
}""", TRIPS),

    Case("a branch within a loop on a carried value", """
g (float[n] x, int64 trips) => (float[n] y) <float one = {1.0}, float half = {0.5}> {
  y = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d) {
    on = Identity(go)
    size = ReduceL1 <keepdims = 0> (c)
    is_large = Greater(size, one)
    d = If <then_branch = t () => (float[n] a) { a = Mul(c, half) },
            else_branch = e () => (float[n] a) { a = Add(c, one) }> (is_large)
  }> (trips, "", x)
}""", TRIPS),

    Case("two loops, of which the second runs as often as the first", """
g (float[n] x) => (float[n] z, float[k,n] zs) <bool begin = {1}, float limit = {9.0}, int64[1] none = {0}> {
  y, ys = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d, float s) {
    d = Add(c, c) s = ReduceL1 <keepdims = 0> (d) on = Less(s, limit) }> ("", begin, x)
  trips = Size(ys)
  z, zs = Loop <body = b2 (int64 i, bool go, float[n] c) => (bool on, float[n] d, float[n] s) {
    at = Gather <axis = 0> (ys, i) d = Div(c, at) s = Add(d, x) on = Identity(go) }> (trips, "", y)
}""", [{"x": real(n) / 9} for n in (5, 5, 2, 20)]),

    Case("a loop's results are the next nodes' shapes", """
g (float[n] x, int64 trips) => (float[p,q] y) <int64[1] one = {1}> {
  rows = Loop <body = b (int64 i, bool go, int64[1] c) => (bool on, int64[1] d) {
    on = Identity(go) d = Add(c, one) }> (trips, "", one)
  columns = Shape(x)
  shape = Concat <axis = 0> (rows, columns)
  y = Expand(x, shape)
}""", TRIPS),

    Case("a carried truth value and a carried number", """
g (int64 trips) => (bool flag, int64 total, bool[t] flags) <bool begin = {0}, int64 one = {1}> {
  flag, total, flags = Loop <body = b (int64 i, bool go, bool f, int64 c) => (bool on, bool h, int64 d, bool h) {
    on = Identity(go) h = Not(f) d = Add(c, i) }> (trips, "", begin, one)
}""", [{"trips": number(trips)} for trips in (0, 1, 4, 65)]),

    Case("a condition that the body takes and hands back", """
g (float[n] x, int64 trips) => (float[n] y) {
  y = Loop <body = b (int64 i, bool go, float[n] c) => (bool go, float[n] d) { d = Add(c, x) }> (trips, "", x)
}""", TRIPS[:5]),

    Case("a body whose condition is a constant", """
g (float[n] x, int64 trips) => (float[n] y, int64[t] s) {
  y, s = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d, int64 i) <bool on = {1}> { d = Add(c, x) }> (trips, "", x)
}""", TRIPS[:5], truth=lambda x, trips: [x * np.float32(1 + trips), np.arange(trips)]),

    Case("a body with weights of its own", """
g (float[n] x, int64 trips) => (float[n] y) {
  y = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d) <float w = {0.5}> {
    on = Identity(go) h = Mul(c, w) d = Tanh(h) }> (trips, "", x)
}""", TRIPS),

    Case("a last result that is not wanted", """
g (float[n] x, int64 trips) => (float[t,n] ys) {
  y, ys, unused = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d, float[n] s, float[n] u) {
    on = Identity(go) d = Add(c, x) s = Sub(d, x) u = Exp(d) }> (trips, "", x)
}""", TRIPS[:5]),

    Case("a carried value of no elements", """
g (float[n] x, int64 trips) => (float[k,n] y) {
  none = Constant <value = int64[2] {0, 1}> ()
  width = Shape(x)
  zero = Constant <value = int64[1] {0}> ()
  shape = Concat <axis = 0> (zero, width)
  empty = ConstantOfShape(shape)
  first = Constant <value = int64[1] {0}> ()
  y = Loop <body = b (int64 i, bool go, float[p,n] c) => (bool on, float[q,n] d) {
    on = Identity(go) row = Unsqueeze(x, first) d = Concat <axis = 0> (c, row) }> (trips, "", empty)
}""", TRIPS),

    Case("a body that says no types", """
g (int64[n] x, int64 trips) => (int64[k] y, int64[t,n,n] ys, bool[t] flags) {
  y, ys, flags = Loop <body = b (int64 i, bool go, c) => (on, d, s, f) {
    on = Identity(go) d = Add(c, x) axis = Constant <value = int64[1] {0}> () row = Unsqueeze(d, axis) n = Shape(x) shape = Concat <axis = 0> (n, n)
    s = Expand(row, shape) f = Less(i, trips) }> (trips, "", x)
}""", [{"x": np.arange(n), "trips": number(t)} for n, t in ((3, 2), (3, 2), (4, 5), (3, 0))]),

    Case("a trip count below zero", """
g (float[n] x, int64 trips) => (float[n] y, float[t,n] ys) {
  y, ys = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d, float[n] s) {
    on = Identity(go) d = Add(c, x) s = Mul(d, d) }> (trips, "", x)
}""", sizes((5, 3)) + [{"x": real(5), "trips": number(-2)}]),
]
