"""Decoders within a model: beams, greedy words with a cache that grows, words until one that ends."""
import numpy as np

from case import Case, number, real

WORDS, WIDTH = 11, 8
WEIGHTS = {"table": real(WORDS, WIDTH), "query": real(WIDTH, WIDTH, seed=1), "key": real(WIDTH, WIDTH, seed=2),
           "value": real(WIDTH, WIDTH, seed=3), "out": real(WIDTH, WORDS, seed=4)}

CASES = [
    Case("greedy decoding with caches that grow", """
g (int64[p] prompt, int64 trips) => (int64[k] words, float[k,8] keys) <int64 minus = {-1}> {
  embedded = Gather <axis = 0> (table, prompt)
  keys0 = MatMul(embedded, key)
  values0 = MatMul(embedded, value)
  words, keys, values = Loop <body = b (int64 i, bool go, int64[q] said, float[m,8] k, float[m,8] v) => (bool on, int64[q2] said2, float[m2,8] k2, float[m2,8] v2) {
    on = Identity(go)
    at = Constant <value = int64[1] {-1}> ()
    last = Gather <axis = 0> (said, at)
    e = Gather <axis = 0> (table, last)
    q0 = MatMul(e, query)
    turned = Transpose <perm = [1, 0]> (k)
    scores = MatMul(q0, turned)
    weights = Softmax <axis = -1> (scores)
    mixed = MatMul(weights, v)
    sum = Add(mixed, e)
    logits = MatMul(sum, out)
    next = ArgMax <axis = 1, keepdims = 0> (logits)
    said2 = Concat <axis = 0> (said, next)
    ne = Gather <axis = 0> (table, next)
    nk = MatMul(ne, key)
    nv = MatMul(ne, value)
    k2 = Concat <axis = 0> (k, nk)
    v2 = Concat <axis = 0> (v, nv)
  }> (trips, "", prompt, keys0, values0)
}""", [{"prompt": np.arange(n) % WORDS, "trips": number(t)} for n, t in ((3, 5), (3, 5), (1, 20), (7, 0), (4, 70))],
         weights=WEIGHTS),

    Case("words until one that ends", """
g (int64[1] first, int64 most, int64 end) => (int64[k] words, int64[t] lengths) <bool begin = {1}> {
  words, lengths = Loop <body = b (int64 i, bool go, int64[q] said) => (bool on, int64[q2] said2, int64 length) {
    e = Gather <axis = 0> (table, said)
    mean = ReduceMean <axes = [0], keepdims = 1> (e)
    logits = MatMul(mean, out)
    next = ArgMax <axis = 1, keepdims = 0> (logits)
    said2 = Concat <axis = 0> (said, next)
    shape = Constant <value = int64[1] {-1}> ()
    none = Constant <value = int64[0] {}> ()
    one = Reshape(next, none)
    is_end = Equal(one, end)
    on = Not(is_end)
    length = Size(said2)
  }> (most, begin, first)
}""", [{"first": np.array([f]), "most": number(m), "end": number(e)} for f, m, e in ((1, 30, 3), (2, 30, 5), (1, 4, 99), (5, 40, 7), (6, 0, 1))],
         weights=WEIGHTS, opset=17),

    Case("a beam search", """
g (int64[1] first, int64 trips, int64[1] beams) => (int64[b,k] words, float[b] scores) <int64 words_count = {11}> {
  zero_axis = Constant <value = int64[1] {0}> ()
  one_axis = Constant <value = int64[1] {1}> ()
  word_column = Unsqueeze(first, one_axis)
  one = Constant <value = int64[1] {1}> ()
  shape = Concat <axis = 0> (beams, one)
  begin_words = Expand(word_column, shape)
  limits = Range(range_begin, beam_count, range_step)
  beam_count = Squeeze(beams, zero_axis)
  range_begin = Constant <value = int64 {0}> ()
  range_step = Constant <value = int64 {1}> ()
  real = Cast <to = 1> (limits)
  minus = Constant <value = float {-1000.0}> ()
  begin_scores = Mul(real, minus)
  words, scores = Loop <body = b (int64 i, bool go, int64[b,q] said, float[b] score) => (bool on, int64[b,q2] said2, float[b] score2) {
    on = Identity(go)
    e = Gather <axis = 0> (table, said)
    axis = Constant <value = int64[1] {1}> ()
    mean = ReduceMean <keepdims = 0> (e, axis)
    logits = MatMul(mean, out)
    likely = LogSoftmax <axis = 1> (logits)
    column = Unsqueeze(score, axis)
    sums = Add(likely, column)
    flat_shape = Constant <value = int64[1] {-1}> ()
    flat = Reshape(sums, flat_shape)
    score2, places = TopK(flat, beams)
    parent = Div(places, words_count)
    word = Mod(places, words_count)
    kept = Gather <axis = 0> (said, parent)
    word_columns = Unsqueeze(word, axis)
    said2 = Concat <axis = 1> (kept, word_columns)
  }> (trips, "", begin_words, begin_scores)
}""", [{"first": np.array([f]), "trips": number(t), "beams": np.array([b])} for f, t, b in
         ((1, 4, 3), (1, 4, 3), (2, 9, 4), (3, 2, 1), (5, 0, 2), (1, 20, 10))], weights=WEIGHTS, tolerance=1e-4),

    Case("a root that is sought until it is near", """
g (float[n] x) => (float[n] y, int64 trips, float[t] errors) <bool begin = {1}, float half = {0.5}, float near = {0.0001}, int64 zero = {0}, int64 one = {1}> {
  y, trips, errors = Loop <body = b (int64 i, bool go, float[n] r, int64 k) => (bool on, float[n] s, int64 l, float e) {
    q = Div(x, r)
    sum = Add(r, q)
    s = Mul(sum, half)
    change = Sub(s, r)
    size = Abs(change)
    e = ReduceMax <keepdims = 0> (size)
    on = Greater(e, near)
    l = Add(k, one)
  }> ("", begin, x, zero)
}""", [{"x": np.abs(real(n)) * scale + 0.1} for n, scale in ((5, 1), (5, 100), (3, 10000), (50, 3))]),
]
for case in CASES:
    for feeds in case.feeds:
        for name, value in feeds.items():
            feeds[name] = value.astype(np.int64) if value.dtype.kind == "i" else value.astype(np.float32)
