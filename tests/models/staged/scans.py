"""Scan of both kinds, and recurrent networks that are written as loops."""
import numpy as np

from case import Case, number, real

LENGTHS = [{"x": real(t, n)} for t, n in ((3, 4), (3, 4), (7, 4), (1, 2), (20, 5), (70, 3))]


def lstm(prefix, given):
    """One step of an LSTM cell on `given`; reads h and c, makes <prefix>h and <prefix>c."""
    p = prefix
    return f"""
    {p}in = MatMul({given}, {p}W)
    {p}re = MatMul(h, {p}R)
    {p}both = Add({p}in, {p}re)
    {p}gates = Add({p}both, {p}B)
    {p}i0, {p}o0, {p}f0, {p}g0 = Split <axis = 1, num_outputs = 4> ({p}gates)
    {p}i = Sigmoid({p}i0) {p}o = Sigmoid({p}o0) {p}f = Sigmoid({p}f0) {p}g = Tanh({p}g0)
    {p}keep = Mul({p}f, c)
    {p}new = Mul({p}i, {p}g)
    {p}c = Add({p}keep, {p}new)
    {p}t = Tanh({p}c)
    {p}h = Mul({p}o, {p}t)
"""


LSTM_WEIGHTS = {f"{p}{name}": real(*shape, seed=ord(p)) / 2 for p in "fr"
                for name, shape in (("W", (4, 12)), ("R", (3, 12)), ("B", (12,)))}
LSTM_FEEDS = [{"x": real(t, b, 4)} for t, b in ((5, 2), (5, 2), (3, 2), (1, 1), (17, 3), (66, 2))]
STATE = """
  sizes = Shape <start = 1, end = 2> (x)
  hidden = Constant <value = int64[1] {3}> ()
  state = Concat <axis = 0> (sizes, hidden)
  none = ConstantOfShape(state)
"""

CASES = [
    Case("a sum that runs along", """
g (float[t,n] x) => (float[n] y, float[t,n] ys) {
  shape = Shape <start = 1> (x)
  begin = ConstantOfShape(shape)
  y, ys = Scan <num_scan_inputs = 1, body = b (float[n] s, float[n] r) => (float[n] d, float[n] e) {
    d = Add(s, r) e = Identity(d) }> (begin, x)
}""", LENGTHS),

    Case("no state", """
g (float[t,n] x) => (float[t] ys, int64[t] places) {
  ys, places = Scan <num_scan_inputs = 1, body = b (float[n] r) => (float e, int64 p) {
    e = ReduceMax <keepdims = 0> (r) p = ArgMax <axis = 0, keepdims = 0> (r) }> (x)
}""", LENGTHS),

    Case("several states and scanned inputs, axes and directions", """
g (float[t,n] x, float[n,t,2] z, float[n] a) => (float[n] ae, int64 be, float[n,t] first, float[t,n,2] second, float[n,2,t] third) <int64 begin = {0}, int64 one = {1}> {
  ae, be, first, second, third = Scan <num_scan_inputs = 2, scan_input_axes = [0, 1], scan_input_directions = [1, 0],
      scan_output_axes = [1, 0, -1], scan_output_directions = [0, 1, 0],
      body = b (float[n] s, int64 k, float[n] r, float[n,2] q) => (float[n] d, int64 l, float[n] u, float[n,2] v, float[n,2] w) {
    d = Add(s, r)
    l = Add(k, one)
    kr = Cast <to = 1> (k)
    u = Mul(d, kr)
    axis = Constant <value = int64[1] {1}> ()
    column = Unsqueeze(d, axis)
    v = Mul(q, column)
    w = Add(v, a_column)
  }> (a, begin, x, z)
  last = Constant <value = int64[1] {1}> ()
  a_column = Unsqueeze(a, last)
}""", [{"x": real(t, n), "z": real(n, t, 2), "a": real(n)} for t, n in ((3, 4), (3, 4), (5, 4), (1, 1), (9, 2))]),

    Case("axes from the end", """
g (float[n,t] x) => (float[n] y, float[n,t] ys) {
  shape = Shape <end = 1> (x)
  begin = ConstantOfShape(shape)
  y, ys = Scan <num_scan_inputs = 1, scan_input_axes = [-1], scan_output_axes = [-1], scan_output_directions = [1],
      body = b (float[n] s, float[n] r) => (float[n] d, float[n] e) { d = Add(s, r) e = Exp(d) }> (begin, x)
}""", LENGTHS),

    Case("opset 8, examples apart", """
g (float[b,n] s, float[b,t,n] x) => (float[b,n] y, float[b,t,n] ys) {
  y, ys = Scan <num_scan_inputs = 1, body = b (float[n] s0, float[n] r) => (float[n] d, float[n] e) {
    d = Add(s0, r) e = Mul(d, r) }> ("", s, x)
}""", [{"s": real(b, n), "x": real(b, t, n)} for b, t, n in ((2, 3, 4), (2, 3, 4), (1, 5, 4), (3, 1, 2))], opset=8),

    Case("opset 8, a direction reversed", """
g (float[b,t,n] x, float[b,t,n] z) => (float[b,t,n] ys) {
  ys = Scan <num_scan_inputs = 2, directions = [0, 1], body = b (float[n] r, float[n] q) => (float[n] e) {
    e = Sub(r, q) }> ("", x, z)
}""", [{"x": real(b, t, n), "z": real(b, t, n, seed=1)} for b, t, n in ((2, 3, 4), (1, 5, 4))], opset=8),

    Case("a scan within a loop", """
g (float[t,n] x, int64 trips) => (float[t,n] y) {
  shape = Shape <start = 1> (x)
  begin = ConstantOfShape(shape)
  y = Loop <body = l (int64 i, bool go, float[t,n] c) => (bool on, float[t,n] d) {
    on = Identity(go)
    last, h = Scan <num_scan_inputs = 1, body = b (float[n] s, float[n] r) => (float[n] u, float[n] v) {
      u = Add(s, r) v = Tanh(u) }> (begin, c)
    d = Identity(h)
  }> (trips, "", x)
}""", [{"x": real(t, n), "trips": number(k)} for t, n, k in ((3, 4, 2), (5, 4, 3), (3, 4, 0), (2, 2, 6))]),

    Case("a scan whose steps branch", """
g (float[t,n] x) => (float[t,n] ys) <float zero = {0}> {
  ys = Scan <num_scan_inputs = 1, body = b (float[n] r) => (float[n] e) {
    sum = ReduceSum <keepdims = 0> (r)
    c = Greater(sum, zero)
    e = If <then_branch = t () => (float[n] a) { a = Exp(r) }, else_branch = e () => (float[n] a) { a = Neg(r) }> (c)
  }> (x)
}""", LENGTHS),

    Case("a bidirectional LSTM as scans", """
g (float[t,b,4] x) => (float[t,b,6] y, float[b,3] last) {""" + STATE + """
  fh, fc, fs = Scan <num_scan_inputs = 1, body = forward (float[b,3] h, float[b,3] c, float[b,4] r) => (float[b,3] fh, float[b,3] fc, float[b,3] out) {
""" + lstm("f", "r") + """
    out = Identity(fh) }> (none, none, x)
  last, rc, rs = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1],
    body = backward (float[b,3] h, float[b,3] c, float[b,4] r) => (float[b,3] rh, float[b,3] rc, float[b,3] out) {
""" + lstm("r", "r") + """
    out = Identity(rh) }> (none, none, x)
  y = Concat <axis = 2> (fs, rs)
}""", LSTM_FEEDS, weights=LSTM_WEIGHTS),

    Case("a bidirectional LSTM as loops", """
g (float[t,b,4] x) => (float[t,b,6] y, float[b,3] last) <int64 zero = {0}, int64 one = {1}> {""" + STATE + """
  all = Shape(x)
  trips = Gather <axis = 0> (all, zero)
  fh, fc, fs = Loop <body = forward (int64 i, bool go, float[b,3] h, float[b,3] c) => (bool on, float[b,3] fh, float[b,3] fc, float[b,3] out) {
    on = Identity(go)
    r = Gather <axis = 0> (x, i)
""" + lstm("f", "r") + """
    out = Identity(fh) }> (trips, "", none, none)
  last, rc, rs = Loop <body = backward (int64 i, bool go, float[b,3] h, float[b,3] c) => (bool on, float[b,3] rh, float[b,3] rc, float[b,3] out) {
    on = Identity(go)
    left = Sub(trips, i)
    place = Sub(left, one)
    r = Gather <axis = 0> (x, place)
""" + lstm("r", "r") + """
    out = Identity(rh) }> (trips, "", none, none)
  begin = Constant <value = int64[1] {-1}> ()
  end = Constant <value = int64[1] {-1000}> ()
  axis = Constant <value = int64[1] {0}> ()
  turned = Slice(rs, begin, end, axis, begin)
  y = Concat <axis = 2> (fs, turned)
}""", LSTM_FEEDS, weights=LSTM_WEIGHTS),
]
