"""What sessions keep in memory: weights once, programs within a limit."""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx

import heddle
from support import model_of, reference

INNER, OUTER = 300, 400
WEIGHTS = INNER * OUTER * 4


def product(rows, seed=1):
    """y = x w, with w as raw bytes."""
    weight = np.random.default_rng(seed).standard_normal((INNER, OUTER)).astype(np.float32)
    real = onnx.TensorProto.FLOAT
    return model_of([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", real, [rows, INNER])],
                    [("y", real, [rows, OUTER])], [onnx.numpy_helper.from_array(weight, "w")])


def rows_of(count):
    return {"x": np.random.default_rng(count).standard_normal((count, INNER)).astype(np.float32)}


def large_blocks(session):
    return {begin for begin, size in session._session.memory().items() if size >= WEIGHTS}


def check(session, model, count):
    (found,) = session.run(None, rows_of(count))
    np.testing.assert_allclose(found, reference(model, rows_of(count))[0], rtol=1e-4, atol=1e-4)


def test_shapes_and_sessions_have_weights_once():
    model = product("rows")
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file, tempfile.TemporaryDirectory() as folder:
        file.write(model)
        file.flush()
        for kept in (None, folder):
            heddle.use_cache(kept)
            for source in (file.name, model):
                # Bytes of their own each time.
                sessions = [heddle.InferenceSession(source if isinstance(source, str) else bytes(bytearray(source)))
                            for _ in range(3)]
                for session in sessions:
                    for count in (20, 24, 31):
                        check(session, model, count)
                blocks = [large_blocks(session) for session in sessions]
                assert len(blocks[0]) == 1 and blocks[0] == blocks[1] == blocks[2], blocks
        heddle.use_cache(None)


def test_programs_go_at_a_limit():
    model = product("rows")
    heddle.use_cache(None)
    session, without = heddle.InferenceSession(model, program_cache_bytes=0), heddle.InferenceSession(model)
    for count in (2, 20, 100, 300, 2):  # each of a size class of its own
        check(session, model, count)
        check(without, model, count)
        assert WEIGHTS <= session.memory_bytes() < 2 * WEIGHTS
    assert session.memory_bytes() < without.memory_bytes() < 2 * WEIGHTS


PEAK = """
import sys
def status(name):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))
import numpy
x = numpy.ones((24, 1600), numpy.float32)
before = status("VmRSS")
import heddle
heddle.use_cache(sys.argv[2] or None)
session = heddle.InferenceSession(sys.argv[1], threads=2)
(y,) = session.run(None, {"x": x})
print(float(abs(y).sum()), status("VmHWM") - before, session.memory_bytes())
"""


def test_the_peak_is_weights_and_little_more():
    width, layers, little = 1600, 12, 40_000_000
    real = onnx.TensorProto.FLOAT
    random = np.random.default_rng(1)
    weights = [onnx.numpy_helper.from_array((random.standard_normal((width, width)) / 40).astype(np.float32), f"w{i}")
               for i in range(layers)]
    nodes = [onnx.helper.make_node("MatMul", [f"h{i}" if i else "x", f"w{i}"], [f"h{i + 1}"]) for i in range(layers)]
    model = model_of(nodes, [("x", real, ["rows", width])], [(f"h{layers}", real, ["rows", width])], weights)
    sums = set()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        path.write_bytes(model)
        for kept in ("", f"{folder}/cache", f"{folder}/cache"):
            done = subprocess.run([sys.executable, "-c", PEAK, str(path), kept], capture_output=True, text=True, check=True,
                                  env={**os.environ, "PYTHONPATH": str(pathlib.Path(heddle.__file__).parent.parent)})
            total, peak, memory = map(float, done.stdout.split())
            sums.add(total)
            assert layers * width * width * 4 <= memory <= peak < memory + little, (kept, peak, memory)
    assert len(sums) == 1, sums
