"""Sessions and functions cut over several places: threads, and processes that mpirun starts."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx

import heddle
from exported import HEDDLE
from support import model_of, refused

ops = heddle.load_library()


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@heddle.function
def layer(x, weights):
    return ops.call("softmax", ops.call("matmul", ops.call("relu", ops.call("matmul", x, weights["up"])), weights["down"]), axis=1)


def loss(weights, x, kinds):
    return ops.call("nll_loss_joined", ops.call("log", layer(x, weights) + np.float32(1e-6)), kinds, mean=True)


def weights():
    return {"up": normal(12, 20), "down": normal(20, 6)}


def test_a_function_over_threads_is_the_function():
    x = normal(8, 12)
    expected = layer(x, weights())
    for cuts in (2, "in_row=4", "2,2", ["stages=2", "in_row/4"]):
        cut = heddle.shard(heddle.function(layer._function), cuts)
        np.testing.assert_allclose(cut(x, weights()), expected, atol=1e-6)
        np.testing.assert_allclose(cut(x[:3], weights()), expected[:3], atol=1e-6)  # parts that are smaller, or empty


def test_gradients_are_sums_of_those_of_parts():
    x, kinds = normal(8, 12), np.arange(8) % 6
    value, slopes = heddle.value_and_grad(loss)(weights(), x, kinds)
    cut_value, cut_slopes = heddle.shard(heddle.value_and_grad(loss), 4)(weights(), x, kinds)
    np.testing.assert_allclose(cut_value, value, rtol=1e-5)
    for name, slope in slopes.items():
        np.testing.assert_allclose(cut_slopes[name], slope, atol=1e-6)


def adam(weights, means, squares, number, x, kinds):
    """A step of training, with the loss before it."""
    value, slopes = heddle.value_and_grad(loss)(weights, x, kinds)
    new = {name: ops.call("adamw", weights[name], slopes[name], means[name], squares[name], number, np.float32(.01)) for name in weights}
    return *({name: each[i] for name, each in new.items()} for i in range(3)), value


def training():
    return heddle.function(adam, donate=["weights", "means", "squares"])


BY_COLUMNS = ["out_col=2", "shape1=2"]  # products, and what is done to each element, such as the optimiser's step
TRAINED = {"up": normal(48, 64) * np.float32(.1), "down": normal(64, 16) * np.float32(.1)}


def trained(step, steps, observe=lambda number: None):
    """Weights and losses after so many steps."""
    x, kinds = normal(4, 48), np.arange(4) % 16
    state = [{name: each(weight) for name, weight in TRAINED.items()} for each in (np.copy, np.zeros_like, np.zeros_like)]
    losses = []
    for number in range(steps):
        *state, value = step(*state, np.float32(number + 1), x, kinds)
        losses.append(float(value))
        observe(number)
    return state, losses


def held_bytes(arrays, place):
    return sum(part.nbytes for tree in arrays for array in tree.values() for at, _, part in array.parts if at == place)


def test_what_is_trained_stays_in_parts():
    whole, expected = trained(training(), 20)
    all_bytes = sum(array.nbytes for tree in whole for array in tree.values())
    state, losses = trained(heddle.shard(training(), BY_COLUMNS), 20)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    assert held_bytes(state, 0) == held_bytes(state, 1) == all_bytes // 2
    for tree, other in zip(state, whole):
        for name, array in tree.items():
            assert array.shape == other[name].shape and array.dtype == np.float32
            np.testing.assert_allclose(array.gather(), other[name], atol=2e-3)
            np.testing.assert_array_equal(np.asarray(array), array.gather())
    x = normal(6, 48)
    for network in (heddle.shard(heddle.function(layer._function), 2), layer):  # of as many places, and of one
        np.testing.assert_allclose(network(x, state[0]), layer(x, whole[0]), atol=1e-3)


def test_where_the_batch_is_cut_all_have_the_weights():
    whole, expected = trained(training(), 3)
    state, losses = trained(heddle.shard(training(), "in_row=2"), 3)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    np.testing.assert_allclose(state[0]["up"].gather(), whole[0]["up"], atol=2e-3)


def test_a_cache_grows_in_parts():
    real = onnx.TensorProto.FLOAT
    model = model_of([onnx.helper.make_node("Concat", ["past", "x"], ["present"], axis=1),
                      onnx.helper.make_node("Softmax", ["present"], ["y"], axis=1)],
                     [("past", real, [4, "n", 3]), ("x", real, [4, 1, 3])], [("y", real, [4, "m", 3]), ("present", real, [4, "m", 3])])

    def decoded(session):
        past = np.zeros((4, 0, 3), np.float32)
        for number in range(3):
            y, past = session.run(None, {"past": past, "x": normal(4, 1, 3) + np.float32(number)})
        return y, past
    y, past = decoded(heddle.InferenceSession(model))
    own_y, own_past = decoded(heddle.shard(heddle.InferenceSession(model), "outer0=2", keep={"present": "past"}))
    np.testing.assert_allclose(own_y, y, atol=1e-6)
    assert [sum(part.size for at, _, part in own_past.parts if at == place) for place in range(2)] == [past.size // 2] * 2
    np.testing.assert_array_equal(own_past.gather(), past)
    for keep, code in (({"nothing": "past"}, "python.unknown_output"), ({"present": "nothing"}, "inference.unknown_input")):
        with refused(code):
            heddle.shard(heddle.InferenceSession(model), 2, keep=keep)


def test_what_lies_elsewhere_is_refused():
    state, _ = trained(heddle.shard(training(), 2), 1)
    with refused(*["running.spread"] * 6) as caught:
        heddle.shard(training(), 4)(*state, np.float32(2), normal(4, 48), np.arange(4))
    assert "2 threads" in str(caught.error) and "gather()" in str(caught.error)
    with refused("runtime.input_shape"):
        heddle.shard(heddle.function(layer._function), 2).session(normal(4, 48), TRAINED).run(
            None, {"x": normal(4, 48), "weights.up": state[0]["down"], "weights.down": state[0]["down"]})
    with refused("python.option"):
        heddle.shard(training(), 2, keep={"y": "x"})


def test_donated_arrays_stay_as_they_are():
    def add(x, y):
        return ops.call("add", x, y)
    step = heddle.shard(heddle.function(add, donate=["x"]), 2)
    x = normal(6, 4)
    result = step(x, np.float32(1))
    np.testing.assert_array_equal(x, normal(6, 4))
    np.testing.assert_array_equal(result, x + 1)
    np.testing.assert_array_equal(step(result, np.float32(1)), x + 1 + np.float32(1))


def test_a_file_of_cuts_names_its_program_and_rules():
    """What `heddle optimise` has found for a rewritten model is what a session runs."""
    with tempfile.TemporaryDirectory() as folder:
        model, cuts = os.path.join(folder, "model.onnx"), os.path.join(folder, "cuts.json")
        transpose = [onnx.helper.make_node("Transpose", [a], [b], perm=[1, 0]) for a, b in (("x", "t"), ("t", "s"))]
        real = onnx.TensorProto.FLOAT
        with open(model, "wb") as file:
            file.write(model_of([*transpose, onnx.helper.make_node("Relu", ["s"], ["y"])],
                                [("x", real, [64, 48])], [("y", real, [64, 48])]))
        rules = ["transpose_of_transpose", "transpose_of_nothing"]
        subprocess.run([HEDDLE, "optimise", model, "--machines", "2", "-o", cuts,
                        *(word for rule in rules for word in ("--rule", rule))], check=True, capture_output=True)
        assert json.load(open(cuts))["rules"] == rules
        x = normal(64, 48)
        cut = heddle.shard(model, cuts)
        expected = heddle.InferenceSession(model).run(None, {"x": x})[0]
        np.testing.assert_allclose(cut.run(None, {"x": x})[0], expected, rtol=1e-6)
        assert [rule for rule, _ in cut.rewrites] == rules
        with refused("placing.cut_program"):  # without the rules it is another program
            heddle.shard(heddle.InferenceSession(model), cuts).run(None, {"x": x})


def test_what_is_refused():
    for cuts, code in (("nowhere=2", "placing.cut_name"), ("in_row", "placing.cut_syntax"),
                       (["in_row=2", "k=3"], "placing.cut_mesh")):
        with refused(code):
            heddle.shard(heddle.function(layer._function), cuts)(normal(8, 12), weights())
    with refused("support.file_open"):
        heddle.machines(hosts="no such file")


def test_who_has_failed_is_out():
    machines = heddle.machines()  # no launcher: this process alone
    assert (machines.rank, machines.size) == (0, 1)
    cut = heddle.shard(heddle.function(layer._function), machines=machines)
    np.testing.assert_allclose(cut(normal(8, 12), weights()), layer(normal(8, 12), weights()), atol=1e-6)
    try:
        with machines:
            raise ValueError("enough")
    except ValueError:
        pass
    with refused("transport.failed") as caught:
        cut(normal(4, 12), weights())
    assert "python.failed" in str(caught.error) and "enough" in str(caught.error)


SCRIPT = """
import sys
import numpy as np
import heddle
from test_places import layer, normal, weights

machines = heddle.machines()
with machines:
    cut = heddle.shard(layer, "in_row=2", machines=machines)
    result = cut(normal(8, 12), weights())
    if sys.argv[1] == "fails" and machines.rank == 1:
        raise ValueError("rank 1 has had enough")
    cut(normal(8, 12), weights())
if machines.rank == 0:
    np.save(sys.argv[2], result)
"""


# Of each step the bytes that this process has sent; then what only one process asks for.
TRAINS = """
import sys
import numpy as np
import heddle
from test_places import BY_COLUMNS, held_bytes, trained, training

machines = heddle.machines(timeout=5)
with machines:
    sent = []
    state, losses = trained(heddle.shard(training(), BY_COLUMNS, machines=machines), 20,
                            lambda number: sent.append(sum(bytes for _, bytes in machines.sent())))
    here = held_bytes(state, machines.rank)
    try:
        np.asarray(state[0]["up"])
        raise AssertionError("it is not here")
    except heddle.Error as error:
        assert "python.spread" in str(error), error
    up = state[0]["up"].gather()
    np.savez(sys.argv[2] + f".{machines.rank}.npz", sent=np.diff(sent), losses=losses, up=up, here=here)
    if sys.argv[1] == "gathers alone" and machines.rank == 0:
        state[0]["up"].gather()
"""


def mpirun(how, path, script=SCRIPT):
    """Exit code and text of two processes; None without MPI."""
    if not shutil.which("mpirun"):
        return None
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1", PYTHONPATH=":".join(sys.path))
    done = subprocess.run(["mpirun", "-n", "2", sys.executable, "-c", script, how, path], env=environment, text=True,
                          capture_output=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def test_processes_of_mpirun():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "y.npy")
        done = mpirun("works", path)
        if done is None:
            return
        assert done[0] == 0, done[1]
        np.testing.assert_allclose(np.load(path), layer(normal(8, 12), weights()), atol=1e-6)
        code, text = mpirun("fails", path + ".other")
        assert code != 0 and "rank 1 has had enough" in text, text  # mpirun ends the other one
        assert not os.path.exists(path + ".other.npy")


def test_processes_train_in_parts():
    whole, expected = trained(training(), 20)
    weights_bytes = sum(array.nbytes for array in whole[0].values())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trained")
        done = mpirun("trains", path, TRAINS)
        if done is None:
            return
        assert done[0] == 0, done[1]
        for rank in range(2):
            found = np.load(f"{path}.{rank}.npz")
            np.testing.assert_allclose(found["losses"], expected, rtol=1e-4)
            np.testing.assert_allclose(found["up"], whole[0]["up"], atol=2e-3)
            assert found["here"] == 3 * weights_bytes // 2  # with the means and squares
            assert len(set(found["sent"])) == 1 and found["sent"][0] < whole[0]["up"].nbytes // 2, found["sent"]
        code, text = mpirun("gathers alone", path, TRAINS)
        assert code != 0 and "running.gather" in text, text
