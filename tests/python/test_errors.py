"""What is refused is refused as by the command line."""
import json
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx

import heddle
from support import doubling, model_of, refused

PROGRAM = pathlib.Path(heddle.__file__).parent.parent.parent / "heddle"


def from_command_line(folder, model, feeds):
    """The errors of `heddle run` for the same model and arrays."""
    command = [PROGRAM, "run", model, "--format", "json"]
    for name, array in feeds.items():
        np.save(f"{folder}/{name}.npy", array)
        command += ["--input", f"{name}={folder}/{name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    return json.loads(done.stdout)


def test_the_version_is_the_programs():
    said = json.loads(subprocess.run([PROGRAM, "--version", "--format", "json"], capture_output=True, text=True).stdout)
    info = heddle.build_info()
    assert heddle.__version__ == info["version"] == said["version"]
    assert (info["llvm"], info["cpu"]) == (said["llvm"], said["target"]["cpu"])


def test_inputs_that_do_not_fit():
    right = np.zeros((2, 4), np.float32)
    cases = [("inference.unknown_input", {"z": right}), ("onnx.input_rank", {"x": right[0]}),
             ("onnx.input_shape", {"x": np.zeros((2, 5), np.float32)}),
             ("runtime.input_dtype", {"x": right.astype(np.int32)})]
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "m.onnx"
        model.write_bytes(doubling())
        session = heddle.InferenceSession(model)
        for code, feeds in cases:
            with refused(code) as caught:
                session.run(None, feeds)
            assert json.loads(caught.error.json()) == from_command_line(folder, model, feeds), str(caught.error)
        assert (session.run(None, {"x": right + 1})[0] == 2).all(), "a session survives what it refuses"


def test_the_parts_of_an_error():
    session = heddle.InferenceSession(doubling())
    with refused("inference.missing_input") as caught:
        session.run(None, {})
    (problem,) = caught.error.diagnostics
    assert problem.summary == "input 'x' is not given" and problem.expected == "float32[batch, 4]"
    assert problem.remedy == "add {'x': array} to what run is given" and problem.params == {"input": "x"}
    assert problem.place is None and problem.found == "" and problem.contexts == []
    assert str(caught.error) == str(problem) and str(problem).startswith("error[inference.missing_input]: input 'x'")
    with refused("python.unknown_output", "python.unknown_output"):
        session.run(["yy", "q"], {"x": np.zeros((1, 4), np.float32)})
    with refused("python.array"):
        session.run(None, {"x": "text"})


def test_models_that_do_not_load():
    with refused("support.file_open"):
        heddle.InferenceSession("/no/such/model.onnx")
    with refused("onnx.not_a_model"):
        heddle.InferenceSession(b"no model")
    with refused("onnx.truncated"):
        heddle.InferenceSession(doubling()[:-3])
    unknown = model_of([onnx.helper.make_node("Relux", ["x"], ["y"])], [("x", onnx.TensorProto.FLOAT, [2])],
                       [("y", onnx.TensorProto.FLOAT, [2])])
    with refused("onnx.unsupported_operator"):
        heddle.InferenceSession(unknown)


def test_indices_outside_while_running():
    gather = model_of([onnx.helper.make_node("Gather", ["x", "i"], ["y"])],
                      [("x", onnx.TensorProto.FLOAT, [3]), ("i", onnx.TensorProto.INT64, [2])],
                      [("y", onnx.TensorProto.FLOAT, [2])])
    session = heddle.InferenceSession(gather)
    x = np.float32([1, 2, 3])
    with refused("runtime.index_out_of_range"):
        session.run(None, {"x": x, "i": np.array([0, 3])})
    assert session.run(None, {"x": x, "i": np.array([2, -1])})[0].tolist() == [3, 3]
