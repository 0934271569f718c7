"""Graphs built by calls: documents, validation, pictures, running them."""
import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import onnx

import heddle
from support import doubling, model_of, reference, refused


def test_metakernels6_the_example_from_python():
    graph = heddle.Graph()
    a, b = (graph.tensor(name, "int32", [10, 10]) for name in "AB")
    total = graph.call("add", [a, b])
    assert (total.dtype, total.shape) == ("int32", [10, 10])
    assert graph.validate() == []
    nodes = json.loads(graph.json())["nodes"]
    kinds = [node["type"].rsplit("/", 1)[-1] for node in nodes]
    assert sorted(kinds) == ["Application", "Operation", "Tensor", "Tensor", "Tensor"], kinds
    operation, application = nodes[kinds.index("Operation")], nodes[kinds.index("Application")]
    tags = operation["tags"]
    (index,) = [tag for name, tag in tags.items() if name.endswith("IPFIndex")]
    (signature,) = [tag for name, tag in tags.items() if name.endswith("IPFSignature")]
    assert index == {"start": [0, 0], "end": [10, 10]}
    projection = {"affineMap": {"projection": [[1, 0], [0, 1]], "offset": [0, 0]}, "shape": [1, 1]}
    assert signature == {"inputs": {"tensors": [projection, projection]}, "outputs": {"y": [projection]}}
    assert application["body"]["operationId"] == operation["id"]
    assert operation["body"]["kernel"] == "add"


def test_ranges_that_begin_anywhere():
    graph = heddle.Graph()
    a = graph.tensor("A", np.int32, [10, 10], start=[200, -5])
    graph.call("neg", a)
    assert '"offset": [200, -5]' in graph.json() and graph.validate() == []


def test_environments():
    graph = heddle.Graph()
    graph.call("neg", graph.tensor("A", "int32", [10, 10]))
    (issue,) = graph.validate("operations")
    assert issue.code == "interchange.node_type" and "Application" in issue.found and issue.params["path"]
    with refused("interchange.unknown_environment") as caught:
        graph.validate("looms")
    assert caught.error.diagnostics[0].remedy == "did you mean 'loom'?"


def test_pictures():
    graph = heddle.Graph()
    total = graph.call("add", [graph.tensor("A", "int32", [10, 10]), graph.tensor("<B>", "int32", [10, 10])])
    graph.call("neg", total)
    picture = ElementTree.fromstring(graph.svg("a picture"))
    text = " ".join(element.text or "" for element in picture.iter())
    for part in ("a picture", "add", "neg", "A", "<B>"):
        assert part in text, part


def test_graphs_run():
    graph = heddle.Graph()
    x = graph.tensor("x", "float32", [4, 3])
    w = graph.constant("w", np.arange(6, dtype=np.float32).reshape(3, 2))
    hidden = graph.call("matmul", x, w, label="product")
    y = graph.call("relu", hidden)
    values, indices = graph.call("top_k", y, k=1)
    given = np.arange(-6, 6, dtype=np.float32).reshape(4, 3)
    wanted = np.maximum(given @ np.arange(6, dtype=np.float32).reshape(3, 2), 0)
    session = graph.compile([y])
    assert [v.name for v in session.get_inputs()] == ["x"] and session.get_outputs()[0].shape == [4, 2]
    assert (session.run(None, {"x": given})[0] == wanted).all()
    best, place = graph.compile().run(None, {"x": given})
    assert (best[:, 0] == wanted.max(1)).all() and place.shape == (4, 1)
    with refused("runtime.input_shape"):
        session.run(None, {"x": given[:2]})


def test_what_graphs_refuse():
    graph, other = heddle.Graph(), heddle.Graph()
    a = graph.tensor("A", "int32", [2])
    with refused("python.tensor"):
        other.call("neg", a)
    with refused("python.tensor") as caught:
        graph.call("neg", 2)
    assert "constant" in caught.error.diagnostics[0].remedy
    assert graph.call("neg", np.ones(2, np.int32)).shape == [2]  # an array is a constant
    for shape, start in [([-1], []), ([2], [1, 2]), ([1 << 40, 1 << 40], []), ([5], [(1 << 63) - 2])]:
        with refused("python.shape"):
            graph.tensor("B", "int32", shape, start)
    with refused("python.dtype"):
        graph.tensor("B", "uint128", [2])


REAL = onnx.TensorProto.FLOAT


def dense_model():
    """y = relu(x w + b), x [batch, 4], w a weight; `unread` is read by nothing."""
    weights = [onnx.numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(4, 3) / 8 - 0.5, "w")]
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["p"]), onnx.helper.make_node("Add", ["p", "b"], ["s"]),
             onnx.helper.make_node("Relu", ["s"], ["y"])]
    return model_of(nodes, [("unread", REAL, ["other"]), ("x", REAL, ["batch", 4]), ("b", REAL, [3])],
                    [("y", REAL, ["batch", 3])], weights)


def test_a_model_inside_a_graph():
    model = dense_model()
    session = heddle.InferenceSession(model)
    graph = heddle.Graph()
    x, b = graph.tensor("x", "float32", [5, 4]), graph.constant("b", np.float32([1, -1, 0.5]))
    y = graph.call(session, x=x, b=b, label="first")
    z = graph.call("softmax", y, axis=1)
    assert y.shape == [5, 3] and y.name == "first.y", y
    twice = graph.call(session, x=graph.call("neg", x), b=b)
    assert graph.validate() == []
    random = np.random.default_rng(2)
    feeds = {"x": random.standard_normal((5, 4)).astype(np.float32)}
    wanted = [reference(model, {"unread": np.zeros(1, np.float32), "x": sign * feeds["x"], "b": np.float32([1, -1, 0.5])})[0]
              for sign in (1, -1)]
    found = graph.compile([y, twice, z]).run(None, feeds)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[2].sum(1), 1, rtol=1e-5)


def test_what_models_inside_graphs_refuse():
    session = heddle.InferenceSession(dense_model())
    graph = heddle.Graph()
    x, b = graph.tensor("x", "float32", [5, 4]), graph.tensor("b", "float32", [3])
    with refused("inference.missing_input") as caught:
        graph.call(session, x=x)
    assert "'b'" in str(caught.error)
    with refused("inference.unknown_input"):
        graph.call(session, x=x, b=b, c=b)
    with refused("python.argument"):
        graph.call(session, x, x, b, b)
    with refused("python.argument"):
        graph.call(session, x, x, x=x)
    with refused("onnx.input_shape"):
        graph.call(session, x=graph.tensor("wide", "float32", [5, 6]), b=b)
    with refused("runtime.input_dtype"):
        graph.call(session, x=graph.tensor("whole", "int32", [5, 4]), b=b)
    with refused("python.tensor"):
        graph.call(session, x=5, b=b)
    reshape = heddle.InferenceSession(model_of(
        [onnx.helper.make_node("Reshape", ["x", "shape"], ["y"])],
        [("x", REAL, [6]), ("shape", onnx.TensorProto.INT64, [2])], [("y", REAL, None)]))
    six = graph.tensor("six", "float32", [6])
    with refused("symbolic.not_concrete"):
        graph.call(reshape, six, graph.tensor("shape", "int64", [2]))
    assert graph.call(reshape, six, graph.constant("to", np.array([2, 3]))).shape == [2, 3]


def numerical(function, x, step=1e-3):
    """The gradient of a number by differences."""
    result = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        shift = np.zeros_like(x)
        shift[place] = step
        result[place] = (function(x + shift) - function(x - shift)) / (2 * step)
    return result


def test_gradients():
    random = np.random.default_rng(3)
    x, w = random.standard_normal((4, 3)), random.standard_normal((3, 2))
    graph = heddle.Graph()
    a, b = graph.tensor("x", "float64", [4, 3]), graph.constant("w", w)
    y = graph.call("tanh", graph.call("matmul", a, b))
    before = repr(graph)
    da, db = graph.gradient(y, [a, b])
    assert (da.shape, db.shape) == ([4, 3], [3, 2]) and repr(graph) != before
    (only,) = graph.gradient([y], [a])
    half = graph.gradient(y, a, adjoints=graph.constant("half", np.full((4, 2), 0.5)))
    second = graph.gradient(da, a)
    found = graph.compile([da, db, only, half, second]).run(None, {"x": x})
    np.testing.assert_allclose(found[0], numerical(lambda v: np.tanh(v @ w).sum(), x), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found[1], numerical(lambda v: np.tanh(x @ v).sum(), w), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found[2], found[0])
    np.testing.assert_allclose(found[3], found[0] / 2)
    slope = lambda v: ((1 - np.tanh(v @ w) ** 2) @ w.T).sum()
    np.testing.assert_allclose(found[4], numerical(slope, x), rtol=1e-4, atol=1e-6)


def test_gradients_through_a_model_add_nothing_twice():
    graph = heddle.Graph()
    x, b = graph.tensor("x", "float32", [2, 4]), graph.tensor("b", "float32", [3])
    y = graph.call(heddle.InferenceSession(dense_model()), x=x, b=b)
    count = len(json.loads(graph.json())["nodes"])
    db = graph.gradient(y, b)
    names = [node["label"] for node in json.loads(graph.json())["nodes"] if node["type"].endswith("Operation")]
    assert len(names) == len(set(names)) and sum(name == "model.y" for name in names) <= 1, names
    feeds = {"x": np.ones((2, 4), np.float32), "b": np.float32([5, 5, -9])}
    assert graph.compile([db]).run(None, feeds)[0].tolist() == [2, 2, 0] and count > 0


def test_what_gradients_refuse():
    graph = heddle.Graph()
    x, n = graph.tensor("x", "float32", [2]), graph.tensor("n", "int32", [2])
    y = graph.call("exp", x)
    with refused("gradient.input"):
        graph.gradient(y, n)
    with refused("gradient.output"):
        graph.gradient(graph.call("neg", n), x)
    with refused("python.argument"):
        graph.gradient(y, x, adjoints=[x, x])
    with refused("python.tensor"):
        graph.gradient(y, x, adjoints=graph.tensor("seed", "float64", [2]))


def test_what_notebooks_show():
    graph = heddle.Graph()
    x = graph.tensor("x", "float32", [2, 3])
    graph.call("exp", x)
    assert repr(x) == "Tensor('x', float32[2, 3])" and repr(graph) == "Graph(x: float32[2, 3]; 1 operations)"
    ElementTree.fromstring(graph._repr_svg_())
    session = heddle.InferenceSession(doubling())
    assert repr(session) == "InferenceSession(x: float32[batch, 4] -> y: float32[batch, 4], z: float32[batch, 4])"
    assert session._repr_svg_() is None, "nobody knows the batch"
    plain, fused = session.svg(batch=3), session.svg(batch=3, fused=True)
    assert plain != fused and ElementTree.fromstring(plain) is not None and ElementTree.fromstring(fused) is not None
    assert graph.svg(fused=True) != graph.svg() == graph.svg(unfold=True)
    session.run(None, {"x": np.zeros((2, 4), np.float32)})
    ElementTree.fromstring(session._repr_svg_())
    with refused("onnx.unbound_dimension"):
        heddle.InferenceSession(doubling()).svg()
