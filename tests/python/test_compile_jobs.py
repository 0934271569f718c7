"""Of the requirements on gradients what a program's user sees: tapes, scatters and repeated runs (compile jobs, 17 to 19)."""
import gc
import weakref

import numpy as np

import heddle
from support import refused

ops = heddle.load_library()
RANDOM = np.random.default_rng(4)


def arrays_of(tree):
    if isinstance(tree, np.ndarray):
        return [tree]
    return [array for part in tree for array in arrays_of(part)] if isinstance(tree, (list, tuple)) else []


def test_17_tapes_are_released_and_not_misused():
    x = RANDOM.normal(size=(64, 32))
    function = heddle.function(lambda x: ops.call("sin", ops.call("exp", ops.call("sin", x))))
    assert function.tape(x, keep="all").bytes > 0
    _, pull = heddle.vjp(function, x, keep="all")
    kept = [weakref.ref(array) for cell in pull.__closure__ for array in arrays_of(cell.cell_contents) if array is not x]
    assert len(kept) >= 2 and all(array() is not None for array in kept)
    first, = pull(np.ones((64, 32)))
    again, = pull(np.ones((64, 32)))
    np.testing.assert_array_equal(first, again)  # until it is let go of, it may be used again
    with refused("runtime.input_shape"):
        pull(np.ones((64, 31)))
    with refused("runtime.input_dtype"):
        pull(np.ones((64, 32), np.float32))
    with refused("python.option"):
        pull((np.ones((64, 32)),) * 2)
    del pull, _
    gc.collect()
    assert all(array() is None for array in kept)


def test_18_adjoints_of_affine_reads_gather():
    """One dimension that is moved, dropped, strided, dilated, windowed, mirrored: none scatters. Indices of data do."""
    for operator, *arguments in (
            ("transpose", "x=float32[5,7]"), ("expand", "x=float32[5,1]", "shape=[5,7]"), ("reduce_sum", "x=float32[5,7]"),
            ("slice", "x=float32[20]", "starts=[1]", "ends=[19]", "steps=[3]"), ("reshape_to", "x=float32[4,6]", "shape=[3,8]"),
            ("conv", "X=float32[1,2,19,9]", "W=float32[3,2,3,3]", "strides=[2,1]", "dilations=[2,3]"),
            ("avg_pool", "X=float32[1,2,9,9]", "kernel=[3,3]", "strides=[2,2]"), ("flip", "x=float32[9]", "axes=[0]"),
            ("numpy_matmul", "a=float32[5,6]", "b=float32[6,7]")):
        assert "scattered" not in str(ops.explain(operator, *arguments, gradient=True, equations=True)), operator
    scattered = str(ops.explain("gather", "table=float32[50,8]", "ids=int64[30]", gradient=True, equations=True))
    assert "d_table (sum, scattered by data)" in scattered


def test_19_runs_are_alike_on_any_number_of_threads():
    table, ids = RANDOM.normal(size=(300, 40)).astype(np.float32), RANDOM.integers(0, 300, 5000)
    w = RANDOM.normal(size=(40, 30)).astype(np.float32)

    def loss(table, w):
        rows = ops.call("gather", table, ids) @ w
        return ops.call("reduce_mean", ops.call("log_softmax", rows) * rows)
    found = None
    for threads in (1, 2, 3, 4):
        gradient = heddle.grad(loss, (0, 1), threads=threads)
        for _ in range(25):
            slopes = gradient(table, w)
            found = found or slopes
            assert all(np.array_equal(a, b) for a, b in zip(slopes, found)), threads
