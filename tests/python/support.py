"""What the tests of the Python package share."""
import contextlib

import onnx
import onnxruntime

import heddle
import make_models

onnxruntime.set_default_logger_severity(3)


@contextlib.contextmanager
def refused(*codes):
    """The block raises heddle.Error with these codes; the error is in the answer's `error` afterwards."""
    caught = type("Caught", (), {})()
    try:
        yield caught
    except heddle.Error as error:
        caught.error = error
        found = [diagnostic.code for diagnostic in error.diagnostics]
        assert found == list(codes), f"{found} instead of {codes}\n{error}"
        return
    raise AssertionError(f"nothing was refused; expected {codes}")


def model_path(name):
    return str(make_models.make(name))


def reference(model, feeds, optimise=True):
    """ONNX Runtime's outputs; `model` is a path or bytes."""
    return reference_session(model, optimise).run(None, feeds)


def reference_session(model, optimise=True):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def model_of(nodes, inputs, outputs, weights=()):
    """Bytes of a model: inputs and outputs are (name, type of onnx.TensorProto, shape or None)."""
    graph = onnx.helper.make_graph(nodes, "test", [onnx.helper.make_tensor_value_info(*value) for value in inputs],
                                   [onnx.helper.make_tensor_value_info(*value) for value in outputs], list(weights))
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString()


def doubling():
    """y = x + x over [batch, 4], and its relu."""
    nodes = [onnx.helper.make_node("Add", ["x", "x"], ["y"]), onnx.helper.make_node("Relu", ["y"], ["z"])]
    shape = ["batch", 4]
    real = onnx.TensorProto.FLOAT
    return model_of(nodes, [("x", real, shape)], [("y", real, shape), ("z", real, shape)])
