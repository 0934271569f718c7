"""The names of ONNX Runtime: every one of the installed package works, is accepted, or says that it is not there."""
import ctypes
import json
import pathlib
import tempfile
import threading
import warnings

import ml_dtypes
import numpy as np
import onnx
import onnxruntime

import heddle
from heddle import _onnxruntime_names as names
from support import doubling, model_of, refused

REAL = onnx.TensorProto.FLOAT


def own(owner):
    return heddle if owner == "onnxruntime" else getattr(heddle, owner)


def public(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_every_name_of_the_real_package_is_in_the_table():
    for owner, known in names.NAMES.items():
        real = onnxruntime if owner == "onnxruntime" else getattr(onnxruntime, owner)
        assert not (missing := public(real) - set(known)), f"{owner}: {missing}"


def test_every_name_of_the_table_does_what_it_says():
    session = heddle.InferenceSession(doubling())
    made = {"InferenceSession": session, "SessionOptions": heddle.SessionOptions(), "RunOptions": heddle.RunOptions(),
            "IOBinding": session.io_binding(), "NodeArg": session.get_inputs()[0], "ModelMetadata": session.get_modelmeta(),
            "OrtValue": heddle.OrtValue.ortvalue_from_numpy(np.zeros(2)), "OrtDevice": heddle.OrtDevice.make("cpu", 0)}
    for owner, known in names.NAMES.items():
        thing = heddle if owner == "onnxruntime" else made[owner]
        for name, said in known.items():
            if said.state != "absent":
                getattr(thing, name)  # is there
            elif name == "optimized_model_filepath":
                with refused("python.not_there"):
                    thing.optimized_model_filepath = "optimised.onnx"
            else:
                with refused("python.not_there") as caught:
                    getattr(thing, name)()
                (problem,) = caught.error.diagnostics
                assert name in problem.summary and problem.remedy == said.remark, caught.error


def test_absent_classes_can_be_imported_and_asked_for():
    from heddle import SparseTensor
    assert not isinstance(np.zeros(2), SparseTensor)
    with refused("python.not_there"):
        SparseTensor.sparse_coo_from_numpy([2], np.zeros(1), np.zeros(1), None)
    try:
        heddle.NoSuchName
    except AttributeError:
        return
    raise AssertionError("ONNX Runtime has no such name either")


def test_the_documentation_has_the_table():
    page = (pathlib.Path(__file__).parent.parent.parent / "docs/python.md").read_text()
    for line in names.table().splitlines():
        assert line in page, f"docs/python.md: the table of names lacks\n{line}"
    for key in [*names.SESSION_ENTRIES, *names.RUN_ENTRIES]:
        assert f"`{key}`" in page, f"docs/python.md does not name {key}"


def test_what_the_module_says():
    assert heddle.get_device() == "CPU" and heddle.get_all_providers() == heddle.get_available_providers()
    assert heddle.get_version_string() == heddle.__version__
    assert json.loads(heddle.get_build_info()) == heddle.build_info() and not heddle.has_collective_ops()


def test_session_options():
    options = heddle.SessionOptions()
    for name in names.NAMES["SessionOptions"]:
        peer = getattr(onnxruntime.SessionOptions(), name)
        if not callable(peer):
            ours = getattr(options, name)
            assert (ours.name if hasattr(peer, "name") else ours) == getattr(peer, "name", peer), name
    assert repr(options) == "SessionOptions()"
    options.intra_op_num_threads = 1
    assert repr(options) == "SessionOptions(intra_op_num_threads=1)"
    session = heddle.InferenceSession(doubling(), options)
    assert session.get_session_options() is options
    try:
        options.intra_op_threads = 3
    except AttributeError:
        return
    raise AssertionError("an unknown option was taken")


def test_configuration_entries():
    for options, prefix in [(heddle.SessionOptions(), "session"), (heddle.RunOptions(), "run")]:
        add, get = (getattr(options, f"{verb}_{prefix}_config_entry") for verb in ("add", "get"))
        known = names.SESSION_ENTRIES if prefix == "session" else names.RUN_ENTRIES
        for key, entry in known.items():
            for value in entry.values or ("0", "1"):
                add(key, value)
                assert get(key) == value
            if entry.values:
                with refused("python.option") as caught:
                    add(key, "something")
                assert entry.why in str(caught.error) and get(key) != "something"
        with refused("python.not_there"):
            add("session.unheard_of", "1")
        try:
            get("session.unheard_of")
        except RuntimeError as error:
            assert "session.unheard_of" in str(error)
        else:
            raise AssertionError("an entry that nobody set was there")


def test_open_dimensions_by_name():
    options = heddle.SessionOptions()
    options.add_free_dimension_override_by_name("batch", 3)
    session = heddle.InferenceSession(doubling(), options)
    assert session.get_inputs()[0].shape == [3, 4] == session.get_outputs()[0].shape
    assert (session.run(["y"], {"x": np.ones((3, 4), np.float32)})[0] == 2).all()
    with refused("onnx.input_shape"):
        session.run(None, {"x": np.ones((2, 4), np.float32)})
    options.add_free_dimension_override_by_name("rows", 3)
    with refused("python.dimension") as caught:
        heddle.InferenceSession(doubling(), options)
    assert "rows" in str(caught.error) and "batch" in str(caught.error)


def test_threads_of_sessions():
    heddle.set_global_thread_pool_sizes(1, 1)
    try:
        options = heddle.SessionOptions()
        options.use_per_session_threads = False
        session = heddle.InferenceSession(doubling(), options)
        assert (session.run(["y"], {"x": np.ones((1, 4), np.float32)})[0] == 2).all()
    finally:
        heddle.set_global_thread_pool_sizes()


def test_providers():
    session = heddle.InferenceSession(doubling(), providers=[("CPUExecutionProvider", {"use_arena": "1"})])
    assert session.get_providers() == ["CPUExecutionProvider"] and session.get_provider_options() == {"CPUExecutionProvider": {}}
    session.set_providers(["CUDAExecutionProvider", "CPUExecutionProvider"])
    options = heddle.SessionOptions()
    options.add_provider("CUDAExecutionProvider", {})
    assert options.has_providers()
    for make in (lambda: heddle.InferenceSession(doubling(), options),
                 lambda: session.set_providers(["CUDAExecutionProvider"])):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            make()
        assert ["CUDAExecutionProvider" in str(warning.message) for warning in caught] == [True]


def test_what_constructors_refuse():
    with refused("python.not_there"):
        heddle.InferenceSession(doubling(), disabled_optimizers=["ConstantFolding"])


def test_metadata():
    model = onnx.load_from_string(doubling())
    model.producer_name, model.domain, model.doc_string, model.model_version = "who", "org.example", "what it does", 7
    model.graph.doc_string = "of the graph"
    onnx.helper.set_model_props(model, {"task": "doubling", "empty": ""})
    for content in (model.SerializeToString(), doubling()):
        found, wanted = (package.InferenceSession(content).get_modelmeta() for package in (heddle, onnxruntime))
        for name in names.NAMES["ModelMetadata"]:
            assert getattr(found, name) == getattr(wanted, name), name
        assert ("producer_name='who'" in repr(found)) == (content != doubling())


def test_models_from_any_bytes():
    x = np.ones((2, 4), np.float32)
    for content in (doubling(), bytearray(doubling()), memoryview(doubling())):
        session = heddle.InferenceSession(content)
        if isinstance(content, bytearray):
            content[:] = bytes(len(content))  # the session has its own
        assert (session.run(["y"], {"x": x})[0] == 2).all()


def unread_model():
    """Of its inputs `left` is read by nothing, and `through` only by an output."""
    return model_of([onnx.helper.make_node("Neg", ["x"], ["y"])],
                    [("left", REAL, ["open", 3]), ("x", REAL, ["n"]), ("through", REAL, [2])],
                    [("y", REAL, ["n"]), ("through", REAL, [2])])


def test_inputs_that_nobody_reads_may_be_absent():
    session = heddle.InferenceSession(unread_model())
    assert [port.name for port in session.get_inputs()] == ["left", "x", "through"]
    x, through = np.float32([1, 2, 3]), np.float32([5, 6])
    for feeds in ({"x": x, "through": through}, {"x": x, "through": through, "left": np.zeros((2, 3), np.float32)}):
        y, same = session.run(None, feeds)
        assert (y == -x).all() and (same == through).all()
    with refused("inference.missing_input", "inference.missing_input") as caught:
        session.run(None, {})
    assert "'x'" in str(caught.error) and "'through'" in str(caught.error) and "'left'" not in str(caught.error)
    with refused("inference.unknown_input"):
        session.run(None, {"x": x, "through": through, "lift": x})


def test_no_names_are_all_outputs():
    session = heddle.InferenceSession(doubling())
    assert len(session.run([], {"x": np.ones((1, 4), np.float32)})) == 2


def test_values():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    ours, theirs = heddle.OrtValue.ortvalue_from_numpy(x), onnxruntime.OrtValue.ortvalue_from_numpy(x)
    for name in ("shape", "data_type", "element_type", "device_name", "tensor_size_in_bytes", "has_value", "is_tensor",
                 "is_sparse_tensor", "is_tensor_sequence", "data_ptr"):
        assert getattr(ours, name)() == getattr(theirs, name)(), name
    assert ours.numpy() is x and np.shares_memory(np.asarray(ours), x)
    assert np.shares_memory(np.from_dlpack(ours), x)
    assert heddle.OrtValue.ortvalue_from_numpy(x.T).numpy().tolist() == x.T.tolist()
    assert repr(ours) == "OrtValue(tensor(float), shape=[2, 3])"
    zeros = heddle.OrtValue.ortvalue_from_shape_and_type([2], onnx.TensorProto.INT64)
    assert zeros.data_type() == "tensor(int64)" and zeros.numpy().tolist() == [0, 0]
    bits = heddle.OrtValue.ortvalue_from_numpy_with_onnx_type(np.uint16([0x3FC0]), onnx.TensorProto.BFLOAT16)
    assert bits.data_type() == "tensor(bfloat16)" and bits.numpy()[0] == 1.5 and bits.element_type() == 16
    ours.update_inplace(x + 1)
    assert x[0, 0] == 1
    heddle.copy_tensors([heddle.OrtValue.ortvalue_from_numpy(x * 0)], [ours])
    assert (x == 0).all()


def test_values_from_dlpack():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for source in (x, x.__dlpack__(), heddle.OrtValue(x), onnxruntime.OrtValue.ortvalue_from_numpy(x)):
        assert np.shares_memory(heddle.OrtValue.from_dlpack(source).numpy(), x)
    assert heddle.OrtValue.from_dlpack(x.T).numpy().tolist() == x.T.tolist()


def test_what_values_refuse():
    value = heddle.OrtValue.ortvalue_from_numpy(np.zeros(2, np.float32))
    for array in (np.zeros(3, np.float32), np.zeros(2)):
        with refused("python.binding"):
            value.update_inplace(array)
    with refused("python.binding"):
        heddle.copy_tensors([value], [])
    with refused("python.option"):
        heddle.copy_tensors([], [], stream=object())
    for device in (("cuda", 0), ("cpu", 1)):
        with refused("python.option"):
            heddle.OrtValue.ortvalue_from_numpy(np.zeros(2), *device)
        with refused("python.option"):
            heddle.OrtDevice.make(*device)
    with refused("python.option"):
        heddle.OrtValue.ortvalue_from_shape_and_type([2], np.float32, memory_info=object())
    with refused("python.dtype"):
        heddle.OrtValue.ortvalue_from_shape_and_type([2], 8)  # strings
    with refused("python.dtype"):
        heddle.OrtValue.ortvalue_from_numpy(np.array(["text"]))


def test_binding():
    session = heddle.InferenceSession(doubling())
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    kept = heddle.OrtValue.ortvalue_from_shape_and_type([2, 4], np.float32)
    memory = np.zeros((2, 4), np.float32)
    binding = session.io_binding()
    for bind in (lambda: binding.bind_cpu_input("x", x), lambda: binding.bind_ortvalue_input("x", heddle.OrtValue(x)),
                 lambda: binding.bind_input("x", "cpu", 0, np.float32, x.shape, x.ctypes.data)):
        binding.clear_binding_inputs()
        binding.clear_binding_outputs()
        bind()
        binding.bind_ortvalue_output("z", kept)
        binding.bind_output("y", "cpu", 0, np.float32, memory.shape, memory.ctypes.data)
        binding.synchronize_inputs()
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()
        assert (kept.numpy() == np.maximum(2 * x, 0)).all() and (memory == 2 * x).all()
        assert binding.get_outputs()[0] is kept and (binding.copy_outputs_to_cpu()[1] == 2 * x).all()
        x += 1
    binding.clear_binding_outputs()
    binding.bind_output("y")
    session.run_with_iobinding(binding, heddle.RunOptions())
    (only,) = binding.get_outputs()
    assert (only.numpy() == 2 * (x - 0)).all() and repr(binding) == "IOBinding(inputs=['x'], outputs=['y'])"


def test_what_bindings_refuse():
    session = heddle.InferenceSession(doubling())
    binding = session.io_binding()
    binding.bind_cpu_input("x", np.zeros((2, 4), np.float32))
    with refused("python.binding") as caught:
        session.run_with_iobinding(binding)
    assert "no output is bound" in str(caught.error)
    for bind in (lambda: binding.bind_cpu_input("q", np.zeros(2)), lambda: binding.bind_output("x"),
                 lambda: binding.bind_output("y", buffer_ptr=1)):
        with refused("python.binding"):
            bind()
    with refused("python.option"):
        binding.bind_output("y", "cuda")
    binding.bind_ortvalue_output("y", heddle.OrtValue.ortvalue_from_shape_and_type([3, 4], np.float32))
    with refused("python.binding") as caught:
        session.run_with_iobinding(binding)
    assert "float32[2, 4]" in str(caught.error)


def test_runs_with_values_and_later():
    session = heddle.InferenceSession(doubling())
    x = np.ones((2, 4), np.float32)
    (y,) = session.run_with_ort_values(["y"], {"x": session.create_ortvalue_from_shape_and_type([2, 4], np.float32)})
    assert y.numpy().tolist() == np.zeros((2, 4)).tolist()
    assert (session.run(["y"], {"x": heddle.OrtValue(x)})[0] == 2).all()
    told, done = [], threading.Event()
    for feeds in ({"x": x}, {"q": x}):
        done.clear()
        session.run_async(["y"], feeds, lambda *given: (told.append(given), done.set()), "mine")
        assert done.wait(60)
    (results, data, error), (nothing, _, refusal) = told
    assert (results[0] == 2).all() and data == "mine" and error == ""
    assert nothing == [] and "inference.unknown_input" in refusal


def test_runs_can_be_terminated():
    heddle.use_cache(None)
    options = heddle.RunOptions()
    x = np.ones((2, 4), np.float32)
    session = heddle.InferenceSession(doubling(), progress=lambda *state: setattr(options, "terminate", True))
    with refused("support.cancelled"):
        session.run(None, {"x": x}, options)
    with refused("support.cancelled"):  # until it is taken back
        session.run(None, {"x": x}, options)
    options.terminate = False
    session = heddle.InferenceSession(doubling())
    assert (session.run(["y"], {"x": x}, options)[0] == 2).all()


def test_profiling():
    heddle.use_cache(None)
    with tempfile.TemporaryDirectory() as folder:
        options = heddle.SessionOptions()
        options.enable_profiling, options.profile_file_prefix = True, f"{folder}/mine"
        sessions = [heddle.InferenceSession(doubling(), options) for _ in range(2)]
        for session in sessions:
            for batch in (2, 2, 3):
                session.run(None, {"x": np.ones((batch, 4), np.float32)})
        files = [session.end_profiling() for session in sessions]
        assert len(set(files)) == 2 and all(file.startswith(f"{folder}/mine_") for file in files), files
        events = json.loads(pathlib.Path(files[0]).read_text())
        session = sessions[0]
        assert session.get_profiling_start_time_ns() > 0
        session.run(None, {"x": np.ones((2, 4), np.float32)})
        assert session.end_profiling() == "" and len(list(pathlib.Path(folder).iterdir())) == 2
    assert all(event["ph"] == "X" and event["dur"] >= 0 and event["ts"] >= 0 for event in events)
    runs = [event for event in events if event["name"] == "model_run"]
    launches = [event for event in events if event["cat"] == "Node"]
    assert len(runs) == 3 and len(launches) >= 3 and launches[0]["args"].keys() == {"kernel", "layout"}
    assert sum(event["name"] == "code" for event in events) == 1, "one program for both batches"
    for launch in launches:  # within a run
        assert any(run["ts"] <= launch["ts"] and launch["ts"] + launch["dur"] <= run["ts"] + run["dur"] + 1 for run in runs)


def test_profiles_that_nobody_asked_for():
    session = heddle.InferenceSession(doubling())
    assert session.end_profiling() == "" and session.get_profiling_start_time_ns() == 0
    launches = session.profile({"x": np.ones((2, 4), np.float32)})
    assert launches and all(launch.microseconds >= 0 for launch in launches) and "z" in launches[-1].name, launches
