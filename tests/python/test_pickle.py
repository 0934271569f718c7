"""Sessions, functions and libraries, pickled: in this process they are the same, in another one they are made again."""
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import weakref

import numpy as np

import heddle
from support import doubling, refused

X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CUBE = 'cube:\n  inputs: {x: "$dtype[$shape...]"}\n  index: "[$shape...]"\n  outputs: {y: "$dtype"}\n  body: "y = x * x * x"\n'


def elsewhere(things, text, folder=None):
    """What another process, which knows `things` and runs in `folder`, puts into `results`."""
    program = f"import pickle, sys, numpy as np, heddle\nthings = pickle.loads(sys.stdin.buffer.read())\n{text}\n" \
        "sys.stdout.buffer.write(pickle.dumps(results))"
    ran = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(things), capture_output=True, cwd=folder,
                         env=dict(os.environ, PYTHONPATH=os.pathsep.join([os.path.dirname(os.path.dirname(heddle.__file__)), ROOT])))
    assert ran.returncode == 0, ran.stderr.decode()
    return pickle.loads(ran.stdout)


def test_bytes_give_the_same_bits_in_another_process():
    options = heddle.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_free_dimension_override_by_name("batch", 3)
    options.add_session_config_entry("session.disable_prepacking", "1")
    session = heddle.InferenceSession(doubling(), options, program_cache_bytes=1 << 20)
    results, shape, entry = elsewhere((session, X), "session, x = things\noptions = session.get_session_options()\n"
                                      "results = (session.run(None, {'x': x}), session.get_inputs()[0].shape, "
                                      "options.get_session_config_entry('session.disable_prepacking'))")
    assert all(np.array_equal(a, b) for a, b in zip(results, session.run(None, {"x": X}))) and len(results) == 2
    assert shape == [3, 4] and entry == "1"


def test_read_twice_is_one_session():
    text = "results = (things[0] is things[1], pickle.loads(pickle.dumps(things[0])) is things[0])"
    pickles = pickle.dumps(heddle.InferenceSession(doubling())), pickle.dumps(heddle.InferenceSession(doubling()))
    assert elsewhere(pickles, "things = [pickle.loads(text) for text in things]\n" + text) == (True, True)
    session = heddle.InferenceSession(doubling())
    assert pickle.loads(pickle.dumps(session)) is session
    assert pickle.loads(pickle.dumps(heddle.InferenceSession(doubling(), threads=1))) is not session


def test_it_stays_between_two_tasks_and_compiles_once():
    text = """
stages = []
for _ in range(3):
    session = pickle.loads(things[0])
    session._progress = lambda stage, *_: stages.append(stage)
    made = session.run(None, {'x': things[1]})
    del session
    stages.append('task')
results = [stage for i, stage in enumerate(stages) if i == 0 or stage != stages[i - 1]]"""
    stages = elsewhere((pickle.dumps(heddle.InferenceSession(doubling())), X), "heddle.use_cache(None)" + text)
    assert "plan" in stages[:stages.index("task")] and stages[stages.index("task"):] == ["task"], stages


def test_what_came_long_ago_goes():
    text = """
import gc, weakref
first = weakref.ref(pickle.loads(things[0]))
stays = first() is not None
for other in things[1:]:
    pickle.loads(other)
gc.collect()
results = (stays, first() is None)"""
    assert elsewhere([pickle.dumps(heddle.InferenceSession(doubling(), threads=n)) for n in range(1, 7)], text) == (True, True)


def test_a_path_is_read_there_if_the_file_is_the_same():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        write(path, doubling())
        before = os.getcwd()
        os.chdir(folder)
        try:
            session = heddle.InferenceSession("model.onnx")
        finally:
            os.chdir(before)
        text = pickle.dumps(session)
        assert len(text) < 2000 and folder.encode() in text
        assert np.array_equal(elsewhere((session, X), "results = things[0].run(['y'], {'x': things[1]})[0]", "/"), X + X)
        trial = "try:\n    pickle.loads(things[0])\nexcept heddle.Error as error:\n    results = error.diagnostics[0].code, str(error)"
        write(path, doubling() + b"\x12\x00")
        code, said = elsewhere([text], trial)
        assert code == "python.pickle" and "another file" in said and path in said and "bytes" in said, said
        fresh = heddle.InferenceSession(path)
        write(path, doubling())
        with refused("python.pickle") as caught:
            pickle.dumps(fresh)
        assert "has changed" in str(caught.error)
        os.remove(path)
        code, said = elsewhere([text], trial)
        assert code == "python.pickle" and "No such file" in said


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def test_files_of_weights_are_compared_too():
    import onnx
    weight = onnx.numpy_helper.from_array(np.full((4, 1024), 2, np.float32), "w")
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])]
    real = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(nodes, "test", [onnx.helper.make_tensor_value_info("x", real, ["batch", 4])],
                                   [onnx.helper.make_tensor_value_info("y", real, ["batch", 1024])], [weight])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 8
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=16)
        session = heddle.InferenceSession(path)
        assert np.array_equal(elsewhere((session, X), "results = things[0].run(None, {'x': things[1]})[0]"), session.run(None, {"x": X})[0])
        text = pickle.dumps(session)
        write(os.path.join(folder, "weights.bin"), np.full((4, 1024), 3, np.float32).tobytes())
        code = elsewhere([text], "try:\n    pickle.loads(things[0])\nexcept heddle.Error as error:\n    results = error.diagnostics[0].code")
        assert code == "python.pickle"


def test_libraries_go_as_their_texts():
    use = "results = things[0].call('cube', things[1]), repr(things[0])"
    text = heddle.parse_library(CUBE, name="mine")
    assert np.array_equal(elsewhere((text, X), use)[0], X * X * X)
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "own"))
        write(os.path.join(folder, "own", "a.yaml"), CUBE.encode())
        write(os.path.join(folder, "own", "b.yaml"), CUBE.replace("cube", "third_power").encode())
        library = heddle.load_library(mine=os.path.join(folder, "own"))
        there = elsewhere((library, X), use + " + repr(things[0]._library.digest)")
        assert library._library.digest in there[1]
        pickled = pickle.dumps(library)
    made, name = elsewhere((pickled, X), "things = pickle.loads(things[0]), things[1]\n" + use.replace("cube", "mine::third_power"))
    assert np.array_equal(made, X * X * X) and "mine" in name
    again = "things = pickle.loads(pickle.dumps(pickle.loads(things[0]))), things[1]\n" + use
    assert np.array_equal(elsewhere((pickled, X), again)[0], X * X * X)
    assert pickle.loads(pickle.dumps(heddle.load_library())).names() == heddle.load_library().names()


def test_rules_are_applied_again():
    rules = """
double: {inputs: {x: "$dtype[$shape...]"}, index: "[$shape...]", outputs: {y: "$dtype"}, body: "y = 2 * x"}
rewrites:
  twice: {doc: "A sum of a tensor with itself.", match: "add2(x, x)", replace: "double(x)"}
"""
    session = heddle.InferenceSession(doubling(), library=heddle.parse_library(rules, name="mine"), rules=["mine::*"])
    made, steps = elsewhere((session, X), "results = things[0].run(['y'], {'x': things[1]})[0], things[0].rewrites")
    assert np.array_equal(made, X + X) and [rule for rule, _ in steps] == ["mine::twice"], steps


def compiled():
    graph = heddle.Graph()
    x = graph.tensor("x", "float32", [3, 4])
    table = np.arange(4, dtype=np.float32)
    shift = graph.constant("shift", np.float32([[1], [2], [3]]))
    y = graph.call("mul", x, table) + shift
    table[:] = 99  # the graph has its own
    (slope,) = graph.gradient([graph.call("reduce_sum", y * y)], [x])
    net = graph.call(heddle.InferenceSession(doubling()), x)
    top, places = graph.call("top_k", x, k=2)
    return graph.compile([slope, net[1], top, places])


def test_graphs_are_built_again():
    session = compiled()
    results = elsewhere((session, X), "results = things[0].run(None, {'x': things[1]}), [port.name for port in things[0].get_outputs()]")
    assert all(np.array_equal(a, b) for a, b in zip(results[0], session.run(None, {"x": X})))
    assert results[1] == [port.name for port in session.get_outputs()] and len(results[1]) == 4
    assert pickle.loads(pickle.dumps(session)) is session


def test_what_was_pickled_ends_with_its_last_name():
    for make in (lambda: heddle.InferenceSession(doubling()), compiled, lambda: heddle.grad(lambda x: x * x)):
        thing = make()
        try:
            pickle.dumps(thing)
        except (AttributeError, pickle.PicklingError):  # a function within this one
            pass
        known = weakref.ref(thing)
        del thing
        assert known() is None, make


def test_donation_goes_along():
    graph = heddle.Graph()
    w = graph.tensor("w", "float32", [4])
    session = graph.compile([w * 2.0], donate=["w"])
    assert elsewhere(session, "w = np.ones(4, np.float32)\n(made,) = things.run(None, {'w': w})\nresults = made is w, w.tolist()") == (True, [2.0] * 4)


def test_cuts_over_threads_go_along():
    session = heddle.InferenceSession(doubling())
    whole = pickle.dumps(session)
    heddle.shard(session, "batch=2")
    assert pickle.loads(whole) is not session
    made, cuts = elsewhere((session, X), "results = things[0].run(['y'], {'x': things[1]})[0], things[0]._cuts")
    assert np.array_equal(made, X + X) and cuts == (["batch=2"], 0, {})


MODULE = """
import heddle
ops = heddle.load_library()

@heddle.function
def cubed(x):
    return x * x * x

def loss(x):
    return ops.call("reduce_sum", cubed(x))

slope = heddle.grad(loss)
both = heddle.value_and_grad(loss, 0, threads=1)
rows = heddle.vmap(loss)
"""


def test_functions_of_modules():
    with tempfile.TemporaryDirectory() as folder:
        write(os.path.join(folder, "pickled_functions.py"), MODULE.encode())
        sys.path.insert(0, folder)
        try:
            import pickled_functions as functions
            assert pickle.loads(pickle.dumps(functions.cubed)) is functions.cubed
            text = pickle.dumps([functions.cubed, functions.slope, functions.both, functions.rows])
            made, again = elsewhere((text, X, folder), "sys.path.insert(0, things[2])\nfunctions = pickle.loads(things[0])\n"
                                    "results = [of(things[1]) for of in functions], [a is b for a, b in zip(functions, pickle.loads(things[0]))]")
        finally:
            sys.path.remove(folder)
        assert np.array_equal(made[0], X * X * X) and np.allclose(made[1], 3 * X * X)
        assert np.allclose(made[2][0], (X * X * X).sum()) and np.allclose(made[2][1], 3 * X * X)
        assert np.allclose(made[3].ravel(), (X * X * X).sum(axis=1)) and again == [True] * 4, again


def test_what_cannot_be_made_again_says_so():
    class Own(heddle.InferenceSession):
        pass
    with refused("python.pickle"):
        pickle.dumps(Own(doubling()))
    _, pull = heddle.vjp(function := heddle.function(lambda x: x * x), X)
    (passes,) = [kept for key, kept in function._programs.items() if key[2]]
    with refused("python.pickle"):
        pickle.dumps(passes.sessions[0])


def test_dask_maps_a_model_over_partitions():
    try:
        import distributed  # noqa: F401
    except ImportError as reason:
        raise unittest.SkipTest(f"{reason}: pip install -r scripts/requirements.txt")
    ran = subprocess.run([sys.executable, os.path.join(ROOT, "examples", "dask_batches.py")], capture_output=True, text=True, timeout=300,
                         env=dict(os.environ, PYTHONPATH=os.pathsep.join([os.path.dirname(os.path.dirname(heddle.__file__)), *sys.path])))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "equal those of one process" in ran.stdout and "2 workers" in ran.stdout, ran.stdout
