"""Lists of tensors, and optional values."""
import numpy as np

from case import Case, number, real, whole

TRIPS = [{"x": real(n, seed=t), "trips": number(t)} for n, t in ((5, 3), (5, 3), (7, 4), (5, 1), (2, 17))]
NONE = TRIPS + [{"x": real(3), "trips": number(0)}]

CASES = [
    Case("a list that a loop fills, and what is joined of it", """
g (float[n] x, int64 trips) => (float[k] y, float[t,n] stacked, float[n,t] columns, int64 length) {
  e = SequenceEmpty <dtype = 1> ()
  l = Loop <body = b (int64 i, bool go, seq(float[n]) s) => (bool on, seq(float[n]) r) {
    on = Identity(go) c = Cast <to = 1> (i) h = Mul(x, c) r = SequenceInsert(s, h) }> (trips, "", e)
  y0 = ConcatFromSequence <axis = 0> (l)
  y = Exp(y0)
  stacked = ConcatFromSequence <axis = 0, new_axis = 1> (l)
  columns = ConcatFromSequence <axis = -1, new_axis = 1> (l)
  length = SequenceLength(l)
}""", TRIPS),

    Case("a list is a result", """
g (float[n] x, int64 trips) => (seq(float[k]) l, int64 length) {
  e = SequenceEmpty()
  l = Loop <body = b (int64 i, bool go, seq(float[k]) s) => (bool on, seq(float[k]) r) {
    on = Identity(go) h = Concat <axis = 0> (x, x) r = SequenceInsert(s, h) }> (trips, "", e)
  length = SequenceLength(l)
}""", NONE),

    Case("lists that grow within, at the begin and in the middle", """
g (float[n] x, int64 at) => (seq(float[k]) l, float[m] joined) {
  a = Exp(x)
  b = Neg(x)
  s = SequenceConstruct(x, a, x)
  l0 = SequenceInsert(s, b, at)
  first = Constant <value = int64 {0}> ()
  l = SequenceInsert(l0, a, first)
  joined = ConcatFromSequence <axis = 0> (l)
}""", [{"x": real(n), "at": number(at)} for n, at in ((3, 0), (3, 1), (3, 3), (4, -1), (4, -3))]),

    Case("elements that are taken, and taken out", """
g (float[n] x, int64 at) => (float[k] y, float[m] z, seq(float[q]) rest, seq(float[q]) short, int64 length) {
  two = Concat <axis = 0> (x, x)
  three = Concat <axis = 0> (two, x)
  s = SequenceConstruct(x, two, three)
  y0 = SequenceAt(s, at)
  y = Neg(y0)
  rest = SequenceErase(s, at)
  short = SequenceErase(rest)
  last = Constant <value = int64 {-1}> ()
  z = SequenceAt(rest, last)
  length = SequenceLength(short)
}""", [{"x": real(n), "at": number(at)} for n, at in ((3, 0), (3, 1), (3, 2), (3, -1), (5, -3), (300, 0))]),

    Case("elements of different shapes are taken in a loop", """
g (float[n] x, int64 trips) => (float[t] sums, float[k] all) {
  e = SequenceEmpty()
  none = Constant <value = float[0] {}> ()
  l, c = Loop <body = b (int64 i, bool go, seq(float[p]) s, float[p] h) => (bool on, seq(float[q]) r, float[q] d) {
    on = Identity(go) d = Concat <axis = 0> (h, x) r = SequenceInsert(s, d) }> (trips, "", e, none)
  all, sums = Loop <body = b2 (int64 i, bool go, float[p] h) => (bool on, float[q] d, float sum) {
    on = Identity(go) part = SequenceAt(l, i) sum = ReduceSum <keepdims = 0> (part) d = Concat <axis = 0> (h, part) }> (trips, "", none)
}""", [f for f in NONE if f["trips"] < 5]),

    Case("a list that is split off a tensor", """
g (float[n,m] x) => (seq(float[1,m]) rows, seq(float[m]) flat, int64 count) {
  rows = SplitToSequence <axis = 0> (x)
  flat = SplitToSequence <axis = 0, keepdims = 0> (x)
  count = SequenceLength(rows)
}""", [{"x": real(n, m)} for n, m in ((3, 4), (3, 4), (1, 2), (9, 2))]),

    Case("parts of one length, the last one short", """
g (float[n,m] x, int64 part) => (seq(float[n,q]) parts, float[n,m] again) {
  parts = SplitToSequence <axis = -1> (x, part)
  again = ConcatFromSequence <axis = 1> (parts)
}""", [{"x": real(n, m), "part": number(part)} for n, m, part in ((3, 4, 2), (3, 5, 2), (2, 9, 4), (2, 3, 7), (2, 3, 1))]),

    Case("parts of given lengths", """
g (float[n,m] x, int64[p] lengths) => (seq(float[q,m]) parts, float[k,m] second) {
  parts = SplitToSequence <axis = 0> (x, lengths)
  one = Constant <value = int64 {1}> ()
  second0 = SequenceAt(parts, one)
  second = Exp(second0)
}""", [{"x": real(sum(parts), 3), "lengths": whole(*parts)} for parts in ((1, 2), (2, 1, 3), (3, 3), (1, 0, 4))]),

    Case("parts of computed lengths", """
g (float[n] x, float[n] weights) => (seq(float[q]) parts) <float half = {0.5}> {
  large = Greater(weights, half)
  ones = Cast <to = 7> (large)
  count = ReduceSum <keepdims = 1> (ones)
  all = Shape(x)
  rest = Sub(all, count)
  lengths = Concat <axis = 0> (count, rest)
  parts = SplitToSequence <axis = 0> (x, lengths)
}""", [{"x": real(n), "weights": real(n, seed=seed)} for n, seed in ((5, 1), (5, 2), (9, 3), (30, 4))]),

    Case("SequenceMap of two lists and a tensor", """
g (float[n,m] x, float[m] z) => (seq(float[m]) a, seq(float[k]) b) {
  rows = SplitToSequence <axis = 0, keepdims = 0> (x)
  bits = SplitToSequence <axis = 0, keepdims = 0> (x)
  a, b = SequenceMap <body = body (float[m] r, float[m] q, float[m] w) => (float[m] s, float[k] t) {
    h = Mul(r, q) s = Add(h, w) t = Concat <axis = 0> (s, x_row) }> (rows, bits, z)
  x_row = ReduceMax <axes = [0], keepdims = 0> (x)
}""", [{"x": real(n, m), "z": real(m)} for n, m in ((3, 4), (3, 4), (1, 2), (7, 3))], opset=17),

    Case("SequenceMap within a loop", """
g (float[n] x, int64 trips) => (float[k] y) {
  s = SequenceConstruct(x, x)
  l = Loop <body = b (int64 i, bool go, seq(float[n]) c) => (bool on, seq(float[n]) d) {
    on = Identity(go)
    number = Cast <to = 1> (i)
    d = SequenceMap <body = m (float[n] e) => (float[n] f) { f = Add(e, number) }> (c)
  }> (trips, "", s)
  y = ConcatFromSequence <axis = 0> (l)
}""", NONE),

    Case("a list in branches", """
g (float[n] x) => (float[k] y, seq(float[n]) l) <float zero = {0}> {
  sum = ReduceSum <keepdims = 0> (x)
  c = Greater(sum, zero)
  l = If <then_branch = t () => (seq(float[n]) r) { a = Exp(x) r = SequenceConstruct(x, a) },
          else_branch = e () => (seq(float[n]) r) { a = Neg(x) r = SequenceConstruct(a) }> (c)
  y = ConcatFromSequence <axis = 0> (l)
}""", [{"x": real(n) + shift} for n, shift in ((5, 3), (5, -3), (7, 4), (1, -9))]),

    Case("a list of outside in branches of a loop", """
g (float[n] x, int64 trips) => (float[t] sums) <int64 two = {2}, int64 zero = {0}> {
  a = Exp(x)
  both = Concat <axis = 0> (x, a)
  l = SequenceConstruct(x, both)
  sums = Loop <body = b (int64 i, bool go) => (bool on, float s) {
    on = Identity(go)
    p = Mod(i, two)
    c = Equal(p, zero)
    part = If <then_branch = t () => (float[p] r) { at0 = Constant <value = int64 {0}> () r = SequenceAt(l, at0) },
               else_branch = e () => (float[p] r) { at1 = Constant <value = int64 {1}> () h = SequenceAt(l, at1) r = Neg(h) }> (c)
    s = ReduceSum <keepdims = 0> (part)
  }> (trips, "")
}""", NONE),

    Case("a branch reads a list and what follows from sizes", """
g (float[n] x) => (float[k] y, float z) <float zero = {0}> {
  sum = ReduceSum <keepdims = 0> (x)
  c = Greater(sum, zero)
  l = SequenceConstruct(x, x)
  size = Size(x)
  count = Cast <to = 1> (size)
  r, z = If <then_branch = t () => (seq(float[n]) a, float b) { a = Identity(l) b = Identity(count) },
             else_branch = e () => (seq(float[n]) a, float b) { h = Neg(x) a = SequenceInsert(l, h) b = Neg(count) }> (c)
  y = ConcatFromSequence <axis = 0> (r)
}""", [{"x": real(n) + shift} for n, shift in ((5, 3), (5, -3), (7, 4), (1, -9))]),

    Case("a list of integers", """
g (int64[n] x, int64 trips) => (int64[k] y, seq(int64[n]) l) {
  e = SequenceEmpty <dtype = 7> ()
  l = Loop <body = b (int64 i, bool go, seq(int64[n]) s) => (bool on, seq(int64[n]) r) {
    on = Identity(go) h = Add(x, i) r = SequenceInsert(s, h) }> (trips, "", e)
  y = ConcatFromSequence <axis = 0> (l)
}""", [{"x": np.arange(n), "trips": number(t)} for n, t in ((3, 2), (3, 2), (1, 9))]),

    Case("an optional that is made and opened", """
g (float[n] x) => (float[n] y, bool there) {
  o = Optional(x)
  there = OptionalHasElement(o)
  e = OptionalGetElement(o)
  y = Exp(e)
}""", [{"x": real(n)} for n in (3, 3, 5)]),

    Case("an optional that a branch leaves empty", """
g (float[n] x) => (float[n] y, bool there) <float zero = {0}> {
  sum = ReduceSum <keepdims = 0> (x)
  c = Greater(sum, zero)
  o = If <then_branch = t () => (optional(float[n]) r) { a = Exp(x) r = Optional(a) },
          else_branch = e () => (optional(float[n]) r) { r = Optional <type = float[n]> () }> (c)
  there = OptionalHasElement(o)
  y = If <then_branch = t2 () => (float[n] q) { g0 = OptionalGetElement(o) q = Add(g0, x) },
          else_branch = e2 () => (float[n] q) { q = Neg(x) }> (there)
}""", [{"x": real(n) + shift} for n, shift in ((5, 3), (5, -3), (7, 4), (1, -9))]),

    Case("an optional list", """
g (float[n] x) => (float[k] y, bool there) {
  a = Exp(x)
  l = SequenceConstruct(x, a)
  o = Optional(l)
  there = OptionalHasElement(o)
  e = OptionalGetElement(o)
  y = ConcatFromSequence <axis = 0> (e)
}""", [{"x": real(n)} for n in (3, 3, 5)]),

    Case("OptionalHasElement of nothing and of a tensor", """
g (float[n] x) => (bool no, bool yes, float[n] y) {
  no = OptionalHasElement()
  yes = OptionalHasElement(x)
  y = OptionalGetElement(x)
}""", [{"x": real(n)} for n in (3, 4)]),

    Case("a list that is an input", """
g (seq(float[n]) l, int64 at) => (float[k] all, float[n] one, int64 length) {
  all = ConcatFromSequence <axis = 0> (l)
  e = SequenceAt(l, at)
  one = Exp(e)
  length = SequenceLength(l)
}""", [{"l": [real(n, seed=i) for i in range(count)], "at": number(at)} for n, count, at in ((3, 2, 1), (3, 2, 0), (4, 5, -1), (2, 1, 0))]),

    Case("an optional that is an input", """
g (optional(float[n]) o, float[n] x) => (float[n] y) {
  there = OptionalHasElement(o)
  y = If <then_branch = t () => (float[n] r) { e = OptionalGetElement(o) r = Add(e, x) },
          else_branch = e () => (float[n] r) { r = Neg(x) }> (there)
}""", [{"o": real(3), "x": real(3, seed=1)}, {"o": None, "x": real(3)}, {"o": real(5), "x": real(5, seed=1)}]),
]
