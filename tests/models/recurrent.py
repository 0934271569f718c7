"""ONNX's RNN, GRU and LSTM against ONNX Runtime: directions, initial states, lengths, biases, peepholes, clipping,
activations, weights given as constants and as inputs; each in a model of its own.

    python tests/models/recurrent.py [--heddle build/heddle]
"""
import argparse
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/models"), str(ROOT / "scripts")]

import numpy as np
import onnx
import onnxruntime

import check
import report

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DIRECTIONS = ("forward", "reverse", "bidirectional")


def case(operator, direction, steps=6, batch=3, features=5, hidden=7, bias=True, lengths=False, initial=True,
         peepholes=False, constant=True, **attributes):
    """A model, its feeds, and a text that says which case it is."""
    text = f"{operator} {direction} {dict(list(locals().items())[2:])}"
    random = np.random.default_rng(11)
    dirs, gates = 1 + (direction == "bidirectional"), GATES[operator]

    def normal(*shape, scale=1.0):
        return (random.standard_normal(shape) * scale).astype(np.float32)

    weights = {"W": normal(dirs, gates * hidden, features, scale=features ** -0.5),
               "R": normal(dirs, gates * hidden, hidden, scale=hidden ** -0.5)}
    feeds = {"X": normal(steps, batch, features)}
    if bias:
        weights["B"] = normal(dirs, 2 * gates * hidden)
    if lengths:
        feeds["lengths"] = random.integers(1, steps + 1, batch).astype(np.int32)
    if initial:
        feeds["h"] = normal(dirs, batch, hidden)
    if initial and operator == "LSTM":
        feeds["c"] = normal(dirs, batch, hidden)
    if peepholes:
        weights["P"] = normal(dirs, 3 * hidden)
    if not constant:
        feeds, weights = feeds | weights, {}
    order = ["X", "W", "R", "B", "lengths", "h"] + (["c", "P"] if operator == "LSTM" else [])
    names = [name if name in feeds or name in weights else "" for name in order]
    results = ["Y", "Y_h"] + (["Y_c"] if operator == "LSTM" else [])
    node = onnx.helper.make_node(operator, names, results, direction=direction, hidden_size=hidden, **attributes)
    graph = onnx.helper.make_graph(
        [node], operator,
        [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
         for name, value in feeds.items()],
        [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in results],
        initializer=[onnx.numpy_helper.from_array(value, name) for name, value in weights.items()])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 14)])
    model.ir_version = 8
    return model, feeds, text


def cases():
    for operator in GATES:
        for direction in DIRECTIONS:
            yield case(operator, direction)
            yield case(operator, direction, lengths=True, steps=11)
    for operator, direction in zip(GATES, DIRECTIONS):
        yield case(operator, direction, bias=False, initial=False, constant=False)
        yield case(operator, direction, steps=1, clip=0.5)
        yield case(operator, direction, steps=20, batch=1, features=33, hidden=40)
    yield case("GRU", "bidirectional", linear_before_reset=1, lengths=True)
    yield case("GRU", "forward", activations=["Sigmoid", "Softplus"])
    yield case("LSTM", "bidirectional", peepholes=True)
    yield case("LSTM", "forward", peepholes=True, input_forget=1)
    yield case("LSTM", "bidirectional", activations=["HardSigmoid", "Relu", "Softsign", "Sigmoid", "Tanh", "Tanh"])


def wrong(binary, folder, model, feeds):
    path = pathlib.Path(folder) / "model.onnx"
    path.write_bytes(model.SerializeToString())
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for found, wanted in zip(check.heddle(binary, path, feeds)[0], session.run(None, feeds), strict=True):
        if found.shape != wanted.shape or not np.allclose(found, wanted, rtol=1e-5, atol=2e-6):
            return f"{found.shape} {found.ravel()[:6]} instead of {wanted.shape} {wanted.ravel()[:6]}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heddle", default=str(ROOT / "build/heddle"))
    binary = parser.parse_args().heddle
    results = report.Report(quiet=True)
    with tempfile.TemporaryDirectory() as folder:
        for model, feeds, text in cases():
            try:
                problem = wrong(binary, folder, model, feeds)
            except RuntimeError as error:
                problem = str(error)
            results.check(text, problem)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
