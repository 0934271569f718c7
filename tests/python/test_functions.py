"""Functions of arrays: compiled, differentiated, in one another."""
import pathlib
import subprocess
import sys

import numpy as np

import heddle
from support import refused

ops = heddle.load_library()
Z = np.float64([1, 2, 3])


def cubes(a):
    return ops.call("reduce_sum", a**3)


def product(a, b):
    return ops.call("reduce_sum", a * a * b)


def test_functions_of_nested_arguments():
    random = np.random.default_rng(0)
    weights = {"a": random.normal(size=(3, 4)), "b": [random.normal(size=4), np.arange(3)]}
    x = random.normal(size=(5, 3))
    shifted = lambda w: np.tanh(x @ w["a"] * 2 + w["b"][0])

    def f(w, x, k):
        return ops.call("reduce_sum", ops.call("tanh", x @ w["a"] * 2 + w["b"][0]) * k) / 4.
    for k in (2.0, 3.0):
        np.testing.assert_allclose(heddle.function(f)(weights, x, k).item(), (shifted(weights) * k).sum() / 4)
    value, slopes = heddle.value_and_grad(f)(weights, x, 2.0)
    np.testing.assert_allclose(value.item(), shifted(weights).sum() / 2)
    np.testing.assert_allclose(slopes["a"], x.T @ (1 - shifted(weights)**2))
    np.testing.assert_allclose(slopes["b"][0], ((1 - shifted(weights)**2) / 2).sum(0))
    assert slopes["b"][1] is None


def test_gradients_of_several_arguments():
    for found, wanted in zip(heddle.grad(product, (0, 1))(Z, Z), (2 * Z * Z, Z * Z)):
        np.testing.assert_allclose(found, wanted)

    def twice(a):
        return heddle.grad(product, (0, 1))(a, a)
    for found, wanted in zip(heddle.function(twice)(Z), (2 * Z * Z, Z * Z)):
        np.testing.assert_allclose(found, wanted)


def test_gradients_of_gradients():
    def through(a):  # of the intermediate 2 a
        return ops.call("reduce_sum", heddle.grad(cubes)(a * 2.) * a)
    np.testing.assert_allclose(heddle.function(through)(Z).item(), (12 * Z**3).sum())
    np.testing.assert_allclose(heddle.grad(through)(Z), 36 * Z**2)


def test_gradients_at_constants():
    at = lambda a: heddle.grad(product, (0, 1))(Z, Z)[0] * a
    np.testing.assert_allclose(heddle.function(at)(Z), 2 * Z**3)

    def of_tensor(a):
        return heddle.grad(cubes)(a.graph.constant("z", Z)) * a
    np.testing.assert_allclose(heddle.function(of_tensor)(Z), 3 * Z**3)
    rows = lambda a: heddle.vmap(lambda z, a: ops.call("reduce_sum", (z * z) * a), in_axes=(0, None))(Z, a)
    np.testing.assert_allclose(heddle.function(rows)(Z)[:, 0], Z * Z * Z.sum())


def test_adjoints_of_results():
    (times, plus), pull = heddle.vjp(lambda a, b: (a * b, a + b), Z, 2 * Z)
    np.testing.assert_allclose(times, 2 * Z * Z)
    np.testing.assert_allclose(plus, 3 * Z)
    da, db = pull((Z, Z))
    np.testing.assert_allclose(da, 2 * Z * Z + Z)
    np.testing.assert_allclose(db, Z * Z + Z)


def test_tangents_of_arguments():
    def f(w, x, n):
        return {"product": w["a"] @ x, "again": [x, n]}, x
    random = np.random.default_rng(1)
    a, x, da, dx = (random.normal(size=size) for size in ((3, 4), 4, (3, 4), 4))
    n = np.arange(3)
    (found, same), (changes, _) = heddle.jvp(f, ({"a": a}, x, n), ({"a": da}, dx, None))
    np.testing.assert_allclose(found["product"], a @ x)
    np.testing.assert_allclose(changes["product"], da @ x + a @ dx)
    assert (same == x).all() and (changes["again"][0] == dx).all() and changes["again"][1] is None


def test_hessians_times_vectors():
    def f(a):
        return ops.call("reduce_sum", ops.call("tanh", a) * a * a, keepdims=False)
    v = np.float64([0.3, -2, 1])
    forward = heddle.jvp(heddle.grad(f), (Z,), (v,))[1]
    reverse = heddle.grad(lambda a: ops.call("reduce_sum", heddle.grad(f)(a) * v, keepdims=False))(Z)
    np.testing.assert_allclose(forward, reverse, rtol=1e-12)
    slope = heddle.function(heddle.grad(f))
    rows = heddle.vmap(lambda v: heddle.jvp(slope, (Z,), (v,))[1])(np.eye(3))
    np.testing.assert_allclose(rows @ v, forward, rtol=1e-12)
    _, pull = heddle.vjp(slope, Z)
    np.testing.assert_allclose(heddle.vmap(pull)(np.eye(3))[0], rows, rtol=1e-12)


def test_functions_of_batches():
    random = np.random.default_rng(2)
    w, x = random.normal(size=(4, 3)), random.normal(size=(5, 4))

    def f(w, x):
        return ops.call("softmax", x @ w), {"fixed": w * 2, "number": 3}
    rows, others = heddle.vmap(f, in_axes=(None, 0))(w, x)
    np.testing.assert_allclose(rows, heddle.function(f)(w, x)[0])
    assert others["number"] == 3
    np.testing.assert_allclose(others["fixed"], np.broadcast_to(w * 2, (5, 4, 3)))

    def loss(w, x):
        return ops.call("reduce_sum", ops.call("tanh", x @ w), keepdims=False)
    each = heddle.vmap(heddle.grad(loss), in_axes=(None, 0))(w, x)  # a gradient for each element of the batch
    for slope, element in zip(each, x):
        np.testing.assert_allclose(slope, heddle.grad(loss)(w, element))
    whole = heddle.grad(lambda w, x: ops.call("reduce_sum", heddle.vmap(loss, in_axes=(None, 0))(w, x), keepdims=False))(w, x)
    np.testing.assert_allclose(whole, each.sum(0))
    both = heddle.vmap(heddle.vmap(loss, in_axes=(0, None)), in_axes=(None, 0))(np.stack([w, -w]), x)
    assert both.shape == (5, 2) and np.allclose(both[:, 0], -both[:, 1])


def test_tapes():
    @heddle.function
    def layers(w, x):
        h = ops.call("sin", ops.call("exp", x @ w[0]), label="hidden")
        return ops.call("tanh", ops.call("sin", h @ w[1]))
    random = np.random.default_rng(3)
    w = [random.normal(size=(4, 6)) / 4, random.normal(size=(6, 2)) / 4]
    x, d = random.normal(size=(5, 4)), random.normal(size=(5, 2))
    wanted = heddle.grad(lambda w, x: ops.call("reduce_sum", layers(w, x) * d, keepdims=False), (0, 1))(w, x)
    sizes = {}
    for keep in ("balanced", "all", "nothing", "fewest", 0, 256, ["hid*"], lambda value: value.operations > 100):
        result, pull = heddle.vjp(layers, w, x, keep=keep)
        np.testing.assert_allclose(result, layers(w, x))
        (d_first, d_second), d_x = pull(d)
        for found, expected in zip((d_first, d_second, d_x), (*wanted[0], wanted[1])):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        tape = layers.tape(w, x, keep=keep)
        assert all(entry.offset % 64 == 0 and entry.reason for entry in tape.entries)
        sizes[str(keep)] = tape.bytes
    assert sizes["nothing"] == sizes["fewest"] == sizes["0"] == 0 < sizes["256"] <= 256 < sizes["all"], sizes
    assert sizes["['hid*']"] == 256, sizes
    assert str(layers.tape(w, x, keep="all")).startswith(f"{sizes['all']:,} bytes in ")
    _, pull = heddle.vjp(lambda z: z * z, np.complex128([1 + 2j]))
    np.testing.assert_allclose(pull(np.complex128([1])), [np.complex128([2 - 4j])])  # of conj(2 z)
    for keep in (-1, 1.5, "most", True, [1], heddle.Checkpoints(-1), heddle.Checkpoints("all")):
        with refused("python.option"):
            layers.tape(w, x, keep=keep)


def test_checkpoints():
    @heddle.function
    def layer(x, w, r):
        return ops.call("rnn", x, w, r)[0]
    random = np.random.default_rng(3)
    arguments = random.normal(size=(20, 2, 4)), random.normal(size=(1, 3, 4)) / 2, random.normal(size=(1, 3, 3)) / 2
    results, pull = heddle.vjp(layer, *arguments)
    expected = pull(np.ones_like(results))
    for keep, states in (("checkpoints", 5), (heddle.Checkpoints(), 5), (heddle.Checkpoints(7), 4), (heddle.Checkpoints(100), 0)):
        tape = layer.tape(*arguments, keep=keep)
        assert sum(entry.bytes for entry in tape.entries) == states * 2 * 3 * 8, str(tape)
        _, pull = heddle.vjp(layer, *arguments, keep=keep)
        for slope, other in zip(pull(np.ones_like(results)), expected):
            np.testing.assert_allclose(slope, other, rtol=1e-11, atol=1e-12)


def test_programs_are_kept():
    calls = []

    @heddle.function
    def counted(a):
        calls.append(a)
        return a * a
    for _ in range(3):
        _, pull = heddle.vjp(counted, Z)
        np.testing.assert_allclose(pull(Z)[0], 2 * Z * Z)
    assert len(calls) == 1, calls  # both programs are made at once


def test_results_that_are_arguments_or_no_tensors():
    first, second, doubled, number = heddle.function(lambda a: (a, a, a * 2, 3))(Z)
    assert (first == Z).all() and (second == Z).all() and (doubled == 2 * Z).all() and number == 3


def test_what_functions_refuse():
    with refused("python.option"):  # three numbers
        heddle.grad(lambda a: a * a)(Z)
    with refused("python.option"):  # of integers
        heddle.grad(lambda a: ops.call("reduce_sum", a))(np.arange(3))
    with refused("python.option"):  # no integer
        heddle.function(lambda a: a * 0.5)(np.arange(3))
    with refused("python.option"):  # no array
        heddle.grad(cubes)(3.0)
    with refused("python.option"):  # the third of two
        heddle.grad(product, 2)(Z, Z)
    with refused("python.option"):  # nothing that is computed
        heddle.function(lambda a: 3)(Z)
    _, pull = heddle.vjp(lambda a, b: (a * b, a + b), Z, Z)
    for adjoints in ((), (Z,), (Z, Z, Z)):
        with refused("python.option"):
            pull(adjoints)
    for tangents in ((), (Z,), (Z, Z, Z)):
        with refused("python.option"):
            heddle.jvp(product, (Z, Z), tangents)
    with refused("python.tensor"):  # of another shape
        heddle.jvp(product, (Z, Z), (Z, Z[:2]))
    for axes in (1, (0,), (0, 2), None, (None, None)):
        with refused("python.option"):
            heddle.vmap(product, in_axes=axes)(Z, Z)
    with refused("python.option"):  # of other lengths
        heddle.vmap(product)(Z, Z[:2])
    with refused("python.option"):  # cannot be hashed
        heddle.function(lambda a, s: a)(Z, set())
    other = heddle.parse_library("twice: {inputs: {x: '$T[]'}, index: '[]', outputs: {y: '$T'}, body: 'y = x + x'}")
    with refused("python.option"):  # another library
        heddle.function(lambda a: other.call("twice", a))(np.float32(1))
    assert heddle.function(lambda a: other.call("twice", a), library=other)(np.float32(1)) == 2


def test_scripts_end_quietly():
    script = "import heddle, numpy; f = heddle.function(lambda x: x + x, threads=1); print(f(numpy.ones(2)).sum())"
    package = str(pathlib.Path(heddle.__file__).parent.parent)
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {package!r}); {script}"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4.0\n", "")
