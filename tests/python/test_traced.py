"""Tensors of a graph as arrays: Python's operators, indexing, methods and NumPy's functions, beside NumPy; what needs values is refused."""
import numpy as np

import heddle
from support import refused

random = np.random.default_rng(4)
X = random.standard_normal((4, 5, 3)).astype(np.float32)
Y = np.abs(random.standard_normal((4, 5, 3)).astype(np.float32)) + np.float32(0.5)
N = random.integers(-9, 9, (4, 5)).astype(np.int32)
M = random.integers(1, 5, (4, 5)).astype(np.int32)

# Each is tried with arrays and with tensors.
EXPRESSIONS = {
    "comparisons": (lambda x, y: (x > y, x >= 0.5, x < y, x <= 0, x == x, x != y), (X, Y)),
    "a comparison with the number in front": (lambda x: 0.5 < x, (X,)),
    "truth values": (lambda x, y: ((x > 0) & (y > 1), (x > 0) | (y > 1), (x > 0) ^ (y > 1), ~(x > 0)), (X, Y)),
    "bits": (lambda n, m: (n & m, n | m, n ^ m, ~n), (N, M)),
    "whole quotients": (lambda n, m: (n // m, n % m, n // 2, 7 % m), (N, M)),
    "signs": (lambda x: (abs(x), -x, +x), (X,)),
    "numbers": (lambda x: (x[0], x[-1, 2], x[1, 2, 0]), (X,)),
    "slices": (lambda x: (x[1:3], x[:, ::2], x[::-1], x[:, 3:0:-2], x[..., 1], x[-2:, ..., :2], x[2:2]), (X,)),
    "slices beside numbers": (lambda x: (x[1, 1:4], x[:, 2, ::-1], x[0, ..., 0]), (X,)),
    "new axes": (lambda x: (x[None], x[:, None, 1], x[..., None], x[None, 0, :, None]), (X,)),
    "lists of places": (lambda x: (x[[0, 2, -1]], x[:, [1, 1]], x[1:, :, np.array([2, 0])]), (X,)),
    "places that are a tensor": (lambda x, i: x[:, i], (X, np.int64([3, 0, 3]))),
    "sums": (lambda x: (x.sum(), x.sum(axis=1), x.sum((0, 2), keepdims=True), x.mean(-1), x.prod(2)), (X,)),
    "extremes": (lambda x: (x.max(0), x.min(), x.argmax(1), x.argmin(), x.argmax(2, keepdims=True)), (X,)),
    "any and all": (lambda x: ((x > 0).any(1), (x > -9).all()), (X,)),
    "shapes": (lambda x: (x.reshape(20, 3), x.reshape(-1, 6), x.reshape((2, -1)), x.flatten(), x.ravel(), x.T, x.transpose(1, 0, 2),
                          x.transpose((2, 0, 1)), x.swapaxes(0, 2), x[:1].squeeze(0), x[:1, :1].squeeze()), (X,)),
    "types": (lambda x: (x.astype(np.float64), (x * 3).astype("int32"), (x > 0).astype(np.float32)), (X,)),
    "bounds": (lambda x: (x.clip(-1, 1), x.clip(-0.5, None), np.clip(x, 0, 2)), (X,)),
    "running sums": (lambda x: (x.cumsum(1), np.cumsum(x, axis=-1)), (X,)),
    "sizes": (lambda x: x * (len(x) + x.ndim + x.size + x.shape[1]), (X,)),
    "rows one by one": (lambda x: [row.sum() for row in x], (X,)),
    "functions of one": (lambda x: (np.sin(x), np.tanh(x), np.exp(x), np.floor(x), np.rint(x), np.square(x), np.abs(x), np.isnan(x)), (X,)),
    "functions of positive ones": (lambda y: (np.log(y), np.sqrt(y), np.log1p(y), np.reciprocal(y)), (Y,)),
    "functions of two": (lambda x, y: (np.maximum(x, y), np.power(y, x), np.arctan2(x, y), np.add(x, y), np.divide(x, y)), (X, Y)),
    "functions beside arrays": (lambda x: (np.maximum(x, 0), Y * x, Y - x, np.float32(2) * x, np.minimum(X, x)), (X,)),
    "choices": (lambda x, y: (np.where(x > 0, x, y), np.where(x > 0, x, 0.0), np.where(x > 0, 1.0, 2.0)), (X, Y)),
    "joins": (lambda x, y: (np.concatenate([x, y], axis=1), np.stack([x, y]), np.stack([x, Y], axis=-1)), (X, Y)),
    "functions of NumPy": (lambda x: (np.sum(x, axis=1), np.mean(x), np.max(x, axis=0), np.any(x > 0), np.reshape(x, (5, 12)), np.transpose(x),
                                      np.expand_dims(x, 1), np.take(x, [0, 2], axis=2), np.flip(x, 1), np.sort(x, axis=1),
                                      np.tril(x), np.triu(x, 1), np.zeros_like(x) + x, np.squeeze(x[:1]), np.swapaxes(x, 0, 1),
                                      np.broadcast_to(x[0], (2, 5, 3)), np.amax(x, axis=2)), (X,)),
    "softmax in NumPy's words": (lambda x: np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True), (X,)),
}


def listed(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def test_what_arrays_do():
    for title, (expression, arrays) in EXPRESSIONS.items():
        wanted = [np.asarray(each) for each in listed(expression(*arrays))]
        found = listed(heddle.function(expression)(*arrays))
        assert len(found) == len(wanted), title
        for at, (ours, numpys) in enumerate(zip(found, wanted)):
            assert ours.shape == numpys.shape, (title, at, ours.shape, numpys.shape)
            assert ours.dtype.kind == numpys.dtype.kind, (title, at, ours.dtype, numpys.dtype)
            np.testing.assert_allclose(ours, numpys, rtol=1e-5, atol=1e-5, err_msg=f"{title}, {at}")


def test_gradients_through_them():
    def loss(x):
        rows = np.where(x[:, ::2] > 0, np.tanh(x[:, ::2]), 0.0)
        return (rows.mean(axis=0)[None] * x[0, 1]).sum()
    x = X.astype(np.float64)
    slope, step = heddle.grad(loss)(x), 1e-6
    for place in [(0, 0, 0), (2, 4, 1), (0, 1, 2)]:
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        np.testing.assert_allclose(slope[place], (heddle.function(loss)(up) - heddle.function(loss)(down)) / (2 * step), rtol=1e-6, atol=1e-9)


def test_what_needs_values_is_refused():
    for use in (lambda x: x if x > 0 else -x, lambda x: x * float(x.sum()), lambda x: x * int(x.sum()), lambda x: x * [1, 2][x.argmax()],
                lambda x: np.asarray(x), lambda x: x.tolist(), lambda x: 3 in x, lambda x: x.sum().item(), lambda x: np.median(x),
                lambda x: np.add.reduce(x), lambda x: np.add(x, x, out=X)):
        with refused("python.traced") as caught:
            heddle.function(use)(X)
        assert caught.error.diagnostics[0].remedy
    def assign(x):
        x[0] = 1
        return x
    with refused("python.traced"):
        heddle.function(assign)(X)
    for use in (lambda x: x[7], lambda x: x[0, 0, 0, 0], lambda x: x[x > 0], lambda x: x[[0], [1]], lambda x: x[0.5]):
        with refused("python.option"):
            heddle.function(use)(X)
    with refused("python.option") as caught:
        heddle.function(lambda n: n / 2)(N)
    assert "//" in caught.error.diagnostics[0].expected


def test_arguments_by_name():
    @heddle.function
    def scaled(x, factor, shift=1.0):
        return x * factor + shift
    np.testing.assert_allclose(scaled(X, factor=np.float32(2)), X * 2 + 1)
    np.testing.assert_allclose(scaled(shift=np.float32(3), factor=np.float32(2), x=X), X * 2 + 3)
    np.testing.assert_allclose(heddle.function(lambda x: scaled(x, factor=2.0, shift=x))(X), X * 3)
    assert scaled.session(X, factor=2.0).get_inputs()[0].name == "x"
    assert scaled.svg(X, factor=2.0).startswith("<svg") and scaled.svg(X, 2.0, fused=True).startswith("<svg")
    for call in (lambda: scaled(X, fctor=2.0), lambda: scaled(factor=2.0), lambda: scaled(X, 1.0, factor=2.0)):
        with refused("python.option"):
            call()
    with refused("python.option"):
        heddle.function(lambda x, *, k: x * k)(X, k=2.0)


def test_what_a_loss_hands_on():
    def loss(w, x):
        error = w * x - 1.0
        return (error * error).sum(), {"error": error, "number": 3}
    w, x = np.float64([1, 2]), np.float64([3, 4])
    (value, aux), slope = heddle.value_and_grad(loss, has_aux=True)(w, x)
    np.testing.assert_allclose(value, ((w * x - 1)**2).sum())
    np.testing.assert_allclose(aux["error"], w * x - 1)
    assert aux["number"] == 3
    np.testing.assert_allclose(slope, 2 * (w * x - 1) * x)
    slope, aux = heddle.grad(loss, has_aux=True)(w, x)
    np.testing.assert_allclose(slope, 2 * (w * x - 1) * x)
    with refused("python.option"):
        heddle.value_and_grad(lambda w: (w * w).sum(), has_aux=True)(w)


def test_inputs_of_graphs():
    graph = heddle.Graph()
    a, b = graph.tensor("a", "float32", [2]), graph.tensor("b", "float32", [2])
    session = graph.compile([a * 2.0])
    one = np.ones(2, np.float32)
    np.testing.assert_array_equal(session.run(None, {"a": one})[0], 2 * one)  # what nothing reads need not be given
    np.testing.assert_array_equal(session.run(None, {"a": one, "b": one})[0], 2 * one)
    with refused("python.tensor"):
        graph.tensor("a", "float32", [3])
    assert {a: 1}[a] == 1 and b is not a
