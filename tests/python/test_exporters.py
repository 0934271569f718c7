"""What exporters write: functions of the model's own, and weights in files beside it. Beside ONNX Runtime, on random inputs."""
import pathlib
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import equality
import heddle
from support import reference, refused

REAL = TensorProto.FLOAT
OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]


def model_with(functions, nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(nodes, "test", [helper.make_tensor_value_info(*value) for value in inputs],
                              [helper.make_tensor_value_info(*value) for value in outputs], list(weights))
    return helper.make_model(graph, functions=functions, opset_imports=OPSETS, ir_version=10)


def same_as_reference(model, feeds):
    """`model`: bytes, or a path."""
    found = heddle.InferenceSession(model, threads=2).run(None, feeds)
    for f, w, p in zip(found, reference(model, feeds), reference(model, feeds, False), strict=True):
        equal, text = equality.compare(f, w, p)
        assert equal, text


def referring(node, **attributes):
    """The node, with attributes that are those of the function around it: name = (name there, type)."""
    for name, (other, kind) in attributes.items():
        node.attribute.append(onnx.AttributeProto(name=name, ref_attr_name=other, type=kind))
    return node


def random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def layers():
    """Functions as exporters write them of modules: attributes with defaults, optional inputs, calls within calls."""
    linear = helper.make_function(
        "local", "Linear", ["x", "weight", "bias"], ["y"],
        [referring(helper.make_node("Gemm", ["x", "weight", "bias"], ["y"], transB=1), alpha=("scale", onnx.AttributeProto.FLOAT))],
        OPSETS, attributes=["scale"])
    act = helper.make_function(
        "local", "Act", ["x"], ["y"],
        [referring(helper.make_node("LeakyRelu", ["x"], ["h"]), alpha=("slope", onnx.AttributeProto.FLOAT)),
         helper.make_node("Tanh", ["h"], ["y"])],
        OPSETS, attribute_protos=[helper.make_attribute("slope", 0.2)])
    block = helper.make_function(
        "local", "Block", ["x", "weight", "bias"], ["y", "h"],
        [referring(helper.make_node("Linear", ["x", "weight", "bias"], ["h"], domain="local"),
                   scale=("scale", onnx.AttributeProto.FLOAT)),
         helper.make_node("Act", ["h"], ["a"], domain="local", slope=0.3),
         helper.make_node("Act", ["a"], ["b"], domain="local"),
         helper.make_node("Add", ["x", "b"], ["y"])],
        OPSETS, attributes=["scale"])
    return [linear, act, block]


def network(count=3, size=24):
    weights, nodes, last = [], [], "x"
    for i in range(count):
        weights += [numpy_helper.from_array(random(2 * i, size, size) / 5, f"w{i}"), numpy_helper.from_array(random(2 * i + 1, size), f"b{i}")]
        inputs = [last, f"w{i}"] + ([f"b{i}"] if i != 1 else [])  # one without its optional input
        outputs = [f"h{i}", f"inner{i}"]  # ONNX Runtime wants all of them named
        nodes.append(helper.make_node("Block", inputs, outputs, f"block{i}", domain="local", scale=1.0 + i))
        last = f"h{i}"
    shape = ["batch", size]
    return model_with(layers(), nodes, [("x", REAL, shape)], [(last, REAL, shape), ("inner0", REAL, shape)], weights)


def test_functions():
    model = network().SerializeToString()
    for batch in (1, 5):
        same_as_reference(model, {"x": random(batch, batch, 24)})


def test_functions_with_branches():
    def branch(name, operator, **attributes):
        node = referring(helper.make_node(operator, ["x"], ["r"]), **attributes)
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info("r", REAL, None)])

    choose = helper.make_function(
        "local", "Choose", ["x", "flag"], ["y"],
        [helper.make_node("If", ["flag"], ["y"],
                          then_branch=branch("then", "Elu", alpha=("strength", onnx.AttributeProto.FLOAT)),
                          else_branch=branch("else", "Neg"))],
        OPSETS, attributes=["strength"])
    nodes = [helper.make_node("Choose", ["x", "flag"], ["h"], domain="local", strength=0.4),
             helper.make_node("Not", ["flag"], ["other"]),
             helper.make_node("Choose", ["h", "other"], ["y"], domain="local", strength=2.0)]
    model = model_with([choose], nodes, [("x", REAL, [3, 7]), ("flag", TensorProto.BOOL, [])], [("y", REAL, [3, 7])])
    for flag in (True, False):
        same_as_reference(model.SerializeToString(), {"x": random(3, 3, 7), "flag": np.array(flag)})


def test_functions_of_another_opset():
    old = helper.make_function("local", "Old", ["x"], ["y"],
                               [helper.make_node("Squeeze", ["x"], ["s"], axes=[0]), helper.make_node("Softmax", ["s"], ["y"], axis=1)],
                               [helper.make_opsetid("", 11)])
    nodes = [helper.make_node("Old", ["x"], ["y"], domain="local")]
    # Softmax-11 flattens what is behind the axis, and is another operator since 13.
    model = model_with([old], nodes, [("x", REAL, [1, 4, 3, 5])], [("y", REAL, [4, 3, 5])])
    x = random(8, 1, 4, 3, 5)
    (found,) = heddle.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    flat = x.reshape(4, 15).astype(np.float64)
    wanted = np.exp(flat) / np.exp(flat).sum(1, keepdims=True)
    np.testing.assert_allclose(found.reshape(4, 15), wanted, rtol=1e-5)


def test_functions_that_call_themselves():
    node = helper.make_node("F", ["x"], ["y"], domain="local")
    graph = helper.make_graph([node], "test", [helper.make_tensor_value_info("x", REAL, [2])],
                              [helper.make_tensor_value_info("y", REAL, [2])])
    model = helper.make_model(graph, functions=[helper.make_function("local", "F", ["x"], ["y"], [node], OPSETS)],
                              opset_imports=OPSETS, ir_version=10)
    with refused("onnx.recursive_function"):
        heddle.InferenceSession(model.SerializeToString())


# ---- weights in other files

def saved(folder, model, location="weights.bin", one_file=True):
    path = pathlib.Path(folder) / "model.onnx"
    onnx.save_model(model, path, save_as_external_data=True, all_tensors_to_one_file=one_file, location=location,
                    size_threshold=0, convert_attribute=True)
    return str(path)


def test_weights_in_another_file():
    with tempfile.TemporaryDirectory() as folder:
        path = saved(folder, network(4, 200))
        same_as_reference(path, {"x": random(1, 3, 200)})
        same_as_reference(path, {"x": random(2, 1, 200)})


def test_weights_in_a_file_each():
    with tempfile.TemporaryDirectory() as folder:
        same_as_reference(saved(folder, network(), one_file=False), {"x": random(1, 3, 24)})


def test_weights_of_many_types():
    types = {"f64": np.float64, "f16": np.float16, "i8": np.int8, "u16": np.uint16, "i64": np.int64, "b": np.bool_}
    rng, weights, nodes, outputs = np.random.default_rng(5), [], [], []
    for name, dtype in types.items():
        values = (rng.standard_normal((3, 5)) * 50).astype(dtype) if dtype is not np.bool_ else rng.random((3, 5)) > 0.5
        weights.append(numpy_helper.from_array(values, name))
        nodes += [helper.make_node("Cast", [name], [f"{name}_c"], to=REAL), helper.make_node("Add", ["x", f"{name}_c"], [f"{name}_y"])]
        outputs.append((f"{name}_y", REAL, [3, 5]))
    model = model_with([], nodes, [("x", REAL, [3, 5])], outputs, weights)
    with tempfile.TemporaryDirectory() as folder:
        same_as_reference(saved(folder, model), {"x": random(1, 3, 5)})


def test_weights_that_are_not_where_they_should_be():
    with tempfile.TemporaryDirectory() as folder:
        path = saved(folder, network())
        content, weights = pathlib.Path(path).read_bytes(), pathlib.Path(folder) / "weights.bin"
        with refused("onnx.external_data") as caught:
            heddle.InferenceSession(content)
        assert "give the path of the model" in caught.error.diagnostics[0].remedy
        weights.write_bytes(weights.read_bytes()[:-1])
        with refused("onnx.external_range"):
            heddle.InferenceSession(path)
        weights.unlink()
        with refused("onnx.external_file") as caught:
            heddle.InferenceSession(path)
        assert str(weights) in caught.error.diagnostics[0].remedy
        weights.symlink_to("/etc/passwd")
        with refused("onnx.external_path"):
            heddle.InferenceSession(path)


def test_changed_weights_are_seen_by_the_next_session():
    """Also those of functions, and although programs are kept on disk."""
    constant = helper.make_function(
        "local", "Shifted", ["x"], ["y"],
        [helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.ones(4, np.float32), "c")),
         helper.make_node("Add", ["x", "c"], ["y"])], OPSETS)
    shape = [("x", REAL, [4])], [("y", REAL, [4])]
    of_function = model_with([constant], [helper.make_node("Shifted", ["x"], ["y"], domain="local")], *shape)
    of_graph = model_with([], [helper.make_node("Add", ["x", "w"], ["y"])], *shape,
                          [numpy_helper.from_array(np.ones(4, np.float32), "w")])
    for model in (of_function, of_graph):
        with tempfile.TemporaryDirectory() as folder:
            tensor = model.graph.initializer[0] if model.graph.initializer else model.functions[0].node[0].attribute[0].t
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="w.bin")
            path = pathlib.Path(folder) / "model.onnx"
            path.write_bytes(model.SerializeToString())
            heddle.use_cache(pathlib.Path(folder) / "cache")
            try:
                for value in (1, 2):
                    path.with_name("w.bin").write_bytes(np.full(4, value, np.float32).tobytes())
                    (y,) = heddle.InferenceSession(path).run(None, {"x": np.zeros(4, np.float32)})
                    assert (y == value).all(), y
            finally:
                heddle.use_cache(None)


def test_two_gigabytes_are_opened_without_reading_them():
    with tempfile.TemporaryDirectory() as folder:
        size, count = 8192 * 8192 * 4, 8
        weights, nodes = [], []
        for i in range(count):
            weight = TensorProto(name=f"w{i}", data_type=REAL, dims=[8192, 8192], data_location=TensorProto.EXTERNAL)
            for key, value in {"location": "w.bin", "offset": i * size, "length": size}.items():
                weight.external_data.add(key=key, value=str(value))
            weights.append(weight)
            nodes.append(helper.make_node("MatMul", [f"h{i}" if i else "x", f"w{i}"], [f"h{i + 1}" if i + 1 < count else "y"]))
        graph = helper.make_graph(nodes, "test", [helper.make_tensor_value_info("x", REAL, ["n", 8192])],
                                  [helper.make_tensor_value_info("y", REAL, ["n", 8192])], weights)
        path = pathlib.Path(folder) / "model.onnx"
        path.write_bytes(helper.make_model(graph, opset_imports=OPSETS, ir_version=10).SerializeToString())
        with open(path.with_name("w.bin"), "wb") as file:
            file.truncate(count * size)  # nothing but a hole

        def resident():
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

        before = resident()
        session = heddle.InferenceSession(path)
        assert [value.shape for value in session.get_inputs()] == [["n", 8192]]
        assert resident() - before < 64 << 20
