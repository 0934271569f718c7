"""What a caller may give a model beyond its inputs, what is refused before anything is computed, and how a run ends early."""
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import heddle
from support import model_of, reference_session, refused

X = np.arange(12, dtype=np.float32).reshape(3, 4)
W = np.float32([1, 2, 3, 4])


def with_weights():
    """z = reshape(x + w, to), where w and to are inputs with values."""
    nodes = [helper.make_node("Reshape", ["y", "to"], ["z"]), helper.make_node("Add", ["x", "w"], ["y"])][::-1]
    inputs = [("x", TensorProto.FLOAT, ["n", 4]), ("w", TensorProto.FLOAT, [4]), ("to", TensorProto.INT64, [2])]
    weights = [numpy_helper.from_array(W, "w"), numpy_helper.from_array(np.int64([-1, 2]), "to")]
    return model_of(nodes, inputs, [("z", TensorProto.FLOAT, None)], weights)


def test_inputs_that_have_values_may_be_given():
    model = with_weights()
    session, runtime = heddle.InferenceSession(model), reference_session(model)
    assert [port.name for port in session.get_inputs()] == ["x"]
    found, wanted = (each.get_overridable_initializers() for each in (session, runtime))
    assert sorted((port.name, port.type, list(port.shape)) for port in found) == \
        sorted((port.name, port.type, list(port.shape)) for port in wanted)
    w, to = np.float32([0, -1, 5, 2]), np.int64([2, -1])
    for given in ({}, {"w": w}, {"to": to}, {"w": w, "to": to}, {}):
        feeds = {"x": X, **given}
        np.testing.assert_array_equal(session.run(None, feeds)[0], runtime.run(None, feeds)[0])
    binding = session.io_binding()
    for name, value in {"x": X, "w": w}.items():
        binding.bind_cpu_input(name, value)
    binding.bind_output("z")
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.get_outputs()[0].numpy(), (X + w).reshape(-1, 2))


def test_what_is_given_has_the_type_that_the_model_says():
    session = heddle.InferenceSession(with_weights())
    with refused("runtime.input_dtype"):
        session.run(None, {"x": X, "w": W.astype(np.float64)})
    with refused("onnx.input_shape"):
        session.run(None, {"x": X, "w": np.float32([1, 2])})
    with refused("inference.unknown_input"):
        session.run(None, {"x": X, "v": W})


def one_node(operator, shape, **attributes):
    return model_of([helper.make_node(operator, ["x"], ["y"], **attributes)], [("x", TensorProto.FLOAT, shape)],
                    [("y", TensorProto.FLOAT, None)])


def test_work_is_limited():
    for size, code in ((2**31, "symbolic.extent"), (2**22, "evaluate.too_much_work")):
        session = heddle.InferenceSession(one_node("AveragePool", [1, 1, 4, 4], kernel_shape=[size] * 2, pads=[size - 1] * 4))
        with refused(code):
            session.run(None, {"x": np.zeros((1, 1, 4, 4), np.float32)})
    try:
        heddle.limit_work(100)
        small = heddle.InferenceSession(one_node("Exp", [101]))
        with refused("evaluate.too_much_work"):
            small.run(None, {"x": np.zeros(101, np.float32)})
    finally:
        heddle.limit_work(1e13)
    heddle.InferenceSession(one_node("Exp", [101])).run(None, {"x": np.zeros(101, np.float32)})


def test_memory_that_is_not_there_is_named():
    nodes = [helper.make_node("Expand", ["x", "to"], ["large"]), helper.make_node("Exp", ["large"], ["y"])]
    model = model_of(nodes, [("x", TensorProto.FLOAT, [1])], [("y", TensorProto.FLOAT, None)],
                     [numpy_helper.from_array(np.int64([2**20, 2**20]), "to")])
    with refused("runtime.out_of_memory") as caught:
        heddle.InferenceSession(model).run(None, {"x": np.zeros(1, np.float32)})
    assert f"'y', float32[1048576, 1048576] of {2**42} bytes" in str(caught.error), str(caught.error)


def test_names_of_any_bytes():
    model = onnx.load_from_string(one_node("Exp", [2]))
    content = model.SerializeToString().replace(b"\x01x", b"\x01\xff")
    session = heddle.InferenceSession(content)
    (port,) = session.get_inputs()
    assert port.name == "\\xff"
    np.testing.assert_allclose(session.run(None, {port.name: np.float32([0, 1])})[0], [1, np.e], rtol=1e-6)


LONG = """
import os, signal, sys, threading
sys.path[:0] = {path!r}
import numpy as np
import heddle

signal.signal(signal.SIGINT, signal.default_int_handler)
library = heddle.parse_library('''
slow:
  inputs: {{x: "float32[$n]"}}
  index: "[$n]"
  outputs: {{y: float32}}
  body: "y = sum(k < 4000000 : sin(x * k))"
''')
heddle.limit_work(1e18)
threading.Timer(3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    library.call("slow", np.zeros(1 << 20, np.float32))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_ends_a_run():
    script = LONG.format(path=[path for path in sys.path if path])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done
