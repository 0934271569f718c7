"""Programs in steps that heddle compile writes, for models whose sizes, branches and trip counts follow from data:
results are a session's, to the bit, and what they take they give back."""
import contextlib
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

import numpy as np
import onnx.parser

import exported
import heddle
from exported import Refused, StepProgram
from test_exported import BAD_ARGUMENT, BAD_SIZE, made_of_c, refused, vision

NO_MEMORY, STOPPED = -5, -6
ONES = np.ones((3, 2), np.float32)


def model(text):
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}').SerializeToString()


FOUND = model("""
g (float[n] x) => (int64[1,q] places, float[q] y) <float half = {0.5}> {
  big = Greater(x, half) places = NonZero(big) kept = Compress <axis = 0> (x, big) y = Exp(kept)
}""")
LARGEST = model("""
g (float[n] x, int64[p] m) => (float[q] v, int64[q] i, int64[r] all) <int64[1] axis = {0}, int64 zero = {0}, int64 one = {1}> {
  k = ReduceSum <keepdims = 0> (m) size = Size(x) most = Min(k, size) most1 = Unsqueeze(most, axis)
  v, i = TopK(x, most1) all = Range(zero, k, one)
}""")
SHAPED = model("""
g (float[n] x, int64[2] m) => (float[q,r] y) {
  h = Reshape(x, m) y = Tanh(h)
}""")
BRANCHES = model("""
g (float[n] x) => (float[q] y, float s) <float zero = {0.0}> {
  s = ReduceSum <keepdims = 0> (x) positive = Greater(s, zero)
  h = If (positive) <then_branch = a () => (float[n] t) { t = Exp(x) },
                     else_branch = b () => (float[twice] e) { e = Concat <axis = 0> (x, x) }>
  y = Neg(h)
}""")
LOOP = model("""
g (float[n] x, int64 trips) => (float[q] y, float[t,n] ys, float z) <float limit = {1000.0}> {
  y, ys = Loop <body = b (int64 i, bool go, float[c] c) => (bool on, float[d] d, float[n] s) {
    d = Concat <axis = 0> (c, x) f = Cast <to = 1> (i) s = Add(x, f)
    total = ReduceL1 <keepdims = 0> (d) on = Less(total, limit) }> (trips, "", x)
  z = ReduceSum <keepdims = 0> (y)
}""")
NESTED = model("""
g (float[n] x, int64 trips) => (float[n] y) <float half = {0.5}, float zero = {0.0}> {
  y = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d) {
    on = Identity(go)
    inner = Loop <body = a (int64 j, bool go2, float[n] e) => (bool on2, float[n] f) {
      on2 = Identity(go2) f = Mul(e, half) }> (i, "", c)
    s = ReduceSum <keepdims = 0> (inner) positive = Greater(s, zero)
    d = If (positive) <then_branch = p () => (float[n] t) { t = Add(inner, x) },
                       else_branch = q () => (float[n] u) { u = Sub(inner, x) }> }> (trips, "", x)
}""")


SCAN = model("""
g (float[t,n] x, float[n,t,2] z, float[n] a) => (float[q] ae, float[n,t] first, float[t,n,2] second, float[n,2,t] third) <float zero = {0.0}> {
  total = ReduceSum <keepdims = 0> (x) positive = Greater(total, zero)
  begin = If (positive) <then_branch = p () => (float[n] b) { b = Exp(a) }, else_branch = m () => (float[n] b) { b = Neg(a) }>
  ae, first, second, third = Scan <num_scan_inputs = 2, scan_input_axes = [0, -2], scan_input_directions = [1, 0],
      scan_output_axes = [1, 0, -1], scan_output_directions = [0, 1, 0],
      body = b (float[n] s, float[n] r, float[n,2] q) => (float[n] d, float[n] u, float[n,2] v, float[n,2] w) {
    d = Add(s, r) u = Exp(d) axis = Constant <value = int64[1] {1}> () column = Unsqueeze(d, axis)
    v = Mul(q, column) w = Neg(v) }> (begin, x, z)
}""")


@contextlib.contextmanager
def made(model_bytes, *binds, options=()):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "model.onnx").write_bytes(model_bytes)
        exported.compile(folder / "out", folder / "model.onnx", "--target", "native", "--bind", ",".join(binds), *options)
        yield folder / "out", heddle.InferenceSession(model_bytes, threads=1)


def check(program, session, *arrays):
    names = [value.name for value in session.get_inputs()]
    wanted = session.run(None, dict(zip(names, arrays, strict=True)))
    for found, expected in zip(program.run(*arrays), wanted, strict=True):
        check_same(found, expected)


def check_same(found, expected):
    assert type(found) is type(expected), (found, expected)
    if isinstance(expected, list):
        assert len(found) == len(expected), (found, expected)
        for both in zip(found, expected):
            check_same(*both)
    elif expected is not None:
        assert found.dtype == expected.dtype and found.shape == expected.shape, (found.shape, expected.shape)
        assert found.tobytes() == expected.tobytes(), (found, expected)


def reals(n, seed=0):
    return np.random.default_rng(n + 100 * seed).standard_normal(n).astype(np.float32)


def test_counts_that_data_decide():
    with made(FOUND, "n=1:200") as (folder, session):
        program = StepProgram(folder)
        for n in (1, 2, 7, 64, 65, 200):
            for seed in range(3):
                check(program, session, reals(n, seed))
        for x in (np.zeros(5, np.float32), np.ones(5, np.float32)):
            check(program, session, x)


def test_computed_k_and_ranges():
    with made(LARGEST, "n=1:40,p=2") as (folder, session):
        program = StepProgram(folder)
        for n, m in ((6, (2, 1)), (6, (3, 2)), (40, (20, 7)), (3, (1, 1)), (1, (1, 0)), (5, (100, 3))):
            check(program, session, reals(n), np.array(m))


def test_shapes_among_data():
    with made(SHAPED, "n=1:60") as (folder, session):
        program = StepProgram(folder)
        for n, m in ((6, (2, 3)), (6, (3, 2)), (12, (-1, 4)), (12, (6, -1)), (60, (1, 60))):
            check(program, session, reals(n), np.array(m))
        for m in ((-1, -1), (-2, 3), (7, 7), (1 << 40, 1), (1 << 62, 1 << 62), (-(1 << 63), 1)):
            with refused(BAD_SIZE):
                program.run(reals(12), np.array(m))


# What decides is put together of an input: it has no sizes of its own, and follows with the input's in one part.
TOGETHER = model("""
g (float[n] x, int64[1] k) => (float[a,b] y, float[a,q] z) <int64[1] one = {1}, int64[1] two = {2}> {
  shape = Concat <axis = 0> (k, two)
  row = Unsqueeze(x, one)
  h = Transpose(row)
  first = ReduceSum <keepdims = 1> (h)
  y = Expand(first, shape)
  turned = Concat <axis = 0> (two, k)
  e = Expand(first, turned)
  f = Transpose(e)
  z = Concat <axis = 1> (y, f)
}""")
REFLECTED = model("""
g (float[n] x, int64[2] m) => (float[q] y) {
  y = Pad <mode = "reflect"> (x, m)
}""")


def test_what_is_put_together_of_inputs():
    with made(TOGETHER, "n=1:9") as (folder, session):
        program = StepProgram(folder)
        assert program.manifest["steps"] == program.manifest["parts"] == 1, program.manifest["steps"]
        for n, k in ((3, 4), (1, 1), (9, 300), (2, 0)):
            check(program, session, reals(n), np.array([k]))


def test_paddings_that_turn_back_many_times():
    """How often they pass the tensor is no fact of a plan: there is one for many."""
    with made(REFLECTED, "n=2:48") as (folder, session):
        program = StepProgram(folder)
        for n, m in ((48, (40, 7)), (48, (1, 47)), (2, (1, 1)), (5, (3000, 17)), (9, (0, 0)), (20, (19, 0))):
            check(program, session, reals(n), np.array(m))


def test_branches():
    with made(BRANCHES, "n=1:30") as (folder, session):
        program = StepProgram(folder)
        for n in (1, 4, 30):
            check(program, session, np.abs(reals(n)))
            check(program, session, -np.abs(reals(n)))


def test_loops():
    with made(LOOP, "n=1:10") as (folder, session):
        program = StepProgram(folder)
        for n, trips in ((4, 3), (4, 0), (1, 12), (10, 5), (10, 1000)):
            check(program, session, reals(n), np.array(trips))
        with refused(BAD_ARGUMENT, "element type", "trips"):
            program.run(reals(4), np.array(3, np.int32))
        with refused(BAD_ARGUMENT, "rank", "trips"):
            program.run(reals(4), np.array([3]))


def test_loops_and_branches_in_loops():
    with made(NESTED, "n=1:10") as (folder, session):
        program = StepProgram(folder)
        for n, trips in ((4, 3), (4, 0), (1, 9), (10, 6)):
            check(program, session, reals(n), np.array(trips))
            check(program, session, -reals(n), np.array(trips))


def test_scans():
    """Of several inputs, along other dimensions, from the end; also of no rows."""
    with made(SCAN, "n=1:6", "t=0:9") as (folder, session):
        program = StepProgram(folder)
        for t, n in ((3, 4), (1, 1), (9, 2), (5, 6), (0, 3)):
            x, z, a = reals(t * n).reshape(t, n), reals(2 * t * n).reshape(n, t, 2), reals(n)
            check(program, session, x, z, a)
            check(program, session, np.abs(x), z, a)


def test_scans_of_different_lengths():
    two = model("""
g (float[t,n] x, float[u,n] z) => (float[t,n] y) {
  y = Scan <num_scan_inputs = 2, body = b (float[n] r, float[n] q) => (float[n] e) { e = Add(r, q) }> (x, z)
}""")
    with made(two, "t=1:5", "u=1:5", "n=2") as (folder, session):
        program = StepProgram(folder)
        check(program, session, ONES, ONES)
        with refused(BAD_SIZE, "different lengths"):
            program.run(ONES, np.ones((4, 2), np.float32))


def check_memory(program, session, *inputs):
    """Whatever it is refused, it gives back all that it has; a thousand runs ask for as much as one."""
    check(program, session, *inputs)
    once = program.asked
    for times in range(once):
        program.asked, program.left_to_give = 0, times
        with refused(NO_MEMORY, "memory"):
            program.run(*inputs)
    program.left_to_give = None
    for _ in range(1000):
        program.asked = 0
        program.run(*inputs)
        assert program.asked == once


def test_no_memory_at_any_time():
    for which, inputs in ((FOUND, (reals(50),)), (BRANCHES, (reals(8),)), (LOOP, (reals(4), np.array(5))),
                          (NESTED, (reals(4), np.array(3))), (SCAN, (ONES, np.ones((2, 3, 2), np.float32), reals(2)))):
        with made(which, "n=1:60", *(["t=3"] if which is SCAN else [])) as (folder, session):
            check_memory(StepProgram(folder), session, *inputs)


def test_a_loop_that_is_stopped():
    with made(LOOP, "n=1:10") as (folder, _):
        with refused(STOPPED, "stopped"):
            StepProgram(folder, stops_after=3).run(reals(1) * 0, np.array(1 << 60))


def check_threads(folder, *inputs):
    """Four threads with programs of their own, which give the same each time."""
    problems = []

    def run(seed):
        try:
            program, x = StepProgram(folder), reals(6, seed)
            bits = lambda: [np.asarray(part).tobytes() for part in program.run(x, *inputs)[0]]
            first = bits()
            for _ in range(50):
                assert bits() == first
        except (AssertionError, Refused) as problem:
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems


def test_runs_at_once():
    with made(NESTED, "n=1:10") as (folder, _):
        check_threads(folder, np.array(5))


def strict_libraries(folder):
    """All warnings, and traps where behaviour is undefined; also by clang, if it is there."""
    for compiler in filter(shutil.which, ("gcc", "clang", "clang-19")):
        trap = "-fsanitize-undefined-trap-on-error" if compiler == "gcc" else "-fsanitize-trap=undefined"
        yield made_of_c(folder, "-std=c99", "-O1", "-march=native", "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion",
                        "-Werror", "-fno-builtin", "-fsanitize=undefined", trap, compiler=compiler)


def test_the_steps_in_strict_c():
    with made(LOOP, "n=1:10", options=("--emit", "c")) as (folder, session):
        for library in strict_libraries(folder):
            program = StepProgram(folder, library=library)
            for n, trips in ((4, 3), (4, 0), (10, 5), (10, -5)):
                check(program, session, reals(n), np.array(trips))


WEIGHED = model("""
g (float[n,3] x, int64 trips) => (float[n,4] y) <float[3,3] w = {1,-2,3,-4,5,-6,7,-8,9}, float[3,4] v = {1,2,3,4,5,6,7,8,9,10,11,12}> {
  h = Loop <body = b (int64 i, bool go, float[n,3] c) => (bool on, float[n,3] d) { on = Identity(go) p = MatMul(c, w) d = Tanh(p) }> (trips, "", x)
  y = MatMul(h, v)
}""")


def test_objects_and_weights_beside():
    """As a library; as objects, two in one library under other names; as C; with weights in the program and beside it."""
    feeds = reals(12).reshape(4, 3), np.array(3)
    with made(WEIGHED, "n=1:8") as (folder, session):
        for emit in ("library", "object", "c"):
            for weights in ("inside", "beside"):
                out = folder.parent / f"{emit}-{weights}"
                exported.compile(out, folder.parent / "model.onnx", "--target", "x86-64-v3", "--bind", "n=1:8", "--emit", emit,
                                 "--name", "first", *(("--weights", "beside") if weights == "beside" else ()))
                assert (out / "first.weights").exists() == (weights == "beside")
                library = made_of_c(out, "-O1", "-march=x86-64-v3") if emit == "c" else None
                if emit == "object":
                    library = out / "linked.so"
                    other = folder.parent / f"other-{weights}"
                    exported.compile(other, folder.parent / "model.onnx", "--target", "x86-64-v3", "--bind", "n=1:8", "--emit", emit)
                    subprocess.run(["gcc", "-shared", out / "first.o", other / "model.o", "-o", library], check=True)
                (found,) = StepProgram(out, library=library).run(*feeds)
                (wanted,) = session.run(None, dict(x=feeds[0], trips=feeds[1]))
                assert np.allclose(found, wanted, rtol=1e-5, atol=1e-5), (emit, weights, found, wanted)
                if weights == "beside":
                    program = StepProgram(out, library=library)
                    program.weights = None
                    with refused(BAD_ARGUMENT, "weights are missing"):
                        program.run(*feeds)


def test_what_is_not_exported_yet():
    for text, words in (("g (float[n] x, float b) => (float[q] y) <float e = {3.0}, float s = {1.0}> { c = Neg(b) y = Range(c, e, s) }",
                         ("artefact.steps", "no size", "Range")),
                        ("g (float[n,3] x) => (float[n] y) { y = Scan <num_scan_inputs = 1, scan_input_axes = [2], "
                         "body = b (float r) => (float e) { e = Exp(r) }> (x) }", ("artefact.steps", "along dimension 2")),
                        ("g (float[n,3] x) => (float[3,n] y) { y = Scan <num_scan_inputs = 1, scan_output_axes = [3], "
                         "body = b (float[3] r) => (float[3] e) { e = Exp(r) }> (x) }",
                         ("artefact.steps", "along dimension 3")),
                        ("g (float[n,3] x) => (float[n] y) { y = Scan <num_scan_inputs = 2, "
                         "body = b (float r) => (float e) { e = Exp(r) }> (x) }", ("artefact.steps", "does not fit"))):
        try:
            with made(model(text), "n=1:9"):
                raise AssertionError("it is exported")
        except RuntimeError as problem:
            for word in words:
                assert word in str(problem), problem


def test_models_of_one_graph_have_no_steps():
    with made(vision(), "batch=1:2,height=16") as (folder, _):
        (header,) = folder.glob("*.h")
        assert "heddle_memory" not in header.read_text()


if __name__ == "__main__":
    unittest.main()
