"""Sessions and functions cut over several places: threads, and processes that mpirun starts."""
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import heddle
from support import refused

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


def test_donated_arrays_get_the_results():
    def add(x, y):
        return ops.call("add", x, y)
    step = heddle.shard(heddle.function(add, donate=["x"]), 2)
    x = normal(6, 4)
    expected = x + 1
    result = step(x, np.float32(1))
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(x, expected)


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


def mpirun(how, path):
    """Exit code and text of two processes; None without MPI."""
    if not shutil.which("mpirun"):
        return None
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1", PYTHONPATH=":".join(sys.path))
    done = subprocess.run(["mpirun", "-n", "2", sys.executable, "-c", SCRIPT, how, path], env=environment, text=True,
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
