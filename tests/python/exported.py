"""What heddle compile writes, called through its plain C entry."""
import ctypes
import json
import pathlib
import subprocess
import threading

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEDDLE = ROOT / "build/heddle"
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class Device(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("dtype", DataType),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


HANDLES = 3  # the element type of lists: pointers to tensors

TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32)
PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, TASK, ctypes.c_void_p)


class Call(ctypes.Structure):
    _fields_ = [("inputs", ctypes.POINTER(ctypes.POINTER(Tensor))), ("outputs", ctypes.POINTER(ctypes.POINTER(Tensor))),
                ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_size_t), ("weights", ctypes.c_void_p),
                ("workers", ctypes.c_int32), ("parallel", PARALLEL), ("pool", ctypes.c_void_p),
                ("ready", ctypes.c_int64), ("message", ctypes.c_void_p), ("message_bytes", ctypes.c_size_t)]


ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
STOPS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class Memory(ctypes.Structure):
    _fields_ = [("allocate", ALLOCATE), ("release", RELEASE), ("stops", STOPS), ("context", ctypes.c_void_p)]


class Refused(Exception):
    """The program's status, and its message."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def compile(folder, *arguments):
    """heddle compile: what it wrote, by name; a RuntimeError with its words if it refuses."""
    command = [HEDDLE, "compile", *map(str, arguments), "-o", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return {path.name: path for path in pathlib.Path(folder).iterdir()}


def aligned(bytes_needed):
    memory = np.zeros(bytes_needed + 64, np.uint8)
    return memory[-memory.ctypes.data % 64:][:bytes_needed]


def described(array):
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    strides = (ctypes.c_int64 * array.ndim)(*(step // array.itemsize for step in array.strides))
    dtype = DataType(CODES[array.dtype.kind], array.itemsize * 8, 1)
    return Tensor(array.ctypes.data, Device(1, 0), array.ndim, dtype, shape, strides, 0)


def pointers_to(tensors):
    """Null where there is none."""
    null = ctypes.POINTER(Tensor)()
    return (ctypes.POINTER(Tensor) * len(tensors))(*(ctypes.pointer(tensor) if tensor else null for tensor in tensors))


def described_value(value):
    """Of an array; of a list of arrays, which is one of handles; None where it is absent."""
    if not isinstance(value, (list, tuple)):
        return None if value is None else described(value)
    kept = [described(element) for element in value]
    places = pointers_to(kept)
    made = Tensor(ctypes.addressof(places), Device(1, 0), 1, DataType(HANDLES, 64, 1), (ctypes.c_int64 * 1)(len(kept)), None, 0)
    made.kept = kept, places
    return made


class Program:
    """A library that heddle compile wrote, or that a C compiler made of it; `workers` threads of Python run its parts."""

    def __init__(self, folder, library=None, workers=1):
        folder = pathlib.Path(folder)
        self.manifest = json.loads(next(folder.glob("*.json")).read_text())
        name = self.manifest["name"]
        code = ctypes.CDLL(str(library or folder / f"lib{name}.so"))
        self._run, self._shape = getattr(code, f"{name}_run"), getattr(code, f"{name}_output_shape")
        self._bytes = getattr(code, f"{name}_workspace_bytes")
        self._run.restype, self._shape.restype, self._bytes.restype = ctypes.c_int32, ctypes.c_int32, ctypes.c_int64
        self.call = Call()
        self._message = ctypes.create_string_buffer(400)
        self.call.message, self.call.message_bytes = ctypes.addressof(self._message), 400
        self._workspace = None
        if self.manifest["weights"] != "inside":
            weights = np.fromfile(folder / self.manifest["weights"], np.uint8)
            self._weights = aligned(weights.size)
            self._weights[:] = weights
            self.call.weights = self._weights.ctypes.data
        if workers > 1:
            self._parallel = PARALLEL(self._spread)
            self.call.parallel, self.call.workers = self._parallel, workers

    def _spread(self, _, parts, task, work):
        def take(worker):
            for part in range(worker, parts, self.call.workers):
                task(work, part, worker)

        threads = [threading.Thread(target=take, args=(worker,)) for worker in range(self.call.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _checked(self, status):
        if status < 0:
            raise Refused(status, self._message.value.decode())
        return status

    def _tensors(self, arrays):
        self._kept = [described(array) for array in arrays]
        return (ctypes.POINTER(Tensor) * len(arrays))(*(ctypes.pointer(tensor) for tensor in self._kept))

    def workspace_bytes(self, *inputs):
        self.call.inputs = self._tensors(inputs)
        return self._checked(self._bytes(ctypes.byref(self.call)))

    def outputs_for(self, *inputs):
        self.call.inputs = self._tensors(inputs)
        made = []
        for index, output in enumerate(self.manifest["outputs"]):
            shape = (ctypes.c_int64 * 16)()
            rank = self._checked(self._shape(ctypes.byref(self.call), index, shape))
            made.append(np.full(shape[:rank], 7, output["dtype"]))
        return made

    def run(self, *inputs):
        outputs = self.outputs_for(*inputs)
        needed = self.workspace_bytes(*inputs)
        if self._workspace is None or self._workspace.size < needed:
            self._workspace = aligned(needed)
            self.call.ready = 0
        self.call.workspace, self.call.workspace_bytes = self._workspace.ctypes.data, self._workspace.size
        self.run_into(outputs, *inputs)
        return outputs

    def run_into(self, outputs, *inputs):
        self.call.inputs = self._tensors(inputs)
        described_inputs = self._kept
        self.call.outputs = self._tensors(outputs)
        status = self._run(ctypes.byref(self.call))
        del described_inputs
        self._checked(status)


class StepProgram:
    """A program in steps, and the memory that it holds. It gets none when it has asked `left_to_give` times."""
    RANKS = 16

    def __init__(self, folder, stops_after=None, library=None):
        folder = pathlib.Path(folder)
        self.manifest = json.loads(next(folder.glob("*.json")).read_text())
        name = self.manifest["name"]
        self._run = getattr(ctypes.CDLL(str(library or folder / f"lib{name}.so")), f"{name}_run")
        self._run.restype = ctypes.c_int32
        self.held, self.asked, self.left_to_give, self.left = {}, 0, None, stops_after
        self._memory = Memory(ALLOCATE(self._allocate), RELEASE(self._release), STOPS(self._stops), None)
        self._message = ctypes.create_string_buffer(400)
        beside = folder / f"{name}.weights"
        self.weights = None
        if beside.exists():
            self.weights = aligned(max(beside.stat().st_size, 1))
            self.weights[:beside.stat().st_size] = np.fromfile(beside, np.uint8)

    def _allocate(self, _, size):
        self.asked += 1
        if size > 1 << 34 or (self.left_to_give is not None and self.asked > self.left_to_give):
            return None
        # Whoever writes or reads beyond its end meets what nobody else has.
        block = np.full(size + 128, 0xA5, np.uint8)
        at = block.ctypes.data + -block.ctypes.data % 64
        self.held[at] = (block, size)
        return at

    def _release(self, _, at):
        block, size = self.held.pop(at)
        begin = at - block.ctypes.data
        assert (block[begin + size:] == 0xA5).all(), "it wrote beyond the end"

    def _stops(self, _):
        if self.left is None:
            return 0
        self.left -= 1
        return int(self.left < 0)

    def run(self, *inputs):
        call = Call()
        call.message, call.message_bytes = ctypes.addressof(self._message), 400
        call.weights = None if self.weights is None else self.weights.ctypes.data
        kept = [described_value(value) for value in inputs]
        call.inputs = pointers_to(kept)
        shapes = [(ctypes.c_int64 * self.RANKS)() for _ in self.manifest["outputs"]]
        outputs = [Tensor(shape=ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))) for shape in shapes]
        call.outputs = pointers_to(outputs)
        status = self._run(ctypes.byref(call), ctypes.byref(self._memory))
        if status < 0:
            assert not self.held, "what fails holds memory"
            raise Refused(status, self._message.value.decode())
        results = [self._taken(*both) for both in zip(outputs, self.manifest["outputs"], strict=True)]
        assert not self.held, "it holds memory"
        return results

    def _taken(self, tensor, output):
        if not tensor.data:
            assert output.get("optional"), "an output is missing"
            return None
        assert (tensor.dtype.code == HANDLES) == output.get("list", False)
        if tensor.dtype.code == HANDLES:
            assert (tensor.ndim, tensor.dtype.bits, tensor.shape[0] >= 0) == (1, 64, True)
            elements = (ctypes.POINTER(Tensor) * tensor.shape[0]).from_address(tensor.data)
            values = [self._array(element.contents, output) for element in elements]
            self._release(None, tensor.data)
            return values
        return self._array(tensor, output)

    def _array(self, tensor, output):
        dtype = np.dtype(output["dtype"])
        shape = tensor.shape[:tensor.ndim]
        assert (tensor.dtype.code, tensor.dtype.bits) == (CODES[dtype.kind], dtype.itemsize * 8)
        bytes_needed = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        array = np.frombuffer((ctypes.c_char * bytes_needed).from_address(tensor.data), dtype).reshape(shape).copy()
        self._release(None, tensor.data)
        return array
