"""Functions of arrays: compiled, differentiated, in one another."""
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


def test_adjoints_of_results():
    (times, plus), pull = heddle.vjp(lambda a, b: (a * b, a + b), Z, 2 * Z)
    np.testing.assert_allclose(times, 2 * Z * Z)
    np.testing.assert_allclose(plus, 3 * Z)
    da, db = pull((Z, Z))
    np.testing.assert_allclose(da, 2 * Z * Z + Z)
    np.testing.assert_allclose(db, Z * Z + Z)


def test_programs_are_kept():
    calls = []

    @heddle.function
    def counted(a):
        calls.append(a)
        return a * a
    for _ in range(3):
        _, pull = heddle.vjp(counted, Z)
        np.testing.assert_allclose(pull(Z)[0], 2 * Z * Z)
    assert len(calls) == 2, calls  # its own, and its adjoint's


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
    with refused("python.option"):  # cannot be hashed
        heddle.function(lambda a, s: a)(Z, set())
    other = heddle.parse_library("twice: {inputs: {x: '$T[]'}, index: '[]', outputs: {y: '$T'}, body: 'y = x + x'}")
    with refused("python.option"):  # another library
        heddle.function(lambda a: other.call("twice", a))(np.float32(1))
    assert heddle.function(lambda a: other.call("twice", a), library=other)(np.float32(1)) == 2
