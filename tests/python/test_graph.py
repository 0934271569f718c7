"""Graphs built by calls: documents, validation, pictures, running them."""
import json
import xml.etree.ElementTree as ElementTree

import numpy as np

import heddle
from support import refused


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
        graph.call("neg", np.zeros(2, np.int32))
    assert "constant" in caught.error.diagnostics[0].remedy
    for shape, start in [([-1], []), ([2], [1, 2]), ([1 << 40, 1 << 40], []), ([5], [(1 << 63) - 2])]:
        with refused("python.shape"):
            graph.tensor("B", "int32", shape, start)
    with refused("python.dtype"):
        graph.tensor("B", "uint128", [2])
