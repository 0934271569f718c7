"""Programs that heddle compile writes, beside sessions: results are the same bits, for all sizes, on any workers."""
import contextlib
import functools
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import equality
import exported
import heddle
import inputs
from support import model_of, model_path, reference

ROOT = exported.ROOT
BAD_ARGUMENT, BAD_SIZE, BAD_INDEX = -1, -2, -4


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield pathlib.Path(name)


def weight(name, array):
    return numpy_helper.from_array(array, name)


def vision():
    """Convolutions, whose inputs have margins, pooling, a product and a softmax, over [batch, 3, height, 24]."""
    rng = np.random.default_rng(2)
    weights = [weight("w1", rng.standard_normal((8, 3, 3, 3)).astype(np.float32)),
               weight("w2", rng.standard_normal((16, 8, 3, 3)).astype(np.float32)),
               weight("w3", rng.standard_normal((16, 10)).astype(np.float32))]
    nodes = [helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", "w2"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
             helper.make_node("GlobalAveragePool", ["c"], ["d"]), helper.make_node("Flatten", ["d"], ["e"]),
             helper.make_node("MatMul", ["e", "w3"], ["f"]), helper.make_node("Softmax", ["f"], ["p"])]
    return model_of(nodes, [("x", TensorProto.FLOAT, ["batch", 3, "height", 24])],
                    [("p", TensorProto.FLOAT, None), ("c", TensorProto.FLOAT, None)], weights)


def margins():
    """Convolutions with windows of several sizes in a row: their inputs' margins differ, and lie in the same memory by turns."""
    rng = np.random.default_rng(3)
    nodes, weights, before = [], [], "x"
    for i, size in enumerate([3, 7, 3, 5, 7, 3]):
        shape = (8, 8 if i else 3, size, size)
        weights.append(weight(f"w{i}", (rng.standard_normal(shape) / size).astype(np.float32)))
        nodes += [helper.make_node("Conv", [before, f"w{i}"], [f"c{i}"], pads=[size // 2] * 4),
                  helper.make_node("Relu", [f"c{i}"], [f"r{i}"])]
        before = f"r{i}"
    return model_of(nodes, [("x", TensorProto.FLOAT, ["batch", 3, "height", 24])], [(before, TensorProto.FLOAT, None)],
                    weights)


def choosing():
    """Rows of a table by indices from outside, which may lie outside of it."""
    table = np.arange(40, dtype=np.float32).reshape(10, 4)
    return model_of([helper.make_node("Gather", ["t", "i"], ["y"])], [("i", TensorProto.INT64, ["n"])],
                    [("y", TensorProto.FLOAT, None)], [weight("t", table)])


def choosing_of_a_part():
    """Rows of a part of a tensor, which is none of its own when it runs."""
    return model_of([helper.make_node("Slice", ["x", "from", "to"], ["s"]), helper.make_node("Gather", ["s", "i"], ["y"])],
                    [("x", TensorProto.FLOAT, [10, 4]), ("i", TensorProto.INT64, ["n"])], [("y", TensorProto.FLOAT, None)],
                    [weight("from", np.array([1])), weight("to", np.array([5]))])


def write(where, model):
    path = where / "model.onnx"
    path.write_bytes(model)
    return path


def made_of_c(where, *flags, compiler="gcc"):
    """A library of the C file that was written there, with no other library."""
    (source,), made = where.glob("*.c"), where / "libmade.so"
    command = [compiler, *flags, "-Wall", "-Wno-psabi", "-Werror", "-shared", "-fPIC", "-nostdlib", "-Wl,-z,defs", source,
               "-o", made]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return made


def refused(status, *words):
    @contextlib.contextmanager
    def check():
        try:
            yield
        except exported.Refused as problem:
            assert problem.status == status, problem
            for word in words:
                assert word in str(problem), problem
        else:
            raise AssertionError(f"nothing was refused; expected {words}")
    return check()


def lying_on(kind, number):
    """Tensors are said to lie on this device of DLPack's."""
    here = exported.described

    def there(array):
        tensor = here(array)
        tensor.device = exported.Device(kind, number)
        return tensor
    return unittest.mock.patch.object(exported, "described", there)


def images(batch, height):
    return np.random.default_rng(batch * 100 + height).standard_normal((batch, 3, height, 24)).astype(np.float32)


def test_a_library_for_ranges_of_sizes():
    with folder() as where:
        path = write(where, vision())
        exported.compile(where / "out", path, "--bind", "batch=1:5,height=8:40:8")
        session = heddle.InferenceSession(str(path))
        for workers in (1, 3):
            program = exported.Program(where / "out", workers=workers)
            for batch, height in ((1, 8), (5, 40), (2, 16), (2, 16), (1, 8), (3, 32)):
                x = images(batch, height)
                plain = reference(str(path), {"x": x}, False)
                for found, ours, wanted, other in zip(program.run(x), session.run(None, {"x": x}),
                                                      reference(str(path), {"x": x}), plain, strict=True):
                    equal, text = equality.compare(found, wanted, other)
                    assert equal, (batch, height, text)
                    assert found.shape == ours.shape


def test_what_a_program_refuses():
    with folder() as where:
        exported.compile(where / "out", write(where, vision()), "--bind", "batch=1:5,height=8:40:8")
        program = exported.Program(where / "out")
        for x in (images(6, 8), images(1, 12), images(1, 48)):
            with refused(BAD_SIZE, "input x", "was exported for"):
                program.run(x)
        for x, word in ((images(1, 8).astype(np.float64), "element type"), (images(1, 8)[0], "rank"),
                        (images(1, 8)[..., :23].copy(), "24"), (np.asfortranarray(images(2, 8)), "row-major")):
            with refused(BAD_ARGUMENT, "input x", word):
                program.run(x)
        for device, word in (((2, 0), "device type 1, not 2"), ((1, 3), "the CPU of number 0, not 3")):
            with lying_on(*device), refused(BAD_ARGUMENT, "input x", word):
                program.run(images(1, 8))
        program.run(images(1, 8))
        program.call.workspace_bytes = program.workspace_bytes(images(1, 8)) - 1
        outputs = program.outputs_for(images(1, 8))
        with refused(BAD_ARGUMENT, "workspace"):
            program.run_into(outputs, images(1, 8))
        program.call.workspace_bytes += 1
        with refused(BAD_ARGUMENT, "output p", "a size is to be 1, not 2"):
            program.run_into([np.zeros((2, 10), np.float32), outputs[1]], images(1, 8))


def test_margins_that_share_memory():
    """Each run is right, also the second one, whose memory holds what the first one left there."""
    with folder() as where:
        path = write(where, margins())
        sizes = ["--bind", "batch=1:3,height=8:24:8"]
        exported.compile(where / "library", path, *sizes)
        exported.compile(where / "source", path, *sizes, "--emit", "c")
        session = heddle.InferenceSession(str(path))
        built = made_of_c(where / "source", "-O1", "-march=native")
        for program in (exported.Program(where / "library", workers=2), exported.Program(where / "source", built)):
            for batch, height in ((3, 24), (1, 8), (2, 16), (3, 24), (3, 24)):
                x = images(batch, height)
                (found,), (ours,) = program.run(x), session.run(None, {"x": x})
                (wanted,), (plain,) = reference(str(path), {"x": x}), reference(str(path), {"x": x}, False)
                for result in (found, ours):
                    equal, text = equality.compare(result, wanted, plain)
                    assert equal, (batch, height, text)


def test_an_index_outside_is_told():
    with folder() as where:
        path = write(where, choosing())
        for emit in ("library", "c"):
            exported.compile(where / emit, path, "--bind", "n=1:8", "--emit", emit)
            made = made_of_c(where / emit, "-O1") if emit == "c" else None
            for workers in (1, 2):
                program = exported.Program(where / emit, made, workers)
                (y,) = program.run(np.array([3, -1, 0]))
                assert (y[:, 0] == [12, 36, 0]).all()
                with refused(BAD_INDEX, "an index among the data is 10"):
                    program.run(np.array([3, 10]))


def test_an_index_outside_of_a_part_is_told():
    with folder() as where:
        path = write(where, choosing_of_a_part())
        exported.compile(where, path, "--bind", "n=1:8")
        program = exported.Program(where)
        x = np.arange(40, dtype=np.float32).reshape(10, 4)
        (y,) = program.run(x, np.array([3, -1, 0]))
        assert (y[:, 0] == [16, 16, 4]).all()
        with refused(BAD_INDEX, "an index among the data is outside of what it is for"):
            program.run(x, np.array([3, 4]))


def test_weights_beside_and_objects():
    with folder() as where:
        path = write(where, vision())
        options = ["--bind", "batch=2,height=16", "--name", "seen"]
        exported.compile(where / "library", path, *options)
        exported.compile(where / "beside", path, *options, "--weights", "beside")
        exported.compile(where / "object", path, *options, "--emit", "object")
        made = where / "object/linked.so"
        subprocess.run(["gcc", "-shared", where / "object/seen.o", "-o", made], check=True)
        x = images(2, 16)
        results = [exported.Program(where / "library").run(x), exported.Program(where / "beside").run(x),
                   exported.Program(where / "object", made).run(x)]
        for other in results[1:]:
            for a, b in zip(results[0], other, strict=True):
                assert (a == b).all()


def test_c_for_any_machine_and_compiler():
    """The same program as C: without a mathematical library, with and without instructions for vectors and FMA."""
    with folder() as where:
        path = write(where, vision())
        exported.compile(where, path, "--bind", "batch=1:5,height=8:16:8", "--emit", "c")
        compilers = [("gcc", "-O2"), ("gcc", "-O1", "-march=x86-64-v3"), ("gcc", "-O1", "-march=native")]
        if shutil.which("clang-19"):
            compilers.append(("clang-19", "-O1", "-march=x86-64-v3", "-Wno-unused-function"))
        for compiler, *flags in compilers:
            program = exported.Program(where, made_of_c(where, *flags, compiler=compiler))
            for batch, height in ((5, 16), (1, 8)):
                x = images(batch, height)
                for found, wanted, plain in zip(program.run(x), reference(str(path), {"x": x}),
                                                reference(str(path), {"x": x}, False), strict=True):
                    equal, text = equality.compare(found, wanted, plain)
                    assert equal, (compiler, flags, text)


def test_the_same_bytes_again():
    with folder() as where:
        path = write(where, vision())
        written = [exported.compile(where / name, path, "--bind", "batch=1:3,height=8", "--emit", "c") for name in "ab"]
        for name in written[0]:
            assert written[0][name].read_bytes() == written[1][name].read_bytes(), name


def test_a_program_of_calls():
    """For a range of a million sizes, in as many plans as it has classes."""
    with folder() as where:
        written = exported.compile(where, "--call", "y = softmax(x, axis: 1)", "--input-type", "x=float32[rows, 10]",
                                   "--bind", "rows=0:1000000", "--name", "rows")
        assert written["librows.so"].stat().st_size < 200_000
        program = exported.Program(where)
        assert program.manifest["outputs"][0]["shape"] == ["rows", 10]
        assert all(len(variant["groups"]) < 12 for variant in program.manifest["variants"])
        for rows in (7, 0, 1, 4, 1_000_000, 3, 255, 256, 4095, 4096, 65_536, 7):
            x = np.random.default_rng(rows).standard_normal((rows, 10)).astype(np.float32)
            (y,) = program.run(x)
            assert y.shape == x.shape
            assert np.abs(y - np.exp(x) / np.exp(x).sum(1, keepdims=True)).max(initial=0) < 1e-6, rows
        with refused(BAD_SIZE, "rows from 0 to 1000000"):
            program.run(np.zeros((1_000_001, 10), np.float32))


def test_one_plan_for_a_class_of_products_and_orders():
    # What is asked for ahead in panels of a depth, and parts of phases in rounds, once held for one size.
    for call, types in (("y = numpy_matmul(a, b)", ("a=float32[700,n]", "b=float32[n,700]")), ("y = sort(a)", ("a=float32[n]",))):
        with folder() as where:
            given = [word for each in types for word in ("--input-type", each)]
            exported.compile(where, "--call", call, *given, "--bind", "n=600:900:150", "--emit", "c", "--target", "x86-64-v3")
            manifest = json.loads((where / "program.json").read_text())
            assert [len(variant["groups"]) for variant in manifest["variants"]] == [1], call


def test_sizes_beyond_all_memory():
    """They are a status, whichever number is too large for 64 bits, and whichever function is asked."""
    with folder() as where:
        exported.compile(where, "--call", "y = numpy_matmul(x, z)", "--input-type", "x=float32[n, k]", "--input-type",
                         "z=float32[k, m]", "--bind", "n=1:2000000000,k=1:3,m=1:2000000000", "--name", "sizes")
        program = exported.Program(where)

        def described(n, k, m):
            one = np.zeros(1, np.float32)
            return [np.lib.stride_tricks.as_strided(one, shape, (4 * shape[1], 4)) for shape in ((n, k), (k, m))]

        for sizes in ((2_000_000_000, 3, 2_000_000_000), (2_000_000_000, 1, 1_000_000_000), (1_999_999_999, 2, 1_500_000_001)):
            for ask in (program.workspace_bytes, program.outputs_for):
                with refused(BAD_SIZE, "n " + str(sizes[0])):
                    ask(*described(*sizes))
        x, z = np.ones((3, 2), np.float32), np.ones((2, 4), np.float32)
        assert (program.run(x, z)[0] == 2).all()


def test_silero_vad_for_one_rate():
    with folder() as where:
        path = model_path("silero-vad")
        np.save(where / "sr.npy", np.array(16000))
        exported.compile(where / "out", path, "--bind", "input.0=1,input.1=576,state.1=1", "--input",
                         f"sr={where / 'sr.npy'}")
        program, session = exported.Program(where / "out"), heddle.InferenceSession(path)
        feeds = inputs.of("silero-vad")
        names = [value["name"] for value in program.manifest["inputs"]]
        for found, wanted in zip(program.run(*(feeds[name] for name in names)), session.run(None, feeds), strict=True):
            assert np.abs(found - wanted).max() < 1e-5
        with refused(BAD_ARGUMENT, "input sr", "another value"):
            program.run(*(feeds[name] if name != "sr" else np.array(8000) for name in names))


def built(where, source, name):
    """A C program of the examples, linked to what was written there."""
    program = where / "program"
    assert len((ROOT / source).read_text().splitlines()) < 60
    subprocess.run(["gcc", "-std=c11", "-D_DEFAULT_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", ROOT / source, f"-I{where}",
                    f"-L{where}", f"-l{name}", f"-Wl,-rpath,{where}", "-o", program], check=True)
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    assert "LLVM" not in libraries and "libheddle" not in libraries and "stdc++" not in libraries, libraries
    return program


def test_targets6_magika_in_a_c_program():
    with folder() as where:
        exported.compile(where, model_path("magika"), "--bind", "unk__214=1:4")
        program = built(where, "examples/exported/magika.c", "magika")
        said = subprocess.run([program, ROOT / "src/main.cpp", ROOT / "tests/python/exported.py", HEADER],
                              capture_output=True, text=True, check=True).stdout.splitlines()
    session = heddle.InferenceSession(model_path("magika"))
    for line, path in zip(said, (ROOT / "src/main.cpp", ROOT / "tests/python/exported.py", HEADER), strict=True):
        text = path.read_bytes()
        sample = np.full((1, 2048), 256, np.int32)
        begin, end = text[:1024], text[-1024:]
        sample[0, :len(begin)] = list(begin)
        sample[0, 2048 - len(end):] = list(end)
        (scores,) = session.run(None, {"bytes": sample})
        assert line == f"{path}: kind {scores.argmax()}, {scores.max():.3f}", line


HEADER = ROOT / "exported/heddle_program.h"


def test_targets6_pp_ocr_in_a_c_program():
    """A line of text, as the recogniser reads it: the program prints the numbers of its characters."""
    path = model_path("text-recogniser")
    x = inputs.of("text-recogniser")["x"]
    with folder() as where:
        exported.compile(where, path, "--bind", "p2o.DynamicDimension.0=1,x.2=48,p2o.DynamicDimension.1=256:320:32")
        program = built(where, "examples/exported/text_recogniser.c", "text_recogniser")
        grey = np.clip(np.rint((x[0].mean(0) + 1) * 127.5), 0, 255).astype(np.uint8)
        (where / "line.pgm").write_bytes(b"P5\n%d 48\n255\n" % grey.shape[1] + grey.tobytes())
        said = subprocess.run([program, where / "line.pgm"], capture_output=True, text=True, check=True).stdout.split()
    again = np.broadcast_to(grey.astype(np.float32) / 127.5 - 1, (1, 3, *grey.shape)).copy()
    (scores,) = heddle.InferenceSession(path).run(None, {"x": again})
    best = scores[0].argmax(1)
    wanted = [int(c) for c, before in zip(best, np.concatenate([[0], best])) if c != 0 and c != before]
    assert [int(word) for word in said] == wanted and len(wanted) > 3, (said, wanted)


CROSS = {"aarch64": ("aarch64-linux-gnu", "qemu-aarch64"), "armv7-neon": ("arm-linux-gnueabihf", "qemu-arm"),
         "riscv64-gc": ("riscv64-linux-gnu", "qemu-riscv64")}


def crossed(target):
    """For another architecture, by LLVM and as C: run under an emulator, beside ONNX Runtime."""
    machine, emulator = CROSS[target]
    compiler = f"{machine}-gcc"
    for tool in (compiler, emulator):
        if not shutil.which(tool):
            raise unittest.SkipTest(f"{tool} is not installed")
    x = images(3, 16)
    text = f"{x.ndim} {' '.join(map(str, x.shape))} {' '.join(map(repr, x.ravel().tolist()))}"
    with folder() as where:
        path = write(where, vision())
        for emit in ("library", "c"):
            out = where / emit
            exported.compile(out, path, "--bind", "batch=1:3,height=8:16:8", "--target", target, "--cc", compiler, "--emit",
                             emit, "--name", "seen")
            code = ["-L.", "-lseen"] if emit == "library" else ["seen.c"]
            subprocess.run([compiler, "-O2", "-Wno-psabi", "-DPROGRAM=seen", '-DHEADER="seen.h"', "-I.",
                            ROOT / "tests/exported/runner.c", *code, "-o", "runner"], check=True, cwd=out)
            done = subprocess.run([emulator, "-L", f"/usr/{machine}", "-E", "LD_LIBRARY_PATH=.", "./runner"], input=text,
                                  capture_output=True, text=True, cwd=out)
            assert done.returncode == 0, done.stdout + done.stderr
            found = np.array([int(line, 16) for line in done.stdout.split()], np.uint32).view(np.float32)
            wanted, plain = reference(str(path), {"x": x}), reference(str(path), {"x": x}, False)
            begin = 0
            for w, p in zip(wanted, plain, strict=True):
                equal, words = equality.compare(found[begin:begin + w.size].reshape(w.shape), w, p)
                assert equal, (target, emit, words)
                begin += w.size
            assert begin == found.size


for target in CROSS:
    globals()[f"test_cross_compiled_for_{target.replace('-', '_')}"] = functools.partial(crossed, target)


def digits():
    """A convolution, pooling and two dense layers over pictures of 16 x 16: 134 KB of weights."""
    rng = np.random.default_rng(4)
    normal = lambda *shape: rng.standard_normal(shape).astype(np.float32) / np.float32(np.sqrt(shape[-1]))
    weights = [weight("w1", normal(8, 1, 3, 3)), weight("w2", normal(512, 64)), weight("b2", normal(64)),
               weight("w3", normal(64, 10))]
    nodes = [helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Flatten", ["c"], ["d"]), helper.make_node("MatMul", ["d", "w2"], ["e"]),
             helper.make_node("Add", ["e", "b2"], ["f"]), helper.make_node("Tanh", ["f"], ["g"]),
             helper.make_node("MatMul", ["g", "w3"], ["h"]), helper.make_node("Softmax", ["h"], ["p"])]
    return model_of(nodes, [("x", TensorProto.FLOAT, [1, 1, 16, 16])], [("p", TensorProto.FLOAT, [1, 10])], weights)


def test_a_board_without_an_operating_system():
    """In 256 KB of flash and 32 KB of memory, without malloc, a C library or a mathematical one."""
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if not shutil.which(tool):
            raise unittest.SkipTest(f"{tool} is not installed")
    x = np.random.default_rng(6).standard_normal((1, 1, 16, 16)).astype(np.float32)
    with folder() as where:
        path = write(where, digits())
        exported.compile(where, path, "--emit", "c", "--target", "qemu/mps2-an386", "--name", "board_model")
        ram = 16 << 10
        (where / "case.h").write_text(f"enum {{ OUTPUTS = 10, WORKSPACE = {ram} }};\n#define SHAPE {{1, 1, 16, 16}}\n"
                                      f"static const float input[] = {{{','.join(map(repr, x.ravel().tolist()))}}};\n")
        command = ["arm-none-eabi-gcc", "-O2", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16",
                   "-ffreestanding", "-nostdlib", "-fno-tree-loop-distribute-patterns", "-ffunction-sections", "-Wno-psabi", f"-I{where}",
                   ROOT / "tests/exported/board.c", "-T", ROOT / "tests/exported/board.ld", "-Wl,--gc-sections", "-lgcc",
                   "-o", where / "board.elf"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        symbols = subprocess.run(["arm-none-eabi-nm", where / "board.elf"], capture_output=True, text=True).stdout
        for name in ("malloc", " expf", " tanhf", " sqrtf"):
            assert name not in symbols, name
        done = subprocess.run(["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-semihosting", "-kernel",
                               where / "board.elf"], capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stdout + done.stderr
        words = [line for line in (done.stdout + done.stderr).split() if len(line) == 8]
        found = np.array([int(word, 16) for word in words], np.uint32).view(np.float32)
        equal, text = equality.compare(found[None], reference(str(path), {"x": x})[0], reference(str(path), {"x": x}, False)[0])
        assert equal, text
