"""Compiling is told while it goes on, and can be ended: by a call, by what the listener raises, by a real SIGINT."""
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import onnx

import heddle
from support import model_of, reference, refused

STAGES = ["load", "symbolic", "fusion", "plan", "code", "link", "prepare"]
X = np.linspace(-1, 1, 2 * 4 * 12 * 12, dtype=np.float32).reshape(2, 4, 12, 12)


def convolutions(seed):
    """A model of several kernels that no other seed has, so that each process compiles them."""
    random = np.random.default_rng(seed)
    nodes, weights, name, channels = [], [], "x", 4
    for number, (size, made) in enumerate([(3, 5 + seed), (1, 17), (2, 6), (3, 19)]):
        weights.append(onnx.numpy_helper.from_array(
            random.standard_normal((made, channels, size, size)).astype(np.float32) / 8, f"w{number}"))
        nodes.append(onnx.helper.make_node("Conv", [name, f"w{number}"], [f"c{number}"]))
        nodes.append(onnx.helper.make_node("Softmax", [f"c{number}"], [f"s{number}"], axis=number % 4))
        name, channels = f"s{number}", made
    nodes.append(onnx.helper.make_node("Identity", [name], ["y"]))
    shape = ["batch", 4, 12, 12]
    return model_of(nodes, [("x", onnx.TensorProto.FLOAT, shape)], [("y", onnx.TensorProto.FLOAT, None)], weights)


def expect_right(session, model):
    (y,) = session.run(None, {"x": X})
    np.testing.assert_allclose(y, reference(model, {"x": X})[0], rtol=1e-4, atol=1e-6)


def test_a_listener_is_told_stage_by_stage():
    told = []
    model = convolutions(1)
    session = heddle.InferenceSession(model, progress=lambda *state: told.append(state))
    assert told == []
    expect_right(session, model)
    order = list(dict.fromkeys(stage for stage, *_ in told))
    assert order == STAGES, order
    for stage in order:
        states = [state[1:] for state in told if state[0] == stage]
        assert [done for done, _, _ in states] == sorted({done for done, _, _ in states}), states
        assert states[0][0] == 0 and states[-1][0] == states[-1][1], states
        assert all(total == states[0][1] and seconds >= 0 for _, total, seconds in states)
    assert dict((stage, total) for stage, _, total, _ in told)["symbolic"] == 9
    told.clear()
    expect_right(session, model)
    assert told == []  # the program is there


def test_libraries_and_graphs_tell_too():
    told = []
    library = heddle.load_library(progress=lambda *state: told.append(state))
    library.call("softmax", np.ones((3, 5), np.float32), axis=1)
    assert told[0][0] == "load" and told[-1][0] in STAGES
    told.clear()
    graph = heddle.Graph(library)
    graph.call("exp", graph.tensor("x", "float32", [7]))
    graph.compile(progress=lambda *state: told.append(state)).run(None, {"x": np.zeros(7, np.float32)})
    assert list(dict.fromkeys(stage for stage, *_ in told)) == ["load", "fusion", "plan", "code", "link", "prepare"]


def test_another_thread_cancels():
    model = convolutions(2)
    at = {}

    def listen(stage, done, total, seconds):
        if stage == at.get("stage"):
            thread = threading.Thread(target=session.cancel)
            thread.start()
            thread.join()

    session = heddle.InferenceSession(model, progress=listen)
    for at["stage"] in STAGES:
        with refused("support.cancelled"):
            session.run(None, {"x": X})
    at.clear()
    expect_right(session, model)
    session.cancel()  # nobody compiles: nothing happens
    expect_right(session, model)


def test_what_a_listener_raises_ends_the_compile():
    model = convolutions(3)

    def listen(stage, done, total, seconds):
        if fails and stage == "code":
            raise ValueError("enough")

    fails = True
    session = heddle.InferenceSession(model, progress=listen)
    try:
        session.run(None, {"x": X})
    except ValueError as error:
        assert str(error) == "enough"
    else:
        raise AssertionError("nothing was raised")
    fails = False
    expect_right(session, model)


INTERRUPTED = """
import os, signal, sys, threading, time
sys.path[:0] = {path!r}
import numpy as np
import heddle
from test_progress import X, convolutions, expect_right

signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
heddle.use_cache(None)  # so that there is something to do
model = convolutions(int(sys.argv[2]))
sent = []

def interrupt():
    sent[0] = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)

def listen(stage, done, total, seconds):
    if stage == sys.argv[1] and not sent and (done > 0 or stage == "code"):
        sent.append(0)
        if sys.argv[1] == "code":                        # while LLVM works and this thread waits
            threading.Timer(0.01, interrupt).start()
        else:
            interrupt()

session = heddle.InferenceSession(model, progress=listen)
try:
    session.run(None, {{"x": X}})
except KeyboardInterrupt:
    print("interrupted after", round(1e3 * (time.perf_counter() - sent[0]), 1), "ms")
if len(sys.argv) > 3:
    sys.exit(7)  # while threads may be at work still
expect_right(session, model)
print("right")
"""


def interrupted(stage, seed, *more):
    script = INTERRUPTED.format(path=[path for path in sys.path if path])
    return subprocess.run([sys.executable, "-c", script, stage, str(seed), *more], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parent)})


def test_an_interrupt_ends_the_compile():
    for number, stage in enumerate(["symbolic", "plan", "code"]):
        done = interrupted(stage, 4 + number)
        assert (done.returncode, done.stderr) == (0, ""), done
        assert done.stdout.startswith("interrupted after") and done.stdout.endswith("right\n"), (stage, done)


def test_a_process_may_end_right_behind_an_interrupt():
    for seed in range(7, 10):
        done = interrupted("code", seed, "leave")
        assert (done.returncode, done.stderr) == (7, ""), done
        assert done.stdout.startswith("interrupted after"), done
