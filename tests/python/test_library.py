"""Calls of operators: parameters, results, own templates."""
import pathlib
import tempfile

import numpy as np

import heddle
from support import refused

LIBRARY = heddle.load_library()
SWISH = """
swish:
  params: {beta: "float = 1.0"}
  inputs: {x: "$dtype[$shape...]"}
  index: "[$shape...]"
  outputs: {y: "$dtype"}
  body: "y = x * sigmoid($beta * x)"
"""


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def test_parameters_and_shapes():
    random = np.random.default_rng(1)
    for shape, axis in [((3, 5), -1), ((3, 5), 0), ((2, 4, 6), 1), ((3, 5), np.int64(-1))]:
        x = random.standard_normal(shape).astype(np.float32)
        np.testing.assert_allclose(LIBRARY.call("softmax", x, axis=axis), softmax(x, axis), rtol=1e-5)
    x = np.float32([[3, 1, 2]])
    assert LIBRARY.call("cast", x, to=np.int32).dtype == np.int32
    assert LIBRARY.call("cast", x, to="float64").dtype == np.float64
    assert (LIBRARY.call("transpose", x, perm=np.array([1, 0])) == x.T).all()


def test_inputs_by_name_and_lists():
    x, y = np.float32([1, 2]), np.float32([3, 4])
    assert (LIBRARY.call("concat", [x, y, x], axis=0) == [1, 2, 3, 4, 1, 2]).all()
    assert (LIBRARY.call("concat", x, y, axis=0) == [1, 2, 3, 4]).all()
    named = LIBRARY.call("where", b=y, a=x, condition=np.array([True, False]))
    assert (named == [1, 4]).all()
    with refused("python.argument"):
        LIBRARY.call("neg", x, x=x)


def test_several_results():
    values, indices = LIBRARY.call("top_k", np.float32([5, 1, 9]), k=2)
    assert values.tolist() == [9, 5] and indices.tolist() == [2, 0]


def test_own_templates():
    x = np.linspace(-3, 3, 50, dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "my.yaml"
        path.write_text(SWISH)
        for library, name in [(heddle.load_library(path), "swish"), (heddle.load_library(mine=path), "mine::swish")]:
            np.testing.assert_allclose(library.call(name, x, beta=2.0), x / (1 + np.exp(-2 * x)), rtol=1e-5, atol=1e-6)
        path.write_text(SWISH.replace("sigmoid", "sigmoit"))
        with refused("language.unknown_function") as caught:
            heddle.load_library(path)
        (problem,) = caught.error.diagnostics
        assert problem.place.file == str(path) and problem.place.line == 7 and "sigmoid" in problem.remedy
    with refused("language.unknown_operator"):
        LIBRARY.call("swish", x)
    assert "softmax" in LIBRARY.names()


def test_operators_from_a_text():
    x = np.linspace(-3, 3, 50, dtype=np.float32)
    library = heddle.parse_library(SWISH, name="mine")
    for name in ("swish", "mine::swish"):
        np.testing.assert_allclose(library.call(name, x, beta=2.0), x / (1 + np.exp(-2 * x)), rtol=1e-5, atol=1e-6)
    assert repr(library) == "Library(the shipped operators, mine)"
    other = heddle.parse_library(SWISH.replace("sigmoid", "tanh"), name="mine")  # no program of the first one
    np.testing.assert_allclose(other.call("swish", x), x * np.tanh(x), rtol=1e-5, atol=1e-6)
    with refused("language.unknown_function") as caught:
        heddle.parse_library(SWISH.replace("sigmoid", "sigmoit"))
    (problem,) = caught.error.diagnostics
    assert (problem.place.file, problem.place.line) == ("text", 7)


def test_what_calls_refuse():
    x = np.float32([1, 2])
    with refused("language.unknown_operator") as caught:
        LIBRARY.call("sofmax", x)
    assert "softmax" in caught.error.diagnostics[0].remedy
    with refused("python.parameter"):
        LIBRARY.call("softmax", x, axis=object())
    with refused("python.dtype") as caught:
        LIBRARY.call("cast", x, to="float23")
    assert "float32" in str(caught.error)
    with refused("symbolic.too_many_inputs"):
        LIBRARY.call("neg", x, x)
    with refused("symbolic.missing_input"):
        LIBRARY.call("neg")
    with refused("symbolic.missing_input"):
        LIBRARY.call("neg", None)
