"""References of sequences.yaml."""
import numpy as np

from gallery import operator


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@operator(inputs=lambda random, heads, n, d: {name: random.floats(heads, n, d) for name in "qkv"}
          | {"slope": 2.0 ** -np.arange(1, heads + 1, dtype=np.float32)},
          test={"heads": 3, "n": 37, "d": 8}, bench={"heads": 8, "n": 1024, "d": 64},
          work=lambda heads, n, d: {"float32": heads * n * n * (2 * d + 4), "exp": heads * n * n})
def alibi_attention(q, k, v, slope):
    places = np.arange(q.shape[1])
    far = abs(places[:, None] - places)
    return (softmax(q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2]) - slope[:, None, None] * far, 2) @ v).astype(np.float32)


@operator(inputs=lambda random, steps, heads, d: {name: random.floats(steps, heads, d) for name in "rkv"}
          | {"decay": np.float32(0.5) + random.shares(steps, heads, d) / 2, "u": random.floats(heads, d)},
          test={"steps": 11, "heads": 3, "d": 8}, bench={"steps": 1024, "heads": 16, "d": 64}, tolerance=1e-4,
          # the pair, the sum's multiply-adds with and without u, the decay
          work=lambda steps, heads, d: {"float32": 4 * steps * heads * d * d})
def rwkv6(r, k, v, decay, u):
    y, s = np.zeros_like(r), np.zeros((r.shape[1], r.shape[2], r.shape[2]), np.float32)
    for t in range(len(r)):
        pair = k[t, :, :, None] * v[t, :, None]
        y[t] = (r[t, :, :, None] * (s + u[:, :, None] * pair)).sum(1)
        s = decay[t, :, :, None] * s + pair
    return y


def gated(random, steps, heads, d):
    q, k, v = random.floats(3, steps, heads, d)
    return {"q": q, "k": k / np.linalg.norm(k, axis=2, keepdims=True), "v": v,
            "gate": np.float32(0.9) + random.shares(steps, heads) / 10, "share": random.shares(steps, heads)}


@operator(inputs=gated, test={"steps": 11, "heads": 3, "d": 8}, bench={"steps": 1024, "heads": 16, "d": 64}, tolerance=1e-4,
          work=lambda steps, heads, d: {"float32": 4 * steps * heads * d * d})
def gated_delta_rule(q, k, v, gate, share):
    y, s = np.zeros_like(q), np.zeros((q.shape[1], q.shape[2], q.shape[2]), np.float32)
    for t in range(len(q)):
        s = gate[t, :, None, None] * s
        change = share[t, :, None] * (v[t] - np.einsum("hi,hij->hj", k[t], s))
        s = s + k[t, :, :, None] * change[:, None]
        y[t] = np.einsum("hi,hij->hj", q[t], s)
    return y


def selective(random, steps, channels, states):
    return {"x": random.floats(steps, channels), "delta": random.shares(steps, channels) / 10,
            "A": -np.tile(np.arange(1, states + 1, dtype=np.float32), (channels, 1)), "B": random.floats(steps, states),
            "C": random.floats(steps, states), "D": random.floats(channels)}


@operator(inputs=selective, test={"steps": 11, "channels": 19, "states": 5},
          bench={"steps": 1024, "channels": 1024, "states": 16}, tolerance=1e-4,
          work=lambda steps, channels, states: {"float32": 4 * steps * channels * states, "exp": steps * channels * states})
def mamba_scan(x, delta, A, B, C, D):
    y, h = np.zeros_like(x), np.zeros_like(A)
    for t in range(len(x)):
        h = np.exp(delta[t, :, None] * A) * h + (delta[t] * x[t])[:, None] * B[t]
        y[t] = h @ C[t] + D * x[t]
    return y


@operator(inputs=lambda random, steps, states: {"start": random.floats(states), "move": random.floats(states, states),
                                                "seen": random.floats(steps, states)},
          test={"steps": 17, "states": 9}, bench={"steps": 1024, "states": 128},
          # an addition, a comparison, a choice
          work=lambda steps, states: {"float32": 3 * steps * states ** 2})
def viterbi(start, move, seen):
    best, back = start, []
    for t in range(len(seen)):
        through = best[:, None] + move
        back.append(through.argmax(0))
        best = through.max(0) + seen[t]
    path = [best.argmax()]
    for t in range(len(seen) - 1, 0, -1):
        path.append(back[t][path[-1]])
    return np.array(path[::-1]), best.max()


@operator(inputs=lambda random, batch, heads, n, d: {"x": random.floats(batch, heads, n, d)},
          test={"batch": 2, "heads": 3, "n": 9, "d": 16}, bench={"batch": 8, "heads": 16, "n": 1024, "d": 64},
          tolerance=1e-4,  # an angle of 1,000 in float32 is right to 0.0001
          work=lambda batch, heads, n, d: {"float32": 2 * batch * heads * n * d, "sin": n * d})
def rotary_interleaved(x):
    n, d = x.shape[-2:]
    angle = np.arange(n)[:, None] * np.float32(10000) ** (-np.arange(0, d, 2, dtype=np.float32) / d)
    turned = x.view(np.complex64) * np.exp(1j * angle)
    return turned.astype(np.complex64).view(np.float32)


@operator(inputs=lambda random, outer, n, inner: {"x": random.floats(outer, n, inner)},
          test={"outer": 3, "n": 11, "inner": 19}, bench={"outer": 32, "n": 256, "inner": 512},
          work=lambda outer, n, inner: {"float32": 4 * outer * n * inner, "exp": outer * n * inner})
def softmax_middle(x):
    return softmax(x, 1)


@operator(inputs=lambda random, n, d: {"a": random.floats(n, d), "b": random.floats(n, d)},
          test={"n": 21, "d": 13}, bench={"n": 1024, "d": 256},
          work=lambda n, d: {"float32": n * n * (d + 4), "exp": n * n})
def contrastive_loss(a, b):
    a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    alike = 10 * a @ b.T
    across, down = (np.log(np.exp(alike).sum(axis)) for axis in (1, 0))
    return np.float32(np.mean((across + down) / 2 - np.diag(alike)))


def table(a, b, first, cell):
    """The last of the cells of a table, each computed from those above left, above and left; and the largest."""
    d = [first(j) for j in range(len(b) + 1)]
    largest = max(d)
    for i in range(1, len(a) + 1):
        row = [first(i)]
        for j in range(1, len(b) + 1):
            row.append(cell(a[i - 1], b[j - 1], d[j - 1], d[j], row[j - 1]))
        d, largest = row, max(largest, *row)
    return d[-1], largest


def letters(random, m, n):
    return {"a": random.integers_of(np.int32, 0, 4, m), "b": random.integers_of(np.int32, 0, 4, n)}


@operator(inputs=letters, test={"m": 17, "n": 23}, bench={"m": 2000, "n": 2500}, work=lambda m, n: {"int32": 6 * m * n})
def edit_distance(a, b):
    return np.int32(table(a, b, lambda k: k, lambda p, q, both, above, left: min(both + (p != q), above + 1, left + 1))[0])


@operator(inputs=letters, test={"m": 17, "n": 23}, bench={"m": 2000, "n": 2500}, work=lambda m, n: {"int32": 8 * m * n})
def smith_waterman(a, b):
    return np.int32(table(a, b, lambda k: 0, lambda p, q, both, above, left:
                          max(0, both + (3 if p == q else -2), above - 2, left - 2))[1])


@operator(inputs=lambda random, m, n: {"a": random.floats(m), "b": random.floats(n)}, test={"m": 17, "n": 23},
          bench={"m": 2000, "n": 2500}, work=lambda m, n: {"float32": 5 * m * n})
def dynamic_time_warping(a, b):
    return np.float32(table(a, b, lambda k: np.inf if k else 0,
                            lambda p, q, both, above, left: abs(p - q) + min(both, above, left))[0])


@operator(inputs=lambda random, n: {"x": random.shares(n)}, test={"n": 70}, bench={"n": 4_000_000}, tolerance=1e-3,
          work=lambda n: {"float32": n})  # no chain: parts may be added before what is left of them is known
def cumulative_sum(x):
    return x.astype(np.float64).cumsum().astype(np.float32)


@operator(inputs=lambda random, rows, n: {"a": random.shares(rows, n), "x": random.floats(rows, n)},
          test={"rows": 21, "n": 19}, bench={"rows": 256, "n": 16384},
          work=lambda rows, n: {"float32": rows * n, "dependent": n})
def decaying_sum(a, x):
    y, h = np.zeros_like(x), 0
    for t in range(x.shape[1]):
        y[:, t] = h = a[:, t] * h + x[:, t]
    return y


@operator(inputs=lambda random, heads, n, d, window: {name: random.floats(heads, n, d) for name in "qkv"} | {"window": window},
          test={"heads": 2, "n": 37, "d": 8, "window": 11}, bench={"heads": 8, "n": 2048, "d": 64, "window": 128},
          work=lambda heads, n, d, window: {"float32": heads * n * window * (2 * d + 3), "exp": heads * n * window})
def local_attention(q, k, v, window):
    places = np.arange(q.shape[1])
    far = places[:, None] - places
    score = np.where((far >= 0) & (far < window), q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2]), -np.inf)
    return (softmax(score, 2) @ v).astype(np.float32)


@operator(inputs=lambda random, m, n: {"a": random.integers_of(np.int32, 0, 4, m), "b": random.integers_of(np.int32, 0, 4, n)},
          test={"m": 17, "n": 23}, bench={"m": 2000, "n": 2500}, work=lambda m, n: {"int32": 5 * m * n})
def longest_common_subsequence(a, b):
    length = np.zeros((len(a) + 1, len(b) + 1), np.int32)
    for i in range(len(a)):
        for j in range(len(b)):
            length[i + 1, j + 1] = length[i, j] + 1 if a[i] == b[j] else max(length[i, j + 1], length[i + 1, j])
    return length[-1, -1]
