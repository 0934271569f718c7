"""Documents and pictures of graphs whose operations are cut into shards."""
import json
import xml.etree.ElementTree as ElementTree

import heddle
from support import refused


def nodes_of(document, kind):
    return [node for node in json.loads(document)["nodes"] if node["type"].endswith("/" + kind)]


def linear():
    graph = heddle.Graph()
    x, w, b = graph.tensor("x", "float32", [4, 6]), graph.tensor("w", "float32", [6, 5]), graph.tensor("b", "float32", [5])
    graph.call("linear", x, w, b)
    return graph


def test_metakernels9_graphs_in_shards():
    graph = heddle.Graph()
    x, w = graph.tensor("x", "float32", [4, 6], start=[10, 0]), graph.tensor("w", "float32", [6, 5])
    graph.call("matmul", x, w, label="product")
    document = graph.json(shards=["in_row=2"])
    assert graph.validate(shards=["in_row=2"]) == []
    names = {node["id"]: node["label"] for node in nodes_of(document, "Tensor")}
    touched = sorted(sorted((names[part["tensorId"]], part["range"]["start"], part["range"]["end"])
                            for side in ("inputs", "outputs") for parts in node["body"][side].values() for part in parts)
                     for node in nodes_of(document, "Application"))
    assert touched == [[("product", [first, 0], [first + 2, 5]), ("w", [0, 0], [6, 5]), ("x", [10 + first, 0], [12 + first, 6])]
                       for first in (0, 2)], touched
    assert [node["body"]["kernel"] for node in nodes_of(document, "Operation")] == ["matmul"]
    assert graph.json() != document and len(nodes_of(graph.json(), "Application")) == 1


def test_metakernels10_partial_results_in_documents():
    document = linear().json(shards=["col0=5,k=3"])
    kernels = {node["id"]: node["body"]["kernel"] for node in nodes_of(document, "Operation")}
    assert sorted(kernels.values()) == ["add2", "combine:sum", "shard:numpy_matmul"], kernels
    counts = {kernel: 0 for kernel in kernels.values()}
    for node in nodes_of(document, "Application"):
        counts[kernels[node["body"]["operationId"]]] += 1
    assert counts == {"shard:numpy_matmul": 15, "combine:sum": 1, "add2": 5}, counts
    partial = [node["body"]["range"] for node in nodes_of(document, "Tensor") if node["label"] == "linear.z sum"]
    assert partial == [{"start": [0, 0, 0], "end": [3, 4, 5]}]
    assert linear().validate(shards=["col0=5,k=3"]) == [] and linear().validate("loom", shards=["col0=5,k=3"]) == []
    (issue,) = linear().validate("operations", shards=["row0=1"])[:1]
    assert issue.code == "interchange.node_type"


# As `heddle explain` takes them.
USES = {
    "matmul": "X=float32[4,6] W=float32[6,5]", "softmax": "x=float32[4,6]", "reduce_mean": "x=float32[4,6]", "argmax": "x=float32[4,6]",
    "layer_norm": "x=float32[4,6] scale=float32[6]", "transpose": "x=float32[4,6]", "flip": "x=float32[4,6]",
    "linear": "x=float32[4,6] A=float32[6,5] b=float32[5]", "where": "condition=bool[4,6] a=float32[6] b=float32[4,1]",
    "conv": "X=float32[2,4,9,9] W=float32[6,2,3,3] pads=[1,1,1,1] strides=[2,2] group=2", "cumsum": "x=float32[4,6] axis=1",
    "rnn": "X=float32[5,4,3] W=float32[1,6,3] R=float32[1,6,6]", "gemm": "a=float32[4,6] b=float32[6,5]", "sort": "x=float32[4,6]",
    "attention": "q=float32[2,4,5,6] k=float32[2,4,7,6] v=float32[2,4,7,3]", "join_heads": "x=float32[2,4,5,6]",
    "gather_elements": "x=float32[4,6] ids=int64[3,6]", "dft": "x=float32[2,8,2]", "depth_to_space": "x=float32[1,8,3,3] block=2",
    "scatter_elements_add": "x=float32[4,6] ids=int64[3,6] updates=float32[3,6]", "max_pool": "X=float32[2,4,9,9] kernel=[3,3]",
    "batch_norm": "x=float32[2,4,5] scale=float32[4] bias=float32[4] mean=float32[4] var=float32[4]", "top_k": "x=float32[4,6] k=2",
}


def applied(operator):
    """A graph, and the axes of its operations."""
    graph, named = heddle.Graph(), {}
    for name, text in (use.split("=") for use in USES[operator].split()):
        dtype, *rest = text.rstrip("]").split("[")
        is_type = rest and dtype
        named[name] = graph.tensor(name, dtype, json.loads(f"[{rest[0]}]")) if is_type else json.loads(text)
    graph.call(operator, **named)
    facts = heddle.load_library().explain(operator, *USES[operator].split()).facts
    no_document = {"code": "cli.shard"}  # parts of scans
    return graph, {axis["name"]: axis["refusal"] or (no_document if axis["ordered"] else None) for operation in facts["operations"] for axis in operation["axes"]}


def test_every_axis_of_many_operators_gives_a_valid_document():
    cut = 0
    for operator in USES:
        graph, axes = applied(operator)
        assert axes, operator
        for axis, refusal in axes.items():
            for parts in (2, 3):
                shards = [f"{axis}={parts}"]
                if refusal:
                    with refused(refusal["code"]):
                        graph.json(shards=shards)
                    continue
                assert graph.validate(shards=shards) == [], (operator, axis, parts)
                cut += 1
    assert cut > 100, cut


def test_pairs_of_axes_give_valid_documents():
    for operator in ("matmul", "linear", "conv", "softmax", "attention", "rnn", "layer_norm", "reduce_mean"):
        graph, axes = applied(operator)
        names = [name for name, refusal in axes.items() if not refusal]
        for first in names:
            for second in names:
                shards = [f"{first}=2,{second}=3"]
                try:
                    issues = graph.validate(shards=shards)
                except heddle.Error as error:
                    assert {diagnostic.code for diagnostic in error.diagnostics} <= {"sharding.fold"}, (operator, shards, error)
                    continue
                assert issues == [], (operator, shards, issues)


def test_documents_select_what_shards_touch():
    """What `explain` says of the regions of shards, by itself, is within what the document's applications select."""
    library = heddle.load_library()
    for operator, axis in (("matmul", "in_row"), ("matmul", "k"), ("softmax", "j"), ("softmax", "outer0"), ("conv", "out0"), ("conv", "n"),
                           ("transpose", "out0"), ("flip", "shape0"), ("reduce_mean", "r0"), ("max_pool", "out1"), ("rnn", "batch")):
        graph, axes = applied(operator)
        if axis not in axes:
            raise AssertionError((operator, axes))
        document = graph.json(shards=[f"{axis}=2"])
        tensors = {node["id"]: node for node in nodes_of(document, "Tensor")}
        selections = []  # of each application {(tensor, side): [(start, end)]}
        for node in nodes_of(document, "Application"):
            own = {}
            for side in ("inputs", "outputs"):
                for part in (part for parts in node["body"][side].values() for part in parts):
                    own.setdefault((tensors[part["tensorId"]]["label"], side), []).append(part["range"])
            selections.append(own)
        selected = {name for own in selections for name in own}

        def within(application, own):
            read = all(any(all(a <= b for a, b in zip(there["start"], region["start"])) and
                           all(a >= b for a, b in zip(there["end"], region["end"])) for there in own.get((region["tensor"], "inputs"), []))
                       for region in application["inputs"] if (region["tensor"], "inputs") in selected)
            written = [there for (_, side), list in own.items() if side == "outputs" for there in list]  # results have other names
            return read and all({"start": region["start"], "end": region["end"]} in written for region in application["outputs"])

        for sharding in library.explain(operator, *USES[operator].split(), shards=[f"{axis}=2"]).facts["sharding"]:
            assert len(sharding["applications"]) >= 2, (operator, axis)
            for application in sharding["applications"]:
                assert any(within(application, own) for own in selections), (operator, axis, application, selections)


def test_pictures_of_shards():
    picture = ElementTree.fromstring(linear().svg("a picture", shards=["row0=2,k=2"]))
    text = " ".join(element.text or "" for element in picture.iter())
    for part in ("a picture", "shard:numpy_matmul", "combine:sum", "add2"):
        assert part in text, (part, text)
    with refused("python.option"):
        linear().svg(fused=True, shards=["row0=2"])
    graph = heddle.Graph()
    graph.call("neg", graph.tensor("x", "float32", [4096]))
    with refused("cli.graph"):
        graph.svg(shards=["shape0=2048"])


def test_wrong_shards():
    for shards, code in ((["row0"], "placing.cut_syntax"), (["row0=x"], "placing.cut_syntax"), (["row0=0"], "placing.cut_syntax"),
                         (["rows=2"], "placing.cut_name"), (["row0=5000"], "sharding.limit"), ("row0=2", "python.option"),
                         ([2], "python.option")):
        for method in (linear().json, linear().svg, linear().validate):
            with refused(code):
                method(shards=shards)
    graph = heddle.Graph()
    x = graph.tensor("x", "float32", [4096])
    for _ in range(20):
        x = graph.call("neg", x)
    with refused("sharding.limit"):  # of all operations together
        graph.json(shards=["shape0=4096"])
    constant = heddle.Graph()
    constant.constant("c", [1.0])
    with refused("cli.shard"):
        constant.json(shards=["n=2"])
